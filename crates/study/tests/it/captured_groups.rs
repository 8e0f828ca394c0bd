//! Control groups of captured workloads: they are those of the run, and each has the share of the CPUs that it had
//! there.

use std::collections::BTreeMap;
use std::path::Path;
use wakelab_events::stream::{Source, Switches, TaskGroups};
use wakelab_study::capture::{CaptureOptions, Captured, capture};
use wakelab_study::compare::Block;
use wakelab_testing::recovery::{Quiet, again, captured, original, recorded, source};
use wakelab_workload::{CpuMax, Group, Workload, from_toml};

/// Hogs of three groups, one of them with a quota, and a pair that talks across groups.
const HOGS: &str = r#"
[workload]
benchmark = "grouped"
case = "hogs"
metric = "throughput"
unit = "rounds/s"
better = "higher"
load_label = "copies"

[[group]]
name = "one"
weight = 100
[[group]]
name = "four"
weight = 400
[[group]]
name = "outer"
weight = 300
cpus = "0-3"
[[group]]
name = "capped"
parent = "outer"
max = "60ms 100ms"
burst = "500us"

[[channel]]
name = "request"
capacity = 1
[[channel]]
name = "reply"
capacity = 1

[[program]]
name = "hog"
ops = [{run = "3ms"}, {repeat = {to = 0}}]
[[program]]
name = "client"
ops = ["begin", {run = "300us"}, {send = "request", sync = true}, {recv = "reply"}, "done", {repeat = {to = 0}}]
[[program]]
name = "server"
ops = [{recv = "request"}, {run = "200us"}, {send = "reply", sync = true}, {repeat = {to = 0}}]

[[task]]
name = "hog of one"
program = "hog"
group = "one"
count = 8
[[task]]
name = "hog of four"
program = "hog"
group = "four"
count = 8
[[task]]
name = "capped"
program = "hog"
group = "capped"
count = 2
[[task]]
name = "server"
program = "server"
group = "four"
[[task]]
name = "client"
program = "client"
group = "one"
[[task]]
name = "free"
program = "hog"
"#;

fn experiment(folder: &Path, text: &str, load: &str, sides: [&str; 2], ms: [u64; 2]) -> Block {
    let file = folder.join("groups.toml");
    std::fs::write(&file, text).expect("written");
    original("test-8c", "v6.12", file.to_str().expect("UTF-8"), load, sides, ms)
}

/// By the name of a group, empty for the root: the part of all CPU time after `from_ns` that its tasks had, %.
fn shares(source: &Source, from_ns: u64) -> BTreeMap<String, f64> {
    let groups = TaskGroups::of(source, u64::MAX).expect("groups");
    let mut switches = Switches::simulated(source.path());
    let mut running: BTreeMap<u32, (u64, i64)> = BTreeMap::new();
    let (mut ran, mut all, mut end) = (BTreeMap::new(), 0.0, 0);
    let mut count = |(since, pid): (u64, i64), until: u64| {
        let ns = until.saturating_sub(since.max(from_ns)) as f64;
        let name = groups.groups.get(&groups.of_task(pid)).map(|group| group.path.clone()).unwrap_or_default();
        *ran.entry(name).or_insert(0.0) += ns;
        all += ns;
    };
    while let Some(switch) = switches.next_switch().expect("switches") {
        end = switch.t_ns;
        if let Some(begun) = running.remove(&switch.cpu) {
            count(begun, end);
        }
        if !switch.idles {
            running.insert(switch.cpu, (switch.t_ns, switch.next_pid));
        }
    }
    // A task that has a CPU to itself is never switched away from.
    running.into_values().for_each(|begun| count(begun, end));
    ran.values_mut().for_each(|ns| *ns *= 100.0 / all);
    ran
}

fn workload(captured: &Captured, load: u32) -> Workload {
    let made = from_toml(&captured.toml, Path::new("captured.toml"), load);
    made.unwrap_or_else(|error| panic!("{error}\n{}", captured.toml))
}

/// The name of each task's group, by the task's name up to its number.
fn group_of<'a>(workload: &'a Workload, name: &str) -> Vec<&'a str> {
    let of = workload.tasks.iter().filter(|task| task.name.starts_with(name));
    let mut found: Vec<&str> =
        of.map(|task| (task.group as usize).checked_sub(1).map_or("", |at| &workload.groups[at].name)).collect();
    found.dedup();
    found
}

/// Shares are means of so many seeds on each side: one run differs from the next by several % of the CPUs.
const SEEDS: u64 = 6;
/// The most that the means may differ by, % of the CPUs.
const SPREAD_PCT: f64 = 2.0;

