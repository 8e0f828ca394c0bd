//! The engine: events in the order of time, and what CPUs do between them.
//!
//! ```text
//!                ┌─────────────────────── proceed ◀───────────────────────────────────────────┐
//!                │  interrupts first: WakelistFlush, NohzBalance, a timer's wake-up            │
//!                ▼  then __schedule(), or the task's program, or idle                          │
//!    Run ─▶ wake ┬▶ Search ┬▶ Enqueue ─▶ EnqueueEnd ───────────────────────────────────────────┤
//!     │          │         └▶ WakelistSend ────────────────────────────────────────────────────┤
//!     │          ├▶ Spin: the wakee is still on its CPU; then Search                           │
//!     │          ├▶ WakeDelayed: its dequeue was delayed; then Enqueue, or Search              │
//!     │          └▶ WakeRunnable: it has not left its run queue ───────────────────────────────┤
//!     ├─▶ Fork ────────────────────────────────────────────────────────────────────────────────┤
//!     ▼  blocks, exits, is preempted                                                           │
//!   LockSchedule ─▶ pick ─▶ Newidle ─▶ NewidleLock ─▶ Switch ──────────────────────────────────┤
//!                                                                                              │
//!   IdleEntry ─▶ Idle ─▶ IdleExit ─────────────────────────────────────────────────────────────┘
//! ```
//!
//! Each CPU does one thing at a time ([`Doing`]) and has one next event. Only the end of `Run` moves when the SMT
//! sibling becomes busy or idle, or the frequency changes; all else is short and keeps the speed it began with. A
//! wake-up to the own CPU has no `Enqueue`, and states that need not wait for a lock are skipped.

use crate::cpu::{Doing, Interrupted, Irq};
use crate::event_queue::{NEVER, TimedEvent, TimedEvents, Timeline};
use crate::ext::KickWait;
use crate::numbered::PerCpu;
use crate::search::Search;
use crate::system::System;
use crate::task::{State, Task};
use crate::{CpuTime, Outcome, SimError, Waiting};
use oorandom::Rand64;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_events::sim::{Event, Sink};
use wakelab_sched::balance::Nohz;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::{FairRq, Prev, TaskId};
use wakelab_sched::select::Select;
use wakelab_workload::{Distribution, Work};

/// Where the CPU was when it finished something. A lazy request to reschedule takes effect on the way from the kernel
/// to user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    User,
    Kernel,
}

/// How many steps a task may take without any time passing before its program counts as endless.
pub const ZERO_TIME_STEPS: u32 = 100_000;

/// How many events may happen at one moment, and how many more for each task and each CPU, before the run counts as
/// endless.
const INSTANT_EVENTS: u64 = 1 << 20;
const INSTANT_EVENTS_EACH: u64 = 64;

/// A run: the system, what happens next, and the counts that the outcome reports.
pub struct Sim<'m, 's, S> {
    pub sys: System<'m>,
    /// The searches for an idle CPU of the CPUs that wake.
    pub searches: PerCpu<Search<'m>>,
    /// Memory of [`begin_search`](Self::begin_search).
    pub beginning: Select,
    /// The next event of each CPU.
    pub timeline: Timeline,
    /// Events with a time of their own.
    pub timed_events: TimedEvents,
    pub random: Random,
    pub sink: &'s mut S,
    /// Wake-ups so far.
    pub wakeups: u64,
    /// Events so far, of CPUs and timed.
    pub events: u64,
    /// A moment, ns, and how many events there had been when it was first looked at.
    pub instant: (u64, u64),
    /// How many picks of the task that runs already are under way, one within the other.
    pub nested_picks: u32,
    /// Tasks of the workload, and kworkers that they wait for, that do not wait for another task: they run, wait for a
    /// CPU or a timer, are being woken, or are still to be forked. At 0 nothing can happen any more.
    pub nr_unblocked: u64,
    /// Tasks of the workload that have not exited.
    pub nr_unexited: u64,
    /// Why the run cannot go on.
    pub failed: Option<SimError>,
    /// The run queue of the shell that forks the workload's tasks.
    pub launcher: FairRq,
    /// Memory of [`change_seen_by_searches`](Self::change_seen_by_searches).
    pub dependent_searches: Vec<Cpu>,
    /// The same of searches that are positions.
    pub dependent_positions: Vec<Cpu>,
    /// The state of the CPU that balances for idle CPUs.
    pub nohz: Nohz,
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Runs up to `until`, ns, and returns the outcome.
    pub fn run(mut self, until: u64, stop: &AtomicBool) -> Result<Outcome, SimError> {
        let stopped = self.advance(until, stop)?;
        self.finish(stopped)
    }

