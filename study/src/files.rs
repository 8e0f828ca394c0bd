//! Which files are meant.

use std::path::PathBuf;
use std::sync::Arc;
use wakelab_events::{ReadError, Reader, TopoFile};

/// The files with decisions that `paths` name, in order: a file is itself, a folder stands for all in it and in its folders: CSV
/// files, recordings in Parquet, simulated runs. What cannot be listed comes back as an error beside the others.
pub fn recordings(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<ReadError>) {
    let (sources, mut errors) = crate::stats::sources(paths);
    let mut files = Vec::new();
    for source in sources {
        let decisions = source.decisions();
        if decisions.is_empty() {
            errors.push(
                ReadError::of_file(source.path(), "no decisions with their inputs, so that none can be made again")
                    .with_hint(
                        "`wakelab stats` counts what another recorder saw; wakelab-record takes the inputs down",
                    ),
            );
        }
        files.extend(decisions);
    }
    (files, errors)
}

/// The machines and kernels of files with decisions, each once, in the order in which they come. What cannot be read is left
/// to those who read it.
pub fn machines(files: &[PathBuf]) -> Vec<Arc<TopoFile>> {
    let mut found: Vec<Arc<TopoFile>> = Vec::new();
    for topo in files.iter().filter_map(|file| Some(Reader::open(file).ok()?.topo().clone())) {
        if !found.iter().any(|one| (&one.topology, &one.release) == (&topo.topology, &topo.release)) {
            found.push(topo);
        }
    }
    found
}
