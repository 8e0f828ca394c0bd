//! sched_ext (`kernel/sched/ext.c`, since 7.1 `kernel/sched/ext/`).

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of sched_ext.
    pub struct ExtRules {
        /// How an idle CPU is chosen without a scheduler's own choice (`scx_select_cpu_dfl()`).
        pub select_cpu: ExtSelectCpu,
        /// `scx_bpf_select_cpu_dfl()` and its kin may be called from `ops.enqueue()` and where no run queue is locked
        /// (6.16; in 7.2). Before, from `ops.select_cpu()` alone.
        pub select_cpu_from_enqueue: bool,
        /// The idle masks know that a CPU goes idle before `ops.update_idle()` is called (`__scx_update_idle()`; in
        /// 7.2, not in 6.12.117).
        pub idle_masks_first: bool,
        /// `ops.dequeue()` is called when a task leaves the scheduler's custody, whether by sleeping or by its dispatch
        /// to a local or global queue (`task_leave_custody()`, 7.1; in 7.2). Before, only for a task that leaves while
        /// `ops.enqueue()` has put it on no queue.
        pub dequeue_on_custody: bool,
        /// A task that is enqueued with SCX_ENQ_LAST to the local queue of its CPU runs at once, not at the CPU's next
        /// event (`put_prev_task_scx()`; in 6.12.117, not in 7.2.12).
        pub enq_last_resched: bool,
        /// A CPU that kicks others with SCX_KICK_WAIT waits once it has scheduled itself, for those that run a task of
        /// the class, until they have gone through a pick (`kick_sync_wait_bal_cb()`; in 7.2). Before, it waits in the
        /// kick's interrupt, for any CPU, until that leaves a task of the class for another class
        /// (`kick_cpus_irq_workfn()` and `switch_class()`; in 6.12.117).
        pub kick_wait_after_pass: bool,
        /// Realtime tasks leave tasks of the class a share of each CPU (`ext_server`; in 7.2). Before, they leave none.
        pub ext_server: bool,
        /// A task that moves to another CPU's local queue loses flags above 32 bits, such as SCX_ENQ_PREEMPT
        /// (`enqueue_task_scx()` adds `extra_enq_flags` to an int; in 6.12.117, not in 7.2).
        pub enq_flags_truncated: bool,
        /// Wakees of a scheduler that sets SCX_OPS_ALLOW_QUEUED_WAKEUP may go by the wakelist
        /// (`scx_allow_ttwu_queue()`, 6.15). Before, none may.
        pub queued_wakeup: bool,
        /// SCX_DSQ_LOCAL means for `scx_bpf_dsq_nr_queued()` the queue of the run queue that the operation has locked;
        /// before that of the CPU that asks (in 7.2, not in 6.12.117).
        pub local_is_locked: bool,
        /// An operation with a run queue locked may set the performance target of that CPU alone
        /// (`scx_bpf_cpuperf_set()`, 6.16; in 7.2). Before, of any.
        pub cpuperf_of_locked: bool,
        /// A task that leaves the class loses its slice and `dsq_vtime` before `ops.exit_task()` (`scx_disable_task()`;
        /// in 7.2, not in 6.12.117).
        pub disable_clears: bool,
        /// The slice of tasks that exist when the scheduler is enabled, ns: SCX_SLICE_BYPASS where that is shorter than
        /// the default (`scx_enable_task()` while bypassing; in 7.2).
        pub enable_slice: u32,
        /// A scheduler is told of `cpu.max` and `cpu.idle` of control groups (`ops.cgroup_set_bandwidth()`,
        /// `ops.cgroup_set_idle()`; in 7.2, not in 6.12.117).
        pub cgroup_max_and_idle: bool,
        /// The flags that a scheduler may set (`SCX_OPS_ALL_FLAGS`). Loaders leave out those that a kernel lacks.
        pub ops_flags: u32,
        /// Errors have 6.12's messages: a kernel function that the operation may not call is named by its mask
        /// (`scx_kf_allowed()`), and a queue that does not exist with the task that was to join it
        /// (`find_dsq_for_dispatch()`; in 6.12.117, not in 7.2).
        pub old_messages: bool,
        /// The types that programs see (BTF), of which kernel they are. `None` where no kernel's are here: Debian
        /// builds its 6.12 without sched_ext.
        pub types: Option<ExtTypes>,
        /// LINUX_VERSION_CODE.
        pub version_code: u32,
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
    /// The kernel whose types programs see. It is reduced to those that schedulers ask for (`kernel/btf/build`).
    pub enum ExtTypes {
        /// Debian's 7.2.11+deb13-cloud-amd64.
        V7_2 = "7.2.11",
    }
}

forms! {
    /// How an idle CPU is chosen without a scheduler's own choice.
    pub enum ExtSelectCpu {
        /// An idle core anywhere, the previous CPU, any idle CPU (read in 6.12.117).
        Anywhere = "anywhere",
        /// An idle core, the previous CPU and its siblings, any idle CPU: in the LLC, in the node, anywhere (read in
        /// 7.2.12).
        Topology = "LLC, node, anywhere",
    }
}

impl ExtTypes {
    /// The BTF.
    pub fn btf(self) -> &'static [u8] {
        match self {
            ExtTypes::V7_2 => include_bytes!("../../btf/v7.2.btf"),
        }
    }
}
