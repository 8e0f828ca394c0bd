//! The description of a recorded machine: `topo-<kernel>-<topology>.json`.

use super::fields::{NAME, NAMES, is_name};
use crate::error::{ReadError, clipped, shown};
use crate::limits;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use wakelab_input::files;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{
    KernelCpu, KernelDomains, KernelDomainsError, KernelGroup, KernelSd, SchedDomains, SdFlags,
};

/// A machine with the domains that its kernel built.
#[derive(Clone, Debug)]
pub struct TopoFile {
    /// The file.
    pub path: PathBuf,
    /// The kernel's release (`6.12.107`).
    pub release: String,
    /// The full name of the machine (`A-8c-1s4x2`).
    pub topology: String,
    /// The preset of the kernel.
    pub preset: &'static Preset,
    /// By CPU: `sd_llc_id`. Kernels up to 6.12 number LLCs by their lowest CPU, 7.2 consecutively.
    pub cpu_llc: Vec<u32>,
    /// The domains.
    pub domains: SchedDomains,
    /// The sched_ext scheduler that decided, with its version (`meta.scheduler`); `None` for the kernel's own.
    pub scheduler: Option<String>,
}

#[derive(Deserialize)]
struct Json {
    kernel: String,
    topology: String,
    #[serde(default)]
    meta: serde_json::Value,
    cpu_llc: Vec<u32>,
    domains: BTreeMap<String, Vec<JsonEntry>>,
}

/// A larger file is refused, bytes.
const MAX_BYTES: u64 = 1 << 30;

impl TopoFile {
    /// The path of the description for a recording: in the same folder, named by the kernel, and by the topology up to
    /// its first dash.
    pub(super) fn path_for(recording: &Path, kernel: &str, topology: &str) -> PathBuf {
        let letter = topology.split('-').next().unwrap_or(topology);
        recording.with_file_name(format!("topo-{kernel}-{letter}.json"))
    }

    /// Reads a description from a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, does not have this form, or does not describe a machine.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let error = |what: String| ReadError::of_file(path, what).with_hint(FORM);
        let text = files::read(path, MAX_BYTES).map_err(|e| error(e.to_string()))?;
        let text = String::from_utf8(text).map_err(|_| error("expected JSON, found bytes that are not text".into()))?;
        Self::parse(path, &text)
    }

    /// Parses the text of a description. `path` is for errors only.
    ///
    /// # Errors
    /// Fails if the text does not have this form, or does not describe a machine.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ReadError> {
        let json: Json = serde_json::from_str(text).map_err(|e| json_error(path, &e))?;
        let error = |key: String, what: String| ReadError::of_file(path, what).in_column(key);
        for (key, name) in [("kernel", &json.kernel), ("topology", &json.topology)] {
            if !is_name(name.as_bytes()) {
                let what = format!("expected {NAME}, found {}", shown(name.as_bytes()));
                return Err(error(key.into(), what).with_hint(NAMES));
            }
        }
        let preset = Preset::of_release(&json.kernel).map_err(|e| {
            error("kernel".into(), e.to_string()).with_hint("`wakelab kernel list` shows the known kernels")
        })?;
        let parts = parts(path, &json, preset)?;
        let domains = SchedDomains::from_kernel(&parts).map_err(|e| {
            error(key_of(&e), clipped(&e.reason))
                .with_hint("each CPU needs its domains as the kernel shows them under sched/domains")
        })?;
        Ok(TopoFile {
            path: path.to_owned(),
            release: json.kernel,
            topology: json.topology,
            preset,
            cpu_llc: json.cpu_llc,
            domains,
            scheduler: json.meta["scheduler"].as_str().map(str::to_owned),
        })
    }
}

const FORM: &str = "docs/formats.md describes the topo file";

/// Converts an error of serde, whose message ends with the line and column, to one that begins with the line.
fn json_error(path: &Path, error: &serde_json::Error) -> ReadError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    ReadError::of_file(
        path,
        format!("expected the description of a machine in JSON: {}, at character {column}", clipped(text)),
    )
    .at_line(line as u64)
    .with_hint(FORM)
}

