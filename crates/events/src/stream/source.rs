//! The files to read at a path, and whether the files of a folder are one recording and all of it.

use crate::error::{ReadError, clipped};
use crate::table::metadata::ParquetFile;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wakelab_input::files;

/// A recording or a simulated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Decisions in CSV, plain or gzip.
    Csv(PathBuf),
    /// A recording in Parquet.
    Recorded(Box<Tables>),
    /// The folder of a simulated run.
    Simulated(PathBuf),
}

/// The files of a recording, by table, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The folder of the files.
    pub folder: PathBuf,
    /// Decisions with their inputs.
    pub decisions: Vec<PathBuf>,
    /// Wake-ups without a decision: those that chose no CPU, or all that were imported from another recorder.
    pub wakings: Vec<PathBuf>,
    /// Names of tasks, of imports.
    pub names: Vec<PathBuf>,
    /// Tasks that joined the queue of a running one, with that queue.
    pub preempts: Vec<PathBuf>,
    /// Passes of the load balancer, with what they read.
    pub balance: Vec<PathBuf>,
    /// Context switches.
    pub switches: Vec<PathBuf>,
    /// Migrations.
    pub migrations: Vec<PathBuf>,
    /// Idle states.
    pub idle: Vec<PathBuf>,
    /// Frequencies.
    pub frequencies: Vec<PathBuf>,
    /// Control groups.
    pub task_groups: Vec<PathBuf>,
    /// The groups that tasks are in.
    pub group_members: Vec<PathBuf>,
    /// Whether this is one file that was given without its folder, so that counts of the whole folder do not apply.
    pub single_file: bool,
}

/// The file by which the folder of a simulated run is recognized.
pub const WAKEUPS: &str = "wakeups.parquet";
/// The depth to which folders are searched. A deeper one is an error.
const MAX_DEPTH: usize = 12;
/// The files of a folder of recordings, which no output replaces.
const HOLDS: &[(&str, &str)] = &[("", ".csv"), ("", ".csv.gz"), ("", ".parquet"), ("", ".json")];
/// The descriptions of machines beside a recording in CSV.
const DESCRIPTIONS: &[(&str, &str)] = &[("topo-", ".json")];

impl Source {
    /// The path of the file or folder.
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

    /// The files with wake-up preemptions.
    pub fn preempts(&self) -> &[PathBuf] {
        match self {
            Source::Recorded(tables) => &tables.preempts,
            Source::Csv(_) | Source::Simulated(_) => &[],
        }
    }

    /// The files with passes of the load balancer.
    pub fn balance(&self) -> &[PathBuf] {
        match self {
            Source::Recorded(tables) => &tables.balance,
            Source::Csv(_) | Source::Simulated(_) => &[],
        }
    }

    /// The files with wake-ups: those with decisions, or, if there are none, the imported ones.
    pub fn wakeups(&self) -> Vec<PathBuf> {
        match self {
            Source::Recorded(tables) if tables.decisions.is_empty() => tables.wakings.clone(),
            _ => self.decisions(),
        }
    }

    /// Faults that its files have only together: see [`Tables::faults`].
    pub fn faults(&self) -> Vec<ReadError> {
        match self {
            Source::Recorded(tables) => tables.faults(),
            Source::Csv(_) | Source::Simulated(_) => Vec::new(),
        }
    }

    /// Finds the sources at a path. A file is a source by itself, without the rest of its recording. A folder is
    /// searched, with the folders in it, but links to folders are not followed. A file that has several names in it,
    /// by links, is read once.
    ///
    /// # Errors
    /// Fails if a folder cannot be read, or has no source in it, if folders are nested more than 12 deep, or if a file
    /// with the name of a recording is a pipe, a socket or a device.
    pub fn at(path: &Path) -> Result<Vec<Source>, ReadError> {
        if !path.is_dir() {
            files::note(path);
            return Ok(vec![Source::of_file(path)]);
        }
        files::note_folder(path, HOLDS);
        let mut found = Vec::new();
        find_sources(path, MAX_DEPTH, &mut HashSet::new(), &mut found)?;
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
        let beside = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if name == WAKEUPS {
            files::note_folder(beside, HOLDS);
            return Source::Simulated(folder.to_owned());
        }
        let mut tables = Tables { folder: folder.to_owned(), single_file: true, ..Tables::default() };
        if tables.add(path, &name) {
            return Source::Recorded(Box::new(tables));
        }
        files::note_folder(beside, DESCRIPTIONS);
        Source::Csv(path.to_owned())
    }
}

