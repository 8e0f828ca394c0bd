//! The folder of all events of an experiment, with a folder for each run, and what each file says of its run.

use super::{Recorder, SCHEMA_VERSION};
use crate::error::WriteError;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_sched::domain::{Arch, Topology};

/// A folder that runs are recorded into.
///
/// Where it was made for them and nothing came to be in it, it is removed again.
#[derive(Debug)]
pub struct EventFolder {
    path: PathBuf,
    made: bool,
    /// One run at a time makes folders under it and removes them.
    lock: Mutex<()>,
}

impl EventFolder {
    /// The folder of this path: an empty one, or a new one in a folder that exists.
    ///
    /// # Errors
    /// Where it is a file, is not empty, or cannot be made or written.
    pub fn new(path: &Path) -> Result<Self, WriteError> {
        let io = |e| WriteError::io(path, &e);
        let made = match fs::read_dir(path) {
            Ok(mut entries) => match entries.next().transpose().map_err(io)? {
                Some(entry) => {
                    let name = entry.file_name();
                    let what = format!("the folder is not empty: it has {}", name.to_string_lossy());
                    return Err(WriteError::new(path, what));
                }
                None => false,
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                fs::create_dir(path).map_err(io)?;
                true
            }
            Err(e) => return Err(io(e)),
        };
        let folder = EventFolder { path: path.to_owned(), made, lock: Mutex::new(()) };
        // Gone again at once: that it can be written is known before anything is simulated.
        folder.temporary()?;
        Ok(folder)
    }

    /// Begins to record a run.
    ///
    /// # Errors
    /// Where a file cannot be made.
    pub fn record(&self, run: &RunInfo<'_>) -> Result<Recorder<'_>, WriteError> {
        Recorder::new(self, run)
    }

    /// A folder in it that is removed with all that is in it, unless it is kept.
    pub(super) fn temporary(&self) -> Result<TempDir, WriteError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wakelab-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What the umask leaves, as it will be the run's.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        builder.tempdir_in(&self.path).map_err(|e| WriteError::io(&self.path, &e))
    }

    /// Gives a temporary folder its name.
    pub(super) fn keep(&self, folder: TempDir, parts: &[String]) -> Result<(), WriteError> {
        let _guard = self.lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let to = parts.iter().fold(self.path.clone(), |path, part| path.join(part));
        let parent = to.parent().unwrap_or(&self.path);
        let moved = fs::create_dir_all(parent).and_then(|()| fs::rename(folder.path(), &to));
        match moved {
            Ok(()) => {
                // It is not there any more.
                let _ = folder.keep();
                Ok(())
            }
            Err(e) => {
                let made = parent.ancestors().take_while(|path| *path != self.path);
                // Those that other runs are in stay.
                made.for_each(|path| drop(fs::remove_dir(path)));
                Err(WriteError::io(&to, &e))
            }
        }
    }
}

impl Drop for EventFolder {
    fn drop(&mut self) {
        if self.made {
            // Stays where something is in it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

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
