//! Placement of wakees and new tasks, the wakelist, and energy-aware placement (`select_task_rq_fair()` and what it
//! calls, `ttwu_queue_wakelist()`).

use super::describe::{forms, rules};

rules! {
    /// The form of placement in a kernel version.
    pub struct Code {
        /// The shape of the search in the LLC: `select_idle_core()` and `select_idle_cpu()` merged in 5.12
        /// (9fe1f127b913), and 5.13 probes the previous CPU's siblings again (c722f35b513f).
        pub idle_search: IdleSearch,
        /// SIS_PROP's form; for a version that has dropped it (984ffb6a4366, 6.7), the last one.
        pub sis_prop: SisProp,
        /// The siblings that `select_idle_smt()` probes: since 6.1 not the given CPU (3e6efe87cd5c).
        pub smt_scan: SmtScan,
        /// The scan of the LLC starts behind the target, which the fast path has probed (56498cfb045d; in 5.18, not in
        /// 5.10).
        pub scan_after_target: bool,
        /// `select_idle_cpu()` returns -1 if the waking CPU has no LLC domain, whatever features are on (up to 6.0;
        /// since 96c1c0cfe493, 6.1, only with SIS_PROP).
        pub scan_needs_this_llc: bool,
        /// SIS_PROP's limit counts only the CPUs that the task may use (60588bfa223f; in 5.10, not in 5.3).
        pub scan_counts_allowed_only: bool,
        /// The search for an idle core probes every CPU of a core; later a busy one ends it (bec2860a2bd6; in 5.10, not
        /// in 5.3).
        pub core_scan_whole: bool,
        /// The search for an idle core keeps an idle CPU that it passes only if the LLC's domain has it; before, the
        /// task's affinity was enough (in stable 5.15.y, 6.1.y and 6.6.y, not in 5.18 and 6.8).
        pub core_scan_by_span: bool,
        /// A CPU's load is that of its queued tasks only (`weighted_cpuload()`, `cpu_runnable_load()`); since 5.5 it
        /// includes that of sleeping ones (`cpu_load()`; 11f10e5420f6).
        pub runnable_load: bool,
        /// `wake_affine_idle()` ends by preferring an idle previous CPU (since 5.11, d8fcb81f1acf).
        pub wa_idle_prev: bool,
        /// A sync wake-up subtracts delayed-dequeue tasks from the length of the waker's run queue (in stable 6.12.y).
        pub sync_ignores_delayed: bool,
        /// `recent_used_cpu` becomes the previous CPU at every search that reaches it; before, only when the CPU was
        /// taken, and the waker's became its CPU after every wake-up with `want_affine` (89aafd67f28c; in 5.18, not in
        /// 5.10).
        pub recent_used_always: bool,
        /// The kernel's bug that checks the previous CPU's affinity for the recently used one, because the field has
        /// been overwritten (in 5.18; not in 5.10, and fixed in stable 6.1.y by ae2ad293d6be, and still in 5.15.167).
        pub recent_used_prev_affinity: bool,
        /// A wakee may stack on the CPU of the per-CPU kthread that wakes it, if it ran there before (since 5.6,
        /// 52262ee567ad).
        pub kthread_stack: bool,
        /// A CPU that runs only SCHED_IDLE tasks counts as idle (since 5.4, 3c29e651e16d).
        pub sched_idle_cpus: bool,
        /// A CPU that runs only SCHED_IDLE tasks does not count as idle for a wakee that is SCHED_IDLE itself
        /// (`choose_sched_idle_rq()`; in 7.2, not in 6.12).
        pub sched_idle_not_for_idle: bool,
        /// The target's cluster is scanned before the rest of the LLC, and an idle previous or recently used CPU
        /// outside of it is the last resort (since 6.7, 8881e1639f1f).
        pub cluster_scan: bool,
        /// WF_CURRENT_CPU places the wakee on the waker's CPU (since 6.6; in 6.12, not in 6.1).
        pub current_cpu: bool,
        /// A search whose affinity leaves no CPU of the LLC ends before it can clear `has_idle_cores` (in 7.2, not in
        /// 6.12).
        pub empty_mask_returns: bool,
        /// The search for an idle CPU on a machine of unequal capacities (`select_idle_capacity()`).
        pub capacity_search: CapacitySearch,
        /// How it is decided whether a task fits a CPU (`util_fits_cpu()`; 5.18 has no such function).
        pub util_fits: UtilFits,
        /// How the slow path compares groups (`find_idlest_group()`): by their type since 5.5 (57abff067a08).
        pub find_group: FindGroup,
        /// The slow path counts only the CPUs that the task may use (`update_sg_wakeup_stats()`; in stable 5.10.y and
        /// 6.12.y, not in 5.15.y, 6.1.y, 6.6.y and 6.18.15).
        pub wakeup_stats_allowed_only: bool,
        /// For the slow path a task fits a group if it fits one of its CPUs; before, if it fits the group's largest
        /// capacity (in stable 5.10.y and 6.1.y, not in 5.18).
        pub misfit_by_cpu: bool,
        /// The slow path counts runnable tasks only, without delayed ones (in 6.18; 6.12 counts `h_nr_queued`).
        pub h_nr_runnable: bool,
        /// When the slow path keeps a forked task on its NUMA node (`find_idlest_group()`, group type has_spare).
        pub numa_fork: NumaFork,
        /// The wake-ups that the target CPU enqueues itself (`ttwu_queue_cond()`), if TTWU_QUEUE is on.
        pub wakelist: Wakelist,
        /// `rq->ttwu_pending` is cleared after the wakelist is enqueued; before, it was cleared first, so that the CPU
        /// looked idle once more (`sched_ttwu_pending()`; since 6.2, d6962c4fe8f9; not in stable 6.1.y).
        pub pending_until_enqueued: bool,
        /// The form of energy-aware placement (`find_energy_efficient_cpu()`).
        pub eas: Eas,
        /// The form of the energy model that energy-aware placement reads (`em_cpu_energy()`).
        pub energy_model: EnergyModel,
        /// Whether `runnable_avg` can raise `cpu_util()` (since 6.5, 7d0583cf9ec7), and how.
        pub runnable_boost: RunnableBoost,
        /// A CPU updates its average idle time (`rq->avg_idle`) when it switches away from idle (`update_rq_avg_idle()`
        /// in `put_prev_task_idle()`; in 7.2, not in 6.12). Before, it did so when a task was woken there
        /// (`ttwu_do_activate()`), which leaves out the exit from idle, and idle time that ends otherwise.
        pub avg_idle_at_switch: bool,
    }
}

