//! A run's description: the kernel, the machine with its domains, the workload, and the names of its tasks.

use crate::decisions::TopoFile;
use crate::error::{ReadError, clipped};
use crate::simulated::arch as arch_name;
use crate::table::metadata::{FileKind, ParquetFile};
use crate::table::reader::{Segments, if_present};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
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

/// The shape of the machine, and its `node_reclaim_distance` where that is its own.
pub(crate) fn topology(path: &Path, text: &str) -> Result<(Topology, Option<u32>), ReadError> {
    let error = |what: String| {
        ReadError::of_file(path, format!("{KEY}: {what}")).with_hint("docs/events.md says what the file has")
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

/// `wakelab.arch`, which files of schema version 1.0 do not say: what was simulated then is taken for x86.
fn arch(path: &Path, text: Option<&str>) -> Result<Arch, ReadError> {
    let Some(text) = text else { return Ok(Arch::X86) };
    [Arch::X86, Arch::Arm64].into_iter().find(|&arch| arch_name(arch) == text).ok_or_else(|| {
        let what = format!("wakelab.arch: expected x86 or arm64, found {:?}", clipped(text));
        ReadError::of_file(path, what).with_hint("docs/events.md says what the file has")
    })
}

/// The machine with its domains, as the preset's kernel builds them.
pub(crate) fn topo_file(path: &Path, file: &ParquetFile) -> Result<TopoFile, ReadError> {
    let (kernel, machine) = (file.required("wakelab.kernel")?, file.required("wakelab.machine")?);
    let (topology, reclaim_distance) = topology(path, file.required(KEY)?)?;
    let arch = arch(path, file.get("wakelab.arch"))?;
    let error = |what: String| ReadError::of_file(path, what);
    let preset = Preset::get(kernel)
        .map_err(|e| error(e.to_string()).with_hint("`wakelab kernel list` shows the kernels that are known"))?;
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

/// Follows tasks as they begin and exit, so that only those that are there are kept.
pub struct TaskNames {
    rows: Segments,
    /// What comes next: when, who, and its name, or that it exits.
    next: Option<(u64, i64, Option<String>)>,
    /// Gone, but named until the next time: an exit and the last wake-up may be of one moment.
    gone: Vec<i64>,
    names: FxHashMap<i64, Arc<str>>,
}

impl TaskNames {
    /// Of a run; without names where its folder has no such table.
    pub fn simulated(folder: &Path) -> Self {
        let rows = Segments::new(if_present(folder, "tasks.parquet"), "tasks", &["t_ns", "what", "pid", "comm"]);
        TaskNames { rows, next: None, gone: Vec::new(), names: FxHashMap::default() }
    }

    /// Goes to a time, ns; times do not go back.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn advance_to(&mut self, time: u64) -> Result<(), ReadError> {
        for pid in self.gone.drain(..) {
            self.names.remove(&pid);
        }
        loop {
            if self.next.is_none() {
                let Some(row) = self.rows.advance(|_| {})? else { return Ok(()) };
                let name = (row.text(1) == Some("begins")).then(|| row.text(3).unwrap_or_default().to_owned());
                self.next = Some((row.within(0, i64::MAX as u64)?, row.long(2).unwrap_or(0), name));
            }
            match self.next.take() {
                Some((at, pid, Some(name))) if at <= time => _ = self.names.insert(pid, name.into()),
                Some((at, pid, None)) if at <= time => self.gone.push(pid),
                later => {
                    self.next = later;
                    return Ok(());
                }
            }
        }
    }

    /// A task's name; empty where it is not known.
    pub fn name(&self, pid: i64) -> &str {
        self.names.get(&pid).map_or("", |name| name)
    }

    /// The same, to be kept.
    pub fn shared_name(&self, pid: i64) -> Arc<str> {
        self.names.get(&pid).cloned().unwrap_or_default()
    }
}

/// What a file says of the run that it is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunDescription {
    /// Whether a real kernel was recorded.
    pub recorded: bool,
    /// The kernel, as the file names it; empty where it does not.
    pub kernel: String,
    /// The machine's name.
    pub machine: String,
    /// What ran, with its load.
    pub workload: String,
    /// What was switched; empty for nothing.
    pub variant: String,
    /// When measuring began and ended, ns: a simulation's first part is not measured.
    pub measured: Option<(u64, u64)>,
    /// By CPU: the number of its last-level cache, where the file tells.
    pub llcs: Option<Vec<u32>>,
    /// Whether decisions have the states of the CPUs, so that they can be made again.
    pub states: bool,
}

/// The caches of a recorded machine.
pub(super) fn recorded_llcs(file: &ParquetFile) -> Option<Vec<u32>> {
    let domains: serde_json::Value = serde_json::from_str(file.get("wakelab.domains")?).ok()?;
    serde_json::from_value(domains.get("cpu_llc")?.clone()).ok()
}

impl RunDescription {
    /// What a Parquet file says.
    ///
    /// # Errors
    /// Where it is none of wakelab's.
    pub fn of(path: &Path) -> Result<Self, ReadError> {
        let file = std::fs::File::open(path).map_err(|e| ReadError::of_file(path, e.to_string()))?;
        let (about, _) = ParquetFile::open(path, file)?;
        let says = |key: &str| about.get(key).unwrap_or_default().to_owned();
        let recorded = about.kind == FileKind::Recorded;
        let mut run = RunDescription {
            recorded,
            kernel: says("wakelab.kernel"),
            machine: says("wakelab.machine"),
            workload: says("wakelab.workload"),
            variant: says("wakelab.variant"),
            states: about.get("wakelab.snapshot") != Some("none"),
            ..RunDescription::default()
        };
        if recorded {
            if run.variant == "default" {
                run.variant.clear();
            }
            run.llcs = recorded_llcs(&about);
        } else {
            run.measured =
                Some((about.required_number("wakelab.settle_ns")?, about.required_number("wakelab.end_ns")?));
            run.workload = format!("{} {}", run.workload, says("wakelab.load"));
            let side = says("wakelab.side");
            run.variant = if run.variant.is_empty() { side } else { format!("{side}: {}", run.variant) };
            let (topology, _) = topology(path, about.required("wakelab.topology")?)?;
            run.llcs = Some(topology.cpus.iter().map(|cpu| cpu.llc).collect());
        }
        Ok(run)
    }
}
