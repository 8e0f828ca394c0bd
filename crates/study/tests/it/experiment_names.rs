//! What an experiment names is looked up, and told with its place where it is not there.

use std::path::Path;
use wakelab_machine::Machine;
use wakelab_study::compare::Block;
use wakelab_study::experiment::{Catalogue, Given, LookupError, LookupSubject, Spec, SpecError};
use wakelab_testing::fake_runner::{machine, workload};
use wakelab_workload::Workload;

/// One machine, one workload, loads separated by commas, one number.
struct Test;

fn wrong(about: LookupSubject, what: &str) -> LookupError {
    LookupError { about, what: what.to_owned(), hint: None }
}

impl Catalogue for Test {
    fn machine(&self, name: &str) -> Result<Machine, LookupError> {
        if name == "m" || name == "exp/own.toml" {
            Ok(machine())
        } else {
            Err(wrong(LookupSubject::Name, "no such machine"))
        }
    }

    fn workloads(
        &self,
        name: &str,
        load: &str,
        params: &[(String, u64)],
        cpus: u32,
    ) -> Result<Vec<std::sync::Arc<Workload>>, LookupError> {
        assert_eq!(cpus, 4);
        if name != "w" {
            return Err(wrong(LookupSubject::Name, "no such workload"));
        }
        if load == "0" {
            return Err(wrong(LookupSubject::Load, "a load is 1 or more"));
        }
        if let Some((name, _)) = params.iter().find(|(name, _)| name != "send") {
            return Err(wrong(LookupSubject::Param(name.clone()), "no such number"));
        }
        Ok(load.split(',').map(|load| workload(load).into()).collect())
    }
}

const GOOD: &str = r#"machine = "m"
kernel = "v5.19-rc1"
[[workload]]
name = "w"
load = "1,2"
params.send = 7
[variants]
base = "SIS_PROP"
with = "SIS_UTIL"
"#;

fn resolve(text: &str) -> Result<Block, SpecError> {
    Spec::parse(Path::new("exp/x.toml"), text).unwrap().two_sides_from(&Test)
}

fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    resolve(&GOOD.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn every_load_is_a_case() {
    let experiment = resolve(GOOD).unwrap();
    let loads: Vec<_> = experiment.cases.iter().map(|case| case.workload.load.as_str()).collect();
    assert_eq!(loads, ["1", "2"]);
    assert_eq!(experiment.workloads, ["w 1,2"]);
    assert_eq!((experiment.base.label.as_str(), experiment.variants[0].label.as_str()), ("SIS_PROP", "SIS_UTIL"));
    assert_eq!(experiment.end_ns(), 1_600_000_000);
}

#[test]
fn a_machine_file_is_relative_to_the_experiment() {
    assert!(resolve(&GOOD.replace("\"m\"", "\"own.toml\"")).is_ok());
}

#[test]
fn unknown_names_are_told_with_their_line() {
    assert_eq!(changed("\"m\"", "\"n\""), "exp/x.toml:1: `machine`: no such machine");
    assert!(
        changed("v5.19-rc1", "v5.19-rc2").starts_with("exp/x.toml:2: `kernel`: unknown kernel v5.19-rc2; did you mean")
    );
    assert_eq!(changed("\"w\"", "\"v\""), "exp/x.toml:4: `workload.name`: no such workload");
    assert_eq!(changed("\"1,2\"", "\"0\""), "exp/x.toml:5: `workload.load`: a load is 1 or more");
    assert_eq!(changed("params.send", "params.sned"), "exp/x.toml:6: `workload.params.sned`: no such number");
}

#[test]
fn switches_are_told_with_their_line() {
    let unknown = changed("\"SIS_UTIL\"", "\"SIS_UTIX\"");
    assert!(unknown.starts_with("exp/x.toml:9: `variants.with`: ") && unknown.contains("SIS_UTIL"), "{unknown}");
    let inert = changed("\"SIS_PROP\"", "\"NO_RT_PUSH_IPI\"");
    assert!(inert.starts_with("exp/x.toml:8: `variants.base`: nothing in the model acts on RT_PUSH_IPI"), "{inert}");
    assert!(inert.ends_with("hint: wakelab kernel show v5.19-rc1 lists its features"), "{inert}");
}

#[test]
fn a_case_that_comes_twice_is_refused() {
    let twice = changed("\"1,2\"", "\"1,2,1\"");
    assert!(twice.starts_with("exp/x.toml:5: `workload.load`: w at 1 is given twice\n  hint:"), "{twice}");
}

#[test]
fn a_published_table_that_is_not_there_is_told_with_its_line() {
    let error = resolve(&format!("{GOOD}[published]\nsearch = \"no.csv\"\n")).unwrap_err().to_string();
    assert!(error.starts_with("exp/x.toml:11: `published.search`: exp/no.csv: "), "{error}");
}

#[test]
fn flags_are_named_in_place_of_lines() {
    let mut spec = Spec::of_two_sides("m", "v5.19-rc1", "w", Some("0"), "SIS_PROP", "SIS_UTIL").unwrap();
    assert_eq!(spec.two_sides_from(&Test).unwrap_err().to_string(), "--load: a load is 1 or more");
    spec.workloads[0].load = Given::by_flag("--load", "3".to_owned());
    assert_eq!(spec.two_sides_from(&Test).unwrap().cases.len(), 1);
    spec.kernels[0].value = "x".to_owned();
    assert!(spec.two_sides_from(&Test).unwrap_err().to_string().starts_with("--kernel: unknown kernel x"));
    spec.kernels[0].value = "6.7".to_owned();
    let error = spec.two_sides_from(&Test).unwrap_err().to_string();
    assert!(error.starts_with("--kernel: no preset for kernel 6.7; the nearest are v6.6 and v6.8"), "{error}");
}

#[test]
fn a_governor_by_its_name_alone_is_told_how_it_is_named() {
    let spec = Spec::of_two_sides("m", "v6.1", "w", Some("1"), "", "schedutil").unwrap();
    let error = spec.two_sides_from(&Test).unwrap_err().to_string();
    assert!(error.contains("unknown feature schedutil") && error.contains("governor=schedutil"), "{error}");
}

#[test]
fn a_version_takes_the_preset_that_stands_for_it_and_says_so() {
    for (kernel, said) in [("v6.12", None), ("6.12.40", Some("kernel 6.12.40: simulated by the preset v6.12"))] {
        let spec = Spec::of_two_sides("m", kernel, "w", Some("3"), "SIS_PROP", "SIS_UTIL").unwrap();
        let experiment = spec.two_sides_from(&Test).unwrap();
        let warnings = experiment.warnings.first().map(String::as_str);
        assert_eq!((experiment.kernel.name, warnings), ("v6.12", said));
    }
}

/// The experiments that come with the program, from what comes with it.
#[test]
fn committed_experiments_are_whole() {
    let cases = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/experiments").join(file);
        let experiment = Spec::read(&path).unwrap().resolve_two_sides().unwrap();
        assert!(experiment.cases.iter().all(|case| experiment.published.search(&case.workload).is_some()));
        let loads = experiment.cases.into_iter().map(|case| case.workload.load.replace(" threads", ""));
        loads.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(cases("quickstart.toml"), "112 168 224");
    assert_eq!(cases("sis_util.toml"), "28 56 84 112 140 168 196 224");
    assert_eq!(cases("sis_util-udp.toml"), "28 56 84 112 140 168 196 224");
}

/// Those of the other postings: the loads, and that their kernels, machines and switches are there.
#[test]
fn experiments_of_other_postings_are_whole() {
    let experiment = |file: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/experiments").join(file);
        Spec::read(&path).unwrap().resolve_two_sides().unwrap()
    };
    let zen3 = "1 group 2 groups 4 groups 8 groups 16 groups";
    let limit = "1 group 2 groups 4 groups 8 groups 16 groups 32 groups";
    for (file, machine, kernel, loads) in [
        ("sis_util-zen3-nps1-hackbench.toml", "amd-zen3-2s128c256t-nps1", "v5.19-rc2-tip", zen3),
        ("sis_util-zen3-nps2-hackbench.toml", "amd-zen3-2s128c256t-nps2", "v5.19-rc2-tip", zen3),
        ("sis_util-zen3-nps4-hackbench.toml", "amd-zen3-2s128c256t-nps4", "v5.19-rc2-tip", zen3),
        ("search-limit-hackbench.toml", "intel-2s44c88t", "v5.2", limit),
        ("search-limit-hackbench-no-core.toml", "intel-2s44c88t", "v5.2", limit),
        ("short-wakeup-will-it-scale.toml", "intel-1s56c112t", "v6.1", "56 instances 112 instances"),
    ] {
        let experiment = experiment(file);
        let found: Vec<_> = experiment.cases.iter().map(|case| case.workload.load.as_str()).collect();
        assert_eq!((experiment.machine.name.as_str(), experiment.kernel.name), (machine, kernel), "{file}");
        assert_eq!(found.join(" "), loads, "{file}");
    }
    let cases: Vec<_> = experiment("short-wakeup-hackbench.toml").cases.into_iter().map(|case| case.workload).collect();
    let cases: Vec<_> = cases.iter().map(|w| format!("{} {}", w.case, w.load)).collect();
    assert_eq!(
        (cases.len(), cases[3].as_str(), cases[4].as_str()),
        (8, "process-pipe 8 groups", "process-sockets 1 group")
    );
}

#[test]
fn what_comes_with_the_program_is_told_of_by_place() {
    let told = |from: &str, to: &str| {
        let text = GOOD.replace("\"m\"", "\"test-8c\"").replace("\"w\"", "\"netperf:TCP_RR\"");
        assert!(text.contains(from));
        Spec::parse(Path::new("exp/x.toml"), &text.replacen(from, to, 1))
            .unwrap()
            .resolve_two_sides()
            .unwrap_err()
            .to_string()
    };
    assert!(told("test-8c", "test-9c").starts_with("exp/x.toml:1: `machine`: test-9c: "));
    assert!(told("test-8c", "./no.toml").starts_with("exp/x.toml:1: `machine`: exp/./no.toml: "));
    assert!(told("TCP_RR", "TCP_RX").starts_with("exp/x.toml:4: `workload.name`: "));
    assert!(told("\"1,2\"", "\"0\"").starts_with("exp/x.toml:5: `workload.load`: a load of 0"));
    assert!(told("\"1,2\"", "\"1%\"").starts_with("exp/x.toml:5: `workload.load`: "));
    assert!(told("params.send", "params.sned").starts_with("exp/x.toml:6: `workload.params.sned`: "));
}

/// The worked example of docs/compare.md.
#[test]
fn the_documented_experiment_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/compare.md")).unwrap();
    let text = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let experiment = Spec::parse(&root.join("data/experiments/x.toml"), text).unwrap().resolve_two_sides().unwrap();
    assert_eq!((experiment.cases.len(), experiment.published.files().len()), (8, 2));
}
