//! The frequencies that a driver offers.

use crate::Khz;
use std::fmt;

/// The rule by which an available frequency stands for a wanted one (`CPUFREQ_RELATION_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// The lowest at or above it.
    Low,
    /// The highest at or below it.
    High,
    /// The nearest; of two, the lower.
    Closest,
}

/// The frequencies that a driver offers.
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

    /// Returns the frequency that cpufreq requests from the driver: an entry of the table; without a table, the
    /// frequency itself.
    pub(super) fn find(&self, freq: Khz, relation: Relation) -> Khz {
        match self {
            Driver::Table(table) => of_table(table, freq, relation),
            Driver::Continuous { .. } => freq,
        }
    }

    /// Returns the frequency that the driver sets for it (`intel_cpufreq_target()`, `intel_cpufreq_fast_switch()`,
    /// 5.10).
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

/// Whether the frequencies are above 0 and ascend. Says which one is not.
pub fn check_opps(frequencies: impl IntoIterator<Item = Khz>) -> Result<(), PolicyError> {
    let mut before = None;
    for (index, khz) in frequencies.into_iter().enumerate() {
        if khz == 0 {
            return Err(PolicyError::ZeroFrequency { index });
        }
        if let Some(before) = before.filter(|&before| before >= khz) {
            return Err(PolicyError::NotAscending { index, before, khz });
        }
        before = Some(khz);
    }
    before.map(|_| ()).ok_or(PolicyError::NoOpp)
}

/// Why operating points or a policy cannot be. A reader of files adds the file and the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// There is no operating point.
    NoOpp,
    /// A frequency is not above the one before it.
    NotAscending {
        /// Which one, from 0.
        index: usize,
        /// The one before, kHz.
        before: Khz,
        /// This one, kHz.
        khz: Khz,
    },
    /// A frequency is 0.
    ZeroFrequency {
        /// Which one, from 0.
        index: usize,
    },
    /// A policy without a CPU.
    NoCpu,
    /// The lowest frequency is above the highest, or the step is 0.
    NoRange {
        /// The lowest, kHz.
        min: Khz,
        /// The highest, kHz.
        max: Khz,
        /// The step, kHz.
        step: Khz,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOpp => write!(f, "there are no operating points: give at least one frequency"),
            Self::NotAscending { index, before, khz } => {
                write!(f, "operating point {index}: {khz} kHz is not above {before} kHz: list them in ascending order")
            }
            Self::ZeroFrequency { index } => write!(f, "operating point {index}: the frequency is 0: give it in kHz"),
            Self::NoCpu => write!(f, "the frequency domain has no CPUs: list them"),
            Self::NoRange { min, max, step } => {
                write!(f, "frequencies from {min} to {max} kHz by {step}: expected lowest ≤ highest and a step above 0")
            }
        }
    }
}

impl std::error::Error for PolicyError {}
