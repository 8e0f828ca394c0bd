//! Imports scheduler events of other recorders as a recording: `trace.dat` of trace-cmd, `perf.data`, Perfetto traces,
//! the text of ftrace and `perf script`, pages of systrace, and CTF; compressed by gzip, too.
//!
//! These files have no states of run queues, so no decision can be made again. Waits, migrations and who wakes whom can
//! be computed from them. docs/formats.md has the tables, docs/recording.md the formats.
//!
//! It may use `events`, which writes the recording, and `perfetto`. It never makes up what was not recorded: a field
//! that a format does not have stays empty, and is named.

mod byte_reader;
mod event;
mod event_format;
mod perf_data;
mod perf_data_check;
mod perfetto;
mod progress_reader;
mod recording;
mod several;
mod text;
mod trace_dat;
mod trace_info;
mod wakeup_tracker;

pub use event::{BadLines, Event, EventKind, Losses, WhyBad};
pub use recording::Imported;
pub use trace_info::TraceInfo;

use flate2::bufread::MultiGzDecoder;
use progress_reader::ProgressReader;
use several::{Each, Progress, ReadFile};
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_input::files;

/// The hint for a file that is not a trace.
pub(crate) const HOW_TO_RECORD: &str = "record one with `trace-cmd record -e sched -e power:cpu_idle -e \
                                        power:cpu_frequency`, with `perf record -a -e 'sched:*'` (as text: `perf \
                                        script` with its default fields), or with perfetto and its data source \
                                        linux.ftrace; docs/recording.md has the commands";

/// The kind of a file, which its first bytes determine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `trace.dat` of trace-cmd.
    TraceDat,
    /// `perf.data`.
    PerfData,
    /// A Perfetto trace.
    Perfetto,
    /// Text of ftrace, `perf script` or babeltrace2, or a page of systrace; compressed by `atrace -z`, too.
    Text,
    /// The folder of a CTF trace.
    Ctf,
}

impl Kind {
    /// Its name. The metadata of the recording (`wakelab.source`) has that of the text's format instead of `text`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::TraceDat => "trace.dat",
            Kind::PerfData => "perf.data",
            Kind::Perfetto => "perfetto",
            Kind::Text => "text",
            Kind::Ctf => "CTF",
        }
    }

    /// The kind of a file that begins with these bytes, of which there are up to [`START`].
    fn of_start(start: &[u8]) -> Option<Kind> {
        let is_text = || start.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b));
        if start.starts_with(event_format::MAGIC) {
            Some(Kind::TraceDat)
        } else if start.starts_with(b"PERFILE2") || start.starts_with(b"2ELIFREP") {
            Some(Kind::PerfData)
        } else if start.is_empty() {
            None
        } else if is_text() || text::atrace::compressed_from(start).is_some() {
            Some(Kind::Text)
        } else {
            // A trace is a list of packets: field 1, length-delimited. Text may begin with the same byte, a newline.
            (start[0] == 0x0a).then_some(Kind::Perfetto)
        }
    }
}

/// How much of a file is looked at to know its kind, bytes.
const START: u64 = 4096;
/// The first bytes of gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// More files than this are not read at once.
const MAX_FILES: usize = 1024;

/// The machine that was recorded, where the user has it: traces of text do not tell which CPUs share a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMachine {
    /// Its name.
    pub name: String,
    /// By the kernel's number of a CPU: the number of its last-level cache; `None` if the machine lacks that CPU.
    pub cpu_llc: Vec<Option<u32>>,
}

impl KnownMachine {
    /// The kernel's numbers of its CPUs.
    fn cpus(&self) -> Vec<u32> {
        (0..).zip(&self.cpu_llc).filter_map(|(cpu, llc)| llc.map(|_| cpu)).collect()
    }

