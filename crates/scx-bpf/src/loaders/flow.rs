//! scx_flow 4.8.15 (`src/main.rs`, `src/rust/topology.rs`).

use super::{Loading, Machine, Step};

/// `CPU_BOUND`: CPUs beyond are not told.
const CPU_BOUND: u32 = 1024;
/// `NODE_BOUND`: nodes beyond count as node 0.
const NODE_BOUND: u32 = 16;

/// `seed_topo_with()`: the sibling and the node of each CPU. Flags are those of the object.
pub(super) fn flow(loading: &mut Loading, machine: &Machine<'_>) {
    loading.after_load.extend(machine.cpus().take_while(|&cpu| cpu < CPU_BOUND).map(|cpu| {
        let node = machine.topology.cpus[cpu as usize].node;
        let node = if node < NODE_BOUND { node } else { 0 };
        // Without a sibling all ones, as -1 is.
        let value = [machine.sibling(cpu) as u32, node];
        Step::Element {
            map: "topo_stor",
            key: cpu.to_le_bytes().to_vec(),
            value: value.into_iter().flat_map(u32::to_le_bytes).collect(),
        }
    }));
}
