//! netperf's request/response tests: pairs of tasks that send one byte to and fro over the loopback device.

use crate::benchmark::{Benchmark, Case, ParamDef, TaskSet, Values};
use crate::model::{params, tcp};
use crate::{Channel, Op, Program, Task, Work};

const NO_TCP: &str = "assumed: like TCP_RR, less what UDP does not do (acknowledgements, timers, sequence numbers)";

/// The values of UDP_RR for the numbers of [`tcp::PATH`].
const UDP_PATH: [u64; 3] = [1450, 620, 840];

const JITTER: ParamDef = ParamDef {
    origin: "assumed: uniform, each amount of work drawn anew; without it the pairs run in lock-step",
    ..params::JITTER
};

const RAMP: ParamDef = ParamDef {
    origin: "assumed: pairs are started one after another by a script; that takes about 100 ms at the loads of \
             interest; of its range, what makes 196 threads change state",
    ..params::call("ramp", 60_000_000, 50_000_000, 200_000_000)
};

/// Who forks the pairs: the script's shell the clients, and netserver a server for each connection (`accept()`, then
/// `fork()`). They sleep: what they do between is not in the model.
const FORKERS: [&str; 2] = ["shell", "netserver"];

/// When they sleep, ns: the first pair is forked then.
const FORKERS_SLEEP_NS: u64 = 100_000;

/// How many messages a direction holds. A request/response pair has one under way; the rest is never used.
const CAPACITY: u32 = 8;

const CASES: [Case; 2] = [
    Case {
        name: "TCP_RR",
        doc: "one request and one response of a byte at a time over TCP on the loopback device",
        metric: "throughput",
        unit: "trans/s",
        higher_is_better: true,
    },
    Case {
        name: "UDP_RR",
        doc: "one request and one response of a byte at a time over UDP on the loopback device",
        metric: "throughput",
        unit: "trans/s",
        higher_is_better: true,
    },
];

/// netperf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Netperf;

impl Benchmark for Netperf {
    fn name(&self) -> &'static str {
        "netperf"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N pairs of netperf and netserver on one machine, started one after another.\n\n\
         On the loopback device the sender's system call queues the packet and raises NET_RX, which runs on the \
         sender's own CPU as the call ends. From there sock_def_readable() wakes the receiver with the sync hint: the \
         wake-up is in softirq context, its CPU is the sender's and the task it interrupts is the sender."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        let udp = case.name == CASES[1].name;
        let of_udp = |(tcp, value)| if udp { ParamDef { value, origin: NO_TCP, ..tcp } } else { tcp };
        tcp::PATH.into_iter().zip(UDP_PATH).map(of_udp).chain([JITTER, RAMP]).collect()
    }

    fn load_label(&self, _: &Case, instances: u32) -> String {
        format!("{instances} threads")
    }

    fn nr_tasks(&self, _: &Case, pairs: u32, _: &Values) -> u64 {
        2 * u64::from(pairs) + FORKERS.len() as u64
    }

    fn build(&self, _: &Case, pairs: u32, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let work = |name| Work::uniform(values.get(name), jitter_pct);
        let (send, softirq, receive) = (Op::Run(work("send")), Op::Softirq(work("softirq")), Op::Run(work("receive")));
        let message = |channel| Op::Send { channel, sync: true };
        let again = Op::Repeat { to: 0, times: None };
        let mut programs = vec![
            Program {
                name: "netserver".to_owned(),
                ops: vec![Op::Recv { channel: 0 }, receive, send, softirq, message(1), again],
            },
            Program {
                name: "netperf".to_owned(),
                ops: vec![Op::Begin, send, softirq, message(0), Op::Recv { channel: 1 }, receive, Op::Done, again],
            },
        ];
        let channel = |name: &str, pair: u32| Channel::new(format!("{name} {pair}"), CAPACITY);
        let task = |program: u32, pair: u32, parent: u32| {
            let name = format!("{} {pair}", programs[program as usize].name);
            let start_ns = FORKERS_SLEEP_NS + values.get("ramp") * u64::from(pair) / u64::from(pairs);
            Task { parent: Some(parent), ..Task::plain(name, program, vec![2 * pair, 2 * pair + 1], start_ns) }
        };
        let mut channels: Vec<Channel> =
            (0..pairs).flat_map(|pair| [channel("request", pair), channel("reply", pair)]).collect();
        let [shell, daemon] = [2 * pairs, 2 * pairs + 1];
        let mut tasks: Vec<Task> = (0..pairs).flat_map(|pair| [task(0, pair, daemon), task(1, pair, shell)]).collect();
        for (name, own) in FORKERS.into_iter().zip([shell, daemon]) {
            let waits = Program { name: name.to_owned(), ops: vec![Op::Recv { channel: 0 }] };
            tasks.push(Task::plain(name.to_owned(), programs.len() as u32, vec![own], 0));
            programs.push(waits);
            channels.push(Channel::new(format!("{name} waits"), 1));
        }
        TaskSet { programs, channels, tasks }
    }
}