forms! {
    /// The shape of the search for an idle CPU in the LLC (`select_idle_sibling()`, after its fast paths).
    pub enum IdleSearch {
        /// An idle core, then an idle CPU, then an idle sibling of the target: three scans (5.10).
        ThreeScans = "three scans",
        /// An idle sibling of the previous CPU unless the LLC is known to have an idle core, then one scan for an idle
        /// core or an idle CPU. If it finds no idle core, it takes an idle CPU that it has passed (5.18 and 6.1).
        OneScan = "one scan",
    }
}

forms! {
    /// The value from which SIS_PROP derives its limit (`select_idle_cpu()`).
    pub enum SisProp {
        /// `rq->avg_idle / 512`; every scan reads the clock, whether the feature is on or not (5.10).
        AvgIdle = "avg_idle",
        /// `rq->wake_avg_idle`, halved for each jiffy since the last idle period and charged for each scan; the clock
        /// is read only if the feature is on and the scan does not search for an idle core (5.18 and 6.1; since
        /// 94aafc3ee31d).
        WakeAvgIdle = "wake_avg_idle",
    }
}

forms! {
    /// The siblings that `select_idle_smt()` probes.
    pub enum SmtScan {
        /// All of the core, the given CPU included (5.10 and 5.18).
        WholeCore = "whole core",
        /// All but the given CPU, which the fast path has probed (6.1; 3e6efe87cd5c).
        OtherSiblings = "other siblings",
        /// All but the given CPU, and not only those of the LLC's domain (6.8; 8aeaffef8c6e restored that in 6.9 and in
        /// stable 6.6.y).
        OtherOfAnyDomain = "other siblings, of any domain",
    }
}

