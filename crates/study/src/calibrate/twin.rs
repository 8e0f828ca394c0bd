//! Microbenchmarks as workload programs, and what they take in simulated time.

use crate::verify::shapes;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_calibrate::load::Kind;
use wakelab_calibrate::{Bench, FOOTPRINTS_KIB, Measured, Place, Relation, WAKE_GAP_NS};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sched::cpumask::Cpu;
use wakelab_sim::{Mechanisms, Setup, SimError};
use wakelab_workload::{Call, Channel, Op, Program, Task, TimerMode, Work, Workload};

/// The times of calls that wake nobody, ns: the work of the twins' programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// `write()` to a pipe.
    pub pipe_write: u64,
    /// `read()` from a pipe.
    pub pipe_read: u64,
    /// FUTEX_WAKE.
    pub futex_wake: u64,
    /// FUTEX_WAIT.
    pub futex_wait: u64,
    /// `sched_yield()`.
    pub yields: u64,
}

impl Calls {
    /// Those that were measured on one CPU; 0 for what was not.
    pub fn measured(all: &[Measured]) -> Self {
        let ns = |bench: Bench| {
            let found = all.iter().find(|one| one.bench == bench && one.place.relation == Relation::OneCpu);
            found.map_or(0, |one| one.spread.median.max(0.0).round() as u64)
        };
        Calls {
            pipe_write: ns(Bench::PipeWrite),
            pipe_read: ns(Bench::PipeRead),
            futex_wake: ns(Bench::FutexWake),
            futex_wait: ns(Bench::FutexWait),
            yields: ns(Bench::Yield),
        }
    }
}

/// Where microbenchmarks are simulated.
#[derive(Clone, Copy, Debug)]
pub struct Twin<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Preset,
    /// The times of calls.
    pub calls: Calls,
    /// By kind of load: the work of an operation, ns.
    pub work: &'a BTreeMap<Kind, u64>,
}

/// Simulated time in which a thing is done often enough, ns.
const SHORT: u64 = 10_000_000;
/// The time of loads, of ticks, and of pairs on one CPU: whether wake-ups preempt there changes every few slices.
const LONG: u64 = 100_000_000;
/// What is not counted: the start of the tasks.
const SETTLE: u64 = 500_000;

