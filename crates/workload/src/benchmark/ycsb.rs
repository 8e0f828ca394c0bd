//! YCSB on MongoDB: client threads of YCSB, and mongod's thread of each connection.

use crate::Op;
use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::model::connections::{Connections, REPLY, REQUEST, barrier};
use crate::model::params;
use crate::model::tcp::{self, Tcp};

const CASES: [Case; 1] = [Case {
    name: "mongodb",
    doc: "alternating reads and updates (workloada); the load is the number of YCSB processes, of -threads threads \
          each",
    metric: "throughput",
    unit: "ops/s",
    higher_is_better: true,
}];

const OWN: [ParamDef; 4] = [
    ParamDef {
        name: "threads",
        unit: "",
        value: 64,
        low: 16,
        high: 256,
        max: 10_000,
        origin: "assumed: -threads, which the Zen 3 posting does not give; at about 200 us an operation, 64 make its \
                 300000 a second",
    },
    ParamDef {
        origin: "assumed: YCSB and its driver in Java, between two operations",
        ..params::call("client", 60_000, 20_000, 150_000)
    },
    ParamDef {
        origin: "assumed: mongod finds a document in memory and encodes it",
        ..params::call("find", 80_000, 30_000, 200_000)
    },
    ParamDef {
        origin: "assumed: mongod changes a document in memory; its journal is written by others, and nobody waits for \
                 it",
        ..params::call("update", 120_000, 50_000, 300_000)
    },
];

/// Bytes of a query, of a document of 10 fields of 100, and of an update's answer.
const QUERY: u64 = 150;
const DOCUMENT: u64 = 1_200;
const ANSWER: u64 = 60;

/// YCSB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ycsb;

impl Benchmark for Ycsb {
    fn name(&self) -> &'static str {
        "ycsb"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "Threads of YCSB, each with a connection over TCP on the loopback device to a mongod on the same machine, \
         which serves each with a thread of its own. A thread reads a document, then changes a field of one, for \
         ever.\n\n\
         All documents are in memory, and WiredTiger's tickets are enough for all. The garbage collector of Java, the \
         checkpoints and the journal's writer are not in the model."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        tcp::params().into_iter().chain(OWN).chain([params::JITTER, params::CLONE]).collect()
    }

    fn load_label(&self, _: &Case, processes: u32) -> String {
        if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") }
    }

    fn nr_tasks(&self, _: &Case, processes: u32, values: &Values) -> u64 {
        1 + 2 * u64::from(processes) * values.get("threads")
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        ShortestRun { settle_ns: 0, time_ns: 300_000_000 }
    }

    fn build(&self, _: &Case, processes: u32, values: &Values) -> TaskSet {
        let tcp = Tcp::of(values);
        let (mut server, mut client) = (Vec::new(), vec![barrier()]);
        for (name, sent, received) in [("find", QUERY, DOCUMENT), ("update", QUERY + 100, ANSWER)] {
            client.push(Op::Begin);
            client.extend(tcp.write(values.get("client"), sent, REQUEST));
            client.extend(tcp.read(received, REPLY, 0));
            client.push(Op::Done);
            server.extend(tcp.read(sent, REQUEST, values.get(name)));
            server.extend(tcp.write(0, received, REPLY));
        }
        server.push(Op::Repeat { to: 0, times: None });
        client.push(Op::Repeat { to: 1, times: None });
        Connections {
            clients: processes * values.get("threads").max(1) as u32,
            server: ("mongod", server),
            client: ("ycsb", client),
            main: Some("main"),
            daemon: None,
            start_ns: values.get("start"),
            shared: vec![],
            others: vec![],
        }
        .build()
    }
}