impl Tables {
    /// The files of wake-ups that chose no CPU. Without decisions they are those of all wake-ups, so that none is left.
    pub(super) fn undecided(&self) -> &[PathBuf] {
        if self.decisions.is_empty() { &[] } else { &self.wakings }
    }

    fn add(&mut self, path: &Path, name: &str) -> bool {
        let Some((table, _)) = name.strip_suffix(".parquet").and_then(|name| name.split_once('-')) else {
            return false;
        };
        let files = match table {
            "decisions" => &mut self.decisions,
            "wakings" => &mut self.wakings,
            "names" => &mut self.names,
            "preempts" => &mut self.preempts,
            "balance" => &mut self.balance,
            "switches" => &mut self.switches,
            "migrations" => &mut self.migrations,
            "idle" => &mut self.idle,
            "frequencies" => &mut self.frequencies,
            "task_groups" => &mut self.task_groups,
            "group_members" => &mut self.group_members,
            _ => return false,
        };
        files.push(path.to_owned());
        true
    }

    /// Sorts the files of each table by the number of the segment. The order of their names differs after segment
    /// 99,999.
    fn in_order(&mut self) {
        let Tables { decisions, wakings, preempts, balance, switches, migrations, idle, frequencies, .. } = self;
        let groups = [&mut self.task_groups, &mut self.group_members, &mut self.names];
        for files in
            [decisions, wakings, preempts, balance, switches, migrations, idle, frequencies].into_iter().chain(groups)
        {
            files.sort_by_cached_key(|path| (segment_number(path), path.clone()));
        }
    }
}

/// The number of a segment, from its file name.
fn segment_number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.rsplit_once('-')?.1.parse().ok()
}

/// Whether a file with the name of a recording is to be read: not if it was found under another name already. `seen`
/// has the device and inode of each file that was found. A link to nothing is reported when it is read.
fn is_new_file(path: &Path, seen: &mut HashSet<(u64, u64)>) -> Result<bool, ReadError> {
    let Ok(data) = fs::metadata(path) else { return Ok(true) };
    if !data.is_file() && !data.is_dir() {
        let what = "it has the name of a recording, but is a pipe, a socket or a device; expected a file";
        return Err(
            ReadError::of_file(path, what).with_hint("give the path of the pipe itself, or remove it from the folder")
        );
    }
    Ok(data.is_file() && seen.insert((data.dev(), data.ino())))
}

fn find_sources(
    folder: &Path,
    depth: usize,
    seen: &mut HashSet<(u64, u64)>,
    found: &mut Vec<Source>,
) -> Result<(), ReadError> {
    let error = |e: std::io::Error| ReadError::of_file(folder, e.to_string());
    let entries = fs::read_dir(folder).map_err(error)?;
    let mut paths = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(error)?;
    paths.sort();
    let mut tables = Tables { folder: folder.to_owned(), ..Tables::default() };
    let mut any = false;
    for path in &paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_csv = name.ends_with(".csv") || name.ends_with(".csv.gz");
        if !(is_csv || name.ends_with(".parquet")) || !is_new_file(path, seen)? {
            continue;
        }
        if name == WAKEUPS {
            found.push(Source::Simulated(folder.to_owned()));
        } else if is_csv {
            found.push(Source::Csv(path.clone()));
        } else {
            any |= tables.add(path, &name);
        }
    }
    tables.in_order();
    let read = [&tables.decisions, &tables.wakings, &tables.preempts, &tables.balance, &tables.switches];
    if any && read.iter().any(|files| !files.is_empty()) {
        found.push(Source::Recorded(Box::new(tables)));
    }
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // Not of what a link names.
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|data| data.is_dir());
        if hidden || !is_folder {
            continue;
        }
        if depth == 0 {
            let what = format!("folders are nested more than {MAX_DEPTH} deep");
            return Err(ReadError::of_file(&path, what).with_hint("name the folder that holds the recordings"));
        }
        find_sources(&path, depth - 1, seen, found)?;
    }
    Ok(())
}

/// The keys whose values are the same in all files of a recording.
const COMMON_KEYS: [&str; 8] = [
    "wakelab.kernel",
    "wakelab.release",
    "wakelab.workload",
    "wakelab.variant",
    "wakelab.source",
    "wakelab.machine",
    "wakelab.domains",
    RECORDING,
];
/// The unique name of a recording. Recordings before schema version 1.3 do not have it.
const RECORDING: &str = "wakelab.recording";
/// The keys whose values change within a recording when CPUs go offline or online.
const MACHINE_KEYS: [&str; 2] = ["wakelab.machine", "wakelab.domains"];

