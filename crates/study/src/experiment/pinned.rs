//! The CPUs that a workload is restricted to.

use wakelab_input::{parse_cpulist, parse_sysfs_list};
use wakelab_sched::domain::Topology;

/// Returns the CPUs of a machine that `text` names, ascending, each once: a list of CPUs as `taskset -c` takes it
/// (`0-31`), or NUMA nodes (`node 0`, `nodes 0-1`) as `numactl --cpunodebind` takes them.
///
/// # Errors
/// Fails with what was expected if `text` is neither, or if the machine lacks one of them.
pub(super) fn pinned_cpus(text: &str, topology: &Topology) -> Result<Vec<u32>, String> {
    let text = text.trim();
    let nodes = text.strip_prefix("nodes ").or_else(|| text.strip_prefix("node "));
    let cpus = match nodes {
        Some(nodes) => {
            let nodes = parse_sysfs_list(nodes, "NUMA nodes", topology.node_distance.len() as u32)?;
            let within = |cpu: &u32| nodes.contains(&topology.cpus[*cpu as usize].node);
            (0..topology.nr_cpus()).filter(within).collect()
        }
        None => {
            let mut cpus = parse_cpulist(text, topology.nr_cpus())?;
            cpus.sort_unstable();
            cpus.dedup();
            cpus
        }
    };
    if cpus.is_empty() {
        return Err("no CPU is left; expected CPUs such as 0-31, or nodes such as node 0".to_owned());
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_nodes() -> Topology {
        wakelab_machine::get("test-2s").expect("a machine with two nodes").topology
    }

    #[test]
    fn cpus_and_nodes_are_taken() {
        let topology = two_nodes();
        let all: Vec<u32> = (0..topology.nr_cpus()).collect();
        let of_node = |node| all.iter().copied().filter(|&cpu| topology.cpus[cpu as usize].node == node).collect();
        assert_eq!(pinned_cpus("3,0-1,1", &topology), Ok(vec![0, 1, 3]));
        assert_eq!(pinned_cpus("node 1", &topology), Ok(of_node(1)));
        assert_eq!(pinned_cpus("nodes 0-1", &topology), Ok(all));
    }

    #[test]
    fn what_the_machine_lacks_is_refused() {
        let topology = two_nodes();
        for text in ["", "node 2", "nodes", "0-5000", "all", "node "] {
            assert!(pinned_cpus(text, &topology).is_err(), "{text}");
        }
    }
}