impl Twin<'_> {
    /// What a microbenchmark takes here, in its own unit. `None` if it has no twin, or if the machine lacks the CPUs.
    ///
    /// # Errors
    /// Those of the simulator.
    pub fn simulate(&self, bench: Bench, place: Place) -> Result<Option<f64>, SimError> {
        let find = |id: Cpu| (0..self.machine.topology.nr_cpus()).find(|&cpu| self.machine.kernel_cpu(cpu) == id);
        let [Some(a), Some(b)] = place.cpus.map(find) else { return Ok(None) };
        let Calls { pipe_write, pipe_read, futex_wake, futex_wait, yields } = self.calls;
        let pipe = Pair { send: pipe_write, receive: pipe_read, sync: true, ..Pair::on([a, b]) };
        let time = match bench {
            Bench::Pipe => self.round(&pipe)?,
            Bench::PipeProcesses => self.round(&Pair { processes: true, ..pipe })?,
            Bench::PipeBusy => self.round(&Pair { spinners: vec![a, b], ..pipe })?,
            Bench::Futex => {
                let futex = Pair { send: futex_wake, receive: futex_wait, ..Pair::on([a, b]) };
                self.round(&futex)?
            }
            Bench::WakeBusy => self.median(Pair { spinners: vec![b], ..pipe }.one_way())?,
            Bench::WakeIdle => self.median(pipe.one_way())?,
            Bench::ColdMessage => self.median(pipe.never_waiting())?.map(|time| time - pipe_read.max(1) as f64),
            Bench::ThreadSwitch => self.switch(a, yields.max(1), Some(0))?,
            Bench::ProcessSwitch => self.switch(a, yields.max(1), None)?,
            Bench::Cold(kib) if kib == FOOTPRINTS_KIB[0] => self.migration([a, b])?,
            Bench::Tick => self.tick(a)?,
            Bench::Together => self.together([a, b])?,
            // Timers leave their CPU idle, which CPU time does not have.
            Bench::Load(kind) if kind != Kind::Timers => self.load(kind, &[a])?,
            Bench::LoadAcross(kind) => self.load(kind, &[a, b])?,
            _ => None,
        };
        Ok(time)
    }

    /// Runs a workload. A median of short runs has no background work in it, and no tick: most short runs have none.
    fn run(&self, workload: &Workload, until: u64) -> Result<Counted, SimError> {
        let mut machine = self.machine.clone();
        machine.costs.tick.value = 0;
        let quiet = Mechanisms { noise: false, periodic_balance: false, ..Mechanisms::default() };
        Twin { machine: &machine, ..*self }.run_with(quiet, workload, until)
    }

    fn run_with(&self, mechanisms: Mechanisms, workload: &Workload, until: u64) -> Result<Counted, SimError> {
        let mut counted = Counted::default();
        let setup = Setup {
            machine: self.machine,
            kernel: self.kernel,
            features: self.kernel.features,
            workload,
            seed: 1,
            until,
            mechanisms,
            observer_cost: 0,
            pm: None,
            scheduler: None,
        };
        wakelab_sim::run_dyn(&setup, &mut counted, &AtomicBool::new(false))?;
        Ok(counted)
    }

    /// Runs a workload for as long as it takes to have some transactions. Returns how long that was, too, ns.
    fn run_enough(&self, workload: &Workload) -> Result<(Counted, u64), SimError> {
        const ENOUGH: usize = 20;
        let mut until = SHORT;
        loop {
            let counted = self.run(workload, until)?;
            if counted.latencies.len() >= ENOUGH || until >= 10 * SHORT {
                return Ok((counted, until));
            }
            until *= 10;
        }
    }

    /// The mean time of a round: a short run has many.
    fn round(&self, pair: &Pair) -> Result<Option<f64>, SimError> {
        let workload = pair.workload();
        let on_one = pair.cpus[0] == pair.cpus[1];
        Ok(if on_one { self.run(&workload, LONG)? } else { self.run_enough(&workload)?.0 }.mean())
    }

    /// The median time of a transaction that is done once in a while: the first has cold caches.
    fn median(&self, workload: Workload) -> Result<Option<f64>, SimError> {
        Ok(self.run_enough(&workload)?.0.median())
    }

    /// A switch between two tasks that yield, less their yields.
    fn switch(&self, cpu: Cpu, yields: u64, process: Option<u32>) -> Result<Option<f64>, SimError> {
        let ops = vec![Op::Begin, run(yields), Op::Done, Op::Call(Call::Yield), again()];
        let task = |n: u32| Task { process, ..thread(format!("yields {n}"), 0, vec![], &[cpu]) };
        let (counted, until) = self.run_enough(&workload(vec![ops], vec![], vec![task(0), task(1)]))?;
        let time = (until - SETTLE) as f64 - (counted.latencies.len() as u64 * yields) as f64;
        Ok((counted.switches > 0).then(|| time / counted.switches as f64))
    }

    /// What a migration costs beside itself: a round with cold caches less one without their cost.
    fn migration(&self, cpus: [Cpu; 2]) -> Result<Option<f64>, SimError> {
        let sets: Vec<Vec<u32>> = cpus.iter().map(|&cpu| vec![cpu]).collect();
        let to = |set| Op::Call(Call::Affinity { cpus: Some(set) });
        let ops = vec![Op::Begin, run(20_000), to(1), run(20_000), to(0), Op::Done, again()];
        let workload = Workload {
            cpu_sets: sets,
            ..workload(vec![ops], vec![], vec![thread("moves".into(), 0, vec![], &cpus[..1])])
        };
        let cold = self.run_enough(&workload)?.0.median();
        let mut machine = self.machine.clone();
        for name in ["cold_task", "cold_task_far"] {
            machine.set_constant(name, 0);
        }
        let warm = Twin { machine: &machine, ..*self }.run_enough(&workload)?.0.median();
        Ok(cold.zip(warm).map(|(cold, warm)| (cold - warm) / 2.0))
    }

    /// What a tick takes from a task that computes: the median of the pieces of work that had one.
    fn tick(&self, cpu: Cpu) -> Result<Option<f64>, SimError> {
        const PIECE: u64 = 10_000;
        let ops = vec![Op::Begin, run(PIECE), Op::Done, again()];
        let workload = workload(vec![ops], vec![], vec![thread("computes".into(), 0, vec![], &[cpu])]);
        let mut counted = self.run_with(Mechanisms { noise: false, ..Mechanisms::default() }, &workload, LONG)?;
        counted.latencies.sort_unstable();
        let ticks = ((LONG - SETTLE) / self.kernel.hz.tick_ns()).max(1) as usize;
        // Ticks that cost nothing delay nothing: they are among the pieces that took no longer.
        let median = counted.latencies.iter().rev().nth(ticks / 2);
        Ok(median.map(|&latency| latency.saturating_sub(PIECE) as f64))
    }

    /// Work beside a busy CPU, % of what it takes alone.
    fn together(&self, cpus: [Cpu; 2]) -> Result<Option<f64>, SimError> {
        const PIECE: u64 = 100_000;
        let counts = vec![Op::Begin, run(PIECE), Op::Done, again()];
        let beside = vec![run(PIECE), again()];
        let tasks =
            vec![thread("counts".into(), 0, vec![], &cpus[..1]), thread("beside".into(), 1, vec![], &cpus[1..])];
        let counted = self.run(&workload(vec![counts, beside], vec![], tasks), SHORT)?;
        Ok(counted.mean().map(|time| 100.0 * time / PIECE as f64))
    }

    /// An operation of one instance of a load, ns.
    fn load(&self, kind: Kind, cpus: &[Cpu]) -> Result<Option<f64>, SimError> {
        let Some(&work) = self.work.get(&kind) else { return Ok(None) };
        let mut workload = shapes::workload(kind, 1, work);
        workload.pin(cpus).map_err(SimError::Workload)?;
        let counted = self.run(&workload, LONG)?;
        let done = counted.latencies.len();
        Ok((done > 0).then(|| (LONG - SETTLE) as f64 / done as f64))
    }
}

