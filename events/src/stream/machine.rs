//! The machine of a simulated run, from its files.

use crate::parquet_file::ParquetFile;
use crate::record::arch as name;
use crate::recording::{ReadError, TopoFile, clipped};
use serde::Deserialize;
use std::path::Path;
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
    [Arch::X86, Arch::Arm64].into_iter().find(|&arch| name(arch) == text).ok_or_else(|| {
        let what = format!("wakelab.arch: expected x86 or arm64, found {:?}", clipped(text));
        ReadError::of_file(path, what).with_hint("docs/events.md says what the file has")
    })
}

/// The machine with its domains, as the preset's kernel builds them.
pub(crate) fn topo_file(path: &Path, file: &ParquetFile) -> Result<TopoFile, ReadError> {
    let (kernel, machine) = (file.said("wakelab.kernel")?, file.said("wakelab.machine")?);
    let (topology, reclaim_distance) = topology(path, file.said(KEY)?)?;
    let arch = arch(path, file.says("wakelab.arch"))?;
    let error = |what: String| ReadError::of_file(path, what);
    let preset = Preset::get(kernel)
        .map_err(|e| error(e.to_string()).with_hint("`wakelab kernel list` shows the kernels that are known"))?;
    let mut numbers = preset.name.trim_start_matches('v').split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (major, minor) = (number(), number());
    let mut options = DomainOptions::for_version(major, minor).on(arch);
    // Before 5.4 it was a constant.
    if let Some(own) = reclaim_distance.filter(|_| (major, minor) >= (5, 4)) {
        options.node_reclaim_distance = own;
    }
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
