//! schbench: message threads that wake workers, and the time until a worker runs.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::metric::{LATENCY_90PCT, LATENCY_99PCT};
use crate::model::params::{self, option};
use crate::model::requests;
use crate::{Call, Channel, Op, Program, Task, Work};

/// schbench as it was until April 2023.
const CASES: [Case; 2] = [
    case("normal", LATENCY_90PCT, "message threads (-m N) with 28 workers each; the load is the message threads"),
    case("workers", LATENCY_99PCT, "the same; the load is the workers of each message thread (-t N)"),
];

/// All cases: these, and those of today's schbench.
const ALL: [Case; 2 + requests::CASES.len()] = {
    let mut all = [CASES[0]; 2 + requests::CASES.len()];
    all[1] = CASES[1];
    let mut i = 0;
    while i < requests::CASES.len() {
        all[2 + i] = requests::CASES[i];
        i += 1;
    }
    all
};

const fn case(name: &'static str, metric: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric, unit: "us", higher_is_better: false }
}

/// An option of schbench.
const THREADS: ParamDef = option(
    "threads",
    "",
    28,
    [1, 512, 100_000],
    "schbench.c (-t): workers of each message thread; 16 there, 28 in postings",
);
const MESSAGE_THREADS: ParamDef = option("message_threads", "", 2, [1, 2, 10_000], "schbench.c (-m): 2 if left out");
/// The program changed what it does twice without a new name.
const VERSION: ParamDef = option(
    "version",
    "",
    2021,
    [2016, 2021, 2021],
    "schbench.c by its year: 2016 to October 2020, 2020 (from abe4f968db8b on), 2021 (2eef44790a4e, the newest from \
     December 2021 to April 2023)",
);
/// The first version whose message threads spin.
const MESSAGE_THREADS_SPIN: u64 = 2020;
/// The first version whose latency is what a request takes beyond its work.
const LATENCY_OF_REQUEST: u64 = 2021;
const TIMES: [ParamDef; 3] = [
    option(
        "sleeptime",
        "us",
        30_000,
        [0, 100_000, 10_000_000],
        "schbench.c (-s): how long a message thread sleeps before it answers",
    ),
    option(
        "cputime",
        "us",
        30_000,
        [0, 100_000, 10_000_000],
        "schbench.c (-c): how long a worker spins before it asks again",
    ),
    option(
        "message_cputime",
        "us",
        30_000,
        [0, 30_000, 10_000_000],
        "schbench.c: how long a message thread spins before it sleeps, from October 2020 on; -C sets it to itself, so \
         that it is always 30000",
    ),
];

/// The costs of system calls.
const COSTS: [ParamDef; 2] = [params::call("post", 350, 150, 900), params::call("wait", 300, 100, 800)];

/// schbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schbench;

/// The list of a message thread: its task's only resource.
const LIST: u32 = 0;

impl Schbench {
    /// Message threads, and workers of each.
    fn threads(case: &Case, load: u32, values: &Values) -> (u32, u32) {
        if by_workers(case) {
            (values.get("message_threads") as u32, load)
        } else {
            (load, values.get("threads") as u32)
        }
    }
}

fn by_workers(case: &Case) -> bool {
    case.name == CASES[1].name
}

