//! Loads that ran on a machine, compared with the same loads in its simulation.
//!
//! What is compared is throughput: how far each load is off, and whether the simulation has the loads of a kind in the
//! right order. Switches, migrations and latencies are shown beside.

pub mod shapes;

use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_calibrate::Spread;
use wakelab_calibrate::load::{Kind, Report, SLEEP_NS};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_measure::Measure;
use wakelab_sched::cpumask::Cpu;
use wakelab_sim::{Mechanisms, Setup, SimError};

/// Throughput may be off by so much, %.
pub const THROUGHPUT_PCT: f64 = 20.0;

/// A load, before it is run and simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// Its kind.
    pub kind: Kind,
    /// How many instances.
    pub instances: u32,
}

/// The shares of the CPUs that loads have, %.
pub const LOADS_PCT: [u32; 6] = [25, 50, 75, 100, 150, 200];

/// The instances that these shares of so many CPUs are, each number once.
pub fn instances(cpus: u32) -> Vec<u32> {
    let of = |pct: u32| (u64::from(cpus) * u64::from(pct)).div_ceil(100).max(1) as u32;
    let mut all: Vec<u32> = LOADS_PCT.map(of).into();
    all.dedup();
    all
}

/// The results of a load, on either side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Operations a second, of several runs.
    pub throughput: Spread,
    /// Voluntary switches a second.
    pub voluntary: f64,
    /// Involuntary switches a second.
    pub involuntary: f64,
    /// Migrations a second; `None` if they are not known.
    pub migrations: Option<f64>,
    /// The median latency and its 99th percentile, ns; `None` if nothing was done.
    pub latency: Option<[u64; 2]>,
}

impl Side {
    /// Of several reports of one load. `None` without a report.
    pub fn measured(reports: &[Report]) -> Option<Self> {
        let rate = |of: fn(&Report) -> f64| {
            reports.iter().map(|one| of(one) / one.seconds).sum::<f64>() / reports.len() as f64
        };
        let known = reports.iter().all(|one| one.migrations.is_some());
        let mut latencies: Vec<[u64; 2]> =
            reports.iter().filter_map(|one| one.latency.map(|l| [l.p50, l.p99])).collect();
        Some(Side {
            throughput: Spread::of(reports.iter().map(Report::throughput).collect())?,
            voluntary: rate(|one| one.voluntary as f64),
            involuntary: rate(|one| one.involuntary as f64),
            migrations: known.then(|| rate(|one| one.migrations.unwrap_or(0) as f64)),
            latency: middle(&mut latencies),
        })
    }
}

/// The medians of each of the two.
fn middle(latencies: &mut [[u64; 2]]) -> Option<[u64; 2]> {
    let at = latencies.len() / 2;
    let mut of = |which: usize| {
        latencies.sort_by_key(|one| one[which]);
        latencies.get(at).map(|one| one[which])
    };
    Some([of(0)?, of(1)?])
}

/// The simulation of loads.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The kernel.
    pub kernel: &'a Preset,
    /// The CPUs of the machine that loads may use; `None` for all.
    pub cpus: Option<&'a [Cpu]>,
    /// How often each load is simulated, with a seed of its own each time.
    pub repeats: u32,
}

/// Before anything is counted, and what counts, ns.
const SETTLE: u64 = 100_000_000;
const TIME: u64 = 400_000_000;

impl Simulation<'_> {
    /// Simulates a load whose operations take so much work, ns. Returns nothing once `stop` is set.
    ///
    /// # Errors
    /// Those of the simulator.
    pub fn run(&self, point: Point, work: u64, stop: &AtomicBool) -> Result<Option<Side>, SimError> {
        let mut workload = shapes::workload(point.kind, point.instances, work);
        if let Some(cpus) = self.cpus {
            workload.pin(cpus).map_err(SimError::Workload)?;
        }
        let nr_cpus = self.machine.topology.nr_cpus();
        wakelab_sim::check(self.machine, self.kernel)?;
        workload.validate(nr_cpus).map_err(|error| SimError::Workload(error.to_string()))?;
        let (mut rates, mut latencies) = (Vec::new(), Vec::new());
        let mut sums = [0.0; 3];
        for seed in 1..=u64::from(self.repeats.max(1)) {
            let setup = Setup {
                machine: self.machine,
                kernel: self.kernel,
                features: self.kernel.features,
                workload: &workload,
                seed,
                until: SETTLE + TIME,
                mechanisms: Mechanisms::default(),
                observer_cost: 0,
                pm: None,
                scheduler: None,
            };
            let mut measure = Measure::new(seed, SETTLE, setup.until, nr_cpus);
            let outcome = wakelab_sim::run(&setup, &mut measure, stop)?;
            if outcome.stopped || stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let stats = measure.finish(outcome.ended);
            let seconds = stats.measured_ns as f64 / 1e9;
            rates.push(stats.done as f64 / seconds);
            let counts = [stats.switches_voluntary, stats.switches_involuntary, stats.migrations];
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count as f64 / seconds);
            // A transaction of a timer is its sleep, whose length is no latency.
            let sleep = if point.kind == Kind::Timers { SLEEP_NS } else { 0 };
            let late = |ns: u64| ns.saturating_sub(sleep);
            latencies.extend((stats.done > 0).then(|| [late(stats.latency.p50), late(stats.latency.p99)]));
        }
        let [voluntary, involuntary, migrations] = sums.map(|sum| sum / rates.len() as f64);
        let latency = middle(&mut latencies);
        let throughput = Spread::of(rates);
        Ok(throughput.map(|throughput| Side {
            throughput,
            voluntary,
            involuntary,
            migrations: Some(migrations),
            latency,
        }))
    }
}

