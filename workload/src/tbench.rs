//! tbench: dbench's load of SMB requests without the files, over TCP on the loopback device.

mod mix;

use crate::benchmark::{Benchmark, Case, ParamDef, Parts, Values};
use crate::netperf;
use crate::params;
use crate::{Channel, Op, Program, Task, Work};
use mix::Request;

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
    own(
        "copy",
        "ps/B",
        100,
        [60, 250],
        "assumed: 10 GB/s; each message is copied into the kernel and out of it, by caches",
    ),
];

const BYTES: &str =
    "assumed: the mean of a ReadX or WriteX; sizes are 1/8 to 4 of it, 64 KiB at most, most of them small";

/// tbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tbench;

/// The numbers of a task's resources.
const REQUEST: u32 = 0;
const REPLY: u32 = 1;
const START: u32 = 2;

impl Benchmark for Tbench {
    fn name(&self) -> &'static str {
        "tbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N clients and N processes of tbench_srv, connected over TCP on the loopback device. A client sends a request, waits \
         for the reply, and takes the next line of its load file; requests are most often a hundred bytes, reads and writes \
         up to 64 KiB.\n\n\
         Clients are forked one after another, connect, and wait at a barrier; tbench lets all go at one moment when the \
         last is there. A message goes the way of netperf's TCP_RR: the wake-up is in softirq context on the sender's CPU, \
         with the sync hint.\n\n\
         tbench prints MB/s, counting what is read and written. The model counts requests, in a mix that does not change: \
         MB/s is 10 data requests of 29, times bytes, times this."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        let path = netperf::tcp_path();
        path.into_iter().chain(OWN).chain([params::JITTER, params::FORK]).collect()
    }

    fn load_label(&self, _: &Case, clients: u32) -> String {
        format!("{clients} threads")
    }

    fn nr_tasks(&self, _: &Case, clients: u32, _: &Values) -> u64 {
        1 + 2 * u64::from(clients)
    }

    fn build(&self, _: &Case, clients: u32, values: &Values) -> Parts {
        let requests = mix::round(values.get("bytes"));
        let costs = Costs { values };
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let programs = vec![
            program("tbench_srv", server(&requests, &costs)),
            program("client", client(&requests, &costs)),
            program("tbench", vec![barrier()]),
        ];
        let channel = |name: String, capacity| Channel { name, capacity };
        let mut channels: Vec<Channel> = (0..clients)
            .flat_map(|i| [channel(format!("request {i}"), CAPACITY), channel(format!("reply {i}"), CAPACITY)])
            .collect();
        let start = channels.len() as u32;
        channels.push(channel("start".to_owned(), clients + 1));
        let task = |name: String, program, i: u32, channels| Task {
            name,
            program,
            channels,
            start_ns: u64::from(i) * values.get("start"),
            nice: 0,
            idle_policy: false,
            slice_ns: 0,
            affinity: None,
        };
        let of_client = |i: u32| {
            let channels = vec![2 * i, 2 * i + 1, start];
            [task(format!("tbench_srv {i}"), 0, i, channels.clone()), task(format!("client {i}"), 1, i, channels)]
        };
        let mut tasks: Vec<Task> = (0..clients).flat_map(of_client).collect();
        tasks.push(task("tbench".to_owned(), 2, clients, vec![start, start, start]));
        Parts { programs, channels, tasks }
    }
}

/// How many messages a direction holds. One is under way; the rest is never used.
const CAPACITY: u32 = 8;

/// What the steps cost.
struct Costs<'a> {
    values: &'a Values,
}

impl Costs<'_> {
    fn work(&self, ns: u64) -> Work {
        Work { ns, jitter_pct: self.values.get("jitter") as u32 }
    }

    fn copy(&self, bytes: u64) -> u64 {
        bytes * self.values.get("copy") / 1000
    }

    /// `write()` of so many bytes, after other work of the task.
    fn write(&self, before: u64, bytes: u64, channel: u32) -> [Op; 3] {
        let run = before + self.values.get("send") + self.copy(bytes);
        let softirq = self.values.get("softirq");
        [Op::Run(self.work(run)), Op::Softirq(self.work(softirq)), Op::Send { channel, sync: true }]
    }

    /// `read()` of the length and of the message.
    fn read(&self, bytes: u64, channel: u32) -> [Op; 2] {
        let run = self.values.get("header") + self.values.get("receive") + self.copy(bytes);
        [Op::Recv { channel }, Op::Run(self.work(run))]
    }
}

fn barrier() -> Op {
    Op::Call(crate::Call::Barrier { barrier: START })
}

fn server(requests: &[Request], costs: &Costs<'_>) -> Vec<Op> {
    let mut ops = Vec::new();
    for request in [Request::CONNECT].iter().chain(requests) {
        ops.extend(costs.read(request.sent, REQUEST));
        ops.extend(costs.write(0, request.received, REPLY));
    }
    ops.push(Op::Repeat { to: 5, times: None });
    ops
}

fn client(requests: &[Request], costs: &Costs<'_>) -> Vec<Op> {
    let mut ops = Vec::new();
    ops.extend(costs.write(0, Request::CONNECT.sent, REQUEST));
    ops.extend(costs.read(Request::CONNECT.received, REPLY));
    ops.push(barrier());
    let to = ops.len() as u32;
    for request in requests {
        ops.push(Op::Begin);
        ops.extend(costs.write(costs.values.get("parse"), request.sent, REQUEST));
        ops.extend(costs.read(request.received, REPLY));
        ops.push(Op::Done);
    }
    ops.push(Op::Repeat { to, times: None });
    ops
}
