//! The forms that the fair class's code has had.
mod forms;

pub use forms::{
    CapacitySearch, Class, Eas, EnergyModel, FindGroup, IdleSearch, NumaFork, RunnableBoost, SisProp, SliceProtection,
    SmtScan, UtilFits, Wakelist,
};

/// One field of [`Code`], to print or compare.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CodeField {
    /// The field's name.
    pub name: &'static str,
    /// Its value, as text.
    pub value: String,
    /// What it stands for, with the change that brought it.
    pub doc: &'static str,
}

macro_rules! code {
    ($($name:ident: $ty:ty, $doc:literal;)*) => {
        /// Which form of each mechanism a kernel version runs. Every field names the change it stands for.
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
        pub struct Code { $(#[doc = $doc] pub $name: $ty,)* }

        impl Code {
            /// Every field by name, with its value and what it stands for.
            pub fn describe(&self) -> Vec<CodeField> {
                vec![$(CodeField { name: stringify!($name), value: self.$name.text(), doc: $doc }),*]
            }
        }
    };
}

/// A field's value as text.
trait Text {
    fn text(&self) -> String;
}

impl Text for bool {
    fn text(&self) -> String {
        if *self { "yes" } else { "no" }.to_owned()
    }
}

macro_rules! text_by_debug {
    ($($ty:ty),*) => { $(impl Text for $ty { fn text(&self) -> String { format!("{self:?}") } })* };
}
text_by_debug!(
    Class,
    IdleSearch,
    SisProp,
    SmtScan,
    NumaFork,
    Wakelist,
    FindGroup,
    CapacitySearch,
    UtilFits,
    Eas,
    EnergyModel,
    RunnableBoost,
    SliceProtection
);

code! {
    class: Class, "The scheduling algorithm: EEVDF since 6.6 (147f3efaa241).";
    idle_search: IdleSearch, "The shape of the search in the LLC: `select_idle_core()` and `select_idle_cpu()` \
        merged in 5.12 (9fe1f127b913), and the look at the previous CPU's siblings came back in 5.13 (c722f35b513f).";
    sis_prop: SisProp, "SIS_PROP's form; where the version has none any more (984ffb6a4366, 6.5), the last one it had.";
    smt_scan: SmtScan, "`select_idle_smt()`'s form: the given CPU is left out since 6.1 (3e6efe87cd5c).";
    scan_after_target: bool, "The walk over the LLC starts behind the target, which the fast path has looked at \
        (56498cfb045d; in 5.18, not in 5.10).";
    scan_counts_allowed_only: bool, "SIS_PROP's limit counts only the CPUs that the task may use (60588bfa223f; in \
        5.10, not in 5.3).";
    core_scan_whole: bool, "The search for an idle core looks at every CPU of a core; since, a busy one ends the look \
        (bec2860a2bd6; not in 5.3, in 5.10).";
    core_scan_by_span: bool, "An idle CPU that the search for a core comes by has to be in the LLC's domain; before, \
        the task's affinity was enough (in 6.1 as maintained, not in 5.18).";
    runnable_load: bool, "A CPU's load is that of its queued tasks only (`weighted_cpuload()`, `cpu_runnable_load()`); \
        since 5.5 that of sleeping ones too (`cpu_load()`; 11f10e5420f6).";
    wa_idle_prev: bool, "`wake_affine_idle()` ends by preferring an idle previous CPU (since 5.11, d8fcb81f1acf).";
    sync_ignores_delayed: bool, "A sync wake-up subtracts delayed-dequeue tasks from the waker's run-queue length \
        (in 6.12 as maintained).";
    recent_used_always: bool, "`recent_used_cpu` becomes the previous CPU at every search that gets to it; before, \
        only where it was taken, and the waker's own became its CPU after every wake-up with `want_affine` \
        (89aafd67f28c; in 5.18, not in 5.10).";
    recent_used_prev_affinity: bool, "A slip: the recently used CPU is taken by the affinity of the previous one, as \
        the field has been overwritten (in 5.18; not in 5.10 nor in 6.1 as maintained, where ae2ad293d6be corrects \
        it).";
    kthread_stack: bool, "A wakee may stack on the CPU of the per-CPU kthread that wakes it, if that was its \
        previous CPU (since 5.6, 52262ee567ad).";
    sched_idle_cpus: bool, "A CPU that runs only SCHED_IDLE tasks counts as free (since 5.4, 3c29e651e16d).";
    sched_idle_not_for_idle: bool, "... but not for a wakee that is SCHED_IDLE itself (`choose_sched_idle_rq()`; in \
        7.2, not in 6.12).";
    cluster_scan: bool, "Clusters are scanned before the rest of the LLC, and an idle previous or recently used CPU \
        outside the target's cluster is kept for the end (since 6.8, 8881e1639f1f).";
    current_cpu: bool, "WF_CURRENT_CPU is honoured (since 6.6; in 6.12, not in 6.1).";
    empty_mask_returns: bool, "A search whose affinity leaves no CPU of the LLC ends before it can clear \
        `has_idle_cores` (in 7.2, not in 6.12).";
    capacity_search: CapacitySearch, "The search for an idle CPU on a machine of unequal capacities \
        (`select_idle_capacity()`).";
    util_fits: UtilFits, "How a task is found to fit a CPU (`util_fits_cpu()`; 5.18 has none).";
    find_group: FindGroup, "How the slow path compares groups: by their type since 5.5 (57abff067a08).";
    wakeup_stats_allowed_only: bool, "The slow path counts only the CPUs that the task may use \
        (`update_sg_wakeup_stats()`; in 6.12 and 5.10 as maintained, not in 6.1).";
    misfit_by_cpu: bool, "The slow path takes a group to fit a task if one of its CPUs does; before, if its largest \
        capacity does (in 5.10 and 6.1 as maintained, not in 5.18).";
    h_nr_runnable: bool, "The slow path counts runnable tasks only, without delayed ones (in 7.2; 6.12 counts \
        `h_nr_queued`).";
    numa_fork: NumaFork, "When the slow path keeps a task on its NUMA node.";
    wakelist: Wakelist, "Which wake-ups are enqueued by the target CPU (`ttwu_queue_cond()`), if TTWU_QUEUE is on.";
    pending_until_enqueued: bool, "`rq->ttwu_pending` is cleared when the wakelist has been enqueued; before, first of all, so \
        that the CPU looks idle once more (`sched_ttwu_pending()`; since 6.2, d6962c4fe8f9; not in 6.1 as maintained).";
    eas: Eas, "The form of energy-aware placement (`find_energy_efficient_cpu()`).";
    energy_model: EnergyModel, "The form of the energy model that it asks (`em_cpu_energy()`).";
    runnable_boost: RunnableBoost, "Whether `cpu_util()` may be boosted by `runnable_avg` (since 6.5, 7d0583cf9ec7), \
        and how.";
    slice_protection: SliceProtection, "How long RUN_TO_PARITY protects the picked task (`set_protect_slice()`).";
    sched_idle_slices: bool, "CFS: a SCHED_IDLE task beside others has a slice of `sysctl_sched_idle_min_granularity` at \
        least, and a smaller credit after sleep (`sched_slice()`, `place_entity()`; in 6.1, not in 5.10).";
    long_sleeper: bool, "CFS: the vruntime of a task that slept for 104 days is not compared \
        (`entity_is_long_sleeper()`; in 5.10 and 6.1 as maintained, not in 5.18: it came with 6.3).";
    pick_clears_buddies: bool, "CFS: a pick clears the markers of the task that it picks; since, only a switch to the \
        task does, so that who yields and goes on stays marked (`pick_next_entity()` in 5.10, `set_next_entity()` in 6.1; \
        since 5.14, 21f56ffe4482).";
    lazy_preemption: bool, "The class asks for a reschedule lazily, at the next return to user space or the next tick \
        (`resched_curr_lazy()`; in 7.2, not in 6.12; if CONFIG_PREEMPT_LAZY, as in Debian's configuration).";
    avg_idle_at_switch: bool, "A CPU takes note of how long it was idle (`rq->avg_idle`) when it switches away from idle \
        (`update_rq_avg_idle()` in `put_prev_task_idle()`; in 7.2, not in 6.12); before, when a task is woken there \
        (`ttwu_do_activate()`), so that the time to come out of idle is not counted, nor idle time that ends otherwise.";
    delayed_lag_kept: bool, "A delayed task's lag is taken when it goes to sleep and can only rise until it is \
        dequeued (`update_entity_lag()`; in 7.2, not in 6.12).";
}
