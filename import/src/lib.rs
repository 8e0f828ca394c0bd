//! Scheduler events that another recorder took down, as a recording: `trace.dat` of trace-cmd, `perf.data`, a Perfetto trace.
//!
//! They have no states of run queues, so that no choice can be made again: waits, migrations and who wakes whom are all that
//! can be known. docs/recording.md has the tables.

mod bytes;
mod error;
mod event;
mod format;
mod formats;
mod perf;
mod perf_check;
mod perf_sample;
mod perfetto;
mod perfetto_schema;
mod protobuf;
mod trace_dat;
mod wakings;
mod watched;
mod write;

pub use error::ImportError;
pub use event::{Event, Losses, What};
pub use write::Imported;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// A file's kind, by how it begins.
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
    /// The name in the metadata of the recording.
    pub fn name(self) -> &'static str {
        match self {
            Kind::TraceDat => "trace.dat",
            Kind::PerfData => "perf.data",
            Kind::Perfetto => "perfetto",
        }
    }

    fn of(start: &[u8]) -> Option<Kind> {
        if start.starts_with(trace_dat::MAGIC) {
            Some(Kind::TraceDat)
        } else if start.starts_with(b"PERFILE2") || start.starts_with(b"2ELIFREP") {
            Some(Kind::PerfData)
        } else {
            // A trace is a list of packets: field 1, with a length.
            (start.first() == Some(&0x0a)).then_some(Kind::Perfetto)
        }
    }
}

/// Reads a file, and writes what it has of scheduler events to a folder that is new or empty. The folder is there, whole, when
/// this returns well; else it is not. `progress` is told how many bytes of how many are read.
///
/// # Errors
/// Where the file is none of these, is damaged, has no scheduler event, or the folder cannot be written.
pub fn import(path: &Path, to: &Path, progress: &dyn Fn(u64, u64)) -> Result<Imported, ImportError> {
    let of_file = |what: String| ImportError::new(path, what);
    let mut file = File::open(path).map_err(|e| of_file(e.to_string()))?;
    let mut start = Vec::new();
    file.by_ref().take(16).read_to_end(&mut start).map_err(|e| of_file(e.to_string()))?;
    file.rewind().map_err(|e| of_file(e.to_string()))?;
    let kind = Kind::of(&start).ok_or_else(|| {
        of_file("expected trace.dat, perf.data or a Perfetto trace, found none of them by its first bytes".into())
            .with_hint("text output (perf script, trace-cmd report) is not read; import what these were made of")
    })?;
    write::to_folder(path, kind, to, |each| {
        let file = BufReader::with_capacity(1 << 18, watched::Watched::new(file, progress));
        match kind {
            Kind::TraceDat => trace_dat::read(path, file, each),
            Kind::PerfData => perf::read(path, file, each),
            Kind::Perfetto => perfetto::read(path, file, each),
        }
    })
}

/// Reads events from bytes of that kind, for tests and fuzzing; `each` is told of them as they come in the file. What is missing is returned.
///
/// # Errors
/// As [`import`].
pub fn read_events(
    kind: Kind,
    bytes: &[u8],
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    let path = Path::new(kind.name());
    let file = std::io::Cursor::new(bytes);
    match kind {
        Kind::TraceDat => trace_dat::read(path, file, each),
        Kind::PerfData => perf::read(path, file, each),
        Kind::Perfetto => perfetto::read(path, file, each),
    }
}
