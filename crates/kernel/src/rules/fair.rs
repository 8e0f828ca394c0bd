//! The fair class's run queue: CFS up to 6.5, EEVDF since 6.6.

use super::Rule;
use super::describe::{Describe, forms, rules};

forms! {
    /// The scheduling algorithm of the fair class.
    pub enum Class {
        /// The completely fair scheduler, up to 6.5.
        Cfs = "CFS",
        /// Earliest eligible virtual deadline first, since 6.6.
        Eevdf = "EEVDF",
    }
}

/// The scheduling algorithm of a kernel version, with the rules that only it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FairClass {
    /// The completely fair scheduler.
    Cfs(CfsRules),
    /// Earliest eligible virtual deadline first.
    Eevdf(EevdfRules),
}

impl FairClass {
    /// The algorithm alone.
    pub const fn class(&self) -> Class {
        match self {
            FairClass::Cfs(_) => Class::Cfs,
            FairClass::Eevdf(_) => Class::Eevdf,
        }
    }
}

impl Describe for FairClass {
    fn describe(&self, name: &str, doc: &'static str, add: &mut dyn FnMut(Rule)) {
        self.class().describe("class", "The scheduling algorithm: EEVDF since 6.6 (147f3efaa241).", add);
        match self {
            FairClass::Cfs(rules) => rules.describe(name, doc, add),
            FairClass::Eevdf(rules) => rules.describe(name, doc, add),
        }
    }
}

rules! {
    /// The form of CFS in a kernel version.
    pub struct CfsRules {
        /// CFS: a SCHED_IDLE task beside others has a slice of at least `sysctl_sched_idle_min_granularity`, and a
        /// smaller credit after sleep (`sched_slice()`, `place_entity()`; in 6.1, not in 5.10).
        pub sched_idle_slices: bool,
        /// CFS: the vruntime of a task that slept for 104 days is not compared (`entity_is_long_sleeper()`; in stable
        /// 5.10.y and 6.1.y, not in 5.18: it came with 6.3).
        pub long_sleeper: bool,
        /// CFS: a pick clears the markers of the task that it picks, even if that goes on running
        /// (`pick_next_entity()`, 5.10). Since 5.14 only a switch to the task does, so that a task that yields and goes
        /// on stays marked (`set_next_entity()`, 6.1; 21f56ffe4482).
        pub pick_clears_buddies: bool,
    }
}

rules! {
    /// The form of EEVDF in a kernel version.
    pub struct EevdfRules {
        /// EEVDF: how long RUN_TO_PARITY protects the picked task (`set_protect_slice()`). Since 6.18 every charge of a
        /// task that is not protected asks for a reschedule, and without the feature the base slice is protected.
        pub slice_protection: SliceProtection,
        /// EEVDF: only a pick protects, not a task's return after a change of its parameters (`set_next_entity()`; in
        /// 7.2, not in 6.12).
        pub protect_picked_only: bool,
        /// EEVDF: how a wakee is compared with the running task (`check_preempt_wakeup_fair()`, 6.12;
        /// `wakeup_preempt_fair()`, 7.2).
        pub wakeup_preempt: WakeupPreempt,
        /// EEVDF: a new task is enqueued as one (`ENQUEUE_INITIAL` in `wake_up_new_task()`; in 6.12, not in 6.8).
        /// Before, `task_fork_fair()` charges the parent and places the task as new, but the enqueue places it once
        /// more, with the deadline of any task, so that PLACE_DEADLINE_INITIAL has no effect.
        pub initial_enqueue: bool,
        /// EEVDF: a task that yields gives up the rest of its request if it is eligible (`yield_task_fair()`,
        /// 79104becf42b; in stable 6.12.y, not in 6.8). Before, its deadline moves by a slice, eligible or not.
        pub yield_forfeits: bool,
        /// EEVDF: a task can ask for a slice of its own (`sched_setattr()`, `custom_slice`; in 6.12, not in 6.8, where
        /// every request is the base slice).
        pub custom_slices: bool,
        /// EEVDF: NEXT_BUDDY, which marks a wakee, also lets the pick take it (`pick_next_entity()`, up to 6.8); in
        /// 6.12 PICK_BUDDY does that.
        pub next_buddy_picks: bool,
        /// EEVDF: the next buddy is considered whenever tasks are compared (`pick_eevdf()`; in 7.2). Before, only a
        /// schedule considers it, with or without protection (`pick_next_entity()`).
        pub buddy_in_pick: bool,
        /// EEVDF: how far a task's lag may be from zero (`entity_lag()`).
        pub lag_limit: LagLimit,
        /// EEVDF: a delayed task's lag is taken when it goes to sleep and can only rise until it is dequeued
        /// (`update_entity_lag()`; in 7.2, not in 6.12). A delayed task that wakes is then charged for and placed anew
        /// only if that has changed its lag.
        pub delayed_lag_kept: bool,
        /// EEVDF: weights have 10 more bits, eligibility is computed in 128 bits, and the zero point follows a heavy
        /// task that joins (in 7.2, not in 6.12). It shows only in products that exceed 64 bits, and in the sums.
        pub full_weights: bool,
        /// EEVDF: the lag of a task that joins is inflated by l + l w/W, which exceeds 64 bits less often than l (W +
        /// w)/W (`place_entity()`; in 7.3, not in 7.2).
        pub split_inflation: bool,
        /// EEVDF: a new weight rescales a relative deadline as it does lag (`reweight_entity()`; in 6.18, not in 6.12).
        pub deadline_rescaled: bool,
        /// EEVDF: the weight that the queue uses is set at the enqueue, and its inverse is (2^32-1)/w instead of the
        /// table's (`h_load`; in 7.3, not in 7.2).
        pub weight_at_enqueue: bool,
        /// EEVDF: the hrtick expires at the deadline; before, when the task has run for its slice since it was picked
        /// (`hrtick_start_fair()`; in 7.2, not in 6.12).
        pub hrtick_at_deadline: bool,
        /// EEVDF: the class asks for a reschedule lazily, at the next return to user space or the next tick
        /// (`resched_curr_lazy()`; in 6.18, not in 6.12; with CONFIG_PREEMPT_LAZY, as in Debian's configuration).
        pub lazy_preemption: bool,
    }
}