#[test]
fn groups_are_captured_and_have_the_same_shares() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = experiment(folder.path(), HOGS, "1", ["", ""], [500, 1500]);
    let first = folder.path().join("first");
    recorded(&of, &first);
    let found = captured(&first, &of.machine, false);
    let mut workload = workload(&found, found.load);
    let groups = std::mem::take(&mut workload.groups);
    let group = |name: &str, weight| Group { name: name.to_owned(), weight, ..Group::default() };
    let cpus = Some(vec![0, 1, 2, 3]);
    let max = Some(CpuMax { quota: 60_000_000, period: 100_000_000, burst: 500_000 });
    let expected = [
        group("one", 100),
        group("four", 400),
        Group { cpus: cpus.clone(), ..group("outer", 300) },
        Group { parent: 3, cpus, max, ..group("capped", 100) },
    ];
    assert_eq!(groups, expected, "{}", found.toml);
    let nr_tasks: Vec<usize> = found.task_groups.iter().map(|group| group.nr_tasks).collect();
    assert_eq!(nr_tasks, [9, 9, 0, 2]);
    workload.groups = groups;
    // Who wakes each other may be in different groups.
    let tasks = ["hog of one", "hog of four", "capped", "server", "client", "free"];
    let of_tasks = tasks.map(|name| group_of(&workload, name));
    assert_eq!(of_tasks, [["one"], ["four"], ["capped"], ["four"], ["one"], [""]]);

    let again = again(&found, &of);
    let [original, again] = [("run", &of), ("capture", &again)].map(|(what, one)| {
        let mut mean = BTreeMap::new();
        for seed in 1..=SEEDS {
            let folder = folder.path().join(format!("{what}-{seed}"));
            recorded(&Block { seed, ..one.clone() }, &folder);
            for (name, share) in shares(&source(&folder), 500_000_000) {
                *mean.entry(name).or_insert(0.0) += share / SEEDS as f64;
            }
        }
        mean
    });
    println!("{original:.1?}\n{again:.1?}");
    assert_eq!(original.len(), 4, "{original:?}");
    for (name, share) in &original {
        let again = again.get(name).copied().unwrap_or(0.0);
        assert!((share - again).abs() < SPREAD_PCT, "{name}: {share:.1}% of the run, {again:.1}% of its capture");
    }
    // Without its quota the group would have more than twice as much.
    assert!((original["capped"] - 100.0 * 0.6 / 8.0).abs() < 1.0, "{original:?}");
    assert!(original["four"] > 2.5 * original["one"], "{original:?}");
}

const PAIRS: &str = r#"
[workload]
benchmark = "grouped"
case = "pairs"
metric = "throughput"
unit = "rounds/s"
better = "higher"
load_label = "pairs"

[[group]]
name = "a"
[[group]]
name = "b"
weight = 50
[[group]]
name = "daemon"

[[channel]]
name = "a"
capacity = 1
[[channel]]
name = "b"
capacity = 1

[[program]]
name = "sends a"
ops = ["begin", {run = "30us"}, {send = "a"}, {sleep = "100us"}, "done", {repeat = {to = 0}}]
[[program]]
name = "sends b"
ops = ["begin", {run = "20us"}, {send = "b"}, {sleep = "150us"}, "done", {repeat = {to = 0}}]
[[program]]
name = "receives a"
ops = [{recv = "a"}, {run = "20us"}, {repeat = {to = 0}}]
[[program]]
name = "receives b"
ops = [{recv = "b"}, {run = "10us"}, {repeat = {to = 0}}]
[[program]]
name = "daemon"
ops = [{run = "100us"}, {sleep = "900us"}, {repeat = {to = 0}}]

[[task]]
name = "sender a"
program = "sends a"
group = "a"
[[task]]
name = "receiver a"
program = "receives a"
group = "a"
[[task]]
name = "sender b"
program = "sends b"
group = "b"
[[task]]
name = "receiver b"
program = "receives b"
group = "b"
[[task]]
name = "daemon"
program = "daemon"
group = "daemon"
count = 1
"#;

#[test]
fn instances_stay_in_their_groups_at_any_load() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = experiment(folder.path(), PAIRS, "3", ["", ""], [100, 200]);
    let run = folder.path().join("run");
    recorded(&of, &run);
    let found = captured(&run, &of.machine, false);
    assert_eq!(found.load, 3, "{:#?}\n{}", found.groups, found.toml);
    let once: Vec<_> = found.groups.iter().filter(|group| group.once).map(|group| group.nr_tasks).collect();
    assert_eq!(once, [1], "{:#?}", found.groups);
    for load in [3, 6] {
        let workload = workload(&found, load);
        assert_eq!(workload.tasks.len() as u32, 4 * load + 1, "{}", found.toml);
        for (tasks, group) in [("sender a", "a"), ("receiver a", "a"), ("sender b", "b"), ("daemon", "daemon")] {
            assert_eq!(group_of(&workload, tasks), [group], "{tasks} at {load}");
        }
    }
    let exact = captured(&run, &of.machine, true);
    assert_eq!(group_of(&self::workload(&exact, 1), "receiver b"), ["b"], "{}", exact.toml);
}

#[test]
fn an_autogroup_is_a_group_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = experiment(folder.path(), HOGS, "1", ["sched_autogroup_enabled=1", ""], [100, 200]);
    let run = folder.path().join("run");
    recorded(&of, &run);
    let found = captured(&run, &of.machine, false);
    let workload = workload(&found, 1);
    assert_eq!(group_of(&workload, "free"), ["/autogroup-1"]);
    assert_eq!(workload.groups.len(), 5, "{}", found.toml);
}

#[test]
fn a_run_without_groups_is_captured_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = original("test-8c", "v6.12", "netperf:TCP_RR", "2", ["", ""], [50, 20]);
    let run = folder.path().join("run");
    recorded(&of, &run);
    assert!(!source(&run).path().join("task_groups.parquet").exists());
    let found = captured(&run, &of.machine, false);
    assert!(
        found.task_groups.is_empty() && !found.toml.contains("[[group]]") && !found.toml.contains("\ngroup ="),
        "{}",
        found.toml
    );
}

#[test]
fn a_damaged_table_of_groups_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = experiment(folder.path(), PAIRS, "1", ["", ""], [20, 20]);
    let run = folder.path().join("run");
    recorded(&of, &run);
    let source = source(&run);
    let options = CaptureOptions { machine: Some(&of.machine), from_ns: None, window_ns: None, exact: false };
    // The tasks' groups without the groups themselves.
    std::fs::remove_file(source.path().join("task_groups.parquet")).expect("removed");
    let error = capture(&source, &options, &Quiet).expect_err("it is refused").to_string();
    assert!(error.contains("group_members.parquet") && error.contains("there is no group"), "{error}");
}