/// The key in the file that an error of the domains refers to.
fn key_of(error: &KernelDomainsError) -> String {
    match (error.cpu, error.domain) {
        (Some(cpu), Some(domain)) => format!("domains.{cpu}[{domain}].{}", error.field),
        (Some(cpu), None) if error.field == "sd_llc_id" => format!("cpu_llc[{cpu}]"),
        (Some(cpu), None) => format!("domains.{cpu}.{}", error.field),
        (None, _) => error.field.to_owned(),
    }
}

/// Converts the values of a file to domains.
struct Converter<'a> {
    path: &'a Path,
    nr_cpus: u32,
    preset: &'static Preset,
}

impl Converter<'_> {
    fn error(&self, key: &str, what: String, hint: &str) -> ReadError {
        ReadError::of_file(self.path, what).in_column(key).with_hint(hint)
    }

    fn mask(&self, key: &str, hex: &str, weight: Option<u32>) -> Result<CpuMask, ReadError> {
        let mask = CpuMask::from_hex(self.nr_cpus, hex).ok_or_else(|| {
            let found = shown(hex.as_bytes());
            let what = format!("expected a hexadecimal mask of CPUs 0 to {}, found {found}", self.nr_cpus - 1);
            self.error(key, what, "masks are written without 0x; cpu_llc has one entry for each CPU")
        })?;
        match weight {
            Some(weight) if weight != mask.weight() => {
                let what = format!(
                    "expected a mask of {weight} CPUs, according to its weight, found {}",
                    shown(hex.as_bytes())
                );
                Err(self.error(key, what, FORM))
            }
            _ => Ok(mask),
        }
    }

    fn flags(&self, key: &str, hex: &str) -> Result<SdFlags, ReadError> {
        let raw = u64::from_str_radix(hex, 16).map_err(|_| {
            let what = format!("expected hexadecimal domain flags, found {}", shown(hex.as_bytes()));
            self.error(key, what, "they are written without 0x")
        })?;
        SdFlags::from_raw(self.preset.sd_flags.names, raw).map_err(|e| {
            self.error(
                key,
                e.to_string(),
                &format!("is the recording from {}? The numbers of flags change between versions", self.preset.name),
            )
        })
    }

    fn group(&self, key: &str, group: &JsonGroup) -> Result<KernelGroup, ReadError> {
        let span = self.mask(&format!("{key}.mask"), &group.mask, group.weight)?;
        let range = limits::group_capacities(span.weight().max(1));
        if !range.contains(&group.capacity) {
            let (from, till, found) = (range.start(), range.end(), group.capacity);
            let what = format!(
                "expected a capacity from {from} to {till}, because the group has weight {}, found {found}",
                span.weight()
            );
            return Err(self.error(
                &format!("{key}.capacity"),
                what,
                "a CPU has 1024 from which nothing is subtracted",
            ));
        }
        Ok(KernelGroup { span, capacity: group.capacity, flags: self.flags(&format!("{key}.flags"), &group.flags)? })
    }

    fn like(&self, key: &str, before: &[KernelCpu], like: u32, level: usize) -> Result<KernelSd, ReadError> {
        let found = before.get(like as usize).and_then(|cpu| cpu.domains.get(level));
        found.cloned().ok_or_else(|| {
            let what = format!("expected a CPU before this one with a domain at level {level}, found {like}");
            self.error(key, what, FORM)
        })
    }

    fn domain(&self, key: &str, domain: &JsonDomain) -> Result<KernelSd, ReadError> {
        let flags = self.flags(&format!("{key}.flags"), &domain.flags)?;
        if flags.contains(SdFlags::BALANCE_WAKE) {
            return Err(self.error(
                &format!("{key}.flags"),
                "expected domains without SD_BALANCE_WAKE, found one with it".into(),
                "with it, wake-ups take the slow path, whose inputs are recorded only for forks and execs",
            ));
        }
        let pct = limits::IMBALANCE_PCTS;
        if !pct.contains(&domain.imbalance_pct) {
            let what = format!("expected {} to {}, found {}", pct.start(), pct.end(), domain.imbalance_pct);
            return Err(self.error(&format!("{key}.imbalance_pct"), what, "kernels use 110, 117 or 125"));
        }
        let groups = domain.groups.iter().enumerate();
        Ok(KernelSd {
            name: domain.name.clone(),
            flags,
            imbalance_pct: domain.imbalance_pct,
            imb_numa_nr: domain.imb_numa_nr,
            span: self.mask(&format!("{key}.span"), &domain.span, domain.span_weight)?,
            groups: groups
                .map(|(i, group)| self.group(&format!("{key}.groups[{i}]"), group))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A domain as another CPU in it has it: with the groups rotated, so that the first has the CPU in it.
fn rotated(mut sd: KernelSd, cpu: u32) -> KernelSd {
    let first = sd.groups.iter().position(|group| group.span.test(cpu)).unwrap_or(0);
    sd.groups.rotate_left(first);
    sd
}

fn parts(path: &Path, json: &Json, preset: &'static Preset) -> Result<KernelDomains, ReadError> {
    let count = json.cpu_llc.len();
    let converter = Converter { path, nr_cpus: count as u32, preset };
    if count == 0 || count > limits::MAX_CPUS as usize {
        return Err(converter.error(
            "cpu_llc",
            format!("expected 1 to {} CPUs, found {count}", limits::MAX_CPUS),
            FORM,
        ));
    }
    let mut cpus: Vec<KernelCpu> = Vec::with_capacity(count);
    for (cpu, &sd_llc_id) in json.cpu_llc.iter().enumerate() {
        let key = format!("domains.{cpu}");
        let listed = json.domains.get(&cpu.to_string()).ok_or_else(|| {
            let what = format!("expected the domains of each of the {count} CPUs in cpu_llc, found none for CPU {cpu}");
            converter.error(&key, what, "a CPU without domains has an empty list")
        })?;
        let domain = |(level, entry): (usize, &JsonEntry)| match entry {
            JsonEntry::Full(domain) => converter.domain(&format!("{key}[{level}]"), domain),
            JsonEntry::Like(like) => {
                converter.like(&format!("{key}[{level}].like"), &cpus, *like, level).map(|sd| rotated(sd, cpu as u32))
            }
        };
        let domains = listed.iter().enumerate().map(domain).collect::<Result<_, _>>()?;
        cpus.push(KernelCpu { domains, sd_llc_id });
    }
    if let Some(extra) =
        json.domains.keys().find(|key| key.parse().map_or(true, |cpu: usize| cpu >= count || **key != cpu.to_string()))
    {
        let what = format!("expected CPUs 0 to {}, found {}", count - 1, shown(extra.as_bytes()));
        return Err(converter.error("domains", what, "cpu_llc has one entry for each CPU"));
    }
    Ok(KernelDomains { cpus, node: None })
}

/// A domain in the file.
pub(super) enum JsonEntry {
    /// A reference to the domain of an earlier CPU at the same level, which is equal except for the rotation of the
    /// groups.
    Like(u32),
    /// The domain in full.
    Full(JsonDomain),
}

/// A domain in full. Redundant values are compared.
#[derive(Deserialize)]
pub(super) struct JsonDomain {
    pub(super) name: String,
    pub(super) flags: String,
    pub(super) imbalance_pct: u32,
    #[serde(default)]
    pub(super) imb_numa_nr: u32,
    pub(super) span: String,
    pub(super) span_weight: Option<u32>,
    pub(super) groups: Vec<JsonGroup>,
}

#[derive(Deserialize)]
pub(super) struct JsonGroup {
    pub(super) mask: String,
    pub(super) weight: Option<u32>,
    pub(super) capacity: u64,
    pub(super) flags: String,
}

/// Decides by the first key, because the error of an untagged enum of serde does not have the key that is missing.
impl<'de> Deserialize<'de> for JsonEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = JsonEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a domain")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonEntry, A::Error> {
        let first: Option<String> = map.next_key()?;
        if first.as_deref() != Some("like") {
            let all = WithFirstKey { first: first.map(String::into_deserializer), rest: map };
            return JsonDomain::deserialize(MapAccessDeserializer::new(all)).map(JsonEntry::Full);
        }
        let like = map.next_value()?;
        match map.next_key::<String>()? {
            None => Ok(JsonEntry::Like(like)),
            Some(more) => Err(A::Error::custom(format_args!("expected nothing besides `like`, found `{more}`"))),
        }
    }
}

/// A map whose first key has been read already.
struct WithFirstKey<A, E> {
    first: Option<StringDeserializer<E>>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithFirstKey<A, A::Error> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}
