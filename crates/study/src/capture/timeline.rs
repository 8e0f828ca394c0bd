//! What each task did: work, wake-ups that it made, waits with what ended them.
//!
//! Work is in ns at capacity 1024 and nominal frequency on a core whose SMT sibling is idle, as everywhere in a
//! workload. What the machine's scheduler costs is taken off: the simulator adds it again. A stretch on a CPU from the
//! end of one switch to the end of the next is
//!
//! work × 1024 / capacity × highest frequency / frequency × SMT slow-down
//!   + the context switch + for each wake-up made (its search + the enqueue) + cold caches after a migration
//!   + the message's cold lines if the waker was on another CPU + ticks.

use super::speed::Speeds;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use wakelab_events::stream::{
    CpuValue, Switch, TaskAttributes, TaskLife, TaskMoment, TaskName, WakeCause, WakeContext,
};
use wakelab_machine::Machine;
use wakelab_measure::Waits;
use wakelab_sched::cpumask::Cpu;

/// The most families whose times are kept.
const MOST_FAMILIES: usize = 1024;

/// `SCHED_IDLE`.
const SCHED_IDLE: u8 = 5;

/// Index of a task in [`Timelines::tasks`].
pub(super) type TaskNr = u32;

/// One thing that a task did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Computed for so many ns of work.
    Run(f64),
    /// Woke a task.
    Wake {
        wakee: TaskNr,
        sync: bool,
        /// In an interrupt, such as the softirq that a send raises.
        interrupt: bool,
    },
    /// Slept, from `began_ns` until it was woken by the task `by`, or by a timer or an interrupt.
    Wait { began_ns: u64, by: Option<TaskNr> },
    /// Was preempted by a task that it had just woken with the sync hint.
    Yielded { to: TaskNr },
    /// Started a task.
    Fork(TaskNr),
    /// Called `execve()`.
    Exec,
    /// Completed a transaction.
    Done,
}

/// A step with its time: of a wait, when it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimedStep {
    pub(super) t_ns: u64,
    pub(super) step: Step,
}

/// What is known of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    pub(super) pid: i64,
    pub(super) comm: String,
    pub(super) attributes: TaskAttributes,
    /// Its control group.
    pub(super) task_group: u64,
    /// Noise of the simulator, which makes it again.
    pub(super) noise: bool,
    /// When it began, ns, if that is in the window; and who forked it.
    pub(super) began_ns: Option<u64>,
    pub(super) parent: Option<TaskNr>,
    pub(super) steps: Vec<TimedStep>,
    /// Since when it sleeps at the end of the window, ns, if it does.
    pub(super) asleep_since: Option<u64>,
    /// How many waits it had, and how many ended while the waking CPU was idle.
    pub(super) waits: u64,
    pub(super) woken_from_idle: u64,
    /// How long it ran in the window, ns, with all that the kernel did meanwhile.
    pub(super) ran_ns: u64,
    /// How often it ran after a wake-up, and how long it had waited until then, ns.
    pub(super) latencies: (u64, u64),
}

impl Timeline {
    /// The task that forked it in the window, if one did.
    pub(super) fn forked_by(&self) -> Option<TaskNr> {
        self.began_ns.and(self.parent)
    }

    /// Whether its policy is SCHED_IDLE.
    pub(super) fn is_idle_policy(&self) -> bool {
        self.attributes.policy == SCHED_IDLE
    }

    /// The CPUs that it may use, if these are not all of a machine with so many.
    pub(super) fn restricted_to(&self, nr_cpus: usize) -> Option<&[Cpu]> {
        self.attributes.affinity.as_deref().filter(|cpus| !cpus.is_empty() && cpus.len() < nr_cpus)
    }

    /// Whether it has done anything by this time, ns.
    pub(super) fn acts_by(&self, to_ns: u64) -> bool {
        self.steps.first().is_some_and(|timed| timed.t_ns <= to_ns)
    }
}

