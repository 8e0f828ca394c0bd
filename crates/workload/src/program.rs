//! Task programs.

use crate::call::{Call, Kind};
use crate::realtime::Realtime;
use crate::work::{Distribution, Work};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Computes.
    Run(Work),
    /// Work in a softirq that this task's system call raised, on its CPU. What follows up to the next `Run`, `Recv` or
    /// `Sleep` is done in interrupt context: wake-ups in it are not from a task.
    Softirq(Work),
    /// Puts a message into a channel and wakes one task that waits for one. Blocks while the channel is full.
    Send {
        /// Which of the task's channels.
        channel: u32,
        /// Whether the wake-up carries WF_SYNC.
        sync: bool,
    },
    /// Takes a message; blocks while there is none.
    Recv {
        /// Which of the task's channels.
        channel: u32,
    },
    /// Sleeps.
    Sleep(Work),
    /// Starts a child with the program of this number, with this task's channels.
    Fork {
        /// Index in [`Workload::programs`].
        program: u32,
    },
    /// Waits until all children have exited.
    Wait,
    /// Ends the task. The end of the program does so too.
    Exit,
    /// Goes back to the step of this number, until the steps have been done `times` in all.
    Repeat {
        /// Index in the program's steps.
        to: u32,
        /// How often the steps are done; `None` for ever.
        times: Option<u32>,
    },
    /// A transaction begins: the time is noted.
    Begin,
    /// A transaction ends: it counts for the workload's metric, and the time since `Begin` is its latency.
    Done,
    /// A system call that is neither a message nor a fork.
    Call(Call),
}

impl Op {
    /// Returns this step's system call, or `None` if the step is not one.
    #[inline]
    pub fn call(&self) -> Option<Call> {
        match *self {
            Op::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Returns the program that a step starts in another task: a child's, or a kworker's.
    pub fn starts(&self) -> Option<u32> {
        match *self {
            Op::Fork { program } | Op::Call(Call::QueueWork { program, .. }) => Some(program),
            _ => None,
        }
    }

    /// Returns the task's own numbers of the resources that a step names, with the kinds that they must have.
    pub fn resources(&self) -> impl Iterator<Item = (u32, Kind)> {
        let resources = match *self {
            Op::Send { channel, .. } | Op::Recv { channel } => [Some((channel, Kind::Channel)), None],
            _ => self.call().map_or([None, None], Call::resources),
        };
        resources.into_iter().flatten()
    }
}

/// A program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The name, for deadlock reports and traces.
    pub name: String,
    /// The steps.
    pub ops: Vec<Op>,
}

/// A channel, which is one direction of a pipe or socket, or another resource that tasks share: see [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Channel {
    /// The name, for deadlock reports.
    pub name: String,
    /// How many messages a channel holds, how many tasks meet at a barrier, or for others what [`Kind`] says; 1 or
    /// more.
    pub capacity: u32,
    /// The costs of using a channel, besides the work of the steps; they mean nothing for other resources.
    pub costs: ChannelCosts,
}

impl Channel {
    /// A resource of that name and capacity, with the costs of a channel between two tasks.
    pub fn new(name: impl Into<String>, capacity: u32) -> Self {
        Channel { name: name.into(), capacity, costs: ChannelCosts::default() }
    }
}

/// The costs of using a channel, besides the work of the steps.
///
/// A channel that many tasks write to is a kernel object whose cache lines follow its users: a pipe's mutex, its head
/// and tail, its buffers, its wait queues (`struct pipe_inode_info`). A task finds them in its cache if its CPU was the
/// last to use the channel. By default only the message costs anything, all that the machine's `cold_message` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ChannelCosts {
    /// The cost of fetching the channel's own cache lines for whoever writes or reads, if another CPU used the channel
    /// last, in % of the machine's `cold_message` for these two CPUs, 0 to [`Self::MAX_PCT`].
    pub own_lines_pct: u32,
    /// The cost of fetching a message's cache lines for its reader, if another CPU wrote it, in % of `cold_message`, 0
    /// to [`Self::MAX_PCT`].
    pub message_lines_pct: u32,
    /// The extra work of a task that waited in the call, when it goes on, ns at full speed: it entered a wait queue,
    /// leaves it, and takes the lock again.
    pub waited_ns: u64,
}

impl ChannelCosts {
    /// The highest part of `cold_message`, %.
    pub const MAX_PCT: u32 = 1000;
}

