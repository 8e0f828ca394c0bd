//! The library of arenas that some schedulers have, set up by their loaders: `ArenaLib::setup()` of scx_arena
//! (`src/arenalib.rs`, 1.1.4).

use super::{Loading, Machine, Step};

/// `MAX_CPU_SUPPORTED`.
const MAX_CPU_SUPPORTED: u32 = 640;

/// `STATIC_ALLOC_PAGES_GRANULARITY`.
const STATIC_ALLOC_PAGES_GRANULARITY: u64 = 8;

/// `ArenaLib::setup()` with tasks' contexts of the object's struct `task_ctx`. What it starts in user space besides
/// prints what programs report, and gives memory back, which a run does without.
pub fn setup(loading: &mut Loading, machine: &Machine<'_>, task_ctx: &str) -> Result<(), String> {
    if machine.nr_cpus >= MAX_CPU_SUPPORTED {
        return Err(format!(
            "the machine has {} CPUs; its loader (scx_arena) takes up to {}",
            machine.nr_cpus,
            MAX_CPU_SUPPORTED - 1
        ));
    }
    let size = (machine.finds.size_of)(task_ctx)
        .ok_or_else(|| format!("the object has no struct {task_ctx}, whose size its loader passes to arena_init()"))?;
    // struct arena_init_args: static_pages, task_ctx_size, task_ctx_align
    let args = [STATIC_ALLOC_PAGES_GRANULARITY, size, 0];
    let context = args.into_iter().flat_map(u64::to_le_bytes).collect();
    loading.after_load.push(Step::Program { name: "arena_init".into(), context });
    topology(loading, machine);
    Ok(())
}

/// `setup_topology()`: the whole, nodes, LLCs, cores, CPUs, by their ids.
fn topology(loading: &mut Loading, machine: &Machine<'_>) {
    let scx = &machine.scx;
    let (llcs, cores) = (scx.llcs(), scx.cores());
    // arena_topology_init_args: the most children at each level.
    let most = |counts: &mut dyn Iterator<Item = usize>| counts.max().unwrap_or(0) as u32;
    let max_children = [
        scx.nodes.len() as u32,
        most(&mut scx.nodes.values().map(|node| node.len())),
        most(&mut llcs.values().map(|llc| llc.cores.len())),
        most(&mut cores.values().map(|cpus| cpus.len())),
        0,
    ];
    let context = max_children.into_iter().flat_map(u32::to_le_bytes).collect();
    loading.after_load.push(Step::Program { name: "arena_topology_init".into(), context });
    let mut node = |mask: Vec<u64>, id: u32| loading.after_load.push(Step::TopologyNode { mask, id: u64::from(id) });
    node(machine.words(machine.cpus()), 0);
    for (&id, llcs) in &scx.nodes {
        node(machine.words(llcs.values().flat_map(|llc| llc.cpus())), id);
    }
    for (id, llc) in llcs {
        node(machine.words(llc.cpus()), id);
    }
    for (id, cpus) in cores {
        node(machine.words(cpus.iter().copied()), id);
    }
    for cpu in machine.cpus() {
        node(machine.words([cpu]), cpu);
    }
}
