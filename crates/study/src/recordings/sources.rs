//! Which files are meant by what people name, and what a source tells of itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::stream::{RecorderCounts, RunDescription, Source};
use wakelab_events::{ReadError, Reader, TopoFile};

/// Returns everything that can be read at these paths, and what cannot be listed.
pub fn sources(paths: &[PathBuf]) -> (Vec<Source>, Vec<ReadError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match Source::at(Path::new(path)) {
            Ok(sources) => {
                // A file that was named alone does not need the others of its folder.
                let folders = sources.iter().filter(|_| path.is_dir());
                errors.extend(folders.flat_map(Source::faults));
                found.extend(sources);
            }
            Err(error) => errors.push(error),
        }
    }
    (found, errors)
}

/// Returns the description of a source.
///
/// # Errors
/// Fails if its first file cannot be read.
pub fn about(source: &Source) -> Result<RunDescription, ReadError> {
    match source {
        Source::Csv(path) => {
            let mut reader = Reader::open(path)?;
            let topo = reader.topo().clone();
            let mut row = wakelab_events::Row::new();
            reader.read(&mut row)?;
            Ok(RunDescription {
                recorded: true,
                kernel: topo.preset.name.to_owned(),
                machine: topo.topology.clone(),
                workload: row.load.clone(),
                variant: if row.variant == "default" { String::new() } else { row.variant.clone() },
                switches: None,
                measured: None,
                llcs: Some(topo.cpu_llc.clone()),
                states: true,
            })
        }
        Source::Recorded(tables) => {
            let of = [&tables.decisions, &tables.wakings, &tables.switches].into_iter().find_map(|files| files.first());
            let Some(file) = of else {
                return Err(ReadError::of_file(&tables.folder, "expected decisions, found only migrations")
                    .with_hint("name the folder of the recording"));
            };
            let mut about = RunDescription::of(file)?;
            let machines = tables.machines();
            if machines.len() > 1 {
                about.machine = machines.join(", then ");
            }
            Ok(about)
        }
        Source::Simulated(folder) => RunDescription::of(&folder.join(wakelab_events::stream::WAKEUPS)),
    }
}

/// Whether a source has the switches that waits are measured by.
pub(crate) fn has_waits(source: &Source) -> bool {
    match source {
        Source::Csv(_) => false,
        Source::Recorded(tables) => !tables.switches.is_empty(),
        Source::Simulated(folder) => folder.join("switches.parquet").exists(),
    }
}

/// Returns the files with decisions at `paths`, in order: CSV files, recordings in Parquet and simulated runs. A path
/// is a file, or a folder that stands for all files in it and below. What cannot be listed is returned as an error.
pub fn decision_files(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<ReadError>) {
    let (sources, mut errors) = sources(paths);
    let mut files = Vec::new();
    for source in sources {
        let decisions = source.decisions();
        if decisions.is_empty() {
            errors.push(
                ReadError::of_file(source.path(), "no decisions with their inputs, so none can be made again")
                    .with_hint(
                        "`wakelab stats` counts what other recorders saw; wakelab-record also records the inputs",
                    ),
            );
        }
        files.extend(decisions);
    }
    (files, errors)
}

/// The share of the decisions that the recordings at `paths` have, if one of them left some out on purpose
/// ([`RecorderCounts::sample`]): the least. What cannot be read counts as whole; whoever reads it says so.
pub fn sample(paths: &[PathBuf]) -> Option<f64> {
    let (sources, _) = sources(paths);
    let of = |source: &Source| match source {
        Source::Recorded(tables) => RecorderCounts::of(tables).ok().flatten()?.sample(),
        Source::Csv(_) | Source::Simulated(_) => None,
    };
    sources.iter().filter_map(of).reduce(f64::min)
}

/// Returns the machines and kernels of files with decisions, each once, in the order of the files. Files that cannot be
/// read are skipped, because their errors are reported when their rows are read.
pub fn machines(files: &[PathBuf]) -> Vec<Arc<TopoFile>> {
    let mut found: Vec<Arc<TopoFile>> = Vec::new();
    for topo in files.iter().filter_map(|file| Some(Reader::open(file).ok()?.topo().clone())) {
        if !found.iter().any(|one| (&one.topology, &one.release) == (&topo.topology, &topo.release)) {
            found.push(topo);
        }
    }
    found
}
