//! What a machine consists of.

use crate::support::{read, with_topology};
use wakelab_machine::{Counts, get};

#[test]
fn counts_of_a_uniform_machine_are_those_of_the_whole_machine() {
    let counts = get("bench-1024").unwrap().counts();
    let expected = Counts {
        cpus: 1024,
        packages: 2,
        dies: 2,
        llcs: 8,
        clusters: 0,
        cores: 512,
        threads_min: 2,
        threads_max: 2,
        nodes: 2,
    };
    assert_eq!(counts, expected);
}

#[test]
fn parts_hold_each_cpu_once_and_are_sorted() {
    let parts = get("test-2s").unwrap().cpu_groups();
    let shown: Vec<_> = parts.iter().map(|p| (p.package, p.llc, p.node, p.cores, p.cpus.to_string())).collect();
    assert_eq!(shown, [(0, 0, 0, 4, "0-7".to_owned()), (1, 1, 1, 4, "8-15".to_owned())]);
}

#[test]
fn cpus_of_one_llc_with_two_capacities_are_two_parts() {
    let text = with_topology(
        "[topology]\n[[topology.cpu]]\ncpus = \"0-3\"\ncore = [0, 0, 1, 1]\nllc = 0\ndie = 0\npackage = 0\nnode = 0\n\
         [[topology.cpu]]\ncpus = \"4-5\"\ncore = [2, 3]\ncluster = 9\nllc = 0\ndie = 0\npackage = 0\nnode = 0\n\
         capacity = 640\n",
    );
    let machine = read(&text).unwrap();
    let shown: Vec<_> =
        machine.cpu_groups().iter().map(|p| (p.capacity, p.cores, p.clusters, p.cpus.to_string())).collect();
    assert_eq!(shown, [(640, 2, 1, "4-5".to_owned()), (1024, 2, 0, "0-3".to_owned())]);
    let counts = machine.counts();
    assert_eq!((counts.llcs, counts.clusters, counts.threads_min, counts.threads_max), (1, 1, 1, 2));
}
