//! Follows each waiting task from queue to queue, and each CPU from task to task.

use super::causes::{Began, Cause, LongWait, MOST_MOVES, Move, Named, RanMeanwhile, Spent, TimeByName, common_name};
use super::history::{History, Ran};
use super::idle::{IdleCpus, IdleMeanwhile, Moment};
use crate::recordings::wakeups::WakeupWithReason;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wakelab_events::stream::{CpuValue, Migration, Switch};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::select::Reason;

/// The segments that are kept of all CPUs together, and of one CPU at least and at most.
const MOST_SEGMENTS: usize = 1 << 21;
const SEGMENTS_OF_CPU: (usize, usize) = (1 << 10, 1 << 14);
/// The names that are kept; a kernel has at most four times as many tasks.
const MOST_NAMES: usize = 1 << 20;
/// A CPU that goes idle has nothing queued, but for what was put there this long ago at most and is still on its way
/// (`ttwu_queue_wakelist()`), ns.
const ON_ITS_WAY_NS: u64 = 1_000_000;
/// The things that a CPU did which are shown of a wait.
const MOST_RAN: usize = 16;

#[derive(Clone, Debug)]
struct CpuState {
    history: History,
    /// The tasks that are queued there, with the times since when.
    queued: BTreeSet<(u64, i64)>,
    /// Whether it had a switch.
    switched: bool,
}

/// What is known of the CPUs of a recording before their first switches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Begins {
    /// By CPU: the task that its first switch was from; 0 for the idle task.
    pub(crate) first_prev: FxHashMap<Cpu, i64>,
    /// By CPU: since when its events are all there, ns, if that is later than the begin: what came before was
    /// overwritten before it was read.
    pub(crate) since_ns: FxHashMap<Cpu, u64>,
}

/// A part of a wait on one run queue.
#[derive(Clone, Copy, Debug)]
struct Stay {
    cpu: Cpu,
    since_ns: u64,
    idle_ns: u64,
    unknown_ns: u64,
    moment: Moment,
}

/// How a wait began; names are looked up at its end.
#[derive(Clone, Debug)]
enum Beginning {
    Woken { waker_cpu: Cpu, waker: i64, prev_cpu: Option<Cpu>, reason: Option<Reason>, chose: Option<bool> },
    Preempted { by: Option<i64> },
    Taken,
}

/// A task that waits.
#[derive(Clone, Debug)]
struct Waiter {
    t_ns: u64,
    began: Beginning,
    /// Where it was put first.
    cpu: Cpu,
    ahead: u64,
    /// Where it is queued; `None` if it still runs, or if that is not known.
    stay: Option<Stay>,
    /// Whether it still runs on this CPU, which has not switched to another task since the wake-up.
    runs_on: Option<Cpu>,
    adrift: bool,
    /// What was before the stay.
    spent: Spent,
    meanwhile: IdleMeanwhile,
    ran: FxHashMap<Ran, u64>,
    moves: SmallVec<[Move; 1]>,
    moved: u64,
    set: usize,
    allowed: Option<u32>,
}

/// A wait that is over.
pub(super) struct Ended {
    /// Whether it began with a wake-up.
    pub(super) woken: bool,
    /// When it began, ns.
    pub(super) t_ns: u64,
    /// How long it took, ns.
    pub(super) wait_ns: u64,
    /// All of it, and the time behind tasks of each name, if it is long enough.
    pub(super) long: Option<(Box<LongWait>, TimeByName)>,
}

/// Follows tasks and CPUs.
pub(super) struct Tracker {
    cpus: Vec<CpuState>,
    waiting: FxHashMap<i64, Waiter>,
    idle: IdleCpus,
    names: FxHashMap<i64, Arc<str>>,
    /// The set of CPUs that a task may use, and how many they are, as its last wake-up had it.
    allowed: FxHashMap<i64, (usize, u32)>,
    simulated: bool,
    begins: Begins,
    /// Whether tasks are a scheduler's of sched_ext: they may wait while their CPU idles.
    scx: bool,
    /// Waits of this length are long, ns.
    over_ns: u64,
    segments: usize,
}

