//! The threads of an app and of the system that it draws on.

use super::numbers::{SUBTESTS, Subtest, VSYNC_NS};
use crate::benchmark::{Parts, Values};
use crate::{Call, Channel, Op, Program, Task, TimerMode, Work};

/// The resources of an app, by their numbers in its tasks: those that all apps share come last.
const VSYNC: u32 = 0;
const CALL: u32 = 1;
const ANSWER: u32 = 2;
const FRAME: u32 = 3;
const DRAWN: u32 = 4;
const OWN: [&str; 5] = ["vsync", "call", "answer", "frame", "drawn"];
const BUFFER: u32 = 5;
const LAYERS: u32 = 6;
const SHARED: [&str; 2] = ["buffer", "layers"];

/// Programs, in their order.
const NAMES: [&str; 7] = ["ui", "render", "vsync", "binder", "compositor", "composer", "other"];

/// Tasks of an app: ui, render, vsync, binder.
const OF_APP: u32 = 4;

pub(super) fn nr_tasks(apps: u32, values: &Values) -> u64 {
    u64::from(OF_APP) * u64::from(apps) + 2 + values.get("others")
}

/// What frames are made of.
struct Frames<'a> {
    values: &'a Values,
    jitter_pct: u32,
}

impl Frames<'_> {
    fn run(&self, name: &str, pct: u64) -> Op {
        Op::Run(Work { ns: self.values.get(name) * pct / 100, jitter_pct: self.jitter_pct })
    }

    /// All subtests for ever: `frame` gives the steps of a frame from its work, whose name and part of it in per cent it takes. `gap` is
    /// before the first, which begins with `wait`.
    fn subtests(
        &self,
        name: &str,
        of: fn(&Subtest) -> u64,
        frame: impl Fn(Vec<Op>) -> Vec<Op>,
        [gap, wait]: [Option<Op>; 2],
    ) -> Vec<Op> {
        let (frames, spikes) = (self.values.get("frames").max(2), self.values.get("spikes").max(2));
        let first = format!("first_{name}");
        let mut ops = Vec::new();
        for subtest in &SUBTESTS {
            ops.extend(gap);
            ops.extend(frame(wait.into_iter().chain([self.run(&first, 100)]).collect()));
            let left = frames - 1;
            let (rounds, rest) = (left / spikes, left % spikes);
            let plain = || frame(vec![self.run(name, of(subtest))]);
            let round = ops.len() as u32;
            if rounds > 0 {
                ops.extend(plain());
                ops.extend(again(round, spikes - 1));
                ops.extend(frame(vec![self.run(name, of(subtest) * self.values.get("spike") / 100)]));
                ops.extend(again(round, rounds));
            }
            if rest > 0 {
                let to = ops.len() as u32;
                ops.extend(plain());
                ops.extend(again(to, rest));
            }
        }
        ops.push(Op::Repeat { to: 0, times: None });
        ops
    }
}

/// So often in all; nothing to say of once.
fn again(to: u32, times: u64) -> Option<Op> {
    (times > 1).then_some(Op::Repeat { to, times: Some(times as u32) })
}

fn send(channel: u32) -> Op {
    Op::Send { channel, sync: false }
}

fn receive(channel: u32) -> Op {
    Op::Recv { channel }
}

pub(super) fn build(apps: u32, values: &Values) -> Parts {
    let frames = Frames { values, jitter_pct: values.get("jitter") as u32 };
    let forever = |mut ops: Vec<Op>| {
        ops.push(Op::Repeat { to: 0, times: None });
        ops
    };
    let sleep = |name| Op::Sleep(Work { ns: values.get(name) * 1_000_000, jitter_pct: 0 });
    // A binder call is synchronous and says so; the buffer goes on while the app sleeps.
    let ui = |work| {
        let ask = Op::Call(Call::Ask { list: VSYNC });
        let call = Op::Send { channel: CALL, sync: true };
        [vec![ask, call, receive(ANSWER)], work, vec![send(FRAME), receive(DRAWN), Op::Done]].concat()
    };
    let render = |work| [vec![receive(FRAME)], work, vec![send(BUFFER), send(DRAWN)]].concat();
    let timer = Op::Call(Call::Timer { timer: 0, period_ns: VSYNC_NS, mode: TimerMode::Absolute });
    let wake = Work { ns: values.get("wake"), jitter_pct: 0 };
    let other = |name| Work { ns: values.get(name), jitter_pct: 50 };
    let programs = [
        frames.subtests("ui", |subtest| subtest.ui_pct, ui, [Some(sleep("gap")), Some(sleep("first_wait"))]),
        frames.subtests("render", |subtest| subtest.render_pct, render, [None; 2]),
        forever(vec![timer, Op::Call(Call::Serve { list: VSYNC, each: wake })]),
        forever(vec![receive(CALL), frames.run("binder", 100), Op::Send { channel: ANSWER, sync: true }]),
        forever(vec![receive(BUFFER), frames.run("compositor", 100), send(LAYERS)]),
        forever(vec![receive(LAYERS), frames.run("composer", 100)]),
        forever(vec![Op::Sleep(other("other_sleep")), Op::Run(other("other_run"))]),
    ];
    let programs = NAMES.iter().zip(programs).map(|(name, ops)| Program { name: (*name).to_owned(), ops }).collect();
    let channel = |name: String, capacity| Channel { name, capacity };
    let mut channels: Vec<Channel> = SHARED.iter().map(|name| channel((*name).to_owned(), 3 * apps)).collect();
    let mut tasks = Vec::new();
    for app in 0..apps {
        let first = channels.len() as u32;
        channels.extend(OWN.iter().map(|name| channel(format!("{name} {app}"), 1)));
        let own: Vec<u32> = (first..first + OWN.len() as u32).chain([0, 1]).collect();
        tasks.extend((0..OF_APP).map(|program| {
            let name = format!("{} {app}", NAMES[program as usize]);
            Task::plain(name, program, own.clone(), 0)
        }));
    }
    // Those of the system have the first app's numbers of what all share.
    let system = |name: String, program| Task::plain(name, program, tasks[0].channels.clone(), 0);
    let mut all = vec![system("compositor".to_owned(), 4), system("composer".to_owned(), 5)];
    all.extend((0..values.get("others")).map(|i| system(format!("other {i}"), 6)));
    tasks.extend(all);
    Parts { programs, channels, tasks }
}