/// How often a task woke another, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) count: u64,
    pub(super) in_task: u64,
    pub(super) in_hardirq: u64,
    pub(super) sync: u64,
    /// How often the waker was not on the CPU where the wakee had slept.
    pub(super) from_elsewhere: u64,
}

/// Counts of what could not be followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Tasks that ran again after a sleep without a wake-up in the source: those of tasks that may use one CPU only, or
    /// were still queued, choose no CPU and are not recorded. They are taken for timers.
    pub unseen_wakeups: u64,
    /// Wake-ups of tasks that were awake as far as was seen: a switch was lost.
    pub woken_awake: u64,
    /// Wake-ups by tasks that did not run there as far as was seen.
    pub unknown_wakers: u64,
    /// Wake-ups of tasks that never ran.
    pub never_ran: u64,
    /// Replies that nobody had to be woken for, of two tasks that wake each other by turns.
    pub implied_replies: u64,
}

/// What was followed in the window.
#[derive(Debug, Default)]
pub(super) struct Timelines {
    pub(super) tasks: Vec<Timeline>,
    pub(super) edges: FxHashMap<(TaskNr, TaskNr), Edge>,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    /// Whether all steps of the source are there, or there were more than could be held.
    pub(super) complete: bool,
    pub(super) transactions: u64,
    pub(super) losses: Losses,
    /// By CPU: the time it was not idle in the window, ns.
    pub(super) busy_ns: Vec<u64>,
    /// Counts of what tasks other than noise did in the window.
    pub(super) counts: Counts,
}

/// What happened in a window, to compare two of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) wakeups: u64,
    /// Of these, how many went to another CPU than the previous one.
    pub(super) moved: u64,
    pub(super) switches: u64,
    pub(super) preemptions: u64,
    /// By family of names: how long wakees waited until they ran, and how long tasks ran between two switches.
    pub(super) families: BTreeMap<String, Times>,
}

/// Times of the tasks of one family of names, ns.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) waits: Waits,
    pub(super) runs: Waits,
}

impl Default for Times {
    fn default() -> Self {
        Times { waits: Waits::new(2), runs: Waits::new(2) }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    /// It has not been seen to sleep or run: it may have slept since before the source begins.
    #[default]
    Unknown,
    Runs(Cpu),
    Runnable,
    /// Its CPU went idle though it did not sleep: it is throttled, or it slept and its state does not say so, as that
    /// of an idle kworker of 4.14. A wake-up tells.
    Off {
        since: u64,
    },
    Sleeps {
        since: u64,
    },
}

/// A wake-up of a task that is still on its way to sleep.
#[derive(Clone, Copy, Debug)]
struct EarlyWake {
    t_ns: u64,
    by: Option<TaskNr>,
    /// Whether it counts: the waker's step is in the window.
    kept: bool,
}

/// An enqueue that is under way.
#[derive(Clone, Copy, Debug)]
struct EnqueueBy {
    waker: TaskNr,
    cpu: Cpu,
    /// The part after which it is seen, and all of it, as work.
    after: f64,
    cost: f64,
}

#[derive(Clone, Debug, Default)]
struct Followed {
    state: State,
    /// The work since the last step, ns; below 0 after costs that are still to be paid by it.
    work: f64,
    last_cpu: Option<Cpu>,
    /// The CPU of the waker, whose message is read when the task runs.
    message_from: Option<Cpu>,
    /// When it was woken, if it has not run since.
    woken_ns: Option<u64>,
    /// When it began to run.
    began_run_ns: u64,
    early: Option<EarlyWake>,
    enqueue_by: Option<EnqueueBy>,
    /// The work when the enqueue that the task makes began.
    before_enqueue: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    curr: Option<TaskNr>,
    /// Up to when its time is accounted, ns.
    accounted: u64,
}

/// Follows all events of a source in the order of time.
pub(super) struct Follower<'a> {
    lines: Timelines,
    tasks: Vec<Followed>,
    number: FxHashMap<i64, TaskNr>,
    cpus: Vec<CpuState>,
    speeds: Speeds<'a>,
    /// Whether the source tells when CPUs enter and leave idle.
    knows_idle: bool,
    /// Whether the times of decisions in it are the model's own.
    simulated: bool,
    began: bool,
    nr_steps: usize,
    most_steps: usize,
}

