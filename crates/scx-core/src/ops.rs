//! `struct sched_ext_ops`: what the core calls, and how a scheduler ends.

use crate::cgroup::Bandwidth;
use crate::ext::Ext;
use crate::stall::seconds;
use std::fmt;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// Declares the operations: each with its member of `struct sched_ext_ops` and its arguments.
macro_rules! operations {
    ($($op:ident $name:literal $({ $($arg:ident: $type:ty),+ })?,)+) => {
        /// An operation of a scheduler, by its member of `struct sched_ext_ops`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)]
        pub enum Op {
            $($op,)+
        }

        impl Op {
            /// All operations that the core calls.
            pub const ALL: [Op; [$($name),+].len()] = [$(Op::$op),+];

            /// The member's name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Op::$op => $name,)+
                }
            }
        }

        /// A call of an operation, with its arguments. Control groups are told by their numbers ([`Ext::group`]).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Call {
            $($op $({ $($arg: $type),+ })?,)+
        }

        impl Call {
            /// The operation that is called.
            pub fn op(&self) -> Op {
                match self {
                    $(Call::$op { .. } => Op::$op,)+
                }
            }
        }
    };
}

operations! {
    SelectCpu "select_cpu" { p: TaskId, prev_cpu: Cpu, wake_flags: u64 },
    Enqueue "enqueue" { p: TaskId, enq_flags: u64 },
    Dequeue "dequeue" { p: TaskId, deq_flags: u64 },
    Dispatch "dispatch" { cpu: Cpu, prev: Option<TaskId> },
    Tick "tick" { p: TaskId },
    Runnable "runnable" { p: TaskId, enq_flags: u64 },
    Running "running" { p: TaskId },
    Stopping "stopping" { p: TaskId, runnable: bool },
    Quiescent "quiescent" { p: TaskId, deq_flags: u64 },
    Yield "yield" { from: TaskId, to: Option<TaskId> },
    SetWeight "set_weight" { p: TaskId, weight: u32 },
    SetCpumask "set_cpumask" { p: TaskId },
    UpdateIdle "update_idle" { cpu: Cpu, idle: bool },
    CpuAcquire "cpu_acquire" { cpu: Cpu },
    CpuRelease "cpu_release" { cpu: Cpu, reason: u32 },
    CpuOnline "cpu_online" { cpu: Cpu },
    CpuOffline "cpu_offline" { cpu: Cpu },
    InitTask "init_task" { p: TaskId, fork: bool },
    ExitTask "exit_task" { p: TaskId },
    Enable "enable" { p: TaskId },
    Disable "disable" { p: TaskId },
    CgroupInit "cgroup_init" { cgroup: u32 },
    CgroupExit "cgroup_exit" { cgroup: u32 },
    CgroupPrepMove "cgroup_prep_move" { p: TaskId, from: u32, to: u32 },
    CgroupMove "cgroup_move" { p: TaskId, from: u32, to: u32 },
    CgroupCancelMove "cgroup_cancel_move" { p: TaskId, from: u32, to: u32 },
    CgroupSetWeight "cgroup_set_weight" { cgroup: u32, weight: u32 },
    CgroupSetBandwidth "cgroup_set_bandwidth" { cgroup: u32, bandwidth: Bandwidth },
    CgroupSetIdle "cgroup_set_idle" { cgroup: u32, idle: bool },
    Init "init",
}

/// The operations that a scheduler has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpSet(u64);

impl OpSet {
    /// Whether the scheduler has the operation (`SCX_HAS_OP()`).
    #[inline]
    pub fn has(self, op: Op) -> bool {
        self.0 & (1 << op as u8) != 0
    }
}

impl FromIterator<Op> for OpSet {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Self {
        OpSet(ops.into_iter().fold(0, |set, op| set | 1 << op as u8))
    }
}

/// The fields of a task that a scheduler may write itself, so they are kept where the scheduler finds them.
pub trait TaskFields {
    /// `p->scx.slice`, ns.
    fn slice(&self, p: TaskId) -> u64;
    /// Sets `p->scx.slice`, ns.
    fn set_slice(&mut self, p: TaskId, slice: u64);
    /// `p->scx.dsq_vtime`.
    fn dsq_vtime(&self, p: TaskId) -> u64;
    /// Sets `p->scx.dsq_vtime`.
    fn set_dsq_vtime(&mut self, p: TaskId, vtime: u64);
}

