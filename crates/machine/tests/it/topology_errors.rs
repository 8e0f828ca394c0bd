//! Topologies that are refused, with the line.

use crate::support::{read, refused, with_topology};

#[track_caller]
fn topology_refused(topology: &str, line: usize, parts: &[&str]) {
    refused(&with_topology(topology), line, parts);
}

#[test]
fn a_machine_without_topology_is_refused() {
    refused(&with_topology(""), None, &["`topology`: the key is missing", "[[topology.cpu]]"]);
}

#[test]
fn no_cpus_are_refused() {
    topology_refused(
        "[topology]\ncores = 0\n",
        5,
        &["`topology.cores`: expected a whole number from 1 to 8192, found 0"],
    );
    topology_refused("[topology]\ncpu = []\n", 4, &["`topology.cpu`: the key is missing", "at least one CPU"]);
}

#[test]
fn more_than_8192_cpus_are_refused_with_the_product() {
    topology_refused("[topology]\ncores = 4097\nthreads = 2\n", 4, &["4097 cores × 2 threads make 8194 CPUs", "8192"]);
    assert_eq!(read(&with_topology("[topology]\ncores = 4096\nthreads = 2\n")).unwrap().topology.nr_cpus(), 8192);
}

#[test]
fn a_product_above_64_bits_is_refused() {
    let text = "[topology]\npackages = 8192\ndies = 8192\nllcs = 8192\ncores = 8192\nthreads = 8192\n";
    topology_refused(text, 4, &["36893488147419103232 CPUs"]);
}

#[test]
fn a_misspelt_count_is_refused_with_the_near_miss() {
    topology_refused(
        "[topology]\ncores = 2\nthread = 2\n",
        6,
        &["`topology.thread`: unknown key", "did you mean `threads`?"],
    );
}

#[test]
fn wrong_types_and_negative_numbers_are_refused_with_what_was_found() {
    topology_refused("[topology]\ncores = \"4\"\n", 5, &["expected a whole number", "found \"4\""]);
    topology_refused("[topology]\ncores = -4\n", 5, &["expected a whole number", "found -4"]);
    topology_refused("[topology]\ncores = 4.0\n", 5, &["found 4.0"]);
    topology_refused("[topology]\ncores = 99999999999999999999999\n", 5, &["found 99999999999999999999999"]);
    topology_refused(
        "topology = 4\n",
        4,
        &["`topology`: expected a table with the counts of a uniform machine", "found 4"],
    );
    topology_refused(
        "[topology]\ncores = 4\nnumbering = \"odd\"\n",
        6,
        &["\"adjacent\"", "\"split\"", "found \"odd\""],
    );
    topology_refused("[topology]\ncores = 4\nfar = 10\n", 6, &["`topology.far`", "from 11 to 255"]);
}

#[test]
fn counts_that_contradict_each_other_are_refused() {
    topology_refused("[topology]\ncores = 4\nnodes = 2\n", 4, &["same llc (0) but different node", "hint: "]);
    topology_refused("[topology]\ncores = 4\nnodes = 5\n", 4, &["5 nodes for 4 cores"]);
    topology_refused("[topology]\npackages = 2\nllcs = 3\ncores = 2\ncluster_cores = 4\n", 4, &["cluster"]);
}

#[test]
fn capacities_that_do_not_fit_are_refused() {
    topology_refused("[topology]\ncores = 3\ncapacities = [512, 1024]\n", 4, &["capacities has 2", "each CPU, 3"]);
    topology_refused("[topology]\ncores = 2\ncapacities = [512,\n 1025]\n", 7, &["from 1 to 1024, found 1025"]);
    topology_refused("[topology]\ncores = 1\nthreads = 2\ncapacities = [512, 1024]\n", 4, &["different capacity"]);
}

#[test]
fn counts_beside_rows_are_refused() {
    let text = format!("[topology]\ncores = 2\n[[topology.cpu]]\n{ROW}\n");
    topology_refused(&text, 4, &["give counts or rows", "`cpu` and `cores`"]);
}

#[test]
fn distances_beside_counts_are_a_row_for_each_node() {
    let text = |more: &str| format!("[topology]\npackages = 2\ncores = 2\nnodes = 2\n{more}\n");
    let machine = read(&with_topology(&text("distances = [[10, 17], [17, 10]]"))).expect("a machine");
    assert_eq!(machine.topology, read(&with_topology(&text("far = 17"))).expect("a machine").topology);
    topology_refused(&text("distances = [[10, 17], [17, 10]]\nfar = 17"), 9, &["`topology.far`", "not both"]);
    topology_refused(&text("distances = [[10, 17], [16, 10]]"), 8, &["hint: `distances` has a row for each node"]);
    topology_refused(&text("distances = [[10]]"), 4, &["node"]);
}

