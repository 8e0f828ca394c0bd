//! A run's description: the kernel, the machine with its domains, the workload, and the names of its tasks.

use crate::decisions::TopoFile;
use crate::error::{ReadError, clipped};
use crate::limits;
use crate::simulated::arch as arch_name;
use crate::table::metadata::{FileKind, ParquetFile};
use crate::table::reader::{Segments, if_present};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use wakelab_input::files;
use wakelab_kernel::Preset;
use wakelab_sched::domain::{Arch, CpuTopology, DomainOptions, MAX_CPUS, Topology, build_sched_domains};

#[derive(Deserialize)]
struct Json {
    cpus: Vec<JsonCpu>,
    node_distance: Vec<Vec<u32>>,
    #[serde(default)]
    reclaim_distance: Option<u32>,
}

#[derive(Deserialize)]
struct JsonCpu {
    core: u32,
    cluster: Option<u32>,
    llc: u32,
    die: u32,
    package: u32,
    node: u32,
    capacity: u32,
}

const KEY: &str = "wakelab.topology";

/// Parses `wakelab.topology`: the topology of the machine, and its `node_reclaim_distance` if it is not the default.
pub(crate) fn topology(path: &Path, text: &str) -> Result<(Topology, Option<u32>), ReadError> {
    let error = |what: String| {
        ReadError::of_file(path, format!("{KEY}: {what}")).with_hint("docs/formats.md describes the metadata")
    };
    let json: Json = serde_json::from_str(text).map_err(|e| error(clipped(&e.to_string())))?;
    if json.cpus.len() > MAX_CPUS as usize {
        return Err(error(format!("expected at most {MAX_CPUS} CPUs, found {}", json.cpus.len())));
    }
    let cpus = json.cpus.into_iter().map(|cpu| CpuTopology {
        core: cpu.core,
        cluster: cpu.cluster,
        llc: cpu.llc,
        die: cpu.die,
        package: cpu.package,
        node: cpu.node,
        capacity: cpu.capacity,
    });
    let topology = Topology { cpus: cpus.collect(), node_distance: json.node_distance };
    topology.validate().map_err(|e| error(clipped(&e.to_string())))?;
    Ok((topology, json.reclaim_distance))
}

/// Parses `wakelab.arch`. Files of schema version 1.0 do not have it; they are of x86.
fn arch(path: &Path, text: Option<&str>) -> Result<Arch, ReadError> {
    let Some(text) = text else { return Ok(Arch::X86) };
    [Arch::X86, Arch::Arm64].into_iter().find(|&arch| arch_name(arch) == text).ok_or_else(|| {
        let what = format!("wakelab.arch: expected x86 or arm64, found {:?}", clipped(text));
        ReadError::of_file(path, what).with_hint("docs/formats.md describes the metadata")
    })
}

/// The machine of a simulated run, with the domains that the kernel of the preset builds.
pub(crate) fn topo_file(path: &Path, file: &ParquetFile) -> Result<TopoFile, ReadError> {
    let (kernel, machine) = (file.required("wakelab.kernel")?, file.required("wakelab.machine")?);
    let (topology, reclaim_distance) = topology(path, file.required(KEY)?)?;
    let arch = arch(path, file.get("wakelab.arch"))?;
    let error = |what: String| ReadError::of_file(path, what);
    let preset = Preset::get(kernel)
        .map_err(|e| error(e.to_string()).with_hint("`wakelab kernel list` shows the known kernels"))?;
    let options = DomainOptions::of(preset).on(arch).with_reclaim_distance(reclaim_distance);
    let domains = build_sched_domains(&topology, &options).map_err(|e| error(clipped(&e.to_string())))?;
    let cpu_llc = domains.sd_llc_id.clone();
    Ok(TopoFile {
        path: path.to_owned(),
        release: kernel.to_owned(),
        topology: machine.to_owned(),
        preset,
        cpu_llc,
        domains,
        scheduler: None,
    })
}

/// The names of a simulated run's tasks at a time. It follows the tasks as they enter and exit, so that only the names
/// of existing tasks are in memory.
pub struct TaskNames {
    rows: Segments,
    /// The next event: its time, ns, the task, and its name, or `None` if it exits.
    next: Option<(u64, i64, Option<String>)>,
    /// Tasks that have exited. Their names are kept until the next time, because an exit and the last wake-up may be at
    /// one moment.
    exited: Vec<i64>,
    names: FxHashMap<i64, Arc<str>>,
}

