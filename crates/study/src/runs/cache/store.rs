//! The folder of stored runs.

use crate::runs::estimate::{RunCost, line, read_lines};
use crate::runs::key::{Key, Program};
use std::fs::{self, DirEntry, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use wakelab_input::files;
use wakelab_measure::RunStats;

/// The limit of the size of the folder, bytes: 512 MiB, about 130,000 runs.
pub const LIMIT_BYTES: u64 = 512 << 20;

/// The largest entry that is read, bytes. One has some KiB.
const ENTRY_MAX: u64 = 64 << 20;

/// The folder inside of it with compiled schedulers, which are no runs.
pub const SCHEDULERS: &str = "schedulers";

/// The tag by which other programs recognise a cache, so that backups leave the folder out (bford.info/cachedir).
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# Runs that wakelab has made; it can all be deleted.\n";

/// The file inside of it with what runs took on this machine, a line each ([`RunCost`]).
const COSTS: &str = "costs";
/// From this size on it is written again, with the lines of the last runs.
const COSTS_BYTES: u64 = 1 << 20;

/// The folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be used as a cache: {error}", folder.display())]
pub struct StoreError {
    /// The folder.
    pub folder: PathBuf,
    /// The cause.
    pub error: io::Error,
}

/// A folder of stored runs, with counts of its use since it was opened.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    program: Program,
    fresh: bool,
    found: AtomicUsize,
    made: AtomicUsize,
    warnings: Mutex<Vec<String>>,
}

impl Store {
    /// Opens the folder for runs of `program`, and creates it if it does not exist. With `fresh`, nothing is read from
    /// it, and new results replace stored ones.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or written.
    pub fn open(folder: &Path, program: Program, fresh: bool) -> Result<Self, StoreError> {
        let was_there = folder.exists();
        let open = || {
            // Backups leave out a folder with the tag, so a folder that holds something else must not be tagged.
            let mut others = files(folder).filter(|file| file.file_name() != SCHEDULERS);
            let ours = others.next().is_none();
            fs::create_dir_all(folder)?;
            match ours {
                true => write_whole(&folder.join("CACHEDIR.TAG"), TAG.as_bytes()),
                false => temporary(folder).map(drop),
            }
        };
        match open() {
            Ok(()) => Ok(Store {
                folder: folder.to_owned(),
                program,
                fresh,
                found: AtomicUsize::new(0),
                made: AtomicUsize::new(0),
                warnings: Mutex::default(),
            }),
            Err(error) => {
                // A folder that was made for nothing; one that holds something stays.
                if !was_there {
                    let _ = fs::remove_dir(folder);
                }
                Err(StoreError { folder: folder.to_owned(), error })
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The program whose runs it holds.
    pub fn program(&self) -> Program {
        self.program
    }

    /// The number of runs that were read from it.
    pub fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }

    /// The number of runs that were made.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// Warnings that affect no result: entries that are not whole, files that cannot be written.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().expect("nobody panics while pushing").clone()
    }

    /// Returns the run that is stored under `key`. An entry that is not whole counts as absent, with a warning.
    pub fn get(&self, key: &Key) -> Option<RunStats> {
        if self.fresh {
            return None;
        }
        let path = self.path(key);
        let bytes = match files::read_file(&path, ENTRY_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            read => read,
        };
        let stats = match bytes.map(|bytes| decode(key, &bytes)) {
            Ok(Some(stats)) => stats,
            Ok(None) => {
                self.warn(format!("{} is not a complete result; the run is simulated again", path.display()));
                return None;
            }
            Err(error) => {
                self.warn(format!("{}: {error}; the run is simulated again", path.display()));
                return None;
            }
        };
        // Mark the entry as used, because pruning deletes what was used longest ago. Without permission it keeps its
        // age.
        let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        self.found.fetch_add(1, Ordering::Relaxed);
        Some(stats)
    }

    /// Whether there is an entry for `key`, whole or not, that would be read.
    pub fn has(&self, key: &Key) -> bool {
        !self.fresh && self.path(key).exists()
    }

    /// Stores a run under `key`. If that fails, there is a warning, and the run will be made again later.
    pub fn put(&self, key: &Key, stats: &RunStats) {
        self.made.fetch_add(1, Ordering::Relaxed);
        let path = self.path(key);
        let folder = path.parent().expect("an entry lies in a folder");
        let written = fs::create_dir_all(folder).and_then(|()| write_whole(&path, &encode(key, stats)));
        if let Err(error) = written {
            self.warn(format!("{}: {error}; results are not kept there", self.folder.display()));
        }
    }

    /// Stores these bytes as the numbers of a run, for tests of reading: with a checksum that fits, whatever they are.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub fn put_bytes(&self, key: &Key, numbers: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let folder = path.parent().expect("an entry lies in a folder");
        fs::create_dir_all(folder).and_then(|()| write_whole(&path, &entry(key, numbers)))
    }