impl EevdfRules {
    /// Returns whether the protection ends at a point in virtual time (`vprot`, 6.18), not at a deadline that must not
    /// change (6.12).
    #[inline]
    pub const fn protects_by_vruntime(&self) -> bool {
        matches!(self.slice_protection, SliceProtection::MinSlice | SliceProtection::UntilIneligible)
    }
}

forms! {
    /// How long RUN_TO_PARITY protects the picked task.
    pub enum SliceProtection {
        /// Until its deadline (6.12).
        ToDeadline = "to the deadline",
        /// For the shortest slice queued, or without the feature for the base slice, but no longer than to its deadline
        /// (6.18, 7.2).
        MinSlice = "shortest slice",
        /// For the shortest slice queued; if that is another task's, only while the task is eligible (7.3, with
        /// PREEMPT_SHORT).
        UntilIneligible = "shortest slice, while eligible",
    }
}

forms! {
    /// How far a task's lag may be from zero (`entity_lag()`), as virtual time.
    pub enum LagLimit {
        /// Twice its slice, a tick at least (6.6 to 6.18).
        OwnSlice = "twice its slice",
        /// The longest slice queued, and a tick (7.2).
        LongestSlice = "longest slice queued and a tick",
    }
}

forms! {
    /// How a task that joined is compared with the running one.
    pub enum WakeupPreempt {
        /// The task preempts if it would be picked. A protected task goes on although it is SCHED_IDLE and the other is
        /// not: the reschedule that is asked for picks it again (6.6).
        Compare = "compare",
        /// As in 6.6; a SCHED_IDLE task is rescheduled for another even without WAKEUP_PREEMPTION (6.8).
        IdleThenCompare = "idle, then compare",
        /// A shorter slice may end the protection; then the task preempts if it would be picked (6.12).
        CancelThenLook = "cancel protection, then compare",
        /// The task preempts if it would be picked, without the protection if its slice is shorter; then the protection
        /// ends with it. If such a task does not win, the protection is cut to the shortest slice. Delayed tasks stay
        /// on the queue, and the next buddy does not count (6.18).
        CompareUnprotected = "compare, without protection for a shorter slice",
        /// The form that the posting of today's NEXT_BUDDY gave 6.18: the order of 7.2, in which the next buddy
        /// counts, but delayed tasks stay on the queue in that comparison ("[PATCH 2/2] sched/fair: Reimplement
        /// NEXT_BUDDY to align with EEVDF goals", Mel Gorman, v4, 3 November 2025).
        PickAsPosted = "pick, delayed tasks stay",
        /// A pick as by a schedule, which takes delayed tasks off the queue: a task with a shorter slice ignores the
        /// protection in that pick, and ends it if it wins. If the task does not win, the protection is cut to the
        /// shortest slice (7.2).
        Pick = "pick",
        /// A pick as in 7.2, but a task with a shorter slice ends the protection as soon as it is eligible, and is then
        /// marked to be picked next. It is checked even if a reschedule was asked for already (7.3).
        PickOrEligible = "pick, or a shorter slice eligible",
    }
}
