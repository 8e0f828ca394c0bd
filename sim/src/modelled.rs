//! What can be simulated, and what is refused.

use crate::pm::PmModel;
use crate::{PmSide, SimError, model};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sched::balance::BalanceRules;
use wakelab_sched::pelt::{PeltRules, SCHED_CAPACITY_SCALE};
use wakelab_sched::runqueue::FairRules;

/// The presets that can be simulated, oldest first.
pub fn kernels() -> Vec<&'static str> {
    let names = Preset::names().into_iter();
    names.filter(|name| balance_of(name).is_some() && PeltRules::of_preset(name).is_some()).collect()
}

/// Whether runs of this kernel on this machine can be made, whatever the workload and the switches.
///
/// # Errors
/// [`SimError::Kernel`] or [`SimError::Machine`], with what is not modelled and what was expected.
pub fn check(machine: &Machine, kernel: &Preset) -> Result<(), SimError> {
    pelt_rules(kernel)?;
    balance_rules(kernel)?;
    FairRules::of(kernel, kernel.features, machine.topology.nr_cpus() as usize)
        .map_err(|error| SimError::Kernel(format!("{}: {error}", kernel.name)))?;
    same_capacity(machine)?;
    model::balance(machine, kernel, kernel.features, &model::domains(machine, kernel)?).map(drop)
}

/// The rules that are wired up: `v5.18-eas` has some, and they want an energy model, which no machine gives yet.
fn balance_of(name: &str) -> Option<BalanceRules> {
    BalanceRules::of_preset(name).filter(|_| name != "v5.18-eas")
}

/// Whether a side's governors can be had on this machine and kernel.
///
/// # Errors
/// As [`check`]: a machine without frequencies, or a governor that does not fit its driver or the kernel.
pub fn check_power(machine: &Machine, kernel: &Preset, side: PmSide) -> Result<(), SimError> {
    PmModel::new(machine, kernel, kernel.features, model::version(kernel.name), side).map(drop)
}

pub fn balance_rules(kernel: &Preset) -> Result<BalanceRules, SimError> {
    balance_of(kernel.name).ok_or_else(|| refused(kernel, "energy-aware placement and balancing are"))
}

pub fn pelt_rules(kernel: &Preset) -> Result<PeltRules, SimError> {
    PeltRules::of_preset(kernel.name).ok_or_else(|| refused(kernel, "averages are"))
}

fn refused(kernel: &Preset, what: &str) -> SimError {
    let can = kernels().join(", ");
    SimError::Kernel(format!(
        "{}: its {what} not modelled, so that it cannot be simulated; expected one of {can}",
        kernel.name
    ))
}

/// Holds that all CPUs can do the same.
pub fn same_capacity(machine: &Machine) -> Result<(), SimError> {
    let full = SCHED_CAPACITY_SCALE;
    match (0..).zip(&machine.topology.cpus).find(|(_, cpu)| u64::from(cpu.capacity) != full) {
        None => Ok(()),
        Some((n, cpu)) => Err(SimError::Machine(format!(
            "{}: CPU {} has capacity {}; CPUs that differ are not simulated yet, expected {full} for each",
            machine.name,
            machine.kernel_cpu(n),
            cpu.capacity
        ))),
    }
}
