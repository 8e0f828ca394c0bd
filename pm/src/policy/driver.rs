//! Which frequencies there are.

use super::error::PolicyError;
use super::opp::check_opps;
use crate::Khz;

/// Which of the available frequencies stands for a wanted one (`CPUFREQ_RELATION_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The lowest at or above it.
    Low,
    /// The highest at or below it.
    High,
    /// The nearest; of two, the lower.
    Closest,
}

/// What a driver offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Driver {
    /// A table of frequencies (acpi-cpufreq, SCMI, a device tree's operating points), kHz, ascending.
    Table(Vec<Khz>),
    /// Every multiple of a step (intel_pstate, whose P-states are multiples of 100 MHz).
    Continuous {
        /// `cpuinfo.min_freq`, kHz.
        min: Khz,
        /// `cpuinfo.max_freq`, kHz: the highest turbo frequency.
        max: Khz,
        /// `pstate.scaling`, kHz.
        step: Khz,
    },
}

impl Driver {
    /// A table; an error if it is empty or does not ascend.
    pub fn table(frequencies: Vec<Khz>) -> Result<Driver, PolicyError> {
        check_opps(frequencies.iter().copied())?;
        Ok(Driver::Table(frequencies))
    }

    /// Multiples of `step` from `min` to `max`, kHz; an error if there are none.
    pub fn continuous(min: Khz, max: Khz, step: Khz) -> Result<Driver, PolicyError> {
        if step == 0 || min == 0 || min > max {
            return Err(PolicyError::NoRange { min, max, step });
        }
        Ok(Driver::Continuous { min, max, step })
    }

    /// `cpuinfo.min_freq` and `cpuinfo.max_freq`, kHz.
    pub fn range(&self) -> (Khz, Khz) {
        match self {
            Driver::Table(table) => (table[0], table[table.len() - 1]),
            Driver::Continuous { min, max, .. } => (*min, *max),
        }
    }

    /// What cpufreq takes the frequency for before it asks the driver: an entry of the table; without a table, itself.
    pub(super) fn find(&self, freq: Khz, relation: Relation) -> Khz {
        match self {
            Driver::Table(table) => of_table(table, freq, relation),
            Driver::Continuous { .. } => freq,
        }
    }

    /// What the driver sets for it (`intel_cpufreq_target()`, `intel_cpufreq_fast_switch()`, 5.10).
    pub(super) fn set(&self, freq: Khz, relation: Relation) -> Khz {
        match self {
            Driver::Table(table) => of_table(table, freq, relation),
            Driver::Continuous { min, max, step } => {
                let pstate = match relation {
                    Relation::Low => freq.div_ceil(*step),
                    Relation::High => freq / step,
                    Relation::Closest => (freq + step / 2) / step,
                };
                (pstate * step).clamp(*min, *max)
            }
        }
    }
}

/// `cpufreq_frequency_table_target()` of an ascending table; what the relation does not find is the end of the table.
fn of_table(table: &[Khz], freq: Khz, relation: Relation) -> Khz {
    let above = table.partition_point(|&khz| khz < freq);
    let (low, high) = (table.get(above), table[..above].last());
    match (relation, high, low) {
        (_, _, Some(&low)) if low == freq => low,
        (Relation::Low, _, Some(&low)) | (_, None, Some(&low)) => low,
        (Relation::High, Some(&high), _) | (_, Some(&high), None) => high,
        (Relation::Closest, Some(&high), Some(&low)) => {
            if freq - high > low - freq {
                low
            } else {
                high
            }
        }
        (_, None, None) => freq,
    }
}
