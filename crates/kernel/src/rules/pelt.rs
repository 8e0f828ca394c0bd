//! Averages (`kernel/sched/pelt.c`, and in fair.c what attaches, detaches and estimates).

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of a run queue's averages.
    pub struct PeltRules {
        /// How a run queue's sums follow its averages when a task's are subtracted (`update_cfs_rq_load_avg()`,
        /// `detach_entity_load_avg()`).
        pub sums: SumRule,
        /// The weight by which a new task's utilisation is taken from its run queue's (`post_init_entity_util_avg()`).
        pub init_weight: InitWeight,
        /// A task that leaves an idle CPU is aged up to now (`migrate_se_pelt_lag()`, e2f3e35f1f5a; in 6.1, not in
        /// 5.18).
        pub migrate_lag: bool,
        /// Setting the weight that a task has already does not retake its `load_avg` (`reweight_entity()`; in 7.3, not
        /// in 7.2).
        pub skip_same_weight: bool,
        /// A run queue keeps the load of its queued tasks beside that of all that are attached (`runnable_load_avg`, up
        /// to 5.6).
        pub runnable_load: bool,
    }
}

forms! {
    /// How a run queue's sums change when a task's averages are subtracted.
    ///
    /// `avg` and `sum` are rounded apart, so subtracting from both can leave a sum too small for its average.
    pub enum SumRule {
        /// Both are subtracted, and neither goes below 0 (5.2, 5.3).
        Plain = "subtracted",
        /// The sum is recomputed from what is left of the average; only the removed utilisation has the lower bound
        /// (stable 5.10.y).
        Resync = "recomputed",
        /// As in stable 5.10.y, and the load's sum is recomputed, too, when a task's load is taken off
        /// (`dequeue_load_avg()`, stable 5.15.y; 1c35b07e6d39).
        ResyncLoad = "recomputed, of a task's load too",
        /// Both are subtracted, then the sum is kept at or above average * PELT_MIN_DIVIDER, compared **as 32 bits**:
        /// of a run queue's `load_sum` above 2^32 the upper half is lost (6.1 to 6.18).
        Bound32 = "bounded, in 32 bits",
        /// Both are subtracted, then the sum is kept at or above average * PELT_MIN_DIVIDER, compared at the sum's own
        /// width, also when load is added (`__update_sa()`, 7.2, 7.3).
        Bound = "bounded",
    }
}

forms! {
    /// The weight by which a new task's first utilisation is taken from its run queue's.
    pub enum InitWeight {
        /// `se->load.weight`, which on 64 bits is 1024 times the weight that `load_avg` consists of: the result nearly
        /// always meets the cap (5.10, 6.1).
        ScaledUp = "load.weight",
        /// `se_weight()` (6.12 and later; not in 6.8).
        SeWeight = "se_weight()",
    }
}

forms! {
    /// The form of estimated utilisation (`util_est_update()`).
    pub enum UtilEst {
        /// The last value and a moving average; FASTUP is a switch (5.10 to 6.6).
        LastAndEwma = "last value and moving average",
        /// A moving average, not updated when the task used more than its CPU's capacity (6.8, 6.12).
        EwmaBelowCapacity = "moving average, below capacity",
        /// A moving average (6.18 to 7.3).
        Ewma = "moving average",
    }
}
