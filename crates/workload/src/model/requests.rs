//! schbench as it is since 2023: workers that do requests, and message threads that hand them out.
//!
//! From its source (github.com/masoncl/schbench, 2024). A worker puts itself on the list of its message thread, wakes
//! that if it sleeps (`xlist_add()`, `fpost()`), and waits. The message thread takes the whole list, takes the time,
//! and wakes all that were on it, the last that came first (`xlist_wake_all()`); it sleeps only if the list is empty.
//! The worker then does a request: it sleeps, and multiplies matrices under a lock of the CPU that it is on.

use crate::benchmark::{Case, ParamDef, TaskSet, Values};
use crate::metric;
use crate::model::params::{self, option};
use crate::{Call, Channel, Op, Program, Task, Work};

/// The part of a request that a case measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// From the time that the message thread took until the worker runs.
    Wakeup,
    /// From the start of a request to its end.
    Request,
}

const fn less(name: &'static str, metric: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric, unit: "us", higher_is_better: false }
}

const fn more(name: &'static str, metric: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric, unit: "requests/s", higher_is_better: true }
}

/// The cases: one program, and what schbench prints of it. The load is the workers of each message thread (-t N).
pub(crate) const CASES: [Case; 15] = [
    more("requests", "throughput", "requests, a sleep and matrix operations each; average rps"),
    more("rps-20th", metric::RATE_20PCT, "the same; 20th percentile of the RPS of each second"),
    more("rps-50th", metric::RATE_50PCT, "the same; 50th percentile of the RPS of each second"),
    more("rps-90th", metric::RATE_90PCT, "the same; 90th percentile of the RPS of each second"),
    more("rps-max", metric::RATE_MAX, "the same; the RPS of the best second"),
    less("wakeup-50th", metric::LATENCY_50PCT, "the same; 50th percentile of the wake-up latency"),
    less("wakeup-90th", metric::LATENCY_90PCT, "the same; 90th percentile of the wake-up latency"),
    less("wakeup-99th", metric::LATENCY_99PCT, "the same; 99th percentile of the wake-up latency"),
    less("wakeup-99.9th", metric::LATENCY_99_9PCT, "the same; 99.9th percentile of the wake-up latency"),
    less("wakeup-max", metric::LATENCY_MAX, "the same; the longest wake-up latency"),
    less("request-50th", metric::LATENCY_50PCT, "the same; 50th percentile of the request latency"),
    less("request-90th", metric::LATENCY_90PCT, "the same; 90th percentile of the request latency"),
    less("request-99th", metric::LATENCY_99PCT, "the same; 99th percentile of the request latency"),
    less("request-99.9th", metric::LATENCY_99_9PCT, "the same; 99.9th percentile of the request latency"),
    less("request-max", metric::LATENCY_MAX, "the same; the longest request latency"),
];

impl Of {
    fn case(case: &Case) -> Self {
        if case.name.starts_with("wakeup-") { Of::Wakeup } else { Of::Request }
    }
}

/// Whether a case is of this model.
pub(crate) fn has(case: &Case) -> bool {
    CASES.iter().any(|own| own.name == case.name)
}

const OPTIONS: [ParamDef; 7] = [
    option("message_threads", "", 1, [1, 4, 10_000], "schbench.c (-m): message threads; 1 there since 2023"),
    option("sleep", "us", 100, [0, 1_000, 10_000_000], "schbench.c (-s): how long a request sleeps before its work"),
    option("operations", "", 5, [0, 100, 1_000_000], "schbench.c (-n): matrix operations of a request; 0 for none"),
    option(
        "footprint",
        "KiB",
        256,
        [1, 4_096, 1_048_576],
        "schbench.c (-F): of three matrices, whose rows and columns follow from it",
    ),
    option("locking", "", 1, [0, 1, 1], "schbench.c: work is done under a lock of the CPU; 0 is -L"),
    option(
        "rps",
        "requests/s",
        0,
        [0, 1_000_000, 100_000_000],
        "schbench.c (-R): requests a second of all message threads together, handed out when it starts; 0: as fast as \
         they are done. A rate that follows how busy the machine is (-A) is not modelled",
    ),
    option(
        "cpus",
        "",
        0,
        [0, 8_192, 8_192],
        "schbench.c (-M auto): the CPUs of the machine, where message thread i is on CPU i and workers are on those \
         that are left; 0: nobody is pinned",
    ),
];

/// The time of one multiplication and addition.
const MULTIPLY: ParamDef = ParamDef {
    name: "multiply",
    unit: "ps",
    value: 900,
    low: 600,
    high: 3_000,
    max: 1_000_000,
    origin: "assumed: the inner loop of do_some_math(), which goes through a matrix by columns; so that a request of 5 \
             operations takes the 5.0 ms of its 5.2 that do not sleep in the base of the posting of cache-aware \
             balancing (Milan, August 2025); 3.0 ns in schbench's README, whose machine is not told",
};

/// By how much the work of requests varies: each does the same. In schbench's README nine in ten take less than 1%
/// longer than the median.
const WORK_JITTER_PCT: u32 = 1;

/// The costs of system calls.
const COSTS: [ParamDef; 2] = [params::call("post", 350, 150, 900), params::call("wait", 300, 100, 800)];

/// How many requests wait at a worker at most, beside the one that it does: `batch` of `run_rps_thread()`.
const BATCH: u32 = 128;

/// The number of a worker's only resource: its message thread's list, or its own requests if there is a rate.
const OWN: u32 = 0;