impl<'a> Follower<'a> {
    /// Follows what happens from `from_ns` on, and holds at most so many steps.
    pub(super) fn new(machine: Option<&'a Machine>, tick_ns: u64, simulated: bool, from_ns: u64, most: usize) -> Self {
        Follower {
            lines: Timelines { from_ns, to_ns: from_ns, complete: true, ..Timelines::default() },
            tasks: Vec::new(),
            number: FxHashMap::default(),
            cpus: Vec::new(),
            speeds: Speeds::new(machine, tick_ns),
            knows_idle: false,
            simulated,
            began: false,
            nr_steps: 0,
            most_steps: most,
        }
    }

    /// Whether no more steps can be held.
    pub(super) fn is_full(&self) -> bool {
        self.nr_steps >= self.most_steps
    }

    /// Advances to a time, ns: the window may begin.
    pub(super) fn advance_to(&mut self, t_ns: u64) {
        if !self.began && t_ns >= self.lines.from_ns {
            self.began = true;
            let from = self.lines.from_ns;
            (0..self.cpus.len() as Cpu).for_each(|cpu| self.account(cpu, from));
            for (task, line) in self.tasks.iter_mut().zip(&mut self.lines.tasks) {
                task.work = 0.0;
                if let Some(early) = &mut task.early {
                    early.kept = false;
                }
                (line.waits, line.woken_from_idle, line.began_ns, line.parent) = (0, 0, None, None);
                (line.ran_ns, line.latencies) = (0, (0, 0));
                line.steps.clear();
            }
            self.lines.edges.clear();
            (self.lines.losses, self.lines.transactions) = (Losses::default(), 0);
            self.lines.busy_ns.fill(0);
            self.lines.counts = Counts::default();
            self.nr_steps = 0;
        }
        self.lines.to_ns = self.lines.to_ns.max(t_ns);
    }

    /// Ends the window at the last event.
    pub(super) fn finish(mut self, complete: bool) -> Timelines {
        let to = self.lines.to_ns;
        (0..self.cpus.len() as Cpu).for_each(|cpu| self.account(cpu, to));
        for number in 0..self.tasks.len() {
            let early = self.tasks[number].early.take();
            self.flush(number as TaskNr, to);
            if let Some(early) = early.filter(|early| early.kept) {
                self.push(number as TaskNr, early.t_ns, Step::Wait { began_ns: early.t_ns, by: early.by });
            }
            let line = &mut self.lines.tasks[number];
            line.asleep_since = match self.tasks[number].state {
                State::Sleeps { since } => Some(since),
                // The root's kernel threads are never throttled.
                State::Off { since } if line.attributes.kernel_thread => Some(since),
                _ => line.asleep_since,
            };
            let never = self.tasks[number].state == State::Runnable && self.lines.tasks[number].steps.len() <= 1;
            self.lines.losses.never_ran += u64::from(never && self.tasks[number].last_cpu.is_none());
        }
        self.lines.complete = complete;
        self.lines
    }

    /// The number of a task; a new one the first time.
    fn task(&mut self, pid: i64) -> TaskNr {
        let next = self.tasks.len() as TaskNr;
        let number = *self.number.entry(pid).or_insert(next);
        if number == next {
            self.tasks.push(Followed::default());
            self.lines.tasks.push(Timeline { pid, ..Timeline::default() });
        }
        number
    }

    fn cpu(&mut self, cpu: Cpu) -> &mut CpuState {
        let room = cpu as usize + 1;
        if self.cpus.len() < room {
            let accounted = if self.began { self.lines.from_ns } else { 0 };
            self.cpus.resize(room, CpuState { curr: None, accounted });
            self.lines.busy_ns.resize(room, 0);
        }
        &mut self.cpus[cpu as usize]
    }

