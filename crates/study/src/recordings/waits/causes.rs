//! Why a task waited: one cause for each wait, and sums over all.

use super::history::Ran;
use super::idle::IdleMeanwhile;
use crate::recordings::scx_waits::{WaitStep, shared_time};
use std::collections::BTreeMap;
use std::sync::Arc;
use wakelab_measure::Waits;

/// Why a task waited. Each wait has one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Other tasks ran on its CPU, and for at least half of that wait a CPU of the same LLC was idle.
    BehindLlcIdle,
    /// Other tasks ran on its CPU, and for at least half of that wait some CPU of the machine was idle, but not of the
    /// LLC.
    BehindOtherIdle,
    /// Other tasks ran on its CPU, and for more than half of that wait no CPU was idle.
    BehindNoneIdle,
    /// Its CPU was idle, and came out of it.
    LeavingIdle,
    /// It was not on a run queue yet: its CPU was being chosen, or it still ran.
    Choosing,
    /// The wait began because it was preempted.
    Preempted,
    /// Under a scheduler of sched_ext: for more than half of it the task was on a dispatch queue that is no CPU's own,
    /// or with the scheduler.
    SharedDsq,
    /// It is not known what its CPU did, or on which CPU it was queued.
    Unknown,
}

impl Cause {
    /// All of them, in the order of the output.
    pub const ALL: [Cause; 8] = [
        Cause::BehindLlcIdle,
        Cause::BehindOtherIdle,
        Cause::BehindNoneIdle,
        Cause::LeavingIdle,
        Cause::Choosing,
        Cause::Preempted,
        Cause::SharedDsq,
        Cause::Unknown,
    ];

    /// The name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Cause::BehindLlcIdle => "behind, LLC idle",
            Cause::BehindOtherIdle => "behind, other idle",
            Cause::BehindNoneIdle => "behind, none idle",
            Cause::LeavingIdle => "leaving idle",
            Cause::Choosing => "choosing",
            Cause::Preempted => "preempted",
            Cause::SharedDsq => "shared DSQ",
            Cause::Unknown => "unknown",
        }
    }

    /// The meaning, as a sentence that continues after the name.
    pub fn meaning(self) -> &'static str {
        match self {
            Cause::BehindLlcIdle => "behind other tasks, while a CPU of the same LLC was idle for at least half of it",
            Cause::BehindOtherIdle => {
                "behind other tasks, while a CPU elsewhere was idle for at least half of it, and none of the LLC"
            }
            Cause::BehindNoneIdle => "behind other tasks, while no CPU was idle for more than half of it",
            Cause::LeavingIdle => "its CPU was idle, and came out of it",
            Cause::Choosing => "not queued yet: its CPU was being chosen, or it still ran",
            Cause::Preempted => "it began because the task was preempted",
            Cause::SharedDsq => {
                "on a dispatch queue that belongs to no CPU, or with the scheduler, for more than half of it"
            }
            Cause::Unknown => "unknown: what its CPU did, or where it was queued, is not recorded",
        }
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// How a wait was spent. All but `before_ns` is time on a run queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Before it was on a run queue, ns.
    pub before_ns: u64,
    /// Other tasks ran, ns.
    pub behind_ns: u64,
    /// The CPU was idle, ns.
    pub idle_ns: u64,
    /// It is not known what the CPU did, ns.
    pub unknown_ns: u64,
}

impl Spent {
    /// The whole wait, ns.
    pub fn total_ns(&self) -> u64 {
        self.before_ns + self.behind_ns + self.idle_ns + self.unknown_ns
    }

    pub(super) fn add(&mut self, other: Spent) {
        self.before_ns += other.before_ns;
        self.behind_ns += other.behind_ns;
        self.idle_ns += other.idle_ns;
        self.unknown_ns += other.unknown_ns;
    }

    /// The cause of a wait after a wake-up: what took most of it.
    pub(super) fn cause(&self, meanwhile: &IdleMeanwhile) -> Cause {
        let most = self.behind_ns.max(self.idle_ns).max(self.before_ns).max(self.unknown_ns);
        if most == self.unknown_ns && most > 0 {
            return Cause::Unknown;
        }
        if most == self.behind_ns && most > 0 {
            let queued = self.total_ns() - self.before_ns;
            return match meanwhile {
                IdleMeanwhile { llc_ns, .. } if 2 * llc_ns >= queued => Cause::BehindLlcIdle,
                IdleMeanwhile { all_ns, .. } if 2 * all_ns >= queued => Cause::BehindOtherIdle,
                _ => Cause::BehindNoneIdle,
            };
        }
        if most == self.idle_ns && most > 0 { Cause::LeavingIdle } else { Cause::Choosing }
    }
}

