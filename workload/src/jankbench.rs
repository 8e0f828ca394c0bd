//! Jankbench: an app that draws frames, and how many of them are late.

mod numbers;
mod programs;

use crate::benchmark::{Benchmark, Case, ParamDef, Parts, Takes, Values};
use crate::metric::{FRAME_MAX, FRAME_MEAN, MISSED_16MS};

const CASES: [Case; 3] = [
    case("mean", FRAME_MEAN, "ms", "all subtests; the mean duration of a frame"),
    case("jank", MISSED_16MS, "%", "the same; how many frames miss 16 ms"),
    case("max", FRAME_MAX, "ms", "the same; the longest frame"),
];

const fn case(name: &'static str, metric: &'static str, unit: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric, unit, higher_is_better: false }
}

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
        "An app on a phone draws frames at 60 Hz, subtest by subtest. A vsync every 16.67 ms wakes the UI thread, which asks a \
         service over binder, lays out and records the frame; the render thread draws it and passes the buffer to the \
         compositor, and that to the hardware composer, while the app waits for its next vsync. Threads of the system run \
         beside them.\n\n\
         A frame lasts from its vsync until the render thread is done with it, and misses at 16 ms. An app that is late takes \
         the next vsync. Each subtest begins after a gap in which nothing is drawn, so that frequencies and averages have \
         fallen, and with the start of its activity, which takes many times what a frame does. The load is how many apps \
         draw at a time: 1."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        numbers::all()
    }

    fn is_its_first_case(&self) -> bool {
        true
    }

    fn usual_load(&self) -> Option<u32> {
        Some(1)
    }

    fn load_label(&self, _: &Case, apps: u32) -> String {
        if apps == 1 { "1 app".to_owned() } else { format!("{apps} apps") }
    }

    fn nr_tasks(&self, _: &Case, apps: u32, values: &Values) -> u64 {
        programs::nr_tasks(apps, values)
    }

    fn takes(&self, _: &Case) -> Takes {
        // Seven subtests of a gap of 1 s and 100 frames are 19 s; from the first gap on.
        Takes { settle_ns: 0, time_ns: 40_000_000_000 }
    }

    fn build(&self, _: &Case, apps: u32, values: &Values) -> Parts {
        programs::build(apps, values)
    }
}
