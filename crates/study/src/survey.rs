//! A survey: all policies that apply to a kernel, each alone, on standard loads of a machine.
//!
//! It is a matrix ([`crate::compare::Matrix`]) of one machine and one kernel, whose variants are [`policies`] and whose
//! workloads are [`loads`]. [`ranking`] orders the variants by their geometric mean.

use crate::capture::Captured;
use crate::compare::{CompareRow, MatrixComparison, Variant};
use crate::experiment::{self, Catalogue, LookupError, LookupSubject, Shipped};
use crate::verdict::{JudgedRow, RowVerdict, Verdict};
use std::path::Path;
use std::sync::Arc;
use wakelab_kernel::{Feature, Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sched::select::policy;
use wakelab_statistics::GeometricMean;
use wakelab_workload::{Load, Workload, from_toml};

/// How many instances of a workload run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instances {
    /// Shares of the CPUs, %; at least one instance.
    Percent(&'static [u32]),
    /// So many.
    Count(&'static [u32]),
}

/// The standard loads, from a quarter to twice the CPUs. docs/survey.md says why these.
const LOADS: [(&str, Instances); 4] = [
    ("netperf:TCP_RR", Instances::Percent(&[25, 50, 100, 200])),
    ("tbench:loopback", Instances::Percent(&[25, 50, 100, 200])),
    // Workers of each of two message threads.
    ("schbench:workers", Instances::Percent(&[13, 25, 50, 100])),
    ("hackbench:process-pipe", Instances::Count(&[1, 2, 4])),
];

/// Those of a quick survey.
const QUICK_LOADS: [(&str, Instances); 2] =
    [("netperf:TCP_RR", Instances::Percent(&[50, 100, 200])), ("hackbench:process-pipe", Instances::Count(&[1, 2]))];

/// The standard workloads with their loads on a machine of `nr_cpus` CPUs, each load once.
pub fn loads(nr_cpus: u32, quick: bool) -> Vec<(&'static str, String)> {
    let all = if quick { &QUICK_LOADS[..] } else { &LOADS[..] };
    let load = |instances: &Instances| {
        let mut counts: Vec<u32> = match instances {
            Instances::Percent(shares) => shares.iter().map(|share| (nr_cpus * share / 100).max(1)).collect(),
            Instances::Count(counts) => counts.to_vec(),
        };
        counts.dedup();
        counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    };
    all.iter().map(|(name, instances)| (*name, load(instances))).collect()
}

/// The machine's name if it is the one that the program runs on.
pub const THIS_MACHINE: &str = "this-machine";
/// The workload's name if it was captured.
pub const CAPTURED: &str = "captured";

/// Switches that do something only beside others, each with those: they are switched on with it where the kernel has
/// them off.
const BESIDE: [(Feature, Feature); 6] = [
    (Feature::SIS_EFF_IDLE_CORE, Feature::SIS_UTIL),
    (Feature::SIS_EFF_CORE_LIMIT, Feature::SIS_UTIL),
    (Feature::SIS_UTIL_SMALL_LLC, Feature::SIS_UTIL),
    (Feature::SIS_UTIL_NEWIDLE, Feature::SIS_UTIL),
    (Feature::SIS_SHORT_V6, Feature::SIS_UTIL),
    (Feature::NEXT_BUDDY_POSTED, Feature::NEXT_BUDDY),
];

/// Switches that change nothing without a parameter, which a survey does not set.
const NEEDS_PARAMETERS: [Feature; 1] = [Feature::SIS_PARAM];

/// A side of a survey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The switch: `NO_SIS_UTIL`.
    pub name: String,
    /// The switches of the side, those of the base among them.
    pub switches: Switches,
}

/// The sides of a survey on a kernel: every policy of the search and every feature of the kernel that the model acts
/// on, turned from what `base` and the kernel have. What cannot be switched there, or only beside an option that nobody
/// asked for (a governor), is left out.
pub fn policies(machine: &Machine, kernel: &'static Preset, base: &Switches) -> Vec<Policy> {
    let Ok(on) = Variant::on(machine, kernel, base) else { return Vec::new() };
    let of_search = |feature: Feature| policy::switches().any(|switch| switch.feature == feature);
    let candidates = Feature::ALL.iter().copied().filter(|&feature| {
        feature != Feature::OWN
            && !NEEDS_PARAMETERS.contains(&feature)
            && feature.modelled()
            && (kernel.lists(feature) || of_search(feature))
    });
    let side = |feature: Feature| {
        let is_on = on.features.has(feature);
        let beside = BESIDE.iter().filter(|(one, other)| *one == feature && !is_on && !on.features.has(*other));
        let turned: Switches = beside.map(|&(_, other)| (other, true)).chain([(feature, !is_on)]).collect();
        // Read again, so that words that contradict each other are found.
        let switches: Switches = base.then(&turned).to_string().parse().ok()?;
        let variant = Variant::on(machine, kernel, &switches).ok()?;
        (variant.features != on.features).then(|| Policy { name: turned.to_string(), switches })
    };
    candidates.filter_map(side).collect()
}

/// Where a survey finds the machine that it runs on, and the workload that was captured.
#[derive(Debug)]
pub struct Surveyed {
    /// The machine that the program runs on, if it is asked for.
    pub machine: Option<Machine>,
    /// The captured workload, if a recording is surveyed.
    pub captured: Option<Captured>,
}

impl Catalogue for Surveyed {
    fn machine(&self, name_or_path: &str) -> Result<Machine, LookupError> {
        match &self.machine {
            Some(machine) if name_or_path == machine.name => Ok(machine.clone()),
            _ => Shipped.machine(name_or_path),
        }
    }

    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        nr_cpus: u32,
    ) -> Result<Vec<Arc<Workload>>, LookupError> {
        let Some(captured) = self.captured.as_ref().filter(|_| name == CAPTURED) else {
            return Shipped.workloads(name, load, params, nr_cpus);
        };
        let wrong = |what: String| LookupError { about: LookupSubject::Load, what, hint: None };
        let one = |load: Load| {
            let instances = load.instances(nr_cpus).map_err(|error| wrong(error.what))?;
            let made = from_toml(&captured.toml, Path::new("captured.toml"), instances);
            made.map(Arc::new).map_err(|error| wrong(error.to_string()))
        };
        experiment::loads(load)?.into_iter().map(one).collect()
    }
}

