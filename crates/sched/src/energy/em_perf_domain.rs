//! A performance domain and its energy model: `struct em_perf_domain`, `em_create_perf_table()`
//! (`kernel/power/energy_model.c`), `em_pd_get_efficient_state()` and `em_cpu_energy()`
//! (`include/linux/energy_model.h`).
//!
//! All CPUs of a performance domain run at one frequency. Its energy is estimated from the cost of the state that the
//! busiest CPU needs and from the time that all its CPUs are busy. Since 6.9:
//!
//! ```text
//! performance(state) = scale_cpu * frequency / fmax
//! cost(state)        = 10 * power / performance
//! state              = the lowest efficient one with performance >= min(max_util, allowed_cpu_cap)
//! energy             = cost(state) * sum_util
//! ```
//!
//! Before 6.9 the utilisation was turned into a frequency with a headroom of a quarter:
//!
//! ```text
//! cost(state) = fmax * power / frequency
//! state       = the lowest efficient one with frequency >= fmax * min(1.25 * max_util, allowed_cpu_cap) / scale_cpu
//! energy      = cost(state) * sum_util / scale_cpu
//! ```
//!
//! 5.10 applies the headroom to `fmax` and has no `allowed_cpu_cap`.

use super::effective_cpu_util::map_util_perf;
use crate::cpumask::CpuMask;
use std::fmt;
use wakelab_kernel::EnergyModel;

/// One performance state of a domain (`struct em_perf_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerfState {
    /// Frequency, kHz.
    pub frequency: u64,
    /// The CPU's capacity at that frequency, 1 to 1024; 1024 is the largest CPU at its highest frequency. Read since
    /// 6.9.
    pub performance: u64,
    /// Power of one busy CPU, uW. Versions before 6.0 store whole milliwatts.
    pub power: u64,
    /// Cost of a unit of utilisation: ten times the power divided by the performance since 6.9, before that the power
    /// times the highest frequency divided by this one.
    pub cost: u64,
    /// A higher state costs no more (`EM_PERF_STATE_INEFFICIENT`, since 5.16; the model sets it in all versions).
    pub inefficient: bool,
}

/// Why [`em_create_perf_table`] refused a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmError {
    /// The table has no states.
    Empty,
    /// The CPU's capacity, given here, is 0 or above 1024.
    Capacity(u64),
    /// The frequency of a state is 0, or not above that of the state before it.
    Frequency {
        /// Index of the state.
        state: usize,
        /// Its frequency, kHz.
        frequency: u64,
    },
    /// The power of a state is 0, or above the kernel's limit (`EM_MAX_POWER`).
    Power {
        /// Index of the state.
        state: usize,
        /// Its power, uW.
        power: u64,
        /// The limit, uW.
        max: u64,
    },
    /// The performance of a state would be 0: the frequency is too low for so small a CPU.
    Performance {
        /// Index of the state.
        state: usize,
    },
}

impl fmt::Display for EmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EmError::Empty => write!(f, "the energy model has no states; give at least one frequency with its power"),
            EmError::Capacity(given) => write!(f, "a CPU's capacity is {given}; expected 1 to 1024"),
            EmError::Frequency { state, frequency } => write!(
                f,
                "state {state}: {frequency} kHz is not above the state before it; list the frequencies in ascending \
                 order"
            ),
            EmError::Power { state, power, max } => {
                write!(f, "state {state}: the power is {power} uW; expected 1 to {max} uW, as the kernel requires")
            }
            EmError::Performance { state } => {
                write!(f, "state {state}: its share of the CPU's capacity is 0; leave such low frequencies out")
            }
        }
    }
}

impl std::error::Error for EmError {}

/// `em_create_perf_table()`: computes the states of a CPU from their frequencies (kHz) and powers (uW), lowest first.
/// `scale_cpu` is the CPU's capacity at its highest frequency, 1 to 1024.
///
/// # Errors
/// If the kernel would refuse the table, or a state would have no performance at all.
pub fn em_create_perf_table(
    form: EnergyModel,
    scale_cpu: u64,
    states: &[(u64, u64)],
) -> Result<Vec<PerfState>, EmError> {
    if !(1..=1024).contains(&scale_cpu) {
        return Err(EmError::Capacity(scale_cpu));
    }
    let &(fmax, _) = states.last().ok_or(EmError::Empty)?;
    let mut table = Vec::with_capacity(states.len());
    let mut before = 0;
    for (state, &(frequency, power)) in states.iter().enumerate() {
        if frequency <= before {
            return Err(EmError::Frequency { state, frequency });
        }
        before = frequency;
        let power = stored_power(form, state, power)?;
        let performance = scale_cpu * frequency / fmax.max(frequency);
        if performance == 0 && form == EnergyModel::Performance {
            return Err(EmError::Performance { state });
        }
        let cost = match form {
            EnergyModel::Performance => power * 10 / performance,
            _ => fmax.wrapping_mul(power) / frequency,
        };
        table.push(PerfState { frequency, performance, power, cost, inefficient: false });
    }
    let mut cheapest = u64::MAX;
    for state in table.iter_mut().rev() {
        state.inefficient = state.cost >= cheapest;
        cheapest = cheapest.min(state.cost);
    }
    Ok(table)
}

