//! tbench: dbench's load of SMB requests without the files, over TCP on the loopback device.

use crate::Op;
use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::model::connections::{Connections, REPLY, REQUEST, barrier};
use crate::model::params;
use crate::model::smb_mix::{self, Request};
use crate::model::tcp::{self, Tcp};

const CASES: [Case; 1] = [Case {
    name: "loopback",
    doc: "clients that each run a mix of SMB requests against a server process of their own (tbench N 127.0.0.1)",
    metric: "throughput",
    unit: "requests/s",
    higher_is_better: true,
}];

/// A number of the model beside those of netperf's TCP path.
const fn own(name: &'static str, unit: &'static str, value: u64, range: [u64; 2], origin: &'static str) -> ParamDef {
    ParamDef { name, unit, value, low: range[0], high: range[1], max: ParamDef::MAX_NS, origin }
}

const OWN: [ParamDef; 4] = [
    own(
        "header",
        "ns",
        300,
        [150, 600],
        "assumed: both sides read the length of a message by a call of its own (read_sock() of 4)",
    ),
    own(
        "parse",
        "ns",
        700,
        [200, 1500],
        "assumed: fgets() and sscanf() of a line of the load file, between two requests",
    ),
    own("bytes", "B", 12_288, [4_096, 24_576], BYTES),
    tcp::COPY,
];

const BYTES: &str =
    "assumed: the mean of a ReadX or WriteX; sizes are 1/8 to 4 of it, 64 KiB at most, most of them small";

/// tbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tbench;

impl Benchmark for Tbench {
    fn name(&self) -> &'static str {
        "tbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N clients and N processes of tbench_srv, connected over TCP on the loopback device. A client sends a \
         request, waits for the reply, and takes the next line of its load file; requests are most often a hundred \
         bytes, reads and writes up to 64 KiB.\n\n\
         Clients are forked one after another, connect, and wait at a barrier; tbench lets all go at one moment when \
         the last is there. A message goes the way of netperf's TCP_RR: the wake-up is in softirq context on the \
         sender's CPU, with the sync hint.\n\n\
         tbench prints MB/s, counting what is read and written. The model counts requests, in a mix that does not \
         change: MB/s is 10 data requests of 29, times bytes, times this."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        let path = tcp::PATH;
        path.into_iter().chain(OWN).chain([params::JITTER, params::FORK]).collect()
    }

    fn load_label(&self, _: &Case, clients: u32) -> String {
        format!("{clients} threads")
    }

    fn nr_tasks(&self, _: &Case, clients: u32, _: &Values) -> u64 {
        2 + 2 * u64::from(clients)
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // It starts with all CPUs busy, and SIS_UTIL has no limit until the LLC's first periodic balance: 1.8 s on 112
        // CPUs.
        ShortestRun { settle_ns: 2_000_000_000, time_ns: 0 }
    }

    fn build(&self, _: &Case, clients: u32, values: &Values) -> TaskSet {
        let requests = smb_mix::round(values.get("bytes"));
        let costs = Costs { tcp: Tcp::of(values), header: values.get("header"), parse: values.get("parse") };
        Connections {
            clients,
            server: ("server", server(&requests, &costs)),
            client: ("client", client(&requests, &costs)),
            main: Some("tbench"),
            daemon: Some("tbench_srv"),
            start_ns: values.get("start"),
            shared: vec![],
            others: vec![],
        }
        .build()
    }
}

/// The bytes each way that a client and its server exchange when it has connected.
const CONNECT: u64 = 8;

/// The costs of the steps.
struct Costs {
    tcp: Tcp,
    header: u64,
    parse: u64,
}

impl Costs {
    /// `read()` of the length and of the message.
    fn read(&self, bytes: u64, channel: u32) -> [Op; 2] {
        self.tcp.read(bytes, channel, self.header)
    }
}

fn server(requests: &[Request], costs: &Costs) -> Vec<Op> {
    let mut ops = Vec::new();
    let requests = requests.iter().map(|request| (request.sent, request.received));
    for (sent, received) in [(CONNECT, CONNECT)].into_iter().chain(requests) {
        ops.extend(costs.read(sent, REQUEST));
        ops.extend(costs.tcp.write(0, received, REPLY));
    }
    ops.push(Op::Repeat { to: 5, times: None });
    ops
}

fn client(requests: &[Request], costs: &Costs) -> Vec<Op> {
    let mut ops = Vec::new();
    ops.extend(costs.tcp.write(0, CONNECT, REQUEST));
    ops.extend(costs.read(CONNECT, REPLY));
    ops.push(barrier());
    let to = ops.len() as u32;
    for request in requests {
        ops.push(Op::Begin);
        ops.extend(costs.tcp.write(costs.parse, request.sent, REQUEST));
        ops.extend(costs.read(request.received, REPLY));
        ops.push(Op::Done);
    }
    ops.push(Op::Repeat { to, times: None });
    ops
}