pub(crate) fn parameters(case: &Case) -> Vec<ParamDef> {
    // With a rate, the time of a wake-up is that of the last request, which the worker may not have slept before.
    let options = OPTIONS.into_iter().filter(|def| def.name != "rps" || Of::case(case) == Of::Request);
    options.chain([MULTIPLY]).chain(COSTS).chain([params::JITTER, params::CLONE]).collect()
}

pub(crate) fn nr_tasks(workers: u32, values: &Values) -> u64 {
    values.get("message_threads") * (1 + u64::from(workers))
}

/// Message threads with so many workers each.
pub(crate) fn build(case: &Case, workers: u32, values: &Values) -> TaskSet {
    let message_threads = values.get("message_threads") as u32;
    let of = Of::case(case);
    let rps = if of == Of::Wakeup { 0 } else { values.get("rps") };
    let rate = rps / u64::from(message_threads.max(1));
    let steps = Steps { values, of, rate };
    let program = |name: &str, ops| Program { name: name.to_owned(), ops };
    let programs = vec![program("message", steps.message(workers)), program("worker", steps.worker())];

    let mut set = TaskSet { programs, channels: vec![], tasks: vec![] };
    let cpus = values.get("cpus") as u32;
    for thread in 0..message_threads {
        let first = set.channels.len() as u32;
        let mut channel = |name: String, capacity| set.channels.push(Channel::new(name, capacity));
        if rate == 0 {
            channel(format!("list {thread}"), 1);
        } else {
            (0..workers).for_each(|worker| channel(format!("requests {thread}.{worker}"), BATCH + 1));
        }
        let all: Vec<u32> = (first..set.channels.len() as u32).collect();
        let mut task = |name: String, program, channels: Vec<u32>, on: Vec<u32>| {
            let start_ns = set.tasks.len() as u64 * values.get("start");
            let affinity = (cpus != 0).then_some(on);
            set.tasks.push(Task { process: Some(0), affinity, ..Task::plain(name, program, channels, start_ns) });
        };
        task(format!("message {thread}"), 0, all.clone(), vec![thread % cpus.max(1)]);
        // With as many message threads as CPUs none would be left; schbench's set has CPUs that do not exist, then.
        let left: Vec<u32> = (message_threads.min(cpus.saturating_sub(1))..cpus).collect();
        for worker in 0..workers {
            let own = if rate == 0 { all.clone() } else { vec![all[worker as usize]] };
            task(format!("worker {thread}.{worker}"), 1, own, left.clone());
        }
    }
    set
}

/// The steps of the two programs.
#[derive(Clone, Copy, Debug)]
struct Steps<'a> {
    values: &'a Values,
    of: Of,
    /// Requests that each message thread hands out in a second; 0 if workers ask for them.
    rate: u64,
}

impl Steps<'_> {
    fn work(self, ns: u64) -> Work {
        Work::uniform(ns, self.values.get("jitter") as u32)
    }

    fn run(self, name: &str) -> Op {
        Op::Run(self.work(self.values.get(name)))
    }

    /// A message thread, by what hands out requests.
    fn message(self, workers: u32) -> Vec<Op> {
        if self.rate == 0 {
            let each = self.work(self.values.get("post"));
            let (wait, serve) = (Call::Await { list: OWN }, Call::Serve { list: OWN, each });
            return vec![Op::Call(wait), self.run("wait"), Op::Call(serve), Op::Repeat { to: 0, times: None }];
        }
        // The workers in turn; what is left of a second begins with the first again.
        let (rounds, rest) = (self.rate / u64::from(workers), (self.rate % u64::from(workers)) as u32);
        let send = |worker| [self.run("post"), Op::Send { channel: worker, sync: false }];
        let mut ops = Vec::new();
        if rounds > 0 {
            ops.extend((0..workers).flat_map(send));
            ops.push(Op::Repeat { to: 0, times: Some(rounds as u32) });
        }
        ops.extend((0..rest).flat_map(send));
        // It sleeps for what the second has left.
        let next = Call::Timer { timer: 0, period_ns: 1_000_000_000, mode: crate::TimerMode::Relative };
        ops.extend([Op::Call(next), Op::Repeat { to: 0, times: None }]);
        ops
    }

    fn worker(self) -> Vec<Op> {
        let mut ops = match self.rate {
            0 => vec![self.run("post"), Op::Call(Call::Ask { list: OWN }), self.run("wait")],
            _ => vec![Op::Recv { channel: OWN }, self.run("wait")],
        };
        ops.push(if self.of == Of::Wakeup { Op::Done } else { Op::Begin });
        let sleep = self.values.get("sleep");
        if sleep > 0 {
            ops.push(Op::Sleep(Work::uniform(sleep * 1_000, 0)));
        }
        let work = Work::uniform(self.operations(), WORK_JITTER_PCT);
        if work.ns > 0 {
            let locked = self.values.get("locking") != 0;
            ops.push(if locked { Op::Call(Call::RunCpuLocked(work)) } else { Op::Run(work) });
        }
        if self.of == Of::Request {
            ops.push(Op::Done);
        }
        ops.push(Op::Repeat { to: 0, times: None });
        ops
    }

    /// The work of a request, ns.
    fn operations(self) -> u64 {
        // sqrt(cache_footprint_kb * 1024 / 3 / sizeof(unsigned long))
        let size = (self.values.get("footprint") * 1024 / 3 / 8).isqrt();
        let ps = u128::from(size).pow(3)
            * u128::from(self.values.get("operations"))
            * u128::from(self.values.get("multiply"));
        // Ten seconds are more than any request takes.
        u64::try_from(ps / 1000).unwrap_or(u64::MAX).min(ParamDef::MAX_NS)
    }
}
