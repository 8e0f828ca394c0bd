//! Load balancing (`load_balance()`, `newidle_balance()`, `_nohz_idle_balance()`; since 6.10 `sched_balance_rq()` and
//! `sched_balance_newidle()`).

use super::describe::{forms, rules};
use super::{SchedCacheRules, UtilFits};

rules! {
    /// The version-dependent parts of balancing.
    pub struct BalanceRules {
        /// Groups have no types beyond overloaded and imbalanced, and are compared by the load of their queued tasks
        /// (`find_busiest_group()` with `fix_small_imbalance()`, and in `detach_tasks()` a limit of twice the
        /// imbalance; before 0b0695f2b34a, which is in 5.5).
        pub by_load: bool,
        /// Per-CPU kernel threads are skipped; before, they count as pinned (`can_migrate_task()`; in stable 5.10.y,
        /// not in 5.3).
        pub kthreads_passed_over: bool,
        /// Between siblings of a core no task is cache-hot (`task_hot()`; in 5.10, not in 5.3).
        pub siblings_share_cache: bool,
        /// A pass that has found all tasks pinned, and then balance, leaves the group's imbalance as it is
        /// (`load_balance()`, f6cad8df6b30; in 5.4, not in 5.3).
        pub pinned_keep_imbalance: bool,
        /// How much longer the interval of a busy CPU is (`get_sd_balance_interval()`, `sd->busy_factor`).
        pub busy_interval: BusyInterval,
        /// A CPU that runs only SCHED_IDLE tasks balances as often as an idle one (`rebalance_domains()`, 323af6deaf70;
        /// in 5.6, not in 5.3).
        pub sched_idle_is_idle: bool,
        /// The order in which a CPU balances for the CPUs whose tick is stopped (`_nohz_idle_balance()`).
        pub ilb_walk: IlbWalk,
        /// A newly idle CPU does not balance once it has a task or a wake-up is pending (`should_we_balance()`,
        /// 792b9f65a568; in 6.1, not in 5.18).
        pub newidle_bails_out: bool,
        /// The first CPU of an idle core pulls for its group, before an idle CPU with a busy sibling
        /// (`should_we_balance()`, its `swb_cpus` and `is_core_idle()`; in 6.6, not in 6.1). It does not apply within
        /// a core.
        pub idle_core_first: bool,
        /// A CPU whose capacity other classes and interrupts have reduced makes its group one to pull from
        /// (`sched_reduced_capacity()`; in 6.1, not in 5.18).
        pub reduced_capacity: bool,
        /// Delayed tasks are not counted among the fair ones (`h_nr_runnable` instead of `h_nr_queued` in
        /// `update_sg_lb_stats()`, `sched_balance_find_src_rq()`, `need_active_balance()` and `nohz_balancer_kick()`;
        /// in 6.18, not in 6.12). `rq->nr_running` counts them in both.
        pub h_nr_runnable: bool,
        /// Two tasks on one core are pulled to an idle CPU (`smt_balance()`, `group_smt_balance`), and of two groups
        /// the one that is a core with SMT is distinguished from one that is not (`smt_vs_nonsmt_groups()` and the tie
        /// of `fully_busy` in `update_sd_pick_busiest()`; in 6.6, not in 6.1).
        pub smt_balance: bool,
        /// Of two groups with equal misfit tasks, or of equal asymmetric priority, the first stays the busiest
        /// (`update_sd_pick_busiest()`; in 6.12; up to 6.8 the last does).
        pub first_of_equals: bool,
        /// On unequal CPUs: a group of larger CPUs without more tasks than CPUs never becomes the busiest; before, only
        /// an equal in type prevents it (`update_sd_pick_busiest()`; in 7.2 and 6.1.192, not in 6.12.107 nor 6.1.176).
        pub larger_cpus_first: bool,
        /// On unequal CPUs: misfit tasks are pulled to idle cores only (`env->dst_core_idle` in
        /// `update_sd_pick_busiest()`; in 7.2 and 6.1.192, not in 6.12.107 nor 6.1.176).
        pub misfit_to_idle_core: bool,
        /// On unequal CPUs: a group has misfit tasks for the pulling CPU's capacity, and by 5%; before, for the local
        /// group's largest CPU, and by a fifth (`update_sd_pick_busiest()` and `find_busiest_queue()`; in 5.18, not in
        /// 5.10).
        pub asym_by_dst: bool,
        /// How a task is found to fit a CPU, which decides on misfits and on overutilized CPUs (`util_fits_cpu()`).
        pub util_fits: UtilFits,
        /// A task that runs on the largest CPU it may use is no misfit (`max_allowed_capacity` in
        /// `update_misfit_status()`; in 6.12, not in 6.8). Before, a misfit task makes others balance only if its CPU
        /// is not one of the largest, or its capacity is reduced (`check_misfit_status()`).
        pub misfit_by_allowed: bool,
        /// A pass for misfit tasks that moves none is no failure, and leaves the interval as it is (`load_balance()`;
        /// in 6.12, not in 6.8).
        pub misfit_is_no_failure: bool,
        /// A group has misfit tasks only for a CPU that is larger than its CPUs (`update_sg_lb_stats()`; in 7.3, not in
        /// 7.2).
        pub misfit_if_larger: bool,
        /// The only task of a CPU with a busy sibling, or of one as large as the pulling CPU on a machine with
        /// clusters, may go to a CPU that is no larger (`smt_degraded_cap` and `cluster_equal_cap` in
        /// `sched_balance_find_src_rq()`; in 7.3, not in 7.2).
        pub equal_capacity_pulls: bool,
        /// With an energy model: misfit tasks are pulled though no CPU is overutilized (`find_busiest_group()`; in
        /// stable 6.1.y, not in 5.18).
        pub misfit_before_energy: bool,
        /// With an energy model: a group without an overutilized CPU is not overloaded (`group_is_overloaded()`; in
        /// 7.2, not in 6.12).
        pub overloaded_by_energy: bool,
        /// With an energy model: the minimum that tasks ask for can make a CPU overutilized (`cpu_overutilized()`; in
        /// 6.12, not in 7.2).
        pub overutilized_by_min: bool,
        /// The domain that decides whether tasks go to siblings first (`sds->prefer_sibling`, `update_sd_lb_stats()`).
        pub prefer_sibling: PreferSibling,
        /// How uneven siblings are (`sibling_imbalance()`).
        pub sibling_imbalance: SiblingImbalance,
        /// Nothing is pulled to a fully busy group above the domain's average load (`calculate_imbalance()`,
        /// 91dcf1e8068e; in stable 5.10.y and 6.1.y). Before, the difference wraps and drops out of the minimum.
        pub local_above_average: bool,
        /// The number of tasks is halved after a NUMA imbalance is allowed for, not before (cb29a5c19d2d; in the tip
        /// tree of June 2022, not in 5.18).
        pub halved_after_numa: bool,
        /// When an imbalance between nodes is left alone (`adjust_numa_imbalance()`).
        pub numa_imbalance: NumaImbalance,
        /// A run queue without fair tasks is skipped (`find_busiest_queue()`; in 5.18, not in 5.10, where the load that
        /// its blocked tasks have left can make it the busiest).
        pub idle_queues_skipped: bool,
        /// Pinned tasks are offered only to CPUs of the group's balance mask (`dst_grpmask`; in stable 5.10.y and
        /// 6.1.y, not in the tip tree of June 2022). It differs from the span if groups overlap.
        pub dst_balance_mask: bool,
        /// Failed passes let tasks of more utilisation move, as they do with load (`detach_tasks()`, migrate_util; in
        /// stable 5.10.y, 5.15.y and 6.1.y and in 6.8, not in the tip tree of June 2022 and in 6.6.87).
        pub util_relaxed: bool,
        /// While all tasks that were considered are pinned, a pass goes on beyond `sysctl_sched_nr_migrate`, until it
        /// has considered as many as run there (`detach_tasks()`, b0defa7ae03e; in 6.8, and not in 6.12 and stable
        /// 6.1.y and 6.6.y, where 2feab2492deb takes it back).
        pub pinned_extend: bool,
        /// When a pass returns to a run queue, it leaves its last task alone even for a busy CPU (`detach_tasks()`; in
        /// 5.18, not in 5.10).
        pub last_task_stays: bool,
        /// Delayed tasks move only when load is balanced (`can_migrate_task()`; in 6.18, not in 6.12).
        pub delayed_only_with_load: bool,
        /// A task that would have to wait for its eligibility, and would not be alone at the destination, moves only
        /// after a failed pass (`task_is_ineligible_on_dst_cpu()` in `can_migrate_task()`, with PLACE_LAG; in 6.18, not
        /// in 6.12).
        pub ineligible_waits: bool,
        /// When a running task is pushed, and what that means for the next passes (`need_active_balance()`).
        pub push: Push,
        /// A running task that is about to sleep is not pushed (`curr->on_rq` in `sched_balance_rq()`; in 7.3, not in
        /// 7.2).
        pub push_queued_only: bool,
        /// The passes over a domain with SD_SERIALIZE that exclude each other (`balancing`, `sched_balance_running`).
        pub serialize: Serialize,
        /// Cache-aware balancing, if the version has it (in 7.2, not in 6.12).
        pub sched_cache: Option<SchedCacheRules>,
        /// Newly idle balancing.
        pub newidle: NewidleRules,
        /// A CPU of an idle core balances for CPUs whose tick is stopped, before one with a busy sibling
        /// (`find_new_ilb()`; in 7.3, not in 7.2).
        pub ilb_idle_core: bool,
        /// A CPU that stops its tick has `nohz.next_balance` updated soon (`nohz.needs_update`, NOHZ_NEXT_KICK; in
        /// 5.18, not in 5.10).
        pub nohz_next_kick: bool,
    }
}

