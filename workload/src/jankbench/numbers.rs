//! What a frame is made of.

use crate::benchmark::ParamDef;
use crate::params;

/// A display's refresh, ns: 60 Hz.
pub(super) const VSYNC_NS: u64 = 16_666_667;

/// A subtest: what its frames take of `ui` and of `render`, %. Assumed from what each one draws.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subtest {
    pub(super) ui_pct: u64,
    pub(super) render_pct: u64,
}

/// The subtests in Jankbench's order.
pub(super) const SUBTESTS: [Subtest; 7] = [
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

/// What the fit moved; docs/workloads.md says what it was and what it misses.
const FITTED: &str = "assumed: fitted to the published Jankbench table: how much runnable boosting changes the mean frame, the share of late \
     frames and power, and how many frames are late without it";

const fn work(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

const fn count(
    name: &'static str,
    unit: &'static str,
    value: u64,
    [low, high, max]: [u64; 3],
    why: &'static str,
) -> ParamDef {
    ParamDef { name, unit, value, low, high, max, origin: why }
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
    count(
        "first_wait",
        "ms",
        120,
        [30, 140, 10_000],
        "assumed: what an activity's start waits for flash and for other processes; fitted to the published longest frame, 163 ms, \
         which boosting does not change",
    ),
    count("frames", "frames", 100, [50, 1000, 100_000], "assumed: of a subtest; one of them is the first"),
    count("gap", "ms", 1_000, [200, 5_000, 10_000], "assumed: between two subtests, in which nothing is drawn"),
    count(
        "spikes",
        "frames",
        12,
        [5, 100, 10_000],
        "assumed: one of so many frames takes `spike` of a frame's work: garbage, a new row",
    ),
    count("spike", "%", 150, [100, 400, 1_000], FITTED),
    count("others", "threads", 5, [0, 16, 100], FITTED),
    work("other_run", 1_650_000, 100_000, 3_000_000, FITTED),
    work("other_sleep", 16_000_000, 4_000_000, 50_000_000, FITTED),
    ParamDef { value: 15, low: 10, high: 50, ..params::JITTER },
];

/// The numbers of the model.
pub(super) fn all() -> Vec<ParamDef> {
    OWN.to_vec()
}
