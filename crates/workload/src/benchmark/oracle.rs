//! An OLTP mix with many users on an Oracle database: user processes that think, the shadow process of each, and the
//! log writer.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::model::connections::{Connections, REPLY, REQUEST, SHARED, barrier};
use crate::model::params;
use crate::model::tcp::{self, Tcp};
use crate::{Call, Op, Work};

const CASES: [Case; 1] = [Case {
    name: "oltp",
    doc: "a mix of short transactions, by dedicated servers; the load is the users",
    metric: "throughput",
    unit: "trans/s",
    higher_is_better: true,
}];

const UNKNOWN: &str = "assumed: the posting of 2019 says no more than \"Oracle DB\" and the users; a value at which \
     its 220 users keep 44 cores and their siblings about two thirds busy";

const fn own(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

const OWN: [ParamDef; 8] = [
    own("think", 4_000_000, 0, 20_000_000, UNKNOWN),
    own("client", 20_000, 5_000, 50_000, "assumed: the user process between two calls"),
    own("call", 220_000, 50_000, 600_000, UNKNOWN),
    own(
        "latch",
        2_000,
        500,
        10_000,
        "assumed: a latch of the buffer cache or library cache, held for this in each call",
    ),
    own("redo", 30_000, 10_000, 100_000, "assumed: the log writer's own work for a write of the log"),
    own(
        "disk",
        250_000,
        0,
        2_000_000,
        "assumed: the disk's write of the log, a sleep; the posting's disk is not known",
    ),
    own("post", 2_000, 500, 6_000, "assumed: the log writer posts each process that waits by a semop() of its own"),
    own("wait", 1_500, 400, 5_000, "assumed: back from the semaphore that a commit waits at"),
];

/// The numbers of what all share.
const LOG: u32 = SHARED;
const LATCH: u32 = SHARED + 1;

/// Calls of a transaction beside its commit.
const CALLS: usize = 5;
/// Bytes of a call and of its answer.
const BYTES: [u64; 2] = [300, 1_000];

/// An Oracle database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oracle;

impl Benchmark for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N users, each with a dedicated server process (shadow) that it is connected to over TCP on the loopback \
         device. A user thinks, makes five calls of a few hundred microseconds, commits, and thinks again.\n\n\
         A commit asks the log writer, which is one process: it takes all that ask at one moment, writes (a sleep), \
         and posts one after another. A latch that all share is held for a moment in each call; a process that finds \
         it taken sleeps. The posting of 2019 does not describe its mix: all of this is assumed."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        tcp::params().into_iter().chain(OWN).chain([params::JITTER, params::FORK]).collect()
    }

    fn load_label(&self, _: &Case, users: u32) -> String {
        if users == 1 { "1 user".to_owned() } else { format!("{users} users") }
    }

    fn nr_tasks(&self, _: &Case, users: u32, _: &Values) -> u64 {
        Connections::nr_tasks(users, 2)
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // A transaction with its thought is 6 ms.
        ShortestRun { settle_ns: 0, time_ns: 500_000_000 }
    }

    fn build(&self, _: &Case, users: u32, values: &Values) -> TaskSet {
        let tcp = Tcp::of(values);
        let jitter_pct = values.get("jitter") as u32;
        let work = |name| Work::uniform(values.get(name), jitter_pct);
        let run = |name| Op::Run(work(name));
        let (mut shadow, mut user) = (Vec::new(), vec![barrier()]);
        // Thoughts differ more than work does.
        user.extend([Op::Sleep(Work::uniform(values.get("think"), 50)), Op::Begin]);
        for call in 0..=CALLS {
            user.extend(tcp.write(values.get("client"), BYTES[0], REQUEST));
            user.extend(tcp.read(BYTES[1], REPLY, 0));
            shadow.extend(tcp.read(BYTES[0], REQUEST, 0));
            if call < CALLS {
                let latch = [Op::Call(Call::Lock { mutex: LATCH }), run("latch")];
                shadow.extend(latch);
                shadow.extend([Op::Call(Call::Unlock { mutex: LATCH }), run("call")]);
            } else {
                shadow.extend([Op::Call(Call::Ask { list: LOG }), run("wait")]);
            }
            shadow.extend(tcp.write(0, BYTES[1], REPLY));
        }
        shadow.push(Op::Repeat { to: 0, times: None });
        user.extend([Op::Done, Op::Repeat { to: 1, times: None }]);
        let log_writer = vec![
            Op::Call(Call::Await { list: LOG }),
            run("redo"),
            Op::Call(Call::Io(work("disk"))),
            Op::Call(Call::Serve { list: LOG, each: work("post") }),
            Op::Repeat { to: 0, times: None },
        ];
        Connections {
            clients: users,
            server: ("shadow", shadow),
            client: ("user", user),
            main: Some("driver"),
            daemon: None,
            start_ns: values.get("start"),
            shared: vec!["log", "latch"],
            others: vec![("log writer", log_writer)],
        }
        .build()
    }
}
