//! The forms themselves.

/// The scheduling algorithm of the fair class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Class {
    /// The completely fair scheduler, up to 6.5.
    Cfs,
    /// Earliest eligible virtual deadline first, since 6.6.
    Eevdf,
}

/// The shape of the search for an idle CPU in the LLC (`select_idle_sibling()`, after its fast paths).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum IdleSearch {
    /// An idle core, then an idle CPU, then an idle sibling of the target: three walks (5.10).
    ThreeWalks,
    /// An idle sibling of the previous CPU unless an idle core is known of, then one walk for an idle core or an idle
    /// CPU, which takes an idle CPU it came by if it finds no idle core (5.18 and 6.1).
    OneWalk,
}

/// What SIS_PROP derives its limit from (`select_idle_cpu()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum SisProp {
    /// `rq->avg_idle / 512`; the clock is read at every scan, whether the feature is on or not (5.10).
    AvgIdle,
    /// `rq->wake_avg_idle`, halved for each jiffy since the last idle period and charged for each scan; the clock is
    /// read only if the feature is on and no idle core is searched for (5.18 and 6.1; since 94aafc3ee31d).
    WakeAvgIdle,
}

/// Which siblings `select_idle_smt()` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum SmtScan {
    /// All of the core, the given CPU included (5.10 and 5.18).
    WholeCore,
    /// All but the given CPU, which the fast path has looked at (6.1; 3e6efe87cd5c).
    OtherSiblings,
}

/// When the slow path keeps a forked task on its NUMA node (`find_idlest_group()`, group type has_spare).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum NumaFork {
    /// No rule by idle CPUs: the loads decide, biased to the local node (up to 5.4).
    ByLoad,
    /// While the local group has an idle CPU (5.10).
    AnyLocalIdle,
    /// While no more tasks run there, the new one included, than the domain's `imb_numa_nr` (5.18; e496132ebedd).
    ImbNumaNrRunning,
    /// The same, and only where the numbers of idle CPUs of the two groups differ by two at most; for a task that may
    /// not use every CPU, `imb_numa_nr` is capped by the number of the local group's CPUs that it may use (6.1;
    /// cb29a5c19d2d and f5b2eeb49991).
    ImbNumaNr,
}

/// Which wake-ups the target CPU enqueues itself, if TTWU_QUEUE is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Wakelist {
    /// Those to another LLC (5.2 and 5.3).
    OtherLlc,
    /// Also those of a task that is still being switched out on that CPU, if at most one task is queued there (5.18;
    /// 2ebb17717550).
    OnCpuAtMostOne,
    /// The same, if none is queued there (5.10 as maintained; 28156108fecb).
    OnCpuNoneQueued,
    /// Also those to any CPU of the LLC with an empty run queue, the waking one excepted (6.1; f3dd3f674555).
    EmptyRunQueue,
}

/// How the slow path compares groups of CPUs (`find_idlest_group()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum FindGroup {
    /// By spare capacity, then by runnable and average load (up to 5.4).
    Loads,
    /// By the group's type, and within one type by its own measure (since 5.5).
    GroupTypes,
}

/// The search on a machine of unequal CPU capacities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum CapacitySearch {
    /// None: a task that does not fit takes the slow path (`wake_cap()`, 5.2 and 5.3).
    WakeCap,
    /// The first idle CPU that fits, else the largest idle one (`select_idle_capacity()`, 5.10 and 5.18). 5.18 compares
    /// the clamped utilisation with the capacity; 5.10 as maintained asks `util_fits_cpu()`.
    Fits,
    /// The same, with a CPU that misses only `uclamp_min` before one that does not fit (6.1 as maintained).
    Graded,
    /// The same, preferring idle cores and limited by SIS_UTIL; with SMT the fast paths ask for an idle core too (7.2).
    GradedCores,
}

/// How a task is found to fit a CPU's capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub enum UtilFits {
    /// Its clamped utilisation is compared with what is left of the capacity (5.18).
    Clamped,
    /// `util_fits_cpu()` says yes or no, and takes the capacity of a CPU in capacity inversion for its full one (5.10 as
    /// maintained).
    YesNo,
    /// `util_fits_cpu()` tells apart that only `uclamp_min` is missed. That is compared with what thermal pressure leaves
    /// at the moment; CPUs that miss it are compared by what the pressure's average leaves (6.1 as maintained).
    Thermal,
    /// The same, both by what the larger of the hardware's average pressure and cpufreq's pressure of the moment leaves
    /// (`get_actual_cpu_capacity()`, 6.12).
    Actual,
}

/// The form of energy-aware placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Eas {
    /// The previous CPU is kept unless a sixteenth of the energy is saved. It can be its domain's candidate by spare
    /// capacity too, and thermal pressure does not count (5.10).
    Margin,
    /// The same margin. The previous CPU and the best of the others are the candidates of a domain, a task's own time is added
    /// to that of its CPU without its estimate, thermal pressure limits the domain's CPUs, and energies that do not add up keep
    /// the previous CPU (5.18; 619e090c8e40, 0372e1cf70c2 and 489f16459e00).
    MarginOthers,
    /// Any saving counts, and the task's busy time is taken once for all candidates (`struct energy_env`, 6.1;
    /// b812fc9768e0 and 3e8c6c9aac42). How well the task fits a CPU comes before the energy.
    EnergyEnv,
    /// The same, with what pressure leaves of a CPU on average, not only at the moment, and with headroom and limits added by
    /// `sugov_effective_cpu_perf()` (6.12; 9c0b4bb7f630 and f1f8d0a22422).
    EnergyEnvPerf,
}

/// How the energy model of the CPUs is kept and asked (`include/linux/energy_model.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum EnergyModel {
    /// States have frequencies and powers in milliwatts. A quarter of headroom is added to the frequency, and every state may be
    /// taken (5.10).
    Milliwatts,
    /// The headroom is added to the utilisation, which is then limited to what the CPU is allowed; states that cost more than a
    /// higher one can be passed over (5.18; 8f1b971b4750 and 8354eb9eb3dd).
    MilliwattsCapped,
    /// The same with powers in microwatts (6.1; ae6ccaa65038).
    Microwatts,
    /// States have a performance, by which they are found and their cost is known; the headroom is the caller's matter (6.12;
    /// 1b600da51073).
    Performance,
}

/// How `cpu_util()` takes contention into account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum RunnableBoost {
    /// Not at all (6.1).
    Absent,
    /// By the CPU's `runnable_avg`, before the task is put in or taken out. It raises the estimated utilisation too (as posted
    /// and first merged; 7d0583cf9ec7).
    CpuAndEstimate,
    /// In the same order, but the estimated utilisation is left alone (the fix of July 2023).
    Cpu,
    /// By the CPU's `runnable_avg` with the task's own put in or taken out (in 6.12 as maintained, 7.2 and 7.3).
    CpuAndTask,
}

/// How long RUN_TO_PARITY protects the picked task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum SliceProtection {
    /// There is no such thing (CFS).
    Absent,
    /// Until its deadline (6.12).
    ToDeadline,
    /// For the shortest slice queued, or without the feature for the base slice, but no longer than to its deadline
    /// (7.2).
    MinSlice,
    /// The same, but where a shorter slice is queued, only while the task is eligible (7.3, with PREEMPT_SHORT).
    UntilIneligible,
}