impl Benchmark for Schbench {
    fn name(&self) -> &'static str {
        "schbench"
    }

    fn cases(&self) -> &'static [Case] {
        &ALL
    }

    fn doc(&self) -> &'static str {
        "Message threads with workers. A worker puts itself on the list of its message thread, wakes that, waits, and \
         spins for cputime. The message thread waits until somebody is on its list, spins for message_cputime, sleeps \
         for sleeptime and up to a quarter more, takes the time, and wakes all that are on the list, the last that \
         came first. With a sleeptime of 0 it does not wait, and spins all the time.\n\n\
         The latency is from that time, which is one for all that are woken, until the worker has spun, less cputime: \
         it holds the wake-ups of those before it, and what the worker waits for a CPU after its time is over. A \
         message thread that is preempted shows.\n\n\
         This is schbench as it was from December 2021 to April 2023. Before (version = 2020), workers spun first, and \
         the latency ended when the worker read the clock after its wake-up. Until October 2020 (version = 2016) \
         message threads did not spin, and always waited. Workers are started by the message thread, which is started \
         by a main task."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        if requests::has(case) {
            return requests::parameters(case);
        }
        let count = if by_workers(case) { MESSAGE_THREADS } else { THREADS };
        [count, VERSION].into_iter().chain(TIMES).chain(COSTS).chain([params::JITTER, params::CLONE]).collect()
    }

    fn load_label(&self, case: &Case, n: u32) -> String {
        match n {
            n if by_workers(case) || requests::has(case) => n.to_string(),
            1 => "1 mthread".to_owned(),
            n => format!("{n} mthreads"),
        }
    }

    fn nr_tasks(&self, case: &Case, load: u32, values: &Values) -> u64 {
        if requests::has(case) {
            return requests::nr_tasks(load, values);
        }
        let (message_threads, workers) = Self::threads(case, load, values);
        u64::from(message_threads) * (1 + u64::from(workers))
    }

    fn shortest_run(&self, case: &Case) -> ShortestRun {
        if requests::has(case) {
            // A request takes 5 ms; a second is one number of the RPS.
            let seconds = if case.metric.starts_with("rate_") { 10 } else { 2 };
            return ShortestRun { settle_ns: 0, time_ns: seconds * 1_000_000_000 };
        }
        // A round takes 94 ms, and a percentile needs many of each worker.
        ShortestRun { settle_ns: 0, time_ns: 10_000_000_000 }
    }

    fn build(&self, case: &Case, load: u32, values: &Values) -> TaskSet {
        if requests::has(case) {
            return requests::build(case, load, values);
        }
        let (message_threads, workers) = Self::threads(case, load, values);
        let jitter_pct = values.get("jitter") as u32;
        let work = |name| Work::uniform(values.get(name), jitter_pct);
        let us = |name| values.get(name) * 1000;
        // Uniform from sleeptime to a quarter more; 11% is the nearest.
        let sleep = Work::uniform(us("sleeptime") * 9 / 8, 11);
        let version = values.get("version");
        let message = {
            let mut ops =
                vec![Op::Fork { program: 1 }, Op::Run(work("start")), Op::Repeat { to: 0, times: Some(workers) }];
            let spins = version >= MESSAGE_THREADS_SPIN;
            if !spins || us("sleeptime") > 0 {
                ops.push(Op::Call(Call::Await { list: LIST }));
            }
            if spins {
                // The look at the list of one that neither waits nor sleeps takes time, too.
                ops.push(Op::Run(work("wait")));
                ops.push(Op::Call(Call::SpinFor { ns: us("message_cputime"), counts: true }));
            }
            ops.push(Op::Sleep(sleep));
            ops.push(Op::Call(Call::Serve { list: LIST, each: work("post") }));
            ops.push(Op::Repeat { to: 3, times: None });
            ops
        };
        let worker = {
            let request = version >= LATENCY_OF_REQUEST;
            let spin = Op::Call(Call::SpinFor { ns: us("cputime"), counts: !request });
            let ask = [Op::Run(work("post")), Op::Call(Call::Ask { list: LIST }), Op::Run(work("wait"))];
            let mut ops = if request { Vec::new() } else { vec![spin] };
            ops.extend(ask);
            ops.extend(request.then_some(spin));
            ops.extend([Op::Done, Op::Repeat { to: 0, times: None }]);
            ops
        };
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let task = |i: u32| Task {
            name: format!("message thread {i}"),
            program: 0,
            channels: [i].into(),
            start_ns: u64::from(i) * values.get("start"),
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
        };
        TaskSet {
            programs: vec![program("message thread", message), program("worker", worker)],
            channels: (0..message_threads).map(|i| Channel::new(format!("list {i}"), 1)).collect(),
            tasks: (0..message_threads).map(task).collect(),
        }
    }
}