#[test]
fn only_a_package_of_several_llcs_has_parts_of_one() {
    let text = |llcs: u32| format!("[topology]\npackages = 2\nllcs = {llcs}\ncores = 2\nsplit_llc = true\n");
    topology_refused(&text(1), 8, &["`topology.split_llc`: each package has only one LLC"]);
    let machine = read(&with_topology(&text(2))).expect("a machine");
    assert!(machine.split_llc);
    assert_eq!(read(&machine.to_toml()), Ok(machine));
    topology_refused(&text(2).replace("true", "1"), 8, &["expected true or false"]);
}

/// Two rows: the first begins in line 5, the second in line 12.
fn rows(first: &str, second: &str) -> String {
    format!("[topology]\n[[topology.cpu]]\n{first}\n[[topology.cpu]]\n{second}\n")
}

const ROW: &str = "cpus = \"0-1\"\ncore = [0, 1]\nllc = 0\ndie = 0\npackage = 0\nnode = 0";

#[test]
fn two_rows_for_a_cpu_are_refused_with_both_lines() {
    topology_refused(&rows(ROW, &ROW.replace("0-1", "1-2")), 12, &["CPU 1 already has a row (line 5)"]);
    topology_refused(&rows(ROW, &ROW.replace("0-1", "2,2")), 12, &["CPU 2 already has a row (line 12)"]);
}

#[test]
fn gaps_between_cpus_are_refused() {
    topology_refused(&rows(ROW, &ROW.replace("0-1", "4,6")), 4, &["CPUs 2-3,5 have no row", "from 0 to 6"]);
}

#[test]
fn lists_that_name_no_cpus_are_refused() {
    for (list, found) in
        [("0-", "found ``"), ("x", "found `x`"), ("3-1", "found `3-1`"), ("8192", "0 to 8191"), ("-1", "``")]
    {
        topology_refused(&rows(&ROW.replace("0-1", list), ""), 6, &[found]);
    }
    topology_refused(
        &rows(&ROW.replace("0-1", "0-8191,0-8191"), ""),
        6,
        &["more entries than the maximum of 8192 CPUs"],
    );
    topology_refused(&rows(&ROW.replace("\"0-1\"", "0"), ""), 6, &["expected text in quotes, found 0"]);
}

#[test]
fn a_row_with_too_few_cores_or_without_a_key_is_refused() {
    topology_refused(&rows(&ROW.replace("[0, 1]", "[0]"), ""), 5, &["core has 1 numbers", "row's 2 CPUs"]);
    topology_refused(&rows(&ROW.replace("llc = 0\n", ""), ""), 5, &["`topology.cpu.llc`: the key is missing"]);
    topology_refused(&rows(&ROW.replace("llc", "lcc"), ""), 8, &["unknown key", "did you mean `llc`?"]);
}

#[test]
fn rows_that_contradict_each_other_are_refused_at_the_second() {
    let second = "cpus = \"2-3\"\ncore = [2, 3]\nllc = 0\ndie = 0\npackage = 1\nnode = 0";
    topology_refused(&rows(ROW, second), 12, &["CPUs 0 and 2 have the same llc (0) but different package", "hint: "]);
    let second = second.replace("llc = 0\ndie = 0", "llc = 1\ndie = 1").replace("node = 0", "node = 1");
    topology_refused(&rows(ROW, &second), 12, &["node 1 is not in node_distance"]);
}

#[test]
fn distances_that_are_no_table_are_refused_at_their_row() {
    let with = |distances: &str| format!("[topology]\ndistances = {distances}\n[[topology.cpu]]\n{ROW}\n");
    topology_refused(&with("[\n[10, 20],\n[20]]"), 7, &["node_distance[1] has 1 entries"]);
    topology_refused(&with("[\n[10, 20],\n[21, 10]]"), 6, &["node_distance[0][1] = 20 but"]);
    topology_refused(&with("[\n[10, 20],\n[20, 11]]"), 7, &["distance to itself is 10"]);
    topology_refused(&with("[[10, 256], [256, 10]]"), 5, &["from 10 to 255, found 256"]);
    topology_refused(&with("[10, 20]"), 5, &["a list of rows", "found 10"]);
    topology_refused(&with("[]"), 5, &["1 to 1024 of them"]);
}
