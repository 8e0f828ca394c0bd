//! What there is to read at a path.

use crate::recording::ReadError;
use std::fs;
use std::path::{Path, PathBuf};

/// One recording, or one simulated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Decisions in CSV, plain or gzip.
    Csv(PathBuf),
    /// A recording in Parquet.
    Recorded(Tables),
    /// The folder of a simulated run.
    Simulated(PathBuf),
}

/// The files of a recording, by table, each in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Their folder.
    pub folder: PathBuf,
    /// Decisions with their inputs.
    pub decisions: Vec<PathBuf>,
    /// Wake-ups without inputs, of another recorder.
    pub wakings: Vec<PathBuf>,
    /// Context switches.
    pub switches: Vec<PathBuf>,
    /// Migrations.
    pub migrations: Vec<PathBuf>,
    /// Idle states.
    pub idle: Vec<PathBuf>,
    /// Frequencies.
    pub frequencies: Vec<PathBuf>,
    /// One file that was named by itself: what is said of the whole folder is not said of it.
    pub alone: bool,
}

/// The file of a simulated run by which it is known.
pub const WAKEUPS: &str = "wakeups.parquet";
/// Folders in folders are looked at to this depth.
const DEPTH: usize = 12;

impl Source {
    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            Source::Csv(path) | Source::Simulated(path) => path,
            Source::Recorded(tables) => &tables.folder,
        }
    }

    /// The files with decisions.
    pub fn decisions(&self) -> Vec<PathBuf> {
        match self {
            Source::Csv(path) => vec![path.clone()],
            Source::Recorded(tables) => tables.decisions.clone(),
            Source::Simulated(folder) => vec![folder.join(WAKEUPS)],
        }
    }

    /// The files with wake-ups: those with decisions, or what another recorder saw where there are none.
    pub fn wakeups(&self) -> Vec<PathBuf> {
        match self {
            Source::Recorded(tables) if tables.decisions.is_empty() => tables.wakings.clone(),
            _ => self.decisions(),
        }
    }

    /// What is wrong with its files taken together: see [`Tables::faults`].
    pub fn faults(&self) -> Vec<ReadError> {
        match self {
            Source::Recorded(tables) => tables.faults(),
            Source::Csv(_) | Source::Simulated(_) => Vec::new(),
        }
    }

    /// What is at a path: a file is itself, with the rest of its recording left out; a folder stands for all that is in it
    /// and in its folders.
    ///
    /// # Errors
    /// Where a folder cannot be read, or has nothing in it.
    pub fn at(path: &Path) -> Result<Vec<Source>, ReadError> {
        if !path.is_dir() {
            return Ok(vec![Source::of_file(path)]);
        }
        let mut found = Vec::new();
        look(path, DEPTH, &mut found)?;
        if found.is_empty() {
            let what = "no recordings (*.csv, *.csv.gz, *.parquet of wakelab) in this folder";
            return Err(
                ReadError::of_file(path, what).with_hint("name the folder that holds them, or the files themselves")
            );
        }
        Ok(found)
    }

    fn of_file(path: &Path) -> Source {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let folder = path.parent().unwrap_or(Path::new(""));
        if name == WAKEUPS {
            return Source::Simulated(folder.to_owned());
        }
        let mut tables = Tables { folder: folder.to_owned(), alone: true, ..Tables::default() };
        if tables.add(path, &name) { Source::Recorded(tables) } else { Source::Csv(path.to_owned()) }
    }
}

impl Tables {
    fn add(&mut self, path: &Path, name: &str) -> bool {
        let Some((table, _)) = name.strip_suffix(".parquet").and_then(|name| name.split_once('-')) else {
            return false;
        };
        let files = match table {
            "decisions" => &mut self.decisions,
            "wakings" => &mut self.wakings,
            "switches" => &mut self.switches,
            "migrations" => &mut self.migrations,
            "idle" => &mut self.idle,
            "frequencies" => &mut self.frequencies,
            _ => return false,
        };
        files.push(path.to_owned());
        true
    }

    /// Puts the files of each table in the order in which they were written. Names grow after segment 99,999, so that theirs
    /// is another.
    fn in_order(&mut self) {
        let Tables { decisions, wakings, switches, migrations, idle, frequencies, .. } = self;
        for files in [decisions, wakings, switches, migrations, idle, frequencies] {
            files.sort_by_cached_key(|path| (number(path), path.clone()));
        }
    }
}

/// The number of a segment, by its name.
pub(super) fn number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.rsplit_once('-')?.1.parse().ok()
}

fn look(folder: &Path, depth: usize, found: &mut Vec<Source>) -> Result<(), ReadError> {
    let error = |e: std::io::Error| ReadError::of_file(folder, e.to_string());
    let entries = fs::read_dir(folder).map_err(error)?;
    let mut paths = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(error)?;
    paths.sort();
    let mut tables = Tables { folder: folder.to_owned(), ..Tables::default() };
    let mut any = false;
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name == WAKEUPS {
            found.push(Source::Simulated(folder.to_owned()));
        } else if name.ends_with(".csv") || name.ends_with(".csv.gz") {
            found.push(Source::Csv(path.clone()));
        } else {
            any |= tables.add(path, &name);
        }
    }
    tables.in_order();
    if any && !(tables.decisions.is_empty() && tables.wakings.is_empty() && tables.switches.is_empty()) {
        found.push(Source::Recorded(tables));
    }
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if depth > 0 && !hidden && path.is_dir() {
            look(&path, depth - 1, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["decisions-10001.parquet", "decisions-99999.parquet", "decisions-100000.parquet"];
        for name in names {
            fs::write(folder.path().join(name), "").expect("written");
        }
        let sources = Source::at(folder.path()).expect("a recording");
        assert_eq!(sources[0].decisions(), names.map(|name| folder.path().join(name)));
    }
}