/// A variant with its place.
#[derive(Clone, Debug)]
pub struct Ranked<'a> {
    /// Its place among the variants of the matrix.
    pub variant: usize,
    /// Over all rows.
    pub mean: GeometricMean,
    /// The rows in which it is better, by the rule of the verdict.
    pub better: usize,
    /// Those in which it is worse.
    pub worse: usize,
    /// Those in which both sides are identical.
    pub identical: usize,
    /// Its rows.
    pub rows: usize,
    /// The row with the largest gain.
    pub best: (&'a CompareRow, &'a JudgedRow),
    /// The row with the largest loss.
    pub worst: (&'a CompareRow, &'a JudgedRow),
}

/// The variants that do something, the best first, and the places of those that are identical to the base in every row.
pub fn ranking<'a>(found: &'a MatrixComparison, verdicts: &'a [Verdict<'_>]) -> (Vec<Ranked<'a>>, Vec<usize>) {
    let (mut ranked, mut idle) = (Vec::new(), Vec::new());
    for (variant, verdict) in verdicts.iter().enumerate() {
        let rows = || found.of_variant(variant).flat_map(|comparison| &comparison.rows).zip(&verdict.rows);
        let by_pct =
            |a: &(&CompareRow, &JudgedRow), b: &(&CompareRow, &JudgedRow)| a.0.compare_pct.total_cmp(&b.0.compare_pct);
        let identical = verdict.count(RowVerdict::Identical);
        if identical == verdict.rows.len() && identical > 0 {
            idle.push(variant);
            continue;
        }
        let ends = rows().max_by(by_pct).zip(rows().min_by(by_pct));
        if let (Some(mean), Some((best, worst))) = (found.mean(variant, |_, _| true), ends) {
            ranked.push(Ranked {
                variant,
                mean,
                better: verdict.count(RowVerdict::Better),
                worse: verdict.count(RowVerdict::Worse),
                identical,
                rows: verdict.rows.len(),
                best,
                worst,
            });
        }
    }
    ranked.sort_by(|a, b| b.mean.pct.total_cmp(&a.mean.pct));
    (ranked, idle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(machine: &str, kernel: &str, base: &str) -> Vec<String> {
        let machine = wakelab_machine::get(machine).unwrap();
        let sides = policies(&machine, Preset::get(kernel).unwrap(), &base.parse().unwrap());
        sides.iter().map(|side| side.switches.to_string()).collect()
    }

    #[test]
    fn a_policy_is_turned_from_what_the_kernel_has() {
        let on_6_12 = of("test-8c", "v6.12", "");
        for side in ["NO_SIS_UTIL", "SIS_PROP", "SIS_CURRENT", "NO_SIS_CORE", "NO_TTWU_QUEUE", "SIS_UTIL_NEWIDLE"] {
            assert!(on_6_12.iter().any(|one| one == side), "{side}: {on_6_12:?}");
        }
        // Neither of another version, nor what needs a governor.
        for side in ["SCHED_CACHE", "LB_MIN,", "NO_FREQ_INVARIANCE", "NO_PLACE_LAG_X", "SIS_UTIL"] {
            assert!(on_6_12.iter().all(|one| one != side), "{side}: {on_6_12:?}");
        }
        let on_5_10 = of("test-8c", "v5.10", "");
        assert!(on_5_10.iter().any(|one| one == "SIS_UTIL,SIS_UTIL_NEWIDLE"), "{on_5_10:?}");
    }

    #[test]
    fn small_machines_have_each_load_once() {
        assert_eq!(loads(8, false)[0], ("netperf:TCP_RR", "2,4,8,16".to_owned()));
        assert_eq!(loads(8, false)[2], ("schbench:workers", "1,2,4,8".to_owned()));
        assert_eq!(loads(112, false)[2], ("schbench:workers", "14,28,56,112".to_owned()));
        assert_eq!(loads(2, false)[0], ("netperf:TCP_RR", "1,2,4".to_owned()));
        assert_eq!(loads(1, true)[0], ("netperf:TCP_RR", "1,2".to_owned()));
    }

    #[test]
    fn what_the_base_has_stays_on_every_side() {
        let sides = of("test-8c", "v6.12", "SIS_PROP,migration_cost=0");
        assert!(sides.iter().all(|side| side.contains("migration_cost=0")), "{sides:?}");
        assert!(sides.iter().any(|side| side == "NO_SIS_PROP,migration_cost=0"), "{sides:?}");
    }
}
