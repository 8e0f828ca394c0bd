//! Experiment files: what is read, and what is said of those that are wrong.

use std::path::{Path, PathBuf};
use wakelab_study::compare::Until;
use wakelab_study::experiment::{Flags, NamedSide, Spec, SpecError};

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
    assert_eq!((spec.name.as_str(), spec.machines[0].value.as_str()), ("x", "intel-1s56c112t"));
    assert_eq!((spec.kernels[0].value.as_str(), spec.repeats.value, spec.seed), ("v5.19-rc1", 3, 7));
    assert_eq!((spec.time_ns.value, spec.settle_ns.value, spec.observer_cost_ns), (250_000_000, 0, 2000));
    let [tcp, udp] = spec.workloads.as_slice() else { panic!("{:?}", spec.workloads) };
    assert_eq!((tcp.name.value.as_str(), tcp.load.value.as_str()), ("netperf:TCP_RR", "28"));
    assert_eq!((tcp.params[0].0.as_str(), tcp.params[0].1.value), ("send_ns", 2000));
    assert_eq!((udp.load.value.as_str(), udp.params.len()), ("25%..200%/25%", 0));
    assert_eq!((value(&spec.base), value(&spec.variants[0])), ("SIS_PROP", "SIS_UTIL,NO_SIS_PROP"));
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
    assert_eq!((spec.name.as_str(), spec.repeats.value, spec.seed), ("short", 3, 1));
    assert_eq!((spec.time_ns.value, spec.settle_ns.value), (1_000_000_000, 600_000_000));
    let flags = Spec::of_two_sides("m", "k", "netperf:TCP_RR", Some("1"), "", "SIS_UTIL").unwrap();
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
        "exp/x.toml:3: `repeat`: unknown key; expected name, machine, machines, kernel, kernels, \
         repeats, until, max_repeats, seed, time, settle, observer_cost, pinned, lenient, workload, variants, \
         published\n  hint: did you mean `repeats`?"
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/experiments");
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
        "production",
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

const MANY: &str = r#"machines = ["a", "b.toml"]
kernels = ["v6.1", "v6.12"]
until = "2%"
max_repeats = 12
workload = [{ name = "netperf:TCP_RR", load = "1" }]

[variants]
util = "SIS_UTIL"
base = "SIS_PROP"
"next kernel" = "kernel=v7.2,SIS_UTIL"
"#;

fn value(side: &NamedSide) -> &str {
    &side.given().value
}

fn many(text: &str) -> Result<Spec, SpecError> {
    Spec::parse(Path::new("exp/x.toml"), text)
}

