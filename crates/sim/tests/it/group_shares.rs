//! What control groups get of a machine's CPUs, against a real kernel: `tests/data/group-shares` has what CPU hogs in
//! groups ran in a guest with Debian's 6.12, by `cpu.stat`. `tools/vm/shares` makes it anew.

use super::support::{MS, Told, back, ns};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{CpuMax, Group, Op, Workload};

/// What a task computes at a time, ns: what is counted is exact to this.
const CHUNK: u64 = 100_000;
const NR_CPUS: usize = 4;
/// The guest's shell forks a hog in about this time. Where the hogs are to begin with differs from run to run.
const FORK: u64 = 10 * MS;
/// Not counted: until the last hog is forked, and a second more, as in the guest.
const WARM_UP: u64 = 1000 * MS + 20 * FORK;

/// A group of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Measured {
    /// With the groups above, as in `outer/one`.
    name: String,
    weight: u32,
    /// Run time in a period of 100 ms, us; 0 for no limit.
    quota_us: u64,
    hogs: usize,
}

/// The groups of a scenario in the order in which the guest's shell forks their hogs, because it decides where they are
/// to begin with; and what each ran in each run, per thousand of a CPU.
type Groups = Vec<(Measured, Vec<u64>)>;
type Scenarios = BTreeMap<String, Groups>;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/group-shares")
}

fn measured() -> Scenarios {
    let text = std::fs::read_to_string(folder().join("6.12.tsv")).expect("the file");
    let mut scenarios = Scenarios::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<u64>().expect("a number");
        let group = Measured {
            name: fields[1].to_owned(),
            weight: number(2) as u32,
            quota_us: number(3),
            hogs: number(4) as usize,
        };
        let share = number(5) * 1000 / number(6);
        let groups = scenarios.entry(fields[0].to_owned()).or_default();
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, shares)) => shares.push(share),
            None => groups.push((group, vec![share])),
        }
    }
    scenarios
}

/// A scenario as a workload: its groups in one, which has no rival.
fn workload(scenario: &str, groups: &Groups, seed: u64) -> Workload {
    let cpus: Vec<u32> = if scenario == "alone" { vec![0] } else { (0..NR_CPUS as u32).collect() };
    let mut all = vec![Group { name: scenario.to_owned(), weight: 100, ..Group::default() }];
    // Up to a group that only holds others, all have weights in the file.
    if scenario == "nested" {
        all.push(Group { name: "outer".to_owned(), parent: 1, weight: 300, ..Group::default() });
    }
    let mut of = Vec::new();
    for group in groups.iter().map(|(group, _)| group) {
        let (parent, name) = group.name.rsplit_once('/').map_or((1, &group.name[..]), |(_, name)| (2, name));
        let max = CpuMax { quota: group.quota_us * 1000, period: 100 * MS, burst: 0 };
        let max = (group.quota_us != 0).then_some(max);
        all.push(Group { name: name.to_owned(), parent, weight: group.weight, max, ..Group::default() });
        of.extend(std::iter::repeat_n(all.len() as u32, group.hogs));
    }
    let program = vec![Op::Run(ns(CHUNK)), Op::Done, back(0, 0)];
    let mut workload = of_programs(vec![program; of.len()], &[]);
    workload.groups = all;
    for ((at, task), group) in (0..).zip(&mut workload.tasks).zip(of) {
        (task.group, task.affinity) = (group, Some(cpus.clone()));
        task.start_ns = at * (FORK + seed * MS);
    }
    workload
}

/// What each group runs, per thousand of a CPU.
fn simulated(scenario: &str, groups: &Groups, seed: u64) -> Vec<u64> {
    let machine =
        wakelab_machine::get(folder().join("guest-1x1x4x1.toml").to_str().expect("a path")).expect("a machine");
    let kernel = Preset::get("v6.12").expect("a preset");
    let mechanisms = Mechanisms { noise: false, ramp: false, ..Mechanisms::default() };
    let until = WARM_UP + 8000 * MS;
    let (workload, features) = (workload(scenario, groups, seed), kernel.features);
    let workload = &workload;
    let setup = Setup {
        machine: &machine,
        kernel,
        features,
        workload,
        seed,
        until,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut told = Told::default();
    run_dyn(&setup, &mut told, &AtomicBool::new(false)).expect("a run");
    let mut hogs = 0..workload.tasks.len();
    groups
        .iter()
        .map(|(group, _)| {
            let of_group = hogs.by_ref().take(group.hogs);
            let chunks: u64 =
                of_group.map(|task| told.times(task).iter().filter(|&&at| at > WARM_UP).count() as u64).sum();
            chunks * CHUNK * 1000 / (until - WARM_UP)
        })
        .collect()
}

/// How far the mean of our runs may be from that of the guest's, per thousand of a CPU. The guest's runs differ by up
/// to 118 if no group has a quota. With one they differ by 329, and ours by 310: the hogs change CPUs as the group
/// beside them comes and goes.
fn tolerance(scenario: &str, group: &Measured) -> u64 {
    match (scenario, group.quota_us) {
        ("quota", 0) => 100,
        _ => 60,
    }
}

#[test]
fn groups_get_what_they_get_of_a_real_kernel() {
    const SEEDS: u64 = 8;
    for (scenario, groups) in &measured() {
        let runs: Vec<Vec<u64>> = (0..SEEDS).map(|seed| simulated(scenario, groups, seed)).collect();
        for (at, (group, real)) in groups.iter().enumerate() {
            let ours: Vec<u64> = runs.iter().map(|run| run[at]).collect();
            let mean = |shares: &[u64]| shares.iter().sum::<u64>() / shares.len() as u64;
            let (apart, name) = (mean(&ours).abs_diff(mean(real)), &group.name);
            assert!(apart <= tolerance(scenario, group), "{scenario} {name}: {ours:?}, not {real:?}");
        }
    }
}
