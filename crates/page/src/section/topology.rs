//! The machine: packages, LLCs, cores and threads, in a sentence and as a drawing. Each last-level cache is one SVG, so
//! that the caches wrap to the width of the page.

use crate::text::count;
use crate::view::{Block, View};
use crate::{Error, Page, limits};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A machine that is drawn.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Topology {
    /// The machine's name.
    pub name: String,
    /// A sentence about it. May be empty.
    pub description: String,
    /// The place of each CPU: 1 to [`crate::limits::CPUS`] entries with different numbers.
    pub cpus: Vec<CpuPlace>,
}

/// The place of a CPU. The numbers are identifiers: CPUs that share something have the same number.
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
    /// Its last-level cache.
    pub llc: u32,
    /// Its core, unique in the machine. CPUs of one core are its threads.
    pub core: u32,
    /// Its capacity, 1 to 1024.
    pub capacity: u16,
}

/// CPUs by package, LLC and core.
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
    let mut view = View::folded("machine", format!("The machine: {}", machine.name));
    view.text(machine.description.clone());
    view.text(words(machine, &tree));
    view.blocks.push(Block::Html { html: draw(&tree, found) });
    Ok(Some(view))
}

/// Describes the machine in a sentence.
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

/// Above this many CPUs the drawing has no numbers, because they would not be readable.
const NUMBERED: usize = 288;

/// Returns the HTML of the drawing. It contains only numbers, no text from outside.
fn draw(tree: &Tree, cpus: usize) -> String {
    let numbered = cpus <= NUMBERED;
    let mut html = String::from("<div class=\"machine\">");
    for (package, llcs) in tree {
        let _ = write!(html, "<div class=\"package\"><h3>Package {package}</h3><div class=\"llcs\">");
        for ((node, _, llc), cores) in llcs {
            let cores: Vec<&[CpuPlace]> = cores.values().map(Vec::as_slice).collect();
            let _ = write!(html, "<div class=\"llc\"><p>LLC {llc} <span>node {node}</span></p>");
            llc_svg(&mut html, *llc, &cores, numbered);
            html += "</div>";
        }
        html += "</div></div>";
    }
    html + "</div>"
}

fn llc_svg(html: &mut String, llc: u32, cores: &[&[CpuPlace]], numbered: bool) {
    let threads = cores.iter().map(|core| core.len()).max().unwrap_or(1);
    let (thread_w, thread_h) = if numbered { (22, 16) } else { (7, 9) };
    let (gap, pad) = if numbered { (4, 2) } else { (2, 1) };
    let core_w = threads * thread_w + 2 * pad;
    let core_h = thread_h + 2 * pad;
    let fit = (286 / (core_w + gap)).max(1);
    let columns = match cores.len() {
        n if n <= 4 => n.min(fit),
        n => n.div_ceil(n.div_ceil(fit)).min(fit),
    };
    let rows = cores.len().div_ceil(columns);
    let (width, height) = (columns * (core_w + gap) - gap, rows * (core_h + gap) - gap);
    let list = cpu_list(cores.iter().flat_map(|core| core.iter().map(|place| place.cpu)).collect());
    let _ = write!(
        html,
        "<svg role=\"img\" aria-label=\"LLC {llc}: {} cores, CPUs {list}\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">",
        cores.len()
    );
    for (i, core) in cores.iter().enumerate() {
        let (x, y) = ((i % columns) * (core_w + gap), (i / columns) * (core_h + gap));
        let _ =
            write!(html, "<rect class=\"core\" x=\"{x}\" y=\"{y}\" width=\"{core_w}\" height=\"{core_h}\" rx=\"2\"/>");
        for (t, place) in core.iter().enumerate() {
            let (x, y) = (x + pad + t * thread_w, y + pad);
            let CpuPlace { cpu, core, node, capacity, .. } = place;
            // 0.15 to 0.5, so that the number on it stays readable.
            let fill = 0.15 + 0.35 * f64::from(*capacity) / 1024.0;
            let (w, h) = (thread_w - 1, thread_h);
            let _ = write!(
                html,
                "<g><title>CPU {cpu}: core {core}, LLC {llc}, node {node}, capacity {capacity}</title>\
                 <rect class=\"cpu\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill-opacity=\"{fill:.2}\"/>"
            );
            if numbered {
                let (x, y) = (x + w / 2, y + 12);
                let _ = write!(html, "<text x=\"{x}\" y=\"{y}\">{cpu}</text>");
            }
            *html += "</g>";
        }
    }
    *html += "</svg>";
}

/// Formats a list of CPUs as the kernel does: `0-3,8`.
pub(crate) fn cpu_list(mut cpus: Vec<u32>) -> String {
    cpus.sort_unstable();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    parts.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {

    #[test]
    fn lists_of_cpus_are_as_the_kernel_writes_them() {
        assert_eq!(super::cpu_list(vec![8, 0, 1, 3, 2, 10, 11]), "0-3,8,10-11");
    }
}