/// Rounds a power to the unit in which the version stores it, uW.
fn stored_power(form: EnergyModel, state: usize, power: u64) -> Result<u64, EmError> {
    let (stored, max) = match form {
        EnergyModel::Milliwatts | EnergyModel::MilliwattsLimited | EnergyModel::MilliwattsCapped => {
            (power / 1000 * 1000, 0xffff * 1000)
        }
        EnergyModel::Microwatts | EnergyModel::MicrowattsByPerf | EnergyModel::Performance => (power, 64_000_000),
    };
    if stored == 0 || stored > max { Err(EmError::Power { state, power, max }) } else { Ok(stored) }
}

/// A performance domain with its energy model (`struct em_perf_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmPerfDomain {
    /// The CPUs.
    pub cpus: CpuMask,
    /// Capacity of each CPU at the highest frequency, 1 to 1024.
    pub scale_cpu: u64,
    /// The states, lowest first; at least one.
    pub states: Vec<PerfState>,
    /// Inefficient states are skipped because the frequency driver skips them (`EM_PERF_DOMAIN_SKIP_INEFFICIENCIES`).
    pub skip_inefficient: bool,
    /// Index of the lowest state that the frequency limits allow, since 6.13.
    pub min_perf_state: usize,
    /// Index of the highest state that the frequency limits allow, since 6.13.
    pub max_perf_state: usize,
    /// The version's form of the energy model.
    pub form: EnergyModel,
}

impl EmPerfDomain {
    /// Creates the domain of `cpus`, each of capacity `scale_cpu` (1 to 1024), from `states` as (kHz, uW), lowest
    /// first. The frequency driver is assumed to skip inefficient states in every version that knows them.
    ///
    /// # Errors
    /// If [`em_create_perf_table`] refuses the table.
    pub fn new(form: EnergyModel, cpus: CpuMask, scale_cpu: u64, states: &[(u64, u64)]) -> Result<Self, EmError> {
        let states = em_create_perf_table(form, scale_cpu, states)?;
        let max_perf_state = states.len() - 1;
        let skip_inefficient = !matches!(form, EnergyModel::Milliwatts | EnergyModel::MilliwattsLimited);
        Ok(EmPerfDomain { cpus, scale_cpu, states, skip_inefficient, min_perf_state: 0, max_perf_state, form })
    }

    /// `em_pd_get_efficient_state()`: returns the index of the lowest allowed state that provides `wanted`, or of the
    /// highest allowed one if none does. `wanted` is a performance (1 to 1024) since 6.9 and a frequency in kHz before.
    pub fn em_pd_get_efficient_state(&self, wanted: u64) -> usize {
        let by_performance = self.form == EnergyModel::Performance;
        let all = (0, self.states.len() - 1);
        let (min, max) = if by_performance { (self.min_perf_state, self.max_perf_state) } else { all };
        let enough = |&at: &usize| {
            let state = &self.states[at];
            let has = if by_performance { state.performance } else { state.frequency };
            has >= wanted && !(self.skip_inefficient && state.inefficient)
        };
        (min..=max).find(enough).unwrap_or(max)
    }

    /// `em_cpu_energy()`: estimates what the domain's CPUs spend at the frequency that the busiest CPU needs. The unit
    /// is the kernel's: power times utilisation, comparable within one version only.
    ///
    /// `max_util` is the highest utilisation of a CPU, since 6.8 with its headroom; `sum_util` is the sum over all CPUs
    /// (1024 is all the time of the largest CPU). `allowed_cpu_cap` is what thermal and other pressure leave of a CPU's
    /// capacity; 5.10 ignores it.
    pub fn em_cpu_energy(&self, max_util: u64, sum_util: u64, allowed_cpu_cap: u64) -> u64 {
        if sum_util == 0 {
            return 0;
        }
        let wanted = match self.form {
            EnergyModel::Performance => max_util.min(allowed_cpu_cap),
            EnergyModel::Milliwatts => {
                let fmax = self.max_frequency();
                (fmax + (fmax >> 2)).wrapping_mul(max_util) / self.scale_cpu
            }
            EnergyModel::MicrowattsByPerf => {
                self.max_frequency().wrapping_mul(max_util.min(allowed_cpu_cap)) / self.scale_cpu
            }
            EnergyModel::MilliwattsLimited | EnergyModel::MilliwattsCapped | EnergyModel::Microwatts => {
                let util = map_util_perf(max_util).min(allowed_cpu_cap);
                self.max_frequency().wrapping_mul(util) / self.scale_cpu
            }
        };
        let cost = self.states[self.em_pd_get_efficient_state(wanted)].cost;
        match self.form {
            EnergyModel::Performance => cost.wrapping_mul(sum_util),
            _ => cost.wrapping_mul(sum_util) / self.scale_cpu,
        }
    }

    fn max_frequency(&self) -> u64 {
        self.states[self.states.len() - 1].frequency
    }
}
