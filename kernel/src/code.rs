//! The forms that the fair class's code has had.

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
    /// An idle core, then an idle CPU, then an idle sibling of the target: three walks (up to 5.11).
    ThreeWalks,
    /// An idle sibling of the previous CPU, then one walk for an idle core or an idle CPU (since 5.12).
    OneWalk,
}

/// What SIS_PROP derives its limit from (`select_idle_cpu()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum SisProp {
    /// `rq->avg_idle / 512` (4.13 to 5.13).
    AvgIdle,
    /// `rq->wake_avg_idle`, aged by jiffies and charged for each search (5.14 to 6.4).
    WakeAvgIdle,
}

/// Which siblings `select_idle_smt()` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum SmtScan {
    /// All of the core, the given CPU included.
    WholeCore,
    /// All but the given CPU, which the fast path has looked at.
    OtherSiblings,
}

/// When the slow path keeps a forked task on its NUMA node (`find_idlest_group()`, group type has_spare).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum NumaFork {
    /// While the local group has an idle CPU (5.5 to 5.11).
    AnyLocalIdle,
    /// While fewer tasks run than the domain's `imb_numa_nr` and the imbalance is small (since 5.18).
    ImbNumaNr,
}

/// Which form of each mechanism a kernel version runs. Every field names the change it stands for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Code {
    /// The scheduling algorithm.
    pub class: Class,
    /// The shape of the search.
    pub idle_search: IdleSearch,
    /// SIS_PROP's form; where the version has none any more, the last one it had.
    pub sis_prop: SisProp,
    /// `select_idle_smt()`'s form.
    pub smt_scan: SmtScan,
    /// `wake_affine_idle()` ends by preferring an idle previous CPU (since 5.13).
    pub wa_idle_prev: bool,
    /// A sync wake-up subtracts delayed-dequeue tasks from the waker's run-queue length (since 6.12).
    pub sync_ignores_delayed: bool,
    /// `recent_used_cpu` becomes the previous CPU at every search (since 5.12); before, only where it was taken,
    /// and the waker's own became its CPU after an affine wake-up.
    pub recent_used_always: bool,
    /// A CPU that runs only SCHED_IDLE tasks counts as free (since 5.4).
    pub sched_idle_cpus: bool,
    /// ... but not for a wakee that is SCHED_IDLE itself (`choose_sched_idle_rq()`, since 7.0).
    pub sched_idle_not_for_idle: bool,
    /// Clusters are scanned before the rest of the LLC (since 6.8).
    pub cluster_scan: bool,
    /// WF_CURRENT_CPU is honoured (since 6.6).
    pub current_cpu: bool,
    /// A search whose affinity leaves no CPU of the LLC ends before it can clear `has_idle_cores` (since 7.0).
    pub empty_mask_returns: bool,
    /// The slow path counts only the CPUs that the task may use (`update_sg_wakeup_stats()`, since 6.9).
    pub wakeup_stats_allowed_only: bool,
    /// The slow path counts runnable tasks only, without delayed ones (since 6.14).
    pub h_nr_runnable: bool,
    /// The slow path's NUMA rule.
    pub numa_fork: NumaFork,
}
