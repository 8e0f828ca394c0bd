//! Machines of many shapes, written and read back.

use crate::support::{read, with_topology};
use proptest::prelude::*;
use wakelab_machine::{Machine, Origin, get};
use wakelab_sched::domain::{Numbering, Topology, Uniform};

fn with(topology: Topology) -> Machine {
    Machine { topology, caches: Vec::new(), ..get("test-1c").unwrap() }
}

fn uniforms() -> impl Strategy<Value = Uniform> {
    let counts = (1..4u32, 1..3u32, 1..4u32, 1..5u32, 1..4u32);
    let nodes = (1..3u32, 11..100u32, 11..100u32);
    (counts, nodes, proptest::option::of(1..3u32), any::<bool>()).prop_map(|(counts, nodes, cluster_cores, split)| {
        let (packages, dies, llcs, cores, threads) = counts;
        let (per_package, near, far) = nodes;
        let numbering = if split { Numbering::Split } else { Numbering::Adjacent };
        let nodes = packages * per_package;
        Uniform { packages, dies, llcs, cores, threads, cluster_cores, nodes, near, far, numbering }
    })
}

proptest! {
    #[test]
    fn uniform_machines_are_recognised_and_read_back_equal(uniform in uniforms()) {
        let machine = with(uniform.topology());
        prop_assume!(machine.topology.validate().is_ok());
        match machine.uniform() {
            Some(found) => prop_assert_eq!(found.topology(), uniform.topology()),
            None => prop_assert!(uniform.nodes > uniform.packages * uniform.dies * uniform.llcs * uniform.cores),
        }
        prop_assert_eq!(read(&machine.to_toml()).unwrap(), machine);
    }

    #[test]
    fn irregular_machines_read_back_equal(uniform in uniforms(), capacity in 1..1024u32, seed in any::<u32>()) {
        let mut topology = uniform.topology();
        prop_assume!(topology.validate().is_ok());
        let cores = topology.cpus.iter().map(|cpu| cpu.core).max().unwrap();
        // One core is another, and the CPUs are numbered in another order.
        for cpu in topology.cpus.iter_mut().filter(|cpu| cpu.core == seed % (cores + 1)) {
            cpu.capacity = capacity;
            cpu.core = cores + 7;
        }
        let nr_cpus = topology.cpus.len();
        topology.cpus.rotate_left(seed as usize % nr_cpus);
        let machine = with(topology);
        prop_assert_eq!(read(&machine.to_toml()).unwrap(), machine);
    }
}

#[test]
fn a_machine_with_a_missing_core_is_written_cpu_by_cpu() {
    let mut topology = Uniform { llcs: 2, ..Uniform::new(4, 2) }.topology();
    topology.cpus.pop();
    let machine = with(topology);
    assert_eq!(machine.uniform(), None);
    let text = machine.to_toml();
    assert!(text.contains("[[topology.cpu]]\ncpus = \"8-14\"\ncore = [4, 4, 5, 5, 6, 6, 7]\n"), "{text}");
    assert_eq!(read(&text).unwrap(), machine);
}

#[test]
fn capacities_of_a_uniform_machine_are_kept() {
    let text = with_topology("[topology]\ncores = 3\ncapacities = [160, 498, 1024]\n");
    let machine = read(&text).unwrap();
    assert_eq!(machine.topology, Topology::one_llc(&[160, 498, 1024]));
    assert!(machine.to_toml().contains("cores = 3\n"));
    assert_eq!(read(&machine.to_toml()).unwrap(), machine);
}

#[test]
fn texts_with_quotes_and_line_ends_are_kept() {
    let mut machine = get("test-1c").unwrap();
    machine.description = "a \"quoted\" \\ 'text'\nof two lines, µs".to_owned();
    machine.costs.probe.origin = Origin::Source("\"\"\"'''\t".to_owned());
    assert_eq!(read(&machine.to_toml()).unwrap(), machine);
}

#[test]
fn a_row_with_one_core_is_of_smt_siblings() {
    let row = "llc = 0\ndie = 0\npackage = 0\nnode = 0\n";
    let text = with_topology(&format!(
        "[[topology.cpu]]\ncpus = \"0, 3\"\ncore = 9\n{row}[[topology.cpu]]\ncpus = \"1-2\"\ncore = [1, 2]\n{row}"
    ));
    let cores: Vec<_> = read(&text).unwrap().topology.cpus.iter().map(|cpu| cpu.core).collect();
    assert_eq!(cores, [9, 1, 2, 9]);
}

#[test]
fn costs_of_a_machine_hold_where_the_file_has_none_of_its_own() {
    let base = get("intel-1s56c112t").unwrap();
    let own = "[costs.probe]\nns = 7\nrange = [0x6, 8]\nsource = \"a table\"\n";
    let machine = read(&with_topology(&format!("[topology]\ncores = 1\n{own}"))).unwrap();
    assert_eq!((machine.costs.probe.value, machine.costs.probe.low, machine.costs.probe.high), (7, 6, 8));
    assert_eq!(machine.costs.probe.origin, Origin::Source("a table".to_owned()));
    assert_eq!(machine.noise, base.noise);
    let mut expected = base.costs;
    expected.probe = machine.costs.probe.clone();
    assert_eq!(machine.costs, expected);
}
