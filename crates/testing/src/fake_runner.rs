//! Experiments on a machine that is not simulated.

use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Feature, Preset};
use wakelab_machine::{Cost, Costs, Machine, Noise, NoiseOrigin, Origin};
use wakelab_measure::Measure;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sim::{Mechanisms, Outcome, Setup, SimError};
use wakelab_study::compare::{Block, Case, Published, Variant};
use wakelab_study::runs::{RunId, Runner, Why};
use wakelab_workload::{Param, Workload};

/// A runner that does transactions at a rate of its own and nothing else.
#[derive(Debug, Default)]
pub struct Fake {
    /// Runs at this load fail.
    pub fails_at: Option<&'static str>,
    /// Sets the caller's stop at this load.
    pub stops_at: Option<&'static str>,
    /// Runs end before they are measured.
    pub ends_at: Option<u64>,
}

impl Runner for Fake {
    fn run(&self, _: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        let load = setup.workload.load.as_str();
        if self.stops_at == Some(load) {
            stop.store(true, Ordering::Relaxed);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Outcome { stopped: true, ..Outcome::default() });
        }
        if self.fails_at == Some(load) {
            return Err(SimError::Workload("this load".to_owned()).into());
        }
        if let Some(ended) = self.ends_at {
            return Ok(Outcome { ended, exited: true, ..Outcome::default() });
        }
        for n in 0..transactions(setup) {
            measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 + n });
        }
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

/// 100 or 200 and a part of the seed; a tenth without the window.
pub fn transactions(setup: &Setup<'_>) -> u64 {
    let all = if setup.features.has(Feature::SIS_UTIL) { 200 } else { 100 };
    let all = all + setup.seed % 10;
    if setup.mechanisms.window { all } else { all / 10 }
}

/// Four CPUs in one LLC, with costs of which some are assumed.
pub fn machine() -> Machine {
    let cost = |name: &'static str, _| -> Result<Cost, ()> {
        let origin = if name == "probe" {
            Origin::Assumed("for the test".to_owned())
        } else {
            Origin::Source("a table".to_owned())
        };
        Ok(Cost { value: 100, low: 50, high: 200, origin })
    };
    Machine {
        name: "test-4".to_owned(),
        description: String::new(),
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
        caches: Vec::new(),
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

/// A workload without tasks, at that load.
pub fn workload(load: &str) -> Workload {
    Workload {
        benchmark: "netperf".to_owned(),
        case: "TCP_RR".to_owned(),
        load: load.to_owned(),
        metric: "throughput".to_owned(),
        unit: "trans/s".to_owned(),
        higher_is_better: true,
        programs: Vec::new(),
        channels: Vec::new(),
        tasks: Vec::new(),
        cpu_sets: Vec::new(),
        distributions: Vec::new(),
        params: vec![Param {
            name: "send".to_owned(),
            unit: "ns".to_owned(),
            value: 1900,
            low: 1000,
            high: 3000,
            origin: "assumed: for the test".to_owned(),
        }],
        groups: vec![],
        interrupts: vec![],
        changes: vec![],
    }
}

/// SIS_PROP and SIS_UTIL at these loads, a case each.
pub fn experiment(loads: &[&str], repeats: u32) -> Block {
    let kernel = Preset::get("v5.19-rc1").unwrap();
    let case = |load: &&str| Case { name: "netperf:TCP_RR".to_owned(), workload: std::sync::Arc::new(workload(load)) };
    Block {
        name: "test".to_owned(),
        machine: machine(),
        kernel,
        workloads: vec!["netperf:TCP_RR 1..3".to_owned()],
        cases: loads.iter().map(case).collect(),
        base: Variant::new(kernel, &"SIS_PROP".parse().unwrap()).unwrap(),
        variants: vec![Variant::new(kernel, &"SIS_UTIL".parse().unwrap()).unwrap()],
        pinned: None,
        repeats,
        until: None,
        seed: 1,
        settle_ns: 1_000_000_000,
        time_ns: 2_000_000_000,
        observer_cost_ns: 0,
        regret: false,
        mechanisms: Mechanisms::default(),
        published: Published::none(),
        warnings: Vec::new(),
    }
}
