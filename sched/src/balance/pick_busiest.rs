//! Which of two groups is busier (`update_sd_pick_busiest()`).

use super::facts::LbFacts;
use super::group_type::GroupType;
use super::stats::SgLbStats;
use crate::select::fits_capacity;

/// `capacity_greater()`: noticeably, by about 5%.
#[inline]
pub(super) fn capacity_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}

/// `update_sd_pick_busiest()`: whether `sgs` takes the place of the busiest group so far. With none so far, `busiest` is
/// [`SgLbStats::none`].
#[inline]
pub fn update_sd_pick_busiest(facts: &LbFacts<'_>, local: &SgLbStats, busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    if sgs.sum_h_nr_running == 0 || (facts.asym_capacity() && !helps(facts, local, sgs)) {
        return false;
    }
    if facts.rules.larger_cpus_first && spares_larger(facts, local, sgs) {
        return false;
    }
    if sgs.group_type != busiest.group_type {
        return sgs.group_type > busiest.group_type;
    }
    is_busier(facts, local, busiest, sgs)
}

/// Not so where misfit tasks are to be moved to a CPU that is no larger, or that is needed itself.
fn helps(facts: &LbFacts<'_>, local: &SgLbStats, sgs: &SgLbStats) -> bool {
    sgs.group_type != GroupType::MisfitTask
        || (is_smaller(facts, sgs.max_capacity, local.max_capacity)
            && local.group_type == GroupType::HasSpare
            && (facts.dst_core_idle || !facts.rules.misfit_to_idle_core))
}

/// A capacity of the candidate is less than that of the pulling CPU; before, than the local group's
/// (`group_smaller_max_cpu_capacity()`, 5.10).
fn is_smaller(facts: &LbFacts<'_>, candidate: u64, local: u64) -> bool {
    if facts.rules.asym_by_dst {
        capacity_greater(facts.dst_capacity, candidate)
    } else {
        fits_capacity(candidate, local)
    }
}

/// The candidate's CPUs are larger than the destination, and it has no more tasks than CPUs: there they are better off.
fn spares_larger(facts: &LbFacts<'_>, local: &SgLbStats, sgs: &SgLbStats) -> bool {
    let is_larger = || {
        if facts.rules.asym_by_dst {
            capacity_greater(sgs.min_capacity, facts.dst_capacity)
        } else {
            fits_capacity(local.min_capacity, sgs.min_capacity)
        }
    };
    facts.asym_capacity() && sgs.group_type <= GroupType::FullyBusy && is_larger()
}

/// Of two groups of one type.
#[inline]
fn is_busier(facts: &LbFacts<'_>, local: &SgLbStats, busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    let last_of_equals = !facts.rules.first_of_equals;
    match sgs.group_type {
        GroupType::Overloaded => sgs.avg_load > busiest.avg_load,
        GroupType::Imbalanced => false,
        // The lowest priority is freed first.
        GroupType::AsymPacking => {
            busiest.prefer_priority > sgs.prefer_priority
                || (last_of_equals && busiest.prefer_priority == sgs.prefer_priority)
        }
        GroupType::MisfitTask => {
            sgs.group_misfit_task_load > busiest.group_misfit_task_load
                || (last_of_equals && sgs.group_misfit_task_load == busiest.group_misfit_task_load)
        }
        GroupType::SmtBalance if sgs.idle_cpus != 0 || busiest.idle_cpus != 0 => has_fewer_idle(busiest, sgs),
        GroupType::SmtBalance | GroupType::FullyBusy => {
            is_fuller(facts, busiest, sgs) && !spares_larger(facts, local, sgs)
        }
        GroupType::HasSpare => {
            if facts.rules.smt_balance && busiest.group_weight != 0 && busiest.is_smt() != sgs.is_smt() {
                // A core with one task is left alone: it would be idle afterwards. How large its CPUs are is not asked.
                return !(sgs.is_smt() && sgs.sum_h_nr_running <= 1);
            }
            has_fewer_idle(busiest, sgs) && !spares_larger(facts, local, sgs)
        }
    }
}

/// By average load, which the kernel works out for overloaded groups only: these here are equal, at 0.
fn is_fuller(facts: &LbFacts<'_>, busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    // With smt_balance only a group of SMT siblings stays the busiest against its equals.
    let last_of_equals = facts.rules.smt_balance && !busiest.is_smt();
    sgs.avg_load > busiest.avg_load || (last_of_equals && sgs.avg_load == busiest.avg_load)
}

#[inline]
fn has_fewer_idle(busiest: &SgLbStats, sgs: &SgLbStats) -> bool {
    sgs.idle_cpus < busiest.idle_cpus
        || (sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running > busiest.sum_nr_running)
}
