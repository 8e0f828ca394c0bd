//! A performance domain's states with their costs (`em_create_perf_table()`).

use std::fmt;
use wakelab_kernel::EnergyModel;

/// One state (`struct em_perf_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PerfState {
    /// kHz.
    pub frequency: u64,
    /// The CPU's capacity at that frequency, 1024 being the largest CPU at its highest. Read since 6.9.
    pub performance: u64,
    /// Of one busy CPU, uW; before 6.0 whole milliwatts.
    pub power: u64,
    /// What a unit of utilisation costs: since 6.9 ten times the power over the performance, before that the power times the
    /// highest frequency over this one.
    pub cost: u64,
    /// A higher state costs no more (`EM_PERF_STATE_INEFFICIENT`, since 5.16; in the model in all versions).
    pub inefficient: bool,
}

/// A table was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmError {
    /// It has no states.
    Empty,
    /// The CPU has no capacity, or more than 1024.
    Capacity(u64),
    /// A state's frequency is not higher than the one before it, or 0.
    Frequency {
        /// The state's index.
        state: usize,
        /// Its frequency, kHz.
        frequency: u64,
    },
    /// A state has no power, or more than the kernel takes (`EM_MAX_POWER`).
    Power {
        /// The state's index.
        state: usize,
        /// Its power, uW.
        power: u64,
        /// The largest, uW.
        max: u64,
    },
    /// A state's performance would be 0: its frequency is too low for so small a CPU.
    Performance {
        /// The state's index.
        state: usize,
    },
}

impl fmt::Display for EmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            EmError::Empty => write!(f, "the energy model has no states; give at least one frequency with its power"),
            EmError::Capacity(given) => write!(f, "a CPU's capacity of {given} is not from 1 to 1024"),
            EmError::Frequency { state, frequency } => write!(
                f,
                "state {state}: {frequency} kHz is not above the state before it; list the frequencies in ascending order"
            ),
            EmError::Power { state, power, max } => {
                write!(
                    f,
                    "state {state}: a power of {power} uW is not from 1 to {max} uW, which is what the kernel takes"
                )
            }
            EmError::Performance { state } => {
                write!(f, "state {state}: its share of the CPU's capacity is 0; leave out frequencies that low")
            }
        }
    }
}

impl std::error::Error for EmError {}

/// `em_create_perf_table()`: the states of a CPU whose capacity at the highest frequency is `scale_cpu`, from their
/// frequencies (kHz) and powers (uW), lowest first.
///
/// # Errors
/// Where the kernel would refuse the table, or a state has no performance at all.
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
        let power = as_kept(form, state, power)?;
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

/// The power as the version keeps it.
fn as_kept(form: EnergyModel, state: usize, power: u64) -> Result<u64, EmError> {
    let (kept, max) = match form {
        EnergyModel::Milliwatts | EnergyModel::MilliwattsCapped => (power / 1000 * 1000, 0xffff * 1000),
        EnergyModel::Microwatts | EnergyModel::Performance => (power, 64_000_000),
    };
    if kept == 0 || kept > max { Err(EmError::Power { state, power, max }) } else { Ok(kept) }
}
