//! Control groups of the CPU controller (`kernel/sched/fair.c`).

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of control groups.
    pub struct GroupRules {
        /// A group can be SCHED_IDLE as a whole (`cpu.idle`, `tg->idle`; since 5.15, 304000390f88).
        pub cpu_idle: bool,
        /// A CPU adds what has changed of a group's load to the sum over all CPUs once in a millisecond at most
        /// (`update_tg_load_avg()`, 1528c661c24b; in 6.8, not in 6.6).
        pub tg_load_avg_limited: bool,
        /// A group's entity keeps its weight when the group becomes empty, as its dequeue may be delayed
        /// (`update_cfs_group()`; in stable 6.12.y, not in 6.8). Before, the weight is that of an empty group.
        pub empty_keeps_weight: bool,
        /// The effect of a new weight on the virtual times of a group's queued entity.
        pub reweight: GroupReweight,
        /// The slice of a group's entity is the shortest in the group (`enqueue_task_fair()`, `dequeue_entities()`; in
        /// 6.12, not in 6.8, where it is the base slice).
        pub slices: bool,
        /// Where a CPU goes from idle to a task of groups, or one of them is throttled while the next task is picked,
        /// the entities are set from the root downwards (`pick_next_task_fair()`, "simple"; up to 6.8). Later from the
        /// task upwards (`set_next_task_fair()`).
        pub set_downwards: bool,
        /// All tasks of a CPU compete on one queue, each with the weight that its groups leave it, and groups are
        /// counted and weighed only (`enqueue_hierarchy()`; in 7.3, not in 7.2).
        pub one_queue: bool,
        /// The factor by which a group's weight is multiplied before it is divided among CPUs.
        pub shares: GroupShares,
        /// What happens to the tasks of a group whose quota is used up (`cpu.max`).
        pub throttle: ThrottleForm,
        /// A CPU unthrottles its queues itself, in an interrupt that the one with the timer sends
        /// (`__unthrottle_cfs_rq_async()`, 8ad075c2eb1f; in 6.6, not in 6.1).
        pub unthrottle_async: bool,
        /// Run time of earlier periods may be saved up (`cpu.max.burst`; since 5.14, f4183717b370), and the timer
        /// refills at the end of a period that nobody used, too.
        pub burst: bool,
        /// The period timer counts from a random part of the period (`init_cfs_bandwidth()`; in 6.6, not in 6.1).
        pub period_offset: bool,
        /// `throttled_usec` counts only while something is queued (in 6.6, not in 6.1).
        pub throttled_time_if_queued: bool,
        /// A throttled queue's averages stand still at `rq_clock_task()`, and go on by `rq_clock_pelt()`
        /// (`tg_throttle_down()`; up to 5.18, 64eaf50731ac).
        pub throttled_clock_task: bool,
    }
}

forms! {
    /// What happens to the tasks of a group whose quota is used up (`throttle_cfs_rq()`).
    pub enum ThrottleForm {
        /// The group's entity leaves the queue above, with all that is below (up to 6.12).
        Queues = "leave with the group's entity",
        /// Each leaves when it returns to user space, which is asked of the one that is picked next (6.18;
        /// e1fad12dcb66).
        TasksAtPick = "leave one by one, once picked",
        /// Each leaves when it returns to user space, which is asked as soon as the run time is used up (7.2).
        Tasks = "leave one by one",
    }
}

forms! {
    /// The effect of a new weight on the virtual times of a group's queued entity (`reweight_entity()`).
    pub enum GroupReweight {
        /// Nothing: its vruntime stays (CFS).
        Kept = "stay",
        /// Lag and deadline are rescaled around the V of the others, as the entity is taken out of the tree first; the
        /// running entity is charged only if it is this one (6.8).
        AroundOthers = "rescaled around V of the others",
        /// Lag, clamped, and deadline are rescaled around V (stable 6.6.y and 6.12.y).
        AroundV = "rescaled around V",
        /// It is placed anew, with its lag and its relative deadline rescaled (6.18).
        Placed = "placed anew",
        /// Lag, clamped, and deadline are rescaled around V, and the protection of the running entity with them (7.2).
        WithProtection = "rescaled around V, with the protection",
    }
}

forms! {
    /// The factor by which a group's weight is multiplied before it is divided among CPUs (`calc_group_shares()`).
    pub enum GroupShares {
        /// By 1: a group weighs the same however many CPUs it uses (up to 7.2; 7.3's `cgroup_mode` "smp").
        Smp = "1",
        /// By the number of its tasks, as the sum of runnable averages has it, or that of CPUs if that is less (7.3's
        /// default `cgroup_mode`, "concur").
        Concur = "runnable tasks, at most CPUs",
    }
}

impl GroupReweight {
    /// Returns whether nothing is done if the weight does not change (`update_cfs_group()`; in 6.6, not in 6.1, which
    /// takes the averages anew).
    pub const fn skips_same(self) -> bool {
        !matches!(self, GroupReweight::Kept)
    }
}
