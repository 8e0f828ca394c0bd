//! Reads some columns of a table, row by row, with one batch in memory at a time.

use super::decode::Batches;
use super::metadata::ParquetFile;
use super::pages::ListLimits;
use crate::error::{ReadError, clipped, shown};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;
use wakelab_input::files;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::MAX_CPUS;

const BATCH_ROWS: usize = 4096;
/// The lists in the columns that are read here are sets of CPUs, and the tasks of a run queue, of which a recorder
/// takes fewer.
const CPU_SETS: ListLimits = ListLimits { longest: (MAX_CPUS / 64) as u64, most: u64::MAX };

/// A reader of one file. Columns are referred to by their index in a list of names.
pub(crate) struct Columns {
    path: PathBuf,
    names: &'static [&'static str],
    batches: Batches,
    cells: Vec<Option<Cells>>,
    /// The number of rows in the file.
    pub(crate) all: u64,
}

/// A column of the current batch.
enum Cells {
    Int(Int32Array),
    Long(Int64Array),
    Flag(BooleanArray),
    Text(StringViewArray),
    /// Lists of 64-bit words.
    Words(ListArray),
    /// Lists of 32-bit and of 64-bit numbers.
    Ints(ListArray),
    Longs(ListArray),
    /// A dictionary: by row the index of its name, the names, and the array, which knows nulls.
    Name(Vec<usize>, StringArray, ArrayRef),
}

impl Columns {
    /// Opens a file of a table. A column that the file does not have reads as null.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is of another table.
    pub(crate) fn open(
        path: &Path,
        table: &str,
        names: &'static [&'static str],
    ) -> Result<(Self, ParquetFile), ReadError> {
        let file = files::open_file(path).map_err(|e| ReadError::of_file(path, e.to_string()))?;
        let rows = file.try_clone().map_err(|e| ReadError::of_file(path, e.to_string()))?;
        let (about, builder) = ParquetFile::open(path, file)?;
        if about.table != table {
            let what = format!("expected the table {table:?}, found {:?}", clipped(&about.table));
            return Err(ReadError::of_file(path, what).with_hint("was a file of the folder renamed?"));
        }
        about.check_rows(&rows, &builder, |column| names.contains(&column), CPU_SETS)?;
        let all = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let mask = ProjectionMask::columns(builder.parquet_schema(), names.iter().copied());
        let batches = Batches::open(path, builder.with_projection(mask).with_batch_size(BATCH_ROWS))?;
        Ok((Columns { path: path.to_owned(), names, batches, cells: Vec::new(), all }, about))
    }

    /// Advances to the next row. Returns false at the end.
    ///
    /// # Errors
    /// Fails if the file is damaged, or has a column of an unexpected type.
    pub(crate) fn advance(&mut self) -> Result<bool, ReadError> {
        let goes_on = self.batches.advance()?;
        if let (true, Some((batch, 0))) = (goes_on, self.batches.current()) {
            self.cells = self.load(batch)?;
        }
        Ok(goes_on)
    }

    /// The number of the current row in the file, from 1.
    pub(crate) fn row(&self) -> u64 {
        self.batches.row
    }

    fn load(&self, batch: &RecordBatch) -> Result<Vec<Option<Cells>>, ReadError> {
        let load = |&name: &&'static str| match batch.column_by_name(name) {
            None => Ok(None),
            Some(array) => Cells::of(array).map(Some).ok_or_else(|| {
                let kind = array.data_type().to_string();
                ReadError::of_file(&self.path, format!("columns of type {} are not supported", clipped(&kind)))
                    .in_column(name)
                    .with_hint("docs/formats.md lists the columns")
            }),
        };
        self.names.iter().map(load).collect()
    }

    /// The number in a column of the current row; 0 or 1 for a boolean. `None` if it is null or a text.
    #[inline]
    pub(crate) fn long(&self, column: usize) -> Option<i64> {
        let at = self.batches.at()?;
        match self.cells.get(column)?.as_ref()? {
            Cells::Int(array) => array.is_valid(at).then(|| array.value(at).into()),
            Cells::Long(array) => array.is_valid(at).then(|| array.value(at)),
            Cells::Flag(array) => array.is_valid(at).then(|| array.value(at).into()),
            Cells::Text(_) | Cells::Words(_) | Cells::Ints(_) | Cells::Longs(_) | Cells::Name(..) => None,
        }
    }

    /// The CPUs of the set in a column of the current row, ascending. `None` if it is null or no set.
    pub(crate) fn cpus(&self, column: usize) -> Option<Vec<Cpu>> {
        let at = self.batches.at()?;
        let Cells::Words(array) = self.cells.get(column)?.as_ref()? else { return None };
        let words = array.is_valid(at).then(|| array.value(at))?;
        let words = words.as_primitive::<UInt64Type>().values();
        let is_set = |cpu: &Cpu| words[*cpu as usize / 64] >> (cpu % 64) & 1 != 0;
        Some((0..64 * words.len() as Cpu).filter(is_set).collect())
    }

    /// The numbers of the list in a column of the current row; `None` if it is null or no list of numbers.
    pub(crate) fn numbers(&self, column: usize) -> Option<Vec<i64>> {
        let at = self.batches.at()?;
        match self.cells.get(column)?.as_ref()? {
            Cells::Ints(array) if array.is_valid(at) => {
                Some(array.value(at).as_primitive::<Int32Type>().values().iter().map(|&n| n.into()).collect())
            }
            Cells::Longs(array) if array.is_valid(at) => {
                Some(array.value(at).as_primitive::<Int64Type>().values().to_vec())
            }
            _ => None,
        }
    }

    /// The text in a column of the current row; `None` if it is null or a number.
    pub(crate) fn text(&self, column: usize) -> Option<&str> {
        let at = self.batches.at()?;
        match self.cells.get(column)?.as_ref()? {
            Cells::Text(array) => array.is_valid(at).then(|| array.value(at)),
            Cells::Name(keys, names, array) => {
                (array.is_valid(at) && names.len() > keys[at]).then(|| names.value(keys[at]))
            }
            _ => None,
        }
    }

    /// The number in a column of the current row, which must be from 0 to `last`. `None` if it is null.
    ///
    /// # Errors
    /// Fails if it is another number.
    #[inline]
    pub(crate) fn within_or_null(&self, column: usize, last: u64) -> Result<Option<u64>, ReadError> {
        match self.long(column) {
            None => Ok(None),
            Some(value) if value >= 0 && value as u64 <= last => Ok(Some(value as u64)),
            found => Err(self.not_within(column, last, found)),
        }
    }

    /// The number in a column of the current row, which must be from -`most` to `most`; 0 if it is null.
    ///
    /// # Errors
    /// Fails if it is another number.
    pub(crate) fn difference(&self, column: usize, most: u64) -> Result<i64, ReadError> {
        match self.long(column) {
            Some(found) if found < 0 && found.unsigned_abs() <= most => Ok(found),
            _ => Ok(self.within_or_null(column, most)?.unwrap_or(0) as i64),
        }
    }

    /// The text in a column of the current row, of at most `longest` bytes; empty if it is null.
    ///
    /// # Errors
    /// Fails if it is longer.
    pub(crate) fn short_text(&self, column: usize, longest: usize) -> Result<&str, ReadError> {
        let text = self.text(column).unwrap_or_default();
        if text.len() > longest {
            let (found, text) = (text.len(), shown(text.as_bytes()));
            let what = format!("expected at most {longest} bytes, found {found}: {text}");
            return Err(self.error(column, what));
        }
        Ok(text)
    }

    /// The number in a column of the current row, which must be from 0 to `last`.
    ///
    /// # Errors
    /// Fails if it is not.
    #[inline]
    pub(crate) fn within(&self, column: usize, last: u64) -> Result<u64, ReadError> {
        self.within_or_null(column, last)?.ok_or_else(|| self.not_within(column, last, None))
    }

    /// Out of the way of [`Columns::within`], which is called for most cells of a table.
    #[cold]
    #[inline(never)]
    fn not_within(&self, column: usize, last: u64, found: Option<i64>) -> ReadError {
        let found = found.map_or("nothing".to_owned(), |value| value.to_string());
        self.error(column, format!("expected a number from 0 to {last}, found {found}"))
    }

    /// The error of a value of the current row.
    pub(crate) fn error(&self, column: usize, what: String) -> ReadError {
        ReadError::of_file(&self.path, what)
            .at_line(self.row())
            .in_column(self.names[column])
            .with_hint("was the file edited or damaged?")
    }
}

