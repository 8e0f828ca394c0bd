//! Comparisons that were not run.

use std::path::PathBuf;
use wakelab_machine::{Cache, Cost, Costs, Machine, Noise, NoiseOrigin, Origin};
use wakelab_measure::{Activity, Bucket, Latency, NeverRan, Rates, RunStats, SearchStats, State, StateChange};
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_statistics::Better;
use wakelab_study::compare::{
    Assumed, CompareRow, Comparison, ExperimentInfo, Kind, PublishedRow, SearchRates, SearchSummary, Side,
    WakeupLatency,
};
use wakelab_study::verdict::{Certainty, Verdict, verdict};

/// Three repeats of netperf at two loads; at the second the base side is stacked, and the numbers are the posting's.
pub fn comparison() -> Comparison {
    let mut calm = row("168 threads");
    calm.published = None;
    calm.published_search = None;
    Comparison {
        kind: Kind::Simulated,
        experiment: ExperimentInfo {
            name: "sis_util".to_owned(),
            machine: "intel-1s56c112t".to_owned(),
            kernel: "v5.19-rc1".to_owned(),
            workloads: vec!["netperf:TCP_RR 150%..200%/50%".to_owned()],
            seed: 1,
            repeats: 3,
            until: None,
            settle_ns: 600_000_000,
            time_ns: 1_000_000_000,
            base: "SIS_PROP".to_owned(),
            with: "SIS_UTIL".to_owned(),
            differ: vec!["SIS_PROP off".to_owned(), "SIS_UTIL on".to_owned()],
            notes: vec![
                "with: SIS_UTIL replaces SIS_PROP, which v5.19-rc1 has on; SIS_PROP,SIS_UTIL has both on".to_owned(),
            ],
            observer_cost_ns: 0,
            pinned: None,
        },
        machine: machine(),
        schedulers: Vec::new(),
        rows: vec![calm, stacked()],
        complete: true,
        assumed: vec![Assumed {
            of: "machine".to_owned(),
            name: "probe".to_owned(),
            unit: "ns".to_owned(),
            value: 100,
            low: 50,
            high: 200,
            why: "for the test".to_owned(),
        }],
        published: vec![PathBuf::from("data/published/sis_util-results.csv")],
    }
}

/// The verdict on it, without a control and without samples.
pub fn judged(comparison: &Comparison) -> Verdict<'static> {
    verdict(comparison, Certainty::default())
}

/// The line of the posting that wakelab is measured by.
pub fn stacked() -> CompareRow {
    let mut row = row("224 threads");
    row.base.std_pct = 0.16;
    row.compare_pct = 197.3;
    row.compare_std_pct = 7.85;
    row.with.std_pct = 7.85;
    row.base.runs[1].changes = vec![StateChange { at_ns: 740_000_000, state: State::Stacked }];
    row
}

/// The comparison with one repeat.
pub fn once() -> Comparison {
    let mut comparison = comparison();
    comparison.experiment.repeats = 1;
    for row in &mut comparison.rows {
        (row.ci95, row.p_value, row.test, row.compare_std_pct) = (None, None, None, 0.0);
        for side in [&mut row.base, &mut row.with] {
            side.values.truncate(1);
            side.runs.truncate(1);
            (side.n, side.mean, side.std_pct) = (1, side.values[0], 0.0);
        }
    }
    comparison
}

fn row(load: &str) -> CompareRow {
    CompareRow {
        benchmark: "netperf".to_owned(),
        case: "TCP_RR".to_owned(),
        load: load.to_owned(),
        metric: "throughput".to_owned(),
        unit: "trans/s".to_owned(),
        better: Better::Higher,
        base: side("SIS_PROP", &[1_000_000.0, 1_001_000.0, 999_000.0]),
        with: side("SIS_UTIL", &[2_970_000.0, 2_973_000.0, 2_976_000.0]),
        compare_pct: -0.66,
        compare_std_pct: 0.22,
        ci95: Some([-0.9, 0.125]),
        p_value: Some(0.042_1),
        test: Some("Welch's t-test"),
        decided_nothing: Vec::new(),
        published: Some(PublishedRow { baseline_std_pct: 0.16, compare_pct: 197.3, compare_std_pct: 7.85 }),
        published_search: Some(SearchRates {
            se_eff_pct: 4.524,
            dom_eff_pct: 3.547,
            fast_rate_pct: 22.22,
            success_rate_pct: 99.34,
        }),
    }
}