    /// Adds the time since the last accounting to the work of the task that runs.
    fn account(&mut self, cpu: Cpu, t_ns: u64) {
        let state = self.cpu(cpu);
        let ns = t_ns.saturating_sub(state.accounted);
        if ns == 0 {
            return;
        }
        state.accounted = t_ns;
        if let Some(task) = state.curr {
            self.tasks[task as usize].work += ns as f64 * self.speeds.of(cpu);
            self.lines.busy_ns[cpu as usize] += ns;
            self.lines.tasks[task as usize].ran_ns += ns;
        }
    }

    /// Accounts all CPUs whose speed depends on whether `cpu` is busy.
    fn account_core(&mut self, cpu: Cpu, t_ns: u64) {
        for at in 0..self.speeds.siblings(cpu).len() {
            let sibling = self.speeds.siblings(cpu)[at];
            self.account(sibling, t_ns);
        }
        self.account(cpu, t_ns);
    }

    fn push(&mut self, task: TaskNr, t_ns: u64, step: Step) {
        self.lines.tasks[task as usize].steps.push(TimedStep { t_ns, step });
        self.nr_steps += 1;
    }

    /// Makes a step of the work so far. Work below 0 stays to be paid.
    fn flush(&mut self, task: TaskNr, t_ns: u64) {
        let work = &mut self.tasks[task as usize].work;
        if *work >= 0.5 {
            let run = Step::Run(std::mem::take(work));
            self.push(task, t_ns, run);
        }
    }

    /// A wake-up, fork or exec.
    pub(super) fn wake(&mut self, wake: &WakeCause) {
        let t_ns = wake.decided_ns;
        let wakee = self.task(wake.wakee_pid);
        self.describe(wakee, wake);
        if wake.is_exec() {
            if let State::Runs(cpu) = self.tasks[wakee as usize].state {
                self.account(cpu, t_ns);
                self.flush(wakee, t_ns);
                self.push(wakee, t_ns, Step::Exec);
            }
            return;
        }
        let new = self.tasks[wakee as usize].last_cpu.is_none() && self.tasks[wakee as usize].state == State::Unknown;
        let fork = new && (wake.is_fork() || (wake.flags.is_none() && wake.prev_cpu.is_none()));
        // A task that wakes itself is woken by an interrupt.
        let waker = wake.waker_pid.map(|pid| self.task(pid)).filter(|&waker| waker != wakee);
        let runs = |this: &Self, task: TaskNr| this.tasks[task as usize].state == State::Runs(wake.waker_cpu);
        if let Some(by) = waker {
            self.cpu(wake.waker_cpu);
            if !runs(self, by) {
                // It was running before the first switch that the source has, or a switch was lost.
                if self.tasks[by as usize].state == State::Unknown && self.cpus[wake.waker_cpu as usize].curr.is_none()
                {
                    self.begin_running(by, wake.waker_cpu, t_ns);
                } else {
                    self.lines.losses.unknown_wakers += 1;
                    // It is there, so that nobody starts it any more.
                    self.tasks[by as usize].last_cpu.get_or_insert(wake.waker_cpu);
                }
            }
            self.account(wake.waker_cpu, t_ns);
            self.tasks[by as usize].work -= self.speeds.choice(wake, self.simulated);
        }
        match self.tasks[wakee as usize].state {
            _ if fork => self.fork(waker, wakee, t_ns),
            State::Runnable => self.lines.losses.woken_awake += 1,
            state => {
                if let Some(by) = waker.filter(|_| !self.lines.tasks[wakee as usize].noise) {
                    self.flush(by, t_ns);
                    let interrupt = matches!(wake.context, WakeContext::Interrupt | WakeContext::Hardirq);
                    self.push(by, t_ns, Step::Wake { wakee, sync: wake.is_sync(), interrupt });
                    self.count_edge(by, wakee, wake);
                }
                let line = &mut self.lines.tasks[wakee as usize];
                line.waits += 1;
                line.woken_from_idle += u64::from(waker.is_none());
                if !line.noise {
                    self.lines.counts.wakeups += 1;
                    self.lines.counts.moved += u64::from(wake.prev_cpu.is_some_and(|prev| prev != wake.dest_cpu));
                }
                self.tasks[wakee as usize].woken_ns = Some(wake.t_ns);
                match state {
                    State::Runs(_) => {
                        let before =
                            self.tasks[wakee as usize].early.replace(EarlyWake { t_ns, by: waker, kept: true });
                        self.lines.losses.woken_awake += u64::from(before.is_some_and(|early| early.kept));
                    }
                    State::Sleeps { since } => self.woken(wakee, since, t_ns, waker),
                    State::Off { since } => {
                        self.flush(wakee, since);
                        let preemptions = &mut self.lines.counts.preemptions;
                        *preemptions = preemptions.saturating_sub(u64::from(since >= self.lines.from_ns));
                        self.woken(wakee, since, t_ns, waker);
                    }
                    _ => self.woken(wakee, self.lines.from_ns.min(t_ns), t_ns, waker),
                }
                self.tasks[wakee as usize].message_from = Some(wake.waker_cpu);
            }
        }
        if let Some(by) = waker {
            let cost = self.speeds.enqueue(wake);
            if self.simulated && wake.by_wakelist == Some(false) {
                let after = self.speeds.visible_after(wake.waker_cpu, wake.dest_cpu);
                let enqueue = EnqueueBy { waker: by, cpu: wake.waker_cpu, after, cost };
                self.tasks[wakee as usize].enqueue_by = Some(enqueue);
                self.tasks[by as usize].before_enqueue = self.tasks[by as usize].work;
            } else {
                self.tasks[by as usize].work -= cost;
            }
        }
    }

