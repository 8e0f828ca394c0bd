//! Reads decisions row by row, from CSV, Parquet or a simulated run.

use super::csv_rows::CsvRows;
use super::fields::{Column, Fields, Rows};
use super::parquet_rows::ParquetRows;
use super::row::{Row, RowFeatures};
use super::simulated_rows::SimulatedRows;
use super::topo::TopoFile;
use crate::error::{ReadError, shown};
use crate::table::metadata::{FileKind, ParquetFile};
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wakelab_input::files;
use wakelab_kernel::Preset;

/// Reads a recording or a simulated run. It holds one row at a time.
pub struct Reader {
    pub(super) fields: Fields,
    /// Whether the fields are those of the first row already.
    pending: bool,
    /// Whether the end or an error has been reached.
    done: bool,
    pub(super) topo: Arc<TopoFile>,
    /// The `sd_llc_id`s of the machine, sorted, each once.
    pub(super) llc_ids: Vec<u32>,
    pub(super) kernel: String,
    pub(super) topology: String,
    pub(super) features: Arc<RowFeatures>,
    pub(super) sd_shared: SdSharedLists,
    length: Length,
}

/// The fields of `struct sched_domain_shared` of the row at hand, by LLC in the order of the row.
#[derive(Default)]
pub(super) struct SdSharedLists {
    pub(super) ids: Vec<u32>,
    pub(super) has_idle_cores: Vec<u8>,
    pub(super) nr_idle_scan: Vec<i32>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("file", &self.fields.file)
            .field("line", &self.fields.rows.line())
            .finish_non_exhaustive()
    }
}

/// All rows are wanted.
const ALL: &dyn Fn(u64, i64) -> bool = &|_, _| true;

pub(super) const WHAT_IS_READ: &str = "a recording is a Parquet file of wakelab-record, or a CSV file, plain or gzip \
                            (`wakelab docs recording`); `wakelab demo --recordings DIR` writes some";
/// The first bytes of a Parquet file.
const PARQUET_MAGIC: &[u8] = b"PAR1";
/// The first bytes of files that can be imported.
const OTHERS_MAGIC: [&[u8]; 3] = [b"\x17\x08\x44t", b"PERF", b"2ELI"];

