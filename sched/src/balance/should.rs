//! Whether this CPU is the one of its group that pulls.

use super::env::{CpuIdleType, LbEnv};
use super::view::BalanceView;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::SchedGroup;

/// `group_balance_mask()`: the CPUs of a group that balance for it.
#[inline]
pub fn group_balance_mask(group: &SchedGroup) -> &CpuMask {
    group.balance_mask.as_ref().unwrap_or(&group.span)
}

/// `group_balance_cpu()`: the first of them. It names the group's `sched_group_capacity` at its level.
///
/// # Panics
/// If the group has no CPU.
#[inline]
pub fn group_balance_cpu(group: &SchedGroup) -> Cpu {
    group_balance_mask(group).first().expect("a group has CPUs")
}

/// `should_we_balance()`: whether the CPU pulls for its group: the first idle CPU does, else the first. A CPU that is about
/// to go idle pulls for itself.
pub fn should_we_balance(env: &LbEnv<'_, impl BalanceView>) -> bool {
    if env.idle == CpuIdleType::NewlyIdle {
        let has_work = env.balance.rules.newidle_bails_out
            && (env.view.nr_running(env.dst_cpu) > 0 || env.view.ttwu_pending(env.dst_cpu));
        return !has_work;
    }
    let group = &env.sd.groups[env.sd.first_group as usize];
    let first_idle = env.cpus_of(group_balance_mask(group)).find(|&cpu| env.view.idle_cpu(cpu));
    first_idle.unwrap_or_else(|| group_balance_cpu(group)) == env.dst_cpu
}
