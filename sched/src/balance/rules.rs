//! What differs between the balancing of kernel versions. forms.rs has the fields' types, versions.rs says which
//! version has which.

use super::forms::{
    BusyInterval, IlbWalk, NewidleRules, NumaImbalance, PreferSibling, Push, Serialize, SiblingImbalance,
};
use wakelab_kernel::UtilFits;

/// The version-dependent parts of balancing. Each field names the function it is of; "as maintained" is the newest
/// release of the stable branch (5.10.262, 6.1.176, 6.12.107).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BalanceRules {
    /// Groups have no types beyond overloaded and imbalanced, and are compared by the load of their queued tasks
    /// (`find_busiest_group()` with `fix_small_imbalance()`, and in `detach_tasks()` a limit of twice the imbalance;
    /// before 0b0695f2b34a, which is in 5.5).
    pub by_load: bool,
    /// Per-CPU kernel threads are passed over; before, they count as pinned (`can_migrate_task()`; in 5.10 as
    /// maintained, not in 5.3).
    pub kthreads_passed_over: bool,
    /// Between siblings of a core no task is cache-hot (`task_hot()`; in 5.10, not in 5.3).
    pub siblings_share_cache: bool,
    /// A pass that has found tasks all pinned, and then balance, leaves the group's imbalance as it is
    /// (`load_balance()`, f6cad8df6b30; in 5.4, not in 5.3).
    pub pinned_keep_imbalance: bool,
    /// How much rarer a busy CPU balances.
    pub busy_interval: BusyInterval,
    /// A CPU that runs only SCHED_IDLE tasks balances as often as an idle one (`rebalance_domains()`, 323af6deaf70; in
    /// 5.6, not in 5.3).
    pub sched_idle_is_idle: bool,
    /// In which order a CPU balances for those whose tick is stopped.
    pub ilb_walk: IlbWalk,
    /// A newly-idle CPU does not balance once it has a task or a wake-up is on its way (`should_we_balance()`,
    /// 792b9f65a568; in 6.1, not in 5.18).
    pub newidle_bails_out: bool,
    /// For its group pulls the first CPU of an idle core, before an idle CPU with a busy sibling
    /// (`should_we_balance()`, its `swb_cpus` and `is_core_idle()`; in 6.12, not in 6.1). Not within a core.
    pub idle_core_first: bool,
    /// A CPU whose capacity other classes and interrupts have reduced makes its group one to pull from
    /// (`sched_reduced_capacity()`; in 6.1, not in 5.18).
    pub reduced_capacity: bool,
    /// Delayed tasks are not counted among the fair ones (`h_nr_runnable` in place of `h_nr_queued` in
    /// `update_sg_lb_stats()`, `sched_balance_find_src_rq()`, `need_active_balance()` and `nohz_balancer_kick()`; in
    /// 7.2, not in 6.12). `rq->nr_running` counts them in both.
    pub h_nr_runnable: bool,
    /// Two tasks on one core are pulled to an idle CPU (`smt_balance()`, `group_smt_balance`), and of two groups the
    /// one that is a core with SMT is told apart from one that is not (`smt_vs_nonsmt_groups()` and the tie of
    /// `fully_busy` in `update_sd_pick_busiest()`; in 6.12, not in 6.1).
    pub smt_balance: bool,
    /// Of two groups with equal misfit tasks, or of equal asymmetric priority, the first stays the busiest
    /// (`update_sd_pick_busiest()`; in 6.12; in 6.1 the last does).
    pub first_of_equals: bool,
    /// On unequal CPUs: a group of larger CPUs without more tasks than CPUs never becomes the busiest; before, only its
    /// equals in type keep it from that (`update_sd_pick_busiest()`; in 7.2 and 6.1.192, not in 6.12.107
    /// nor 6.1.176).
    pub larger_cpus_first: bool,
    /// On unequal CPUs: misfit tasks are pulled to idle cores only (`env->dst_core_idle` in `update_sd_pick_busiest()`;
    /// in 7.2 and 6.1.192, not in 6.12.107 nor 6.1.176).
    pub misfit_to_idle_core: bool,
    /// On unequal CPUs: a group has misfit tasks for the pulling CPU's capacity, and by 5%; before, for the local
    /// group's largest CPU, and by a fifth (`update_sd_pick_busiest()` and `find_busiest_queue()`; in 5.18, not in
    /// 5.10).
    pub asym_by_dst: bool,
    /// How a task is found to fit a CPU, which makes it a misfit or the CPU overutilized (`util_fits_cpu()`).
    pub util_fits: UtilFits,
    /// A task that runs on the largest CPU it may use is no misfit (`max_allowed_capacity` in `update_misfit_status()`;
    /// in 6.12, not in 6.1). Before, a misfit task has others balance only where its CPU is not one of the largest, or
    /// its capacity is reduced (`check_misfit_status()`).
    pub misfit_by_allowed: bool,
    /// A pass for misfit tasks that moves none is no failure, and leaves the interval as it is (`load_balance()`; in
    /// 6.12, not in 6.1).
    pub misfit_is_no_failure: bool,
    /// A group has misfit tasks only for a CPU that is larger than its CPUs (`update_sg_lb_stats()`; in 7.3, not in
    /// 7.2).
    pub misfit_if_larger: bool,
    /// The only task of a CPU with a busy sibling, or of one that is as large and machines have clusters, may go to a
    /// CPU that is no larger (`smt_degraded_cap` and `cluster_equal_cap` in `sched_balance_find_src_rq()`; in 7.3, not
    /// in 7.2).
    pub equal_capacity_pulls: bool,
    /// With an energy model: misfit tasks are pulled though no CPU is overutilized (`find_busiest_group()`; in 6.1 as
    /// maintained, not in 5.18).
    pub misfit_before_energy: bool,
    /// With an energy model: a group without an overutilized CPU is not overloaded (`group_is_overloaded()`; in 7.2,
    /// not in 6.12).
    pub overloaded_by_energy: bool,
    /// With an energy model: the minimum that tasks ask for can make a CPU overutilized (`cpu_overutilized()`; in 6.12,
    /// not in 7.2).
    pub overutilized_by_min: bool,
    /// Which domain says that tasks go to siblings first.
    pub prefer_sibling: PreferSibling,
    /// How uneven siblings are.
    pub sibling_imbalance: SiblingImbalance,
    /// Nothing is pulled to a fully busy group above the domain's average load (`calculate_imbalance()`,
    /// 91dcf1e8068e; in 5.10 and 6.1 as maintained). Before, the difference wraps and drops out of the minimum.
    pub local_above_average: bool,
    /// The number of tasks is halved after a NUMA imbalance is allowed for, not before (cb29a5c19d2d; in the tip tree
    /// of June 2022, not in 5.18).
    pub halved_after_numa: bool,
    /// When an imbalance between nodes is left alone.
    pub numa_imbalance: NumaImbalance,
    /// A run queue without fair tasks is not looked at (`find_busiest_queue()`; in 5.18, not in 5.10, where it can be
    /// taken for the busiest by the load that its blocked tasks have left).
    pub idle_queues_skipped: bool,
    /// Pinned tasks are offered only to CPUs of the group's balance mask (`dst_grpmask`; in 5.10 and 6.1 as maintained,
    /// not in the tip tree of June 2022). It differs from the span where groups overlap.
    pub dst_balance_mask: bool,
    /// Failed passes let tasks of more utilisation move, as they do with load (`detach_tasks()`, migrate_util; in 5.10
    /// and 6.1 as maintained, not in the tip tree of June 2022).
    pub util_relaxed: bool,
    /// When a pass goes back to a run queue, it leaves its last task alone even for a busy CPU (`detach_tasks()`; in
    /// 5.18, not in 5.10).
    pub last_task_stays: bool,
    /// Delayed tasks move only where load is evened out (`can_migrate_task()`; in 7.2, not in 6.12).
    pub delayed_only_with_load: bool,
    /// A task that would have to wait for its eligibility, and would not be alone at the destination, moves only after
    /// a failed pass (`task_is_ineligible_on_dst_cpu()` in `can_migrate_task()`, with PLACE_LAG; in 7.2, not in 6.12).
    pub ineligible_waits: bool,
    /// When a running task is pushed, and what that means for the next passes.
    pub push: Push,
    /// A running task that is just going to sleep is not pushed (`curr->on_rq` in `sched_balance_rq()`; in 7.3, not in
    /// 7.2).
    pub push_queued_only: bool,
    /// Which passes over a domain with SD_SERIALIZE exclude each other.
    pub serialize: Serialize,
    /// Newly-idle balancing.
    pub newidle: NewidleRules,
    /// A CPU of an idle core balances for CPUs whose tick is stopped, before one with a busy sibling (`find_new_ilb()`;
    /// in 7.3, not in 7.2).
    pub ilb_idle_core: bool,
    /// A CPU that stops its tick has `nohz.next_balance` updated soon (`nohz.needs_update`, NOHZ_NEXT_KICK; in 5.18,
    /// not in 5.10).
    pub nohz_next_kick: bool,
}