/// A load on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The load.
    pub point: Point,
    /// As it ran.
    pub measured: Side,
    /// As it was simulated.
    pub simulated: Side,
    /// The share of the CPUs that other processes used while it ran, %: they are not in the simulation.
    pub others_pct: f64,
}

impl Row {
    /// How far the simulated throughput is from the measured, %.
    pub fn error_pct(&self) -> f64 {
        100.0 * (self.simulated.throughput.median / self.measured.throughput.median - 1.0)
    }

    /// Whether that is within [`THROUGHPUT_PCT`].
    pub fn within(&self) -> bool {
        self.error_pct().abs() <= THROUGHPUT_PCT
    }
}

/// How well the simulation has the order of loads of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Order {
    /// Pairs of loads in the measured order.
    pub concordant: usize,
    /// Pairs in another order.
    pub discordant: usize,
    /// Pairs whose measured spreads overlap: nobody knows their order.
    pub untold: usize,
}

/// The verdict of all loads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// How many loads there are.
    pub rows: usize,
    /// Those whose throughput is within [`THROUGHPUT_PCT`].
    pub within: usize,
    /// The largest error, %.
    pub worst_pct: f64,
    /// The median error without its sign, %.
    pub median_pct: f64,
    /// Pairs of loads of one kind.
    pub order: Order,
    /// Whether all are within the limit and all pairs in order.
    pub holds: bool,
}

/// Judges loads. `None` without any.
pub fn verdict(rows: &[Row]) -> Option<Verdict> {
    let mut errors: Vec<f64> = rows.iter().map(Row::error_pct).collect();
    errors.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let order = order(rows);
    let within = rows.iter().filter(|row| row.within()).count();
    Some(Verdict {
        rows: rows.len(),
        within,
        worst_pct: *errors.last()?,
        median_pct: errors[errors.len() / 2].abs(),
        order,
        holds: within == rows.len() && order.discordant == 0,
    })
}

/// Compares each pair of loads of one kind.
pub fn order(rows: &[Row]) -> Order {
    let mut order = Order::default();
    for (at, a) in rows.iter().enumerate() {
        for b in rows[at + 1..].iter().filter(|b| b.point.kind == a.point.kind) {
            let (low, high) = (&a.measured.throughput, &b.measured.throughput);
            let told = low.p90 < high.p10 || high.p90 < low.p10;
            let differ = |of: fn(&Row) -> f64| of(b) - of(a);
            let measured = differ(|row| row.measured.throughput.median);
            let simulated = differ(|row| row.simulated.throughput.median);
            match (told, measured * simulated > 0.0) {
                (false, _) => order.untold += 1,
                (true, true) => order.concordant += 1,
                (true, false) => order.discordant += 1,
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(throughput: f64) -> Side {
        let spread = Spread { median: throughput, p10: throughput * 0.98, p90: throughput * 1.02, runs: 3 };
        Side { throughput: spread, voluntary: 1.0, involuntary: 0.0, migrations: None, latency: None }
    }

    fn row(kind: Kind, instances: u32, measured: f64, simulated: f64) -> Row {
        Row { point: Point { kind, instances }, measured: side(measured), simulated: side(simulated), others_pct: 0.0 }
    }

    #[test]
    fn loads_are_shares_of_the_cpus_each_once() {
        assert_eq!(instances(1), [1, 2]);
        assert_eq!(instances(2), [1, 2, 3, 4]);
        assert_eq!(instances(112), [28, 56, 84, 112, 168, 224]);
    }

    #[test]
    fn errors_have_their_sign_and_the_limit_counts() {
        let rows = [row(Kind::Tcp, 1, 100.0, 119.0), row(Kind::Tcp, 2, 200.0, 150.0)];
        let verdict = verdict(&rows).expect("rows");
        assert_eq!((verdict.rows, verdict.within, verdict.worst_pct.round()), (2, 1, -25.0));
        assert!(!verdict.holds);
        assert!(super::verdict(&[]).is_none());
    }

    #[test]
    fn only_pairs_of_one_kind_whose_measurements_differ_have_an_order() {
        let rows = [
            row(Kind::Tcp, 1, 100.0, 100.0),
            row(Kind::Tcp, 2, 200.0, 180.0),
            row(Kind::Tcp, 3, 201.0, 90.0),
            row(Kind::Pipes, 1, 1000.0, 5.0),
        ];
        // 1 and 2 are in order, 1 and 3 are not, 2 and 3 are not told apart.
        assert_eq!(order(&rows), Order { concordant: 1, discordant: 1, untold: 1 });
    }

    #[test]
    fn reports_of_one_load_are_one_side() {
        let latency = |p50| Some(wakelab_calibrate::load::Latency { n: 5, p50, p99: 10 * p50 });
        let report = |done, p50| Report {
            done,
            seconds: 2.0,
            latency: latency(p50),
            voluntary: 10,
            involuntary: 4,
            migrations: Some(6),
            cpu_s: 1.0,
        };
        let side = Side::measured(&[report(200, 30), report(100, 10), report(600, 20)]).expect("reports");
        assert_eq!((side.throughput.median, side.voluntary, side.migrations), (100.0, 5.0, Some(3.0)));
        assert_eq!(side.latency, Some([20, 200]));
        assert!(Side::measured(&[]).is_none());
        let unknown = Report { migrations: None, ..report(1, 1) };
        assert_eq!(Side::measured(&[report(1, 1), unknown]).expect("reports").migrations, None);
    }
}
