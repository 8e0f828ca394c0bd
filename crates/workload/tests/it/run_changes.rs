//! `[[change]]` of workload files: what is read, and what is refused with its line.

use std::path::Path;
use wakelab_workload::{Change, Changed, CpuMax, Group, Workload, WorkloadError, from_toml};

const FILE: &str = r#"[workload]
benchmark = "b"
case = "c"
metric = "throughput"
unit = "u"
better = "higher"

[[group]]
name = "build"

[[group]]
name = "pinned"
cpus = "1"

[[program]]
name = "p"
ops = ["begin", {run = "50us"}, "done", {sleep = "1us"}, {repeat = {to = 0}}]

[[task]]
name = "t"
program = "p"
per_instance = 2

[[task]]
name = "u"
program = "p"
group = "build"

"#;

fn read(changes: &str, instances: u32) -> Result<Workload, WorkloadError> {
    from_toml(&format!("{FILE}{changes}"), Path::new("w.toml"), instances)
}

fn refused(change: &str) -> String {
    read(&format!("[[change]]\n{change}\n"), 1).unwrap_err().to_string()
}

#[test]
fn changes_are_read_in_the_order_of_their_times() {
    let text = "[[change]]\nat = \"2s\"\nonline = \"3\"\n[[change]]\nat = \"1s\"\noffline = \"3,1-2\"\n\
                [[change]]\nat = \"3s\"\ngroup = \"build\"\nweight = 7\n\
                [[change]]\nat = \"4s\"\ngroup = \"build\"\nidle = true\n\
                [[change]]\nat = \"5s\"\ngroup = \"build\"\nmax = \"5ms\"\nburst = \"1ms\"\n\
                [[change]]\nat = \"6s\"\ngroup = \"build\"\nmax = \"max\"\n\
                [[change]]\nat = \"7s\"\ntask = \"u\"\ngroup = \"/\"\n\
                [[change]]\nat = \"8s\"\ngroup = \"build\"\nremoved = true\n";
    let max = CpuMax { quota: 5_000_000, period: 100_000_000, burst: 1_000_000 };
    let expected = [
        Changed::Offline { cpus: vec![1, 2, 3] },
        Changed::Online { cpus: vec![3] },
        Changed::Weight { group: 1, weight: 7 },
        Changed::Idle { group: 1, idle: true },
        Changed::Max { group: 1, max: Some(max) },
        Changed::Max { group: 1, max: None },
        // Of two instances: t 0, t 1, u of the first, and the same of the second.
        Changed::Move { tasks: vec![2, 5], group: 0 },
        Changed::Remove { group: 1 },
    ];
    let expected: Vec<Change> =
        (1..).zip(expected).map(|(s, what)| Change { at_ns: s * 1_000_000_000, what }).collect();
    assert_eq!(read(text, 2).unwrap().changes, expected);
}

#[test]
fn what_cannot_be_is_refused() {
    for (change, expected) in [
        ("offline = \"1\"", "`change.at`: the key is missing; expected when it happens"),
        ("at = \"1s\"", "expected `offline` or `online` with CPUs"),
        ("at = \"1s\"\noffline = \"0-1\"", "CPU 0 cannot go offline; expected CPUs from 1 on"),
        ("at = \"1s\"\noffline = \"1\"\nonline = \"2\"", "one change has both offline and online"),
        ("at = \"1s\"\nonline = \"1\"", "CPU 1 is already online; expected another CPU"),
        ("at = \"1s\"\noffline = \"1\"\ngroup = \"build\"", "a change with offline concerns no group"),
        ("at = \"1s\"\nweight = 5", "expected the name of a [[group]]"),
        ("at = \"1s\"\ngroup = \"/\"\nweight = 5", "the root group cannot be removed or changed"),
        ("at = \"1s\"\ngroup = \"none\"\nweight = 5", "there is no group \"none\""),
        ("at = \"1s\"\ngroup = \"build\"\nweight = 0", "1 to 10000"),
        ("at = \"1s\"\ngroup = \"build\"\nweight = 5\nburst = \"1ms\"", "`burst` needs a quota"),
        ("at = \"1s\"\ngroup = \"build\"\nmax = \"max\"\nburst = \"1ms\"", "`burst` needs a quota"),
        ("at = \"1s\"\ngroup = \"build\"\nmade = false", "`change.made`: expected true; to undo it, remove the change"),
        (
            "at = \"1s\"\ngroup = \"build\"\nmade = true",
            "task u starts in build before the group is made; let it start later",
        ),
        (
            "at = \"1s\"\ngroup = \"pinned\"\nremoved = true\n[[change]]\nat = \"2s\"\ngroup = \"pinned\"\nweight = 7",
            "the change at 2s: the group pinned does not exist at that time; expected one that does",
        ),
        (
            "at = \"1s\"\ngroup = \"pinned\"\nweight = 7\n[[change]]\nat = \"2s\"\ngroup = \"pinned\"\nmade = true",
            "the change at 1s: the group pinned does not exist at that time; expected one that does",
        ),
        ("at = \"1s\"\ngroup = \"build\"\ntask = \"v\"", "there is no task \"v\"; expected the name of a [[task]]"),
        (
            "at = \"1s\"\ngroup = \"pinned\"\ntask = \"u\"",
            "u moves to a group with other `cpus`, which is not modelled",
        ),
    ] {
        let error = refused(change);
        assert!(error.contains(expected), "{change}: {error}");
    }
    let mut nested = read("[[change]]\nat = \"1s\"\ngroup = \"pinned\"\nmade = true\n", 1).unwrap();
    nested.groups.push(Group { name: "inner".to_owned(), parent: 2, weight: 100, ..Group::default() });
    let error = nested.validate(4).unwrap_err().to_string();
    assert!(error.contains("inner is made before its parent pinned"), "{error}");
    let after = format!("{FILE}[[change]]\nat = \"1s\"\noffline = \"9\"\n");
    let workload = from_toml(&after, Path::new("w.toml"), 1).unwrap();
    let error = workload.validate(4).unwrap_err().to_string();
    assert!(error.contains("the change at 1s") && error.contains("CPU 9; the machine has CPUs 0 to 3"), "{error}");
}