/// Waits of one cause, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub n: u64,
    /// Their sum, ns.
    pub ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl Sum {
    fn add(&mut self, ns: u64) {
        self.merge(&Sum { n: 1, ns, max_ns: ns });
    }

    fn merge(&mut self, other: &Sum) {
        self.n += other.n;
        self.ns = self.ns.saturating_add(other.ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Waits by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByCause([Sum; Cause::ALL.len()]);

impl ByCause {
    /// The waits with a cause.
    pub fn of(&self, cause: Cause) -> Sum {
        self.0[cause.index()]
    }

    /// All of them.
    pub fn total(&self) -> Sum {
        let mut total = Sum::default();
        self.0.iter().for_each(|sum| total.merge(sum));
        total
    }

    pub(super) fn add(&mut self, cause: Cause, ns: u64) {
        self.0[cause.index()].add(ns);
    }

    fn merge(&mut self, other: &ByCause) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, other)| sum.merge(other));
    }
}

/// The most names that are told apart; the others are counted together.
const MOST_NAMES: usize = 1024;

/// The parts into which waits are broken down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The name of a task; empty if it is not known.
    Comm(Arc<str>),
    /// A CPU.
    Cpu(u32),
    /// A dispatch queue of sched_ext that is no CPU's own; `held` for a scheduler that keeps tasks itself.
    Dsq(Arc<str>),
    /// What has no room.
    Other,
}

/// Waits by name or CPU, and cause.
pub type Parts = BTreeMap<Part, ByCause>;

pub(super) fn part(parts: &mut Parts, part: Part) -> &mut ByCause {
    let full = matches!(part, Part::Comm(_) | Part::Dsq(_)) && parts.len() >= MOST_NAMES && !parts.contains_key(&part);
    parts.entry(if full { Part::Other } else { part }).or_default()
}

fn merge_parts(into: &mut Parts, from: &Parts) {
    from.iter().for_each(|(key, sums)| part(into, key.clone()).merge(sums));
}

/// The time behind tasks of each name, ns.
pub(super) type TimeByName = BTreeMap<Arc<str>, u64>;

/// All waits.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Waits after wake-ups, whatever their length: those of `wakelab stats`.
    pub wakeups: Waits,
    /// Waits that began by a preemption, whatever their length.
    pub preemptions: Waits,
    /// Those that are long enough, by cause.
    pub causes: ByCause,
    /// How they were spent.
    pub spent: Spent,
    /// Of the time behind other tasks, that behind tasks of a name, by the cause of the wait: `n` waits, of which it
    /// took `ns` in all and `max_ns` at most.
    pub behind: Parts,
    /// They by name of the wakee.
    pub by_comm: Parts,
    /// They by the CPU where the wakee was put.
    pub by_cpu: Parts,
    /// Of their time, that on dispatch queues that are no CPU's own, by the cause of the wait: `n` waits, of which it
    /// took `ns` in all and `max_ns` at most. Empty without a scheduler of sched_ext.
    pub by_dsq: Parts,
}

impl Default for Sums {
    fn default() -> Self {
        Sums {
            wakeups: Waits::new(3),
            preemptions: Waits::new(3),
            causes: ByCause::default(),
            spent: Spent::default(),
            behind: Parts::new(),
            by_comm: Parts::new(),
            by_cpu: Parts::new(),
            by_dsq: Parts::new(),
        }
    }
}

impl Sums {
    pub(super) fn merge(&mut self, other: &Sums) {
        self.wakeups.merge(&other.wakeups);
        self.preemptions.merge(&other.preemptions);
        self.causes.merge(&other.causes);
        self.spent.add(other.spent);
        merge_parts(&mut self.behind, &other.behind);
        merge_parts(&mut self.by_comm, &other.by_comm);
        merge_parts(&mut self.by_cpu, &other.by_cpu);
        merge_parts(&mut self.by_dsq, &other.by_dsq);
    }

    /// Adds a wait that is long enough, with the time behind tasks of each name.
    pub(super) fn add(&mut self, wait: &LongWait, behind: &TimeByName) {
        let (cause, ns) = (wait.cause, wait.wait_ns);
        self.causes.add(cause, ns);
        self.spent.add(wait.spent);
        part(&mut self.by_comm, Part::Comm(Arc::clone(&wait.comm))).add(cause, ns);
        part(&mut self.by_cpu, Part::Cpu(wait.cpu)).add(cause, ns);
        for (name, &ns) in behind {
            part(&mut self.behind, Part::Comm(Arc::clone(name))).add(cause, ns);
        }
        for (dsq, ns) in shared_time(&wait.steps, wait.t_ns + wait.wait_ns) {
            part(&mut self.by_dsq, Part::Dsq(dsq)).add(cause, ns);
        }
    }
}