forms! {
    /// When the slow path keeps a forked task on its NUMA node (`find_idlest_group()`, group type has_spare).
    pub enum NumaFork {
        /// No rule about idle CPUs: the loads decide, biased to the local node (up to 5.4).
        ByLoad = "by load",
        /// While the local group has an idle CPU (5.10).
        AnyLocalIdle = "any local CPU idle",
        /// While the tasks that run there, the new one included, are fewer than a quarter of the local group's CPUs
        /// (`allow_numa_imbalance()`, 5.15; 7d2b5dd0bcc4).
        QuarterRunning = "up to a quarter running",
        /// While no more tasks run there, the new one included, than the domain's `imb_numa_nr` (5.18; e496132ebedd).
        ImbNumaNrRunning = "up to imb_numa_nr running",
        /// While no more tasks run there than the domain's `imb_numa_nr`, and the numbers of idle CPUs of the two
        /// groups differ by two at most; for a task that may not use every CPU, the number of the local group's CPUs
        /// that it may use caps `imb_numa_nr` (6.1; cb29a5c19d2d and f5b2eeb49991).
        ImbNumaNr = "up to imb_numa_nr, groups about equally idle",
    }
}

forms! {
    /// The wake-ups that the target CPU enqueues itself, if TTWU_QUEUE is on.
    pub enum Wakelist {
        /// Those to another LLC (5.2 and 5.3).
        OtherLlc = "other LLC",
        /// Those to another LLC, and those of a task that the CPU is still switching out, if at most one task is queued
        /// there (5.18; 2ebb17717550).
        OnCpuAtMostOne = "other LLC, or on_cpu with at most one queued",
        /// Those to another LLC, and those of a task that the CPU is still switching out, if none is queued there
        /// (stable 5.10.y; 28156108fecb).
        OnCpuNoneQueued = "other LLC, or on_cpu with none queued",
        /// Those to another LLC, and those to any other CPU with an empty run queue (6.1, stable 5.15.y; f3dd3f674555).
        EmptyRunQueue = "other LLC, or an empty run queue",
    }
}

forms! {
    /// How the slow path compares groups of CPUs (`find_idlest_group()`).
    pub enum FindGroup {
        /// By spare capacity, then by runnable and average load (up to 5.4).
        Loads = "by load",
        /// By the group's type, and within a type by the type's measure (since 5.5).
        GroupTypes = "by group type",
    }
}

forms! {
    /// The search on a machine of unequal CPU capacities.
    pub enum CapacitySearch {
        /// None: a task that does not fit takes the slow path (`wake_cap()`, 5.2 and 5.3).
        WakeCap = "wake_cap()",
        /// The first idle CPU that fits, else the largest idle one (`select_idle_capacity()`, 5.10 and 5.18). 5.18
        /// compares the clamped utilisation with the capacity; stable 5.10.y asks `util_fits_cpu()`.
        Fits = "first that fits",
        /// The first idle CPU that fits, else one that misses only `uclamp_min`, else the largest idle one (stable
        /// 6.1.y).
        Graded = "graded",
        /// As graded, preferring idle cores and limited by SIS_UTIL; with SMT the fast paths require an idle core, too
        /// (7.2).
        GradedCores = "graded, idle cores first",
    }
}

forms! {
    /// How it is decided whether a task fits a CPU's capacity.
    pub enum UtilFits {
        /// Its clamped utilisation is compared with what is left of the capacity (5.18).
        Clamped = "clamped utilisation",
        /// `util_fits_cpu()` returns yes or no, and takes the capacity of a CPU in capacity inversion for its full one
        /// (stable 5.10.y).
        YesNo = "util_fits_cpu(), yes or no",
        /// `util_fits_cpu()` distinguishes that only `uclamp_min` is missed. It is compared with what thermal pressure
        /// leaves at the moment; CPUs that miss it are compared by what the pressure's average leaves (stable 6.1.y).
        Thermal = "util_fits_cpu(), thermal pressure",
        /// `util_fits_cpu()` distinguishes that only `uclamp_min` is missed. The capacity is what the larger of the
        /// hardware's average pressure and cpufreq's pressure of the moment leaves (`get_actual_cpu_capacity()`, 6.12).
        Actual = "util_fits_cpu(), actual capacity",
    }
}

