//! `/sys` trees whose files contradict each other are refused.

use wakelab_testing::sysfs::{Sysfs, refused, refused_with};

#[test]
fn siblings_that_do_not_agree_are_refused_with_both_files() {
    let file = "cpu/cpu0/topology/thread_siblings_list";
    let one_way = Sysfs::of("zen-ccx").with(file, "0");
    let parts = ["lists CPUs 0,8; expected the same as in ", "cpu0/topology/thread_siblings_list, CPUs 0\n"];
    refused(&one_way, "cpu/cpu8/topology/thread_siblings_list", &parts);
    refused_with("zen-ccx", file, "8", &["lists CPUs 8; expected CPU 0 itself"]);
    refused_with("zen-ccx", file, "", &["lists CPUs none; expected CPU 0 itself"]);
}

#[test]
fn packages_and_dies_that_do_not_agree_with_their_lists_are_refused() {
    let list = "cpu/cpu0/topology/core_siblings_list";
    let id = Sysfs::of("zen-ccx").with("cpu/cpu3/topology/physical_package_id", "1");
    refused(&id, list, &["lists CPUs 0-15; expected those with the same physical_package_id, CPUs 0-2,4-15"]);
    let die = Sysfs::of("zen-ccx").with("cpu/cpu3/topology/die_id", "1");
    refused(&die, "cpu/cpu0/topology/die_cpus_list", &["expected those with the same die_id"]);
    refused(&Sysfs::of("zen-ccx").with("cpu/cpu3/topology/core_siblings_list", "0-7"), list, &["cpu3/topology", "0-7"]);
}

#[test]
fn cores_and_clusters_that_cut_through_what_contains_them_are_refused() {
    let core =
        Sysfs::of("smt-off").with("cpu/cpu{1,2}/topology/core_cpus_list", "1-2").with("cpu/cpu2/topology/core_id", "1");
    let parts = ["the core of CPU 1 has CPUs 1-2; expected only CPUs of its package, 0-1"];
    refused(&core, "cpu/cpu1/topology/core_cpus_list", &parts);
    let file = "cpu/cpu0/topology/cluster_cpus_list";
    let package = Sysfs::of("smt-off").with("cpu/cpu{0-3}/topology/cluster_cpus_list", "0-3");
    refused(&package, file, &["the cluster of CPU 0 has CPUs 0-3; expected only CPUs of its package, 0-1"]);
    let core = Sysfs::of("hybrid")
        .with("cpu/cpu{0,2}/topology/cluster_cpus_list", "0,2")
        .with("cpu/cpu{1,3}/topology/cluster_cpus_list", "1,3")
        .with("cpu/cpu{0-3}/topology/cluster_id", "0");
    refused(&core, file, &["the core of CPU 0 has CPUs 0-1; expected only CPUs of its cluster, 0,2"]);
    let id = Sysfs::of("hybrid").with("cpu/cpu7/topology/cluster_id", "24");
    refused(&id, "cpu/cpu7/topology/cluster_id", &["found 24; expected 16 as for CPU 4"]);
    let llc = Sysfs::of("no-numa")
        .with("cpu/cpu{0,1}/cache/index2/shared_cpu_list", "0-1")
        .with("cpu/cpu{1,2}/topology/cluster_cpus_list", "1-2")
        .with("cpu/cpu{0,3}/topology/cluster_cpus_list", "0,3")
        .with("cpu/cpu{0-3}/topology/cluster_id", "0");
    refused(&llc, file, &["lists CPUs 0,3; expected some or all of the LLC's CPUs, 0-1"]);
}

#[test]
fn siblings_in_two_llcs_are_refused() {
    let file = "cpu/cpu0/cache/index3/shared_cpu_list";
    let cut = Sysfs::of("zen-ccx")
        .with("cpu/cpu{0,1}/cache/index3/shared_cpu_list", "0-1")
        .with("cpu/cpu{8,9}/cache/index3/shared_cpu_list", "8-9");
    refused(&cut, file, &["the core of CPU 0 has CPUs 0,8; expected only CPUs of its last cache, 0-1"]);
}