impl Cells {
    fn of(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Int32 => Cells::Int(array.as_primitive::<Int32Type>().clone()),
            DataType::Int64 => Cells::Long(array.as_primitive::<Int64Type>().clone()),
            DataType::Boolean => Cells::Flag(array.as_boolean().clone()),
            DataType::List(of) if *of.data_type() == DataType::UInt64 => Cells::Words(array.as_list::<i32>().clone()),
            DataType::List(of) if *of.data_type() == DataType::Int32 => Cells::Ints(array.as_list::<i32>().clone()),
            DataType::List(of) if *of.data_type() == DataType::Int64 => Cells::Longs(array.as_list::<i32>().clone()),
            DataType::Utf8View => Cells::Text(array.as_string_view().clone()),
            DataType::Dictionary(_, of) if **of == DataType::Utf8 => {
                let names = array.as_any_dictionary();
                let keys = if names.values().is_empty() { vec![0; array.len()] } else { names.normalized_keys() };
                Cells::Name(keys, names.values().as_string::<i32>().clone(), array.clone())
            }
            _ => return None,
        })
    }
}

/// A reader of the files of one table, one after the other.
pub(crate) struct Segments {
    left: IntoIter<PathBuf>,
    table: &'static str,
    names: &'static [&'static str],
    open: Option<Columns>,
    files: usize,
}

impl Segments {
    /// Reads these files in this order.
    pub(crate) fn new(files: Vec<PathBuf>, table: &'static str, names: &'static [&'static str]) -> Self {
        Segments { files: files.len(), left: files.into_iter(), table, names, open: None }
    }

    /// The share that has been read, 0 to 1. Every file counts the same.
    pub(crate) fn progress(&self) -> f64 {
        let open = self.open.as_ref().map_or(0.0, |open| 1.0 - open.row() as f64 / open.all.max(1) as f64);
        1.0 - (self.left.len() as f64 + open) / self.files.max(1) as f64
    }

    /// Advances to the next row. Returns `None` at the end. `opened` is called with the metadata of each file that is
    /// opened.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn advance(&mut self, mut opened: impl FnMut(&ParquetFile)) -> Result<Option<&Columns>, ReadError> {
        loop {
            if let Some(open) = &mut self.open
                && open.advance()?
            {
                return Ok(self.open.as_ref());
            }
            let Some(path) = self.left.next() else {
                self.open = None;
                return Ok(None);
            };
            let (columns, about) = Columns::open(&path, self.table, self.names)?;
            opened(&about);
            self.open = Some(columns);
        }
    }
}

/// The file of this name in a folder, if it exists. Runs of older versions do not have all tables.
pub(crate) fn if_present(folder: &Path, name: &str) -> Vec<PathBuf> {
    let file = folder.join(name);
    if file.exists() { vec![file] } else { Vec::new() }
}
