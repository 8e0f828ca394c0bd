//! Experiment files: what is read, and what is said of those that are wrong.

use std::path::{Path, PathBuf};
use wakelab_study::experiment::Spec;

const GOOD: &str = r#"machine = "intel-1s56c112t"
kernel = "v5.19-rc1"
repeats = 3
seed = 7
time = "250ms"
settle = "0ns"
observer_cost = "2us"

[[workload]]
name = "netperf:TCP_RR"
load = "28"
params = { send_ns = 2000 }

[[workload]]
name = "netperf:UDP_RR"
load = "25%..200%/25%"

[variants]
base = "SIS_PROP"
with = "SIS_UTIL,NO_SIS_PROP"

[published]
results = "../published/results.csv"
"#;

fn error(text: &str) -> String {
    Spec::parse(Path::new("exp/x.toml"), text).unwrap_err().to_string()
}

/// `GOOD` with one text in place of another.
fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    error(&GOOD.replacen(from, to, 1))
}

#[test]
fn everything_is_read() {
    let spec = Spec::parse(Path::new("exp/x.toml"), GOOD).unwrap();
    assert_eq!((spec.name.as_str(), spec.machine.value.as_str()), ("x", "intel-1s56c112t"));
    assert_eq!((spec.kernel.value.as_str(), spec.repeats.value, spec.seed), ("v5.19-rc1", 3, 7));
    assert_eq!((spec.time_ns.value, spec.settle_ns.value, spec.observer_cost_ns), (250_000_000, 0, 2000));
    let [tcp, udp] = spec.workloads.as_slice() else { panic!("{:?}", spec.workloads) };
    assert_eq!((tcp.name.value.as_str(), tcp.load.value.as_str()), ("netperf:TCP_RR", "28"));
    assert_eq!((tcp.params[0].0.as_str(), tcp.params[0].1.value), ("send_ns", 2000));
    assert_eq!((udp.load.value.as_str(), udp.params.len()), ("25%..200%/25%", 0));
    assert_eq!((spec.base.value.as_str(), spec.with.value.as_str()), ("SIS_PROP", "SIS_UTIL,NO_SIS_PROP"));
    assert_eq!(spec.results.unwrap().value, Path::new("../published/results.csv"));
    assert_eq!((spec.search, spec.folder), (None, PathBuf::from("exp")));
}

#[test]
fn what_may_be_left_out_has_defaults() {
    let text = r#"
        name = "short"
        machine = "m"
        kernel = "k"
        workload = [{ name = "netperf:TCP_RR", load = "1" }]
        variants = { base = "", with = "SIS_UTIL" }
    "#;
    let spec = Spec::parse(Path::new("x.toml"), text).unwrap();
    assert_eq!((spec.name.as_str(), spec.repeats.value, spec.seed), ("short", 1, 1));
    assert_eq!((spec.time_ns.value, spec.settle_ns.value), (1_000_000_000, 600_000_000));
    let flags = Spec::of_flags("m", "k", "netperf:TCP_RR", Some("1"), "", "SIS_UTIL").unwrap();
    assert_eq!((flags.repeats, flags.time_ns, flags.settle_ns), (spec.repeats, spec.time_ns, spec.settle_ns));
}

#[test]
fn a_missing_key_is_named_with_an_example() {
    assert_eq!(
        changed("machine = \"intel-1s56c112t\"\n", ""),
        "exp/x.toml: `machine`: the key is missing; expected a value such as \"intel-1s56c112t\""
    );
    assert!(changed("with = \"SIS_UTIL,NO_SIS_PROP\"\n", "").starts_with("exp/x.toml:18: `variants.with`: the key"));
    assert!(changed("load = \"28\"\n", "").starts_with("exp/x.toml:9: `workload.load`: the key is missing"));
    let variants = changed("[variants]\nbase = \"SIS_PROP\"\nwith = \"SIS_UTIL,NO_SIS_PROP\"\n", "");
    assert!(variants.starts_with("exp/x.toml: `variants`: the key is missing; expected"), "{variants}");
}

#[test]
fn a_misspelt_key_is_named_with_the_nearest() {
    assert_eq!(
        changed("repeats", "repeat"),
        "exp/x.toml:3: `repeat`: unknown key; expected name, machine, kernel, repeats, seed, time, settle, \
         observer_cost, pinned, lenient, workload, variants, published\n  hint: did you mean `repeats`?"
    );
    assert!(changed("load = \"28\"", "laod = \"28\"").ends_with("hint: did you mean `load`?"));
    assert!(changed("[variants]", "[variant]").contains(":18: `variant`: unknown key"));
    assert!(changed("results", "result").contains(":23: `published.result`: unknown key; expected results, search"));
    assert!(!changed("seed", "zzz").contains("hint"));
}