impl Reader {
    /// Opens a recording or a simulated run. Next to a CSV file there must be the description of its machine.
    ///
    /// # Errors
    /// Fails if a file cannot be read, has no rows, lacks a column, or is of a kernel without a preset.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let error = |what: String| ReadError::of_file(path, what).with_hint(WHAT_IS_READ);
        if path.is_dir() {
            return Err(error("expected a file, found a directory".into()));
        }
        let mut file = files::open(path).map_err(|e| error(e.to_string()))?;
        // Parquet is read from its end, so a pipe cannot be Parquet. The bytes that are read here are prepended again.
        let mut magic = Vec::with_capacity(PARQUET_MAGIC.len());
        file.by_ref().take(PARQUET_MAGIC.len() as u64).read_to_end(&mut magic).map_err(|e| error(e.to_string()))?;
        if magic == PARQUET_MAGIC {
            let file = file.into_file().map_err(|e| error(e.to_string()))?;
            let bytes = file.try_clone().map_err(|e| error(e.to_string()))?;
            let (metadata, builder) = ParquetFile::open(path, file)?;
            let rows = builder.metadata().file_metadata().num_rows();
            let reader = match metadata.kind {
                FileKind::Recorded => {
                    let (rows, topo) = ParquetRows::open(path, &bytes, metadata, builder)?;
                    let none = ReadError::of_file(path, "expected rows, found none")
                        .with_hint("was the recorder stopped before its first row?");
                    Self::begin(path, Box::new(rows), none, |_, _| Ok(Arc::new(topo)))?
                }
                FileKind::Simulated => {
                    let rows = SimulatedRows::open(path, &bytes, &metadata, builder)?;
                    let topo = Arc::clone(&rows.topo);
                    let none = ReadError::of_file(path, "expected wake-ups that chose a CPU, found none")
                        .with_hint("was the run too short? --time and --settle set its length");
                    Self::begin(path, Box::new(rows), none, |_, _| Ok(topo))?
                }
            };
            return Ok(Reader { length: Length::Rows(u64::try_from(rows).unwrap_or(0)), ..reader });
        }
        if OTHERS_MAGIC.contains(&&magic[..]) {
            return Err(ReadError::of_file(path, "expected a recording, found a file of trace-cmd or perf")
                .with_hint("`wakelab import FILE -o FOLDER` turns it into a recording, which `wakelab stats` reads"));
        }
        let bytes = file.length();
        let (file, read) = CountingReader::new(file);
        let reader = Self::new(path, Cursor::new(magic).chain(file), |kernel, topology| {
            let topo = TopoFile::path_for(path, kernel, topology);
            if !topo.exists() {
                return Err(ReadError::of_file(
                    path,
                    format!("the machine's description {} is missing", topo.display()),
                )
                .with_hint(
                    "each recording needs the file topo-<kernel>-<topology>.json of its machine in the same folder",
                ));
            }
            TopoFile::read(&topo).map(Arc::new)
        })?;
        // A pipe has no length.
        let length = if bytes > 0 { Length::Bytes(bytes, read) } else { Length::Unknown };
        Ok(Reader { length, ..reader })
    }

    /// Reads a CSV recording from `source`, plain or gzip. `path` is for errors only. `topo` returns the description of
    /// the machine for a kernel and a topology.
    ///
    /// # Errors
    /// Fails if the source has no header or no rows, lacks a column, is of a kernel without a preset, or if `topo`
    /// fails.
    pub fn new(
        path: &Path,
        source: impl Read + Send + 'static,
        topo: impl FnOnce(&str, &str) -> Result<Arc<TopoFile>, ReadError>,
    ) -> Result<Self, ReadError> {
        let rows = CsvRows::open(path, source)?;
        let none = ReadError::of_file(path, "expected rows after the header, found none")
            .at_line(rows.line())
            .with_hint("was the recorder stopped before its first row?");
        Self::begin(path, Box::new(rows), none, topo)
    }

    /// Begins with the first row. `none` is the error if there is none.
    fn begin(
        path: &Path,
        rows: Box<dyn Rows>,
        none: ReadError,
        topo: impl FnOnce(&str, &str) -> Result<Arc<TopoFile>, ReadError>,
    ) -> Result<Self, ReadError> {
        let mut fields = Fields { file: path.to_owned(), rows };
        if !fields.rows.advance(ALL)? {
            return Err(none);
        }
        let kernel = fields.name(Column::kernel)?;
        let topology = fields.name(Column::topology)?;
        // The kernel of a simulated run is the name of a preset.
        if fields.rows.simulated().is_none() {
            Preset::of_release(&kernel).map_err(|e| {
                fields.error(Column::kernel, e.to_string()).with_hint("`wakelab kernel list` shows the known kernels")
            })?;
        }
        let topo = topo(&kernel, &topology)?;
        let mut llc_ids = topo.cpu_llc.clone();
        llc_ids.sort_unstable();
        llc_ids.dedup();
        let reader = Reader {
            fields,
            pending: true,
            done: false,
            topo,
            llc_ids,
            kernel,
            topology,
            features: Arc::default(),
            sd_shared: SdSharedLists::default(),
            length: Length::Unknown,
        };
        reader.check_topo()?;
        Ok(reader)
    }

    /// The description of the machine.
    pub fn topo(&self) -> &Arc<TopoFile> {
        &self.topo
    }

    /// The share of the file that has been read, 0 to 1; 0 if it is not known.
    pub fn progress(&self) -> f64 {
        self.length.progress(self.fields.rows.line())
    }

    /// Reads the next row. Returns false at the end, and after an error.
    ///
    /// # Errors
    /// Fails if the row does not match the header or the machine, or has a value that no kernel has.
    pub fn read(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        self.read_wanted(row, ALL)
    }

    /// Reads the next row. Rows for whose time (ns) and wakee `wanted` returns false may be skipped, if that saves
    /// time. Returns false at the end, and after an error.
    ///
    /// # Errors
    /// Fails if the row does not match the header or the machine, or has a value that no kernel has.
    pub fn read_wanted(&mut self, row: &mut Row, wanted: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError> {
        if self.done {
            return Ok(false);
        }
        let read = self.read_row(row, wanted);
        self.done = !matches!(read, Ok(true));
        read
    }

    fn read_row(&mut self, row: &mut Row, wanted: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError> {
        if self.pending {
            self.pending = false;
        } else if !self.fields.rows.advance(wanted)? {
            return Ok(false);
        }
        self.parse(row)?;
        Ok(true)
    }

    /// Checks that the description is of the kernel and the machine of the first row.
    fn check_topo(&self) -> Result<(), ReadError> {
        let topo = &self.topo;
        let of_kernel = topo.release == self.kernel
            || Preset::of_release(&self.kernel).is_ok_and(|preset| preset.name == topo.preset.name);
        let (column, row, file) = if topo.topology != self.topology {
            (Column::topology, &self.topology, &topo.topology)
        } else if !of_kernel {
            (Column::kernel, &self.kernel, &topo.release)
        } else {
            return Ok(());
        };
        let what = format!("expected {}, according to {}, found {row:?}", shown(file.as_bytes()), topo.path.display());
        Err(self.fields.error(column, what).with_hint("the topo file in this folder belongs to another recording"))
    }
}

/// The length of a file, to report progress.
#[derive(Debug, Default)]
enum Length {
    /// Unknown, as of a pipe.
    #[default]
    Unknown,
    /// The number of rows.
    Rows(u64),
    /// The number of bytes, and how many have been read.
    Bytes(u64, Arc<AtomicU64>),
}

impl Length {
    /// The share that has been read, 0 to 1, if `rows` rows have been read.
    fn progress(&self, rows: u64) -> f64 {
        let (done, all) = match self {
            Length::Unknown => return 0.0,
            Length::Rows(all) => (rows, *all),
            Length::Bytes(all, read) => (read.load(Ordering::Relaxed), *all),
        };
        (done as f64 / all.max(1) as f64).min(1.0)
    }
}

/// Counts the bytes that are read from a source.
struct CountingReader<R> {
    from: R,
    read: Arc<AtomicU64>,
}

impl<R> CountingReader<R> {
    fn new(from: R) -> (Self, Arc<AtomicU64>) {
        let read = Arc::new(AtomicU64::new(0));
        (CountingReader { from, read: Arc::clone(&read) }, read)
    }
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
