//! Reading a machine file.

mod amount;
mod cache;
mod costs;
mod cpulist;
mod cpus;
mod demotion;
mod explicit;
mod frequency;
mod frequency_row;
mod idle;
mod noise;
mod origin;
mod points;
mod power;
mod source;
mod table;
mod topology;
mod turbo;
mod uniform;

use crate::{Machine, MachineError, MachineFile};
use source::Source;
use table::Table;
use toml::de::DeTable;

const KEYS: &[&str] = &[
    "name",
    "description",
    "costs_of",
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
    "noise",
];

impl Machine {
    /// Reads a machine from TOML. `file` is what errors call it.
    ///
    /// # Errors
    ///
    /// Text that is no TOML, an unknown or missing key, a value of the wrong type or out of its range, a topology that
    /// contradicts itself, 0 or more than 8192 CPUs: with the line, what was expected, and often a hint.
    pub fn from_toml(text: &str, file: &str) -> Result<Machine, MachineError> {
        MachineFile::from_toml(text, file).map(|file| file.machine)
    }
}

impl MachineFile {
    /// The same as [`Machine::from_toml`], with what a [`Machine`] leaves out.
    ///
    /// # Errors
    ///
    /// Those of [`Machine::from_toml`].
    pub fn from_toml(text: &str, file: &str) -> Result<Self, MachineError> {
        let source = Source { file, text };
        let parsed = DeTable::parse(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            source.error(at, format!("this is no TOML: {}", error.message()))
        })?;
        let root = Table::root(source, parsed.get_ref());
        root.only(KEYS)?;
        let name = name(&root)?;
        let description = root.need_text("description", "what the machine is, in a line")?.to_owned();
        let costs_of = costs_of(&root)?;
        let topology = topology::read(&root)?;
        let (arch, reclaim_distance) = topology::read_kernel(&root)?;
        let (cpu_ids, topology_origin) = topology::read_origin(&root, topology.nr_cpus())?;
        let caches = cache::read(&root, topology.nr_cpus())?;
        let frequencies = frequency::read(&root, topology.nr_cpus())?;
        let idle_states = idle::read(&root, topology.nr_cpus())?;
        let turbo = turbo::read(&root, &frequencies, &idle_states)?;
        let demotion = demotion::read(&root, &idle_states)?;
        let power = power::read(&root, &topology, &frequencies)?;
        let costs = costs::read(&root, costs_of.as_ref().map(|file| &file.machine.costs))?;
        let (noise, noise_origin) = match (noise::read(&root)?, costs_of) {
            (Some(noise), _) => noise,
            (None, Some(file)) => (file.machine.noise, file.machine.noise_origin),
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
            reclaim_distance,
            cpu_ids,
            caches,
            frequencies,
            idle_states,
            turbo,
            demotion,
            power,
            costs,
            noise,
            noise_origin,
        };
        Ok(MachineFile { machine, topology_origin })
    }
}

const NAME: &str = "a name of letters, digits, `-`, `_` and `.` that does not end in `.toml`";

/// The machine's name: one that the command line would not take for a path.
fn name(root: &Table<'_>) -> Result<String, MachineError> {
    let name = root.need_text("name", NAME)?;
    match root.get("name") {
        Some(value) if check_name(name).is_err() => Err(root.wrong("name", value, NAME)),
        _ => Ok(name.to_owned()),
    }
}

/// Holds that a machine can have this name.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    match plain && !name.ends_with(".toml") {
        true => Ok(()),
        false => Err(format!("expected {NAME}, found {name:?}")),
    }
}

/// The machine whose costs and noise hold where this file says nothing.
fn costs_of(root: &Table<'_>) -> Result<Option<MachineFile>, MachineError> {
    let (Some(name), Some(value)) = (root.text("costs_of")?, root.get("costs_of")) else { return Ok(None) };
    // Only machines of the program: a file that takes costs from a file would not be complete where it is sent to.
    MachineFile::builtin(name).map(Some).map_err(|error| {
        let mut here = root.source.error(Some(value.span().start), format!("`costs_of`: `{name}`: {}", error.what));
        here.hint = error.hint;
        here
    })
}
