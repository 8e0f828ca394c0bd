//! A machine, to be drawn.

use std::collections::BTreeSet;
use wakelab_events::TopoFile;
use wakelab_page::{CpuPlace, Topology as Drawn};
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{CpuTopology, Level, Topology};

pub(super) fn machine(name: &str, topology: &Topology) -> Drawn {
    let place = |(cpu, of): (u32, &CpuTopology)| CpuPlace {
        cpu,
        package: of.package,
        node: of.node,
        die: of.die,
        llc: of.llc,
        core: of.core,
        capacity: of.capacity as u16,
    };
    Drawn { name: name.to_owned(), description: String::new(), cpus: (0..).zip(&topology.cpus).map(place).collect() }
}

/// The machine of recordings, from the domains that its kernel built.
pub(super) fn recorded(topo: &TopoFile) -> Drawn {
    let domains = &topo.domains;
    let first = |mask: &CpuMask| mask.iter().next();
    let package = |cpu: u32| {
        let of = domains.domains[cpu as usize].iter().find(|sd| sd.level == Level::Pkg);
        of.and_then(|sd| first(&sd.span)).unwrap_or(domains.sd_llc_id[cpu as usize])
    };
    let packages: Vec<u32> = (0..domains.nr_cpus).map(package).collect();
    let names: BTreeSet<u32> = packages.iter().copied().collect();
    let place = |cpu: u32| {
        let package = names.range(..packages[cpu as usize]).count() as u32;
        CpuPlace {
            cpu,
            package,
            node: domains.node[cpu as usize],
            die: package,
            llc: topo.cpu_llc.get(cpu as usize).copied().unwrap_or(0),
            core: first(&domains.smt_mask[cpu as usize]).unwrap_or(cpu),
            capacity: 1024,
        }
    };
    Drawn {
        name: topo.topology.clone(),
        description: "As the kernel's scheduling domains have it.".to_owned(),
        cpus: (0..domains.nr_cpus).map(place).collect(),
    }
}