impl Default for ChannelCosts {
    fn default() -> Self {
        ChannelCosts { own_lines_pct: 0, message_lines_pct: 100, waited_ns: 0 }
    }
}

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// The name.
    pub name: String,
    /// Index in [`Workload::programs`].
    pub program: u32,
    /// By the program's channel number: the index in [`Workload::channels`].
    #[serde(serialize_with = "numbers")]
    pub channels: Arc<[u32]>,
    /// When the task is forked, ns from the start of the run.
    pub start_ns: u64,
    /// Who forks it: an index in [`Workload::tasks`]. It is forked on that task's CPU, which it finds busy, whatever
    /// that task does then, and begins with it as its recently used CPU. `None` for the shell that starts the
    /// benchmark, which is on CPU 0 and takes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The nice value, -20 to 19.
    pub nice: i8,
    /// Whether the policy is SCHED_IDLE.
    pub idle_policy: bool,
    /// The slice that the task requests, ns (`sched_runtime` of `sched_setattr()`); 0 for none. See [`Call::Slice`].
    pub slice_ns: u64,
    /// The CPUs that the task may use, ascending; `None` for all.
    pub affinity: Option<Vec<u32>>,
    /// The process that the task is a thread of: tasks of one number share an address space (`mm`), and so do those
    /// that they fork, up to their `execve()`. `None` for an address space of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The memory that the task adds to its process's, bytes: those of all threads are added up, as the kernel adds up
    /// what NUMA balancing counts for each (`sched_cache_group.footprint`, 7.2). A task that it forks adds as much.
    /// Read by cache-aware balancing only; 0 without `process`.
    #[serde(skip_serializing_if = "is_zero")]
    pub footprint: u64,
    /// The minimum utilisation clamp that the task requests before it starts, 0 to 1024 (`sched_util_min` of
    /// `sched_setattr()`); `None` if it requests none. See [`Call::Uclamp`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_min: Option<u32>,
    /// The maximum likewise (`sched_util_max`), not below the minimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_max: Option<u32>,
    /// The realtime or deadline policy; `None` for a task of the fair class. Tasks that it forks inherit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub realtime: Option<Realtime>,
    /// Its control group: a number of [`Workload::groups`], from 1; 0 for the root.
    #[serde(skip_serializing_if = "is_root")]
    pub group: u32,
}

/// A source of interrupts: how often each of its CPUs is interrupted, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interrupt {
    /// Its name.
    pub name: String,
    /// Its CPUs, ascending; `None` for all.
    pub cpus: Option<Vec<u32>>,
    /// The time from one to the next on a CPU. The first comes within it.
    pub period: Work,
    /// How long the handler takes, with interrupts off, ns at full speed.
    pub time_ns: u64,
    /// How long the softirq that it raises takes, ns at full speed; 0 without one.
    pub softirq_ns: u64,
}

fn is_root(group: &u32) -> bool {
    *group == 0
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn numbers<S: Serializer>(channels: &Arc<[u32]>, to: S) -> Result<S::Ok, S::Error> {
    channels.as_ref().serialize(to)
}

impl Task {
    /// Returns a task of nice value 0 that may use all CPUs.
    pub fn plain(name: String, program: u32, channels: Vec<u32>, start_ns: u64) -> Self {
        Task {
            name,
            program,
            channels: channels.into(),
            start_ns,
            parent: None,
            nice: 0,
            idle_policy: false,
            slice_ns: 0,
            affinity: None,
            process: None,
            footprint: 0,
            uclamp_min: None,
            uclamp_max: None,
            realtime: None,
            group: 0,
        }
    }
}

/// A parameter that the model of a benchmark was built with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Param {
    /// The name.
    pub name: String,
    /// The unit, such as `ns` or `%`.
    pub unit: String,
    /// The value.
    pub value: u64,
    /// The lowest plausible value.
    pub low: u64,
    /// The highest plausible value.
    pub high: u64,
    /// Where the value was taken from. The text of an assumed value says so, with the reason.
    pub origin: String,
}

/// A workload at one load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// The benchmark, such as `netperf`.
    pub benchmark: String,
    /// The case, such as `TCP_RR`.
    pub case: String,
    /// The load as the benchmark's published tables print it, such as `224 threads`.
    pub load: String,
    /// The metric, one of [`METRICS`](crate::METRICS).
    pub metric: String,
    /// The metric's unit, such as `trans/s`.
    pub unit: String,
    /// Whether more of the metric is better.
    pub higher_is_better: bool,
    /// The programs.
    pub programs: Vec<Program>,
    /// The channels and the other resources that tasks share ([`Kind`]).
    pub channels: Vec<Channel>,
    /// The tasks, in the order in which they are forked.
    pub tasks: Vec<Task>,
    /// The sets of CPUs that [`Call::Affinity`] names, each ascending.
    pub cpu_sets: Vec<Vec<u32>>,
    /// The distributions that [`Work::distribution`] names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// The parameters that the model was built with.
    pub params: Vec<Param>,
    /// The control groups, those above before those in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Interrupts that come whatever the tasks do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<Interrupt>,
    /// The changes that an administrator makes during the run, the earliest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Something that an administrator does during the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// When it happens, ns from the start of the run. At 0 it happens before a scheduler is loaded.
    pub at_ns: u64,
    /// What.
    pub what: Changed,
}

