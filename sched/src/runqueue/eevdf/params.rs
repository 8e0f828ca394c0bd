//! Tunables and feature switches.

/// What an EEVDF run queue can be told (6.12; defaults are in the presets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EevdfParams {
    /// The slice of tasks that ask for none, ns (`sysctl_sched_base_slice`; 0.7 to 3 ms by the number of CPUs; an
    /// `unsigned int`: less than 2^32).
    pub base_slice_ns: u64,
    /// The tick's period, ns (`TICK_NSEC`: 1 to 10 ms). Limits lag only.
    pub tick_ns: u64,
    /// `PLACE_LAG`: a task joins with the lag it left with. Off: it joins at V.
    pub place_lag: bool,
    /// `PLACE_DEADLINE_INITIAL`: the first request of a new task is half as long.
    pub place_deadline_initial: bool,
    /// `PLACE_REL_DEADLINE`: a task that is moved, or changed, keeps its deadline relative to its vruntime.
    pub place_rel_deadline: bool,
    /// `RUN_TO_PARITY`: a running task stays, while it is eligible, until its request is served.
    pub run_to_parity: bool,
    /// `PREEMPT_SHORT`: waking tasks with a shorter slice end that protection.
    pub preempt_short: bool,
    /// `DELAY_DEQUEUE`: a task that blocks while it is not eligible stays queued until it is picked.
    pub delay_dequeue: bool,
    /// `DELAY_ZERO`: a delayed task leaves, or wakes, without positive lag.
    pub delay_zero: bool,
    /// `WAKEUP_PREEMPTION`: a wake-up may preempt.
    pub wakeup_preemption: bool,
}
