//! What a pass decides.

use super::imbalance::Imbalance;
use crate::cpumask::Cpu;
use crate::runqueue::TaskId;
use smallvec::SmallVec;

/// One task's move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The task.
    pub task: TaskId,
    /// Where it goes: to the CPU of the pass, or, where affinity rules that out, to another of its group.
    pub dst_cpu: Cpu,
    /// Tasks of one batch are detached under one lock and attached under another.
    pub batch: u32,
}

/// Why a pass moved nothing and need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is for another CPU of the group to pull (`should_we_balance()`), or there is work already.
    NotOurs,
    /// No group is busier than it should be (`lb_nobusyg`).
    NoBusiestGroup,
    /// No CPU of the busiest group has what is to be moved (`lb_nobusyq`).
    NoBusiestQueue,
    /// No task of any busy CPU may run here.
    AllPinned,
    /// Another CPU balances a domain with SD_SERIALIZE ([`Serialize::Passes`](super::Serialize::Passes)).
    Serialized,
}

/// How a pass ends, for [`SdBalance::tune`](super::SdBalance::tune).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// There is balance (`lb_balanced`).
    Balanced(Why),
    /// Tasks are moved (`lb_gained`).
    Moved,
    /// There is an imbalance, and nothing is moved (`lb_failed`).
    Failed,
    /// The same, and the running task may not be pushed here either.
    OnePinned,
}

/// What a push means for the domain in 5.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forced {
    /// `nr_balance_failed`, so that the push takes a cache-hot task.
    pub nr_balance_failed: u32,
    /// The interval doubles.
    pub backs_off: bool,
}

/// What a pass decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The CPU that tasks are taken from.
    pub busiest: Option<Cpu>,
    /// What was to be moved.
    pub imbalance: Option<Imbalance>,
    /// What is moved, in the order of detaching. [`Plan::attach_order`] is that of attaching.
    pub moves: SmallVec<[Move; 4]>,
    /// Tasks that were passed over. Each in turn goes to the head of its `cfs_tasks`
    /// ([`CfsTasks::move_to_head`](super::CfsTasks::move_to_head)).
    pub skipped: SmallVec<[TaskId; 8]>,
    /// The stopper of `busiest` is to push its running task to the CPU of the pass: set `active_balance`, and ask
    /// [`active_load_balance`](super::active_load_balance) when it runs.
    pub active_balance: bool,
    /// What a push means for the domain, where that is not what the outcome says ([`Push::AnyFailures`](super::Push)).
    pub forced: Option<Forced>,
    /// The pass holds the lock of SD_SERIALIZE from its beginning to its end.
    pub serialized: bool,
    /// False: higher domains need no pass now.
    pub continue_balancing: bool,
    /// Summed utilisation of the domain, to be given to
    /// [`update_idle_cpu_scan`](crate::select::update_idle_cpu_scan) where SIS_UTIL is on: on the domain that spans the
    /// LLC, unless newly idle (with SIS_UTIL_NEWIDLE then, too).
    pub sum_util: Option<u64>,
    /// The root domain's `overload`, written where the domain is the CPU's highest.
    pub overload: Option<bool>,
    /// The root domain's `overutilized`, with an energy model ([`Balance::with_energy`](super::Balance::with_energy)): it is
    /// written where the domain is the CPU's highest, and set where a lower one has an overutilized CPU.
    pub overutilized: Option<bool>,
    /// `sgc->imbalance` of the CPU's own group in its next higher domain, if it changes.
    pub parent_imbalance: Option<bool>,
    /// How many run queues were summed up; a CPU counts again when the pass starts over. The CPUs of the busiest group
    /// are looked at once more, when the caches have them.
    pub looked_at: u32,
    /// How it ends.
    pub outcome: Outcome,
    /// The pass was for misfit tasks: it neither counts as a failure nor makes the interval longer (in 6.12, not in 6.1).
    pub no_failure: bool,
    /// `LBF_ALL_PINNED` at the end: tasks were to be taken, and none was found that may run here.
    pub all_pinned: bool,
}

impl Plan {
    /// Before anything is known.
    pub(super) fn nothing() -> Self {
        Plan {
            busiest: None,
            imbalance: None,
            moves: SmallVec::new(),
            skipped: SmallVec::new(),
            active_balance: false,
            forced: None,
            serialized: false,
            continue_balancing: true,
            sum_util: None,
            overload: None,
            overutilized: None,
            parent_imbalance: None,
            looked_at: 0,
            outcome: Outcome::Balanced(Why::NotOurs),
            no_failure: false,
            all_pinned: false,
        }
    }

    /// The moves in the order in which tasks get to their run queues: those of a batch from the last detached to the
    /// first (`attach_tasks()`).
    pub fn attach_order(&self) -> impl Iterator<Item = Move> + '_ {
        self.moves.chunk_by(|a, b| a.batch == b.batch).flat_map(|batch| batch.iter().rev().copied())
    }
}
