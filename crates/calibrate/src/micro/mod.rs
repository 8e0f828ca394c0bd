//! Microbenchmarks: pinned threads that do one thing many times.
//!
//! Each is many short runs, of a fraction of a millisecond, whose spread is kept. The simulated twin of each is in
//! `wakelab-study` (`calibrate/twin.rs`).

mod call;
mod cold;
mod compute;
mod idle;
mod ping;
mod switch;
mod tick;
mod wake;

use crate::child::Child;
use crate::cpus::{Place, Relation, pin};
use crate::load::{Kind, Report, Spec};
use crate::samples::Spread;
use rustix::thread::sched_getaffinity;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

pub use cold::FOOTPRINTS_KIB;
pub use idle::IDLE_US;
pub use switch::YIELDS;
pub use wake::WAKE_GAP_NS;

/// A microbenchmark. What is measured is in ns unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bench {
    /// `getppid()`.
    Syscall,
    /// `write()` of a byte to a pipe that nobody reads.
    PipeWrite,
    /// `read()` of a byte that is there.
    PipeRead,
    /// FUTEX_WAKE of a word that nobody waits for.
    FutexWake,
    /// FUTEX_WAIT for another value than the word has.
    FutexWait,
    /// `sched_yield()` of a thread that is alone on its CPU.
    Yield,
    /// A switch between two threads that yield on one CPU, less their yields.
    ThreadSwitch,
    /// The same between two processes.
    ProcessSwitch,
    /// A byte to and fro through two pipes between two threads.
    Pipe,
    /// The same between two processes.
    PipeProcesses,
    /// The same between two threads with a thread of SCHED_IDLE that computes on each CPU, so that none is ever idle.
    PipeBusy,
    /// Two threads that wake each other through futexes, to and fro.
    Futex,
    /// `write()` that wakes a reader on another CPU, which computes in a thread of SCHED_IDLE.
    WakeBusy,
    /// `write()` that wakes a reader on another CPU, which is idle.
    WakeIdle,
    /// A cache line from one CPU to the other, one way.
    Line,
    /// How much longer a byte takes through a pipe if another CPU has written it, beside the handing over.
    ColdMessage,
    /// How much longer a walk through so many KiB of its own memory takes a thread that has changed its CPU.
    Cold(u32),
    /// A timer interrupt of the tick.
    Tick,
    /// Ticks per second.
    Hz,
    /// From FUTEX_WAKE to the woken thread running, after its CPU was idle for so many us.
    WakeAfter(u32),
    /// How much longer than asked a sleep takes with the timer slack of the process.
    TimerSlack,
    /// How much longer than asked a sleep takes with a timer slack of a nanosecond.
    TimerExact,
    /// Work of a fixed number of steps on one CPU.
    Compute,
    /// How long that work takes while the other CPU does it, too: % of what it takes alone.
    Together,
    /// The CPU time of an operation of a load, one instance of it, that may use one CPU.
    Load(Kind),
    /// An operation of a load, one instance of it, that may use both CPUs.
    LoadAcross(Kind),
}

impl Bench {
    /// The name in tables.
    pub fn name(self) -> String {
        match self {
            Bench::Syscall => "system call".to_owned(),
            Bench::PipeWrite => "pipe write, nobody woken".to_owned(),
            Bench::PipeRead => "pipe read, nothing to wait for".to_owned(),
            Bench::FutexWake => "futex wake, nobody woken".to_owned(),
            Bench::FutexWait => "futex wait that does not wait".to_owned(),
            Bench::Yield => "yield, alone".to_owned(),
            Bench::ThreadSwitch => "switch between threads".to_owned(),
            Bench::ProcessSwitch => "switch between processes".to_owned(),
            Bench::Pipe => "pipe ping-pong, threads".to_owned(),
            Bench::PipeProcesses => "pipe ping-pong, processes".to_owned(),
            Bench::PipeBusy => "pipe ping-pong, CPUs never idle".to_owned(),
            Bench::Futex => "futex ping-pong".to_owned(),
            Bench::WakeBusy => "write that wakes, CPU busy".to_owned(),
            Bench::WakeIdle => "write that wakes, CPU idle".to_owned(),
            Bench::Line => "cache line, one way".to_owned(),
            Bench::ColdMessage => "message from another CPU".to_owned(),
            Bench::Cold(kib) => format!("walk of {kib} KiB after a migration"),
            Bench::Tick => "tick".to_owned(),
            Bench::Hz => "ticks per second".to_owned(),
            Bench::WakeAfter(us) => format!("wake-up after {us} us idle"),
            Bench::TimerSlack => "sleep, overrun".to_owned(),
            Bench::TimerExact => "sleep, slack of 1 ns, overrun".to_owned(),
            Bench::Compute => "fixed work".to_owned(),
            Bench::Together => "fixed work, other CPU busy".to_owned(),
            Bench::Load(kind) => format!("load {}, one {}", kind.name(), kind.instance()),
            Bench::LoadAcross(kind) => format!("load {}, one {}, both CPUs", kind.name(), kind.instance()),
        }
    }

