//! NUMA nodes and their distances: `node/`.

use super::sys::{Groups, Sys, and, list};
use super::tree::{NODE, SAVE, Tree};
use wakelab_input::InputError;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{LOCAL_DISTANCE, MAX_CPUS, REMOTE_DISTANCE};

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
pub(super) fn read(sys: &Sys<'_>) -> Result<Nodes, InputError> {
    let tree = sys.tree;
    let online = format!("{NODE}/online");
    let listed = tree.nodes(&online)?;
    let ids = match &listed {
        Some(ids) => ids.clone(),
        None => tree.numbered(NODE, "node")?.into_iter().filter(|&node| node < MAX_CPUS).collect(),
    };
    match (listed, ids.is_empty()) {
        (Some(_), true) => {
            return Err(tree.error(&online, "expected at least one node, found an empty list").with_hint(SAVE));
        }
        (Some(_), false) => {}
        (None, true) => {
            sys.note(match tree.has(NODE) {
                true => format!("there is neither {online} nor a folder {NODE}/node*: all CPUs are in one node"),
                false => format!("there is no {NODE} (a kernel without NUMA): all CPUs are in one node"),
            });
            let all = CpuMask::full(sys.len());
            let count = sys.ids.len();
            return Ok(Nodes { of_cpu: vec![0; count], cpus: vec![all; count], distances: vec![vec![LOCAL_DISTANCE]] });
        }
        (None, false) => {
            let folders: Vec<_> = ids.iter().map(|id| format!("node{id}")).collect();
            sys.note(format!("there is no {online}: the nodes are those of the folders {}", and(&folders)));
        }
    }
    if ids.iter().enumerate().any(|(index, &id)| index != id as usize) {
        sys.note(format!("nodes {} of the kernel are nodes 0 to {} here", list(ids.iter().copied()), ids.len() - 1));
    }
    let of_cpu = of_cpu(sys, &ids)?;
    let cpus = sys.same(&of_cpu);
    Ok(Nodes { of_cpu, cpus, distances: distances(sys, &ids)? })
}

/// The CPUs of a node by its list, its mask, or its links to CPUs.
fn cpus_of(sys: &Sys<'_>, path: &str, id: u32) -> Result<CpuMask, InputError> {
    if let Some(cpus) = sys.mask(path)? {
        return Ok(cpus);
    }
    let linked = sys.tree.numbered(&format!("{NODE}/node{id}"), "cpu")?;
    if linked.is_empty() {
        return sys.tree.need(path, "the list of the node's CPUs", |_, _| Ok(None));
    }
    sys.note("there is no node*/cpulist: the CPUs of a node are those of its entries node*/cpu*".to_owned());
    let online = linked.iter().filter_map(|cpu| sys.ids.binary_search(cpu).ok());
    Ok(CpuMask::from_cpus(sys.len(), online.map(|index| index as Cpu)))
}

fn of_cpu(sys: &Sys<'_>, ids: &[Cpu]) -> Result<Vec<u32>, InputError> {
    let mut of_cpu: Vec<Option<u32>> = vec![None; sys.ids.len()];
    for (node, id) in (0..).zip(ids) {
        let path = format!("{NODE}/node{id}/cpulist");
        for cpu in cpus_of(sys, &path, *id)?.iter() {
            if let Some(before) = of_cpu[cpu as usize].replace(node) {
                let (cpu, before) = (sys.ids[cpu as usize], ids[before as usize]);
                let what = format!(
                    "lists CPU {cpu}, which is also in {NODE}/node{before}/cpulist; expected each CPU in one node"
                );
                return Err(sys.tree.contradiction(&path, what));
            }
        }
    }
    let none = |cpu: usize| {
        let what = format!(
            "CPU {} is online, but in the cpulist of no node in this list; expected it in one of nodes {}",
            sys.ids[cpu],
            list(ids.iter().copied())
        );
        sys.tree.contradiction(&format!("{NODE}/online"), what)
    };
    of_cpu.into_iter().enumerate().map(|(cpu, node)| node.ok_or_else(|| none(cpu))).collect()
}

/// The distance table: a row for each node, with a number for each node that is online, in order.
fn distances(sys: &Sys<'_>, ids: &[Cpu]) -> Result<Vec<Vec<u32>>, InputError> {
    let tree = sys.tree;
    let file = |node: usize| format!("{NODE}/node{}/distance", ids[node]);
    if (0..ids.len()).all(|node| !tree.has(&file(node))) {
        if ids.len() > 1 {
            let (near, far) = (LOCAL_DISTANCE, REMOTE_DISTANCE);
            sys.guess(format!("there is no node*/distance: distances are {near} and {far}, as without a SLIT"));
        }
        let distance = |a, b| if a == b { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
        return Ok((0..ids.len()).map(|a| (0..ids.len()).map(|b| distance(a, b)).collect()).collect());
    }
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
        let expected = if a == b { "10, as always from a node to itself" } else { "more than 10" };
        return Err(tree.contradiction(&file(a), format!("{}; expected {expected}", says(a, b))));
    }
    if let Some((a, b)) = pairs().find(|&(a, b)| rows[a][b] != rows[b][a]) {
        let what = format!("{}; expected {}, the same as back, in {}", says(a, b), rows[b][a], file(b));
        return Err(tree.contradiction(&file(a), what));
    }
    Ok(rows)
}
