//! Energy-aware placement on random systems: against the slow reference, and what holds of every choice.

use crate::energy_reference::{Raw, RawPd};
use crate::support::energy::{EnergySystem, place_wakeup, wakee, wakeup};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use wakelab_kernel::{Feature, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::energy::{EmPerfDomain, RqUtil, compute_energy, find_energy_efficient_cpu};
use wakelab_sched::select::{
    CpuCapacity, EnergyView, Fit, Reason, Rules, Uclamp, WakeFlags, Wakee, Wakeup, util_fits_cpu,
};

/// A version: its preset, the reference's number, and what is switched on with the boosting form that it then has.
const VERSIONS: [(&str, u32, Option<Feature>, u8); 15] = [
    ("v5.10", 510, None, 0),
    ("v5.10", 510, Some(Feature::RUNNABLE_BOOST), b'c'),
    ("v5.15", 515, None, 0),
    ("v5.18", 518, None, 0),
    ("v5.18", 518, Some(Feature::RUNNABLE_BOOST_POSTED), b'a'),
    ("v5.18-eas", 601, None, 0),
    ("v5.18-eas", 601, Some(Feature::RUNNABLE_BOOST), b'a'),
    ("v6.1", 601, None, 0),
    ("v6.1", 601, Some(Feature::RUNNABLE_BOOST_V1), 0),
    ("v6.6", 601, None, b'b'),
    ("v6.8", 608, None, b'b'),
    ("v6.12", 612, None, b'c'),
    ("v6.18", 612, None, b'b'),
    ("v7.2", 612, Some(Feature::RUNNABLE_BOOST_POSTED), b'a'),
    ("v7.3", 612, None, b'c'),
];

/// One CPU's random part, each in thousandths of what it can be.
#[derive(Clone, Debug)]
struct CpuCase {
    util: [i64; 3],
    capacity: i64,
    other: [i64; 4],
    flags: [bool; 3],
    clamps: [i64; 2],
}

/// How many CPUs, how large, and by how much each state is faster (kHz) and spends more (uW).
type Cluster = (usize, u32, Vec<(i64, i64)>);

#[derive(Clone, Debug)]
struct Case {
    version: usize,
    clusters: Vec<Cluster>,
    cpus: Vec<CpuCase>,
    pressure: [i64; 2],
    other_classes: bool,
    uclamp_used: bool,
    task: [i64; 3],
    clamps: [i64; 2],
    allowed: u32,
    prev: usize,
    this: usize,
}

fn cpu_case() -> impl Strategy<Value = CpuCase> {
    let util = prop_oneof![3 => [0..400i64, 0..400i64, 0..400i64], 1 => [0..1100i64, 0..2000i64, 0..1100i64]];
    let other = [0..300i64, 0..300i64, 0..300i64, 0..300i64];
    (util, 500..1000i64, other, any::<[bool; 3]>(), [0..1100i64, 100..1100i64])
        .prop_map(|(util, capacity, other, flags, clamps)| CpuCase { util, capacity, other, flags, clamps })
}

fn case() -> impl Strategy<Value = Case> {
    let states = prop::collection::vec((50_000..900_000i64, 500..400_000i64), 1..6);
    let cluster = (1..4usize, prop::sample::select(&[160u32, 300, 498, 768][..]), states);
    let clusters = prop::collection::vec(cluster, 2..4);
    let task = prop_oneof![
        4 => [1..250i64, 1..250i64, 0..250i64],
        1 => [0..700i64, 0..700i64, 0..700i64],
        1 => Just([0i64; 3]),
    ];
    let task = (task, [0..1024i64, 100..1025i64]);
    (
        (0..VERSIONS.len(), clusters, prop::collection::vec(cpu_case(), 9)),
        ([0..200i64, 0..200i64], any::<bool>(), prop::bool::weighted(0.3)),
        task,
        (1..512u32, 0..9usize, 0..9usize),
    )
        .prop_map(|((version, mut clusters, cpus), (pressure, other_classes, uclamp_used), (task, clamps), at)| {
            clusters.last_mut().unwrap().1 = 1024;
            // Domains differ in capacity, or the machine would be one of equal CPUs.
            clusters[0].1 = 160;
            let nr: usize = clusters.iter().map(|cluster| cluster.0).sum();
            let allowed = if at.0 % 3 == 0 { at.0 & ((1 << nr) - 1) } else { (1 << nr) - 1 };
            let allowed = if allowed == 0 { (1 << nr) - 1 } else { allowed };
            Case {
                version,
                clusters,
                cpus,
                pressure,
                other_classes,
                uclamp_used,
                task,
                clamps,
                allowed,
                prev: at.1 % nr,
                this: at.2 % nr,
            }
        })
}

impl Case {
    fn capacities(&self) -> Vec<u32> {
        self.clusters.iter().flat_map(|&(nr, capacity, _)| vec![capacity; nr]).collect()
    }

    fn pds(&self) -> Vec<RawPd> {
        let mut first = 0;
        let of = |(nr, _, steps): &Cluster| {
            let (mut freq, mut power) = (200_000, 1000);
            let table = steps.iter().map(|&(f, p)| {
                (freq, power) = (freq + f, power + p);
                (freq, power)
            });
            let cpus = (first..first + nr).collect();
            first += nr;
            RawPd { cpus, table: table.collect() }
        };
        self.clusters.iter().map(of).collect()
    }

    fn raw(&self) -> Raw {
        let capacities = self.capacities();
        let nr = capacities.len();
        let (_, version, _, boost) = VERSIONS[self.version];
        let of = |f: &dyn Fn(&CpuCase, i64) -> i64| -> Vec<i64> {
            (0..nr).map(|cpu| f(&self.cpus[cpu], i64::from(capacities[cpu]))).collect()
        };
        let other = |at: usize| of(&|c, capacity| i64::from(self.other_classes) * c.other[at] * capacity / 1000);
        let flag = |at: usize| (0..nr).map(|cpu| self.cpus[cpu].flags[at]).collect::<Vec<_>>();
        let clamp = |at: usize, unused: i64| of(&|c, _| if self.uclamp_used { c.clamps[at].min(1024) } else { unused });
        let largest = i64::from(capacities[self.prev]);
        Raw {
            version,
            boost,
            util_avg: of(&|c, capacity| c.util[0] * capacity / 1000),
            runnable_avg: of(&|c, capacity| c.util[1] * capacity / 1000),
            util_est: of(&|c, capacity| c.util[2] * capacity / 1000),
            capacity: of(&|c, capacity| (c.capacity * capacity / 1000).max(1)),
            capacity_orig: of(&|_, capacity| capacity),
            pressure: of(&|_, capacity| self.pressure[0] * capacity / 1000),
            load_avg: of(&|_, capacity| self.pressure[1] * capacity / 1000),
            irq: other(0),
            rt: other(1),
            dl: other(2),
            bw_dl: other(3),
            rt_runnable: flag(0).iter().map(|&flag| flag && self.other_classes).collect(),
            uclamp_min: clamp(0, 0),
            uclamp_max: clamp(1, 1024),
            uclamp_idle: flag(1).iter().map(|&flag| flag && self.uclamp_used).collect(),
            uclamp_used: self.uclamp_used,
            pds: self.pds(),
            span: vec![true; nr],
            allowed: (0..nr).map(|cpu| self.allowed >> cpu & 1 != 0).collect(),
            prev_cpu: self.prev,
            task_util: self.task[0] * largest / 1000,
            task_runnable: self.task[1] * largest / 1000,
            task_est: self.task[2] * largest / 1000,
            task_min: self.clamps[0],
            task_max: self.clamps[1],
        }
    }

    fn system(&self, raw: &Raw) -> EnergySystem {
        let (name, _, feature, _) = VERSIONS[self.version];
        let form = Preset::get(name).unwrap().code.energy_model;
        let nr = raw.capacity.len() as u32;
        let model = |pd: &RawPd| {
            let cpus = CpuMask::from_cpus(nr, pd.cpus.iter().map(|&cpu| cpu as u32));
            let table: Vec<_> = pd.table.iter().map(|&(f, p)| (f as u64, p as u64)).collect();
            EmPerfDomain::new(form, cpus, raw.capacity_orig[pd.cpus[0]] as u64, &table).expect("a model")
        };
        let mut system = EnergySystem::new(name, &self.capacities(), raw.pds.iter().map(model).collect());
        if let Some(feature) = feature {
            system.features = system.features.with(feature, true);
        }
        for (cpu, c) in system.cpus.iter_mut().enumerate() {
            c.util_avg = raw.util_avg[cpu] as u64;
            c.runnable_avg = raw.runnable_avg[cpu] as u64;
            c.util_est = raw.util_est[cpu] as u64;
            c.capacity = raw.capacity[cpu] as u64;
            c.pressure = raw.pressure[cpu] as u64;
            c.load_avg = raw.load_avg[cpu] as u64;
            c.rq = RqUtil {
                irq: raw.irq[cpu] as u64,
                rt: raw.rt[cpu] as u64,
                dl: raw.dl[cpu] as u64,
                bw_dl: raw.bw_dl[cpu] as u64,
                rt_runnable: raw.rt_runnable[cpu],
                uclamp_min: raw.uclamp_min[cpu] as u64,
                uclamp_max: raw.uclamp_max[cpu] as u64,
                uclamp_idle: raw.uclamp_idle[cpu],
            };
        }
        system
    }

    fn allowed(&self) -> CpuMask {
        let nr = self.capacities().len() as u32;
        CpuMask::from_cpus(nr, (0..nr).filter(|cpu| self.allowed >> cpu & 1 != 0))
    }

    fn wakeup<'a>(&self, raw: &Raw, allowed: &'a CpuMask) -> Wakeup<'a> {
        let uclamp = if self.uclamp_used {
            Uclamp { used: true, min: raw.task_min as u64, max: raw.task_max as u64 }
        } else {
            Uclamp::UNUSED
        };
        let wakee = Wakee {
            runnable_avg: raw.task_runnable as u64,
            util_est: raw.task_est as u64,
            uclamp,
            ..wakee(self.prev as u32, raw.task_util as u64, allowed)
        };
        wakeup(self.this as u32, wakee)
    }
}

