//! The machine: packages, LLCs, cores, threads.

use super::topology_svg;
use crate::text::count;
use crate::view::{Block, View};
use crate::{Error, Page, limits};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A machine, to be drawn.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Topology {
    /// The machine's name.
    pub name: String,
    /// A sentence on it. May be empty.
    pub description: String,
    /// Each CPU and where it is, 1 to [`crate::limits::CPUS`], each number once.
    pub cpus: Vec<CpuPlace>,
}

/// Where a CPU is. The numbers are names: any will do that are equal for what is shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuPlace {
    /// The CPU's number.
    pub cpu: u32,
    /// Its package (socket).
    pub package: u32,
    /// Its NUMA node.
    pub node: u32,
    /// Its die.
    pub die: u32,
    /// The last-level cache that it uses.
    pub llc: u32,
    /// Its core, unique in the machine; CPUs of one core are its threads.
    pub core: u32,
    /// Its capacity, 1 to 1024.
    pub capacity: u16,
}

/// Packages, their LLCs, their cores, their CPUs.
pub(crate) type Tree = BTreeMap<u32, BTreeMap<(u32, u32, u32), BTreeMap<u32, Vec<CpuPlace>>>>;

pub(crate) fn view(page: &Page) -> Result<Option<View>, Error> {
    let Some(machine) = &page.machine else { return Ok(None) };
    let found = machine.cpus.len();
    if found > limits::CPUS {
        let hint = "leave the machine out of the page: it would not be readable";
        return Err(Error::TooMuch { what: "CPUs to draw".into(), found, limit: limits::CPUS, hint });
    }
    let different: BTreeSet<u32> = machine.cpus.iter().map(|place| place.cpu).collect();
    if found == 0 || different.len() != found {
        let why =
            format!("{found} CPUs with {} different numbers, expected one at least and each once", different.len());
        return Err(Error::Inconsistent { what: "the machine".into(), why });
    }
    let mut tree = Tree::new();
    for place in &machine.cpus {
        let llcs = tree.entry(place.package).or_default();
        let cores = llcs.entry((place.node, place.die, place.llc)).or_default();
        cores.entry(place.core).or_default().push(*place);
    }
    let mut view = View::new("machine", format!("The machine: {}", machine.name));
    view.text(machine.description.clone());
    view.text(words(machine, &tree));
    view.blocks.push(Block::Html { html: topology_svg::draw(&tree, found) });
    Ok(Some(view))
}

/// The machine in a sentence.
fn words(machine: &Topology, tree: &Tree) -> String {
    let of = |key: fn(&CpuPlace) -> u32| machine.cpus.iter().map(key).collect::<BTreeSet<_>>().len();
    let llcs: usize = tree.values().map(BTreeMap::len).sum();
    let capacities: BTreeSet<u16> = machine.cpus.iter().map(|place| place.capacity).collect();
    let mut text = format!(
        "{}, {}, {}, {}, {}, {}.",
        count(machine.cpus.len(), "CPU", "CPUs"),
        count(of(|place| place.core), "core", "cores"),
        count(llcs, "last-level cache", "last-level caches"),
        count(of(|place| place.die), "die", "dies"),
        count(of(|place| place.node), "NUMA node", "NUMA nodes"),
        count(tree.len(), "package", "packages"),
    );
    if capacities.len() > 1 {
        let list: Vec<String> = capacities.iter().map(u16::to_string).collect();
        text += &format!(" CPUs have capacities of {}: the darker, the larger.", list.join(", "));
    }
    text
}
