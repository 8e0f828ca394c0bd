//! A machine from sysfs: what Linux reports about the machine that it runs on.
//!
//! Files are read as `Documentation/ABI/stable/sysfs-devices-system-cpu`, `.../testing/sysfs-devices-system-cpu` and
//! `.../stable/sysfs-devices-node` describe them. CPUs that are online are imported. A tree that contradicts itself is
//! refused: kernels repair or ignore such tables, and no simulation of such a machine would be right. What kernels
//! accept, or one file lacks that another one has, is accepted with a note.

mod arch;
mod cache;
mod capacity;
mod frequency;
mod idle;
mod lstopo;
mod node;
mod sys;
mod topology;
mod tree;

use crate::counts::has_clusters;
use crate::read::check_name;
use crate::{Cost, Costs, Machine, MachineFile, Noise, NoiseOrigin, Origin, ScxCosts};
use arch::Isa;
use lstopo::Lstopo;
use std::path::Path;
use sys::Sys;
pub use tree::Files;
use tree::Tree;
use wakelab_input::InputError;
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::domain::Arch;

/// A machine that was imported from sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The machine. Its costs and background work are assumed.
    pub file: MachineFile,
    /// Notes for the reader about the import, one per line: CPUs left out or renumbered, values that sysfs did not
    /// have.
    pub notes: Vec<String>,
}

impl Imported {
    /// Returns the machine as a file that [`MachineFile::from_toml`] reads back to an equal one, with the notes as
    /// comments.
    pub fn to_toml(&self) -> String {
        let notes: String = self.notes.iter().map(|note| format!("# {note}\n")).collect();
        format!("# Written by `wakelab machine import`.\n{notes}\n{}", self.file.to_toml())
    }
}

/// Imports the `/sys` tree in `dir` (`/sys` itself, or a copy), or the file that `lstopo --of xml` wrote, as a machine
/// of that name.
///
/// # Errors
///
/// A name that machines cannot have, a file that is missing, cannot be read or holds something unexpected, or files
/// that contradict each other: with the file, what was expected, and the next step.
pub fn import(dir: &Path, name: &str) -> Result<Imported, InputError> {
    if !dir.is_file() {
        return import_tree(Tree::Folder(dir), name, None);
    }
    const EXPECTED: &str = "expected the folder of a /sys tree, or a file of `lstopo --of xml`";
    let error = |what: String| InputError::new(dir, what).with_hint(tree::SAVE);
    let text = wakelab_input::read_text(dir).map_err(|error_of| error(format!("{EXPECTED}: {error_of}")))?;
    if !lstopo::is_xml(&text) {
        return Err(error(format!("{EXPECTED}, found a file of another kind")));
    }
    import_lstopo(&text, dir, name)
}

/// Imports a `/sys` tree in memory as a machine of that name.
///
/// # Errors
///
/// Those of [`import`].
pub fn import_files(files: &Files, name: &str) -> Result<Imported, InputError> {
    import_tree(Tree::Files(files), name, None)
}

/// Imports what `lstopo --of xml` wrote as a machine of that name. Errors name `path`.
///
/// # Errors
///
/// A name that machines cannot have, text that is not lstopo's XML, or objects that contradict each other.
pub fn import_lstopo(text: &str, path: &Path, name: &str) -> Result<Imported, InputError> {
    check_name(name).map_err(|what| InputError::new("--name", what))?;
    let lstopo = lstopo::read(text, path)?;
    import_tree(Tree::Files(&lstopo.files), name, Some(&lstopo)).map_err(|error| {
        let what =
            format!("its objects contradict each other; read as a /sys tree, {}: {}", error.path.display(), error.what);
        InputError::new(path, what).with_hint("save a /sys tree instead: docs/machines.md shows how")
    })
}