/// The rules of a system.
fn rules(system: &EnergySystem) -> Rules<'_> {
    let preset = Preset::get(system.version).unwrap();
    Rules::new(preset, system.features, &system.domains).unwrap().with_energy(&system.pds)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_choice_is_the_references(case in case()) {
        let raw = case.raw();
        let (system, allowed) = (case.system(&raw), case.allowed());
        let wakeup = case.wakeup(&raw, &allowed);
        let decision = place_wakeup(&system, &wakeup);
        prop_assert_eq!(decision.reason, Reason::Energy);
        prop_assert_eq!(decision.cpu as usize, raw.find_energy_efficient_cpu());
        // Beside the choice nothing is written, and nothing is counted as a search.
        prop_assert_eq!((decision.effects, decision.count), Default::default());
    }

    /// It is the previous CPU, or one that the task may use.
    #[test]
    fn a_choice_is_allowed_or_the_previous_cpu(case in case()) {
        let raw = case.raw();
        let (system, allowed) = (case.system(&raw), case.allowed());
        let chosen = place_wakeup(&system, &case.wakeup(&raw, &allowed)).cpu;
        prop_assert!(chosen as usize == case.prev || allowed.test(chosen));
    }

    /// A CPU that does not fit is not taken while an allowed one fits; without clamps, whose aggregation can go the
    /// kernel's own ways.
    #[test]
    fn a_cpu_that_fits_is_taken_before_one_that_does_not(case in case()) {
        let case = Case { uclamp_used: false, other_classes: false, ..case };
        let mut raw = case.raw();
        raw.task_util = raw.task_util.max(1);
        let (system, allowed) = (case.system(&raw), case.allowed());
        let wakeup = case.wakeup(&raw, &allowed);
        let chosen = place_wakeup(&system, &wakeup).cpu;
        let code = &Preset::get(system.version).unwrap().code;
        let fits = |cpu: u32| {
            let task = &wakeup.wakee;
            let c = &system.cpus[cpu as usize];
            let own = if cpu == task.prev_cpu { 0 } else { task.util_avg };
            let util = (c.util_avg + own).max(c.util_est + task.util_est).min(c.capacity_orig);
            let capacity = CpuCapacity {
                capacity: c.capacity,
                capacity_orig: c.capacity_orig,
                thermal_pressure: 0,
                thermal_load_avg: 0,
                capacity_inverted: 0,
            };
            allowed.test(cpu) && util_fits_cpu(code, util, Uclamp::UNUSED, &capacity) == Fit::Fits
        };
        let energy_says = (0..allowed.room()).any(|cpu| cpu < system.domains.nr_cpus && fits(cpu));
        // Energies that do not add up keep the previous CPU, whatever it is (since 5.14); boosting can make them so.
        let consistent = (0..system.domains.nr_cpus).all(|cpu| {
            let pd = system.pd_of(cpu);
            let of = |dst| compute_energy(&rules(&system), &wakeup, &system, pd, dst);
            of(None) <= of(Some(cpu))
        });
        if energy_says && consistent {
            prop_assert!(fits(chosen), "CPU {chosen} does not fit");
        }
    }

    /// Domains of one kind and one load cost the same, and then the task stays.
    #[test]
    fn the_previous_cpu_is_preferred_at_equal_energy(case in case(), util in 1..100u64, task in 1..100u64) {
        let mut case = Case { uclamp_used: false, other_classes: false, pressure: [0; 2], ..case };
        case.allowed = u32::MAX;
        let raw = case.raw();
        let mut system = case.system(&raw);
        for c in &mut system.cpus {
            // Each has the same room beside the task, and one state is enough for all.
            let util = util * c.capacity_orig / 1024;
            (c.util_avg, c.runnable_avg, c.util_est) = (util, util, 0);
            c.capacity = c.capacity_orig;
        }
        let allowed = CpuMask::from_cpus(system.domains.nr_cpus, system.pd_of(case.prev as u32).cpus.iter());
        let room = util * u64::from(case.capacities()[case.prev]) / 1024;
        let wakee = wakee(case.prev as u32, task.min(room).max(1), &allowed);
        system.cpus[case.prev].util_avg += wakee.util_avg;
        system.cpus[case.prev].runnable_avg += wakee.util_avg;
        let chosen = place_wakeup(&system, &wakeup(case.this as u32, wakee)).cpu;
        prop_assert_eq!(chosen as usize, case.prev);
    }
}

