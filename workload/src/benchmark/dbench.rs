//! dbench: clients that replay a load file of SMB requests as calls on a local file system.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::metric::FRAME_MEAN;
use crate::model::params;
use crate::model::smb_mix::{self, Kind, Request};
use crate::{Call, Channel, Op, Program, Task, Work};

const CASES: [Case; 2] = [
    Case {
        name: "fileio",
        doc: "client processes that each replay the mix on files of their own (dbench N)",
        metric: "throughput",
        unit: "requests/s",
        higher_is_better: true,
    },
    Case {
        name: "loadfile",
        doc: "the same; the mean time in which a client goes through the load file",
        metric: FRAME_MEAN,
        unit: "ms",
        higher_is_better: false,
    },
];

/// How long a load file is.
const ROUNDS: ParamDef = ParamDef {
    name: "rounds",
    unit: "",
    value: 150,
    low: 100,
    high: 200,
    max: 1_000_000,
    origin: "assumed: rounds of 29 requests in a load file; so that it is the 18.5 MB which a client moves in the base \
             of the posting of NEXT_BUDDY (1269 MB/s, and 14.6 ms a load file; with 160 clients 7667 MB/s and 401 ms)",
};

const FIT: &str = "assumed: with the others, so that a client moves the 630 MB/s of the posting of 2019";
const PLATEAU: &str = "assumed: what calls that change directories, or grow files, do one after another in the file \
     system's journal; with the wake-ups of who waits, fitted to the plateau of the posting of 2019 (2900 MB/s)";
const BYTES: &str = "assumed: the mean of a ReadX or WriteX, as of tbench, which replays the same file";

const fn own(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

const OWN: [ParamDef; 10] = [
    own("parse", 700, 200, 1_500, "assumed: fgets() and sscanf() of a line of the load file, between two requests"),
    own("open", 5_000, 1_500, 10_000, FIT),
    own("close", 1_500, 500, 4_000, FIT),
    own("stat", 2_500, 800, 6_000, FIT),
    own("find", 12_000, 4_000, 40_000, FIT),
    own("unlink", 5_500, 1_500, 12_000, FIT),
    own("io", 1_500, 500, 4_000, FIT),
    ParamDef { unit: "B", ..own("bytes", 12_288, 4_096, 24_576, BYTES) },
    own("journal", 3_500, 1_000, 15_000, PLATEAU),
    own(
        "disk",
        100_000,
        0,
        10_000_000,
        "assumed: one Flush in three rounds waits so long for the disk, a sleep; nothing else does, as all is in the \
         page cache; what the posting's disk and file system were is not known",
    ),
];

const COPY: ParamDef = ParamDef { origin: "assumed: 10 GB/s, by caches", ..crate::model::tcp::COPY };

/// dbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dbench;

/// The numbers of a task's resources.
const START: u32 = 0;
const JOURNAL: u32 = 1;

impl Benchmark for Dbench {
    fn name(&self) -> &'static str {
        "dbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N client processes that go through tbench's mix of requests as system calls on a local file system, with no \
         network and no server.\n\n\
         Files are in the page cache. Opens, unlinks and writes do a part of their work under one lock, the \
         journal's, which sleeps when it is taken; one flush in three rounds waits for the disk, a sleep. The disk's \
         queue, writeback, and that kernel locks spin before they sleep are not in the model: the fall of throughput \
         beyond 32 clients is not either.\n\n\
         dbench prints MB/s: 10 data requests of 29, times bytes, times this; mmtests' dbench the time for a load \
         file, too, which is rounds times the 29."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        let rounds = by_loadfile(case).then_some(ROUNDS);
        OWN.into_iter().chain(rounds).chain([COPY, params::JITTER, params::FORK]).collect()
    }

    fn published_run(&self, case: &Case) -> ShortestRun {
        // 160 clients take a second and more for a load file each.
        if by_loadfile(case) { ShortestRun { settle_ns: 0, time_ns: 2_500_000_000 } } else { ShortestRun::default() }
    }

    fn load_label(&self, _: &Case, clients: u32) -> String {
        if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") }
    }

    fn nr_tasks(&self, _: &Case, clients: u32, _: &Values) -> u64 {
        1 + u64::from(clients)
    }

    fn build(&self, case: &Case, clients: u32, values: &Values) -> TaskSet {
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let meet = Op::Call(Call::Barrier { barrier: START });
        let task = |name: String, program, i: u32| {
            Task::plain(name, program, vec![START, JOURNAL], u64::from(i) * values.get("start"))
        };
        let mut tasks: Vec<Task> = (0..clients).map(|i| task(format!("client {i}"), 0, i)).collect();
        tasks.push(task("dbench".to_owned(), 1, clients));
        TaskSet {
            programs: vec![program("client", client(case, meet, values)), program("dbench", vec![meet])],
            channels: vec![Channel::new("start", clients + 1), Channel::new("journal", 1)],
            tasks,
        }
    }
}

/// Rounds for one flush.
const FLUSH_ROUNDS: u32 = 3;

fn by_loadfile(case: &Case) -> bool {
    case.name == CASES[1].name
}

fn client(case: &Case, meet: Op, values: &Values) -> Vec<Op> {
    let jitter_pct = values.get("jitter") as u32;
    let loadfile = by_loadfile(case);
    let mut ops = vec![meet];
    if loadfile {
        ops.push(Op::Begin);
    }
    let first = ops.len() as u32;
    for request in smb_mix::round(values.get("bytes")) {
        ops.extend((!loadfile).then_some(Op::Begin));
        call(&request, values, &mut ops);
        ops.extend((!loadfile).then_some(Op::Done));
    }
    ops.push(Op::Repeat { to: first, times: Some(FLUSH_ROUNDS) });
    ops.push(Op::Call(Call::Io(Work::uniform(values.get("disk"), jitter_pct))));
    if loadfile {
        // Whole flushes, as the rounds between two of them are few.
        let flushes = (values.get("rounds") as u32).div_ceil(FLUSH_ROUNDS).max(1);
        ops.extend([Op::Repeat { to: first, times: Some(flushes) }, Op::Done]);
    }
    ops.push(Op::Repeat { to: 1, times: None });
    ops
}

/// What a request is on a file system.
fn call(request: &Request, values: &Values, ops: &mut Vec<Op>) {
    let run = |ns| Op::Run(Work::uniform(ns, values.get("jitter") as u32));
    // What a message has beside its data is copied from nowhere.
    let copied = |bytes: u64| bytes * values.get("copy") / 1000;
    let (own, journal) = match request.kind {
        Kind::Open => (values.get("open"), true),
        Kind::Close => (values.get("close"), false),
        Kind::Query => (values.get("stat"), false),
        Kind::Find => (values.get("find"), false),
        Kind::Unlink => (values.get("unlink"), true),
        Kind::Read => (values.get("io") + copied(request.received), false),
        Kind::Write => (values.get("io") + copied(request.sent), true),
    };
    ops.push(run(values.get("parse") + own));
    if journal {
        ops.push(Op::Call(Call::Lock { mutex: JOURNAL }));
        ops.push(run(values.get("journal")));
        ops.push(Op::Call(Call::Unlock { mutex: JOURNAL }));
    }
}
