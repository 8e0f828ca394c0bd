//! Whether this CPU is the one of its group that pulls.

use super::env::{CpuIdleType, LbEnv};
use super::view::BalanceView;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedGroup, SdFlags};

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

/// `should_we_balance()`: whether the CPU pulls for its group: the first idle CPU does, else the first; since 6.12 the first
/// of an idle core before them. A CPU that is about to go idle pulls for itself.
pub fn should_we_balance(env: &LbEnv<'_, impl BalanceView>) -> bool {
    if env.idle == CpuIdleType::NewlyIdle {
        let has_work = env.balance.rules.newidle_bails_out
            && (env.view.nr_running(env.dst_cpu) > 0 || env.view.ttwu_pending(env.dst_cpu));
        return !has_work;
    }
    let group = &env.sd.groups[env.sd.first_group as usize];
    let mut idle = env.cpus_of(group_balance_mask(group)).filter(|&cpu| env.view.idle_cpu(cpu));
    let mut first_idle = idle.next();
    let prefers_cores = env.balance.rules.idle_core_first && !env.sd.flags.contains(SdFlags::SHARE_CPUCAPACITY);
    if let Some(cpu) = first_idle
        && prefers_cores
        && !env.is_core_idle(cpu)
    {
        // The kernel takes the siblings of a core that is not idle out of its mask: they would not do either.
        first_idle = idle.find(|&cpu| env.is_core_idle(cpu)).or(first_idle);
    }
    first_idle.unwrap_or_else(|| group_balance_cpu(group)) == env.dst_cpu
}
