//! Machines from `lstopo --of xml`: hwloc's description of a machine, for those of which nobody saved a `/sys` tree.
//!
//! Its objects become the files of a `/sys` tree, which is imported as any other. hwloc knows neither frequencies nor
//! idle states, and gives capacities only as kinds of CPUs.

use super::arch::Isa;
use super::sys::list;
use super::tree::{CPU, Files, NODE};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use wakelab_input::{InputError, parse_sysfs_mask};
use wakelab_sched::domain::MAX_CPUS;

/// The most elements and texts of a file: a machine of 8192 CPUs with all its caches and notes has some 200,000.
const NODES_MAX: u32 = 1_000_000;

/// The most CPUs that all objects may have together: those of a machine of 8192 CPUs have each of them some ten times.
const CPUS_OF_ALL_MAX: usize = 64 * MAX_CPUS as usize;

/// The next step if a file is not as expected.
const SAVE: &str =
    "save the file again with `lstopo --no-io --of xml`, or better, save a /sys tree: docs/machines.md shows how";

/// The contents of a file of lstopo.
#[derive(Debug)]
pub(super) struct Lstopo {
    /// The same as a `/sys` tree.
    pub(super) files: Files,
    /// `Architecture`, if the file names it.
    pub(super) isa: Option<Isa>,
    /// Notes for the reader, one per line.
    pub(super) notes: Vec<String>,
}

/// Whether a text looks like XML.
pub(super) fn is_xml(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with("<?xml") || text.starts_with("<!DOCTYPE") || text.starts_with("<topology")
}