/// A name without the number of a CPU or of a simulated task, so that all of them are one: `ksoftirqd/*`, `kworker/*`,
/// `sender *`, `worker#*`.
pub(super) fn common_name(name: &Arc<str>) -> Arc<str> {
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if let Some((of, rest)) = name.split_once('/').filter(|(_, rest)| digit(rest.trim_start_matches('u'))) {
        return format!("{of}/{}*", if digit(rest) { "" } else { "u" }).into();
    }
    let number = name.rfind([' ', '#']).map(|at| name.split_at(at + 1));
    match number {
        Some((of, number)) if digit(number) && number.bytes().all(|b| b.is_ascii_digit() || b == b'.') => {
            format!("{of}*").into()
        }
        _ => Arc::clone(name),
    }
}

/// A task as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its pid.
    pub pid: i64,
    /// Its name; empty if it is not known.
    pub comm: Arc<str>,
}

/// How a wait began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Began {
    /// The task was woken.
    Woken {
        /// The waking CPU.
        waker_cpu: u32,
        /// The task that ran there; `None` for the idle task.
        waker: Option<Named>,
        /// Where it ran last, if that is known.
        prev_cpu: Option<u32>,
        /// Why its CPU was chosen, if that is known.
        reason: Option<wakelab_sched::select::Reason>,
        /// Whether a CPU was chosen: not of a task that was still queued, or may use one CPU only; `None` if that is
        /// not known.
        chose: Option<bool>,
    },
    /// Another task, or the idle task (a task that is throttled), took its CPU.
    Preempted {
        /// Who; `None` for the idle task.
        by: Option<Named>,
    },
    /// Load balancing took it from its CPU while it ran.
    Taken,
}

/// A migration of a waiting task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// When, ns.
    pub t_ns: u64,
    /// From this CPU.
    pub from_cpu: u32,
    /// To this CPU.
    pub to_cpu: u32,
}

/// The activity of a CPU while a task waited for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanMeanwhile {
    /// The activity.
    pub ran: Ran,
    /// The name, if it is a task's and known.
    pub comm: Arc<str>,
    /// How long, ns.
    pub ns: u64,
}

/// A wait and all that is known of it.
#[derive(Clone, Debug)]
pub struct LongWait {
    /// The task.
    pub pid: i64,
    /// Its name; empty if it is not known.
    pub comm: Arc<str>,
    /// When it began, ns: with the choice of its CPU, or with the preemption.
    pub t_ns: u64,
    /// How long, ns.
    pub wait_ns: u64,
    /// Why.
    pub cause: Cause,
    /// How it began.
    pub began: Began,
    /// The CPU where it was queued first.
    pub cpu: u32,
    /// How many tasks were running or waiting there when it was queued.
    pub ahead: u64,
    /// How it was spent.
    pub spent: Spent,
    /// The activities of its CPUs, the longest first.
    pub ran: Vec<RanMeanwhile>,
    /// How many other things they did, and how long, ns.
    pub ran_others: (u64, u64),
    /// Where it was moved, at most [`MOST_MOVES`] times.
    pub moves: Vec<Move>,
    /// How often it was moved.
    pub moved: u64,
    /// The CPU that ran it in the end.
    pub ran_on: u32,
    /// The CPUs that were idle while it was queued, among those that it may use as far as they are known.
    pub meanwhile: IdleMeanwhile,
    /// How many CPUs it may use; `None` if that is not known.
    pub allowed: Option<u32>,
    /// Whether it is not known where it was queued: it ran on a CPU to which nobody moved it, or its CPU went idle.
    pub adrift: bool,
    /// The steps of its sched_ext scheduler and of the core; empty without a scheduler.
    pub steps: Vec<WaitStep>,
    /// The names of the tasks that were before it on queues.
    pub names: BTreeMap<i64, Arc<str>>,
}

impl LongWait {
    /// Adds the steps of a wait under a scheduler of sched_ext, which may be its cause.
    pub(super) fn add_steps(&mut self, steps: Vec<WaitStep>, name: impl Fn(i64) -> Arc<str>) {
        let shared: u64 = shared_time(&steps, self.t_ns + self.wait_ns).iter().map(|(_, ns)| ns).sum();
        if 2 * shared > self.wait_ns {
            self.cause = Cause::SharedDsq;
        }
        self.names = steps.iter().flat_map(|step| &step.behind).map(|&pid| (pid, name(pid))).collect();
        self.steps = steps;
    }
}

/// The most migrations that are kept of a wait.
pub const MOST_MOVES: usize = 8;