    /// By the kernel's number of a CPU: the number of its last-level cache. A CPU that the machine lacks has one of its
    /// own.
    fn llcs(&self) -> Vec<u32> {
        let mut next = self.cpu_llc.iter().flatten().max().map_or(0, |highest| highest.saturating_add(1));
        let mut own = || {
            next = next.saturating_add(1);
            next - 1
        };
        self.cpu_llc.iter().map(|llc| llc.unwrap_or_else(&mut own)).collect()
    }

    /// The first CPU that an event names as one that does something, and that the machine lacks. A CPU on which a task
    /// slept may be one that went offline meanwhile.
    fn lacks(&self, event: &Event) -> Option<u32> {
        let other = match event.kind {
            EventKind::Woken { dest_cpu, .. } => dest_cpu,
            EventKind::Migrate { to_cpu, .. } => Some(to_cpu),
            EventKind::Idle { cpu, .. } | EventKind::Frequency { cpu, .. } => Some(cpu),
            EventKind::Switch { .. } | EventKind::Waking { .. } => None,
        };
        let lacks = |cpu: &u32| self.cpu_llc.get(*cpu as usize).is_none_or(Option::is_none);
        [Some(event.cpu), other].into_iter().flatten().find(lacks)
    }
}

/// Imports the files of one recording, or the folder of a CTF trace: writes their scheduler events, merged by time, to
/// the folder `to`, which must be new or empty. `machine` says which CPUs share a cache; what a trace says of that is
/// not used then. The folder exists, complete, if this succeeds, and otherwise not.
/// `progress` is called with the bytes read and the length of the files. It ends with an error once `stop` is set.
///
/// # Errors
/// Fails if a file is of no known kind or is damaged, if it has a CPU that the machine lacks, if the files are of two
/// kernels or have no scheduler event, or if the folder cannot be written.
pub fn import(
    files: &[PathBuf],
    machine: Option<&KnownMachine>,
    to: &Path,
    progress: &dyn Fn(u64, u64),
    stop: &AtomicBool,
) -> Result<Imported, ImportError> {
    if files.is_empty() || files.len() > MAX_FILES {
        let what = format!("expected 1 to {MAX_FILES} files of one recording, found {}", files.len());
        return Err(ImportError::new(files.first().map_or(to, PathBuf::as_path), what));
    }
    let info = RefCell::new(TraceInfo::default());
    let reader = FileReader { temporary: to.parent().filter(|parent| !parent.as_os_str().is_empty()) };
    recording::write_folder(files, &info, machine, to, |each| {
        let mut each = |event| match stop.load(Ordering::Relaxed) {
            true => Err(ImportError::new(to, "interrupted")),
            false => each(event),
        };
        several::read(files, &reader, &info, progress, &mut each)
    })
}

/// Reads files of any kind.
struct FileReader<'a> {
    /// The folder for temporary files; `None` for the current one.
    temporary: Option<&'a Path>,
}

impl ReadFile for FileReader<'_> {
    fn read(
        &self,
        path: &Path,
        info: &RefCell<TraceInfo>,
        progress: &Progress<'_>,
        each: &mut Each<'_>,
    ) -> Result<Losses, ImportError> {
        let io = |e: io::Error| ImportError::new(path, e.to_string());
        if path.is_dir() {
            if text::babeltrace::is_trace(path) {
                return text::babeltrace::read_folder(Path::new(text::babeltrace::PROGRAM), path, info, each);
            }
            return Err(ImportError::new(
                path,
                "expected a file, or the folder of a CTF trace, found a folder without the file `metadata` of CTF",
            )
            .with_hint("name the files to import"));
        }
        let mut file = BufReader::with_capacity(1 << 18, ProgressReader::new(files::open(path).map_err(io)?, progress));
        let start = start(&mut file).map_err(io)?;
        if !start.starts_with(GZIP) {
            let kind = kind(path, &start)?;
            return match kind {
                Kind::TraceDat | Kind::PerfData => {
                    file.rewind().map_err(io)?;
                    read_kind(path, kind, file, info, each)
                }
                _ => read_stream(path, kind, (&start[..]).chain(file), info, each),
            };
        }
        let mut inflated = Inflated(MultiGzDecoder::new((&start[..]).chain(file)));
        let start = self::start(&mut inflated).map_err(io)?;
        let kind = kind(path, &start)?;
        let mut whole = (&start[..]).chain(inflated);
        match kind {
            Kind::TraceDat | Kind::PerfData => {
                // Their parts are read out of order.
                let folder = self.temporary.unwrap_or(Path::new("."));
                let mut file = tempfile::tempfile_in(folder).map_err(|e| ImportError::new(folder, e.to_string()))?;
                io::copy(&mut whole, &mut file).map_err(io)?;
                file.rewind().map_err(io)?;
                read_kind(path, kind, BufReader::with_capacity(1 << 18, file), info, each)
            }
            _ => read_stream(path, kind, BufReader::with_capacity(1 << 18, whole), info, each),
        }
    }
}

