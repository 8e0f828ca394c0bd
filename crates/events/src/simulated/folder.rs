//! The folder of all events of an experiment, with a folder for each run, and the metadata of a run's files.

use super::{Recorder, SCHEMA_VERSION};
use crate::error::WriteError;
use serde_json::{Value, json};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_sched::domain::{Arch, Topology};

/// A folder that runs are written to.
///
/// If it was created for them and nothing was written to it, it is removed when this is dropped.
#[derive(Debug)]
pub struct EventFolder {
    path: PathBuf,
    created: bool,
    /// Only one run at a time creates and removes folders in it.
    lock: Mutex<()>,
    /// The folder, open and locked: two programs that begin at once must not both find it empty.
    _locked: File,
}

impl EventFolder {
    /// Uses the empty folder of this path, or creates it. Its parent must exist.
    ///
    /// # Errors
    /// Fails if the path is a file or a folder that is not empty, or if the folder cannot be created or written.
    pub fn new(path: &Path) -> Result<Self, WriteError> {
        let io = |e| WriteError::io(path, &e);
        let created = match fs::create_dir(path) {
            Ok(()) => true,
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(e) => return Err(io(e)),
        };
        let locked = File::open(path).map_err(io)?;
        // Where a file system has no locks, the folder is used without one.
        if let Err(TryLockError::WouldBlock) = locked.try_lock() {
            return Err(WriteError::new(path, "another run is writing to this folder"));
        }
        if let Some(entry) = fs::read_dir(path).map_err(io)?.next().transpose().map_err(io)? {
            let name = entry.file_name();
            return Err(WriteError::new(
                path,
                format!("the folder is not empty: it contains {}", name.to_string_lossy()),
            ));
        }
        let folder = EventFolder { path: path.to_owned(), created, lock: Mutex::new(()), _locked: locked };
        // Checks that the folder can be written before anything is simulated. The temporary folder is removed at once.
        folder.temporary()?;
        Ok(folder)
    }

    /// Begins to write a run.
    ///
    /// # Errors
    /// Fails if a file cannot be created.
    pub fn record(&self, run: &RunInfo<'_>) -> Result<Recorder<'_>, WriteError> {
        Recorder::new(self, run)
    }

    /// A temporary folder in it. It is removed with its contents unless [`EventFolder::keep`] renames it.
    pub(super) fn temporary(&self) -> Result<TempDir, WriteError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wakelab-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The permissions that the umask leaves, because this becomes the folder of the run.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        builder.tempdir_in(&self.path).map_err(|e| WriteError::io(&self.path, &e))
    }

    /// Renames a temporary folder to its final path, given by components.
    pub(super) fn keep(&self, folder: TempDir, parts: &[String]) -> Result<(), WriteError> {
        let _guard = self.lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let to = parts.iter().fold(self.path.clone(), |path, part| path.join(part));
        let parent = to.parent().unwrap_or(&self.path);
        let moved = fs::create_dir_all(parent).and_then(|()| fs::rename(folder.path(), &to));
        match moved {
            Ok(()) => {
                // The temporary path no longer exists.
                let _ = folder.keep();
                Ok(())
            }
            Err(e) => {
                let created = parent.ancestors().take_while(|path| *path != self.path);
                // Folders that have other runs in them are not empty and stay.
                created.for_each(|path| drop(fs::remove_dir(path)));
                Err(WriteError::io(&to, &e))
            }
        }
    }
}

impl Drop for EventFolder {
    fn drop(&mut self) {
        if self.created {
            // This fails, as intended, if the folder is not empty.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The description of a simulated run, which is the metadata of its files.
#[derive(Clone, Debug)]
pub struct RunInfo<'a> {
    /// The name of the machine.
    pub machine: &'a str,
    /// The topology of the machine.
    pub topology: &'a Topology,
    /// The architecture, which determines how kernels read the topology.
    pub arch: Arch,
    /// `node_reclaim_distance`, if it is not 30.
    pub reclaim_distance: Option<u32>,
    /// The preset.
    pub kernel: &'a Preset,
    /// The features that are on.
    pub features: FeatureSet,
    /// The features that are switched, as given on the command line; may be empty.
    pub variant: &'a str,
    /// `base` or `with`.
    pub side: &'a str,
    /// The name of the workload, as given.
    pub workload: &'a str,
    /// The load, such as `28 threads`.
    pub load: &'a str,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// The seed of all random numbers of the run.
    pub seed: u64,
    /// When measuring begins, ns. Events are written from the start.
    pub settle_ns: u64,
    /// When the run is to end, ns.
    pub end_ns: u64,
}

impl RunInfo<'_> {
    /// Keys and values, in the order of the files.
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

    /// The path of the run's folder below the folder of all events, by components.
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

/// The name of a folder that is a Hive partition, such as `load=28%20threads`.
pub fn folder_part(key: &str, value: &str) -> String {
    format!("{key}={}", encoded(value))
}

/// The name of an architecture, as in machine files.
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

/// A value in the name of a folder. Bytes that could have a meaning for a file system or a reader are written as `%XX`,
/// as in Hive.
fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.,+".contains(&byte);
    value.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