/// Reads what lstopo wrote. `path` is what errors name.
pub(super) fn read(text: &str, path: &Path) -> Result<Lstopo, InputError> {
    let wrong = |what: String| InputError::new(path, what).with_hint(SAVE);
    // A few bytes that refer to an entity may stand for megabytes, and lstopo declares none.
    if text.contains("<!ENTITY") {
        return Err(wrong("expected lstopo's XML, which declares no entity, found <!ENTITY".to_owned()));
    }
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start_matches('\u{feff}'), options)
        .map_err(|error| wrong(format!("expected lstopo's XML: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "topology" {
        let found = wakelab_input::shortened(root.tag_name().name()).into_owned();
        return Err(wrong(format!("expected lstopo's XML, with `topology` as its first element, found {found}")));
    }
    let line = |node: Node<'_, '_>| document.text_pos_at(node.range().start).row as usize;
    let at = |node: Node<'_, '_>, what: String| InputError { line: Some(line(node)), ..wrong(what) };
    let mut objects = Objects::default();
    for node in root.descendants().filter(|node| node.has_tag_name("object")) {
        objects.add(node).map_err(|what| at(node, what))?;
    }
    if objects.pus.is_empty() {
        return Err(wrong("it has no online object of type PU; expected at least one".to_owned()));
    }
    let distances = distances(root, &objects).map_err(|(node, what)| at(node, what))?;
    Ok(objects.files(root, distances))
}

/// One thing that CPUs share.
#[derive(Debug)]
struct Shared {
    os_index: Option<u32>,
    cpus: BTreeSet<u32>,
}

/// A cache.
#[derive(Debug)]
struct CacheObject {
    level: u32,
    holds: &'static str,
    kib: u64,
    cpus: BTreeSet<u32>,
}

/// The objects that are read.
#[derive(Debug, Default)]
struct Objects {
    pus: BTreeSet<u32>,
    cores: Vec<Shared>,
    clusters: Vec<Shared>,
    dies: Vec<Shared>,
    packages: Vec<Shared>,
    nodes: Vec<Shared>,
    caches: Vec<CacheObject>,
    /// How many CPUs all of them have together.
    nr_cpus: usize,
}

impl Objects {
    /// The CPUs of an object.
    fn cpuset(&mut self, node: Node<'_, '_>) -> Result<BTreeSet<u32>, String> {
        let cpus = cpuset(node)?;
        self.nr_cpus += cpus.len();
        match self.nr_cpus <= CPUS_OF_ALL_MAX {
            true => Ok(cpus),
            false => Err(format!(
                "expected objects that have {CPUS_OF_ALL_MAX} CPUs at most together, those of all cpusets counted, \
                 found more"
            )),
        }
    }

    fn add(&mut self, node: Node<'_, '_>) -> Result<(), String> {
        let kind = node.attribute("type").ok_or("expected an object with a type")?;
        let subtype = node.attribute("subtype").or(info(node, "Type")).unwrap_or_default();
        let into: fn(&mut Self) -> &mut Vec<Shared> = match kind {
            "PU" => {
                let cpu = number(node, "os_index")?.ok_or("expected a PU with an os_index, the kernel's number")?;
                if cpu >= MAX_CPUS || !self.pus.insert(cpu) {
                    return Err(format!("expected PUs from 0 to {}, each once, found {cpu}", MAX_CPUS - 1));
                }
                return Ok(());
            }
            "Core" => |all| &mut all.cores,
            "Package" | "Socket" => |all| &mut all.packages,
            "Die" => |all| &mut all.dies,
            "Group" if subtype == "Die" => |all| &mut all.dies,
            "Group" if subtype == "Cluster" => |all| &mut all.clusters,
            "NUMANode" => |all| &mut all.nodes,
            // Of memory, not of CPUs.
            "MemCache" => return Ok(()),
            _ => return self.add_cache(kind, node),
        };
        let shared = Shared { os_index: number(node, "os_index")?, cpus: self.cpuset(node)? };
        into(self).push(shared);
        Ok(())
    }

    /// `L2Cache`, `L1iCache`; before hwloc 2 `Cache` with a depth.
    fn add_cache(&mut self, kind: &str, node: Node<'_, '_>) -> Result<(), String> {
        let level = match kind.strip_suffix("Cache").map(|kind| kind.strip_prefix('L').unwrap_or(kind)) {
            Some("") => number(node, "depth")?,
            Some(level) => level.trim_end_matches(['i', 'd']).parse().ok(),
            // Machines, devices and what else may be there.
            None => return Ok(()),
        };
        let Some(level) = level.filter(|level| (1..=9).contains(level)) else {
            return Err("expected a cache of level 1 to 9".to_owned());
        };
        let holds = match (node.attribute("cache_type"), kind.ends_with("iCache")) {
            (Some("2"), _) | (None, true) => "Instruction",
            (Some("1"), _) => "Data",
            _ => "Unified",
        };
        let bytes = node.attribute("cache_size").map_or(Ok(0), str::parse::<u64>);
        let bytes = bytes.map_err(|_| "expected a cache_size in bytes".to_owned())?;
        let cpus = self.cpuset(node)?;
        self.caches.push(CacheObject { level, holds, kib: (bytes >> 10).min(1 << 30), cpus });
        Ok(())
    }

    /// The same as the files of a `/sys` tree.
    fn files(mut self, root: Node<'_, '_>, distances: Option<Vec<Vec<u32>>>) -> Lstopo {
        let mut notes = vec!["read from lstopo's XML, which has neither frequencies nor idle states".to_owned()];
        let mut files = Files::new();
        let mut put = |path: String, content: String| {
            files.insert(path, content.into_bytes());
        };
        put(format!("{CPU}/online"), list(self.pus.iter().copied()));
        // lstopo leaves out levels that add nothing, if it is told to.
        for (shared, what, whole) in
            [(&mut self.packages, "Package", true), (&mut self.dies, "Die", true), (&mut self.cores, "Core", false)]
        {
            let known: BTreeSet<u32> = shared.iter().flat_map(|shared| &shared.cpus).copied().collect();
            let rest: BTreeSet<u32> = self.pus.difference(&known).copied().collect();
            if rest.is_empty() || what == "Die" {
                continue;
            }
            let takes = if whole { "one" } else { "one PU each" };
            notes.push(format!("CPUs {} are in no {what}: assumed to be {takes}", list(rest.iter().copied())));
            match whole {
                true => shared.push(Shared { os_index: None, cpus: rest }),
                false => shared.extend(rest.iter().map(|&cpu| Shared { os_index: None, cpus: [cpu].into() })),
            }
        }
        let mut lists = |shared: &[Shared], id: &str, of: &str| {
            for (number, shared) in (0u32..).zip(shared) {
                let all = list(shared.cpus.iter().copied());
                for cpu in shared.cpus.intersection(&self.pus) {
                    put(format!("{CPU}/cpu{cpu}/topology/{id}"), number.to_string());
                    if !of.is_empty() {
                        put(format!("{CPU}/cpu{cpu}/topology/{of}"), all.clone());
                    }
                }
            }
        };
        lists(&self.packages, "physical_package_id", "");
        lists(&self.dies, "die_id", "");
        lists(&self.cores, "core_id", "thread_siblings_list");
        lists(&self.clusters, "cluster_id", "cluster_cpus_list");
        let mut indexes: BTreeMap<u32, u32> = BTreeMap::new();
        for cache in &self.caches {
            let all = list(cache.cpus.iter().copied());
            for &cpu in cache.cpus.intersection(&self.pus) {
                let index = indexes.entry(cpu).or_default();
                let file = |name: &str| format!("{CPU}/cpu{cpu}/cache/index{index}/{name}");
                put(file("level"), cache.level.to_string());
                put(file("type"), cache.holds.to_owned());
                put(file("size"), format!("{}K", cache.kib));
                put(file("shared_cpu_list"), all.clone());
                *index += 1;
            }
        }
        self.put_nodes(&mut put, &mut notes, distances);
        note_kinds(root, &mut notes);
        let isa = root.descendants().find_map(|node| info(node, "Architecture")).and_then(Isa::of_word);
        Lstopo { files, isa, notes }
    }

    /// Nodes by their numbers. hwloc gives a node without CPUs those of the nodes near it: a CPU is of the first.
    fn put_nodes(
        &self,
        put: &mut impl FnMut(String, String),
        notes: &mut Vec<String>,
        distances: Option<Vec<Vec<u32>>>,
    ) {
        let mut free = self.pus.clone();
        let ids = node_ids(self);
        for (id, node) in &ids {
            let own: BTreeSet<u32> = node.cpus.intersection(&free).copied().collect();
            if own.is_empty() && !node.cpus.is_empty() {
                notes.push(format!("node {id} has no CPU of its own: it is assumed to have only memory"));
            }
            free.retain(|cpu| !own.contains(cpu));
            put(format!("{NODE}/node{id}/cpulist"), list(own));
        }
        if !ids.is_empty() {
            put(format!("{NODE}/online"), list(ids.keys().copied()));
        }
        for (id, row) in ids.keys().zip(distances.unwrap_or_default()) {
            let row: Vec<String> = row.iter().map(u32::to_string).collect();
            put(format!("{NODE}/node{id}/distance"), row.join(" "));
        }
    }
}

/// The nodes by their numbers, those without one after the others.
fn node_ids(objects: &Objects) -> BTreeMap<u32, &Shared> {
    let mut ids: BTreeMap<u32, &Shared> = BTreeMap::new();
    let (numbered, others): (Vec<_>, Vec<_>) =
        objects.nodes.iter().partition(|node| node.os_index.is_some_and(|id| id < MAX_CPUS));
    for node in numbered {
        ids.entry(node.os_index.unwrap_or(0)).or_insert(node);
    }
    for node in others {
        let next = ids.last_key_value().map_or(0, |(last, _)| last + 1);
        ids.insert(next, node);
    }
    ids
}

/// The latencies between nodes as the firmware's SLIT has them, by the order of their numbers.
fn distances<'a>(root: Node<'a, 'a>, objects: &Objects) -> Result<Option<Vec<Vec<u32>>>, (Node<'a, 'a>, String)> {
    let ids: Vec<u32> = node_ids(objects).into_keys().collect();
    let words = |node: Node<'a, 'a>, name: &'static str| -> String {
        let parts = node.children().filter(|child| child.has_tag_name(name));
        parts.filter_map(|part| part.text()).collect::<Vec<_>>().join(" ")
    };
    for node in root.descendants().filter(|node| node.has_tag_name("distances2")) {
        let latency = node.attribute("name").is_none_or(|name| name == "NUMALatency");
        if node.attribute("type") != Some("NUMANode") || !latency {
            continue;
        }
        let wrong = |what: &str| (node, format!("expected {what}"));
        let numbers = |text: String| text.split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>();
        let indexes = numbers(words(node, "indexes")).map_err(|_| wrong("indexes of nodes, whole numbers"))?;
        let values = numbers(words(node, "u64values")).map_err(|_| wrong("u64values, whole numbers"))?;
        if values.len() != indexes.len().pow(2) || indexes.is_empty() {
            return Err(wrong("the distance from each node to each node"));
        }
        let place = |id: &u32| indexes.iter().position(|index| index == id);
        // Nodes that are left out have no distance: the table is not complete.
        let Some(order) = ids.iter().map(place).collect::<Option<Vec<_>>>() else { continue };
        let row = |&from: &usize| order.iter().map(|&to| values[from * indexes.len() + to]).collect();
        return Ok(Some(order.iter().map(row).collect()));
    }
    for node in root.descendants().filter(|node| node.has_tag_name("distances")) {
        let base = node.attribute("latency_base").and_then(|base| base.parse::<f64>().ok()).unwrap_or(10.0);
        let latencies = node.children().filter_map(|child| child.attribute("value")?.parse::<f64>().ok());
        let values: Vec<u32> = latencies.map(|value| (value * base).round().clamp(0.0, 1e6) as u32).collect();
        if values.len() == ids.len().pow(2) && ids.len() > 1 {
            return Ok(Some(values.chunks(ids.len()).map(<[u32]>::to_vec).collect()));
        }
    }
    Ok(None)
}