/// `p->pid`. Tasks are numbered from 1 on, as 0 is the idle task's.
pub fn pid(p: TaskId) -> u64 {
    u64::from(p.0) + 1
}

/// The task of a `p->pid`, if a task can have it.
pub fn task_of_pid(pid: u32) -> Option<TaskId> {
    pid.checked_sub(1).map(TaskId)
}

/// The policy and the priorities of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// `p->policy`: 0 is SCHED_NORMAL, 1 SCHED_FIFO, 2 SCHED_RR, 3 SCHED_BATCH, 5 SCHED_IDLE, 6 SCHED_DEADLINE.
    pub policy: u32,
    /// `p->prio`: -1 of a deadline task, 0 to 98 of a realtime task, `static_prio` of others.
    pub prio: i32,
    /// `p->static_prio`, 100 to 139.
    pub static_prio: u32,
}

impl Priorities {
    /// SCHED_NORMAL with nice 0.
    pub const NORMAL: Self = Priorities { policy: 0, prio: 120, static_prio: 120 };
}

/// The facts about a task that a scheduler can know from its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Who.
    pub task: TaskId,
    /// `p->comm`, of which the kernel keeps 15 bytes.
    pub comm: String,
    /// The number of the process whose address space it shares; its own if it shares none.
    pub process: u32,
    /// `p->real_parent`, if a task forked it.
    pub parent: Option<TaskId>,
    /// PF_KTHREAD.
    pub kthread: bool,
    /// PF_WQ_WORKER: a kernel thread that does the work of a workqueue.
    pub kworker: bool,
    /// Its policy.
    pub priorities: Priorities,
    /// Its affinity.
    pub cpus_ptr: wakelab_sched::CpuMask,
}

/// A scheduler.
pub trait Ops: TaskFields {
    /// A task exists from now on.
    fn add_task(&mut self, info: &TaskInfo) {
        let _ = info;
    }

    /// A task is gone, after its `ops.exit_task()`: nothing names it any more.
    fn remove_task(&mut self, ext: &mut Ext, p: TaskId) {
        let _ = (ext, p);
    }

    /// `cpu.idle` of a control group is this from now on (`tg->idle`).
    fn set_cgroup_idle(&mut self, cgroup: u32, idle: bool) {
        let _ = (cgroup, idle);
    }

    /// A control group is gone, after its `ops.cgroup_exit()`: what the scheduler keeps with it is freed.
    fn remove_cgroup(&mut self, ext: &mut Ext, cgroup: u32) {
        let _ = (ext, cgroup);
    }

    /// A task has another policy or nice value from now on.
    fn set_priorities(&mut self, p: TaskId, priorities: Priorities) {
        let _ = (p, priorities);
    }

    /// The scheduler has been attached: `ops.init()` and the operations of all tasks that existed have run. What its
    /// loader does then is done.
    fn attached(&mut self, ext: &mut Ext) {
        let _ = ext;
    }

    /// A timer of the scheduler expires, unless it was started anew or cancelled since: the number is that of the
    /// [`StartedTimer`](crate::ext::StartedTimer).
    fn timer(&mut self, ext: &mut Ext, number: u32) {
        let _ = (ext, number);
    }

    /// Whether the timer of that number still runs: it has not expired, and was neither started anew nor cancelled.
    fn timer_is_set(&self, number: u32) -> bool {
        let _ = number;
        true
    }

