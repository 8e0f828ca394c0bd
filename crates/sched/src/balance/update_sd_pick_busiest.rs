//! `update_sd_pick_busiest()` (`kernel/sched/fair.c`): the busier one of two groups.
//!
//! ```text
//! no fair task                                    -> no
//! unequal CPUs and misfit_task: destination not larger, local group not has_spare, or its core not idle (7.2) -> no
//! types differ                                    -> the later type
//! overloaded       the larger avg_load            misfit_task   the larger group_misfit_task_load
//! llc_balance      more tasks that prefer the destination's LLC; as first posted, before types are compared
//! imbalanced       no                             asym_packing  the lower priority
//! smt_balance      fewer idle CPUs if any are idle, else as fully_busy
//! fully_busy       the larger avg_load (0 for both; 6.12 decides by SMT)
//! has_spare        fewer idle CPUs, then more tasks; since 6.12 first a comparison of SMT with non-SMT cores
//! ```

use super::BalanceRules;
use super::lb_env::LbParams;
use super::update_sg_lb_stats::{GroupType, SgLbStats};
use crate::group_order::Rank;
use crate::select::fits_capacity;

/// `capacity_greater()`: whether `a` is noticeably greater than `b`, by about 5%.
#[inline]
pub(super) fn capacity_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}

/// `update_sd_pick_busiest()`: whether `sgs` replaces the busiest group so far. If there is none so far, `busiest` is
/// [`SgLbStats::none`].
#[inline]
pub fn update_sd_pick_busiest(params: &LbParams<'_>, local: &SgLbStats, busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    if sgs.sum_h_nr_running == 0 || (params.asym_capacity() && !can_help(params, local, sgs)) {
        return false;
    }
    if params.rules.larger_cpus_first && spares_larger(params, local, sgs) {
        return false;
    }
    if sgs.llc_balance_first || busiest.llc_balance_first {
        return sgs.llc_balance_first && sgs.nr_pref_dst_llc > busiest.nr_pref_dst_llc;
    }
    if sgs.group_type != busiest.group_type {
        return sgs.group_type > busiest.group_type;
    }
    is_busier(params, local, busiest, sgs)
}

/// What [`update_sd_pick_busiest`] compares, as a number: of two groups it prefers the one with the lower rank. `None`
/// for a group that it never takes. CPUs are alike, no group is imbalanced, and all are cores with SMT, or none is.
#[inline]
pub(crate) fn busiest_rank(rules: &BalanceRules, sgs: &SgLbStats) -> Option<Rank> {
    if sgs.sum_h_nr_running == 0 {
        return None;
    }
    let by_idle_cpus = u64::from(sgs.idle_cpus) << u32::BITS | u64::from(u32::MAX - sgs.sum_nr_running);
    let in_type = match sgs.group_type {
        GroupType::Overloaded => (1 << Rank::BITS_IN_TYPE) - 1 - sgs.avg_load,
        GroupType::HasSpare => by_idle_cpus,
        GroupType::SmtBalance if sgs.idle_cpus != 0 => by_idle_cpus,
        _ => 0,
    };
    let rank = Rank::new(GroupType::Overloaded as u64 - sgs.group_type as u64, in_type);
    let last_of_equals = sgs.group_type == GroupType::FullyBusy && rules.smt_balance && !sgs.is_smt();
    Some(Rank { last_of_equals, ..rank })
}

/// Whether the destination is suited for the group's tasks. It is not if they are misfit tasks and the destination is
/// no larger or not spare itself.
fn can_help(params: &LbParams<'_>, local: &SgLbStats, sgs: &SgLbStats) -> bool {
    sgs.group_type != GroupType::MisfitTask
        || (is_smaller(params, sgs.max_capacity, local.max_capacity)
            && local.group_type == GroupType::HasSpare
            && (params.dst_core_idle || !params.rules.misfit_to_idle_core))
}

/// Whether a capacity of the candidate is less than the destination's, in 5.10 than the local group's
/// (`group_smaller_max_cpu_capacity()`).
fn is_smaller(params: &LbParams<'_>, candidate: u64, local: u64) -> bool {
    if params.rules.asym_by_dst {
        capacity_greater(params.dst_capacity, candidate)
    } else {
        fits_capacity(candidate, local)
    }
}

/// Whether the candidate's tasks are better off where they are: its CPUs are larger than the destination, and it has no
/// more tasks than CPUs.
fn spares_larger(params: &LbParams<'_>, local: &SgLbStats, sgs: &SgLbStats) -> bool {
    let is_larger = || {
        if params.rules.asym_by_dst {
            capacity_greater(sgs.min_capacity, params.dst_capacity)
        } else {
            fits_capacity(local.min_capacity, sgs.min_capacity)
        }
    };
    params.asym_capacity() && sgs.group_type <= GroupType::FullyBusy && is_larger()
}

/// Compares two groups of one type.
#[inline]
fn is_busier(params: &LbParams<'_>, local: &SgLbStats, busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    let last_of_equals = !params.rules.first_of_equals;
    match sgs.group_type {
        GroupType::Overloaded => sgs.avg_load > busiest.avg_load,
        GroupType::LlcBalance => sgs.nr_pref_dst_llc > busiest.nr_pref_dst_llc,
        GroupType::Imbalanced => false,
        // The group of the lowest priority is emptied first.
        GroupType::AsymPacking => {
            busiest.prefer_priority > sgs.prefer_priority
                || (last_of_equals && busiest.prefer_priority == sgs.prefer_priority)
        }
        GroupType::MisfitTask => {
            sgs.group_misfit_task_load > busiest.group_misfit_task_load
                || (last_of_equals && sgs.group_misfit_task_load == busiest.group_misfit_task_load)
        }
        GroupType::SmtBalance if sgs.idle_cpus != 0 || busiest.idle_cpus != 0 => has_fewer_idle_cpus(busiest, sgs),
        GroupType::SmtBalance | GroupType::FullyBusy => {
            is_fuller(params, busiest, sgs) && !spares_larger(params, local, sgs)
        }
        GroupType::HasSpare => {
            if params.rules.smt_balance && busiest.group_weight != 0 && busiest.is_smt() != sgs.is_smt() {
                // A core with one task is left alone because it would be idle afterwards. The kernel does not compare
                // the capacities here.
                return !(sgs.is_smt() && sgs.sum_h_nr_running <= 1);
            }
            has_fewer_idle_cpus(busiest, sgs) && !spares_larger(params, local, sgs)
        }
    }
}

/// Compares average loads. The kernel computes them for overloaded groups only, so they are equal here, at 0.
fn is_fuller(params: &LbParams<'_>, busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    // With smt_balance, only a group of SMT siblings stays the busiest against an equal.
    let last_of_equals = params.rules.smt_balance && !busiest.is_smt();
    sgs.avg_load > busiest.avg_load || (last_of_equals && sgs.avg_load == busiest.avg_load)
}

#[inline]
fn has_fewer_idle_cpus(busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    sgs.idle_cpus < busiest.idle_cpus
        || (sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running > busiest.sum_nr_running)
}