    /// The wakee of a simulated wake-up is on its run queue. The waker may have waited for that run queue's lock, which
    /// took as long as the events say.
    pub(super) fn enqueued(&mut self, enqueue: &TaskMoment) {
        let wakee = self.task(enqueue.pid);
        let Some(by) = self.tasks[wakee as usize].enqueue_by.take() else { return };
        self.account(by.cpu, enqueue.t_ns);
        let waker = &mut self.tasks[by.waker as usize];
        if waker.state == State::Runs(by.cpu) {
            waker.work = waker.before_enqueue - by.cost * (1.0 - by.after);
        }
    }

    /// A task has a name, which an import has from any of its events. It is that of the first.
    pub(super) fn name(&mut self, named: &TaskName) {
        let task = self.task(named.pid);
        let line = &mut self.lines.tasks[task as usize];
        if line.comm.is_empty() && named.pid != 0 {
            line.comm = named.comm.to_string();
            line.attributes.kernel_thread |= is_kernel_name(&named.comm);
        }
    }

    fn describe(&mut self, wakee: TaskNr, wake: &WakeCause) {
        let waker = wake.waker_pid.map(|pid| self.task(pid));
        for (task, comm) in [(Some(wakee), &wake.wakee_comm), (waker, &wake.waker_comm)] {
            let Some(line) = task.map(|task| &mut self.lines.tasks[task as usize]) else { continue };
            if line.comm.is_empty() && !comm.is_empty() {
                line.comm.clone_from(comm);
                line.attributes.kernel_thread |= wake.wakee.is_none() && is_kernel_name(comm);
            }
        }
        if let Some(attributes) = &wake.wakee {
            self.lines.tasks[wakee as usize].attributes.clone_from(attributes);
        }
    }

    fn fork(&mut self, parent: Option<TaskNr>, child: TaskNr, t_ns: u64) {
        if let Some(parent) = parent {
            self.flush(parent, t_ns);
            self.push(parent, t_ns, Step::Fork(child));
        }
        let attributes = parent.map(|parent| self.lines.tasks[parent as usize].attributes.clone());
        let line = &mut self.lines.tasks[child as usize];
        (line.began_ns, line.parent) = (Some(t_ns), parent);
        if line.attributes == TaskAttributes::default() {
            line.attributes = TaskAttributes { kernel_thread: false, ..attributes.unwrap_or_default() };
        }
        self.tasks[child as usize].state = State::Runnable;
    }

