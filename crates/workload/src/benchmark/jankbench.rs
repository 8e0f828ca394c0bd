//! Jankbench: an app that draws frames, and how many of them are late.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::metric::{FRAME_MAX, FRAME_MEAN, MISSED_16MS};
use crate::model::params::{self, option};
use crate::{Call, Channel, Op, Program, Task, TimerMode, Work};

const CASES: [Case; 3] = [
    case("mean", FRAME_MEAN, "ms", "all subtests; the mean duration of a frame"),
    case("jank", MISSED_16MS, "%", "the same; how many frames miss 16 ms"),
    case("max", FRAME_MAX, "ms", "the same; the longest frame"),
];

const fn case(name: &'static str, metric: &'static str, unit: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric, unit, higher_is_better: false }
}

/// A display's refresh, ns: 60 Hz.
const VSYNC_NS: u64 = 16_666_667;

/// A subtest: what its frames take of `ui` and of `render`, %. Assumed from what each one draws.
#[derive(Clone, Copy, Debug)]
struct Subtest {
    ui_pct: u64,
    render_pct: u64,
}

/// The subtests in Jankbench's order.
const SUBTESTS: [Subtest; 7] = [
    // List view fling: views are recycled and bound.
    of(110, 75),
    // Image list view fling: bitmaps are uploaded, too.
    of(105, 110),
    // Shadow grid fling.
    of(90, 140),
    // Low-hitrate text render: glyphs are rasterised.
    of(125, 115),
    // High-hitrate text render: glyphs are in the cache.
    of(110, 85),
    // Edit text input.
    of(65, 55),
    // Overdraw test.
    of(70, 150),
];

const fn of(ui_pct: u64, render_pct: u64) -> Subtest {
    Subtest { ui_pct, render_pct }
}

/// The note of a fitted constant; docs/workloads.md describes the fit and what it misses.
const FITTED: &str = "assumed: fitted to the published Jankbench table: how much runnable boosting changes the mean \
     frame, the share of late frames and power, and how many frames are late without it";

const fn work(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

const OWN: [ParamDef; 17] = [
    work("ui", 600_000, 300_000, 6_000_000, FITTED),
    work("render", 60_000, 30_000, 6_000_000, FITTED),
    work("binder", 30_000, 10_000, 1_000_000, FITTED),
    work("compositor", 240_000, 100_000, 3_000_000, FITTED),
    work("composer", 100_000, 50_000, 1_500_000, FITTED),
    work("wake", 8_000, 2_000, 40_000, "assumed: the vsync's interrupt and its thread"),
    work(
        "first_ui",
        2_000_000,
        1_000_000,
        150_000_000,
        "assumed: an activity starts: classes, views, the first layout",
    ),
    work("first_render", 500_000, 200_000, 60_000_000, "assumed: shaders and textures of the first frame"),
    option(
        "first_wait",
        "ms",
        120,
        [30, 140, 10_000],
        "assumed: what an activity's start waits for flash and for other processes; fitted to the published longest \
         frame, 163 ms, which boosting does not change",
    ),
    option("frames", "frames", 100, [50, 1000, 100_000], "assumed: of a subtest; one of them is the first"),
    option("gap", "ms", 1_000, [200, 5_000, 10_000], "assumed: between two subtests, in which nothing is drawn"),
    option(
        "spikes",
        "frames",
        12,
        [5, 100, 10_000],
        "assumed: one in this many frames takes `spike` of a frame's work: garbage, a new row",
    ),
    option("spike", "%", 150, [100, 400, 1_000], FITTED),
    option("others", "threads", 5, [0, 16, 100], FITTED),
    work("other_run", 1_650_000, 100_000, 3_000_000, FITTED),
    work("other_sleep", 16_000_000, 4_000_000, 50_000_000, FITTED),
    ParamDef { value: 15, low: 10, high: 50, ..params::JITTER },
];

/// Jankbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jankbench;

impl Benchmark for Jankbench {
    fn name(&self) -> &'static str {
        "jankbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "An app on a phone draws frames at 60 Hz, subtest by subtest. A vsync every 16.67 ms wakes the UI thread, \
         which asks a service over binder, lays out and records the frame; the render thread draws it and passes the \
         buffer to the compositor, and that to the hardware composer, while the app waits for its next vsync. Threads \
         of the system run beside them.\n\n\
         A frame lasts from its vsync until the render thread is done with it, and misses at 16 ms. An app that is \
         late takes the next vsync. Each subtest begins after a gap in which nothing is drawn, so that frequencies \
         and averages have fallen, and with the start of its activity, which takes many times what a frame does. The \
         load is how many apps draw at a time: 1."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        OWN.to_vec()
    }

    fn has_default_case(&self) -> bool {
        true
    }

    fn default_load(&self) -> Option<u32> {
        Some(1)
    }

    fn load_label(&self, _: &Case, apps: u32) -> String {
        if apps == 1 { "1 app".to_owned() } else { format!("{apps} apps") }
    }

    fn nr_tasks(&self, _: &Case, apps: u32, values: &Values) -> u64 {
        nr_tasks(apps, values)
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // Seven subtests of a gap of 1 s and 100 frames are 19 s; from the first gap on.
        ShortestRun { settle_ns: 0, time_ns: 40_000_000_000 }
    }

    fn build(&self, _: &Case, apps: u32, values: &Values) -> TaskSet {
        build_apps(apps, values)
    }
}

