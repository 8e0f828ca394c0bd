//! Imports scheduler events of other recorders as a recording: `trace.dat` of trace-cmd, `perf.data`, Perfetto traces.
//!
//! These files have no states of run queues, so no decision can be made again. Waits, migrations and who wakes whom can
//! be computed from them. docs/recording.md has the tables.

mod byte_reader;
mod event;
mod event_format;
mod perf_data;
mod perf_data_check;
mod perfetto;
mod progress_reader;
mod recording;
mod trace_dat;
mod wakeup_tracker;

pub use event::{Event, EventKind, Losses};
pub use recording::Imported;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// The kind of a file, which its first bytes determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `trace.dat` of trace-cmd.
    TraceDat,
    /// `perf.data`.
    PerfData,
    /// A Perfetto trace.
    Perfetto,
}

impl Kind {
    /// Its name in the metadata of the recording (`wakelab.source`).
    pub fn name(self) -> &'static str {
        match self {
            Kind::TraceDat => "trace.dat",
            Kind::PerfData => "perf.data",
            Kind::Perfetto => "perfetto",
        }
    }

    fn of_magic(start: &[u8]) -> Option<Kind> {
        if start.starts_with(event_format::MAGIC) {
            Some(Kind::TraceDat)
        } else if start.starts_with(b"PERFILE2") || start.starts_with(b"2ELIFREP") {
            Some(Kind::PerfData)
        } else {
            // A trace is a list of packets: field 1, length-delimited.
            (start.first() == Some(&0x0a)).then_some(Kind::Perfetto)
        }
    }
}

/// Imports a file: writes its scheduler events to the folder `to`, which must be new or empty. The folder exists,
/// complete, if this succeeds, and otherwise not. `progress` is called with the bytes read and the length of the file.
///
/// # Errors
/// Fails if the file is of no known kind, is damaged or has no scheduler event, or if the folder cannot be written.
pub fn import(path: &Path, to: &Path, progress: &dyn Fn(u64, u64)) -> Result<Imported, ImportError> {
    let of_file = |what: String| ImportError::new(path, what);
    let mut file = File::open(path).map_err(|e| of_file(e.to_string()))?;
    let mut start = Vec::new();
    file.by_ref().take(16).read_to_end(&mut start).map_err(|e| of_file(e.to_string()))?;
    file.rewind().map_err(|e| of_file(e.to_string()))?;
    let kind = Kind::of_magic(&start).ok_or_else(|| {
        of_file("expected trace.dat, perf.data or a Perfetto trace, found none of them by its first bytes".into())
            .with_hint("text output (perf script, trace-cmd report) is not read; import what these were made of")
    })?;
    recording::write_folder(path, kind, to, |each| {
        let file = BufReader::with_capacity(1 << 18, progress_reader::ProgressReader::new(file, progress));
        match kind {
            Kind::TraceDat => trace_dat::read(path, file, each),
            Kind::PerfData => perf_data::read(path, file, each),
            Kind::Perfetto => perfetto::read(path, file, each),
        }
    })
}

/// Reads the events of a file in memory, for tests and fuzzing. `each` is called with every event in the order of the
/// file. Returns how many are missing.
///
/// # Errors
/// Fails if the bytes are damaged or not of that kind, and with the errors of `each`.
pub fn read_events(
    kind: Kind,
    bytes: &[u8],
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let path = Path::new(kind.name());
    let file = std::io::Cursor::new(bytes);
    match kind {
        Kind::TraceDat => trace_dat::read(path, file, each),
        Kind::PerfData => perf_data::read(path, file, each),
        Kind::Perfetto => perfetto::read(path, file, each),
    }
}

/// The error of an import.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}{}", file.display(), hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default())]
pub struct ImportError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong: what was expected and what was found.
    pub what: String,
    /// A hint on what to do about it.
    pub hint: Option<String>,
}

impl ImportError {
    pub(crate) fn new(file: &Path, what: impl Into<String>) -> Self {
        ImportError { file: file.to_owned(), what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error of a file that ends too early or contradicts itself at an offset in bytes.
    pub(crate) fn damaged(file: &Path, at: u64, what: impl std::fmt::Display) -> Self {
        ImportError::new(file, format!("at byte {at}: {what}")).with_hint("was the whole file copied?")
    }
}