    fn count_edge(&mut self, waker: TaskNr, wakee: TaskNr, wake: &WakeCause) {
        let slept_on = wake.prev_cpu.or(self.tasks[wakee as usize].last_cpu);
        let edge = self.lines.edges.entry((waker, wakee)).or_default();
        edge.count += 1;
        edge.in_task += u64::from(wake.context == WakeContext::Task);
        edge.in_hardirq += u64::from(wake.context == WakeContext::Hardirq);
        edge.sync += u64::from(wake.is_sync());
        edge.from_elsewhere += u64::from(slept_on.is_some_and(|cpu| cpu != wake.waker_cpu));
    }

    fn woken(&mut self, task: TaskNr, since: u64, t_ns: u64, by: Option<TaskNr>) {
        self.push(task, t_ns, Step::Wait { began_ns: since, by });
        self.tasks[task as usize].state = State::Runnable;
    }

    /// The times of a task's family; `None` for noise, and before the window.
    fn times(&mut self, task: TaskNr) -> Option<&mut Times> {
        let line = &self.lines.tasks[task as usize];
        if line.noise || !self.began {
            return None;
        }
        let families = &mut self.lines.counts.families;
        let family = family(&line.comm);
        if !families.contains_key(family) && families.len() < MOST_FAMILIES {
            families.insert(family.to_owned(), Times::default());
        }
        families.get_mut(family)
    }

    fn begin_running(&mut self, task: TaskNr, cpu: Cpu, t_ns: u64) {
        let followed = &mut self.tasks[task as usize];
        if let Some(last) = followed.last_cpu.replace(cpu) {
            followed.work -= self.speeds.cold_task(last, cpu);
        }
        if let Some(from) = followed.message_from.take() {
            followed.work -= self.speeds.cold_message(from, cpu);
        }
        followed.state = State::Runs(cpu);
        followed.began_run_ns = t_ns;
        if let Some(woken) = followed.woken_ns.take() {
            let waited = t_ns.saturating_sub(woken);
            let (runs, sum) = &mut self.lines.tasks[task as usize].latencies;
            (*runs, *sum) = (*runs + 1, sum.saturating_add(waited));
            if let Some(times) = self.times(task) {
                times.waits.record(waited);
            }
        }
        self.cpu(cpu).curr = Some(task);
        self.cpu(cpu).accounted = t_ns;
    }

    /// A context switch.
    pub(super) fn switch(&mut self, switch: &Switch) {
        let (cpu, t_ns) = (switch.cpu, switch.t_ns);
        if self.knows_idle {
            self.account(cpu, t_ns);
        } else {
            self.account_core(cpu, t_ns);
        }
        let next = (!switch.idles).then(|| self.task(switch.next_pid));
        if let Some(prev) = self.cpu(cpu).curr.take().filter(|&prev| Some(prev) != next) {
            self.tasks[prev as usize].work -= self.speeds.context_switch();
            let ran = t_ns.saturating_sub(self.tasks[prev as usize].began_run_ns.max(self.lines.from_ns));
            if let Some(times) = self.times(prev) {
                times.runs.record(ran);
                self.lines.counts.switches += 1;
                self.lines.counts.preemptions += u64::from(!switch.prev_sleeps);
            }
            if switch.prev_sleeps {
                self.sleeps(prev, t_ns);
            } else if switch.idles && self.tasks[prev as usize].early.is_none() {
                self.tasks[prev as usize].state = State::Off { since: t_ns };
            } else {
                self.tasks[prev as usize].state = State::Runnable;
                self.yields(prev, next, t_ns);
            }
        }
        if let Some(next) = next {
            match self.tasks[next as usize].state {
                State::Sleeps { since } => {
                    self.lines.losses.unseen_wakeups += 1;
                    self.woken(next, since, t_ns, None);
                }
                State::Runs(other) if other != cpu => self.cpus[other as usize].curr = None,
                // It is new, or slept since before the source begins.
                State::Unknown if self.began && t_ns > self.lines.from_ns => {
                    self.woken(next, self.lines.from_ns, t_ns, None);
                }
                _ => {}
            }
            self.begin_running(next, cpu, t_ns);
        }
        if !self.knows_idle {
            self.speeds.set_busy(cpu, next.is_some());
        }
    }

