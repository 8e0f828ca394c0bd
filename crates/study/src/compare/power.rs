//! The power of a side, beside its performance.

use super::CompareRow;
use serde::Serialize;
use wakelab_measure::RunStats;
use wakelab_pm::power::PowerStats;
use wakelab_statistics::{Better, difference, mean};

/// Means over repeats, with turbostat's names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerSummary {
    /// The energy of the measured time, J; `None` if the machine does not describe its power.
    pub energy_j: Option<f64>,
    /// The mean power of the machine, mW.
    pub total_mw: Option<f64>,
    /// The mean power of the cores, mW.
    pub cores_mw: Option<f64>,
    /// The mean power of clusters without their cores, mW.
    pub clusters_mw: Option<f64>,
    /// The mean power of packages without their cores and clusters, mW.
    pub packages_mw: Option<f64>,
    /// The share of the time of all CPUs in C0, including polling, %.
    #[serde(rename = "Busy%")]
    pub busy_pct: f64,
    /// The mean frequency in C0, MHz.
    #[serde(rename = "Bzy_MHz")]
    pub bzy_mhz: f64,
    /// The interrupts of all CPUs per second.
    #[serde(rename = "IRQ_per_s")]
    pub irq_per_s: f64,
    /// The exits from idle states of all CPUs per second.
    pub idle_wakeups_per_s: f64,
    /// The changes of frequency per second.
    pub transitions_per_s: f64,
    /// The residencies of each kind of CPU.
    pub kinds: Vec<KindSummary>,
}

/// The CPUs of a kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindSummary {
    /// The number of CPUs.
    pub cpus: usize,
    /// The lowest CPU.
    pub first_cpu: usize,
    /// The share of their time in which they were busy, %.
    #[serde(rename = "Busy%")]
    pub busy_pct: f64,
    /// Operating points, then idle states: the name and the share of the time of these CPUs, %. The shares add up to
    /// 100.
    pub states: Vec<(String, f64)>,
}

/// How the power of the sides of a row differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PowerDifference {
    /// `power`, the mean power of the machine, or `energy`, that of each transaction, request or frame that was done.
    pub quantity: &'static str,
    /// `mW` or `uJ`.
    pub unit: &'static str,
    /// The mean of the base side.
    pub base: f64,
    /// The mean of the other side.
    pub with: f64,
    /// How much less `with` takes, % of `base`; positive is less.
    pub compare_pct: f64,
    /// Its 95% interval, \[low, high\]; `None` for one repeat, and for identical sides.
    pub ci95: Option<[f64; 2]>,
    /// The two-sided p value of equal means; `None` for one repeat, and for identical sides.
    pub p_value: Option<f64>,
}

impl PowerDifference {
    /// Whether both sides have the same value with every seed.
    pub fn is_identical(&self) -> bool {
        self.base == self.with && self.p_value.is_none()
    }

    /// Those of a row; empty if the machine does not describe its power, or if no governor was active.
    pub fn of(row: &CompareRow) -> Vec<PowerDifference> {
        let power = |run: &RunStats| {
            let power = run.power.as_ref()?;
            // nJ per s is nW.
            Some(power.energy_nj()? as f64 / (power.ns.max(1) as f64 / 1e9) / 1e6)
        };
        let energy = |run: &RunStats| {
            let nj = run.power.as_ref()?.energy_nj()?;
            (run.done > 0).then(|| nj as f64 / run.done as f64 / 1e3)
        };
        type OfRun = fn(&RunStats) -> Option<f64>;
        let quantities: [(&str, &str, OfRun); 2] = [("power", "mW", power), ("energy", "uJ", energy)];
        let found = quantities.into_iter().filter_map(|(quantity, unit, of)| {
            let values = |runs: &[RunStats]| runs.iter().map(of).collect::<Option<Vec<f64>>>();
            let (base, with) = (values(&row.base.runs)?, values(&row.with.runs)?);
            let (of_base, of_with) = (mean(&base), mean(&with));
            let difference = (of_base > 0.0).then(|| difference(&base, &with, Better::Lower))?;
            Some(PowerDifference {
                quantity,
                unit,
                base: of_base,
                with: of_with,
                compare_pct: difference.compare_pct,
                ci95: difference.ci95,
                p_value: difference.p_value,
            })
        });
        found.collect()
    }
}

impl PowerSummary {
    /// Summarises repeats; `None` if no governor was active.
    pub fn of(runs: &[RunStats]) -> Option<PowerSummary> {
        let all: Vec<&PowerStats> = runs.iter().filter_map(|run| run.power.as_ref()).collect();
        let first = all.first()?;
        let over = |number: &dyn Fn(&PowerStats) -> f64| mean(&all.iter().map(|one| number(one)).collect::<Vec<_>>());
        let seconds = |one: &PowerStats| one.ns.max(1) as f64 / 1e9;
        let energy = |kind: &str| {
            let known = all.iter().all(|one| one.energy_of(kind).is_some());
            // nJ per s is nW.
            known.then(|| over(&|one| one.energy_of(kind).unwrap_or(0) as f64 / seconds(one) / 1e6))
        };
        let kinds = (0..).zip(&first.kinds).map(|(n, kind): (u32, _)| {
            let opps = kind.opps_khz.iter().map(|khz| format!("{} MHz", khz / 1000));
            let names: Vec<String> = opps.chain(kind.idle.iter().cloned()).collect();
            let share = |state: usize| {
                over(&|one| {
                    let ns = one.residency_ns(n);
                    100.0 * ns[state] as f64 / ns.iter().sum::<u64>().max(1) as f64
                })
            };
            let states: Vec<_> = names.into_iter().enumerate().map(|(state, name)| (name, share(state))).collect();
            let busy_pct = states[..kind.opps_khz.len()].iter().map(|(_, pct)| pct).sum();
            let of_kind = first.cpus.iter().filter(|cpu| cpu.kind == n);
            let first_cpu = first.cpus.iter().position(|cpu| cpu.kind == n).unwrap_or(0);
            KindSummary { cpus: of_kind.count(), first_cpu, busy_pct, states }
        });
        let known = !first.domains.is_empty();
        Some(PowerSummary {
            energy_j: known.then(|| over(&|one| one.energy_nj().unwrap_or(0) as f64 / 1e9)),
            total_mw: energy(""),
            cores_mw: energy("core"),
            clusters_mw: energy("cluster"),
            packages_mw: energy("package"),
            busy_pct: over(&|one| one.busy_mpct() as f64 / 1e3),
            bzy_mhz: over(&|one| one.busy_khz() as f64 / 1e3),
            irq_per_s: over(&|one| one.interrupts() as f64 / seconds(one)),
            idle_wakeups_per_s: over(&|one| one.idle_wakeups() as f64 / seconds(one)),
            transitions_per_s: over(&|one| one.transitions as f64 / seconds(one)),
            kinds: kinds.collect(),
        })
    }
}