/// The resources of an app, by their numbers in its tasks: those that all apps share come last.
const VSYNC: u32 = 0;
const CALL: u32 = 1;
const ANSWER: u32 = 2;
const FRAME: u32 = 3;
const DRAWN: u32 = 4;
const OWN_CHANNELS: [&str; 5] = ["vsync", "call", "answer", "frame", "drawn"];
const BUFFER: u32 = 5;
const LAYERS: u32 = 6;
const SHARED_CHANNELS: [&str; 2] = ["buffer", "layers"];

/// Programs, in their order.
const NAMES: [&str; 7] = ["ui", "render", "vsync", "binder", "compositor", "composer", "other"];

/// Tasks of an app: ui, render, vsync, binder.
const OF_APP: u32 = 4;

fn nr_tasks(apps: u32, values: &Values) -> u64 {
    u64::from(OF_APP) * u64::from(apps) + 2 + values.get("others")
}

/// The resources and costs of frames.
struct Frames<'a> {
    values: &'a Values,
    jitter_pct: u32,
}

impl Frames<'_> {
    fn run(&self, name: &str, pct: u64) -> Op {
        Op::Run(Work::uniform(self.values.get(name) * pct / 100, self.jitter_pct))
    }

    /// All subtests for ever: `frame` gives the steps of a frame from its work, whose name and part of it in per cent
    /// it takes. `gap` is before the first, which begins with `wait`.
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

fn build_apps(apps: u32, values: &Values) -> TaskSet {
    let frames = Frames { values, jitter_pct: values.get("jitter") as u32 };
    let forever = |mut ops: Vec<Op>| {
        ops.push(Op::Repeat { to: 0, times: None });
        ops
    };
    let sleep = |name| Op::Sleep(Work::uniform(values.get(name) * 1_000_000, 0));
    // A binder call is synchronous and says so; the buffer goes on while the app sleeps.
    let ui = |work| {
        let ask = Op::Call(Call::Ask { list: VSYNC });
        let call = Op::Send { channel: CALL, sync: true };
        [vec![ask, call, receive(ANSWER)], work, vec![send(FRAME), receive(DRAWN), Op::Done]].concat()
    };
    let render = |work| [vec![receive(FRAME)], work, vec![send(BUFFER), send(DRAWN)]].concat();
    let timer = Op::Call(Call::Timer { timer: 0, period_ns: VSYNC_NS, mode: TimerMode::Absolute });
    let wake = Work::uniform(values.get("wake"), 0);
    let other = |name| Work::uniform(values.get(name), 50);
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
    let mut channels: Vec<Channel> = SHARED_CHANNELS.iter().map(|name| Channel::new(*name, 3 * apps)).collect();
    let mut tasks = Vec::new();
    for app in 0..apps {
        let first = channels.len() as u32;
        channels.extend(OWN_CHANNELS.iter().map(|name| Channel::new(format!("{name} {app}"), 1)));
        let own: Vec<u32> = (first..first + OWN_CHANNELS.len() as u32).chain([0, 1]).collect();
        tasks.extend((0..OF_APP).map(|program| {
            let name = format!("{} {app}", NAMES[program as usize]);
            Task::plain(name, program, own.clone(), 0)
        }));
    }
    // Those of the system have the first app's numbers of what all share.
    let system = |name: String, program| Task::plain(name, program, tasks[0].channels.to_vec(), 0);
    let mut all = vec![system("compositor".to_owned(), 4), system("composer".to_owned(), 5)];
    all.extend((0..values.get("others")).map(|i| system(format!("other {i}"), 6)));
    tasks.extend(all);
    TaskSet { programs, channels, tasks }
}
