//! The fuzz corpus, and changed files made from it, on a compiler that has no fuzzer.

use wakelab_testing::changes::{check_changed, check_corpus};
use wakelab_testing::check_machine;

/// Words that mean something in a machine file.
const WORDS: &[&str] = &[
    "calibration",
    "hz",
    "preset",
    "tcp",
    "packages",
    "dies",
    "llcs",
    "cores",
    "threads",
    "nodes",
    "far",
    "numbering",
    "\"split\"",
    "\"adjacent\"",
    "cluster_cores",
    "size_kib",
    "shared_by",
    "level",
    "assumed",
    "source",
    "range",
    "ns",
    "cache",
    "costs",
    "noise",
    "idle",
    "frequency",
    "cpus",
    "capacity",
    "probe",
    "scaled",
    "reference",
    "from",
    "clock",
    "mhz",
    "llc_line",
    "far_line",
    "split_llc",
    "distances",
];

/// Names that a tree has, and what files hold.
const NAMES: &[&str] = &[
    "online",
    "possible",
    "topology",
    "core_id",
    "physical_package_id",
    "thread_siblings_list",
    "core_siblings_list",
    "cluster_id",
    "cluster_cpus_list",
    "die_id",
    "die_cpus_list",
    "cache",
    "index0",
    "index1",
    "index2",
    "index3",
    "level",
    "type",
    "size",
    "shared_cpu_list",
    "node",
    "node0",
    "node1",
    "cpulist",
    "distance",
    "cpu_capacity",
    "cpufreq",
    "cpu0",
    "cpu{0-3}",
    "0-1",
    "10 20",
    "20 10",
    "Data",
    "Unified",
    "8192K",
    "-1",
    "{}",
];

#[test]
fn machines_of_the_corpus_are_read_or_refused() {
    check_corpus("machine", check_machine::machine);
}

#[test]
fn changed_machines_are_read_or_refused() {
    let sound = check_changed("machine", check_machine::machine, 1000, WORDS);
    assert!(sound > 300, "{sound} were sound");
}

/// Names that lstopo's files have, and what their attributes hold.
const OBJECTS: &[&str] = &[
    "topology",
    "object",
    "Machine",
    "Package",
    "Socket",
    "NUMANode",
    "L3Cache",
    "L2Cache",
    "Core",
    "PU",
    "Group",
    "Die",
    "cpuset",
    "os_index",
    "depth",
    "cache_size",
    "cache_type",
    "distances2",
    "u64values",
    "indexes",
    "info",
    "0x0000000f",
    "0xf...f",
    "0x1,0x0",
    "8191",
    "-1",
    "&amp;",
    "<!--",
    "\"/>",
    "</object>",
];

#[test]
fn files_of_lstopo_are_read_or_refused() {
    check_corpus("lstopo", check_machine::lstopo);
}

#[test]
fn changed_files_of_lstopo_are_read_or_refused() {
    let sound = check_changed("lstopo", check_machine::lstopo, 200, OBJECTS);
    assert!(sound > 200, "{sound} were sound");
}

#[test]
fn trees_of_the_corpus_are_imported_or_refused() {
    check_corpus("sysfs", check_machine::sysfs);
}

#[test]
fn changed_trees_are_imported_or_refused() {
    let sound = check_changed("sysfs", check_machine::sysfs, 300, NAMES);
    assert!(sound > 300, "{sound} were sound");
}
