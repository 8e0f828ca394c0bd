//! The forms that EEVDF has had.

use wakelab_kernel::SliceProtection;

/// How far a task's lag may be from zero (`entity_lag()`), as virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LagLimit {
    /// Twice its slice, a tick at least (6.12).
    OwnSlice,
    /// The longest slice queued, and a tick (7.2).
    LongestSlice,
}

/// How a task that joined is compared with the running one (`check_preempt_wakeup_fair()`, 6.12; since,
/// `wakeup_preempt_fair()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeupPreempt {
    /// A shorter slice may end the protection; then it is looked who would be picked (6.12).
    CancelThenLook,
    /// A pick as by a schedule, which takes delayed tasks off the queue: a task with a shorter slice ignores the protection
    /// there, and ends it if it wins. If the task does not win, the protection is cut to the shortest slice (7.2).
    Pick,
    /// The same, but a task with a shorter slice ends the protection as soon as it is eligible, and is then marked to be
    /// picked next. It is checked even if a reschedule was asked for already (7.3).
    PickOrEligible,
}

/// Which form of EEVDF a kernel version runs, feature switches beside those of [`EevdfParams`](super::EevdfParams), and
/// tunables that only some forms read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EevdfRules {
    /// For how long RUN_TO_PARITY protects (`set_protect_slice()`). Since 7.2 every charge of a task that is not
    /// protected asks for a reschedule, and without the feature the base slice is protected.
    pub protection: SliceProtection,
    /// Only a pick protects, not a task's return after a change (`set_next_entity()`; in 7.2, not in 6.12).
    pub protect_picked_only: bool,
    /// How far lag may be from zero.
    pub lag_limit: LagLimit,
    /// A delayed task's lag is taken when it goes to sleep and can only rise (`update_entity_lag()`; in 7.2, not in 6.12).
    /// Then, too, a delayed task that wakes is charged for and placed anew only if its lag has been changed by that.
    pub delayed_lag_kept: bool,
    /// Weights have 10 more bits, whether a task is eligible is computed in 128 bits, and the zero point follows a heavy
    /// task that joins (in 7.2, not in 6.12). Shows only where products leave 64 bits, and in the sums.
    pub full_weights: bool,
    /// The lag of a task that joins is inflated by l + l w/W, of which less leaves 64 bits than of l (W + w)/W
    /// (`place_entity()`; in 7.3, not in 7.2).
    pub split_inflation: bool,
    /// A new weight rescales a relative deadline as it does lag (`rescale_entity()`; in 7.2, not in 6.12).
    pub deadline_rescaled: bool,
    /// The weight that the queue reckons with is set at the enqueue, and its inverse is (2^32-1)/w instead of the table's
    /// (`h_load`, in 7.3, not in 7.2).
    pub weight_at_enqueue: bool,
    /// The hrtick comes when the deadline is reached; before, when as much run time as the slice has passed since the
    /// task was picked (`hrtick_start_fair()`; in 7.2, not in 6.12).
    pub hrtick_at_deadline: bool,
    /// A reschedule is asked for lazily (`resched_curr_lazy()`, in 7.2, not in 6.12; if preempt=lazy).
    pub lazy: bool,
    /// `HRTICK`: a timer ends the slice.
    pub hrtick: bool,
    /// `NEXT_BUDDY`: who wakes and does not preempt is marked to be picked next.
    pub next_buddy: bool,
    /// `PICK_BUDDY`: marks are obeyed.
    pub pick_buddy: bool,
    /// `PARANOID_AVG` (7.2): weights lose bits when a product leaves 64 bits.
    pub paranoid_avg: bool,
    /// `sysctl_sched_migration_cost`, ns. Read with NEXT_BUDDY only (`preempt_sync()`, 7.2).
    pub migration_cost_ns: u64,
    /// `normalized_sysctl_sched_base_slice`, ns: the base slice before it is scaled by the number of CPUs. Read without
    /// RUN_TO_PARITY only (`set_protect_slice()`, 7.2).
    pub normalized_base_slice_ns: u64,
}

impl EevdfRules {
    /// 6.12 (checked against 6.12.107).
    pub const V6_12: Self = EevdfRules {
        protection: SliceProtection::ToDeadline,
        protect_picked_only: false,
        lag_limit: LagLimit::OwnSlice,
        delayed_lag_kept: false,
        full_weights: false,
        split_inflation: false,
        deadline_rescaled: false,
        weight_at_enqueue: false,
        hrtick_at_deadline: false,
        lazy: false,
        hrtick: false,
        next_buddy: false,
        pick_buddy: true,
        paranoid_avg: false,
        migration_cost_ns: 500_000,
        normalized_base_slice_ns: 700_000,
    };

    /// 7.2 (read in 7.2.12, with its defaults and Debian's preempt=lazy).
    pub const V7_2: Self = EevdfRules {
        protection: SliceProtection::MinSlice,
        protect_picked_only: true,
        lag_limit: LagLimit::LongestSlice,
        delayed_lag_kept: true,
        full_weights: true,
        deadline_rescaled: true,
        hrtick_at_deadline: true,
        lazy: true,
        hrtick: true,
        ..Self::V6_12
    };

    /// 7.3 (read in 7.3.4), without cgroups.
    pub const V7_3: Self = EevdfRules {
        protection: SliceProtection::UntilIneligible,
        split_inflation: true,
        weight_at_enqueue: true,
        ..Self::V7_2
    };

    /// How a task that joined is compared with the running one. The forms came with those of the protection.
    #[inline]
    pub fn wakeup_preempt(&self) -> WakeupPreempt {
        match self.protection {
            SliceProtection::Absent | SliceProtection::ToDeadline => WakeupPreempt::CancelThenLook,
            SliceProtection::MinSlice => WakeupPreempt::Pick,
            SliceProtection::UntilIneligible => WakeupPreempt::PickOrEligible,
        }
    }

    /// Whether the protection is a point in virtual time (`vprot`, 7.2), not a deadline that must not change (6.12).
    #[inline]
    pub(super) fn protects_by_vruntime(&self) -> bool {
        matches!(self.protection, SliceProtection::MinSlice | SliceProtection::UntilIneligible)
    }
}
