//! What a file says of the run that it is of.

use super::SCHEMA_VERSION;
use serde_json::{Value, json};
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_sched::domain::{Arch, Topology};

/// A simulated run, as its files describe it.
#[derive(Clone, Debug)]
pub struct RunInfo<'a> {
    /// The machine's name.
    pub machine: &'a str,
    /// Its shape.
    pub topology: &'a Topology,
    /// How its kernels read that shape.
    pub arch: Arch,
    /// `node_reclaim_distance` where its kernels set another than 30.
    pub reclaim_distance: Option<u32>,
    /// The kernel.
    pub kernel: &'a Preset,
    /// What was on.
    pub features: FeatureSet,
    /// What was switched on top of the kernel's features, as given; may be empty.
    pub variant: &'a str,
    /// `base` or `with`.
    pub side: &'a str,
    /// The workload's name, as given.
    pub workload: &'a str,
    /// The load (`28 threads`).
    pub load: &'a str,
    /// Which repeat, from 1.
    pub repeat: u32,
    /// Where all randomness of the run comes from.
    pub seed: u64,
    /// When measuring began, ns. Events are recorded from the start.
    pub settle_ns: u64,
    /// When the run was to end, ns.
    pub end_ns: u64,
}

impl RunInfo<'_> {
    /// Key and value, in the order of the files.
    pub(super) fn metadata(&self) -> Vec<(&'static str, String)> {
        let words: Vec<String> = (wakelab_kernel::Feature::ALL.iter())
            .filter(|&&feature| feature != wakelab_kernel::Feature::OWN || feature.modelled())
            .map(|&feature| format!("{}{feature}", if self.features.has(feature) { "" } else { "NO_" }))
            .collect();
        vec![
            ("wakelab.schema_version", SCHEMA_VERSION.to_owned()),
            ("wakelab.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("wakelab.kind", "simulated".to_owned()),
            ("wakelab.machine", self.machine.to_owned()),
            ("wakelab.arch", arch(self.arch).to_owned()),
            ("wakelab.topology", topology(self.topology, self.reclaim_distance).to_string()),
            ("wakelab.kernel", self.kernel.name.to_owned()),
            ("wakelab.features", words.join(" ")),
            ("wakelab.side", self.side.to_owned()),
            ("wakelab.variant", self.variant.to_owned()),
            ("wakelab.workload", self.workload.to_owned()),
            ("wakelab.load", self.load.to_owned()),
            ("wakelab.repeat", self.repeat.to_string()),
            ("wakelab.seed", self.seed.to_string()),
            ("wakelab.settle_ns", self.settle_ns.to_string()),
            ("wakelab.end_ns", self.end_ns.to_string()),
        ]
    }

    /// The folder of the run, under that of all events, by parts.
    pub(super) fn folders(&self) -> [String; 5] {
        let variant = if self.variant.is_empty() { "default" } else { self.variant };
        [
            folder_part("workload", self.workload),
            folder_part("load", self.load),
            folder_part("side", self.side),
            folder_part("variant", variant),
            folder_part("repeat", &self.repeat.to_string()),
        ]
    }
}

/// A level of a tree of folders that tells what is below: `load=28%20threads`.
pub fn folder_part(key: &str, value: &str) -> String {
    format!("{key}={}", encoded(value))
}

/// As machine files call it.
pub(crate) fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86 => "x86",
        Arch::Arm64 => "arm64",
    }
}

fn topology(topology: &Topology, reclaim_distance: Option<u32>) -> Value {
    let cpu = |cpu: &wakelab_sched::domain::CpuTopology| {
        json!({
            "core": cpu.core, "cluster": cpu.cluster, "llc": cpu.llc, "die": cpu.die,
            "package": cpu.package, "node": cpu.node, "capacity": cpu.capacity,
        })
    };
    json!({
        "cpus": topology.cpus.iter().map(cpu).collect::<Vec<_>>(),
        "node_distance": topology.node_distance,
        "reclaim_distance": reclaim_distance,
    })
}

/// A value in the name of a folder: bytes that a file system or a reader could take for something else as `%XX`, as Hive
/// does.
fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,+".contains(&byte);
    value.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