/// What a run had from [`SETTLE`] on.
#[derive(Debug, Default)]
struct Counted {
    /// What transactions took, ns.
    latencies: Vec<u64>,
    /// Switches.
    switches: u64,
}

impl Counted {
    fn mean(&self) -> Option<f64> {
        let sum: u64 = self.latencies.iter().sum();
        (!self.latencies.is_empty()).then(|| sum as f64 / self.latencies.len() as f64)
    }

    fn median(mut self) -> Option<f64> {
        let middle = self.latencies.len() / 2;
        (!self.latencies.is_empty()).then(|| *self.latencies.select_nth_unstable(middle).1 as f64)
    }
}

impl Sink for Counted {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            _ if time < SETTLE => {}
            Event::Done { latency, .. } => self.latencies.push(latency),
            Event::Switch { .. } => self.switches += 1,
            _ => {}
        }
    }
}

/// Two tasks that send each other messages.
#[derive(Clone, Debug)]
struct Pair {
    cpus: [Cpu; 2],
    /// The work of a send, ns.
    send: u64,
    /// The work of a receive, ns.
    receive: u64,
    sync: bool,
    /// Whether they have address spaces of their own.
    processes: bool,
    /// CPUs with a task of SCHED_IDLE that computes.
    spinners: Vec<Cpu>,
}

const THERE: u32 = 0;
const BACK: u32 = 1;

impl Pair {
    fn on(cpus: [Cpu; 2]) -> Self {
        Pair { cpus, send: 0, receive: 0, sync: false, processes: false, spinners: vec![] }
    }

    fn send(&self, channel: u32) -> [Op; 2] {
        [varying(self.send), Op::Send { channel, sync: self.sync }]
    }

