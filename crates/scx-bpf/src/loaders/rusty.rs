//! scx_rusty 1.1.4 (`src/main.rs`, `src/domain.rs`).

use super::{Loading, Machine};

/// `MAX_CPUS` of its intf.h.
const MAX_CPUS: u32 = 512;
/// `MAX_DOMS`.
const MAX_DOMS: usize = 64;

/// `Scheduler::init()`, with a domain for each LLC. CPUs are all in one.
pub(super) fn rusty(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    let scx = &machine.scx;
    let domains: Vec<_> =
        scx.nodes.iter().flat_map(|(&node, llcs)| llcs.values().map(move |llc| (node, llc))).collect();
    if machine.nr_cpus > MAX_CPUS || domains.len() > MAX_DOMS {
        return Err(format!(
            "the machine has {} CPUs and {} LLCs; its loader takes up to {MAX_CPUS} and {MAX_DOMS}",
            machine.nr_cpus,
            domains.len()
        ));
    }
    // LoadBalancer::step() and Tuner::step()
    loading.warnings.push(match domains.len() {
        1 => "its user space does not run here: slices stay at 20 ms, however busy CPUs are".to_owned(),
        domains => format!(
            "its user space does not run here: no task moves between the {domains} domains of CPUs, no domain is \
             offered to the tasks of others, and slices stay at 20 ms"
        ),
    });
    loading.read(machine, &[]);
    let mut domain_of = vec![0u32; machine.nr_cpus as usize];
    for (id, (node, llc)) in (0..).zip(&domains) {
        llc.cpus().for_each(|cpu| domain_of[cpu as usize] = id);
        loading.array(format!("dom_cpumasks[{id}]"), machine.words(llc.cpus()));
        loading.numbers.push((format!("dom_numa_id_map[{id}]"), (*node).into()));
    }
    loading.array("cpu_dom_id_map", domain_of);
    for (&node, llcs) in &scx.nodes {
        loading.array(format!("numa_cpumasks[{node}]"), machine.words(llcs.values().flat_map(|llc| llc.cpus())));
    }
    Ok(())
}