impl Tracker {
    pub(super) fn new(llcs: Option<Vec<u32>>, simulated: bool, scx: bool, over_ns: u64) -> Self {
        let nr_cpus = llcs.as_ref().map_or(0, Vec::len);
        let segments = (MOST_SEGMENTS / nr_cpus.max(1)).clamp(SEGMENTS_OF_CPU.0, SEGMENTS_OF_CPU.1);
        let idle = IdleCpus::new(llcs.map(Arc::new));
        let (cpus, waiting, names, allowed) = Default::default();
        let begins = Begins::default();
        let mut tracker = Tracker { cpus, waiting, idle, names, allowed, simulated, begins, scx, over_ns, segments };
        // A simulation begins with all CPUs idle.
        (0..nr_cpus as Cpu).filter(|_| simulated).for_each(|cpu| tracker.refresh(0, cpu));
        tracker
    }

    /// A recording begins with what its CPUs did before their first switches: each ran the task that it switched from.
    pub(super) fn with_begins(mut self, begins: Begins) -> Self {
        for (&cpu, &prev_pid) in begins.first_prev.iter().filter(|(cpu, _)| !begins.since_ns.contains_key(*cpu)) {
            let ran = match prev_pid {
                0 => Ran::Idle(None),
                pid => Ran::Task(pid),
            };
            self.cpu(cpu).history.begins(0, ran);
            self.refresh(0, cpu);
        }
        self.begins = begins;
        self
    }

    /// A task wakes another on a CPU, and so it runs there.
    fn wakes_there(&mut self, now_ns: u64, cpu: Cpu, pid: i64) {
        if self.simulated || pid == 0 || self.cpu(cpu).switched {
            return;
        }
        let since_ns = self.begins.since_ns.get(&cpu).copied().map_or(0, |since| since.clamp(1, now_ns.max(1)));
        let state = self.cpu(cpu);
        match state.history.now() {
            Ran::Unknown => state.history.begins(since_ns, Ran::Task(pid)),
            Ran::Task(known) if known == pid => {}
            // Its first switch was from another task: switches before it are not there.
            _ => state.history.forget(),
        }
        self.refresh(now_ns, cpu);
    }

    fn cpu(&mut self, cpu: Cpu) -> &mut CpuState {
        let begins = if self.simulated { Ran::Idle(None) } else { Ran::Unknown };
        let most = self.segments;
        let state = || CpuState { history: History::new(begins, most), queued: BTreeSet::new(), switched: false };
        if cpu as usize >= self.cpus.len() {
            self.cpus.resize_with(cpu as usize + 1, state);
        }
        &mut self.cpus[cpu as usize]
    }

    /// Whether LLCs are known.
    pub(super) fn knows_llcs(&self) -> bool {
        self.idle.knows_llcs()
    }

