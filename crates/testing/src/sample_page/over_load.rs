//! Made-up values over the load.

use super::{CASES, Chance, SIDES};
use wakelab_page::*;

const LOADS: [&str; 8] = ["25%", "50%", "75%", "100%", "125%", "150%", "175%", "200%"];

fn around(mean: f64, half: f64) -> Estimate {
    Estimate { mean, interval: Some((mean - half, mean + half)) }
}

/// Three metrics of two cases, with rows that are better, worse and neither.
pub fn comparison(chance: &mut Chance) -> Comparison {
    let [netperf, tbench] = CASES;
    let metrics = vec![
        metric("netperf TCP_RR: transactions", netperf, ("1/s", 812_000.0), 1.0, &LOADS, chance),
        metric("netperf TCP_RR: latency, 99 %", netperf, ("us", 38.0), -0.3, &LOADS, chance),
        metric("tbench loopback: throughput", tbench, ("MB/s", 2_100.0), 0.2, &["100%", "200%"], chance),
    ];
    Comparison { base: SIDES[0].into(), with: SIDES[1].into(), metrics }
}

/// Power and energy at two loads.
pub fn power(chance: &mut Chance) -> Vec<Metric> {
    let names = [("netperf TCP_RR: power", "mW", 140_000.0), ("netperf TCP_RR: energy of a transaction", "uJ", 52.0)];
    let metric = |(name, unit, scale): (&str, &str, f64)| {
        let mut of = metric(name, CASES[0], (unit, scale), 0.1, &LOADS[..2], chance);
        of.lower_is_better = true;
        of.rows.iter_mut().for_each(|row| {
            (row.verdict, row.noise_pct, row.published_pct) = (Verdict::Unjudged, None, None);
        });
        of
    };
    names.map(metric).to_vec()
}

fn metric(name: &str, case: &str, (unit, scale): (&str, f64), of: f64, loads: &[&str], chance: &mut Chance) -> Metric {
    let changes = [0.4, -0.8, -3.6, 2.1, 18.4, 46.9, 71.2, 88.5];
    let way = if unit == "us" { -1.0 } else { 1.0 };
    let row = |(i, load): (usize, &&str)| {
        let (base, change) = (scale * (1.0 + i as f64 * 0.6), changes[i + 8 - loads.len()] * of);
        let half = 0.7 + 1.8 * chance.number();
        let verdict = match change {
            change if change - half > 0.0 && change > 5.0 => Verdict::Better,
            change if change + half < 0.0 && change < -5.0 => Verdict::Worse,
            _ => Verdict::Same,
        };
        MetricRow {
            load: load.to_string(),
            base: around(base, base * 0.012),
            with: around(base * (1.0 + way * change / 100.0), base * 0.016),
            better_pct: around(change, half),
            noise_pct: Some(5.0),
            p: Some(if verdict == Verdict::Same { 0.41 } else { 0.00003 }),
            repeats: 10,
            verdict,
            published_pct: (i % 2 == 1).then_some(change * 0.9 + 1.0),
        }
    };
    let rows = loads.iter().enumerate().map(row).collect();
    Metric { name: name.into(), case: case.into(), unit: unit.into(), lower_is_better: unit == "us", rows }
}

fn statistic(
    name: &str,
    about: &str,
    unit: &str,
    ends: [(f64, f64); 2],
    published: bool,
    chance: &mut Chance,
) -> Statistic {
    let mut points = Vec::new();
    for (i, load) in LOADS.iter().enumerate() {
        for (side, (from, to)) in SIDES.into_iter().zip(ends) {
            let value = (from + (to - from) * (i as f64 / 7.0).powi(2)) * (0.97 + 0.06 * chance.number());
            let value = if unit == "%" { value.min(100.0) } else { value };
            let interval = Some((value * 0.98, value * 1.02));
            let point = |case: &str, value, interval, published| StatPoint {
                case: case.into(),
                load: load.to_string(),
                side: side.into(),
                value,
                interval,
                published,
            };
            points.push(point(CASES[0], value, interval, false));
            if published && side == SIDES[0] && i % 2 == 1 {
                points.push(point(CASES[0], value * 1.05, None, true));
            }
            // Of the second case there is one load.
            if i == 7 {
                points.push(point(CASES[1], value * 0.9, None, false));
            }
        }
    }
    Statistic { name: name.into(), about: about.into(), unit: unit.into(), points }
}

/// The search statistics.
pub fn search(c: &mut Chance) -> Vec<Statistic> {
    vec![
        statistic("sis_search", "calls of select_idle_sibling()", "", [(1.1e6, 4.0e6), (1.1e6, 5.2e6)], false, c),
        statistic(
            "sis_domain_search",
            "searches that went past the fast path",
            "",
            [(1e5, 3.9e6), (1e5, 3.1e6)],
            false,
            c,
        ),
        statistic("sis_scanned", "run queues looked at", "", [(2e6, 9e7), (2e6, 8e6)], false, c),
        statistic("fast_rate", "searches that ended in the fast path", "%", [(92.0, 3.0), (92.0, 35.0)], true, c),
        statistic(
            "dom_eff",
            "domain searches that found a CPU, of run queues looked at",
            "%",
            [(80.0, 0.4), (82.0, 12.0)],
            true,
            c,
        ),
        statistic(
            "se_eff",
            "searches that found a CPU, of run queues looked at",
            "%",
            [(88.0, 1.2), (90.0, 41.0)],
            true,
            c,
        ),
        statistic("success_rate", "searches that found a CPU", "%", [(99.0, 22.0), (99.0, 18.0)], false, c),
        statistic(
            "scanned/search",
            "run queues looked at for each domain search",
            "",
            [(4.0, 56.0), (4.0, 6.0)],
            true,
            c,
        ),
    ]
}