    /// The outcome of a run that ends now.
    pub fn finish(&mut self, stopped: bool) -> Result<Outcome, SimError> {
        if self.nr_unblocked == 0 && self.nr_unexited != 0 {
            return Err(SimError::Deadlock { at: self.sys.now, waiting: self.waiting() });
        }
        Ok(self.outcome(stopped))
    }

    /// Goes on up to `until`, ns, or until no task of the workload can go on. Returns whether `stop` was set.
    pub fn advance(&mut self, until: u64, stop: &AtomicBool) -> Result<bool, SimError> {
        while self.nr_unblocked != 0 {
            if self.events.is_multiple_of(4096) && (stop.load(Ordering::Relaxed) || self.sink.gave_up()) {
                return Ok(true);
            }
            if self.events.is_multiple_of(4096) && self.no_time_passes() {
                break;
            }
            let timed = self.timed_events.first();
            let (of_cpu, cpu) = self.timeline.first();
            let time = of_cpu.min(timed);
            if time >= until {
                self.sys.now = until;
                break;
            }
            self.sys.now = time;
            self.events += 1;
            if of_cpu < timed {
                self.step(cpu);
            } else {
                let what = self.timed_events.pop();
                self.timed_event(what);
            }
            self.take_requests();
            if self.failed.is_some() {
                break;
            }
        }
        // A scheduler's program that is stopped fails.
        if self.failed.is_some() && stop.load(Ordering::Relaxed) {
            return Ok(true);
        }
        // Not taken after each event: a value is moved, whether there is an error or not.
        self.failed.take().map_or(Ok(false), Err)
    }

    /// Whether so many events have happened at this moment that there will be no other. The run has failed then.
    fn no_time_passes(&mut self) -> bool {
        let now = self.sys.now;
        if self.instant.0 != now || self.events == 0 {
            self.instant = (now, self.events);
            return false;
        }
        let (events, each) = (self.events - self.instant.1, self.sys.tasks.len() as u64 + self.sys.cpus.len() as u64);
        if events < INSTANT_EVENTS + INSTANT_EVENTS_EACH * each {
            return false;
        }
        if self.sys.scx_enabled() {
            self.ext_never_ends(self.sys.this_cpu, |ext| {
                format!(
                    "no time passes: {events} events have happened at this moment, the last of them {}",
                    ext.last_call()
                )
            });
        } else {
            self.failed = Some(SimError::Workload(format!(
                "no time passes: {events} events have happened at {now} ns; expected a workload and a machine with at \
                 least one step that takes time"
            )));
        }
        true
    }

    fn outcome(&mut self, stopped: bool) -> Outcome {
        for cpu in 0..self.sys.model.nr_cpus() {
            self.account(cpu);
        }
        debug_assert_eq!(self.sys.audit(), Ok(()));
        self.emit_power();
        let power = self.sys.power_stats();
        Outcome {
            power,
            ended: self.sys.now,
            stopped,
            exited: self.nr_unexited == 0,
            nr_tasks: self.sys.tasks.iter().filter(|task| task.workload() && task.lives()).count() as u64,
            waiting: self.waiting_for_a_cpu(),
            cpus: self.sys.cpus.iter().map(|c| c.time).collect::<Vec<CpuTime>>(),
            wakeups: self.wakeups,
            events: self.events,
            scheduler: self.ext_counters(),
            scheduler_ops: self.ext_op_times(),
        }
    }