rules! {
    /// The version-dependent parts of newly idle balancing (`newidle_balance()`, `sched_balance_newidle()`).
    pub struct NewidleRules {
        /// A CPU that expects to be idle for less than `sysctl_sched_migration_cost` does not begin; later the cost of
        /// its lowest domain decides (in 5.10, not in 5.18).
        pub cost_floor: bool,
        /// A rising cost restarts the second after which it decays, and the time of `update_blocked_averages()` belongs
        /// to the lowest domain's (`update_newidle_cost()`; in 5.18, not in 5.10).
        pub cost_restarts_decay: bool,
        /// Of the domains of a periodic visit, the highest one's decay counts for the CPU's own maximum; before, any
        /// (`need_decay` in `rebalance_domains()`; in 5.18, not in 5.10).
        pub last_decay_counts: bool,
        /// The condition that ends it before the highest domain, after a pass without success.
        pub stop: NewidleStop,
        /// A CPU that has made passes does not note that the averages of others are due (`nohz_newidle_balance()` is
        /// called only if none is made; in 5.3, not in 5.10).
        pub blocked_without_pass: bool,
        /// NI_RANDOM throws no dice if every pass succeeds, and NI_RATE makes sure that a domain is balanced that is
        /// balanced seldom (`update_newidle_stats()`; in 7.2, not in 6.12).
        pub rate: bool,
    }
}