#[test]
fn any_number_of_machines_kernels_and_variants_is_read() {
    let matrix = many(MANY).unwrap();
    let values = |given: &[wakelab_study::experiment::Given<String>]| {
        given.iter().map(|given| given.value.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((values(&matrix.machines), values(&matrix.kernels)), ("a b.toml".to_owned(), "v6.1 v6.12".to_owned()));
    // In the order of the file.
    let variants: Vec<_> = matrix.variants.iter().map(|one| (one.name.as_str(), value(one))).collect();
    assert_eq!(variants, [("util", "SIS_UTIL"), ("next kernel", "kernel=v7.2,SIS_UTIL")]);
    assert_eq!((matrix.base.name.as_str(), value(&matrix.base)), ("base", "SIS_PROP"));
    let until = matrix.until.as_ref().unwrap().value;
    assert_eq!(until, Until { half_width_pct: 2.0, most: 12 });
    assert!(!matrix.has_two_sides());
    let error = matrix.resolve_two_sides().unwrap_err().to_string();
    assert_eq!(
        error,
        "exp/x.toml:1: `machines`: expected one machine, one kernel and two variants, found several machines"
    );
}

#[test]
fn lists_of_one_are_two_sides() {
    let text = MANY.replace(", \"b.toml\"", "").replace(", \"v6.12\"", "").replace("util = \"SIS_UTIL\"\n", "");
    let spec = Spec::parse(Path::new("exp/x.toml"), &text).unwrap();
    assert!(spec.has_two_sides());
    assert_eq!((spec.machines[0].value.as_str(), spec.kernels[0].value.as_str()), ("a", "v6.1"));
    assert_eq!(value(&spec.variants[0]), "kernel=v7.2,SIS_UTIL");
}

#[test]
fn what_is_wrong_with_a_matrix_is_told_with_its_line() {
    for (from, to, expected) in [
        ("machines", "machine = \"m\"\nmachines", "x.toml:2: `machines`: machine and machines; expected one of them"),
        ("[\"v6.1\", \"v6.12\"]", "[]", "x.toml:2: `kernels`: expected a list of one or more names"),
        ("[\"v6.1\", \"v6.12\"]", "[6.1]", "x.toml:2: `kernels`: expected a name in quotes, found 6.1"),
        ("kernels = [\"v6.1\", \"v6.12\"]\n", "", "x.toml: `kernel`: the key is missing"),
        ("\"2%\"", "\"2\"", "x.toml:3: `until`: expected 0.01% to 100% such as 2%, found \"2\""),
        ("until = \"2%\"\n", "", "x.toml:3: `max_repeats`: it has no effect without `until`"),
        ("= 12", "= 1", "x.toml:4: `max_repeats`: expected a whole number from 2 to 10000, found 1"),
        ("base = \"SIS_PROP\"\n", "", "x.toml:7: `variants.base`: the key is missing"),
        ("base =", "basis =", "hint: did you mean `basis`?"),
        ("util =", "base =", "duplicate key"),
        ("next kernel", "a,b", "x.toml:7: `variants`: \"a,b\" is not a name for a variant; expected 1 to 40 letters"),
        ("\"SIS_UTIL\"", "1", "x.toml:8: `variants.util`: expected text in quotes, found 1"),
    ] {
        assert!(MANY.contains(from), "{from}");
        let error = many(&MANY.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{from}: {error}");
    }
}

fn flags(kernels: &[&str], loads: &[&str], base: &str, with: &[&str]) -> Result<Spec, String> {
    let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let workloads = owned(&["netperf:TCP_RR", "hackbench:process-pipe"]);
    let (machines, kernels, loads, with) = (owned(&["a", "b"]), owned(kernels), owned(loads), owned(with));
    let flags =
        Flags { machines: &machines, kernels: &kernels, workloads: &workloads, loads: &loads, base, with: &with };
    Spec::of_flags(&flags).map_err(|error| error.to_string())
}

#[test]
fn flags_name_sides_and_kernels() {
    let matrix = flags(&[], &["1", "2"], "old=kernel=v6.1", &["kernel=v6.12", "new=kernel=v7.2,SIS_UTIL"]).unwrap();
    let named = matrix.variants.iter().map(|one| (one.name.as_str(), value(one))).collect::<Vec<_>>();
    assert_eq!(named, [("kernel=v6.12", "kernel=v6.12"), ("new", "kernel=v7.2,SIS_UTIL")]);
    assert_eq!((matrix.base.name.as_str(), value(&matrix.base)), ("old", "kernel=v6.1"));
    assert_eq!((matrix.kernels.len(), matrix.kernels[0].value.as_str()), (1, "v6.1"));
    let loads: Vec<&str> = matrix.workloads.iter().map(|one| one.load.value.as_str()).collect();
    assert_eq!(loads, ["1", "2"]);
    let one = flags(&["v6.12"], &["25%"], "", &["SIS_PROP"]).unwrap();
    assert!(one.workloads.iter().all(|one| one.load.value == "25%"));
}

#[test]
fn flags_that_do_not_fit_together_are_refused() {
    let names = ["a=SIS_PROP", "a=NO_SIS_UTIL"];
    for (kernels, loads, base, with, expected) in [
        (&["v6.12"][..], &["1"][..], "", &names[..], "--with: two sides have the name a"),
        (&["v6.12"], &["1"], "", &["SIS_PROP", "SIS_PROP"], "--with: two sides have the name SIS_PROP"),
        (&["v6.12"], &["1"], "", &["base=SIS_PROP"], "--with: two sides have the name base"),
        (&["v6.12"], &["1", "2", "3"], "", &["SIS_PROP"], "--load: given 3 times for 2 workloads"),
        (&["v6.12"], &[], "", &["SIS_PROP"], "--load: is required for this workload"),
        (&[], &["1"], "kernel=v6.1", &["SIS_PROP"], "--kernel: is required for sides that name none themselves"),
        (&["v6.6"], &["1"], "kernel=v6.1", &["kernel=v6.12"], "--kernel: every side names a kernel of its own"),
    ] {
        let error = flags(kernels, loads, base, with).unwrap_err();
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
}
