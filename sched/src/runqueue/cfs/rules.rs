//! The forms that CFS has had.

/// Which form of CFS a kernel version runs, and feature switches that are off in every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfsRules {
    /// A task of policy IDLE beside others has a granularity of its own, and a smaller credit after sleep
    /// (`sched_slice()` and `place_entity()`; in 6.1, not in 5.10).
    pub sched_idle_slices: bool,
    /// The vruntime of a task that slept for 104 days is not compared (`entity_is_long_sleeper()`; in 5.10.262 and
    /// 6.1.176, which have it from 6.3; not in 5.18).
    pub long_sleeper: bool,
    /// A pick clears the markers of the task that it picks, even if that goes on running (`pick_next_entity()`, 5.10).
    /// Since, only a switch does (`set_next_entity()`, 6.1).
    pub pick_clears_buddies: bool,
    /// `NEXT_BUDDY`: with at least `nr_latency` tasks, who wakes is marked to be picked next even if it does not preempt.
    pub next_buddy: bool,
    /// `HRTICK`: a timer ends the slice.
    pub hrtick: bool,
    /// `DOUBLE_TICK`: the periodic tick checks for preemption beside the hrtick.
    pub double_tick: bool,
}

impl CfsRules {
    /// 6.1 (checked against 6.1.192, and read in 6.1.176).
    pub const V6_1: Self = CfsRules {
        sched_idle_slices: true,
        long_sleeper: true,
        pick_clears_buddies: false,
        next_buddy: false,
        hrtick: false,
        double_tick: false,
    };

    /// 5.18: from the changelog, not checked against a source tree.
    pub const V5_18: Self = CfsRules { long_sleeper: false, ..Self::V6_1 };

    /// 5.10 (read in 5.10.262).
    pub const V5_10: Self = CfsRules { sched_idle_slices: false, pick_clears_buddies: true, ..Self::V6_1 };
}
