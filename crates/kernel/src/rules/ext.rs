//! sched_ext (`kernel/sched/ext.c`, since 7.1 `kernel/sched/ext/`).

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of sched_ext.
    pub struct ExtRules {
        /// How an idle CPU is chosen without a scheduler's own choice (`scx_select_cpu_dfl()`).
        pub select_cpu: ExtSelectCpu,
        /// A sync wakee that goes to its waker's CPU claims it in the idle masks (`scx_select_cpu_dfl()`; in 7.2.12,
        /// not in 6.18.35).
        pub sync_claims_waker: bool,
        /// An idle sibling of the previous CPU comes before other idle CPUs (`scx_select_cpu_dfl()`; in 7.2.12, not in
        /// 6.18.35).
        pub prev_siblings: bool,
        /// The places from which `scx_bpf_select_cpu_dfl()` and its kin may be called (`select_cpu_from_kfunc()`).
        pub select_cpu_kfunc: ExtSelectCpuKfunc,
        /// The idle masks know that a CPU goes idle before `ops.update_idle()` is called (`__scx_update_idle()`; in
        /// 6.18.35 and 7.2, not in 6.12.117).
        pub idle_masks_first: bool,
        /// `ops.dequeue()` is called when a task leaves the scheduler's custody, whether by sleeping or by its dispatch
        /// to a local or global queue (`task_leave_custody()`, 7.1; in 7.2). Before, only for a task that leaves while
        /// `ops.enqueue()` has put it on no queue.
        pub dequeue_on_custody: bool,
        /// A task that is enqueued with SCX_ENQ_LAST to the local queue of its CPU runs at once, not at the CPU's next
        /// event (`put_prev_task_scx()`; in 6.12.117, not in 6.18.35 and 7.2.12).
        pub enq_last_resched: bool,
        /// How a CPU that kicks others with SCX_KICK_WAIT waits.
        pub kick_wait: ExtKickWait,
        /// A kick leaves a CPU alone that runs a task of a class above (`kick_one_cpu()`; in 6.18.35 and 7.2, not in
        /// 6.12.117).
        pub kick_spares_above: bool,
        /// Realtime tasks leave tasks of the class a share of each CPU (`ext_server`; in 7.2, not in 6.18.35). Before,
        /// they leave none.
        pub ext_server: bool,
        /// A task that moves to another CPU's local queue loses flags above 32 bits, such as SCX_ENQ_PREEMPT
        /// (`enqueue_task_scx()` adds `extra_enq_flags` to an int; in 6.12.117, not in 6.18.35 and 7.2).
        pub enq_flags_truncated: bool,
        /// Wakees of a scheduler that sets SCX_OPS_ALLOW_QUEUED_WAKEUP may go by the wakelist
        /// (`scx_allow_ttwu_queue()`, 6.15). Before, none may.
        pub queued_wakeup: bool,
        /// SCX_DSQ_LOCAL means for `scx_bpf_dsq_nr_queued()` the queue of the run queue that the operation has locked;
        /// before that of the CPU that asks (in 7.2, not in 6.12.117 and 6.18.35).
        pub local_is_locked: bool,
        /// An operation with a run queue locked may set the performance target of that CPU alone
        /// (`scx_bpf_cpuperf_set()`, 6.16; in 6.18.35 and 7.2). Before, of any.
        pub cpuperf_of_locked: bool,
        /// A task that leaves the class loses its slice and `dsq_vtime` before `ops.exit_task()` (`scx_disable_task()`;
        /// in 7.2, not in 6.12.117 and 6.18.35).
        pub disable_clears: bool,
        /// `ops.disable()` of a task that gets a policy above the class is called before it has that policy
        /// (`sched_change_begin()`; in 7.2). Before, afterwards (`check_class_changed()`; in 6.12.117).
        pub disable_first: bool,
        /// The slice of tasks that exist when the scheduler is enabled, ns: SCX_SLICE_BYPASS where that is shorter than
        /// the default (`scx_enable_task()` while bypassing; in 7.2).
        pub enable_slice: u32,
        /// A task that `ops.init_task()` disallows at its fork ends the scheduler, whatever its policy is
        /// (`__scx_init_task()`; in 7.2). Before, one of SCHED_EXT does (`scx_init_task()`; in 6.12.117 and 6.18.35).
        pub fork_disallow_ends: bool,
        /// A scheduler is told of `cpu.max` of control groups (`ops.cgroup_set_bandwidth()`, 6.17; in 6.18.35 and 7.2).
        pub cgroup_max: bool,
        /// A scheduler is told of `cpu.idle` of control groups (`ops.cgroup_set_idle()`; in 6.18.35 and 7.2, not in
        /// 6.12.117 and 6.18-rc4).
        pub cgroup_idle: bool,
        /// The kernel's log has what a scheduler lacks for control groups. It takes SCX_OPS_HAS_CGROUP_WEIGHT for
        /// `cpu.weight` (`scx_cgroup_warn_missing_weight()`; in 6.12.117). In 6.18.35 the flag is a no-op.
        pub cgroup_warns: bool,
        /// `ops.cgroup_move()` counts as one with the task's run queue locked, for kernel functions
        /// (`scx_cgroup_move_task()`; in 6.18.35 and 7.2). In 6.12.117 as one without.
        pub cgroup_move_locked: bool,
        /// As a CPU goes offline, tasks that wait in queues of the scheduler go to its local queue
        /// (`rq_offline_scx()`; in 6.12.117 and 7.2.12). In 6.18.35 they stay where they are.
        pub offline_requeues: bool,
        /// The flags that a scheduler may set (`SCX_OPS_ALL_FLAGS`). Loaders leave out those that a kernel lacks.
        pub ops_flags: u32,
        /// Errors have 6.12's messages: a kernel function that the operation may not call is named by its mask
        /// (`scx_kf_allowed()`), and a queue that does not exist with the task that was to join it
        /// (`find_dsq_for_dispatch()`; in 6.12.117 and 6.18.35, not in 7.2).
        pub old_messages: bool,
        /// The types that programs see (BTF), of which kernel they are. `None` where no kernel's are here.
        pub types: Option<ExtTypes>,
        /// LINUX_VERSION_CODE.
        pub version_code: u32,
        /// DEQUEUE_CLASS and ENQUEUE_CLASS: the task changes its class (in 7.2). Before, no flag says so (in 6.12.117).
        pub enq_class: u32,
        /// ENQUEUE_HEAD, which schedulers see as SCX_ENQ_HEAD.
        pub enq_head: u32,
        /// ENQUEUE_INITIAL: the task is new.
        pub enq_initial: u32,
        /// ENQUEUE_MIGRATED: its wake-up moved it.
        pub enq_migrated: u32,
        /// ENQUEUE_RQ_SELECTED, which they see as SCX_ENQ_CPU_SELECTED.
        pub enq_cpu_selected: u32,
    }
}

