//! sysbench's OLTP scripts on MySQL: client threads, and mysqld's thread of each connection.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::model::connections::{Connections, REPLY, REQUEST, SHARED, barrier};
use crate::model::params;
use crate::{Call, Op, Work};

const CASES: [Case; 2] = [
    case("oltp_read_write", "10 point selects, 4 range selects, 2 updates, a delete and an insert in a transaction"),
    case("oltp_read_only", "10 point selects and 4 range selects in a transaction"),
];

const fn case(name: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric: "throughput", unit: "trans/s", higher_is_better: true }
}

const FIT: &str = "assumed: with the other statements, so that a client makes the 262 transactions a second that each \
     of the 8 of the posting of 2019 does; rows are in memory";

const fn statement(name: &'static str, value: u64, low: u64, high: u64) -> ParamDef {
    ParamDef { origin: FIT, ..params::call(name, value, low, high) }
}

/// The costs of a statement in mysqld, and of what is around it.
const OWN: [ParamDef; 9] = [
    params::call("write", 1_200, 500, 3_000),
    params::call("read", 900, 400, 2_000),
    ParamDef {
        origin: "assumed: the script in Lua and the client library, between two statements",
        ..params::call("client", 20_000, 5_000, 50_000)
    },
    statement("begin", 20_000, 5_000, 40_000),
    statement("point", 90_000, 30_000, 150_000),
    statement("range", 280_000, 100_000, 500_000),
    statement("change", 180_000, 80_000, 400_000),
    ParamDef {
        origin: "assumed: the redo log's mutex is held for this at a commit; 3% of the time at 3700 commits a second",
        ..params::call("log", 8_000, 2_000, 30_000)
    },
    ParamDef {
        origin: "assumed: the disk's write of the log, a sleep at each commit that has changed rows; what the \
                 posting's disk was, and whether it waited at all (innodb_flush_log_at_trx_commit), is not known",
        ..params::call("flush", 100_000, 0, 2_000_000)
    },
];

/// The number of the log's mutex.
const LOG: u32 = SHARED;

/// A statement of a transaction. BEGIN and COMMIT cost the same beside the log, as neither has rows.
#[derive(Clone, Copy, Debug)]
enum Statement {
    Begin,
    Point,
    Range,
    Change,
    Commit { changed: bool },
}

/// sysbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sysbench;

impl Benchmark for Sysbench {
    fn name(&self) -> &'static str {
        "sysbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N client threads (--threads), each with a connection to mysqld on the same machine over a Unix socket, and \
         mysqld's thread of that connection. A client sends a statement and waits for its rows.\n\n\
         A transaction is BEGIN, the statements of the script, and COMMIT, with the script's own numbers of each. All \
         rows are in memory. A commit that has changed rows takes the redo log's mutex for a moment, and waits for \
         the disk; no other lock is in the model. Clients are started one after another and go at one moment.\n\n\
         A message wakes its reader from task context with the sync hint (sock_def_readable())."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        let changes = Self::changes(case);
        let own = OWN.into_iter().filter(|def| changes || !["change", "log", "flush"].contains(&def.name));
        own.chain([params::JITTER, params::CLONE]).collect()
    }

    fn load_label(&self, _: &Case, threads: u32) -> String {
        if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
    }

    fn nr_tasks(&self, _: &Case, threads: u32, _: &Values) -> u64 {
        Connections::nr_tasks(threads, 1)
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // A transaction is 4 ms.
        ShortestRun { settle_ns: 0, time_ns: 400_000_000 }
    }

    fn build(&self, case: &Case, threads: u32, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let ns = |ns| Op::Run(Work::uniform(ns, jitter_pct));
        let run = |name| ns(values.get(name));
        let message = |channel| Op::Send { channel, sync: true };
        let (mut server, mut client) = (Vec::new(), vec![barrier(), Op::Begin]);
        for statement in transaction(Self::changes(case)) {
            client.extend([run("client"), run("write"), message(REQUEST), Op::Recv { channel: REPLY }, run("read")]);
            server.extend([Op::Recv { channel: REQUEST }, run("read")]);
            match statement {
                Statement::Begin | Statement::Commit { changed: false } => server.push(run("begin")),
                Statement::Point => server.push(run("point")),
                Statement::Range => server.push(run("range")),
                Statement::Change => server.push(run("change")),
                Statement::Commit { changed: true } => {
                    server.extend([run("begin"), Op::Call(Call::Lock { mutex: LOG }), run("log")]);
                    server.push(Op::Call(Call::Unlock { mutex: LOG }));
                    server.push(Op::Call(Call::Io(Work::uniform(values.get("flush"), jitter_pct))));
                }
            }
            server.extend([run("write"), message(REPLY)]);
        }
        server.push(Op::Repeat { to: 0, times: None });
        client.extend([Op::Done, Op::Repeat { to: 1, times: None }]);
        Connections {
            clients: threads,
            server: ("mysqld", server),
            client: ("client", client),
            main: Some("sysbench"),
            daemon: None,
            start_ns: values.get("start"),
            shared: if Self::changes(case) { vec!["log"] } else { vec![] },
            others: vec![],
        }
        .build()
    }
}

impl Sysbench {
    fn changes(case: &Case) -> bool {
        case.name == CASES[0].name
    }
}

/// The statements of a transaction, by the script's defaults (oltp_common.lua of sysbench 1.0).
fn transaction(changes: bool) -> Vec<Statement> {
    let mut all = vec![Statement::Begin];
    all.extend([Statement::Point; 10]);
    all.extend([Statement::Range; 4]);
    if changes {
        all.extend([Statement::Change; 4]);
    }
    all.push(Statement::Commit { changed: changes });
    all
}
