//! A switch at a setting that decides nothing changes nothing: the same events, with every benchmark.
//!
//! Policies, features, tunables and benchmarks are those of the registries. One that is new has to be put into a table
//! here, with the setting at which it is neutral or why there is none.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::Digest;
use wakelab_kernel::{Feature, Preset, Tunable};
use wakelab_sched::select::policy;
use wakelab_sim::{Mechanisms, Setup, Variant, run_dyn};
use wakelab_workload::{Load, Workload, benchmarks, build};

/// Where a switch decides nothing.
#[derive(Clone, Copy, Debug)]
enum Neutral {
    /// Beside these switches, on a machine of two LLCs without SMT.
    Beside(&'static str),
    /// On a machine of two sockets with an LLC each, beside nothing.
    OneLlcANode,
    /// It has no such setting, because of this.
    No(&'static str),
}

use Neutral::{Beside, No, OneLlcANode};

/// The switches of search policies.
const POLICIES: &[(&str, Neutral)] = &[
    ("SIS_UTIL", No("it is the kernel's own, and stated again below")),
    ("SIS_EFF_IDLE_CORE", Beside("NO_SIS_UTIL")),
    ("SIS_EFF_CORE_LIMIT", Beside("NO_SIS_UTIL")),
    ("SIS_UTIL_V1", No("another number at every utilisation")),
    ("SIS_UTIL_V2", No("another number at every utilisation")),
    ("SIS_UTIL_V3", No("another number at every utilisation")),
    ("SIS_UTIL_SMALL_LLC", Beside("NO_SIS_UTIL")),
    ("SIS_UTIL_NEWIDLE", Beside("NO_SIS_UTIL")),
    ("SIS_PARAM", Beside("")),
    ("SIS_PROP", No("it limits a scan that has no limit, or in place of another")),
    ("SIS_SHORT", No("the shortest slice is longer than what tasks run")),
    ("SIS_SHORT_V6", Beside("NO_SIS_UTIL")),
    ("SIS_LIMIT", No("the scan begins elsewhere")),
    ("SIS_FILTER", No("some CPU has two tasks sooner or later")),
    ("SIS_CACHE", No("what counts as a short sleep is not zero")),
    ("SIS_EFF_BUSY", Beside("")),
    ("SIS_EFF_FILTER", Beside("")),
    ("SIS_EFF_PENDING", Beside("")),
    ("SIS_CURRENT", No("tasks that wake each other are everywhere")),
    ("SIS_CORE", Beside("")),
    ("SIS_SINGLE_PASS", Beside("")),
    ("SIS_CLUSTER", Beside("")),
    ("SIS_CLUSTER_V5", Beside("")),
    ("SIS_CLUSTER_V7", Beside("")),
    ("SIS_CLUSTER_V8", Beside("")),
    ("SIS_CLUSTER_V9", Beside("")),
    ("SIS_CLUSTER_V10", Beside("")),
    ("SIS_NODE", OneLlcANode),
    ("SIS_NODE_LIMIT", OneLlcANode),
    ("SIS_NODE_TOPOEXT", OneLlcANode),
    ("SIS_NODE_PAIR", OneLlcANode),
    ("SIS_ORACLE", No("it knows more than any search")),
    ("OWN", No("it is what a program brings along")),
];

/// Tunables that the kernel here does not have set: the value that says so, and beside what it counts.
const UNSET: &[(&str, &str)] = &[
    ("sis_util_pct", "sis_util_pct=117"),
    ("sis_util_exponent", "sis_util_exponent=2"),
    ("sis_param_runnable", "SIS_PARAM,sis_param_runnable=0"),
    ("sis_param_floor", "SIS_PARAM,sis_param_floor=0"),
    ("sis_param_cap", "SIS_PARAM,sis_param_cap=4096"),
    ("sis_param_failed", "SIS_PARAM,sis_param_failed=0"),
    ("sis_param_run", "SIS_PARAM,sis_param_run=0"),
    ("sis_param_short", "SIS_PARAM,sis_param_short=0"),
    ("sis_param_short_scan", "SIS_PARAM,sis_param_short_scan=100"),
    ("pelt_multiplier", "pelt_multiplier=1"),
    ("sched_util_clamp_min", "sched_util_clamp_min=1024"),
    ("sched_util_clamp_max", "sched_util_clamp_max=1024"),
    ("sched_util_clamp_min_rt_default", "sched_util_clamp_min_rt_default=1024"),
    ("uclamp_buckets", "uclamp_buckets=5"),
    ("sched_cfs_bandwidth_slice_us", "sched_cfs_bandwidth_slice_us=5000"),
    ("sched_autogroup_enabled", "sched_autogroup_enabled=0"),
];

/// Tunables that another kernel has: nothing sets them here.
const OTHER_KERNELS: &[&str] = &[
    "sched_latency",
    "min_granularity",
    "idle_min_granularity",
    "wakeup_granularity",
    "nr_latency",
    "child_runs_first",
    "llc_aggr_tolerance",
    "llc_epoch_period",
    "llc_epoch_affinity_timeout",
    "llc_overaggr_pct",
    "llc_imb_pct",
];

const KERNEL: &str = "v6.12";
/// Long enough that all tasks have been forked and periodic balancing has written what SIS_UTIL reads, ns.
const UNTIL: u64 = 5_000_000;

/// Every case of every benchmark at a small load, with tasks for most CPUs.
fn workloads(nr_cpus: u32) -> Vec<(String, Workload)> {
    let cases = benchmarks().iter().flat_map(|benchmark| benchmark.cases().iter().map(move |case| (benchmark, case)));
    let built = cases.map(|(benchmark, case)| {
        let name = format!("{}:{}", benchmark.name(), case.name);
        let load = if benchmark.load_is_rate() { Load::PerSecond(1000) } else { Load::Instances(3) };
        let workload = build(&name, load, nr_cpus, &BTreeMap::new()).expect("a workload");
        (name, workload)
    });
    built.collect()
}

fn digest(machine: &str, switches: &str, workload: &Workload) -> (u64, u64) {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(KERNEL).expect("a preset");
    let switches = switches.parse().unwrap_or_else(|error| panic!("{switches}: {error}"));
    let side = Variant::on(&machine, kernel, &switches).unwrap_or_else(|error| panic!("{switches}: {error}"));
    let setup = Setup {
        machine: &machine,
        kernel: &side.kernel,
        features: side.features,
        workload,
        seed: 1,
        until: UNTIL,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: side.pm,
        scheduler: None,
    };
    let mut digest = Digest::default();
    run_dyn(&setup, &mut digest, &AtomicBool::new(false)).expect("a run");
    digest.finish()
}

/// What a feature is switched to where it is not at its default.
fn turned(feature: Feature) -> String {
    let on = Preset::get(KERNEL).expect("a preset").features.has(feature);
    format!("{}{}", if on { "NO_" } else { "" }, feature.name())
}

/// Pairs of sides that differ in nothing, by machine.
fn neutral() -> BTreeMap<&'static str, Vec<(String, String)>> {
    let mut pairs = BTreeMap::<_, Vec<_>>::new();
    for switch in policy::switches() {
        let name = if switch.feature == Feature::OWN { "OWN" } else { switch.feature.name() };
        let found = POLICIES.iter().find(|(known, _)| *known == name);
        let (_, neutral) = found.unwrap_or_else(|| panic!("{name} is in no table here"));
        let turned = turned(switch.feature);
        match neutral {
            Beside("") => pairs.entry("test-2llc").or_default().push((String::new(), turned)),
            Beside(base) => {
                pairs.entry("test-2llc").or_default().push(((*base).to_owned(), format!("{base},{turned}")))
            }
            OneLlcANode => pairs.entry("test-2s").or_default().push((String::new(), turned)),
            No(why) => assert!(!why.is_empty(), "{name}"),
        }
    }
    let kernel = Preset::get(KERNEL).expect("a preset");
    let own = |feature: &&Feature| kernel.lists(**feature) && feature.modelled() && **feature != Feature::DOUBLE_TICK;
    let mut stated: Vec<String> = Feature::ALL.iter().filter(own).map(|&feature| kept(kernel, feature)).collect();
    for Tunable { name, value, .. } in kernel.tunables.list() {
        match (value, UNSET.iter().find(|(unset, _)| *unset == name)) {
            (Some(value), None) if settable(name) => stated.push(format!("{name}={value}")),
            (Some(_), None) => {}
            (None, Some((_, setting))) => {
                pairs.entry("test-2llc").or_default().push((String::new(), (*setting).to_owned()));
            }
            (None, None) => assert!(OTHER_KERNELS.contains(&name), "{name} is in no table here"),
            (Some(_), Some(_)) => panic!("{name} is set in {KERNEL}"),
        }
    }
    pairs.entry("test-2llc").or_default().push((String::new(), stated.join(",")));
    pairs
}

fn kept(kernel: &Preset, feature: Feature) -> String {
    format!("{}{}", if kernel.features.has(feature) { "" } else { "NO_" }, feature.name())
}

/// Whether a side can set a tunable that its kernel has.
fn settable(name: &str) -> bool {
    let kernel = Preset::get(KERNEL).expect("a preset");
    let all = kernel.tunables.list();
    let value = all.iter().find(|tunable| tunable.name == name).and_then(|tunable| tunable.value).expect("it is set");
    format!("{name}={value}").parse().is_ok_and(|switches| Variant::new(kernel, &switches).is_ok())
}

#[test]
fn a_neutral_switch_changes_no_event_of_any_benchmark() {
    for (machine, pairs) in neutral() {
        let nr_cpus = wakelab_machine::get(machine).expect("a machine").topology.nr_cpus();
        for (name, workload) in workloads(nr_cpus) {
            let mut bases = BTreeMap::new();
            for (base, with) in &pairs {
                let expected = *bases.entry(base).or_insert_with(|| digest(machine, base, &workload));
                assert_eq!(digest(machine, with, &workload), expected, "{name} on {machine}: {with:?} beside {base:?}");
            }
        }
    }
}