    fn receive(&self, channel: u32) -> [Op; 2] {
        [Op::Recv { channel }, varying(self.receive)]
    }

    /// The two programs on their CPUs, and the spinners.
    fn with(&self, first: Vec<Op>, second: Vec<Op>) -> Workload {
        let channel = |name: &str| Channel::new(name, 65_536);
        let spin = vec![run(100_000), again()];
        let mut tasks: Vec<Task> = ["first", "second"]
            .into_iter()
            .zip(self.cpus)
            .zip(0..)
            .map(|((name, cpu), program)| thread(name.to_owned(), program, vec![THERE, BACK], &[cpu]))
            .collect();
        if self.processes {
            tasks.iter_mut().for_each(|task| task.process = None);
        }
        let spinner = |&cpu: &Cpu| Task { idle_policy: true, ..thread(format!("spins on {cpu}"), 2, vec![], &[cpu]) };
        tasks.extend(self.spinners.iter().map(spinner));
        let mut programs = vec![first, second];
        programs.extend((!self.spinners.is_empty()).then_some(spin));
        workload(programs, vec![channel("there"), channel("back")], tasks)
    }

    /// To and fro; a round is a transaction.
    fn workload(&self) -> Workload {
        let first =
            [Op::Begin].into_iter().chain(self.send(THERE)).chain(self.receive(BACK)).chain([Op::Done, again()]);
        let second = self.receive(THERE).into_iter().chain(self.send(BACK)).chain([again()]);
        self.with(first.collect(), second.collect())
    }

    /// One wakes the other again and again; what that takes is a transaction.
    fn one_way(&self) -> Workload {
        let first = [Op::Begin].into_iter().chain(self.send(THERE)).chain([Op::Done, run(WAKE_GAP_NS), again()]);
        let second = self.receive(THERE).into_iter().chain([again()]);
        self.with(first.collect(), second.collect())
    }

    /// One writes, the other reads what is there already; a read is a transaction.
    fn never_waiting(&self) -> Workload {
        const PERIOD: u64 = 50_000;
        let timer = Op::Call(Call::Timer { timer: 0, period_ns: PERIOD, mode: TimerMode::Absolute });
        let first = [timer].into_iter().chain(self.send(THERE)).chain([again()]);
        let read = [Op::Recv { channel: THERE }, run(self.receive.max(1))];
        let second = [timer, run(1), Op::Begin].into_iter().chain(read).chain([Op::Done, again()]);
        let mut workload = self.with(first.collect(), second.collect());
        workload.tasks[1].start_ns = PERIOD / 2;
        workload
    }
}

fn run(ns: u64) -> Op {
    // A step that takes no time at all could be done for ever at one moment.
    Op::Run(Work::uniform(ns.max(1), 0))
}

/// Work that varies, as that of real calls does: without it a pair runs in lock-step, and whether its wake-ups preempt
/// changes with each nanosecond of a constant.
fn varying(ns: u64) -> Op {
    Op::Run(Work::uniform(ns.max(1), 20))
}

fn again() -> Op {
    Op::Repeat { to: 0, times: None }
}

/// A thread of the process that all are in.
fn thread(name: String, program: u32, channels: Vec<u32>, cpus: &[Cpu]) -> Task {
    Task { affinity: Some(cpus.to_vec()), process: Some(0), ..Task::plain(name, program, channels, 0) }
}

fn workload(programs: Vec<Vec<Op>>, channels: Vec<Channel>, tasks: Vec<Task>) -> Workload {
    let programs =
        programs.into_iter().zip(0..).map(|(ops, n): (_, u32)| Program { name: format!("program {n}"), ops });
    Workload {
        benchmark: "microbenchmark".to_owned(),
        case: "twin".to_owned(),
        load: format!("{} tasks", tasks.len()),
        metric: "throughput".to_owned(),
        unit: "rounds/s".to_owned(),
        higher_is_better: true,
        programs: programs.collect(),
        channels,
        tasks,
        cpu_sets: vec![],
        distributions: vec![],
        params: vec![],
        groups: vec![],
        interrupts: vec![],
        changes: vec![],
    }
}