forms! {
    /// The condition that ends newly idle balancing before the highest domain.
    pub enum NewidleStop {
        /// A task is queued (5.10).
        Task = "a task",
        /// A task is queued or a wake-up is pending (5.15 to 6.8).
        TaskOrWakeup = "a task or a pending wake-up",
        /// The next pass reports it (`continue_balancing`, 6.12).
        NextPass = "the next pass",
    }
}

forms! {
    /// How much longer a domain's interval is while its CPU is busy.
    pub enum BusyInterval {
        /// 32 times (5.3; 6e7499135db7 is in 5.10).
        Times32 = "32 times",
        /// 16 times, less a jiffy, so that busy periods of two levels are not multiples of each other (5.10).
        Times16LessOne = "16 times, less a jiffy",
    }
}

forms! {
    /// The loop of `_nohz_idle_balance()`, and how `kick_ilb()` advances `nohz.next_balance`.
    pub enum IlbWalk {
        /// From the first CPU; the balancing one is last and does not count for `nohz.next_balance`, which is set even
        /// if the loop is left early. Any kick delays it by a jiffy (5.3).
        FromFirst = "from the first CPU",
        /// From the CPU after the balancing one. A kick to balance sets it to the next jiffy (5.10).
        FromNext = "from the next CPU",
    }
}

forms! {
    /// The domain that decides whether tasks go to siblings first.
    pub enum PreferSibling {
        /// The pulling CPU's domain below (up to 6.1).
        ChildDomain = "the child domain",
        /// The busiest group's domain (6.6).
        BusiestGroup = "the busiest group",
    }
}

forms! {
    /// How uneven siblings are.
    pub enum SiblingImbalance {
        /// By as many tasks as the busiest group has more (up to 6.1).
        Tasks = "by tasks",
        /// By tasks for each core, and not at all for a CPU that is busy (6.6).
        TasksPerCore = "by tasks per core",
    }
}

forms! {
    /// When an imbalance between nodes is left alone.
    pub enum NumaImbalance {
        /// While no more than a pair runs in the busiest group (5.10).
        BusiestPair = "a pair in the busiest group",
        /// While the destination has fewer tasks, with one more, than a quarter of its CPUs, and a pair would do
        /// (5.15; 7d2b5dd0bcc4).
        QuarterOfNode = "up to a quarter of the destination",
        /// While the destination has no more tasks than its domain's `imb_numa_nr`, and a pair would do (5.18).
        ImbNumaNr = "up to imb_numa_nr at the destination",
    }
}

forms! {
    /// Pushing a running task (`need_active_balance()` and what follows in `load_balance()`).
    pub enum Push {
        /// After enough failures of any kind. The next passes then take cache-hot tasks, and the interval doubles
        /// unless the push has another reason (`voluntary_active_balance()`). A task that may not be pushed counts as
        /// pinned, and a run queue with one task does not (5.10).
        AnyFailures = "after failures of any pass",
        /// After enough failures of passes that move tasks; the interval starts anew (`imbalanced_active_balance()`,
        /// 5.18).
        TaskFailures = "after failures to move tasks",
    }
}

forms! {
    /// The passes over a domain with SD_SERIALIZE that exclude each other.
    pub enum Serialize {
        /// Periodic ones, from before they are known to be due (`rebalance_domains()`, 6.12).
        Visits = "periodic visits",
        /// All, once it is known that the CPU pulls for its group, newly idle ones included (`sched_balance_rq()`,
        /// 6.18). One that does not get its turn counts as one that found balance.
        Passes = "all passes",
    }
}
