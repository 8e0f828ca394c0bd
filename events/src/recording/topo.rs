//! The machine of a recording: `topo-<kernel>-<topology>.json`.

use super::error::ReadError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{CpuParts, DomainParts, GroupParts, SchedDomains, SdFlags, SdParts};

/// A machine as its kernel described it.
#[derive(Clone, Debug)]
pub struct TopoFile {
    /// The file.
    pub path: PathBuf,
    /// The kernel's release (`6.12.107`).
    pub release: String,
    /// The machine's name in full (`A-8c-1s4x2`).
    pub topology: String,
    /// The version that the kernel belongs to.
    pub preset: &'static Preset,
    /// By CPU: `sd_llc_id` as that kernel numbers LLCs (by lowest CPU up to 6.12, one after the other in 7.2).
    pub cpu_llc: Vec<u32>,
    /// Its domains.
    pub domains: SchedDomains,
}

#[derive(Deserialize)]
struct Json {
    kernel: String,
    topology: String,
    cpu_llc: Vec<u32>,
    domains: BTreeMap<String, Vec<JsonDomain>>,
}

#[derive(Deserialize)]
struct JsonDomain {
    name: String,
    flags: String,
    imbalance_pct: u32,
    #[serde(default)]
    imb_numa_nr: u32,
    span: String,
    groups: Vec<JsonGroup>,
}

#[derive(Deserialize)]
struct JsonGroup {
    mask: String,
    capacity: u64,
    flags: String,
}

/// More CPUs than this are refused.
const MAX_CPUS: usize = 8192;
/// A larger file is no description of a machine.
const MAX_BYTES: u64 = 1 << 30;

impl TopoFile {
    /// The file that describes the machine of a recording: beside it, named by the row's kernel and by its topology up
    /// to the first dash.
    pub fn path_for(recording: &Path, kernel: &str, topology: &str) -> PathBuf {
        let letter = topology.split('-').next().unwrap_or(topology);
        recording.with_file_name(format!("topo-{kernel}-{letter}.json"))
    }

    /// Reads a description.
    ///
    /// # Errors
    /// Where it cannot be read, is not of this form, or describes no machine.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let error = |what: String| ReadError::of_file(path, what);
        let size = fs::metadata(path).map_err(|e| error(e.to_string()))?.len();
        if size > MAX_BYTES {
            return Err(error(format!("{size} bytes are too many for the description of a machine")));
        }
        let text = fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
        Self::parse(path, &text)
    }

    /// Reads a description from its text; `path` is only named in errors.
    ///
    /// # Errors
    /// As [`TopoFile::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ReadError> {
        let error = |what: String| ReadError::of_file(path, what);
        let json: Json = serde_json::from_str(text).map_err(|e| error(e.to_string()).at_line(e.line() as u64))?;
        let preset = Preset::of_release(&json.kernel).map_err(|e| error(e.to_string()).in_column("kernel"))?;
        let parts = parts(path, &json, preset)?;
        let domains = SchedDomains::from_parts(&parts).map_err(|e| {
            error(e.to_string()).with_hint("each CPU needs its domains as the kernel shows them under sched/domains")
        })?;
        Ok(TopoFile {
            path: path.to_owned(),
            release: json.kernel,
            topology: json.topology,
            preset,
            cpu_llc: json.cpu_llc,
            domains,
        })
    }
}

fn parts(path: &Path, json: &Json, preset: &Preset) -> Result<DomainParts, ReadError> {
    let error = |key: String, what: String| ReadError::of_file(path, what).in_column(key);
    let count = json.cpu_llc.len();
    if count == 0 || count > MAX_CPUS {
        return Err(error("cpu_llc".into(), format!("{count} CPUs; expected 1 to {MAX_CPUS}")));
    }
    let nr_cpus = count as u32;
    let mask = |key: &dyn Fn() -> String, hex: &str| {
        CpuMask::from_hex(nr_cpus, hex)
            .ok_or_else(|| error(key(), format!("expected a hexadecimal mask of {count} CPUs, found {hex:?}")))
    };
    let flags = |key: &dyn Fn() -> String, hex: &str| {
        let raw = u64::from_str_radix(hex, 16)
            .map_err(|_| error(key(), format!("expected hexadecimal domain flags, found {hex:?}")))?;
        SdFlags::from_raw(preset.sd_flags.names, raw).map_err(|e| error(key(), e.to_string()))
    };
    let mut cpus = Vec::with_capacity(count);
    for (cpu, &sd_llc_id) in json.cpu_llc.iter().enumerate() {
        let listed = json.domains.get(&cpu.to_string()).ok_or_else(|| {
            error(format!("domains.{cpu}"), format!("missing; expected the domains of each of the {count} CPUs"))
        })?;
        let mut domains = Vec::with_capacity(listed.len());
        for (level, domain) in listed.iter().enumerate() {
            let key = |field: &'static str| move || format!("domains.{cpu}[{level}].{field}");
            let mut groups = Vec::with_capacity(domain.groups.len());
            for group in &domain.groups {
                groups.push(GroupParts {
                    span: mask(&key("groups.mask"), &group.mask)?,
                    capacity: group.capacity,
                    flags: flags(&key("groups.flags"), &group.flags)?,
                });
            }
            domains.push(SdParts {
                name: domain.name.clone(),
                flags: flags(&key("flags"), &domain.flags)?,
                imbalance_pct: domain.imbalance_pct,
                imb_numa_nr: domain.imb_numa_nr,
                span: mask(&key("span"), &domain.span)?,
                groups,
            });
        }
        cpus.push(CpuParts { domains, sd_llc_id });
    }
    Ok(DomainParts { cpus, node: None })
}