fn import_tree(tree: Tree<'_>, name: &str, lstopo: Option<&Lstopo>) -> Result<Imported, InputError> {
    check_name(name).map_err(|what| InputError::new("--name", what))?;
    let sys = Sys::read(tree)?;
    lstopo.iter().flat_map(|lstopo| &lstopo.notes).for_each(|note| sys.note(note.clone()));
    note_numbers(&sys);
    let isa = lstopo.and_then(|lstopo| lstopo.isa).or_else(|| arch::read(&sys));
    match isa {
        Some(isa) => isa.note().into_iter().for_each(|note| sys.note(note.to_owned())),
        None => sys.note("nothing here names the architecture: x86 is assumed (`arch`)".to_owned()),
    }
    let (topology, caches) = topology::read(&sys, isa)?;
    let (frequencies, idle_states) = match lstopo {
        Some(_) => (Vec::new(), Vec::new()),
        None => (frequency::read(&sys)?, idle::read(&sys)?),
    };
    capacity::note_unequal(&sys, isa, &topology, &frequencies);
    let (costs, noise, noise_origin) = default_costs(has_clusters(&topology))?;
    let renumbered = (0..).zip(&sys.ids).any(|(cpu, &id)| cpu != id);
    let source = if lstopo.is_some() { "lstopo" } else { "sysfs" };
    let from_here = |of_sysfs: String| if lstopo.is_some() { "lstopo's XML".to_owned() } else { of_sysfs };
    let mut machine = Machine {
        name: name.to_owned(),
        description: String::new(),
        topology,
        arch: isa.map_or(Arch::X86, Isa::arch),
        // Neither is in sysfs.
        split_llc: false,
        reclaim_distance: None,
        cpu_ids: renumbered.then(|| sys.ids.clone()),
        caches: caches.rows(&sys),
        frequencies,
        idle_states,
        turbo: None,
        demotion: None,
        power: Default::default(),
        costs,
        scx_costs: ScxCosts::default(),
        noise,
        noise_origin,
        ensemble: None,
    };
    machine.description = describe(&machine, source, &sys.offline());
    for cache in &mut machine.caches {
        if let Origin::Source(text) = &mut cache.origin {
            *text = from_here(std::mem::take(text));
        }
    }
    let (mut notes, guesses) = sys.into_notes();
    notes.extend(guesses.iter().cloned());
    let from = from_here("sysfs: cpu*/topology, cpu*/cache, node*, cpu*/cpu_capacity".to_owned());
    let topology_origin = Some(match guesses[..] {
        [] => Origin::Source(from),
        _ => Origin::Assumed(format!("{from}; but {}", guesses.join("; "))),
    });
    let imported =
        Imported { file: MachineFile { machine, topology_origin, reference: None, calibration: None }, notes };
    // Otherwise whoever keeps the file would find out later.
    match MachineFile::from_toml(&imported.to_toml(), &tree.name("")) {
        Ok(read) if read == imported.file => Ok(imported),
        Ok(_) => Err(tree.error("", "the machine that was written reads back differently: please report this tree")),
        Err(error) => Err(error.with_hint("the machine that was written cannot be read back: please report this tree")),
    }
}

/// Notes which CPUs have another number here.
fn note_numbers(sys: &Sys<'_>) {
    if (0..).zip(&sys.ids).any(|(cpu, &id)| cpu != id) {
        let (ids, last) = (sys.names(&CpuMask::full(sys.len())), sys.len() - 1);
        sys.note(format!("CPUs {ids} of the kernel are CPUs 0 to {last} here, in that order (`cpu_ids`)"));
    }
}

/// The machine in a line.
fn describe(machine: &Machine, source: &str, offline: &str) -> String {
    let counts = machine.counts();
    let many = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let parts = [
        many(counts.cpus, "CPU"),
        many(counts.cores, "core"),
        many(counts.llcs, "LLC"),
        many(counts.packages, "package"),
        many(counts.nodes, "node"),
    ];
    let offline = match offline.parse::<u32>() {
        Ok(cpu) => format!("; CPU {cpu} offline"),
        Err(_) if offline.is_empty() => String::new(),
        Err(_) => format!("; CPUs {offline} offline"),
    };
    format!("From {source}: {}{offline}", parts.join(", "))
}

/// The machine whose costs are taken over: the only one whose costs were fitted to measurements.
const COSTS_OF: &str = "intel-1s56c112t";

/// The costs and the background work of [`COSTS_OF`], all assumed: sysfs does not have them.
fn default_costs(clusters: bool) -> Result<(Costs, Noise, NoiseOrigin), InputError> {
    let machine = MachineFile::builtin(COSTS_OF)?.machine;
    let mut costs = machine.costs;
    for name in Costs::NAMES {
        if let Some(cost) = costs.get_mut(name) {
            cost.origin = assumed();
        }
    }
    costs.cluster_line = Cost::unknown_cluster_line(clusters);
    Ok((costs, machine.noise, NoiseOrigin { origin: assumed(), ..machine.noise_origin }))
}

fn assumed() -> Origin {
    Origin::Assumed(format!(
        "not in sysfs: value and range of {COSTS_OF}; a machine of another kind may lie outside the range"
    ))
}