    /// Notes whether a task was preempted by one that it had woken with the sync hint.
    fn yields(&mut self, prev: TaskNr, next: Option<TaskNr>, t_ns: u64) {
        let last = self.lines.tasks[prev as usize].steps.iter().rev().find_map(|timed| match timed.step {
            Step::Run(_) | Step::Done => None,
            other => Some(other),
        });
        let woken = match last {
            Some(Step::Wake { wakee, sync: true, .. }) => wakee,
            _ => return,
        };
        if next == Some(woken) {
            self.flush(prev, t_ns);
            self.push(prev, t_ns, Step::Yielded { to: woken });
        }
    }

    fn sleeps(&mut self, task: TaskNr, t_ns: u64) {
        self.flush(task, t_ns);
        match self.tasks[task as usize].early.take() {
            // It was woken on its way to sleep.
            Some(early) => {
                if early.kept {
                    self.push(task, early.t_ns, Step::Wait { began_ns: early.t_ns, by: early.by });
                }
                self.tasks[task as usize].state = State::Runnable;
            }
            None => self.tasks[task as usize].state = State::Sleeps { since: t_ns },
        }
    }

    /// A CPU enters or leaves idle.
    pub(super) fn idle(&mut self, value: &CpuValue) {
        self.account_core(value.cpu, value.t_ns);
        self.knows_idle = true;
        self.speeds.set_busy(value.cpu, value.value.is_none());
    }

    /// A CPU changes its frequency.
    pub(super) fn frequency(&mut self, value: &CpuValue) {
        self.account(value.cpu, value.t_ns);
        if let Some(khz) = value.value {
            self.speeds.set_khz(value.cpu, u64::from(khz));
        }
    }

    /// A task of a simulated run begins or exits.
    pub(super) fn life(&mut self, life: &TaskLife) {
        let number = self.task(life.pid);
        let Some(begins) = &life.begins else { return };
        let parent = begins.parent_pid.map(|pid| self.task(pid));
        let line = &mut self.lines.tasks[number as usize];
        line.comm.clone_from(&begins.comm);
        line.attributes.clone_from(&begins.attributes);
        line.noise = begins.background;
        // Of a task that was seen to be forked, the fork says by whom.
        if line.began_ns.is_none() {
            line.parent = parent;
        }
    }

    /// A transaction was completed.
    pub(super) fn done(&mut self, done: &TaskMoment) {
        let task = self.task(done.pid);
        if let State::Runs(cpu) = self.tasks[task as usize].state {
            self.account(cpu, done.t_ns);
        }
        self.flush(task, done.t_ns);
        self.push(task, done.t_ns, Step::Done);
        self.lines.transactions += 1;
    }
}

/// Whether it is a kernel thread, by its name: traces of other recorders do not tell.
fn is_kernel_name(comm: &str) -> bool {
    const NAMES: [&str; 10] = [
        "kworker/",
        "ksoftirqd/",
        "migration/",
        "watchdog/",
        "cpuhp/",
        "irq/",
        "rcu",
        "kthreadd",
        "kswapd",
        "kcompactd",
    ];
    NAMES.iter().any(|name| comm.starts_with(name))
}

/// A task's name without the number at its end.
pub(super) fn family(comm: &str) -> &str {
    let end = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '_' | '/' | ':' | '#');
    let family = comm.trim_end_matches(end);
    if family.is_empty() { comm } else { family }
}