    /// The tasks of the workload that can run and have no CPU, with their names.
    fn waiting_for_a_cpu(&self) -> Vec<(u32, String)> {
        let waits = |(_, task): &(u32, &Task)| task.workload() && task.state == State::Runnable && !task.on_cpu;
        let waiting = (0..).zip(&self.sys.tasks).filter(waits);
        waiting.map(|(id, _)| (id, self.sys.task_name(TaskId(id)))).collect()
    }

    /// Who waits for what, for the report of a deadlock.
    fn waiting(&self) -> Vec<Waiting> {
        let workload = self.sys.model.workload;
        let tasks = self.sys.tasks.iter().enumerate().filter(|(_, task)| task.matters());
        tasks
            .filter_map(|(id, task)| {
                let State::Sleeping(wait) = task.state else { return None };
                Some(Waiting {
                    task: self.sys.task_name(TaskId(id as u32)),
                    step: task.pc as usize,
                    what: match wait {
                        crate::task::Wait::Message(channel) => {
                            format!("a message in {}", workload.channels[channel as usize].name)
                        }
                        crate::task::Wait::Room(channel) => {
                            format!("room in {}", workload.channels[channel as usize].name)
                        }
                        crate::task::Wait::Timer => "its timer".to_owned(),
                        // A kworker without items waits for nobody.
                        crate::task::Wait::Work(_) => return None,
                        crate::task::Wait::Children => "its children".to_owned(),
                        wait => self.sync_text(wait),
                    },
                })
            })
            .collect()
    }

    /// Sets an event for a time of its own, ns.
    #[inline]
    pub fn at(&mut self, time: u64, what: TimedEvent) {
        if let (Some(pm), TimedEvent::Timer(task)) = (&mut self.sys.pm, what) {
            let cpu = self.sys.tasks[task].cpu;
            pm.cpus[cpu].timers.insert((time, task.0));
        }
        self.timed_events.push(time, what);
    }