/// The random systems are worth something only if they come to every end.
#[test]
fn cases_come_to_every_end() {
    let mut runner = TestRunner::deterministic();
    let mut ends: BTreeSet<(&str, &str)> = BTreeSet::new();
    for _ in 0..8000 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let raw = case.raw();
        let (system, allowed) = (case.system(&raw), case.allowed());
        let chosen = place_wakeup(&system, &case.wakeup(&raw, &allowed)).cpu as usize;
        let cluster = |cpu: usize| system.pd_of(cpu as u32).cpus.first();
        let end = match chosen == case.prev {
            true if !allowed.test(case.prev as u32) => "stays where it may not be",
            true => "stays",
            false if cluster(chosen) == cluster(case.prev) => "moves within its domain",
            false if raw.capacity_orig[chosen] > raw.capacity_orig[case.prev] => "moves up",
            false => "moves down",
        };
        ends.insert((VERSIONS[case.version].0, end));
    }
    for (version, ..) in VERSIONS {
        for end in ["stays", "moves within its domain", "moves up", "moves down"] {
            assert!(ends.contains(&(version, end)), "{version}: none {end}");
        }
    }
}

/// Boosting changes some choice, by its switch, and not where only the other two sites are on.
#[test]
fn boosting_at_its_site_changes_some_choice() {
    let mut runner = TestRunner::deterministic();
    let (mut changed, mut forms) = (0, 0);
    for _ in 0..8000 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let (raw, allowed) = (case.raw(), case.allowed());
        let mut system = case.system(&raw);
        let choice = |system: &EnergySystem| place_wakeup(system, &case.wakeup(&raw, &allowed)).cpu;
        let off = [Feature::RUNNABLE_BOOST, Feature::RUNNABLE_BOOST_POSTED, Feature::RUNNABLE_BOOST_V1];
        system.features = off.into_iter().fold(system.features, |set, feature| set.with(feature, false));
        let without = choice(&system);
        system.features = system.features.with(Feature::RUNNABLE_BOOST_V1, true);
        assert_eq!(choice(&system), without);
        system.features = system.features.with(Feature::RUNNABLE_BOOST, true);
        let with = choice(&system);
        changed += u32::from(with != without);
        let posted =
            EnergySystem { features: system.features.with(Feature::RUNNABLE_BOOST_POSTED, true), ..system.clone() };
        forms += u32::from(choice(&posted) != with);
        system.features = system.features.with(Feature::RUNNABLE_BOOST_EAS, false);
        assert_eq!(choice(&system), without);
    }
    assert!(changed > 20 && forms > 5, "{changed} changed, {forms} differ by form");
}

