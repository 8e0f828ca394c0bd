//! Which version balances how.

use super::forms::{
    BusyInterval, IlbWalk, NewidleRules, NewidleStop, NumaImbalance, PreferSibling, Push, Serialize, SiblingImbalance,
};
use super::rules::BalanceRules;
use wakelab_kernel::UtilFits;

impl BalanceRules {
    /// Linux 5.2 and 5.3. Read in torvalds/linux at f6cad8df6b30, without that change.
    pub const V5_3: BalanceRules = BalanceRules {
        by_load: true,
        kthreads_passed_over: false,
        siblings_share_cache: false,
        pinned_keep_imbalance: false,
        busy_interval: BusyInterval::Times32,
        sched_idle_is_idle: false,
        ilb_walk: IlbWalk::FromFirst,
        dst_balance_mask: false,
        newidle: NewidleRules { blocked_without_pass: true, ..Self::V5_10.newidle },
        ..Self::V5_10
    };
    /// Linux 5.10 as maintained (5.10.262).
    pub const V5_10: BalanceRules = BalanceRules {
        by_load: false,
        kthreads_passed_over: true,
        siblings_share_cache: true,
        pinned_keep_imbalance: true,
        busy_interval: BusyInterval::Times16LessOne,
        sched_idle_is_idle: true,
        ilb_walk: IlbWalk::FromNext,
        newidle_bails_out: false,
        idle_core_first: false,
        reduced_capacity: false,
        h_nr_runnable: false,
        smt_balance: false,
        first_of_equals: false,
        larger_cpus_first: false,
        misfit_to_idle_core: false,
        asym_by_dst: false,
        util_fits: UtilFits::YesNo,
        misfit_by_allowed: false,
        misfit_is_no_failure: false,
        misfit_if_larger: false,
        equal_capacity_pulls: false,
        misfit_before_energy: false,
        overloaded_by_energy: false,
        overutilized_by_min: true,
        prefer_sibling: PreferSibling::ChildDomain,
        sibling_imbalance: SiblingImbalance::Tasks,
        local_above_average: true,
        halved_after_numa: false,
        numa_imbalance: NumaImbalance::BusiestPair,
        idle_queues_skipped: false,
        dst_balance_mask: true,
        util_relaxed: true,
        last_task_stays: false,
        delayed_only_with_load: false,
        ineligible_waits: false,
        push: Push::AnyFailures,
        push_queued_only: false,
        serialize: Serialize::Visits,
        newidle: NewidleRules {
            cost_floor: true,
            cost_restarts_decay: false,
            last_decay_counts: false,
            stop: NewidleStop::Task,
            blocked_without_pass: false,
            rate: false,
        },
        ilb_idle_core: false,
        nohz_next_kick: false,
    };
    /// Linux 5.18 and 5.19-rc1. Read in torvalds/linux at 13ede3315087, the parent of the first change below.
    pub const V5_18: BalanceRules = BalanceRules {
        asym_by_dst: true,
        util_fits: UtilFits::Clamped,
        local_above_average: false,
        dst_balance_mask: false,
        util_relaxed: false,
        numa_imbalance: NumaImbalance::ImbNumaNr,
        idle_queues_skipped: true,
        last_task_stays: true,
        push: Push::TaskFailures,
        newidle: NewidleRules {
            cost_floor: false,
            cost_restarts_decay: true,
            last_decay_counts: true,
            stop: NewidleStop::TaskOrWakeup,
            ..Self::V5_10.newidle
        },
        nohz_next_kick: true,
        ..Self::V5_10
    };
    /// The same with the energy-aware parts of 6.4, for which those of 6.1 as maintained stand.
    pub const V5_18_EAS: BalanceRules =
        BalanceRules { util_fits: UtilFits::Thermal, misfit_before_energy: true, ..Self::V5_18 };
    /// The tip tree of June 2022. Read in torvalds/linux at cb29a5c19d2d; 792b9f65a568 comes after it.
    pub const V5_19_RC2_TIP: BalanceRules = BalanceRules { halved_after_numa: true, ..Self::V5_18 };
    /// Linux 6.1 as maintained (6.1.176).
    pub const V6_1: BalanceRules = BalanceRules {
        util_fits: UtilFits::Thermal,
        misfit_before_energy: true,
        newidle_bails_out: true,
        reduced_capacity: true,
        util_relaxed: true,
        local_above_average: true,
        dst_balance_mask: true,
        ..Self::V5_19_RC2_TIP
    };
    /// Linux 6.12 as maintained (6.12.107).
    pub const V6_12: BalanceRules = BalanceRules {
        util_fits: UtilFits::Actual,
        misfit_by_allowed: true,
        misfit_is_no_failure: true,
        idle_core_first: true,
        smt_balance: true,
        first_of_equals: true,
        prefer_sibling: PreferSibling::BusiestGroup,
        sibling_imbalance: SiblingImbalance::TasksPerCore,
        newidle: NewidleRules { stop: NewidleStop::NextPass, ..Self::V6_1.newidle },
        ..Self::V6_1
    };
    /// Linux 7.2 (7.2.12), without cache-aware balancing.
    pub const V7_2: BalanceRules = BalanceRules {
        h_nr_runnable: true,
        larger_cpus_first: true,
        misfit_to_idle_core: true,
        overloaded_by_energy: true,
        overutilized_by_min: false,
        delayed_only_with_load: true,
        ineligible_waits: true,
        serialize: Serialize::Passes,
        newidle: NewidleRules { rate: true, ..Self::V6_12.newidle },
        ..Self::V6_12
    };
    /// Linux 7.3 (7.3.4), without cache-aware balancing.
    pub const V7_3: BalanceRules = BalanceRules {
        misfit_if_larger: true,
        equal_capacity_pulls: true,
        push_queued_only: true,
        ilb_idle_core: true,
        ..Self::V7_2
    };

    /// The rules of a [`Preset`](wakelab_kernel::Preset) by its name (`v6.1`, ...); `None` where that version's
    /// balancing is not modelled.
    pub fn of_preset(name: &str) -> Option<BalanceRules> {
        Some(match name {
            "v5.2" | "v5.3" => Self::V5_3,
            "v5.10" => Self::V5_10,
            "v5.18" | "v5.19-rc1" => Self::V5_18,
            "v5.18-eas" => Self::V5_18_EAS,
            "v5.19-rc2-tip" => Self::V5_19_RC2_TIP,
            "v6.1" => Self::V6_1,
            "v6.12" => Self::V6_12,
            "v7.2" => Self::V7_2,
            "v7.3" => Self::V7_3,
            _ => return None,
        })
    }
}
