//! What `CpuOrder` of scx_lavd makes of a machine, as text: a line for each CPU, each order of CPUs and each domain.

#![allow(dead_code)]

mod cpu_order;

fn main() {
    let order = cpu_order::CpuOrder::new(None, true).unwrap();
    println!("llcs {} smt {} little {}", order.nr_llcs, order.smt_enabled, order.has_biglittle);
    let mut ids = order.cpuids.clone();
    ids.sort_by_key(|id| id.cpu_adx);
    for id in &ids {
        let (big, turbo) = (u8::from(id.big_core), u8::from(id.turbo_core));
        println!("cpu {} {} {big} {turbo} {}", id.cpu_adx, id.cpu_cap, id.cpu_sibling as u32);
    }
    for (bound, of) in &order.perf_cpu_order {
        let cpus: Vec<usize> = of.cpus_perf.borrow().iter().chain(of.cpus_ovflw.borrow().iter()).copied().collect();
        println!("order {bound} {} {cpus:?}", of.cpus_perf.borrow().len());
    }
    let mut domains: Vec<_> = order.cpdom_map.iter().collect();
    domains.sort_by_key(|(_, domain)| domain.cpdom_id);
    for (id, domain) in domains {
        let mut cpus = domain.cpu_ids.clone();
        cpus.sort();
        let near: Vec<Vec<usize>> = domain.neighbor_map.borrow().values().map(|list| list.borrow().clone()).collect();
        let (big, alternative) = (u8::from(id.is_big), domain.cpdom_alt_id.get());
        println!("domain {alternative} {} {} {big} {cpus:?} {near:?}", id.numa_adx, id.llc_adx);
    }
    let topology = scx_utils::Topology::new().unwrap();
    for (id, cpu) in &topology.all_cpus {
        println!("place {id} {} {} {} {}", cpu.core_id, cpu.llc_id, cpu.node_id, cpu.smt_level);
    }
}