impl Tables {
    /// Faults that the files of a folder have only together: a segment is missing, or two files are of different
    /// recordings. Files that cannot be read are ignored here.
    pub fn faults(&self) -> Vec<ReadError> {
        let mut tables = vec![&self.decisions, &self.wakings, &self.preempts, &self.balance, &self.switches];
        tables.extend([&self.migrations, &self.task_groups, &self.group_members, &self.names]);
        let mut faults: Vec<ReadError> = tables.iter().filter_map(|files| missing_segment(files)).collect();
        let mut first: Option<(&Path, [Option<String>; COMMON_KEYS.len()])> = None;
        for path in tables.into_iter().flatten() {
            let Some(values) = common_values(path) else { continue };
            let Some((other, expected)) = &first else {
                first = Some((path, values));
                continue;
            };
            if let Some(at) = first_difference(&values, expected) {
                let value = |values: &[Option<String>]| clipped(values[at].as_deref().unwrap_or("nothing"));
                let name = other.file_name().unwrap_or_default().to_string_lossy();
                let what = format!(
                    "expected a file of the same recording as {name}: {} is {} here, and {} there",
                    COMMON_KEYS[at],
                    value(&values),
                    value(expected)
                );
                faults.push(ReadError::of_file(path, what).with_hint("keep each recording in a folder of its own"));
            }
        }
        faults
    }

    /// The names of the machines of the decisions, each once, in the order of the files. The machine changes if CPUs go
    /// offline or online.
    pub fn machines(&self) -> Vec<String> {
        let mut names = Vec::new();
        for path in &self.decisions {
            let Some(name) = open_metadata(path).and_then(|about| about.get(MACHINE_KEYS[0]).map(str::to_owned)) else {
                continue;
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// The index of the first key whose values show that two files are not of one recording.
fn first_difference(
    values: &[Option<String>; COMMON_KEYS.len()],
    other: &[Option<String>; COMMON_KEYS.len()],
) -> Option<usize> {
    let name_at = COMMON_KEYS.len() - 1;
    let same_name =
        values[name_at].as_deref().is_some_and(|name| !name.is_empty()) && values[name_at] == other[name_at];
    (0..COMMON_KEYS.len())
        .find(|&at| values[at] != other[at] && !(same_name && MACHINE_KEYS.contains(&COMMON_KEYS[at])))
}

/// The error of a missing segment. Recorders number the segments of a table from 1, without gaps.
fn missing_segment(files: &[PathBuf]) -> Option<ReadError> {
    let numbers: Vec<usize> = files.iter().filter_map(|path| segment_number(path)?.try_into().ok()).collect();
    let (gap, &found) = (1..).zip(&numbers).find(|(expected, found)| expected != *found)?;
    let path = files.get(gap - 1)?;
    let table = path.file_name()?.to_str()?.split_once('-')?.0;
    (found > gap).then(|| {
        ReadError::of_file(path, format!("the file {table}-{gap:05}.parquet before it is missing"))
            .with_hint("copy the whole folder, or give the files one by one to read only those")
    })
}

fn open_metadata(path: &Path) -> Option<ParquetFile> {
    Some(ParquetFile::open(path, files::open_file(path).ok()?).ok()?.0)
}

fn common_values(path: &Path) -> Option<[Option<String>; COMMON_KEYS.len()]> {
    let about = open_metadata(path)?;
    Some(COMMON_KEYS.map(|key| about.get(key).map(str::to_owned)))
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

    fn gap(numbers: &[u32]) -> Option<String> {
        let files: Vec<_> = numbers.iter().map(|n| PathBuf::from(format!("rec/switches-{n:05}.parquet"))).collect();
        missing_segment(&files).map(|error| error.to_string())
    }

    #[test]
    fn a_gap_is_reported_with_the_file_after_it() {
        assert_eq!(gap(&[1, 2, 3]), None);
        assert_eq!(gap(&[]), None);
        for (numbers, lacks) in [(&[2][..], "switches-00001"), (&[1, 2, 5], "switches-00003")] {
            let error = gap(numbers).expect("a gap");
            assert!(error.contains(lacks) && error.contains("hint"), "{error}");
        }
    }
}