#[test]
fn caches_that_do_not_agree_are_refused_with_both_files() {
    let file = "cpu/cpu1/cache/index3/shared_cpu_list";
    let one_way = Sysfs::of("zen-ccx").with("cpu/cpu0/cache/index3/shared_cpu_list", "0");
    refused(&one_way, file, &["lists CPUs 0-1,8-9; expected the same as in ", "cpu0/cache/index3", "CPUs 0\n"]);
    refused_with(
        "zen-ccx",
        "cpu/cpu1/cache/index3/size",
        "8192K",
        &["differs from ", "cpu0/cache/index3/size", "this L3"],
    );
    refused_with("zen-ccx", "cpu/cpu1/cache/index3/id", "7", &["differs from ", "cpu0/cache/index3/id"]);
    let twice =
        Sysfs::of("zen-ccx").with("cpu/cpu0/cache/index3/level", "1").with("cpu/cpu0/cache/index3/type", "Data");
    refused(&twice, "cpu/cpu0/cache/index3/level", &["this is L1d, the same as index0"]);
}

#[test]
fn a_cpu_in_two_nodes_or_in_none_is_refused() {
    let file = "node/node1/cpulist";
    refused_with("zen-ccx", file, "3-7,12-15", &["lists CPU 3, which is also in devices/system/node/node0/cpulist"]);
    let none = Sysfs::of("zen-ccx").with(file, "5-7,12-15");
    refused(
        &none,
        "node/online",
        &["CPU 4 is online, but in the cpulist of no node", "expected it in one of nodes 0-1"],
    );
}

#[test]
fn siblings_in_two_nodes_are_refused() {
    let cut = Sysfs::of("zen-ccx").with("node/node0/cpulist", "0-7").with("node/node1/cpulist", "8-15");
    let parts = ["the core of CPU 0 has CPUs 0,8; expected only CPUs of its node, 0-7"];
    refused(&cut, "cpu/cpu0/topology/thread_siblings_list", &parts);
}

#[test]
fn distances_that_are_no_table_are_refused() {
    let file = "node/node1/distance";
    refused_with("zen-ccx", file, "12", &["has 1 distances; expected 2, one for each of nodes 0-1"]);
    refused_with("zen-ccx", file, "12 10 12", &["has 3 distances"]);
    refused_with("zen-ccx", file, "12 x", &["expected a whole number from 10 to 255, found `x`"]);
    refused_with("zen-ccx", file, "9 10", &["from 10 to 255, found `9`"]);
    refused_with("zen-ccx", file, "256 10", &["from 10 to 255, found `256`"]);
    refused_with("zen-ccx", file, "12 11", &["from node 1 to node 1 is 11; expected 10, as always"]);
    refused_with("zen-ccx", file, "10 10", &["from node 1 to node 0 is 10; expected more than 10"]);
    let other = Sysfs::of("zen-ccx").with(file, "13 10");
    let parts = ["from node 0 to node 1 is 12; expected 13, the same as back, in devices/system/node/node1/distance"];
    refused(&other, "node/node0/distance", &parts);
}

#[test]
fn policies_that_contradict_themselves_are_refused() {
    let file = "cpu/cpufreq/policy3/related_cpus";
    let both = Sysfs::of("zen-ccx").with(file, "2 3").with("cpu/cpufreq/policy3/affected_cpus", "2 3");
    refused(&both, file, &["has CPUs that are also in devices/system/cpu/cpufreq/policy2/related_cpus"]);
    refused_with(
        "zen-ccx",
        "cpu/cpufreq/policy2/affected_cpus",
        "3",
        &["lists CPUs 3; expected the online CPUs of related_cpus"],
    );
    let max = "cpu/cpufreq/policy2/cpuinfo_max_freq";
    refused_with("zen-ccx", max, "1000000", &["found 1000000; expected a frequency of cpuinfo_min_freq, 1500000"]);
}

#[test]
fn kinds_of_cores_that_share_cpus_are_refused() {
    let parts = ["lists CPUs 3, which devices/cpu_core/cpus has too; expected one kind"];
    refused_with("hybrid", "/devices/cpu_atom/cpus", "3-7", &parts);
}

#[test]
fn siblings_of_different_capacity_are_refused() {
    let sysfs =
        Sysfs::of("zen-ccx").with("cpu/cpu{0-7}/cpu_capacity", "1024").with("cpu/cpu{8-15}/cpu_capacity", "512");
    refused(&sysfs, "cpu", &["CPUs 0 and 8 have the same core (0) but different capacity (1024 and 512)"]);
}