forms! {
    /// The kernel whose types programs see. It is reduced to those that schedulers ask for (`crates/kernel/btf/build`).
    pub enum ExtTypes {
        /// Debian's linux-source-6.12 6.12.117-1, with the configuration of its cloud kernel and
        /// CONFIG_SCHED_CLASS_EXT=y, without which Debian builds it.
        V6_12 = "6.12.117",
        /// v6.18-rc4 (6146a0f1dfae), by the vmlinux.h of scx_utils 1.0.24: it has the kernel functions of 6.18.35, and
        /// all operations but `ops.cgroup_set_idle()`.
        V6_18 = "6.18-rc4",
        /// Debian's 7.2.11+deb13-cloud-amd64.
        V7_2 = "7.2.11",
    }
}

forms! {
    /// How an idle CPU is chosen without a scheduler's own choice.
    pub enum ExtSelectCpu {
        /// An idle core anywhere, the previous CPU, any idle CPU (read in 6.12.117).
        Anywhere = "anywhere",
        /// An idle core, the previous CPU, any idle CPU: in the LLC, in the node, anywhere (read in 6.18.35 and
        /// 7.2.12).
        Topology = "LLC, node, anywhere",
    }
}

forms! {
    /// The places from which kernel functions that choose an idle CPU by `scx_select_cpu_dfl()` may be called.
    pub enum ExtSelectCpuKfunc {
        /// `ops.select_cpu()` (read in 6.12.117).
        SelectCpu = "select_cpu",
        /// `ops.select_cpu()`, `ops.enqueue()` and where no run queue is locked, of any task (6.16; read in 6.18.35).
        Enqueue = "select_cpu, enqueue",
        /// Any operation, of the task that `ops.select_cpu()` places or of one of the run queue that is locked (read in
        /// 7.2.12).
        LockedRq = "any, of own tasks",
    }
}

forms! {
    /// How a CPU that kicks others with SCX_KICK_WAIT waits.
    pub enum ExtKickWait {
        /// In the kick's interrupt, for any CPU, until that leaves a task of the class for another class
        /// (`kick_cpus_irq_workfn()` and `switch_class()`; read in 6.12.117).
        IrqUntilClass = "in the interrupt, until another class",
        /// In the kick's interrupt, for those that run a task of the class, until they have gone through a pick
        /// (`kick_cpus_irq_workfn()`, `pick_task_scx()` and `put_prev_task_scx()`; read in 6.18.35).
        IrqUntilPick = "in the interrupt, until a pick",
        /// Once it has scheduled itself, for those that run a task of the class, until they have gone through a pick
        /// (`kick_sync_wait_bal_cb()`; read in 7.2.12).
        AfterPass = "after its own pick",
    }
}

impl ExtKickWait {
    /// Returns whether the CPU waits in the kick's interrupt.
    pub const fn in_irq(self) -> bool {
        !matches!(self, ExtKickWait::AfterPass)
    }

    /// Returns whether a pick on the CPU that is waited for ends the wait.
    pub const fn until_pick(self) -> bool {
        !matches!(self, ExtKickWait::IrqUntilClass)
    }
}

impl ExtTypes {
    /// The BTF.
    pub fn btf(self) -> &'static [u8] {
        match self {
            ExtTypes::V6_12 => include_bytes!("../../btf/v6.12.btf"),
            ExtTypes::V6_18 => include_bytes!("../../btf/v6.18.btf"),
            ExtTypes::V7_2 => include_bytes!("../../btf/v7.2.btf"),
        }
    }
}