forms! {
    /// The form of energy-aware placement.
    pub enum Eas {
        /// The previous CPU is kept unless a sixteenth of the energy is saved. It can be its domain's candidate by
        /// spare capacity too, and thermal pressure does not count (5.10).
        Margin = "a margin of 1/16",
        /// The margin of a sixteenth. The previous CPU and the best of the others are the candidates of a domain, a
        /// task's own time is added to that of its CPU without its estimate, thermal pressure limits the domain's CPUs,
        /// and energies that do not add up keep the previous CPU (5.18; 619e090c8e40, 0372e1cf70c2 and 489f16459e00).
        MarginOthers = "a margin of 1/16, others than prev",
        /// Any saving counts, and the task's busy time is taken once for all candidates (`struct energy_env`, 6.1;
        /// b812fc9768e0 and 3e8c6c9aac42). How well the task fits a CPU comes before the energy.
        EnergyEnv = "energy_env",
        /// As `struct energy_env` of 6.1, with headroom and limits added by `sugov_effective_cpu_perf()`. Thermal
        /// pressure counts as it is at the moment (6.8; 9c0b4bb7f630).
        EnergyEnvPerfThermal = "energy_env, effective performance, thermal pressure",
        /// As `struct energy_env` of 6.1, with what pressure leaves of a CPU on average, not only at the moment, and
        /// with headroom and limits added by `sugov_effective_cpu_perf()` (6.12; 9c0b4bb7f630 and f1f8d0a22422).
        EnergyEnvPerf = "energy_env, effective performance",
    }
}

forms! {
    /// How the energy model of the CPUs is kept and read (`include/linux/energy_model.h`).
    pub enum EnergyModel {
        /// States have frequencies and powers in milliwatts. A quarter of headroom is added to the frequency, and every
        /// state may be taken (5.10).
        Milliwatts = "milliwatts",
        /// States have powers in milliwatts. The headroom is added to the utilisation, which is then limited to what
        /// the CPU is allowed; every state may be taken (5.15; 8f1b971b4750).
        MilliwattsLimited = "milliwatts, capped, every state",
        /// States have powers in milliwatts. The headroom is added to the utilisation, which is then limited to what
        /// the CPU is allowed; states that cost more than a higher one can be skipped (5.18; 8f1b971b4750 and
        /// 8354eb9eb3dd).
        MilliwattsCapped = "milliwatts, capped",
        /// As 5.18's, with powers in microwatts (6.1; ae6ccaa65038).
        Microwatts = "microwatts",
        /// As 6.1's, but the caller adds the headroom, and the frequency is that of the reference (6.8; 9c0b4bb7f630,
        /// 5a9d10145a54).
        MicrowattsByPerf = "microwatts, headroom by the caller",
        /// States have a performance, by which they are found and their cost is known; the caller adds the headroom
        /// (6.12; 1b600da51073).
        Performance = "performance states",
    }
}

forms! {
    /// How `cpu_util()` takes contention into account.
    pub enum RunnableBoost {
        /// Not at all (6.1).
        Absent = "absent",
        /// By the CPU's `runnable_avg`, before the task is added or taken out. It raises the estimated utilisation, too
        /// (as posted and first merged; 7d0583cf9ec7).
        CpuAndEstimate = "the CPU's, and the estimate",
        /// By the CPU's `runnable_avg`, before the task is added or taken out; the estimated utilisation is left alone
        /// (the fix of July 2023; 6.6, 6.8 and 6.18.15).
        Cpu = "the CPU's",
        /// By the CPU's `runnable_avg` with the task's own added or taken out (in stable 6.12.y, 7.2 and 7.3).
        CpuAndTask = "the CPU's with the task's",
    }
}
