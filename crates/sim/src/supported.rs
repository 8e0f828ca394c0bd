//! Checks of what can be simulated; the rest is refused.

use crate::model::Model;
use crate::pm::PmModel;
use crate::{PmSide, Setup, SimError, model};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sched::runqueue::FairRules;
use wakelab_sched::select::Rules;
use wakelab_scx_core::ext::Declared;
use wakelab_scx_core::ops::Scheduler;
use wakelab_workload::Workload;

/// Whether runs of this kernel on this machine can be made, whatever the workload and the switches.
///
/// # Errors
/// [`SimError::Kernel`] or [`SimError::Machine`], with what is not modelled and what was expected.
pub fn check(machine: &Machine, kernel: &Preset) -> Result<(), SimError> {
    FairRules::of(kernel, kernel.features, machine.topology.nr_cpus() as usize)
        .map_err(|error| SimError::Kernel(format!("{}: {error}", kernel.name)))?;
    let domains = model::domains(machine, kernel, kernel.features)?;
    Rules::new(kernel, kernel.features, &domains)
        .map_err(|error| SimError::Machine(format!("machine {}: {error}", machine.name)))?;
    model::balance(machine, kernel, kernel.features, &domains).map(drop)
}

/// Returns the declarations of a sched_ext scheduler, if it can be loaded on this machine and kernel, and warnings
/// about parts that do not run here, a sentence each.
///
/// # Errors
/// [`SimError::Kernel`] if the kernel has no sched_ext, or [`SimError::Scheduler`] with what the scheduler needs.
pub fn check_scheduler(
    machine: &Machine,
    kernel: &Preset,
    scheduler: &dyn Scheduler,
) -> Result<(Declared, Vec<String>), SimError> {
    let (_, declared, _) = crate::ext::load(machine, kernel, scheduler, 0)?;
    Ok((declared, crate::ext::warnings(machine, kernel, scheduler)?))
}

/// Settings of the workloads' control groups that a scheduler of sched_ext does not implement, a line for each.
///
/// # Errors
/// As [`check_scheduler`].
pub fn cgroup_warn_missing<'a>(
    machine: &Machine,
    kernel: &Preset,
    scheduler: &dyn Scheduler,
    workloads: impl IntoIterator<Item = &'a Workload>,
) -> Result<Vec<String>, SimError> {
    let groups = workloads.into_iter().flat_map(|workload| &workload.groups).map(crate::ext::scx_task_group);
    let groups: Vec<_> = groups.collect();
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let (rules, declared, _) = crate::ext::load(machine, kernel, scheduler, 0)?;
    Ok(declared.cgroup_warn_missing(&rules, &groups))
}

/// Whether a side's governors can be had on this machine and kernel.
///
/// # Errors
/// As [`check`]: a machine without frequencies, or a governor that does not fit its driver or the kernel.
pub fn check_power(machine: &Machine, kernel: &Preset, side: PmSide) -> Result<(), SimError> {
    PmModel::new(machine, kernel, kernel.features, side).map(drop)
}

/// Whether runs of these workloads can begin, each with what else `setup` says: nothing of them or of the side is
/// refused once a run is made. `setup` has a workload of its own, which is not looked at.
///
/// # Errors
/// The place of the first workload that is refused, with what a run of it would fail with.
pub fn check_workloads<'a>(
    setup: &Setup<'a>,
    workloads: impl IntoIterator<Item = &'a Workload>,
) -> Result<(), (usize, SimError)> {
    let domains = model::domains(setup.machine, setup.kernel, setup.features).map_err(|error| (0, error))?;
    for (at, workload) in workloads.into_iter().enumerate() {
        let model = Model::new(&Setup { workload, ..*setup }, &domains).map_err(|error| (at, error))?;
        if let Some(what) = setup.scheduler.and_then(|_| crate::ext::not_modelled(&model)) {
            return Err((at, crate::ext::refused(what)));
        }
    }
    Ok(())
}
