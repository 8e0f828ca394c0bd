//! `[[group]]` of workload files: what is read, and what is refused with its line.

use std::path::Path;
use wakelab_workload::{Group, Workload, WorkloadError, from_toml};

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
    let group = |name: &str, parent, weight, idle| Group { name: name.into(), parent, weight, idle };
    let expected = [group("system", 0, 100, false), group("build", 1, 300, false), group("batch", 0, 100, true)];
    assert_eq!(workload.groups, expected);
    assert_eq!(workload.tasks.iter().map(|task| task.group).collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn a_weight_is_as_many_shares_as_the_kernel_makes_of_it() {
    let shares = |weight| Group { name: "g".into(), parent: 0, weight, idle: false }.shares();
    // DIV_ROUND_CLOSEST_ULL(weight * 1024, 100), scaled up.
    assert_eq!([1, 100, 300, 10_000].map(shares), [10 << 10, 1024 << 10, 3072 << 10, 102_400 << 10]);
    assert_eq!(Group { name: "g".into(), parent: 0, weight: 100, idle: true }.shares(), 3 << 10);
}

#[test]
fn what_is_wrong_with_a_group_is_said_with_its_line() {
    let cases = [
        ("weight = 300", "weight = 0", "w.toml:14", "1"),
        ("weight = 300", "weight = 10001", "w.toml:14", "10000"),
        ("weight = 300", "weight = -5", "w.toml:14", "-5"),
        ("parent = \"system\"", "parent = \"batch\"", "w.toml:13", "comes later in the file"),
        ("parent = \"system\"", "parent = \"build\"", "w.toml:13", "is in itself"),
        ("parent = \"system\"", "parent = \"sytem\"", "w.toml:13", "no group \"sytem\"; expected one of \"system\""),
        ("group = \"build\"", "group = \"bild\"", "w.toml:27", "no group \"bild\"; expected one of"),
        ("idle = true", "idle = true\nweight = 5", "w.toml:19", "expected one of both"),
        ("name = \"batch\"", "name = \"build\"", "w.toml:17", "given twice"),
        ("weight = 300", "max = \"200ms 100ms\"", "w.toml:14", "bandwidth control is not modelled"),
        ("weight = 300", "cpus = \"0-3\"", "w.toml:14", "cpusets are not modelled"),
        ("weight = 300", "uclamp_max = 50", "w.toml:14", "clamps of groups are not modelled"),
    ];
    for (from, to, line, what) in cases {
        let said = says(from, to);
        assert!(said.starts_with(line) && said.contains(what), "{to}: {said}");
    }
}