/// Adds a note about CPUs that hwloc says are of different kinds.
fn note_kinds(root: Node<'_, '_>, notes: &mut Vec<String>) {
    let kinds: Vec<String> = root
        .descendants()
        .filter(|node| node.has_tag_name("cpukind"))
        .take(8)
        .filter_map(|kind| {
            let cpus = parse_sysfs_mask(kind.attribute("cpuset")?, "CPUs", MAX_CPUS).ok()?;
            let what = info(kind, "CoreType").or(info(kind, "FrequencyMaxMHz")).unwrap_or("of another kind");
            Some(format!("{} {}", wakelab_input::printable(&wakelab_input::shortened(what)), list(cpus)))
        })
        .collect();
    if kinds.len() > 1 {
        notes.push(format!(
            "CPUs are of {} kinds ({}), whose capacities lstopo does not report: they are simulated as equally fast",
            kinds.len(),
            kinds.join(", ")
        ));
    }
}

/// The value of an `info` element of an object.
fn info<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let info = node.children().find(|child| child.has_tag_name("info") && child.attribute("name") == Some(name))?;
    info.attribute("value")
}

fn number(node: Node<'_, '_>, name: &str) -> Result<Option<u32>, String> {
    let number = node.attribute(name).map(str::parse).transpose();
    number.map_err(|_| format!("expected {name}, a whole number"))
}

/// The CPUs of an object.
fn cpuset(node: Node<'_, '_>) -> Result<BTreeSet<u32>, String> {
    let mask = node.attribute("cpuset").unwrap_or("0x0");
    // Of a node that has all CPUs there may ever be.
    let mask = if mask.starts_with("0xf...f") { node.attribute("complete_cpuset").unwrap_or("0x0") } else { mask };
    let cpus = parse_sysfs_mask(mask, "CPUs", MAX_CPUS).map_err(|what| format!("cpuset: {what}"))?;
    Ok(cpus.into_iter().collect())
}