/// Regret.
pub fn regret(c: &mut Chance) -> Vec<Statistic> {
    vec![
        statistic("missed %", "searches that failed though a CPU was idle", "%", [(0.1, 1.2), (0.4, 9.5)], false, c),
        statistic("futile %", "looks that could not succeed", "%", [(12.0, 98.0), (11.0, 61.0)], false, c),
        statistic(
            "us per wake-up",
            "CPU time for each wake-up of the workload",
            "us",
            [(3.4, 9.8), (3.4, 5.1)],
            false,
            c,
        ),
    ]
}

/// Histograms that double from bin to bin.
pub fn search_cost() -> Vec<SearchCost> {
    let counts =
        [[41_000, 3_000, 2_500, 4_000, 9_000, 22_000, 64_000], [43_000, 11_000, 21_000, 31_000, 4_000, 600, 0]];
    let mut all = Vec::new();
    for (load, scale) in [("100%", 1), ("200%", 3)] {
        for (side, counts) in SIDES.into_iter().zip(counts) {
            let bin = |(i, n): (usize, u64)| {
                let from = 2f64.powi(i as i32 - 1).floor() + 1.0;
                let to = 2f64.powi(i as i32);
                CostBin { from, to, searches: n * scale }
            };
            let bins = counts.into_iter().enumerate().map(bin).collect();
            let (side, case, load, unit) = (side.into(), CASES[0].into(), load.into(), "run queues looked at".into());
            all.push(SearchCost { side, case, load, unit, bins });
        }
    }
    all
}

/// Percentiles of two loads and two names.
pub fn latencies() -> Vec<Latency> {
    let mut all = Vec::new();
    for (load, slow) in [("100%", 1.0), ("200%", 4.0)] {
        for (tasks, of) in [("", 1.0), (super::HOSTILE[1], 2.2)] {
            for (side, kind) in SIDES.into_iter().zip([1.0, 0.6]) {
                let values =
                    [(50.0, 3.1), (75.0, 4.4), (90.0, 8.9), (95.0, 17.0), (99.0, 62.0), (99.9, 410.0), (100.0, 3900.0)];
                let percentiles =
                    values.map(|(percent, us)| Percentile { percent, us: us * slow * of * kind }).to_vec();
                let (side, case, load, tasks) = (side.into(), CASES[0].into(), load.into(), tasks.into());
                all.push(Latency { side, case, load, tasks, percentiles });
            }
        }
    }
    all
}

/// Waits of both sides, mostly behind other tasks.
pub fn causes() -> Vec<Causes> {
    let sums = |times: [f64; 4]| {
        let names = ["behind, LLC idle", "behind, none idle", "leaving idle", "preempted"];
        let sum = |(cause, ms): (&str, f64)| CauseSum {
            cause: cause.into(),
            meaning: String::new(),
            waits: (ms / 2.5) as u64,
            ms,
        };
        names.into_iter().zip(times).map(sum).collect()
    };
    let side = |side: &str, times| Causes { side: side.into(), sums: sums(times) };
    vec![side(SIDES[0], [620.0, 210.0, 12.5, 80.0]), side(SIDES[1], [140.0, 305.0, 18.0, 95.0])]
}

/// Reasons that shift with the load.
pub fn reasons() -> Vec<Reasons> {
    let names = ["target", "prev", "recent", "core", "smt", "scan", "overloaded", "limit", "none"];
    let mut all = Vec::new();
    for (i, load) in LOADS.into_iter().enumerate().filter(|(i, _)| i % 2 == 1) {
        for (side, util) in [(SIDES[0], false), (SIDES[1], true)] {
            let busy = i as u64;
            let counts = [
                70 - 8 * busy,
                90 - 10 * busy,
                9,
                30 - 4 * busy,
                5,
                6 + 4 * busy,
                if util { 9 * busy } else { 0 },
                4 * busy,
                if util { busy } else { 9 * busy },
            ];
            let count = |(reason, n): (&str, u64)| ReasonCount {
                reason: reason.into(),
                meaning: format!("what {reason} means, made up"),
                wakeups: n * 1_370,
            };
            let counts = names.into_iter().zip(counts).map(count).collect();
            all.push(Reasons { side: side.into(), case: CASES[0].into(), load: load.into(), counts });
        }
    }
    all
}

/// Four LLCs.
pub fn migrations() -> Vec<Migrations> {
    let side = |side: &str, away: u64| {
        let cell = |from: u64, to: u64| {
            if from == to { 21_000 + 900 * from } else { away * (4 + from) / (1 + from.abs_diff(to)) }
        };
        let wakeups = (0..4).map(|from| (0..4).map(|to| cell(from, to)).collect()).collect();
        let (side, case, load) = (side.into(), CASES[0].into(), "100%".into());
        Migrations { side, case, load, llcs: (0..4).map(|i| i.to_string()).collect(), wakeups }
    };
    vec![side(SIDES[0], 900), side(SIDES[1], 240)]
}