#[test]
fn a_value_of_another_kind_is_named() {
    assert_eq!(
        changed("\"250ms\"", "250"),
        "exp/x.toml:5: `time`: expected a time in ns, us, ms or s, at most an hour, such as 50us or 1.5ms, found 250"
    );
    assert_eq!(
        changed("repeats = 3", "repeats = \"3\""),
        "exp/x.toml:3: `repeats`: expected a whole number from 1 to 10000, found \"3\""
    );
    assert!(changed("= { send_ns = 2000 }", "= 1").contains(":12: `workload.params`: expected a table"));
    assert!(changed("2000", "-1").contains(":12: `workload.params.send_ns`: expected a whole number"));
    assert!(error("machine = \"m\"\nkernel = \"k\"\nworkload = \"netperf\"\n").contains("x.toml:3: `workload`: exp"));
    assert!(error("machine = \"m\"\nkernel = \"k\"\nworkload = []\n").contains("x.toml:3: `workload`: expected"));
}

#[test]
fn nothing_is_no_amount() {
    assert!(changed("repeats = 3", "repeats = 0").ends_with("expected a whole number from 1 to 10000, found 0"));
    assert!(changed("\"250ms\"", "\"0s\"").ends_with(":5: `time`: expected more than 0, found \"0s\""));
}

#[test]
fn a_time_without_unit_is_refused() {
    assert_eq!(
        changed("\"250ms\"", "\"250\""),
        "exp/x.toml:5: `time`: expected a time in ns, us, ms or s, at most an hour, such as 50us or 1.5ms, found \
         \"250\""
    );
}

#[test]
fn what_is_no_toml_has_its_line() {
    assert!(changed("seed = 7", "seed =").starts_with("exp/x.toml:4: "), "{}", changed("seed = 7", "seed ="));
    assert!(changed("seed = 7", "kernel = \"x\"").starts_with("exp/x.toml:4: "));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Spec::read(Path::new("no-such.toml")).unwrap_err().to_string();
    assert!(error.starts_with("no-such.toml: ") && error.contains("hint: "), "{error}");
}

#[test]
fn committed_experiments_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments");
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let spec = Spec::read(&entry.unwrap().path()).unwrap();
        for file in [spec.results, spec.search].into_iter().flatten() {
            assert!(spec.folder.join(&file.value).exists(), "{}", file.value.display());
        }
        names.push(spec.name);
    }
    names.sort();
    let expected = [
        "ablation",
        "demo",
        "freq-invariance-gitsource",
        "freq-invariance-gitsource-broadwell",
        "freq-invariance-sequential-tasks",
        "freq-invariance-sequential-tasks-ondemand",
        "freq-invariance-sequential-tasks-pinned",
        "freq-invariance-sequential-tasks-powersave",
        "quickstart",
        "runnable-boosting-altra",
        "runnable-boosting-jankbench",
        "sched-cache",
        "search-limit-dbench",
        "search-limit-dbench-no-core",
        "search-limit-hackbench",
        "search-limit-hackbench-no-core",
        "search-limit-oracle",
        "search-limit-oracle-no-core",
        "search-limit-schbench",
        "search-limit-schbench-no-core",
        "search-limit-sysbench",
        "search-limit-sysbench-no-core",
        "search-limit-tbench",
        "search-limit-tbench-no-core",
        "search-limit-uperf",
        "search-limit-uperf-no-core",
        "short-wakeup-hackbench",
        "short-wakeup-rq-lock",
        "short-wakeup-schbench",
        "short-wakeup-will-it-scale",
        "sis-util-turbo-off",
        "sis_util",
        "sis_util-hackbench",
        "sis_util-schbench",
        "sis_util-tbench",
        "sis_util-udp",
        "sis_util-zen3-nps1-hackbench",
        "sis_util-zen3-nps1-schbench",
        "sis_util-zen3-nps1-tbench",
        "sis_util-zen3-nps1-ycsb",
        "sis_util-zen3-nps2-hackbench",
        "sis_util-zen3-nps4-hackbench",
    ];
    assert_eq!(names, expected);
}