    /// Returns the scheduler's own counts so far in variables and maps, by their names; nothing if it has no such
    /// counters.
    fn counters(&mut self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// A global variable of the scheduler's programs, as its user-space part would read it; `None` if it has none of
    /// that name, or none of 1, 2, 4 or 8 bytes.
    fn variable(&self, name: &str) -> Option<u64> {
        let _ = name;
        None
    }

    /// Returns the records that the scheduler's programs have put into a ring buffer since the last call, in order, as
    /// its user-space part would read them; nothing if there is no ring buffer of that name.
    fn take_records(&mut self, ring: &str) -> Vec<Vec<u8>> {
        let _ = ring;
        Vec::new()
    }

    /// Runs an operation that the scheduler has. Kernel functions that it calls are methods of [`Ext`]. Returns what
    /// the operation returns; 0 if that is nothing, or if the scheduler has ended ([`Ext::exit`]).
    fn call(&mut self, ext: &mut Ext, call: Call) -> i64;
}

/// `enum scx_exit_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// `SCX_EXIT_UNREG_BPF`: the scheduler asked for it (`scx_bpf_exit()`).
    UnregBpf,
    /// `SCX_EXIT_UNREG_KERN`: the core asked for it, as a CPU came or went.
    UnregKern,
    /// `SCX_EXIT_ERROR`: the core found an error of the scheduler.
    Error,
    /// `SCX_EXIT_ERROR_BPF`: the scheduler reported one (`scx_bpf_error()`).
    ErrorBpf,
    /// `SCX_EXIT_ERROR_STALL`: a task was runnable for too long.
    Stall,
    /// A program did what the kernel's verifier does not let through, or does not end. No kernel has this kind.
    Fault,
}

impl ExitKind {
    /// As the kernel prints it (`scx_exit_reason()`).
    pub fn reason(self) -> &'static str {
        match self {
            ExitKind::UnregBpf => "unregistered from BPF",
            ExitKind::UnregKern => "unregistered from the main kernel",
            ExitKind::Error => "runtime error",
            ExitKind::ErrorBpf => "scx_bpf_error",
            ExitKind::Stall => "runnable task stall",
            ExitKind::Fault => "fault of its program",
        }
    }
}

/// How a scheduler ended (`struct scx_exit_info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Why.
    pub kind: ExitKind,
    /// The message of the scheduler or the core.
    pub message: String,
    /// `scx_bpf_exit()`'s code, or that of `SCX_EXIT_UNREG_KERN`; 0 for others.
    pub code: i64,
    /// When, ns.
    pub at: u64,
    /// The CPU that found it.
    pub cpu: Cpu,
    /// Of a stall: how it came to that, a line for each thing that happened and for each thing that is so
    /// ([`Ext::chain_of`]).
    pub chain: Vec<String>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} on CPU {}", self.kind.reason(), seconds(self.at), self.cpu)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        self.chain.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// The time that programs take on a machine, besides the core's own work ([`ExtCosts`](crate::ext::ExtCosts)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramCosts {
    /// An instruction, ps.
    pub insn_ps: u64,
    /// A helper or a kernel function, besides what it does, ns.
    pub call: u64,
    /// Finding an element of a map, ns.
    pub map: u64,
    /// An atomic operation or a lock, ns.
    pub atomic: u64,
}

/// The machine and the kernel that a scheduler is loaded on.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// The machine's shape.
    pub topology: &'a wakelab_sched::domain::Topology,
    /// The kernel's rules of sched_ext.
    pub rules: &'a wakelab_kernel::ExtRules,
    /// The kernel's name.
    pub kernel: &'a str,
    /// CONFIG_HZ.
    pub hz: u64,
    /// The seed of what programs draw at random.
    pub seed: u64,
    /// The time that programs take.
    pub costs: ProgramCosts,
}

/// A scheduler that can be loaded: each run loads it anew.
pub trait Scheduler: fmt::Debug + Send + Sync {
    /// As people name it: `scx_bpfland`.
    fn name(&self) -> &str;

    /// Loads it.
    ///
    /// # Errors
    /// Fails with what it needs and does not find.
    fn load(&self, host: &Host<'_>) -> Result<(crate::ext::Declared, Box<dyn Ops>), String>;

    /// Returns warnings about parts that do not run here although it is loaded, a sentence each; nothing if it cannot
    /// be loaded.
    fn warnings(&self, host: &Host<'_>) -> Vec<String> {
        let _ = host;
        Vec::new()
    }

    /// Returns its identity, for results that are kept: the hash of its object, and the values that were set in it.
    fn identity(&self) -> &str;
}
