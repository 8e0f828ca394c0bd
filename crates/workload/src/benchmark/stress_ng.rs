//! stress-ng's sock stressor: a client connects, a server streams messages of growing size to it, again and again.

use crate::benchmark::{Benchmark, Case, ParamDef, TaskSet, Values};
use crate::model::connections::{Connections, REPLY, REQUEST};
use crate::model::params;
use crate::model::tcp::{self, Tcp};
use crate::{Call, Op};

const CASES: [Case; 1] = [Case {
    name: "sock",
    doc: "instances of a client and a server on TCP (--sock N); a connection is a bogo op",
    metric: "throughput",
    unit: "bogo ops/s",
    higher_is_better: true,
}];

const OWN: [ParamDef; 2] = [
    ParamDef {
        origin: "assumed: socket(), connect() or accept(), setsockopt(), close() on each side of a connection",
        ..params::call("connect", 15_000, 5_000, 40_000)
    },
    ParamDef {
        name: "buffer",
        unit: "messages",
        value: 32,
        low: 8,
        high: 256,
        max: 10_000,
        origin: "assumed: a receive buffer of 128 KiB (tcp_rmem) and messages of 4 KiB in the mean; it grows on a \
                 real machine",
    },
];

/// The sizes of messages: 16 to 8 KiB in steps of 16 there, 511 of them. Here 8 steps, each so often.
const SIZES: u64 = 8;
const TIMES: u32 = 64;
const SIZE_MAX: u64 = 8_192;

/// stress-ng.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StressNg;

impl Benchmark for StressNg {
    fn name(&self) -> &'static str {
        "stress-ng"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N instances of a client process and the server process that forked it, over TCP on the loopback device. The \
         client connects, the server sends 512 messages of 16 bytes to 8 KiB, growing, and closes; the client reads \
         to the end.\n\n\
         The server never waits for the client unless the buffer is full, and goes on when a third of it has been \
         read. So each message wakes a reader while the writer goes on: whether the reader preempts it is what \
         involuntary switches count (switches_involuntary in results). That two messages may be read by one call is \
         left out."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        tcp::params().into_iter().chain(OWN).chain([params::JITTER, params::FORK]).collect()
    }

    fn load_label(&self, _: &Case, instances: u32) -> String {
        if instances == 1 { "1 instance".to_owned() } else { format!("{instances} instances") }
    }

    fn nr_tasks(&self, _: &Case, instances: u32, _: &Values) -> u64 {
        Connections::nr_tasks(instances, 0)
    }

    fn build(&self, _: &Case, instances: u32, values: &Values) -> TaskSet {
        let tcp = Tcp::of(values);
        let (connect, buffer) = (values.get("connect"), values.get("buffer").max(1) as u32);
        let room = buffer.div_ceil(3);
        let mut server: Vec<Op> = tcp.read(0, REQUEST, connect).into();
        let mut client: Vec<Op> = vec![Op::Begin];
        client.extend(tcp.write(connect, 0, REQUEST));
        for step in 1..=SIZES {
            let size = SIZE_MAX * (2 * step - 1) / (2 * SIZES);
            let again = |ops: &Vec<Op>| Op::Repeat { to: ops.len() as u32, times: Some(TIMES) };
            let (sends, receives) = (again(&server), again(&client));
            server.extend(tcp.write(0, size, REPLY));
            server.push(sends);
            let [_, copied] = tcp.read(size, REPLY, 0);
            client.extend([Op::Call(Call::RecvBatch { channel: REPLY, room, all: true }), copied, receives]);
        }
        server.push(Op::Repeat { to: 0, times: None });
        client.extend([Op::Done, Op::Repeat { to: 0, times: None }]);
        let mut parts = Connections {
            clients: instances,
            server: ("server", server),
            client: ("client", client),
            main: None,
            daemon: None,
            start_ns: values.get("start"),
            shared: vec![],
            others: vec![],
        }
        .build();
        let replies = parts.channels.iter_mut().filter(|channel| channel.name.starts_with("reply"));
        replies.for_each(|channel| channel.capacity = buffer);
        parts
    }
}