impl TaskNames {
    /// Reads the table `tasks` of a run. There are no names if its folder does not have it.
    pub fn simulated(folder: &Path) -> Self {
        let rows = Segments::new(if_present(folder, "tasks.parquet"), "tasks", &["t_ns", "what", "pid", "comm"]);
        TaskNames { rows, next: None, exited: Vec::new(), names: FxHashMap::default() }
    }

    /// Advances to a time, ns. Times must not decrease.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn advance_to(&mut self, time: u64) -> Result<(), ReadError> {
        for pid in self.exited.drain(..) {
            self.names.remove(&pid);
        }
        loop {
            if self.next.is_none() {
                let Some(row) = self.rows.advance(|_| {})? else { return Ok(()) };
                let begins = row.text(1) == Some("begins");
                let name = if begins { Some(row.short_text(3, limits::MAX_LABEL)?.to_owned()) } else { None };
                let pid = row.within_or_null(2, limits::MAX_PID)?.unwrap_or(0) as i64;
                self.next = Some((row.within(0, limits::MAX_TIME)?, pid, name));
            }
            match self.next.take() {
                Some((at, pid, Some(name))) if at <= time => _ = self.names.insert(pid, name.into()),
                Some((at, pid, None)) if at <= time => self.exited.push(pid),
                next => {
                    self.next = next;
                    return Ok(());
                }
            }
        }
    }

    /// The name of a task; empty if it is not known.
    pub fn name(&self, pid: i64) -> &str {
        self.names.get(&pid).map_or("", |name| name)
    }

    /// The name of a task, shared; empty if it is not known.
    pub fn shared_name(&self, pid: i64) -> Arc<str> {
        self.names.get(&pid).cloned().unwrap_or_default()
    }
}

/// The description of a recording or a simulated run, from the metadata of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunDescription {
    /// Whether it is a recording of a real kernel.
    pub recorded: bool,
    /// The kernel, of an import its release; empty if the file does not have it.
    pub kernel: String,
    /// The name of the machine.
    pub machine: String,
    /// The workload, with its load.
    pub workload: String,
    /// The features that were switched; empty for none.
    pub variant: String,
    /// The switches of a simulated run as they were given; `None` for a recording.
    pub switches: Option<String>,
    /// When measuring began and ended, ns. The first part of a simulated run is not measured.
    pub measured: Option<(u64, u64)>,
    /// By CPU: the number of its LLC; `None` if the file does not have it.
    pub llcs: Option<Vec<u32>>,
    /// Whether decisions have the states of the CPUs, so that they can be made again.
    pub states: bool,
}

/// By CPU: the number of its LLC, of a recorded machine.
pub(super) fn recorded_llcs(file: &ParquetFile) -> Option<Vec<u32>> {
    let domains: serde_json::Value = serde_json::from_str(file.get("wakelab.domains")?).ok()?;
    serde_json::from_value(domains.get("cpu_llc")?.clone()).ok()
}

impl RunDescription {
    /// Reads the description from the metadata of a Parquet file.
    ///
    /// # Errors
    /// Fails if the file was not written by wakelab.
    pub fn of(path: &Path) -> Result<Self, ReadError> {
        let file = files::open_file(path).map_err(|e| ReadError::of_file(path, e.to_string()))?;
        let (metadata, _) = ParquetFile::open(path, file)?;
        let value = |key: &str| metadata.get(key).unwrap_or_default().to_owned();
        let recorded = metadata.kind == FileKind::Recorded;
        let mut run = RunDescription {
            recorded,
            kernel: value("wakelab.kernel"),
            machine: value("wakelab.machine"),
            workload: value("wakelab.workload"),
            variant: value("wakelab.variant"),
            states: metadata.get("wakelab.snapshot") != Some("none"),
            ..RunDescription::default()
        };
        if recorded {
            if run.variant == "default" {
                run.variant.clear();
            }
            if run.kernel.is_empty() {
                run.kernel = value("wakelab.release");
            }
            run.llcs = recorded_llcs(&metadata);
        } else {
            run.measured =
                Some((metadata.required_time("wakelab.settle_ns")?, metadata.required_time("wakelab.end_ns")?));
            run.workload = format!("{} {}", run.workload, value("wakelab.load"));
            run.switches = Some(run.variant.clone());
            let side = value("wakelab.side");
            run.variant = if run.variant.is_empty() { side } else { format!("{side}: {}", run.variant) };
            let (topology, _) = topology(path, metadata.required("wakelab.topology")?)?;
            run.llcs = Some(topology.cpus.iter().map(|cpu| cpu.llc).collect());
        }
        Ok(run)
    }
}
