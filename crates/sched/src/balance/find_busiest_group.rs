//! `find_busiest_group()` (`kernel/sched/fair.c`; `sched_balance_find_src_group()` since 6.10): the group to pull from,
//! if the domain is out of balance.
//!
//! ```text
//! update_sd_lb_stats()
//! no busiest group                                                  -> balanced
//! energy model and not rd->overutilized                             -> balanced (except for misfit tasks since 6.1)
//! busiest is misfit_task, asym_packing or imbalanced                -> imbalance
//! local group_type > busiest group_type                             -> balanced
//! local is overloaded:
//!     local avg_load >= busiest avg_load or >= the domain's         -> balanced
//!     100 * busiest avg_load <= imbalance_pct * local avg_load      -> balanced
//! prefer_sibling, local has_spare,
//!     busiest is llc_balance or sibling_imbalance() > 1             -> imbalance
//! busiest is not overloaded:
//!     destination not idle                                          -> balanced
//!     busiest is smt_balance, and one of the two is no SMT core     -> imbalance
//!     busiest weight > 1 and local idle_cpus <= busiest idle_cpus + 1   -> balanced
//!     busiest sum_h_nr_running == 1                                 -> balanced
//! else calculate_imbalance()
//! ```

use super::calculate_imbalance::{Imbalance, MigrationType, calculate_imbalance, sibling_imbalance};
use super::find_busiest_group_v5_3::{
    LbParamsV5_3, SgLbStatsV5_3, find_busiest_group_v5_3, sg_lb_stats_v5_3_of, update_sg_lb_stats_v5_3,
};
use super::lb_env::{LbEnv, LbParams};
use super::update_sd_lb_stats::{SdLbStats, update_sd_lb_stats};
use super::update_sg_lb_stats::GroupType;
use super::view::BalanceView;
use crate::domain::{SchedGroup, SdFlags};
use smallvec::SmallVec;

/// `find_busiest_group()`: returns the domain's sums, and the group to pull from with how much to pull; `None` if the
/// domain is in balance.
pub fn find_busiest_group<'a, V: BalanceView>(
    env: &mut LbEnv<'a, V>,
) -> (SdLbStats<'a>, Option<(&'a SchedGroup, Imbalance)>) {
    if env.balance.rules.by_load {
        return by_load(env);
    }
    let mut sds = update_sd_lb_stats(env);
    let Some(group) = sds.busiest else { return (sds, None) };
    // Tasks are where energy-aware placement put them. Only what it cannot solve is moved.
    let misfit = env.balance.rules.misfit_before_energy && sds.busiest_stat.group_type == GroupType::MisfitTask;
    if env.balance.energy && !env.overutilized_after(&sds) && !misfit {
        return (sds, None);
    }
    let imbalance = imbalance_of(&env.params, &mut sds);
    (sds, imbalance.map(|imbalance| (group, imbalance)))
}

/// `find_busiest_group()` up to 5.4, by load alone. Of the sums it fills in those that the pass reads.
fn by_load<'a, V: BalanceView>(env: &mut LbEnv<'a, V>) -> (SdLbStats<'a>, Option<(&'a SchedGroup, Imbalance)>) {
    let mut sds = SdLbStats::default();
    let mut groups: SmallVec<[SgLbStatsV5_3; 16]> = SmallVec::new();
    let sums = env.group_sums();
    for index in env.sd.group_indices() {
        let group = &env.sd.groups[index];
        let (stats, nr_rqs, overload) = match sums {
            Some(sums) => sg_lb_stats_v5_3_of(env, group, sums.group(index)),
            None => update_sg_lb_stats_v5_3(env, group),
        };
        env.nr_rqs += nr_rqs;
        sds.overload |= overload;
        sds.total_load += stats.group_load;
        sds.total_capacity += stats.group_capacity;
        sds.sum_util += stats.group_util;
        groups.push(stats);
    }
    let prefer_sibling = env.child.is_some_and(|child| child.flags.contains(SdFlags::PREFER_SIBLING));
    let params = LbParamsV5_3 { idle: env.idle, imbalance_pct: env.sd.imbalance_pct, prefer_sibling };
    let found = find_busiest_group_v5_3(&params, &groups).map(|(at, load)| {
        let group = env.sd.groups().nth(at).expect("it was summed up");
        (group, Imbalance { migration_type: MigrationType::Load, amount: load as i64 })
    });
    sds.busiest = found.map(|(group, _)| group);
    (sds, found)
}

/// The second half of `find_busiest_group()`, for a domain that is summed up and has a busiest group: returns how much
/// is to be moved; `None` if the domain is in balance. It fills in the averages of `sds` that it needs.
pub fn imbalance_of(params: &LbParams<'_>, sds: &mut SdLbStats<'_>) -> Option<Imbalance> {
    if is_balanced(params, sds) {
        return None;
    }
    Some(calculate_imbalance(params, sds)).filter(|imbalance| imbalance.amount != 0)
}

/// The checks of `find_busiest_group()` that lead to `out_balanced`, except the one for an energy model. The domain has
/// a busiest group.
pub fn is_balanced(params: &LbParams<'_>, sds: &mut SdLbStats<'_>) -> bool {
    let SdLbStats { busiest_stat: busiest, local_stat: local, .. } = *sds;
    // Tasks of such groups are moved whatever the averages are.
    if matches!(busiest.group_type, GroupType::MisfitTask | GroupType::AsymPacking | GroupType::Imbalanced) {
        return false;
    }
    if local.group_type > busiest.group_type {
        return true;
    }
    if local.group_type == GroupType::Overloaded {
        if local.avg_load >= busiest.avg_load {
            return true;
        }
        sds.avg_load = sds.load_per_capacity();
        if local.avg_load >= sds.avg_load || 100 * busiest.avg_load <= u64::from(params.imbalance_pct) * local.avg_load
        {
            return true;
        }
    }
    if sds.prefer_sibling
        && local.group_type == GroupType::HasSpare
        && (busiest.is_llc_balance() || sibling_imbalance(params, &busiest, &local) > 1)
    {
        return false;
    }
    if busiest.group_type == GroupType::Overloaded {
        return false;
    }
    if !params.dst_idle() {
        return true;
    }
    if busiest.group_type == GroupType::SmtBalance && local.is_smt() != busiest.is_smt() {
        return false;
    }
    // One idle CPU more than in the other group is no imbalance: moving a task would only reverse it.
    (busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.wrapping_add(1)) || busiest.sum_h_nr_running == 1
}
