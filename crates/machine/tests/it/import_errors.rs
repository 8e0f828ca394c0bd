//! `/sys` trees that are refused for one file, with what was expected and the next step.

use std::fs;
use wakelab_machine::{import, import_files};
use wakelab_testing::sysfs::{Sysfs, full, refused, refused_with};

#[test]
fn a_folder_that_is_no_sys_tree_is_refused() {
    refused(&Sysfs::empty(), "cpu", &["expected a /sys tree", "docs/machines.md"]);
    let above = Sysfs::empty().with("/sys/devices/system/cpu/online", "0");
    refused(&above, "cpu", &["hint: `--sysfs sys` has one"]);
}

#[test]
fn files_that_must_be_there_are_named() {
    for (tree, file, expected) in [
        ("zen-ccx", "cpu/cpu5/topology/physical_package_id", "the number of the CPU's package"),
        ("zen-ccx", "cpu/cpu5/topology/thread_siblings_list", "a list of CPUs, as other CPUs have it"),
        ("zen-ccx", "cpu/cpu5/topology/die_cpus_list", "a list of CPUs, as other CPUs have it"),
        ("zen-ccx", "cpu/cpu5/cache/index3/level", "the cache's level"),
        ("zen-ccx", "cpu/cpu5/cache/index3/type", "Data, Instruction or Unified"),
        ("zen-ccx", "cpu/cpu5/cache/index3/shared_cpu_list", "the CPUs that share it"),
        ("zen-ccx", "cpu/cpufreq/policy2/related_cpus", "the CPUs of the policy"),
        ("zen-ccx", "cpu/cpufreq/policy2/cpuinfo_min_freq", "lowest frequency in kHz"),
        ("zen-ccx", "cpu/cpu5/cpuidle/state2/latency", "the exit latency in us"),
        ("zen-ccx", "node/node1/cpulist", "the list of the node's CPUs"),
        ("zen-ccx", "node/node1/distance", "distances, such as 10 21"),
        ("phone", "cpu/cpu5/cpu_capacity", "as other CPUs have it"),
    ] {
        let parts = ["the file is missing; expected", expected, "docs/machines.md"];
        refused(&Sysfs::of(tree).without(file), file, &parts);
    }
    refused(&Sysfs::of("zen-ccx").without("cpu/cpu5/cache"), "cpu/cpu5/cache", &["the CPU has no caches"]);
}

#[test]
fn content_that_is_no_number_is_refused_with_what_was_found() {
    for file in [
        "cpu/cpu5/topology/physical_package_id",
        "cpu/cpu5/topology/core_id",
        "cpu/cpu5/topology/die_id",
        "cpu/cpu5/topology/cluster_id",
        "cpu/cpu5/cache/index3/level",
        "cpu/cpu5/cache/index3/id",
        "cpu/cpufreq/policy2/cpuinfo_max_freq",
        "cpu/cpufreq/policy2/base_frequency",
        "cpu/cpufreq/policy2/scaling_available_frequencies",
        "cpu/cpu5/cpuidle/state1/residency",
        "cpu/cpu5/cpuidle/state1/disable",
    ] {
        refused_with("zen-ccx", file, "0x1f", &["expected a whole number from ", "found `0x1f`"]);
    }
    refused_with("zen-ccx", "cpu/cpu5/cache/index3/size", "16M", &["expected KiB such as 48K, found `16M`"]);
    refused_with("zen-ccx", "cpu/cpu5/cache/index3/type", "Victim", &["found `Victim`"]);
    refused_with("zen-ccx", "cpu/cpu5/topology/core_id", "", &["found ``"]);
    refused_with("zen-ccx", "cpu/cpu5/cpuidle/state1/name", "", &["expected the state's name, found nothing"]);
    refused_with("phone", "cpu/cpu5/cpu_capacity", "full", &["from 1 to 1024, found `full`"]);
    refused_with("phone", "cpu/cpu5/cpu_capacity", "1025", &["from 1 to 1024, found `1025`"]);
}

#[test]
fn content_that_is_no_list_is_refused_with_what_was_found() {
    for file in
        ["cpu/online", "cpu/possible", "cpu/cpu5/topology/thread_siblings_list", "node/online", "node/node1/cpulist"]
    {
        refused_with("zen-ccx", file, "0-x", &["such as 0-3,8, found `x`"]);
        refused_with("zen-ccx", file, "0-99999999", &["from 0 to 8191"]);
    }
    refused_with("zen-ccx", "cpu/online", "", &["expected at least one CPU, found an empty list"]);
    refused_with("zen-ccx", "node/online", "", &["expected at least one node"]);
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let mut sysfs = Sysfs::of("zen-ccx");
    sysfs.0.insert(full("cpu/online"), vec![0xff, 0xfe]);
    refused(&sysfs, "cpu/online", &["not UTF-8"]);
}

#[test]
fn errors_in_a_folder_have_its_path() {
    let folder = Sysfs::of("smt-off").unpacked();
    let refused = |file: &str, part: &str| {
        let error = import(folder.path(), "mine").expect_err("the tree should be refused");
        assert_eq!(error.path, folder.path().join(full(file)), "{error}");
        assert!(error.what.contains(part), "{error}");
    };
    let online = folder.path().join(full("cpu/online"));
    fs::remove_file(&online).unwrap();
    fs::create_dir(&online).unwrap();
    refused("cpu/online", "expected a file that can be read");
    fs::rename(folder.path().join("devices"), folder.path().join("elsewhere")).unwrap();
    refused("cpu", "expected a /sys tree");
}

#[test]
fn cpus_that_cannot_be_are_refused() {
    refused_with("zen-ccx", "cpu/online", "0-16", &["names CPU 16; expected CPUs of", "cpu/possible, 0-15"]);
    let file = "cpu/cpu5/topology/thread_siblings_list";
    refused_with("zen-ccx", file, "5,21", &["names CPU 21", "contradicts itself"]);
}

#[test]
fn a_name_that_would_be_a_path_is_refused() {
    for name in ["", "a/b", "mine.toml", "zwölf", "a b"] {
        let error = import_files(&Sysfs::of("smt-off").0, name).expect_err("the name should be refused");
        assert_eq!(error.path, std::path::Path::new("--name"));
        assert!(error.what.contains("expected a name of letters, digits"), "{error}");
    }
}