    /// The parts of the history of CPUs that had no room.
    pub(super) fn dropped(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.history.dropped).sum()
    }

    fn refresh(&mut self, now_ns: u64, cpu: Cpu) {
        let state = self.cpu(cpu);
        let idle = matches!(state.history.now(), Ran::Idle(_)) && state.queued.is_empty();
        self.idle.set(now_ns, cpu, idle);
    }

    /// A task has this name from now on.
    pub(super) fn name(&mut self, pid: i64, comm: &Arc<str>) {
        if comm.is_empty() || self.names.get(&pid).is_some_and(|known| known == comm) {
            return;
        }
        if self.names.len() >= MOST_NAMES {
            self.names.clear();
        }
        self.names.insert(pid, Arc::clone(comm));
    }

    pub(super) fn named(&self, pid: i64) -> Named {
        Named { pid, comm: self.names.get(&pid).cloned().unwrap_or_default() }
    }

    /// The task waits on this run queue from now on.
    fn queue(&mut self, now_ns: u64, pid: i64, waiter: &mut Waiter, cpu: Cpu) {
        let (idle_ns, unknown_ns) = self.cpu(cpu).history.idle_and_unknown(now_ns);
        self.cpu(cpu).queued.insert((now_ns, pid));
        self.refresh(now_ns, cpu);
        let moment = self.idle.begin(now_ns, cpu, waiter.set);
        waiter.stay = Some(Stay { cpu, since_ns: now_ns, idle_ns, unknown_ns, moment });
    }

    /// The task leaves its run queue.
    fn leave(&mut self, now_ns: u64, pid: i64, waiter: &mut Waiter) {
        let Some(stay) = waiter.stay.take() else { return };
        let long = now_ns.saturating_sub(waiter.t_ns) >= self.over_ns || waiter.moved > 0 || waiter.adrift;
        let history = &self.cpus[stay.cpu as usize].history;
        let (idle, unknown) = history.idle_and_unknown(now_ns);
        let (idle_ns, unknown_ns) = (idle.saturating_sub(stay.idle_ns), unknown.saturating_sub(stay.unknown_ns));
        let ns = now_ns.saturating_sub(stay.since_ns);
        let behind_ns = ns.saturating_sub(idle_ns + unknown_ns);
        waiter.spent.add(Spent { before_ns: 0, behind_ns, idle_ns, unknown_ns });
        waiter.meanwhile.add(self.idle.since(now_ns, &stay.moment));
        if long {
            history.add_to(stay.since_ns, now_ns, &mut waiter.ran);
        }
        self.cpus[stay.cpu as usize].queued.remove(&(stay.since_ns, pid));
        self.refresh(now_ns, stay.cpu);
    }

    /// A wake-up.
    pub(super) fn wake(&mut self, now_ns: u64, found: &WakeupWithReason, affinity: Option<&Arc<CpuMask>>) {
        let wake = &found.wake;
        self.name(wake.wakee_pid, &wake.wakee_comm);
        if wake.waker_pid != 0 || self.simulated {
            self.name(wake.waker_pid, &wake.waker_comm);
        }
        if let Some(llcs) = &found.llcs {
            self.idle.set_llcs(now_ns, llcs);
        }
        self.wakes_there(now_ns, wake.waker_cpu, wake.waker_pid);
        if wake.exec {
            return;
        }
        let pid = wake.wakee_pid;
        if let Some(mut waiter) = self.waiting.remove(&pid) {
            // A task that another took the CPU from is still queued (ttwu_runnable()): its wait goes on. One whose CPU
            // went idle slept, whatever its state was when it was switched from.
            if matches!(waiter.began, Beginning::Preempted { by: Some(_) } | Beginning::Taken) && !waiter.adrift {
                self.waiting.insert(pid, waiter);
                return;
            }
            self.leave(now_ns, pid, &mut waiter);
        }
        let runs = |cpu: &Cpu| self.cpus.get(*cpu as usize).is_some_and(|of| of.history.now() == Ran::Task(pid));
        let runs_on = [Some(wake.dest_cpu), wake.prev_cpu].into_iter().flatten().find(runs);
        let set = affinity.and_then(|affinity| Some((self.idle.set_of(now_ns, affinity)?, affinity.weight())));
        if self.allowed.len() >= MOST_NAMES {
            self.allowed.clear();
        }
        match set {
            Some(set) => _ = self.allowed.insert(pid, set),
            None => _ = self.allowed.remove(&pid),
        }
        let began = Beginning::Woken {
            waker_cpu: wake.waker_cpu,
            waker: wake.waker_pid,
            prev_cpu: wake.prev_cpu,
            reason: found.decision.map(|(reason, _)| reason),
            chose: wake.chose,
        };
        let mut waiter = self.waiter(wake.t_ns, began, wake.dest_cpu, pid);
        waiter.runs_on = runs_on;
        waiter.spent.before_ns = now_ns.saturating_sub(wake.t_ns);
        if runs_on.is_none() {
            self.queue(now_ns, pid, &mut waiter, wake.dest_cpu);
        }
        self.waiting.insert(pid, waiter);
    }

    fn waiter(&mut self, t_ns: u64, began: Beginning, cpu: Cpu, pid: i64) -> Waiter {
        let allowed = self.allowed.get(&pid).copied();
        let state = self.cpu(cpu);
        let runs = matches!(state.history.now(), Ran::Task(other) if other != pid);
        Waiter {
            t_ns,
            began,
            cpu,
            ahead: state.queued.len() as u64 + u64::from(runs),
            stay: None,
            runs_on: None,
            adrift: false,
            spent: Spent::default(),
            meanwhile: IdleMeanwhile::default(),
            ran: FxHashMap::default(),
            moves: SmallVec::new(),
            moved: 0,
            set: allowed.map_or(0, |(set, _)| set),
            allowed: allowed.map(|(_, weight)| weight),
        }
    }

    /// A migration.
    pub(super) fn moved(&mut self, now_ns: u64, moved: &Migration) {
        let Migration { pid, from_cpu, to_cpu, .. } = *moved;
        if let Some(mut waiter) = self.waiting.remove(&pid) {
            let at = waiter.stay.map_or(waiter.cpu, |stay| stay.cpu);
            // The migration of the wake-up itself comes after it.
            if waiter.runs_on.is_none() && (at != to_cpu || waiter.stay.is_none()) {
                waiter.moved += 1;
                if waiter.moves.len() < MOST_MOVES {
                    waiter.moves.push(Move { t_ns: now_ns, from_cpu: at, to_cpu });
                }
                self.leave(now_ns, pid, &mut waiter);
                self.queue(now_ns, pid, &mut waiter, to_cpu);
            }
            self.waiting.insert(pid, waiter);
        } else if self.simulated && self.cpu(from_cpu).history.now() == Ran::Task(pid) {
            // The balancer of the simulator takes a running task without a switch.
            self.runs(now_ns, from_cpu, Ran::Idle(None));
            let mut waiter = self.waiter(now_ns, Beginning::Taken, to_cpu, pid);
            (waiter.moved, waiter.moves) = (1, SmallVec::from_slice(&[Move { t_ns: now_ns, from_cpu, to_cpu }]));
            self.queue(now_ns, pid, &mut waiter, to_cpu);
            self.waiting.insert(pid, waiter);
            self.refresh(now_ns, from_cpu);
        }
    }

    fn runs(&mut self, now_ns: u64, cpu: Cpu, ran: Ran) {
        let state = self.cpu(cpu);
        let oldest = state.queued.first().map(|(since, _)| *since);
        state.history.push(now_ns, ran, oldest);
    }

    /// A context switch. Returns the wait that it ends.
    pub(super) fn switch(&mut self, now_ns: u64, switch: &Switch) -> Option<Ended> {
        let cpu = switch.cpu;
        let prev = match self.cpu(cpu).history.now() {
            now if self.simulated => now,
            now => {
                let prev = if switch.prev_pid == 0 { Ran::Idle(None) } else { Ran::Task(switch.prev_pid) };
                let same = now == prev || matches!((now, prev), (Ran::Idle(_), Ran::Idle(_)));
                if !same {
                    // A switch was lost before this one.
                    self.cpu(cpu).history.forget();
                }
                prev
            }
        };
        self.cpu(cpu).switched = true;
        let ended = (!switch.idles).then(|| self.waiting.remove(&switch.next_pid)).flatten().map(|mut waiter| {
            let at = waiter.stay.map(|stay| stay.cpu);
            waiter.adrift |= at.is_some_and(|at| at != cpu);
            self.leave(now_ns, switch.next_pid, &mut waiter);
            self.ended(now_ns, switch.next_pid, waiter, cpu)
        });
        self.runs(now_ns, cpu, if switch.idles { Ran::Idle(None) } else { Ran::Task(switch.next_pid) });
        if let Ran::Task(pid) = prev
            && (switch.idles || pid != switch.next_pid)
        {
            self.stopped(now_ns, cpu, pid, switch);
        }
        if switch.idles && !self.scx {
            self.set_adrift(now_ns, cpu);
        }
        self.refresh(now_ns, cpu);
        ended
    }

    /// A task runs no longer: it sleeps, or it was preempted.
    fn stopped(&mut self, now_ns: u64, cpu: Cpu, pid: i64, switch: &Switch) {
        if let Some(mut waiter) = self.waiting.remove(&pid) {
            // It was woken before it was off the CPU.
            if waiter.runs_on.take_if(|runs_on| *runs_on == cpu).is_some() {
                waiter.spent.before_ns = now_ns.saturating_sub(waiter.t_ns);
                // It ran on for long and sleeps: the wake-up had nothing to do.
                waiter.adrift = switch.prev_sleeps && waiter.spent.before_ns > ON_ITS_WAY_NS;
                let to = waiter.cpu;
                if !waiter.adrift {
                    self.queue(now_ns, pid, &mut waiter, to);
                }
            }
            self.waiting.insert(pid, waiter);
        } else if !switch.prev_sleeps {
            let by = (!switch.idles).then_some(switch.next_pid);
            let mut waiter = self.waiter(now_ns, Beginning::Preempted { by }, cpu, pid);
            self.queue(now_ns, pid, &mut waiter, cpu);
            self.waiting.insert(pid, waiter);
        }
    }

    /// A CPU that goes idle has no task queued: those that should be there are elsewhere, or throttled.
    fn set_adrift(&mut self, now_ns: u64, cpu: Cpu) {
        while let Some(&(since, pid)) = self.cpu(cpu).queued.first().filter(|(since, _)| since + ON_ITS_WAY_NS < now_ns)
        {
            match self.waiting.remove(&pid) {
                Some(mut waiter) => {
                    waiter.adrift = true;
                    self.leave(now_ns, pid, &mut waiter);
                    self.waiting.insert(pid, waiter);
                }
                None => _ = self.cpu(cpu).queued.remove(&(since, pid)),
            }
        }
    }

    /// The idle state of a CPU changes.
    pub(super) fn idle_state(&mut self, now_ns: u64, of: &CpuValue) {
        let known = self.cpu(of.cpu).history.now();
        let enters = known == Ran::Unknown && of.value.is_some();
        if (enters || matches!(known, Ran::Idle(_))) && known != Ran::Idle(of.value) {
            self.runs(now_ns, of.cpu, Ran::Idle(of.value));
            self.refresh(now_ns, of.cpu);
        }
    }

    /// A wait that is over.
    fn ended(&self, now_ns: u64, pid: i64, waiter: Waiter, ran_on: Cpu) -> Ended {
        let (t_ns, wait_ns) = (waiter.t_ns, now_ns.saturating_sub(waiter.t_ns));
        let woken = matches!(waiter.began, Beginning::Woken { .. });
        let long = (wait_ns >= self.over_ns).then(|| self.long(wait_ns, pid, waiter, ran_on));
        Ended { woken, t_ns, wait_ns, long }
    }

    fn long(&self, wait_ns: u64, pid: i64, waiter: Waiter, ran_on: Cpu) -> (Box<LongWait>, TimeByName) {
        let mut spent = waiter.spent;
        // Time off any known queue.
        spent.unknown_ns += wait_ns.saturating_sub(spent.total_ns());
        let mut behind = TimeByName::new();
        let mut ran: Vec<_> = waiter.ran.into_iter().collect();
        ran.sort_by_key(|(what, ns)| (std::cmp::Reverse(*ns), *what));
        for (what, ns) in &ran {
            if let Ran::Task(pid) = what {
                *behind.entry(common_name(&self.named(*pid).comm)).or_default() += ns;
            }
        }
        let others = ran.get(MOST_RAN..).unwrap_or_default();
        let ran_others = (others.len() as u64, others.iter().map(|(_, ns)| ns).sum());
        let comm = |what: &Ran| match what {
            Ran::Task(pid) => self.named(*pid).comm,
            Ran::Idle(_) | Ran::Unknown => Arc::default(),
        };
        let shown = ran.iter().take(MOST_RAN).map(|(what, ns)| RanMeanwhile { ran: *what, comm: comm(what), ns: *ns });
        let began = match waiter.began {
            Beginning::Woken { waker_cpu, waker, prev_cpu, reason, chose } => {
                let idle = waker == 0 && !self.simulated;
                Began::Woken { waker_cpu, waker: (!idle).then(|| self.named(waker)), prev_cpu, reason, chose }
            }
            Beginning::Preempted { by } => Began::Preempted { by: by.map(|by| self.named(by)) },
            Beginning::Taken => Began::Taken,
        };
        let cause = match began {
            _ if waiter.adrift => Cause::Unknown,
            Began::Woken { .. } => spent.cause(&waiter.meanwhile),
            Began::Preempted { .. } | Began::Taken => Cause::Preempted,
        };
        let wait = LongWait {
            pid,
            comm: self.named(pid).comm,
            t_ns: waiter.t_ns,
            wait_ns,
            cause,
            began,
            cpu: waiter.cpu,
            ahead: waiter.ahead,
            spent,
            ran: shown.collect(),
            ran_others,
            moves: waiter.moves.to_vec(),
            moved: waiter.moved,
            ran_on,
            meanwhile: waiter.meanwhile,
            allowed: waiter.allowed,
            adrift: waiter.adrift,
            steps: Vec::new(),
            names: BTreeMap::new(),
        };
        (Box::new(wait), behind)
    }
}