    /// The unit of its numbers.
    pub fn unit(self) -> &'static str {
        match self {
            Bench::Together => "%",
            Bench::Hz => "Hz",
            _ => "ns",
        }
    }

    /// How it is measured, in a few words.
    pub fn method(self) -> &'static str {
        match self {
            Bench::Syscall => "getppid()",
            Bench::PipeWrite | Bench::PipeRead => "a byte, own pipe, many writes and then as many reads",
            Bench::FutexWake | Bench::FutexWait => "a word of its own",
            Bench::Yield => "sched_yield()",
            Bench::ThreadSwitch => "two threads yield on one CPU; less the yields, per switch of getrusage()",
            Bench::ProcessSwitch => "the same, and the other is a thread of another process",
            Bench::Pipe => "a byte to and fro through two pipes, both pinned",
            Bench::PipeProcesses => "the same, and the other end is another process",
            Bench::PipeBusy => "the same, with a SCHED_IDLE thread that computes on each CPU",
            Bench::Futex => "FUTEX_WAKE and FUTEX_WAIT to and fro, both pinned",
            Bench::WakeBusy => "time of write() in the waker; a SCHED_IDLE thread computes on the reader's CPU",
            Bench::WakeIdle => "time of write() in the waker; the reader's CPU has been idle for 50 us",
            Bench::Line => "two threads that spin hand a flag to and fro, half a round",
            Bench::ColdMessage => "write here, read there, handed over by a flag; less both calls and the flag",
            Bench::Cold(_) => "walk in a random order after sched_setaffinity(), less the next walk",
            Bench::Tick | Bench::Hz => "gaps of a thread that reads the clock, in phase with the tick",
            Bench::WakeAfter(_) => "clock before FUTEX_WAKE and after FUTEX_WAIT",
            Bench::TimerSlack | Bench::TimerExact => "clock_nanosleep() of 200 us",
            Bench::Compute => "multiplications in registers",
            Bench::Together => "the same on two CPUs at a time",
            Bench::Load(_) => "CPU time of the load of `wakelab verify`, in a process of its own, pinned to one CPU",
            Bench::LoadAcross(_) => "the time of the same on two CPUs, placed by the kernel",
        }
    }
}

/// The measurement of a microbenchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The microbenchmark.
    pub bench: Bench,
    /// Where.
    pub place: Place,
    /// Its numbers.
    pub spread: Spread,
    /// More about it: the idle state that the CPU was in.
    pub note: Option<String>,
}

/// A microbenchmark that was not measured, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// The microbenchmark.
    pub bench: Bench,
    /// Where.
    pub place: Place,
    /// Why not.
    pub why: String,
}

/// How long microbenchmarks may take, and what stops them.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// The time of all microbenchmarks together.
    pub time: Duration,
    /// Ends them early.
    pub stop: &'a AtomicBool,
}

/// Receives how far the measuring has come.
pub trait Progress {
    /// Microbenchmark number `done` of `all`, from 0, begins.
    fn begins(&self, done: usize, all: usize, bench: Bench, place: Place);
}

impl Progress for () {
    fn begins(&self, _: usize, _: usize, _: Bench, _: Place) {}
}

/// The time of one microbenchmark, and what stops it.
#[derive(Clone, Copy, Debug)]
struct Run<'a> {
    time: Duration,
    stop: &'a AtomicBool,
    child: &'a Child,
}

/// Short runs of a microbenchmark at least, however long they take.
const RUNS_MIN: usize = 7;

/// How long a short run is to be: much shorter than a slice or the time between two ticks, so that most short runs have
/// the CPU to themselves on a machine that others use, too.
const SHORT: Duration = Duration::from_micros(200);

