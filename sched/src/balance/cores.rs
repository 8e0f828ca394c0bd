//! Cores of a group.

use crate::domain::{SchedDomains, SchedGroup};

/// `group->cores` (`init_sched_groups_capacity()`): how many cores the group has CPUs of.
pub(super) fn cores(domains: &SchedDomains, group: &SchedGroup) -> u32 {
    if !domains.smt_active {
        return group.weight;
    }
    // A core is counted with its first CPU in the group.
    let first_of_core = |cpu| domains.smt_mask[cpu as usize].iter().find(|&other| group.span.test(other)) == Some(cpu);
    group.span.iter().filter(|&cpu| first_of_core(cpu)).count() as u32
}