fn side(label: &str, values: &[f64]) -> Side {
    let runs: Vec<RunStats> = values.iter().map(|_| run()).collect();
    Side {
        label: label.to_owned(),
        features: vec!["SIS_PROP", "WAKEUP_PREEMPTION"],
        mean: values.iter().sum::<f64>() / values.len() as f64,
        std_pct: 0.21,
        n: values.len(),
        values: values.to_vec(),
        search: SearchSummary::of(&runs),
        wakeup_latency_ns: Some(WakeupLatency { p50: 3_000.0, p95: 9_500.0, p99: 41_000.0, max: 90_000.0 }),
        busy_ns_per_wakeup: Some(12_340.0),
        latency_p50_ns: 31_250.0,
        latency_p99_ns: 257_000.0,
        cpu_ns_per_wakeup: 17_040.0,
        migrations: 12.0,
        idle_pct: 3.25,
        rq_lock_pct: 1.5,
        switches_involuntary: 40.0,
        llc_util: Some(0.875),
        threads: vec![],
        regret: None,
        power: None,
        scheduler: Vec::new(),
        scheduler_ops: Vec::new(),
        runs,
    }
}

fn run() -> RunStats {
    RunStats {
        seed: 592_239_270_657_150,
        measured_ns: 1_000_000_000,
        done: 1_000_000,
        span_ns: Some(1_000_000_000),
        latency: Latency {
            n: 1_000_000,
            mean: 40_000.0,
            p50: 31_250,
            p75: 50_000,
            p90: 90_000,
            p95: 120_000,
            p99: 257_000,
            p995: 300_000,
            p999: 500_000,
            max: 900_000,
            missed_16ms: 0,
        },
        rates: Rates::default(),
        wakeups: 2_000_000,
        wakeups_on_cpu: 0,
        wakeups_claimed: 0,
        wakeup_latency: Latency::default(),
        threads: vec![],
        busy_ns_per_wakeup: Some(12_340.0),
        cpu_ns_per_wakeup: 17_040.0,
        migrations: 12,
        idle_pct: 3.25,
        rq_lock_pct: 1.5,
        switches_voluntary: 1_960,
        switches_involuntary: 40,
        never_ran: NeverRan::default(),
        search: SearchStats {
            sis_search: 5_842_896,
            sis_domain_search: 4_544_492,
            sis_scanned: 128_300_000,
            sis_failed: 38_539,
        },
        select_idle_cpu_ns: vec![Bucket { from: 2048, below: 4096, count: 4_544_492 }],
        llc_util: Some(0.875),
        state: State::Migrating,
        changes: Vec::new(),
        activity: Activity::default(),
        regret: None,
        power: None,
        scheduler: Vec::new(),
        scheduler_ops: Vec::new(),
    }
}

fn machine() -> Machine {
    let cost = |_, _| -> Result<Cost, ()> {
        Ok(Cost { value: 100, low: 50, high: 200, origin: Origin::Source("a table".to_owned()) })
    };
    Machine {
        name: "intel-1s56c112t".to_owned(),
        description: "for tests".to_owned(),
        topology: Uniform::new(4, 1).topology(),
        arch: Arch::X86,
        split_llc: false,
        reclaim_distance: None,
        cpu_ids: None,
        frequencies: Vec::new(),
        idle_states: Vec::new(),
        turbo: None,
        demotion: None,
        power: Default::default(),
        caches: vec![Cache {
            name: "L3".to_owned(),
            size_kib: 1024,
            shared_by: 4,
            cpus: None,
            origin: Origin::Source("a table".to_owned()),
        }],
        costs: Costs::try_from_fn(cost).unwrap(),
        scx_costs: Default::default(),
        noise: Noise { kworker_period_ns: 0, kworker_run_ns: 0, daemons: 0 },
        ensemble: None,
        noise_origin: NoiseOrigin {
            period_range: [0, 0],
            run_range: [0, 0],
            origin: Origin::Source("a table".to_owned()),
            daemons_range: [0, 0],
            daemons_origin: Origin::Source("a table".to_owned()),
        },
    }
}