impl Run<'_> {
    /// Calls `one` for as long as there is time, and returns the spread of its numbers. `one` returns nothing for a
    /// short run that does not count.
    fn sample(self, mut one: impl FnMut() -> io::Result<Option<f64>>) -> io::Result<Spread> {
        let deadline = Instant::now() + self.time;
        let mut values = Vec::new();
        let mut tries = 0;
        while Instant::now() < deadline || tries < RUNS_MIN {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            tries += 1;
            values.extend(one()?);
        }
        Spread::of(values).ok_or_else(|| io::Error::other("no short run counted: the machine is too busy"))
    }

    /// The spread of the time of one of the many times that `many` does a thing.
    fn each(self, mut many: impl FnMut(u32) -> io::Result<Duration>) -> io::Result<Spread> {
        let times = short_run(&mut many)?;
        self.sample(|| Ok(Some(crate::samples::ns(many(times)?) / f64::from(times))))
    }
}

/// How often a thing is done in a short run.
fn short_run(many: &mut impl FnMut(u32) -> io::Result<Duration>) -> io::Result<u32> {
    // Caches and predictors are warm afterwards.
    many(20)?;
    let one = many(20)?.max(Duration::from_nanos(20)) / 20;
    Ok((SHORT.as_nanos() / one.as_nanos().max(1)).clamp(5, 20_000) as u32)
}

