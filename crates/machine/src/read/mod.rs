//! Reading a machine file. docs/machines.md describes the format.

mod cache;
mod calibration;
mod costs;
mod ensemble;
mod frequency;
mod idle;
mod power;
mod scaled;
mod topology;
mod value;

use crate::counts::has_clusters;
use crate::{Machine, MachineFile, Reference};
use scaled::Inherited;
use std::path::Path;
use wakelab_input::{Document, InputError, Table};

/// The keys of a file.
const KEYS: &[&str] = &[
    "name",
    "description",
    "costs_of",
    "reference",
    "scaled",
    "topology",
    "cache",
    "frequency",
    "turbo",
    "demotion",
    "idle",
    "power",
    "shared_power",
    "energy_model",
    "costs",
    "scx_costs",
    "noise",
    "ensemble",
    "calibration",
];

impl Machine {
    /// Reads a machine from TOML. Errors call the file `file`.
    ///
    /// # Errors
    ///
    /// Text that is not TOML, an unknown or missing key, a value of the wrong type or out of its range, a topology that
    /// contradicts itself, 0 or more than 8192 CPUs: with the line, the key, what was expected, and often a hint.
    pub fn from_toml(text: &str, file: &str) -> Result<Machine, InputError> {
        MachineFile::from_toml(text, file).map(|file| file.machine)
    }
}

impl MachineFile {
    /// Reads a machine from TOML, with what a [`Machine`] leaves out. Errors call the file `file`.
    ///
    /// # Errors
    ///
    /// Those of [`Machine::from_toml`].
    pub fn from_toml(text: &str, file: &str) -> Result<Self, InputError> {
        let document = Document::parse(Path::new(file), text)?;
        let root = document.root(KEYS)?;
        let name = name(&root)?;
        let description = root.need_text("description", "a description of the machine, in one line")?.to_owned();
        let reference = scaled::read_reference(&root)?;
        let costs_of = costs_of(&root)?;
        let table = topology::table(&root)?;
        let topology = topology::read(&table)?;
        let (arch, reclaim_distance) = topology::read_kernel(&table)?;
        let split_llc = topology::read_split(&table, &topology)?;
        let (cpu_ids, topology_origin) = topology::read_origin(&table, topology.nr_cpus())?;
        let caches = cache::read(&root, topology.nr_cpus())?;
        let frequencies = frequency::read(&root, topology.nr_cpus())?;
        let idle_states = idle::read(&root, topology.nr_cpus())?;
        let turbo = frequency::read_turbo(&root, &frequencies, &idle_states)?;
        let demotion = idle::read_demotion(&root, &idle_states)?;
        let power = power::read(&root, &topology, &frequencies)?;
        let inherited = match scaled::read(&root, &topology, split_llc)? {
            None => costs_of.map(|file| Inherited::all_of(file.machine)),
            scaled => scaled,
        };
        let costs = costs::read(&root, inherited.as_ref().map(|inherited| &inherited.costs), has_clusters(&topology))?;
        let of_reference = reference.as_ref().map(Reference::scx_costs);
        let inherited_scx = inherited.as_ref().map(|inherited| &inherited.scx_costs).or(of_reference.as_ref());
        let scx_costs = costs::read_scx(&root, inherited_scx)?;
        let (noise, noise_origin) = match (costs::read_noise(&root)?, inherited) {
            (Some(noise), _) => noise,
            (None, Some(inherited)) => (inherited.noise, inherited.noise_origin),
            (None, None) => {
                let error = root.missing("noise", "a table with kworker_period_ns and kworker_run_ns");
                return Err(error.with_hint("`kworker_period_ns = 0` is a machine without background work"));
            }
        };
        let machine = Machine {
            name,
            description,
            topology,
            arch,
            split_llc,
            reclaim_distance,
            cpu_ids,
            caches,
            frequencies,
            idle_states,
            turbo,
            demotion,
            power,
            costs,
            scx_costs,
            noise,
            noise_origin,
            ensemble: ensemble::read(&root)?,
        };
        let calibration = calibration::read(&root)?;
        Ok(MachineFile { machine, topology_origin, reference, calibration })
    }
}

const NAME: &str = "a name of letters, digits, `-`, `_` and `.` that does not end in `.toml`";

/// The machine's name: one that the command line would not take for a path.
fn name(root: &Table<'_>) -> Result<String, InputError> {
    let name = root.need_text("name", NAME)?;
    match check_name(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(_) => Err(root.unexpected("name", NAME)),
    }
}

/// Checks that a machine can have this name.
///
/// # Errors
/// Says what was expected.
pub fn check_name(name: &str) -> Result<(), String> {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match plain && !name.ends_with(".toml") {
        true => Ok(()),
        false => Err(format!("expected {NAME}, found {name:?}")),
    }
}

/// The machine whose costs and background work this file takes over. Only a built-in machine: a file that took costs
/// from another file would not be complete where it is sent to.
fn costs_of(root: &Table<'_>) -> Result<Option<MachineFile>, InputError> {
    let Some(name) = root.text("costs_of")? else { return Ok(None) };
    MachineFile::builtin(name).map(Some).map_err(|error| {
        let what = format!("`{name}`: {}", error.what);
        root.wrong("costs_of", what).with_hint_if(error.hint)
    })
}
