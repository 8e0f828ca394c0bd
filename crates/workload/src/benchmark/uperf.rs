//! uperf's pingpong profile: pairs of threads that write a message to each other and read it, over TCP on the loopback
//! device.

use crate::Op;
use crate::benchmark::{Benchmark, Case, ParamDef, TaskSet, Values};
use crate::model::connections::{Connections, REPLY, REQUEST, barrier};
use crate::model::params;
use crate::model::tcp::{self, Tcp};

const CASES: [Case; 1] = [Case {
    name: "pingpong",
    doc: "a profile of write and read of one size on both sides; the load is nthreads",
    metric: "throughput",
    unit: "rounds/s",
    higher_is_better: true,
}];

const OWN: [ParamDef; 2] = [
    ParamDef {
        name: "size",
        unit: "B",
        value: 8192,
        low: 1024,
        high: 16_384,
        max: 65_536,
        origin: "assumed: 8k as the posting of 2019 is remembered to say, whose table does not have it; with it and \
                 in Gbit/s, its 8 threads make a round in 23 us",
    },
    ParamDef {
        origin: "assumed: uperf reads the clock and counts at each step of a profile (a flowop)",
        ..params::call("flowop", 1_000, 300, 3_000)
    },
];

/// uperf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uperf;

impl Benchmark for Uperf {
    fn name(&self) -> &'static str {
        "uperf"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N threads of the master and N of the slave, a connection each, over TCP on the loopback device. A thread \
         writes a message of size bytes and reads one as long; its partner reads and writes.\n\n\
         The threads meet at a barrier before the transaction that is measured, and go at one moment. A message goes \
         the way of netperf's TCP_RR and is copied by the byte on both sides. uperf prints the bytes of both \
         directions in a second: 16 × size × rounds are its bits."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        tcp::params().into_iter().chain(OWN).chain([params::JITTER, params::CLONE]).collect()
    }

    fn load_label(&self, _: &Case, threads: u32) -> String {
        if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
    }

    fn nr_tasks(&self, _: &Case, threads: u32, _: &Values) -> u64 {
        Connections::nr_tasks(threads, 1)
    }

    fn build(&self, _: &Case, threads: u32, values: &Values) -> TaskSet {
        let tcp = Tcp::of(values);
        let (size, flowop) = (values.get("size"), values.get("flowop"));
        let mut slave = Vec::new();
        slave.extend(tcp.read(size, REQUEST, 0));
        slave.extend(tcp.write(2 * flowop, size, REPLY));
        slave.push(Op::Repeat { to: 0, times: None });
        let mut master = vec![barrier(), Op::Begin];
        master.extend(tcp.write(flowop, size, REQUEST));
        master.extend(tcp.read(size, REPLY, flowop));
        master.extend([Op::Done, Op::Repeat { to: 1, times: None }]);
        Connections {
            clients: threads,
            server: ("slave", slave),
            client: ("master", master),
            main: Some("uperf"),
            daemon: None,
            start_ns: values.get("start"),
            shared: vec![],
            others: vec![],
        }
        .build()
    }
}
