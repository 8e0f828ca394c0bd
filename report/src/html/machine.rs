//! A machine, to be drawn.

use wakelab_page::{CpuPlace, Topology as Drawn};
use wakelab_sched::domain::{CpuTopology, Topology};

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
