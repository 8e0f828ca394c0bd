//! Messages over TCP on the loopback device, which are copied by the byte.

use crate::benchmark::{ParamDef, Values};
use crate::model::params;
use crate::{Op, Work};

const fn path(name: &'static str, value: u64, low: u64, high: u64) -> ParamDef {
    ParamDef {
        origin: "assumed: not measured, a value for fitting; published counters show only its sum with the other \
                 costs of a wake-up, hence the wide range",
        ..params::call(name, value, low, high)
    }
}

/// The costs of a small message on its way through TCP on the loopback device, ns: the sender's call, the softirq on
/// the sender's CPU, the receiver's call.
pub(crate) const PATH: [ParamDef; 3] =
    [path("send", 1600, 800, 1900), path("softirq", 700, 400, 900), path("receive", 900, 500, 1000)];

/// The cost of a byte on each side, in thousandths of a nanosecond.
pub(crate) const COPY: ParamDef = ParamDef {
    name: "copy",
    unit: "ps/B",
    value: 100,
    low: 60,
    high: 250,
    max: ParamDef::MAX_NS,
    origin: "assumed: 10 GB/s; each message is copied into the kernel and out of it, by caches",
};

/// The parameters: `send`, `softirq`, `receive`, `copy`.
pub(crate) fn params() -> Vec<ParamDef> {
    PATH.into_iter().chain([COPY]).collect()
}

/// The costs of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp {
    send: u64,
    softirq: u64,
    receive: u64,
    copy: u64,
    jitter_pct: u32,
}

impl Tcp {
    /// Takes the costs from the parameters of a model, which include `jitter`.
    pub(crate) fn of(values: &Values) -> Self {
        let [send, softirq, receive, copy] = ["send", "softirq", "receive", "copy"].map(|name| values.get(name));
        Tcp { send, softirq, receive, copy, jitter_pct: values.get("jitter") as u32 }
    }

    fn work(self, ns: u64) -> Work {
        Work::uniform(ns, self.jitter_pct)
    }

    /// Returns a `write()` of so many bytes, after `before` ns of other work of the task.
    pub(crate) fn write(self, before: u64, bytes: u64, channel: u32) -> [Op; 3] {
        let run = before + self.send + bytes * self.copy / 1000;
        [Op::Run(self.work(run)), Op::Softirq(self.work(self.softirq)), Op::Send { channel, sync: true }]
    }

    /// Returns a `read()` of so many bytes, and `after` ns of other work.
    pub(crate) fn read(self, bytes: u64, channel: u32, after: u64) -> [Op; 2] {
        [Op::Recv { channel }, Op::Run(self.work(self.receive + bytes * self.copy / 1000 + after))]
    }
}
