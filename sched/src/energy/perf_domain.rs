//! CPUs that share a frequency, and what they spend (`struct em_perf_domain`, `include/linux/energy_model.h`).

use super::effective::map_util_perf;
use super::table::{EmError, PerfState, em_create_perf_table};
use crate::cpumask::CpuMask;
use wakelab_kernel::EnergyModel;

/// A performance domain with its energy model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmPerfDomain {
    /// Its CPUs.
    pub cpus: CpuMask,
    /// Capacity of each at the highest frequency, 1 to 1024.
    pub scale_cpu: u64,
    /// Its states, the lowest first; at least one.
    pub states: Vec<PerfState>,
    /// Inefficient states are passed over, because the frequency driver does so too (`EM_PERF_DOMAIN_SKIP_INEFFICIENCIES`).
    pub skip_inefficient: bool,
    /// Since 6.13: the lowest state that the frequency limits allow, as an index.
    pub min_perf_state: usize,
    /// Since 6.13: the highest.
    pub max_perf_state: usize,
    /// The version's form.
    pub form: EnergyModel,
}

impl EmPerfDomain {
    /// The domain of `cpus`, each of capacity `scale_cpu`, with `states` as (kHz, uW), the lowest first. The frequency driver is
    /// taken to pass over inefficient states where the version knows of them.
    ///
    /// # Errors
    /// Where the kernel would refuse the table.
    pub fn new(form: EnergyModel, cpus: CpuMask, scale_cpu: u64, states: &[(u64, u64)]) -> Result<Self, EmError> {
        let states = em_create_perf_table(form, scale_cpu, states)?;
        let max_perf_state = states.len() - 1;
        let skip_inefficient = form != EnergyModel::Milliwatts;
        Ok(EmPerfDomain { cpus, scale_cpu, states, skip_inefficient, min_perf_state: 0, max_perf_state, form })
    }

    /// `em_pd_get_efficient_state()`: the index of the lowest state that is enough and may be taken, else of the highest.
    /// `wanted` is a performance (of 1024) since 6.9, before that a frequency in kHz.
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

    /// `em_cpu_energy()`: what the domain's CPUs spend at the frequency that the busiest needs, in the kernel's unit (a power
    /// where utilisation is taken as time; only comparable within one version).
    ///
    /// `max_util` is the highest utilisation of a CPU and `sum_util` that of all (1024 is the largest CPU's time);
    /// `allowed_cpu_cap` is what limits leave of a CPU's capacity, which 5.10 does not ask. Since 6.9 `max_util` has its
    /// headroom already.
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
            EnergyModel::MilliwattsCapped | EnergyModel::Microwatts => {
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
