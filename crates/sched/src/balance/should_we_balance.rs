//! `should_we_balance()` (`kernel/sched/fair.c`): whether this CPU is the one of its group that pulls.
//!
//! ```text
//! if newly idle: return no task is queued here and no wake-up is pending         since 6.1; before, true
//! for each idle CPU of group_balance_mask(own group):
//!     if it is on an idle core, or cores do not matter: return it is this CPU    since 6.12
//!     remember the first
//! if there was an idle CPU: return the first is this CPU
//! return group_balance_cpu(own group) is this CPU
//! ```
//!
//! Cores do not matter within a core, and not at all before 6.12.

use super::lb_env::{CpuIdleType, LbEnv};
use super::view::BalanceView;
use crate::domain::SdFlags;

/// `should_we_balance()`: whether the CPU of the pass pulls for its group. That is the first idle CPU of the group, or
/// the first CPU if none is idle; since 6.12 the first CPU of an idle core takes precedence. A newly idle CPU pulls for
/// itself.
pub fn should_we_balance(env: &LbEnv<'_, impl BalanceView>) -> bool {
    if env.idle == CpuIdleType::NewlyIdle {
        let has_work = env.balance.rules.newidle_bails_out
            && (env.view.nr_running(env.dst_cpu) > 0 || env.view.ttwu_pending(env.dst_cpu));
        return !has_work;
    }
    let group = &env.sd.groups[env.sd.first_group as usize];
    let mut idle = env.cpus_of(group.group_balance_mask()).filter(|&cpu| env.view.idle_cpu(cpu));
    let mut first_idle = idle.next();
    let prefers_cores = env.balance.rules.idle_core_first && !env.sd.flags.contains(SdFlags::SHARE_CPUCAPACITY);
    if let Some(cpu) = first_idle
        && prefers_cores
        && !env.is_core_idle(cpu)
    {
        // The kernel removes the siblings of a busy core from swb_cpus. They are on the same busy core and would not
        // qualify.
        first_idle = idle.find(|&cpu| env.is_core_idle(cpu)).or(first_idle);
    }
    first_idle.unwrap_or_else(|| group.group_balance_cpu()) == env.dst_cpu
}
