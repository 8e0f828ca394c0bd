//! Made-up values over a second.

use super::{Chance, SIDES};
use wakelab_page::*;

/// A second of intervals of all CPUs, made of about so many wake-ups for each side.
pub fn heat(cpus: usize, wakeups: usize, chance: &mut Chance) -> Vec<Heat> {
    let side = |side: &str, look_ns: f64, chance: &mut Chance| {
        let mut builder = HeatBuilder::new(0);
        let period = 1e9 * cpus as f64 / wakeups as f64;
        for cpu in 0..cpus {
            let mut at = 0.0;
            while at < 1e9 {
                // A wave of load that goes through the machine, and half a second after which a package is full.
                let wave = 0.5 + 0.5 * ((at / 1e9 * 9.0) + cpu as f64 / cpus as f64 * 4.0).sin();
                let full = at > 5e8 && cpu % (cpus / 2).max(1) < cpus / 4;
                let busy = if full { 0.93 } else { 0.15 + 0.6 * wave };
                let searched = at + look_ns * chance.number();
                let ran = searched + period * busy * (0.6 + 0.5 * chance.number());
                builder.add(cpu, at as u64, searched.min(1e9) as u64, Doing::Searching);
                builder.add(cpu, searched as u64, ran.min(at + period).min(1e9) as u64, Doing::Running);
                at += period;
            }
        }
        builder.finish(side, cpus, 1_000_000_000)
    };
    vec![side(SIDES[0], 150_000.0, chance), side(SIDES[1], 25_000.0, chance)]
}

/// Two LLCs; at half a second the state flips.
pub fn llcs(chance: &mut Chance) -> Vec<LlcSeries> {
    let mut all = Vec::new();
    for llc in ["0", "1"] {
        for (side, flips_at, limited) in [(SIDES[0], 700.0, false), (SIDES[1], 480.0, true)] {
            let point = |i: u32| {
                let at_ms = f64::from(i) * 4.0;
                let high = 88.0 / (1.0 + (-(at_ms - flips_at) / 40.0).exp());
                let util_pct = (12.0 + high + 6.0 * chance.number()).min(100.0);
                let left = 1.0 - (util_pct / 100.0).powi(2) * 1.17;
                LlcPoint { at_ms, util_pct, nr_idle_scan: limited.then_some((56.0 * left).max(0.0) as u32) }
            };
            let points = (0..=250).map(point).collect();
            let flips = vec![Flip { at_ms: flips_at + 8.0, what: "to stacked".into() }];
            all.push(LlcSeries { side: side.into(), llc: llc.into(), points, flips });
        }
    }
    all
}

fn series(side: &str, label: &str, points: Vec<(f64, f64)>) -> Series {
    Series { side: side.into(), label: label.into(), points }
}

/// Frequency, idle states and power.
pub fn timelines(chance: &mut Chance) -> Vec<Timeline> {
    let times: Vec<f64> = (0..=1000).step_by(4).map(f64::from).collect();
    let sides = [(SIDES[0], 1.0), (SIDES[1], 0.86)];
    let mut frequency = Vec::new();
    let mut power = Vec::new();
    for (side, of) in sides {
        for package in ["package 0", "package 1"] {
            let mhz = |at: &f64| {
                (*at, 1000.0 + 100.0 * (of * 18.0 * (0.5 + 0.4 * (at / 90.0).sin()) + chance.number()).round())
            };
            frequency.push(series(side, package, times.iter().map(mhz).collect()));
        }
        let watts = |at: &f64| (*at, of * (140.0 + 45.0 * (at / 120.0).sin()) + 9.0 * chance.number());
        power.push(series(side, "", times.iter().map(watts).collect()));
    }
    let mut idle = Vec::new();
    for (side, of) in sides {
        let shares = |at: f64| {
            let busy = (0.35 + 0.25 * (at / 150.0).sin()) * of;
            [busy, 0.2 * (1.0 - busy), 0.3 * (1.0 - busy), 0.5 * (1.0 - busy)]
        };
        for (i, label) in ["running", "POLL", "C1", "C6"].into_iter().enumerate() {
            let points = times.iter().step_by(2).map(|at| (*at, 100.0 * shares(*at)[i])).collect();
            idle.push(Series { side: side.into(), label: label.into(), points });
        }
    }
    let timeline = |title: &str, about: &str, value: &str, unit: &str, shape, series| Timeline {
        title: title.into(),
        about: about.into(),
        value: value.into(),
        unit: unit.into(),
        shape,
        series,
    };
    vec![
        timeline("Frequency", "Mean of the busy CPUs of each package.", "Frequency", "MHz", Shape::Step, frequency),
        timeline("Idle states", "", "Share of the time", "%", Shape::Stacked, idle),
        timeline("Power of the machine", "", "Power", "W", Shape::Line, power),
    ]
}