/// Measures everything at these places; `kinds` is an allowed CPU of each capacity, the fastest first. What cannot be
/// measured is returned with its reason.
///
/// # Errors
/// Fails once the budget's `stop` is set ([`io::ErrorKind::Interrupted`]).
pub fn measure(
    places: &[Place],
    kinds: &[(u32, Cpu)],
    child: &Child,
    budget: Budget<'_>,
    progress: &dyn Progress,
) -> io::Result<(Vec<Measured>, Vec<Unmeasured>)> {
    let plan = plan(places, kinds);
    let weights: u32 = plan.iter().map(|&(bench, _)| weight(bench)).sum();
    let (mut measured, mut unmeasured) = (Vec::new(), Vec::new());
    threads_can_be_made()?;
    // Threads of microbenchmarks are pinned; what comes after them is not.
    let own = sched_getaffinity(None)?;
    for (done, &(bench, place)) in plan.iter().enumerate() {
        progress.begins(done, plan.len(), bench, place);
        let run = Run { time: budget.time * weight(bench) / weights.max(1), stop: budget.stop, child };
        let result = one(bench, place, run, &measured);
        rustix::thread::sched_setaffinity(None, &own)?;
        match result {
            Ok((spread, note)) => measured.push(Measured { bench, place, spread, note }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => unmeasured.push(Unmeasured { bench, place, why: error.to_string() }),
        }
        if budget.stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    Ok((measured, unmeasured))
}

/// All microbenchmarks, in the order in which they are done. What a later one subtracts comes before it.
fn plan(places: &[Place], kinds: &[(u32, Cpu)]) -> Vec<(Bench, Place)> {
    use Bench::{Cold, ColdMessage, Compute, Futex, FutexWait, FutexWake, Hz, Line, Pipe, PipeBusy, PipeProcesses};
    use Bench::{
        Load, LoadAcross, PipeRead, PipeWrite, ProcessSwitch, Syscall, ThreadSwitch, Tick, TimerExact, TimerSlack,
        Together,
    };
    use Bench::{WakeAfter, WakeBusy, WakeIdle, Yield};
    let mut all = Vec::new();
    for &place in places {
        let here: Vec<Bench> = if place.relation == Relation::OneCpu {
            let calls = [Syscall, PipeWrite, PipeRead, FutexWake, FutexWait, Yield, ThreadSwitch, ProcessSwitch];
            let pairs = [Pipe, PipeProcesses, Futex, Tick, Hz, TimerSlack, TimerExact];
            calls.into_iter().chain(pairs).chain(Kind::ALL.map(Load)).collect()
        } else {
            let wakes = [Line, ColdMessage, WakeBusy, WakeIdle, PipeBusy, Pipe, Futex, Together];
            let idle = IDLE_US.map(WakeAfter);
            let colds = FOOTPRINTS_KIB.map(Cold);
            wakes.into_iter().chain(colds).chain(idle).chain([LoadAcross(Kind::Tcp)]).collect()
        };
        all.extend(here.into_iter().map(|bench| (bench, place)));
    }
    all.extend(kinds.iter().map(|&(_, cpu)| (Compute, Place::one(cpu))));
    // Of CPUs that are slower, too: what says how much slower they are.
    for &(_, cpu) in kinds.iter().skip(1) {
        all.extend([Syscall, ThreadSwitch, Pipe].map(|bench| (bench, Place::one(cpu))));
    }
    all
}

/// Its share of the time.
fn weight(bench: Bench) -> u32 {
    match bench {
        Bench::Syscall | Bench::Yield | Bench::FutexWake | Bench::FutexWait | Bench::Line | Bench::Hz => 1,
        Bench::PipeWrite | Bench::PipeRead | Bench::Compute | Bench::Cold(_) => 1,
        Bench::TimerSlack | Bench::TimerExact => 2,
        Bench::Load(_) | Bench::LoadAcross(_) => 5,
        _ => 3,
    }
}

fn one(bench: Bench, place: Place, run: Run<'_>, before: &[Measured]) -> io::Result<(Spread, Option<String>)> {
    let known = |bench: Bench, place: Place| {
        let found = before.iter().find(|measured| (measured.bench, measured.place) == (bench, place));
        found.map(|measured| measured.spread.median)
    };
    let need = |bench: Bench, place: Place| {
        known(bench, place).ok_or_else(|| io::Error::other(format!("{} was not measured", bench.name())))
    };
    let [a, b] = place.cpus;
    let alone = Place::one(a);
    let spread = match bench {
        Bench::Syscall => call::syscall(a, run),
        Bench::PipeWrite => call::pipe(a, run, call::Timed::Writes),
        Bench::PipeRead => call::pipe(a, run, call::Timed::Reads),
        Bench::FutexWake => call::futex_wake(a, run),
        Bench::FutexWait => call::futex_wait(a, run),
        Bench::Yield => switch::yields(a, run),
        Bench::ThreadSwitch => {
            let alone = known(Bench::Yield, alone).map_or_else(|| switch::yields(a, run).map(|one| one.median), Ok)?;
            switch::threads(a, run, alone)
        }
        Bench::ProcessSwitch => {
            let alone = known(Bench::Yield, alone).map_or_else(|| switch::yields(a, run).map(|one| one.median), Ok)?;
            switch::processes(a, run, alone)
        }
        Bench::Pipe => ping::threads(place.cpus, run, false),
        Bench::PipeBusy => ping::threads(place.cpus, run, true),
        Bench::PipeProcesses => ping::processes(place.cpus, run),
        Bench::Futex => ping::futex(place.cpus, run),
        Bench::WakeBusy => wake::waker(place.cpus, run, true),
        Bench::WakeIdle => wake::waker(place.cpus, run, false),
        Bench::Line => wake::line(place.cpus, run),
        Bench::ColdMessage => {
            let calls = need(Bench::PipeWrite, alone)? + need(Bench::PipeRead, alone)?;
            let line = need(Bench::Line, place)?;
            Ok(wake::message(place.cpus, run)?.less(calls + 2.0 * line))
        }
        Bench::Cold(kib) => cold::walk([a, b], kib, run),
        Bench::Tick => tick::cost(a, run),
        Bench::Hz => tick::hz(a, run),
        Bench::WakeAfter(us) => return idle::wake_after(place.cpus, us, run),
        Bench::TimerSlack => idle::sleeps_too_long(a, None, run),
        Bench::TimerExact => idle::sleeps_too_long(a, Some(1), run),
        Bench::Compute => compute::alone(a, run),
        Bench::Together => compute::together([a, b], run),
        // CPU time is the load's own, whoever else uses the CPU.
        Bench::Load(kind) => load(kind, &[a], run, |report| report.cpu_s / report.done as f64),
        Bench::LoadAcross(kind) => load(kind, &[a, b], run, |report| 1.0 / report.throughput()),
    };
    spread.map(|spread| (spread, None))
}

/// An operation of one instance of a load.
fn load(kind: Kind, cpus: &[Cpu], run: Run<'_>, of: impl Fn(&Report) -> f64) -> io::Result<Spread> {
    const REPEATS: u32 = 5;
    let time_ns = (run.time.as_nanos() as u64 / u64::from(REPEATS)).clamp(20_000_000, 2_000_000_000);
    let spec = Spec { kind, instances: 1, cpus: cpus.to_vec(), settle_ns: time_ns / 4, time_ns, count: None };
    let one = |_| run.child.run(&spec, run.stop).map(|report| 1e9 * of(&report));
    let times = (0..REPEATS).map(one).collect::<io::Result<Vec<_>>>()?;
    Spread::of(times).ok_or_else(|| io::Error::other("the load did nothing"))
}

/// Fails if the system does not make as many threads as a microbenchmark has beside those that keep CPUs busy. One that
/// lacks its partner would wait for it.
fn threads_can_be_made() -> io::Result<()> {
    const MOST: usize = 3;
    let all = std::sync::Mutex::new(());
    std::thread::scope(|scope| {
        // Those that were made wait for the others, and end in any case.
        let _held = all.lock();
        (0..MOST).try_for_each(|_| std::thread::Builder::new().spawn_scoped(scope, || drop(all.lock())).map(drop))
    })
    .map_err(|error| {
        let what = format!("the system creates no threads ({error}), and each microbenchmark needs some");
        io::Error::other(format!("{what}\n  hint: raise the limit (ulimit -u, pids.max of the container)"))
    })
}

/// Calls `body` on a thread of its own that is pinned to a CPU.
fn on_cpu<T: Send>(cpu: Cpu, body: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| join(scope.spawn(move || pin(&[cpu]).and_then(|()| body()))))
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread of the microbenchmark panicked")))
}

/// Lets a thread of SCHED_IDLE compute on each of these CPUs while `body` runs.
fn with_spinners<T>(cpus: &[Cpu], body: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let spin = |cpu: Cpu| {
            let done = &done;
            std::thread::Builder::new().spawn_scoped(scope, move || {
                pin(&[cpu])?;
                crate::sys::become_sched_idle()?;
                while !done.load(Ordering::Relaxed) {
                    std::hint::black_box(crate::load::work::steps(50));
                }
                Ok(())
            })
        };
        let spinners = cpus.iter().map(|&cpu| spin(cpu)).collect::<io::Result<Vec<_>>>();
        let result = spinners.is_ok().then(body);
        // Those that were made before one that could not be made, too.
        done.store(true, Ordering::Relaxed);
        spinners?.into_iter().try_for_each(join)?;
        result.expect("all were made")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough for nothing but the least number of short runs.
    fn measured(places: &[Place]) -> (Vec<Measured>, Vec<Unmeasured>) {
        let stop = AtomicBool::new(false);
        let child = Child { program: "true".into(), args: vec![] };
        let budget = Budget { time: Duration::from_millis(1), stop: &stop };
        let kinds: Vec<(u32, Cpu)> = places.first().map(|place| (1024, place.cpus[0])).into_iter().collect();
        measure(places, &kinds, &child, budget, &()).expect("not stopped")
    }

    #[test]
    fn one_cpu_has_all_that_one_cpu_can_have() {
        let cpu = crate::allowed().expect("a set")[0];
        let (measured, unmeasured) = measured(&[Place::one(cpu)]);
        for bench in [Bench::Syscall, Bench::PipeWrite, Bench::Pipe, Bench::Futex, Bench::Compute] {
            let found = measured.iter().find(|one| one.bench == bench).unwrap_or_else(|| panic!("{bench:?}"));
            assert!(found.spread.median > 0.0 && found.spread.p10 <= found.spread.p90, "{found:?}");
        }
        // The program prints no report.
        assert!(Kind::ALL.iter().all(|&kind| unmeasured.iter().any(|one| one.bench == Bench::Load(kind))));
        assert!(measured.iter().all(|one| one.place.relation == Relation::OneCpu));
    }

    #[test]
    fn a_pair_of_cpus_has_what_crosses_between_them() {
        let cpus = crate::allowed().expect("a set");
        let &[a, b, ..] = &cpus[..] else { return };
        let pair = Place { relation: Relation::Llc, cpus: [a, b] };
        let (measured, unmeasured) = measured(&[Place::one(a), pair]);
        for bench in [Bench::Pipe, Bench::Futex, Bench::Line, Bench::WakeIdle, Bench::WakeBusy, Bench::PipeBusy] {
            let found = measured.iter().any(|one| (one.bench, one.place) == (bench, pair));
            assert!(found, "{bench:?}: {unmeasured:?}");
        }
    }

    #[test]
    fn a_stop_ends_it() {
        let stop = AtomicBool::new(true);
        let child = Child { program: "true".into(), args: vec![] };
        let cpu = crate::allowed().expect("a set")[0];
        let budget = Budget { time: Duration::from_secs(60), stop: &stop };
        let error = measure(&[Place::one(cpu)], &[(1024, cpu)], &child, budget, &()).expect_err("stopped");
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_cpu_that_may_not_be_used_is_said() {
        let (measured, unmeasured) = measured(&[Place::one(1023)]);
        assert!(measured.is_empty(), "{measured:?}");
        assert!(unmeasured.iter().any(|one| one.why.contains("sched_setaffinity to [1023]")), "{unmeasured:?}");
    }
}
