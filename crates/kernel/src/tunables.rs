//! Tunables of the fair class.

/// The unit of a tunable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// PELT's periods of 1024 us.
    Periods,
    /// A number of tasks.
    Tasks,
    /// 0 or 1.
    Flag,
    /// A plain number, of a mechanism that any version can be given.
    Plain,
}

impl Unit {
    /// As printed behind a value.
    pub fn suffix(self) -> &'static str {
        match self {
            Unit::Ns => "ns",
            Unit::Periods => "x 1024 us",
            Unit::Tasks => "tasks",
            Unit::Flag | Unit::Plain => "",
        }
    }
}

/// One tunable, to print or compare.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Tunable {
    /// Its name here.
    pub name: &'static str,
    /// Its name in the kernel's source.
    pub kernel_name: &'static str,
    /// Its value, where the version has it.
    pub value: Option<u64>,
    /// The unit of the value.
    pub unit: Unit,
    /// Whether the kernel multiplies it by [`Tunables::factor()`].
    pub scaled: bool,
    /// A description.
    pub doc: &'static str,
}

macro_rules! tunables {
    ($($name:ident: $kernel:literal, $unit:ident, $scaled:literal, $doc:literal;)*) => {
        /// The tunables of a kernel version, as its source has them: before they are scaled by the number of CPUs.
        /// What a version does not have is `None`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
        pub struct Tunables { $(#[doc = $doc] pub $name: Option<u64>,)* }

        impl Tunables {
            /// None.
            pub const NONE: Tunables = Tunables { $($name: None),* };

            /// Every tunable by name.
            pub fn list(&self) -> Vec<Tunable> {
                vec![$(Tunable {
                    name: stringify!($name),
                    kernel_name: $kernel,
                    value: self.$name,
                    unit: Unit::$unit,
                    scaled: $scaled,
                    doc: $doc,
                }),*]
            }

            /// Sets the tunable of that name, if there is one.
            pub(crate) fn set(&mut self, name: &str, value: u64) {
                $(if name == stringify!($name) {
                    self.$name = Some(value);
                })*
            }

            /// As a machine of `nr_cpus` online CPUs has them.
            pub fn scaled(&self, nr_cpus: usize) -> Tunables {
                let factor = Self::factor(nr_cpus);
                Tunables { $($name: self.$name.map(|v| if $scaled { v * factor } else { v })),* }
            }
        }
    };
}

tunables! {
    sched_latency: "sysctl_sched_latency", Ns, true, "The period in which every runnable task of CFS should run once.";
    min_granularity: "sysctl_sched_min_granularity", Ns, true, "The shortest slice of CFS.";
    idle_min_granularity: "sysctl_sched_idle_min_granularity", Ns, false, "The same for a SCHED_IDLE entity; not \
        scaled.";
    wakeup_granularity: "sysctl_sched_wakeup_granularity", Ns, true, "How much vruntime a wakee of CFS must be ahead \
        to preempt.";
    nr_latency: "sched_nr_latency", Tasks, false, "The number of tasks above which the period grows: latency over \
                                                   minimum granularity.";
    child_runs_first: "sysctl_sched_child_runs_first", Flag, false, "Whether a forked child runs before its parent.";
    base_slice: "sysctl_sched_base_slice", Ns, true, "The slice of EEVDF.";
    migration_cost: "sysctl_sched_migration_cost", Ns, false, "For how long a task that ran counts as cache-hot.";
    nr_migrate: "sysctl_sched_nr_migrate", Tasks, false, "How many tasks one balancing pass visits; 8 with \
        PREEMPT_RT.";
    sis_util_pct: "sd->imbalance_pct", Plain, false, "SIS_UTIL: 100 times 100 over the utilisation, in per cent, above \
                                                      which nothing is searched; without it the domain's imbalance_pct \
                                                      (117, which is 85%).";
    sis_util_exponent: "", Plain, false, "SIS_UTIL: by which power of the utilisation the search shrinks; without it \
        2.";
    sis_param_runnable: "", Plain, false, "SIS_PARAM: how much runnable_avg counts in place of util_avg, per cent; \
        without it 0.";
    sis_param_floor: "", Plain, false, "SIS_PARAM: the least nr_idle_scan; without it 0.";
    sis_param_cap: "", Plain, false, "SIS_PARAM: the greatest nr_idle_scan; without it there is none.";
    sis_param_failed: "", Plain, false, "SIS_PARAM: how often the number is halved at most, once for each search in a \
                                         row around the target that has failed since it was idle; without it 0.";
    sis_param_run: "", Plain, false, "SIS_PARAM: how long the wakee has to run between two sleeps for each CPU that is \
                                      scanned, ns; without it, its run time does not matter.";
    sis_param_short: "", Plain, false, "SIS_PARAM: stay on the target if its only task and the wakee run for less than \
        this between two sleeps, ns; without it no task is short.";
    sis_param_short_scan: "", Plain, false, "SIS_PARAM: do so only if nr_idle_scan is at most this share of the LLC, \
                                             per cent; without it always.";
    pelt_multiplier: "sysctl_sched_pelt_multiplier", Plain, false, "By how much PELT's clock runs faster: 1, 2 or 4, \
        for a half-life of 32, 16 or 8 ms; without it 1. Of the posting \"sched/pelt: Change PELT halflife at \
        runtime\", Dietmar Eggemann, August 2022.";
    llc_aggr_tolerance: "llc_aggr_tolerance", Plain, false, "Cache-aware balancing (debugfs llc_balancing/): how \
                                                             readily processes with many threads and much memory are \
                                                             drawn to one LLC; 0 never, 100 whatever their size.";
    llc_epoch_period: "llc_epoch_period", Plain, false, "Cache-aware balancing: the ticks of an epoch, after which run \
        times count half; HZ / 100.";
    llc_epoch_affinity_timeout: "llc_epoch_affinity_timeout", Plain, false, "Cache-aware balancing: after how many \
        epochs without a scan a process loses its preferred LLC.";
    llc_overaggr_pct: "llc_overaggr_pct", Plain, false, "Cache-aware balancing: the utilisation, per cent of the \
                                                         capacity, from which an LLC is too busy to take more; half as \
                                                         much again without SMT.";
    llc_imb_pct: "llc_imb_pct", Plain, false, "Cache-aware balancing: by how much, per cent, the utilisation of one \
        LLC may exceed that of another for tasks that prefer it.";
    sched_util_clamp_min: "sysctl_sched_uclamp_util_min", Plain, false, "The most that a task's minimum clamp can be; \
        without it 1024.";
    sched_util_clamp_max: "sysctl_sched_uclamp_util_max", Plain, false, "The most that a task's maximum clamp can be; \
        without it 1024.";
    sched_util_clamp_min_rt_default: "sysctl_sched_uclamp_util_min_rt_default", Plain, false, "The minimum clamp of \
        realtime tasks that have set none; without it 1024.";
    uclamp_buckets: "CONFIG_UCLAMP_BUCKETS_COUNT", Plain, false, "Into how many buckets a run queue sorts its tasks by \
        their clamps; without it 5, the kernel's default.";
    sched_cfs_bandwidth_slice_us: "sysctl_sched_cfs_bandwidth_slice", Plain, false, "How much run time of a group with \
                                                                                     a quota (cpu.max) a CPU takes at \
                                                                                     a time, us; without it 5000.";
    sched_autogroup_enabled: "sysctl_sched_autogroup_enabled", Plain, false, "Whether the tasks of a session that are \
                                                                              in no other control group form a group \
                                                                              of their own: 1 as in kernels with \
                                                                              CONFIG_SCHED_AUTOGROUP, without it 0.";
    sched_rt_runtime_us: "sysctl_sched_rt_runtime", Plain, false, "How long the realtime tasks of a CPU may run in a \
                                                                   period, us; the period or more: without limit.";
    sched_rt_period_us: "sysctl_sched_rt_period", Plain, false, "The period of sched_rt_runtime_us, us.";
    sched_rr_timeslice_ms: "sysctl_sched_rr_timeslice", Plain, false, "The slice of SCHED_RR, ms.";
    fair_server_runtime: "fair_server.dl_runtime", Ns, false, "How long starving fair tasks run before realtime tasks \
                                                               in a period (debugfs fair_server/cpuN/runtime); 0 \
                                                               switches the fair server off.";
    fair_server_period: "fair_server.dl_period", Ns, false, "The period of fair_server_runtime.";
    pelt_half_life: "LOAD_AVG_PERIOD", Periods, false, "The number of periods after which a PELT signal halves \
                                                        (sched-pelt.h): 32.8 ms.";
}

impl Tunables {
    /// The factor of SCHED_TUNABLESCALING_LOG, the default (`get_update_sysctl_factor()`): one more than the binary
    /// logarithm of the number of online CPUs, of which it counts eight at most.
    pub const fn factor(nr_cpus: usize) -> u64 {
        let cpus = if nr_cpus > 8 { 8 } else { nr_cpus };
        if cpus == 0 { 1 } else { 1 + cpus.ilog2() as u64 }
    }
}
