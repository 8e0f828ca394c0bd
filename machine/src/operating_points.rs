//! What a policy runs at: frequencies, voltages, and the power that follows.

use crate::power::{BusyPower, CorePower, PerfDomain};
use crate::{FreqPolicy, Machine};

impl FreqPolicy {
    /// Every frequency that can be asked for, kHz, lowest first: the steps, or else from the lowest to the highest by the grain;
    /// empty where the driver chooses freely and its grain is not known.
    pub fn targets_khz(&self) -> Vec<u64> {
        match self.grain_khz {
            _ if !self.steps_khz.is_empty() => self.steps_khz.clone(),
            Some(grain) => (self.min_khz..=self.max_khz).step_by(grain as usize).collect(),
            None => Vec::new(),
        }
    }

    /// The voltage at a frequency, uV: between two points linear, outside of them that of the nearest. `None` where no
    /// voltage is known.
    pub fn uv(&self, khz: u64) -> Option<u64> {
        between(&self.voltages, khz)
    }
}

impl CorePower {
    /// What a core takes while one of its CPUs is busy at that frequency (kHz) and voltage (uV), without leakage, uW.
    pub fn busy_uw(&self, khz: u64, uv: Option<u64>) -> u64 {
        match &self.busy {
            BusyPower::Table { points, .. } => between(points, khz).unwrap_or(0),
            BusyPower::Coefficient(coefficient) => {
                let uv = u128::from(uv.unwrap_or(0));
                // uW for MHz and V², of kHz and uV.
                (u128::from(coefficient.value) * u128::from(khz) * uv * uv / 1_000_000_000_000_000) as u64
            }
        }
    }
}

impl Machine {
    /// The performance domains that its kernels know, by their lowest CPU: those of the file, and for each other policy that has
    /// steps, voltages and a capacitance, what follows from these. x86 kernels have none.
    pub fn energy_model(&self) -> Vec<PerfDomain> {
        let mut domains = self.power.energy_model.clone();
        if self.arch == wakelab_sched::domain::Arch::Arm64 {
            let given = domains.len();
            for policy in &self.frequencies {
                let known = domains[..given].iter().any(|domain| domain.cpus.intersects(&policy.cpus));
                let power = policy.cpus.first().and_then(|cpu| self.power.of_core(cpu));
                if let (Some(power), false, false) = (power, known, policy.steps_khz.is_empty()) {
                    let state = |&khz: &u64| (khz, power.busy_uw(khz, policy.uv(khz)));
                    let states = policy.steps_khz.iter().map(state).collect();
                    domains.push(PerfDomain { cpus: policy.cpus.clone(), states, origin: power.origin.clone() });
                }
            }
        }
        domains.sort_by_key(|domain| domain.cpus.first());
        domains
    }
}

/// A line through points, of which the first numbers rise; flat before the first and after the last.
fn between(points: &[(u64, u64)], at: u64) -> Option<u64> {
    let after = points.partition_point(|&(x, _)| x < at);
    match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
        (None, Some(&(_, y))) | (Some((_, y)), None) => Some(y),
        (None, None) => None,
        (Some((x0, y0)), Some(&(x1, y1))) => {
            // Tables are checked not to fall.
            let rise = u128::from(y1.saturating_sub(y0));
            Some(y0 + (rise * u128::from(at - x0) / u128::from(x1 - x0)) as u64)
        }
    }
}
