//! NUMA nodes and their distances: `node/`.

use super::sys::{Groups, Sys, list};
use super::tree::{NODE, SAVE, Tree};
use wakelab_input::InputError;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::LOCAL_DISTANCE;

/// The nodes.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    /// By CPU: the number of its node in the machine, an index into `distances`.
    pub(super) of_cpu: Vec<u32>,
    /// By CPU: the CPUs of its node.
    pub(super) cpus: Groups,
    /// A row for each node, including those without CPUs.
    pub(super) distances: Vec<Vec<u32>>,
}

/// Reads the nodes. A machine without NUMA has one node.
pub(super) fn read(sys: &Sys<'_>, notes: &mut Vec<String>) -> Result<Nodes, InputError> {
    let tree = sys.tree;
    if !tree.has(NODE) {
        notes.push(format!("there is no {NODE} (a kernel without NUMA): all CPUs are in one node"));
        let all = CpuMask::full(sys.len());
        let count = sys.ids.len();
        return Ok(Nodes { of_cpu: vec![0; count], cpus: vec![all; count], distances: vec![vec![LOCAL_DISTANCE]] });
    }
    let online = format!("{NODE}/online");
    let ids = tree.need(&online, "the list of NUMA nodes, such as 0-1", Tree::nodes)?;
    if ids.is_empty() {
        return Err(tree.error(&online, "expected at least one node, found an empty list").with_hint(SAVE));
    }
    if ids.iter().enumerate().any(|(index, &id)| index != id as usize) {
        notes.push(format!("nodes {} of the kernel are nodes 0 to {} here", list(ids.iter().copied()), ids.len() - 1));
    }
    let of_cpu = of_cpu(sys, &ids)?;
    let cpus = sys.same(&of_cpu);
    Ok(Nodes { of_cpu, cpus, distances: distances(tree, &ids)? })
}

fn of_cpu(sys: &Sys<'_>, ids: &[Cpu]) -> Result<Vec<u32>, InputError> {
    let mut of_cpu: Vec<Option<u32>> = vec![None; sys.ids.len()];
    for (node, id) in (0..).zip(ids) {
        let path = format!("{NODE}/node{id}/cpulist");
        let cpus = sys.tree.need(&path, "the list of the node's CPUs", |_, path| sys.mask(path))?;
        for cpu in cpus.iter() {
            if let Some(before) = of_cpu[cpu as usize].replace(node) {
                let (cpu, before) = (sys.ids[cpu as usize], ids[before as usize]);
                let what = format!("lists CPU {cpu}, which {NODE}/node{before}/cpulist has too; expected one node");
                return Err(sys.tree.contradiction(&path, what));
            }
        }
    }
    let none = |cpu: usize| {
        let what = format!(
            "CPU {} is online, but no node of this list has it in its cpulist; expected one of nodes {}",
            sys.ids[cpu],
            list(ids.iter().copied())
        );
        sys.tree.contradiction(&format!("{NODE}/online"), what)
    };
    of_cpu.into_iter().enumerate().map(|(cpu, node)| node.ok_or_else(|| none(cpu))).collect()
}

/// The distance table: a row for each node, with a number for each node that is online, in order.
fn distances(tree: Tree<'_>, ids: &[Cpu]) -> Result<Vec<Vec<u32>>, InputError> {
    let file = |node: usize| format!("{NODE}/node{}/distance", ids[node]);
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for node in 0..ids.len() {
        let path = file(node);
        let text = tree.need(&path, "the node's distances, such as 10 21", Tree::text)?;
        let row: Vec<_> = text.split_whitespace().collect();
        if row.len() != ids.len() {
            let (found, nodes) = (row.len(), list(ids.iter().copied()));
            let what = format!("has {found} distances; expected {}, one for each of nodes {nodes}", ids.len());
            return Err(tree.contradiction(&path, what));
        }
        let limits = i64::from(LOCAL_DISTANCE)..=255;
        let row = row.iter().map(|text| tree.number_in(&path, text, &limits).map(|distance| distance as u32));
        rows.push(row.collect::<Result<_, _>>()?);
    }
    let pairs = || (0..rows.len()).flat_map(|a| (0..rows.len()).map(move |b| (a, b)));
    let says = |a: usize, b: usize| format!("the distance from node {} to node {} is {}", ids[a], ids[b], rows[a][b]);
    if let Some((a, b)) = pairs().find(|&(a, b)| (a == b) != (rows[a][b] == LOCAL_DISTANCE)) {
        let expected = if a == b { "10, as always of a node to itself" } else { "more than 10" };
        return Err(tree.contradiction(&file(a), format!("{}; expected {expected}", says(a, b))));
    }
    if let Some((a, b)) = pairs().find(|&(a, b)| rows[a][b] != rows[b][a]) {
        let what = format!("{}; expected {} as back, in {}", says(a, b), rows[b][a], file(b));
        return Err(tree.contradiction(&file(a), what));
    }
    Ok(rows)
}
