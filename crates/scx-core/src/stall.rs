//! How a stall came to be: what happened to a task since it began to wait, to the queue that it waits in, and to the
//! CPUs that could run it.
//!
//! The kernel's watchdog says who did not run (`check_rq_for_timeouts()`), and its dump says how things are then. What
//! led there is not in it. Here a few notes are taken as things happen: of each task the steps of its present wait, of
//! each queue who took a task last, of each CPU what it did last. They are bounded, and cost a few stores each.

use crate::entity::{Curr, Dsq, Kick, OpsState};
use crate::ext::Ext;
use crate::ops::Op;
use std::fmt;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// A step of a task that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `select_task_rq_scx()` for a wake-up or a fork: a CPU was chosen.
    Selected {
        /// The task that wakes or forks it; `None` for an interrupt, or the idle task.
        by: Option<TaskId>,
        /// Whether it is a fork.
        fork: bool,
        /// Where it ran last.
        prev_cpu: Cpu,
        /// The CPU that was chosen.
        cpu: Cpu,
    },
    /// `enqueue_task_scx()`: it joins a CPU's run queue.
    Joins {
        /// The CPU.
        cpu: Cpu,
    },
    /// `put_prev_task_scx()`: it was stopped.
    Stopped {
        /// Whether some of its slice was left.
        slice_left: bool,
    },
    /// `ops.enqueue()` has returned, and put it on no queue.
    Held,
    /// `dispatch_enqueue()`: it joins a queue.
    Queued {
        /// The queue.
        dsq: Dsq,
        /// The operation that put it there; `None` for the core.
        op: Option<Op>,
        /// How many tasks are there already.
        queued: u32,
    },
    /// `consume_dispatch_q()`, `scx_dsq_move()`: a CPU takes it from a queue.
    Taken {
        /// The queue.
        dsq: Dsq,
        /// The operation that takes it; `None` for the core.
        op: Option<Op>,
    },
    /// `move_remote_task_to_local_dsq()`: it belongs to another CPU's run queue now.
    Moved {
        /// The CPU whose run queue it leaves.
        from: Cpu,
        /// The CPU whose run queue it joins.
        to: Cpu,
    },
    /// `reenq_local()`, `reenq_user()`: the core took it from its queue, to give it back to the scheduler.
    Reenqueued,
    /// `set_next_task_scx()`: it is picked to run, and the wait is over.
    Picked,
}

/// A step, with its time and its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, ns.
    pub at: u64,
    /// The CPU on which it happened.
    pub on: Cpu,
    /// The step.
    pub what: What,
}

/// The first steps of a wait are kept, and the last ones.
const FIRST: usize = 4;
const STEPS: usize = 10;

/// The present wait of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wait {
    steps: [Option<Step>; STEPS],
    len: usize,
    /// How many steps after the first ones were left out.
    left_out: u64,
    /// CPUs that looked for a task and may not run this one: how often, when the last time, and which.
    passed: (u64, u64, Cpu),
}

impl Wait {
    fn push(&mut self, step: Step) {
        if self.len == STEPS {
            self.steps.copy_within(FIRST + 1.., FIRST);
            self.len -= 1;
            self.left_out += 1;
        }
        self.steps[self.len] = Some(step);
        self.len += 1;
    }

    /// The task runs, or sleeps: the wait is over.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.len, self.left_out, self.passed.0) = (0, 0, 0);
    }
}

/// Queues that a CPU looked into last.
const LOOKED: usize = 4;

/// The last steps of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lately {
    /// Since when what runs there does, or nothing, ns.
    pub since: u64,
    /// When it was kicked, by which CPU, and how.
    kicked: Option<(u64, Cpu, Kick)>,
    /// When its `ops.dispatch()` was called.
    dispatched: Option<u64>,
    /// Into which queues it looked last, and when.
    looked: [Option<(Dsq, u64)>; LOOKED],
    /// It looked into more queues than are in `looked`.
    forgot: bool,
}

impl Lately {
    /// `ops.dispatch()` is about to be called.
    pub(crate) fn dispatches(&mut self, now: u64) {
        self.dispatched = Some(now);
    }

    /// A kick of this CPU was asked for.
    pub(crate) fn kicked(&mut self, now: u64, by: Cpu, kick: Kick) {
        self.kicked = Some((now, by, kick));
    }

    /// It looks into a queue for a task.
    pub(crate) fn looks(&mut self, now: u64, dsq: Dsq) {
        let at = self.looked.iter().position(|known| known.is_none_or(|(known, _)| known == dsq));
        let at = at.unwrap_or_else(|| {
            self.forgot = true;
            let oldest = (0..LOOKED).min_by_key(|&at| self.looked[at].map(|(_, at)| at));
            oldest.expect("there are places")
        });
        self.looked[at] = Some((dsq, now));
    }

    /// When it looked into a queue; `Err` if that is not known any more.
    fn looked_into(&self, dsq: Dsq) -> Result<Option<u64>, ()> {
        match self.looked.iter().flatten().find(|(known, _)| *known == dsq) {
            Some(&(_, at)) => Ok(Some(at)),
            None if self.forgot => Err(()),
            None => Ok(None),
        }
    }
}