/// The kinds of changes that an administrator makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// CPUs go offline, one after the other.
    Offline {
        /// Ascending, from 1 on.
        cpus: Vec<u32>,
    },
    /// CPUs come online, one after the other.
    Online {
        /// Ascending, from 1 on.
        cpus: Vec<u32>,
    },
    /// `cpu.weight` of a group.
    Weight {
        /// A number of [`Workload::groups`], from 1.
        group: u32,
        /// 1 to 10000.
        weight: u32,
    },
    /// `cpu.idle` of a group.
    Idle {
        /// A number of [`Workload::groups`], from 1.
        group: u32,
        /// The new value.
        idle: bool,
    },
    /// `cpu.max` and `cpu.max.burst` of a group.
    Max {
        /// A number of [`Workload::groups`], from 1.
        group: u32,
        /// The new limit; `None` for none.
        max: Option<CpuMax>,
    },
    /// A group is made (`mkdir`): until then it is not there.
    Make {
        /// A number of [`Workload::groups`], from 1.
        group: u32,
    },
    /// A group is removed (`rmdir`), in which no task and no group is then.
    Remove {
        /// A number of [`Workload::groups`], from 1.
        group: u32,
    },
    /// Tasks move to a group (`cgroup.procs`). Those that have exited or are not forked yet are left out.
    Move {
        /// Indices in [`Workload::tasks`].
        tasks: Vec<u32>,
        /// A number of [`Workload::groups`], from 1; 0 for the root.
        group: u32,
    },
}

/// A control group of the CPU controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// The group that it is in: a number of [`Workload::groups`], from 1, below its own; 0 for the root.
    pub parent: u32,
    /// `cpu.weight`, 1 to 10000: 100 weighs what a task of nice 0 does.
    pub weight: u32,
    /// `cpu.idle`: next to the others of its parent it is as a task of policy SCHED_IDLE. It then weighs 3/1024 of a
    /// task of nice 0, whatever its weight is.
    pub idle: bool,
    /// `cpu.max` and `cpu.max.burst`; `None` if its run time is not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<CpuMax>,
    /// `cpu.uclamp.min` and `cpu.uclamp.max`, 0 to 1024; `None` as the kernel has it, 0 and 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_min: Option<u32>,
    /// See `uclamp_min`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uclamp_max: Option<u32>,
    /// `cpuset.cpus.effective`, ascending: within these are the affinities of the group's tasks; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<Vec<u32>>,
    /// It is the autogroup of a session: its clamps are not those of its tasks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub autogroup: bool,
}

/// The run time of a group's tasks in each period, on all CPUs together (`cpu.max`, `cpu.max.burst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CpuMax {
    /// The run time, ns; 1 ms or more.
    pub quota: u64,
    /// The period, ns; 1 ms to 1 s.
    pub period: u64,
    /// The unused run time of earlier periods that may be saved up, ns; at most the quota.
    pub burst: u64,
}

impl Group {
    /// `tg->shares`, 1024 times a task's weight: 1024 for each hundredth of `cpu.weight`
    /// (`sched_weight_from_cgroup()`), or that of SCHED_IDLE (`sched_group_set_idle()`).
    pub fn shares(&self) -> u64 {
        if self.idle { 3 << 10 } else { (u64::from(self.weight) * 1024 + 50) / 100 * 1024 }
    }
}

impl Workload {
    /// Restricts every task to `cpus` (ascending), as a cpuset does: the affinities that tasks have or ask for lose all
    /// other CPUs.
    ///
    /// # Errors
    /// Fails with the reason if an affinity is left without a CPU.
    pub fn pin(&mut self, cpus: &[u32]) -> Result<(), String> {
        for task in &mut self.tasks {
            match &mut task.affinity {
                Some(own) => {
                    own.retain(|cpu| cpus.contains(cpu));
                    if own.is_empty() {
                        return Err(format!("{} may use none of these CPUs", task.name));
                    }
                }
                None => task.affinity = Some(cpus.to_vec()),
            }
        }
        for set in &mut self.cpu_sets {
            set.retain(|cpu| cpus.contains(cpu));
            if set.is_empty() {
                return Err("a program asks for a set of CPUs that has none of these".to_owned());
            }
        }
        Ok(())
    }
}
