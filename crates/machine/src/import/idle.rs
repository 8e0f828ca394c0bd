//! Idle states: `cpu*/cpuidle/state*`.

use super::sys::Sys;
use super::tree::{SAVE, Tree};
use crate::{IdleState, Origin};
use wakelab_input::InputError;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// The states, shallowest first; one entry for all CPUs that have the same.
pub(super) fn read(sys: &Sys<'_>) -> Result<Vec<IdleState>, InputError> {
    let mut states: Vec<IdleState> = Vec::new();
    for cpu in 0..sys.len() {
        for index in sys.tree.numbered(&sys.path(cpu, "cpuidle"), "state")? {
            let state = read_one(sys, cpu, index)?;
            let none = CpuMask::new(sys.len());
            let bare = |state: &IdleState| IdleState { cpus: none.clone(), ..state.clone() };
            match states.iter_mut().find(|before| before.index == index && bare(before) == bare(&state)) {
                Some(before) => before.cpus.set(cpu),
                None => states.push(state),
            }
        }
    }
    if states.is_empty() {
        sys.note("there is no cpu*/cpuidle/state*: the machine has no idle states".to_owned());
    }
    states.sort_by_key(|state| (state.index, state.cpus.first()));
    Ok(states)
}

fn read_one(sys: &Sys<'_>, cpu: Cpu, index: u32) -> Result<IdleState, InputError> {
    let tree = sys.tree;
    let file = |name: &str| sys.path(cpu, &format!("cpuidle/state{index}/{name}"));
    // The kernel counts microseconds in 32 bits.
    let us = |tree: Tree<'_>, path: &str| tree.number(path, &(0..=i64::from(u32::MAX)));
    let name = tree.need(&file("name"), "the state's name", Tree::text)?;
    if name.is_empty() {
        return Err(tree.error(&file("name"), "expected the state's name, found nothing").with_hint(SAVE));
    }
    Ok(IdleState {
        cpus: CpuMask::from_cpus(sys.len(), [cpu]),
        index,
        name,
        description: tree.text(&file("desc"))?.filter(|text| !text.is_empty()),
        exit_latency_ns: tree.need(&file("latency"), "the exit latency in us", us)? as u64 * 1000,
        residency_ns: tree.need(&file("residency"), "the target residency in us", us)? as u64 * 1000,
        power_uw: None,
        disabled: tree.number(&file("disable"), &(0..=i64::MAX))?.is_some_and(|disable| disable != 0),
        origin: Origin::Source("sysfs: cpu*/cpuidle/state*/{name,desc,latency,residency,disable}".to_owned()),
    })
}