impl fmt::Display for Dsq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dsq::Local(cpu) => write!(f, "the local DSQ of CPU {cpu}"),
            Dsq::Global(node) => write!(f, "the global DSQ of node {node}"),
            Dsq::User(id) => write!(f, "DSQ {id:#x}"),
        }
    }
}

/// A time, as messages have it.
pub fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// So many CPUs are described; a machine can have thousands that could run a task.
const CPUS: usize = 4;

impl Ext {
    /// Notes what happens to a task.
    #[inline]
    pub(crate) fn note(&mut self, p: TaskId, what: What) {
        let step = Step { at: self.now, on: self.this_cpu, what };
        self.waits[p.0 as usize].push(step);
        self.log(p, step);
    }

    /// The task is picked to run: its wait is over.
    #[inline]
    pub(crate) fn note_picked(&mut self, p: TaskId) {
        self.waits[p.0 as usize].clear();
        self.log(p, Step { at: self.now, on: self.this_cpu, what: What::Picked });
    }

    #[inline]
    fn log(&mut self, p: TaskId, step: Step) {
        if let Some(log) = &mut self.log {
            log.push((p, step));
        }
    }

    /// From now on keeps every step of every task, until somebody [takes](Self::take_log) them.
    pub fn log_steps(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The steps since this was last called, in the order in which they happened; none if nobody asked to
    /// [keep](Self::log_steps) them.
    pub fn take_log(&mut self) -> Vec<(TaskId, Step)> {
        self.log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A CPU that looks for a task may not run this one.
    #[inline]
    pub(crate) fn note_passed(&mut self, p: TaskId, cpu: Cpu) {
        let passed = &mut self.waits[p.0 as usize].passed;
        *passed = (passed.0 + 1, self.now, cpu);
    }

    /// How it came to it that a task waits: lines in the order in which things happened, and then how things are now.
    pub fn chain_of(&self, p: TaskId) -> Vec<String> {
        let task = self.task(p);
        let wait = &self.waits[p.0 as usize];
        let allowed = self.cpus_ptr(p);
        let mut events: Vec<(u64, String)> = Vec::new();
        for (n, step) in wait.steps[..wait.len].iter().flatten().enumerate() {
            if n == FIRST && wait.left_out > 0 {
                events.push((step.at, format!("... {} more steps of this wait ...", wait.left_out)));
            }
            events.push((step.at, self.step_text(p, step)));
        }
        if let (count @ 1.., at, cpu) = wait.passed {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            events.push((
                at,
                format!("CPU {cpu}, which it may not use, passes over it in its queue, the last of {times}"),
            ));
        }
        let mut now = Vec::new();
        match (task.dsq, task.ops_state) {
            (Some((dsq, _)), _) => self.queue_text(p, dsq, &mut events, &mut now),
            (None, OpsState::Queued(_)) => now.push("it is on no DSQ: the scheduler has it".to_owned()),
            _ => now.push("it is on no DSQ".to_owned()),
        }
        let idle = |cpu: &Cpu| self.rqs[*cpu as usize].curr == Curr::Idle;
        // The task's own CPU, then idle ones that it may use, then others.
        let mut cpus = vec![task.cpu];
        let others = |want: bool| allowed.iter().filter(move |cpu| *cpu != task.cpu && idle(cpu) == want);
        cpus.extend(others(true).chain(others(false)).take(CPUS - 1));
        for &cpu in &cpus {
            self.cpu_text(cpu, task.dsq.map(|(dsq, _)| dsq), &mut events, &mut now);
        }
        let nr_idle = allowed.iter().filter(idle).count();
        let may = match allowed.weight() {
            1 => format!("it may use CPU {allowed} only"),
            _ => format!(
                "it may use CPUs {allowed}, {nr_idle} of which {}",
                if nr_idle == 1 { "is idle" } else { "are idle" }
            ),
        };
        now.insert(0, may);
        events.sort_by_key(|&(at, _)| at);
        let begins = format!("it has been waiting since {}:", seconds(task.runnable_at));
        let events = events.into_iter().map(|(at, what)| format!("{} {what}", seconds(at)));
        [begins].into_iter().chain(events).chain(now.into_iter().map(|what| format!("now {what}"))).collect()
    }

    fn step_text(&self, p: TaskId, step: &Step) -> String {
        let on = step.on;
        match step.what {
            What::Selected { by, fork, prev_cpu, cpu } => {
                let by = match by {
                    Some(by) if by == p => "itself".to_owned(),
                    Some(by) => self.named(by),
                    None => "an interrupt or the idle task".to_owned(),
                };
                let does = if fork { "forks" } else { "wakes" };
                let who =
                    if self.declared().ops.has(Op::SelectCpu) { "ops.select_cpu()" } else { "scx_select_cpu_dfl()" };
                format!("{by} {does} it on CPU {on}; {who} chooses CPU {cpu}, and it was on CPU {prev_cpu}")
            }
            What::Joins { cpu } => format!("it joins the run queue of CPU {cpu}"),
            What::Stopped { slice_left: true } => format!("CPU {on} stops it before its slice is over"),
            What::Stopped { slice_left: false } => format!("CPU {on} stops it because its slice is over"),
            What::Held => "ops.enqueue() returns without putting it on a DSQ".to_owned(),
            What::Queued { dsq, op: Some(op), .. } => format!("ops.{}() on CPU {on} puts it on {dsq}", op.name()),
            What::Queued { dsq, op: None, .. } => format!("the core puts it on {dsq}"),
            What::Taken { dsq, .. } => format!("CPU {on} takes it from {dsq}"),
            What::Moved { from, to } => format!("it moves from CPU {from} to CPU {to}"),
            What::Reenqueued => "the core takes it from its queue to enqueue it again".to_owned(),
            What::Picked => format!("CPU {on} picks it"),
        }
    }

    fn queue_text(&self, p: TaskId, dsq: Dsq, events: &mut Vec<(u64, String)>, now: &mut Vec<String>) {
        let queue = self.dsq(dsq);
        let before = queue.iter().take_while(|&other| other != p).count();
        let place = match before {
            0 => "it is the first".to_owned(),
            1 => "1 is before it".to_owned(),
            _ => format!("{before} are before it"),
        };
        now.push(format!("{dsq} has {} task{}, of which {place}", queue.nr(), if queue.nr() == 1 { "" } else { "s" }));
        if let Some(vtimes) = self.vtimes_text(p, dsq) {
            now.push(vtimes);
        }
        match queue.taken {
            Some((at, cpu, taken)) => {
                let named = self.named(taken);
                events.push((at, format!("CPU {cpu} takes {named} from {dsq}, the last task taken from there")));
            }
            // The core takes from local queues by itself.
            None if matches!(dsq, Dsq::Local(_)) => {}
            None => now.push(format!("no CPU has ever taken a task from {dsq}")),
        }
    }

    /// The vtimes of a task and of those that are before it in a queue by vtime.
    fn vtimes_text(&self, p: TaskId, dsq: Dsq) -> Option<String> {
        const SHOWN: usize = 4;
        let queue = self.dsq(dsq);
        let own = self.task(p).dsq.filter(|(of, _)| *of == dsq).and_then(|(_, key)| queue.vtime_of(key))?;
        let mut before: Vec<String> = Vec::new();
        let (mut at, mut left_out) = (None, 0);
        while let Some((key, other)) = queue.next_after(at).filter(|&(_, other)| other != p) {
            let vtime = queue.vtime_of(key)?;
            if before.len() < SHOWN {
                // Vtimes wrap: what counts is how far one is from the other.
                let behind = (own.wrapping_sub(vtime) as i64).unsigned_abs();
                before.push(format!("{} with {vtime} ({behind} less)", self.named(other)));
            } else {
                left_out += 1;
            }
            at = Some(key);
        }
        if left_out > 0 {
            before.push(format!("{left_out} more"));
        }
        Some(match before.is_empty() {
            true => format!("its vtime there is {own}, the lowest"),
            false => format!("its vtime there is {own}; before it: {}", before.join(", ")),
        })
    }

    fn cpu_text(&self, cpu: Cpu, dsq: Option<Dsq>, events: &mut Vec<(u64, String)>, now: &mut Vec<String>) {
        let rq = &self.rqs[cpu as usize];
        let lately = &rq.lately;
        match rq.curr {
            Curr::Idle => events.push((lately.since, format!("CPU {cpu} becomes idle, and still is"))),
            Curr::Ext(curr) => {
                events.push((lately.since, format!("CPU {cpu} begins to run {}, and still does", self.named(curr))));
            }
            Curr::Above => {
                events.push((lately.since, format!("a task of a higher class takes CPU {cpu}, and still has it")))
            }
        }
        if let Some((at, by, kick)) = lately.kicked {
            let how = match kick {
                Kick::IfIdle => " with SCX_KICK_IDLE",
                Kick::Resched => "",
                Kick::Preempt => " with SCX_KICK_PREEMPT",
            };
            events.push((at, format!("CPU {by} kicks CPU {cpu}{how}, its last kick")));
        }
        if let Some(at) = lately.dispatched {
            events.push((at, format!("CPU {cpu} calls ops.dispatch() for the last time")));
        }
        let looked = dsq.filter(|dsq| !matches!(dsq, Dsq::Local(_))).map(|dsq| (dsq, lately.looked_into(dsq)));
        match looked {
            Some((dsq, Ok(Some(at)))) => events.push((at, format!("CPU {cpu} looks into {dsq} for the last time"))),
            Some((dsq, Ok(None))) => now.push(format!("CPU {cpu} has never looked into {dsq}")),
            Some((_, Err(()))) | None => {}
        }
        if lately.kicked.is_none() {
            now.push(format!("CPU {cpu} has never been kicked"));
        }
    }
}
