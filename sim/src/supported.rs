//! What can be simulated, and what is refused.

use crate::pm::PmModel;
use crate::{PmSide, SimError, model};
use wakelab_kernel::{CapacitySearch, Preset};
use wakelab_machine::Machine;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::runqueue::FairRules;
use wakelab_sched::select::Rules;

/// Whether runs of this kernel on this machine can be made, whatever the workload and the switches.
///
/// # Errors
/// [`SimError::Kernel`] or [`SimError::Machine`], with what is not modelled and what was expected.
pub fn check(machine: &Machine, kernel: &Preset) -> Result<(), SimError> {
    FairRules::of(kernel, kernel.features, machine.topology.nr_cpus() as usize)
        .map_err(|error| SimError::Kernel(format!("{}: {error}", kernel.name)))?;
    let domains = model::domains(machine, kernel, kernel.features)?;
    idle_cores(machine, kernel, &domains)?;
    Rules::new(kernel, kernel.features, &domains)
        .map_err(|error| SimError::Machine(format!("machine {}: {error}", machine.name)))?;
    model::balance(machine, kernel, kernel.features, &domains).map(drop)
}

/// Whether a side's governors can be had on this machine and kernel.
///
/// # Errors
/// As [`check`]: a machine without frequencies, or a governor that does not fit its driver or the kernel.
pub fn check_power(machine: &Machine, kernel: &Preset, side: PmSide) -> Result<(), SimError> {
    PmModel::new(machine, kernel, kernel.features, side).map(drop)
}

/// Whether `has_idle_cores` is the LLC's. With unequal CPUs it is the larger domain's since 7.2 (`sd_balance_shared`).
pub fn idle_cores(machine: &Machine, kernel: &Preset, domains: &SchedDomains) -> Result<(), SimError> {
    let shared = kernel.code.capacity_search == CapacitySearch::GradedCores && domains.smt_active;
    let beyond = |cpu: Cpu| domains.sd_balance_shared(cpu) != domains.sd_llc[cpu as usize];
    match (0..domains.nr_cpus).find(|&cpu| shared && beyond(cpu)) {
        None => Ok(()),
        Some(cpu) => Err(SimError::Machine(format!(
            "{}: CPU {}: cores of two CPUs, and capacities that only several LLCs have between them: what {} then \
             knows of idle cores is not modelled; expected all capacities in each LLC, or a kernel up to v6.12",
            machine.name,
            machine.kernel_cpu(cpu),
            kernel.name
        ))),
    }
}
