//! Rules outside of fair.c that matter to the fair class: `kernel/sched/core.c`, the configuration, and the pipe that
//! many benchmarks talk through.

use super::ExtRules;
use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts outside of the fair class.
    pub struct CoreRules {
        /// CONFIG_PREEMPTION: a newly idle balance pulls one task at most (`detach_tasks()`). It is on with
        /// PREEMPT_DYNAMIC, the default on x86 since 5.18, and off with the PREEMPT_VOLUNTARY of Debian's 5.10.
        pub preemption: bool,
        /// When the hrtick is started and canceled (`hrtick_start()`, and `__schedule()` for the fair class).
        pub hrtick: HrtickForm,
        /// Each read from a full pipe wakes a writer, whether a page has become free or not (`pipe_read()`, up to
        /// 6.13).
        pub pipe_wakes_while_full: bool,
        /// Tasks can have utilisation clamps, which run queues keep once somebody has set one (`sched_uclamp_used`,
        /// since 5.9, 46609ce22703; 5.3 keeps them always and was not read, 5.2 has none).
        pub uclamp: bool,
        /// A task's utilisation clamps join the run queue's after the class has enqueued it, so that the frequency that
        /// schedutil asks for meanwhile does not know them (`enqueue_task()`; in 6.12, not in 6.8 and 6.18).
        pub uclamp_after_enqueue: bool,
        /// The mechanism that keeps a share of each CPU for the fair class if realtime tasks want all of it.
        pub rt_bandwidth: RtBandwidthForm,
        /// `find_lowest_rq()` takes the CPUs of a domain in turn (`cpumask_any_and_distribute()`, 5.11; in 6.1, not in
        /// 5.10), not the first.
        pub rt_distributes: bool,
        /// No realtime task is sent to a CPU where a deadline task is queued (`CPUPRI_HIGHER`; in 6.1, not in 5.10).
        pub dl_is_higher: bool,
        /// A fair server that finds its CPU idle is stopped when its timer expires (`dl_defer_idle`, f5a538c07df2 and
        /// e636ffb9e31b for 6.19; in 7.2, not in 6.12.107, nor in the 6.18 of before them).
        pub fair_server_stops_idle: bool,
        /// The signal that tells the scheduler that a CPU's frequency is limited.
        pub pressure: PressureForm,
        /// sched_ext; `None` where schedulers in BPF cannot be loaded (up to 6.11).
        pub ext: Option<ExtRules>,
    }
}

forms! {
    /// The mechanism that keeps a share of each CPU for the fair class.
    pub enum RtBandwidthForm {
        /// Realtime tasks of a CPU are throttled when they have run for `sched_rt_runtime_us` of a period (up to 6.11).
        Throttling = "RT throttling",
        /// Fair tasks that starve run under a deadline reservation, the fair server (557a6bfc662c and a110a81c52a9; in
        /// 6.12, not in 6.8). Realtime tasks are throttled in groups only (5f6bd380c7bd).
        FairServer = "the fair server",
    }
}

forms! {
    /// The signal that tells the scheduler that a CPU's frequency is limited, so that it has less capacity.
    pub enum PressureForm {
        /// Nothing (up to 5.6).
        None = "nothing",
        /// Thermal pressure, averaged, taken off what is left for the fair class with what realtime tasks use (5.7 to
        /// 6.9, 467b7d01c469; read in 5.10 and 6.1).
        Thermal = "thermal pressure",
        /// The larger of averaged hardware pressure and of cpufreq's, that is of `scaling_max_freq`, taken off the
        /// capacity first (since 6.10, d4dbc991714e and f1f8d0a22422; read in 6.12 and 7.2).
        Hw = "hardware and cpufreq pressure",
    }
}

forms! {
    /// When the hrtick is started and canceled.
    pub enum HrtickForm {
        /// Each schedule cancels it and each pick starts it, and so does each enqueue and dequeue (up to 6.8).
        EachPick = "at each pick",
        /// Each schedule cancels it; a switch, an enqueue and a dequeue start it, but not a pick of the task that runs
        /// already (6.12, 6.18).
        EachSwitch = "at each switch",
        /// A switch starts it, an enqueue does if none is active, and idle cancels it (7.2).
        IfInactive = "at a switch, and if inactive",
    }
}
