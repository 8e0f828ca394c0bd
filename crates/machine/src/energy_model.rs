//! The energy model of the machine's kernels (`kernel/power/energy_model.c`).

use crate::{Machine, Origin};
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::domain::Arch;

/// A performance domain of the kernel's energy model (`em_perf_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomain {
    /// The CPUs.
    pub cpus: CpuMask,
    /// `(kHz, uW of a CPU)`, lowest frequency first. The power rises with the frequency.
    pub states: Vec<(u64, u64)>,
    /// Where the values were taken from: the power model's origin if they follow from it.
    pub origin: Origin,
}

impl Machine {
    /// Returns the performance domains that the machine's kernels register, by their lowest CPU: those of the file, and
    /// for each other policy with steps, voltages and a capacitance the domain that follows from these. x86 kernels
    /// register none of the latter.
    pub fn energy_model(&self) -> Vec<PerfDomain> {
        let mut domains = self.power.energy_model.clone();
        if self.arch == Arch::Arm64 {
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
