//! Which files are meant.

use std::fs;
use std::path::{Path, PathBuf};
use wakelab_events::ReadError;

/// The recordings that `paths` name, in order: a file is itself, a folder stands for its `*.csv`, `*.csv.gz`
/// and `decisions*.parquet`.
/// What cannot be listed comes back as an error beside the others.
pub fn recordings(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<ReadError>) {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        match folder(path) {
            Ok(found) if found.is_empty() => errors.push(
                ReadError::of_file(path, "no recordings (*.csv, *.csv.gz, decisions*.parquet) in this folder")
                    .with_hint("name the folder that holds them, or the files themselves"),
            ),
            Ok(found) => files.extend(found),
            Err(e) => errors.push(ReadError::of_file(path, e.to_string())),
        }
    }
    (files, errors)
}

fn folder(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".csv")
            || name.ends_with(".csv.gz")
            || name.starts_with("decisions") && name.ends_with(".parquet")
        {
            found.push(file);
        }
    }
    found.sort();
    Ok(found)
}
