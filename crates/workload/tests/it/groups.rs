//! `[[group]]` of workload files: what is read, and what is refused with its line.

use std::path::Path;
use wakelab_workload::{CpuMax, Group, Workload, WorkloadError, from_toml};

const FILE: &str = r#"[workload]
benchmark = "b"
case = "c"
metric = "throughput"
unit = "u"
better = "higher"

[[group]]
name = "system"

[[group]]
name = "build"
parent = "system"
weight = 300

[[group]]
name = "batch"
idle = true

[[program]]
name = "p"
ops = ["begin", {run = "50us"}, "done", {sleep = "1us"}, {repeat = {to = 0}}]

[[task]]
name = "t"
program = "p"
group = "build"

[[task]]
name = "u"
program = "p"
"#;

fn read(text: &str) -> Result<Workload, WorkloadError> {
    from_toml(text, Path::new("w.toml"), 1)
}

fn says(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "{from}");
    read(&FILE.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn groups_have_weights_and_parents_and_tasks_are_in_them() {
    let workload = read(FILE).unwrap();
    let group =
        |name: &str, parent, weight, idle| Group { name: name.into(), parent, weight, idle, ..Group::default() };
    let expected = [group("system", 0, 100, false), group("build", 1, 300, false), group("batch", 0, 100, true)];
    assert_eq!(workload.groups, expected);
    assert_eq!(workload.tasks.iter().map(|task| task.group).collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn a_weight_is_as_many_shares_as_the_kernel_makes_of_it() {
    let shares = |weight| Group { name: "g".into(), weight, ..Group::default() }.shares();
    // DIV_ROUND_CLOSEST_ULL(weight * 1024, 100), scaled up.
    assert_eq!([1, 100, 300, 10_000].map(shares), [10 << 10, 1024 << 10, 3072 << 10, 102_400 << 10]);
    assert_eq!(Group { name: "g".into(), weight: 100, idle: true, ..Group::default() }.shares(), 3 << 10);
}

#[test]
fn what_is_wrong_with_a_group_is_said_with_its_line() {
    let cases = [
        ("weight = 300", "weight = 0", "w.toml:14", "1"),
        ("weight = 300", "weight = 10001", "w.toml:14", "10000"),
        ("weight = 300", "weight = -5", "w.toml:14", "-5"),
        ("parent = \"system\"", "parent = \"batch\"", "w.toml:13", "comes later in the file"),
        ("parent = \"system\"", "parent = \"build\"", "w.toml:13", "is its own parent"),
        ("parent = \"system\"", "parent = \"sytem\"", "w.toml:13", "no group \"sytem\"; expected one of \"system\""),
        ("group = \"build\"", "group = \"bild\"", "w.toml:27", "no group \"bild\"; expected one of"),
        ("idle = true", "idle = true\nweight = 5", "w.toml:19", "give `idle` or `weight`, not both"),
        ("name = \"batch\"", "name = \"build\"", "w.toml:17", "used twice"),
        ("weight = 300", "max = \"0ms 100ms\"", "w.toml:14", "refuses a quota below 1ms; expected \"QUOTA\""),
        ("weight = 300", "max = \"-20ms\"", "w.toml:14", "\"-20ms\""),
        ("weight = 300", "max = \"20ms 2s\"", "w.toml:14", "a period below 1ms or above 1s"),
        ("weight = 300", "max = \"20ms 100ms 5ms\"", "w.toml:14", "expected \"QUOTA\" or \"QUOTA PERIOD\""),
        ("weight = 300", "max = \"20ms\"\nburst = \"30ms\"", "w.toml:15", "a burst above the quota"),
        ("weight = 300", "burst = \"30ms\"", "w.toml:14", "set `max` too"),
        ("weight = 300", "uclamp_max = 1025", "w.toml:14", "1024"),
        ("weight = 300", "uclamp_min = 600\nuclamp_max = 512", "w.toml:14", "above the maximum 512"),
        ("weight = 300", "cpus = \"0-\"", "w.toml:14", "0-"),
        ("weight = 300", "cpus = \"0-3\"", "w.toml:25", "none of these CPUs belongs to its group \"build\""),
    ];
    for (from, to, line, what) in cases {
        // The last case has its task on a CPU that the group has not.
        let said = match line {
            "w.toml:25" => {
                let text = FILE.replacen(from, to, 1).replacen("name = \"t\"", "cpus = \"4\"\nname = \"t\"", 1);
                read(&text).unwrap_err().to_string()
            }
            _ => says(from, to),
        };
        assert!(said.starts_with(line) && said.contains(what), "{to}: {said}");
    }
}

#[test]
fn quotas_clamps_and_cpusets_are_read() {
    let limited = "weight = 300\nmax = \"30ms\"\nburst = \"10ms\"\nuclamp_min = 100\nuclamp_max = 600\ncpus = \"2-5\"";
    let workload = read(&FILE.replacen("weight = 300", limited, 1)).unwrap();
    let group = &workload.groups[1];
    assert_eq!(group.max, Some(CpuMax { quota: 30_000_000, period: 100_000_000, burst: 10_000_000 }));
    assert_eq!((group.uclamp_min, group.uclamp_max), (Some(100), Some(600)));
    assert_eq!(group.cpus.as_deref(), Some(&[2, 3, 4, 5][..]));
    // A task may use the CPUs of its group, and of its own those that are there.
    assert_eq!(workload.tasks[0].affinity.as_deref(), Some(&[2, 3, 4, 5][..]));
    assert_eq!(workload.tasks[1].affinity, None);
    let text = FILE.replacen("weight = 300", limited, 1).replacen("name = \"t\"", "cpus = \"0-3\"\nname = \"t\"", 1);
    assert_eq!(read(&text).unwrap().tasks[0].affinity.as_deref(), Some(&[2, 3][..]));
}

#[test]
fn a_group_in_a_group_has_cpus_of_that() {
    let text = FILE.replacen("name = \"system\"", "name = \"system\"\ncpus = \"0-3\"", 1);
    let cpus = |text: &str| read(text).map(|workload| workload.groups[1].cpus.clone().expect("CPUs"));
    assert_eq!(cpus(&text).unwrap(), [0, 1, 2, 3]);
    assert_eq!(cpus(&text.replacen("weight = 300", "cpus = \"3-6\"", 1)).unwrap(), [3]);
    let said = cpus(&text.replacen("weight = 300", "cpus = \"4-6\"", 1)).unwrap_err().to_string();
    assert!(said.contains("none of these CPUs belongs to its parent \"system\""), "{said}");
}