#[test]
fn while_a_cpu_is_overutilized_energy_does_not_decide() {
    let mut runner = TestRunner::deterministic();
    let mut decided = 0;
    for _ in 0..200 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let (raw, allowed) = (case.raw(), case.allowed());
        let system = EnergySystem { overutilized: true, ..case.system(&raw) };
        let wakeup = case.wakeup(&raw, &allowed);
        assert_eq!(find_energy_efficient_cpu(&rules(&system), &wakeup, &system, &mut ()), None);
        let decision = place_wakeup(&system, &wakeup);
        assert_ne!(decision.reason, Reason::Energy);
        decided += decision.count.search;
        // What the fast path decides is what it decides without an energy model.
        let plain = Rules { energy: None, ..rules(&system) };
        let cx = wakelab_sched::select::Cx { rules: &plain, wakeup: &wakeup, view: &system };
        let without = wakelab_sched::select::select_task_rq_fair(&mut Default::default(), cx, &mut ());
        assert_eq!(decision, without);
    }
    assert_eq!(decided, 200);
}

#[test]
fn forks_and_execs_do_not_go_by_energy() {
    let mut runner = TestRunner::deterministic();
    for flags in [WakeFlags::FORK, WakeFlags::EXEC] {
        let case = case().new_tree(&mut runner).unwrap().current();
        let (raw, allowed) = (case.raw(), case.allowed());
        let system = case.system(&raw);
        assert!(!system.overutilized());
        let wakeup = Wakeup { flags, ..case.wakeup(&raw, &allowed) };
        assert_ne!(place_wakeup(&system, &wakeup).reason, Reason::Energy);
    }
}
