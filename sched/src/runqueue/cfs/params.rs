//! Tunables and feature switches.

/// What a CFS run queue can be told (6.1; defaults are in the presets).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CfsParams {
    /// The period in which every task runs once, ns (`sysctl_sched_latency`; 6 to 24 ms by the number of CPUs).
    pub latency_ns: u64,
    /// The least slice, ns (`sysctl_sched_min_granularity`; 0.75 to 3 ms).
    pub min_granularity_ns: u64,
    /// The least slice of a task of policy IDLE beside others, ns (`sysctl_sched_idle_min_granularity`; 0.75 ms).
    pub idle_min_granularity_ns: u64,
    /// How far behind a waking task must be to preempt, ns at its own weight (`sysctl_sched_wakeup_granularity`; 1
    /// to 4 ms).
    pub wakeup_granularity_ns: u64,
    /// With more tasks than this the period grows (`sched_nr_latency`; 8).
    pub nr_latency: u32,
    /// `GENTLE_FAIR_SLEEPERS`: a sleeper is credited half of the latency, not all.
    pub gentle_fair_sleepers: bool,
    /// `START_DEBIT`: a new task joins one slice behind.
    pub start_debit: bool,
    /// `WAKEUP_PREEMPTION`: a wake-up may preempt.
    pub wakeup_preemption: bool,
    /// `BASE_SLICE`: a slice is at least the granularity, however small the share.
    pub base_slice: bool,
    /// A task that wins a wake-up preemption is preferred at the next pick (`set_next_buddy()` in
    /// `check_preempt_wakeup()`). Always so in the kernel; off is for comparison.
    pub next_marker: bool,
    /// `LAST_BUDDY`: with at least `nr_latency` tasks, the CPU returns to the task that was preempted.
    pub last_buddy: bool,
}