    /// Notes what a run took, for estimates. If that fails, nothing is lost but the estimate.
    pub(super) fn note_cost(&self, cost: &RunCost) {
        let path = self.folder.join(COSTS);
        let too_long = fs::metadata(&path).is_ok_and(|data| data.len() > COSTS_BYTES);
        let lines = if too_long { self.costs().iter().map(line).collect() } else { String::new() };
        // A line is written at once, so that those of several programs do not mix.
        let _ = match too_long {
            true => write_whole(&path, (lines + &line(cost)).as_bytes()),
            false => File::options()
                .append(true)
                .create(true)
                .open(&path)
                .and_then(|mut file| file.write_all(line(cost).as_bytes())),
        };
    }

    /// What runs took, those that were made last at the end; empty if nothing was noted.
    pub(super) fn costs(&self) -> Vec<RunCost> {
        let mut text = Vec::new();
        let file = files::open_own(&self.folder.join(COSTS));
        let read = file.and_then(|file| file.take(2 * COSTS_BYTES).read_to_end(&mut text));
        read.map_or_else(|_| Vec::new(), |_| read_lines(&String::from_utf8_lossy(&text)))
    }

    /// Deletes the entries that were used longest ago until at most `limit` bytes are in use, and returns the number of
    /// deleted entries. It does nothing unless a run was made. Only entries and their temporary files are deleted.
    pub fn prune(&self, limit: u64) -> usize {
        if self.made() == 0 { 0 } else { prune(&self.folder, limit) }
    }

    /// As in git's object store, a folder for each first byte keeps folders short.
    fn path(&self, key: &Key) -> PathBuf {
        let hex = key.hex();
        self.folder.join(&hex[..2]).join(format!("{}.{}", &hex[2..], SUFFIX))
    }

    fn warn(&self, warning: String) {
        let mut all = self.warnings.lock().expect("nobody panics while pushing");
        if !all.contains(&warning) {
            all.push(warning);
        }
    }
}

/// Creates a file that is deleted unless it is persisted.
fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder)
}

/// Writes a file that appears whole.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("a file lies in a folder");
    let mut file = temporary(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

const FORMAT: &[u8] = b"wakelab run 1\n";

/// Returns the bytes of an entry: a line that names the format, a checksum, and the numbers.
pub(super) fn encode(key: &Key, stats: &RunStats) -> Vec<u8> {
    entry(key, &postcard::to_stdvec(stats).expect("plain data can be written to memory"))
}

fn entry(key: &Key, numbers: &[u8]) -> Vec<u8> {
    [FORMAT, checksum(key, numbers).as_bytes(), numbers].concat()
}

/// Returns the run in the bytes of an entry; `None` if they are not whole, or belong to another key.
pub(super) fn decode(key: &Key, bytes: &[u8]) -> Option<RunStats> {
    let (sum, numbers) = bytes.strip_prefix(FORMAT)?.split_first_chunk::<{ blake3::OUT_LEN }>()?;
    // Whole bytes that were written under this key leave no rest.
    (checksum(key, numbers).as_bytes() == sum).then(|| postcard::from_bytes(numbers).ok())?
}

/// The checksum covers the key, so that a file under another name is not taken for an entry of that name.
fn checksum(key: &Key, numbers: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(key.bytes()).update(numbers).finalize()
}

/// The extension of entries.
pub(super) const SUFFIX: &str = "run";
/// The prefix of files that are not whole yet.
pub(super) const TEMPORARY: &str = ".wakelab-";

/// The unit in which file systems allocate space.
const BLOCK_BYTES: u64 = 4096;
/// The age after which a temporary file was left behind by a program that was killed; no write takes so long.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 3600);

struct Entry {
    used: SystemTime,
    path: PathBuf,
    bytes: u64,
}

/// Deletes the entries that were used longest ago. Files that disappear meanwhile count as deleted.
pub(super) fn prune(folder: &Path, limit: u64) -> usize {
    let mut entries = Vec::new();
    for inner in files(folder).filter(|inner| is_folder_of_entries(&inner.path())) {
        for file in files(&inner.path()) {
            let (path, name) = (file.path(), file.file_name());
            let Ok(data) = file.metadata() else { continue };
            let Ok(used) = data.modified() else { continue };
            if path.extension().is_some_and(|end| end == SUFFIX) {
                entries.push(Entry { used, path, bytes: data.len().next_multiple_of(BLOCK_BYTES) });
            } else if name.to_string_lossy().starts_with(TEMPORARY) && used.elapsed().is_ok_and(|age| age > LEFT_BEHIND)
            {
                let _ = fs::remove_file(path);
            }
        }
    }
    let mut sum: u64 = entries.iter().map(|entry| entry.bytes).sum();
    // The path makes the order unique if clocks are coarse.
    entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
    let mut gone = 0;
    for entry in entries {
        if sum <= limit {
            break;
        }
        if fs::remove_file(entry.path).is_ok() {
            gone += 1;
        }
        sum -= entry.bytes;
    }
    gone
}

fn files(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

/// Whether the name is two hexadecimal digits.
fn is_folder_of_entries(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) && path.is_dir()
}