/// The contents of a gzip file; errors name gzip.
struct Inflated<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Inflated<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let said = |e: io::Error| {
            io::Error::new(e.kind(), format!("the gzip file cannot be read: {e}; was the whole file copied?"))
        };
        self.0.read(to).map_err(said)
    }
}

/// The first bytes of a file, up to [`START`].
fn start(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(START).read_to_end(&mut start)?;
    Ok(start)
}

fn kind(path: &Path, start: &[u8]) -> Result<Kind, ImportError> {
    let utf16 = start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]);
    let kind = if utf16 { None } else { Kind::of_start(start) };
    kind.ok_or_else(|| {
        if utf16 {
            let what = "expected the text of a trace in UTF-8, found UTF-16, as Windows shells write it";
            return ImportError::new(path, what).with_hint("`iconv -f UTF-16 -t UTF-8 FILE > trace.txt` converts it");
        }
        let found = if start.is_empty() { "an empty file" } else { "something else, judging by its first bytes" };
        let what = "expected trace.dat, perf.data, a Perfetto trace, or the text of ftrace or perf script, found ";
        ImportError::new(path, format!("{what}{found}")).with_hint(HOW_TO_RECORD)
    })
}

fn read_kind(
    path: &Path,
    kind: Kind,
    file: impl BufRead + Seek,
    info: &RefCell<TraceInfo>,
    each: &mut Each<'_>,
) -> Result<Losses, ImportError> {
    info.borrow_mut().format = Some(kind.name());
    match kind {
        Kind::TraceDat => trace_dat::read(path, file, info, each),
        Kind::PerfData => perf_data::read(path, file, info, each),
        _ => read_stream(path, kind, file, info, each),
    }
}

/// Reads a kind that is read from its beginning to its end.
fn read_stream(
    path: &Path,
    kind: Kind,
    file: impl BufRead,
    info: &RefCell<TraceInfo>,
    each: &mut Each<'_>,
) -> Result<Losses, ImportError> {
    info.borrow_mut().format = Some(kind.name());
    match kind {
        Kind::Perfetto => perfetto::read(path, file, info, each),
        _ => text::read(path, file, info, each),
    }
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
    let info = RefCell::new(TraceInfo::default());
    read_kind(Path::new(kind.name()), kind, io::Cursor::new(bytes), &info, each)
}

/// Reads the events of a CTF trace's folder, for tests: `program` is what is run as babeltrace2.
///
/// # Errors
/// Fails if the program cannot be run, fails or prints no trace, and with the errors of `each`.
pub fn read_ctf(
    program: &Path,
    folder: &Path,
    each: &mut dyn FnMut(Event) -> Result<(), ImportError>,
) -> Result<Losses, ImportError> {
    text::babeltrace::read_folder(program, folder, &RefCell::new(TraceInfo::default()), each)
}

/// The error of an import.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}{}", file.display(), hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default())]
pub struct ImportError {
    /// The file.
    pub file: PathBuf,
    /// The error: what was expected and what was found.
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