    /// Sends the sink an event.
    #[inline]
    pub fn emit(&mut self, event: impl FnOnce(&System<'_>) -> Event) {
        if S::ON {
            self.sink.event(self.sys.now, &event(&self.sys));
        }
    }

    /// Sends an event to a sink that wants inputs and details too.
    #[inline]
    pub fn emit_detail(&mut self, event: impl FnOnce(&System<'_>) -> Event) {
        if S::INPUTS {
            self.emit(event);
        }
    }

    fn timed_event(&mut self, what: TimedEvent) {
        match what {
            TimedEvent::Jiffy => self.jiffy(),
            TimedEvent::Timer(task) => self.timer_interrupts(task),
            TimedEvent::RcuTimer(time) => self.rcu_timer(time),
            TimedEvent::Start(task) => {
                self.sys.this_cpu = self.forks_on(None, task);
                self.fork_now(None, task);
            }
            TimedEvent::IpiWakelist(cpu) => self.interrupt(cpu, Irq::Wakelist),
            TimedEvent::IpiResched(cpu) => self.interrupt(cpu, Irq::Resched),
            TimedEvent::IpiTlbFlush(cpu) => self.interrupt(cpu, Irq::TlbFlush),
            TimedEvent::IpiNohz(cpu) => self.interrupt(cpu, Irq::Nohz),
            TimedEvent::Stopper(cpu) => self.interrupt(cpu, Irq::Stopper),
            TimedEvent::Hrtick(cpu, started) => self.hrtick(cpu, started),
            TimedEvent::RtoPush(cpu) => self.rto_push_arrives(cpu),
            TimedEvent::RtPeriod => self.rt_period_ends(),
            TimedEvent::CfsPeriod(group, cpu) => self.cfs_period_timer(group, cpu),
            TimedEvent::CfsSlack(group, cpu) => self.cfs_slack_timer(group, cpu),
            TimedEvent::CfsUnthrottle(cpu) => self.cfs_unthrottle(cpu),
            TimedEvent::FairServer(cpu) => self.fair_server_timer(cpu),
            TimedEvent::DlReplenish(task) => self.dl_replenish_timer(task),
            TimedEvent::DlInactive(task) => self.dl_inactive_timer(task),
            TimedEvent::ExtTimer(number, cpu) => self.ext_timer_expires(number, cpu),
            TimedEvent::ExtTimerSoftirq(cpu) => self.ext_timer_softirq(cpu),
            TimedEvent::ExtWatchdog => self.ext_watchdog(),
            TimedEvent::ExtKickSynced(cpu) => self.ext_kick_synced(cpu),
            TimedEvent::Change(number) => self.changes(number),
            TimedEvent::Device(source, cpu) => self.device_interrupts(source, cpu),
            TimedEvent::Freq(policy) => self.freq_changes(policy as usize),
            TimedEvent::Undemoted(core) => self.demotion_ends(core as usize),
            TimedEvent::Measure => {
                self.emit_power();
                self.sys.measure_power();
            }
        }
    }

    /// A task's timer expires.
    #[inline]
    pub fn timer_interrupts(&mut self, task: TaskId) {
        let cpu = self.sys.tasks[task].cpu;
        if let Some(pm) = &mut self.sys.pm {
            // The task may have moved to another CPU since the timer was set.
            let at = (self.sys.now, task.0);
            if !pm.cpus[cpu].timers.remove(&at) {
                pm.cpus.iter_mut().any(|cpu| cpu.timers.remove(&at));
            }
        }
        let cpu = self.online_or_first(cpu);
        self.interrupt(cpu, Irq::Timer(task));
    }

    /// What the CPU was doing has ended.
    fn step(&mut self, cpu: Cpu) {
        self.sys.this_cpu = cpu;
        match self.sys.cpus[cpu].doing {
            Doing::Run => self.run_ends(cpu),
            Doing::Search(waking) => self.search_ends(cpu, waking),
            Doing::ExtSelect(waking) => self.chosen(cpu, waking, waking.dest, None, self.sys.now, [None; 2]),
            Doing::Enqueue(waking, until) => self.enqueue_seen(cpu, waking, until),
            Doing::EnqueueEnd(waking) => self.enqueue_ends(cpu, waking),
            Doing::LockSchedule(prev) => self.pick(cpu, prev),
            Doing::Newidle => self.newidle_ends(cpu),
            Doing::NewidleLock => self.newidle_picks(cpu),
            Doing::Switch(prev) => self.switched(cpu, prev),
            Doing::IdleEntry => self.idle_entered(cpu),
            Doing::IdleExit => {
                self.cpuidle_left(cpu);
                self.proceed(cpu);
            }
            Doing::WakeRunnable | Doing::WakeEnded | Doing::Fork | Doing::NohzBalance | Doing::PickedAgain => {
                self.proceed(cpu);
            }
            Doing::WakeDelayed(waking) => self.wake_delayed(cpu, waking),
            Doing::Interrupt => self.interrupt_ends(cpu),
            Doing::WakelistSend(waking) => self.wakelist_sent(cpu, waking),
            Doing::WakelistFlush => self.wakelist_flushed(cpu),
            Doing::Idle => self.polled(cpu),
            Doing::Spin(_) | Doing::ExtKickWait => self.timeline.set(cpu, NEVER),
        }
    }

    /// The CPU begins to do something that takes `cost` ns at full speed.
    #[inline]
    pub fn begin(&mut self, cpu: Cpu, doing: Doing, cost: u64) {
        let cost = self.slowed(cpu, cost);
        self.begin_until(cpu, doing, self.sys.now + cost);
    }

    /// The CPU begins to do something that ends at `time`.
    #[inline]
    pub fn begin_until(&mut self, cpu: Cpu, doing: Doing, time: u64) {
        self.account(cpu);
        self.sys.cpus[cpu].doing = doing;
        self.timeline.set(cpu, time);
    }

    /// How long `cost` ns of work take on the CPU as it is now.
    #[inline]
    pub fn slowed(&self, cpu: Cpu, cost: u64) -> u64 {
        self.sys.cpus[cpu].time_of(cost)
    }

    /// Accounts the CPU's time up to now to what it does, and subtracts the work that was done from its task's.
    #[inline]
    pub fn account(&mut self, cpu: Cpu) {
        let c = &mut self.sys.cpus[cpu];
        let wall = self.sys.now - c.since;
        if wall == 0 {
            return;
        }
        c.since = self.sys.now;
        match c.doing {
            Doing::Idle => c.time.idle += wall,
            Doing::Run => self.account_run(cpu, wall),
            _ => c.time.overhead += wall,
        }
    }

    /// Dates the marks of a task's stretch that lie in the last `wall` ns, by the share of the work `done` that was
    /// done before each. `left` is what was left of the stretch at the beginning of that time.
    fn account_marks(&mut self, id: TaskId, wall: u64, left: u64, done: u64) {
        let from = self.sys.now - wall;
        while let task = &mut self.sys.tasks[id]
            && let Some((at, mark)) = task.first_mark()
            && let after = task.gathered - at
            && after >= left - done
        {
            task.remove_first_mark();
            self.mark(id, mark, from + (wall * (left - after.min(left))).checked_div(done).unwrap_or(0));
        }
    }

    /// The same of a CPU that runs a task. Never inlined: what ends at the moment it began is accounted in a few
    /// instructions, and should not save registers for this.
    #[inline(never)]
    fn account_run(&mut self, cpu: Cpu, wall: u64) {
        let model = self.sys.model;
        let c = &mut self.sys.cpus[cpu];
        let id = c.curr.expect("a task runs");
        let task = &mut self.sys.tasks[id];
        let at_end = self.timeline.get(cpu) <= self.sys.now;
        let done = if at_end { task.left } else { c.work_in(wall).min(task.left) };
        debug_assert!(done <= c.work_in(wall), "CPU {cpu} has done {done} ns of work in {wall} ns");
        let overhead = done.min(task.overhead);
        let wall_overhead = (wall * overhead).checked_div(done).unwrap_or(0);
        c.time.overhead += wall_overhead;
        c.time.work += wall - wall_overhead;
        task.overhead -= overhead;
        if !model.mechanisms.softirq_util && task.left != 0 {
            let softirq = task.softirq_work * done / task.left;
            task.softirq_work -= softirq;
            c.not_running += (wall * softirq).checked_div(done).unwrap_or(0);
        }
        let left = task.left;
        task.left -= done;
        if task.has_marks() {
            self.account_marks(id, wall, left, done);
        }
    }

    /// The CPU becomes busy or idle, which changes the speed of its SMT siblings.
    pub fn sibling_busy(&mut self, cpu: Cpu, busy: bool) {
        let model = self.sys.model;
        let siblings = &model.siblings[cpu];
        for &sibling in siblings.iter().filter(|&&sibling| sibling != cpu) {
            let others = siblings
                .iter()
                .filter(|&&other| other != sibling && other != cpu && self.sys.cpus[other].doing != Doing::Idle);
            let slowdown = model.slowdown(others.count() as u64 + u64::from(busy));
            if self.sys.cpus[sibling].slowdown == slowdown {
                continue;
            }
            if self.sys.cpus[sibling].doing == Doing::Run {
                self.account(sibling);
                self.sys.cpus[sibling].slowdown = slowdown;
                self.set_run_end(sibling);
            } else {
                self.sys.cpus[sibling].slowdown = slowdown;
            }
        }
    }

    /// Sets the end of the running task's stretch, by what is left of it and the speed of now.
    #[inline]
    pub fn set_run_end(&mut self, cpu: Cpu) {
        let c = &self.sys.cpus[cpu];
        let left = self.sys.tasks[c.curr.expect("a task runs")].left;
        self.timeline.set(cpu, self.sys.now + c.time_until_done(left));
    }

    /// An interrupt arrives.
    pub fn interrupt(&mut self, cpu: Cpu, irq: Irq) {
        self.sys.this_cpu = cpu;
        if !self.sys.is_in_tick(cpu, irq) && !self.sys.needs_no_interrupt(cpu, irq) {
            self.sys.count_interrupt(cpu);
        }
        self.sys.cpus[cpu].irqs.push(irq);
        match self.sys.cpus[cpu].doing {
            Doing::Run => {
                self.account(cpu);
                self.proceed(cpu);
            }
            Doing::Idle => self.leave_idle(cpu, Interrupted::Own),
            Doing::ExtKickWait => {
                self.account(cpu);
                self.proceed(cpu);
            }
            // All else has interrupts disabled, or handles them when it is over.
            _ => {}
        }
    }

    /// The kernel has finished something: handles interrupts first, then runs the task that should run.
    pub fn proceed(&mut self, cpu: Cpu) {
        self.proceed_in(cpu, Mode::Kernel);
    }

    /// The CPU has finished something in this mode.
    pub fn proceed_in(&mut self, cpu: Cpu, mut mode: Mode) {
        loop {
            let kick_waits = self.ext_kick_wait(cpu);
            if kick_waits == KickWait::InIrq {
                return self.begin_until(cpu, Doing::ExtKickWait, NEVER);
            }
            let c = &mut self.sys.cpus[cpu];
            if !c.irqs.is_empty() {
                mode = Mode::Kernel;
                match c.irqs.remove(0) {
                    Irq::Resched | Irq::TlbFlush => continue,
                    Irq::Stopper => {
                        if self.push(cpu) {
                            return;
                        }
                        continue;
                    }
                    Irq::RtoPush => {
                        self.rto_push(cpu);
                        continue;
                    }
                    Irq::Nohz => {
                        if self.nohz_kicked(cpu) {
                            return;
                        }
                        continue;
                    }
                    Irq::ExtTimer => {
                        self.ext_timer(cpu);
                        continue;
                    }
                    Irq::Wakelist => return self.flush_wakelist(cpu),
                    Irq::Device(source) => return self.handle_interrupt(cpu, source),
                    Irq::Softirq(source) => return self.handle_softirq(cpu, source),
                    Irq::Timer(task) => {
                        if self.timer_expires(cpu, task) {
                            return;
                        }
                        continue;
                    }
                }
            }
            if kick_waits == KickWait::AfterPass {
                return self.begin_until(cpu, Doing::ExtKickWait, NEVER);
            }
            let (curr, need_resched) = (c.curr, c.need_resched);
            let queued = self.sys.has_queued(cpu);
            return match curr {
                Some(_) if need_resched => {
                    if self.ext_schedules_again(cpu) {
                        self.schedule(cpu, Prev::Runs);
                    }
                }
                Some(task) if mode == Mode::Kernel && self.returns_to_schedule(cpu, task) => {
                    self.schedule(cpu, Prev::Runs)
                }
                Some(task) => self.run_task(cpu, task),
                None if queued || need_resched => self.schedule(cpu, Prev::Runs),
                None => self.enter_idle(cpu),
            };
        }
    }
}

/// Randomness: one generator for each run, drawn from in the order of events.
#[derive(Clone, Debug)]
pub struct Random(Rand64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Random(Rand64::new(u128::from(seed)))
    }

    /// A number below `n`. The likelihoods differ by less than one part in 2^64 / n.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.rand_u64()) * u128::from(n)) >> 64) as u64
    }

    /// An amount of work, ns: one of its distribution's values, or uniform between its jitter's bounds.
    #[inline]
    pub fn work(&mut self, work: Work, distributions: &[Distribution]) -> u64 {
        if let Some(number) = work.distribution {
            let values = &distributions[number.get() as usize - 1].values;
            return values[self.below(values.len() as u64) as usize];
        }
        let spread = work.ns * u64::from(work.jitter_pct) / 100;
        if spread == 0 { work.ns } else { work.ns - spread + self.below(2 * spread + 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn each_value_of_a_distribution_is_as_likely_as_any_other() {
        let distributions = [
            Distribution { name: "a".to_owned(), values: vec![7] },
            Distribution { name: "b".to_owned(), values: vec![1, 2, 3] },
        ];
        let work = Work { distribution: NonZeroU32::new(2), ..Work::uniform(2, 0) };
        let mut random = Random::new(1);
        let mut counts = [0; 4];
        for _ in 0..30_000 {
            counts[random.work(work, &distributions) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|&count: &u32| count.abs_diff(10_000) < 400), "{counts:?}");
    }
}
