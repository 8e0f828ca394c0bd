//! Files of one table, one after the other.

use super::columns::Columns;
use crate::parquet_file::ParquetFile;
use crate::recording::ReadError;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

/// The rows of all segments.
pub(crate) struct Segments {
    left: IntoIter<PathBuf>,
    table: &'static str,
    names: &'static [&'static str],
    open: Option<Columns>,
    files: usize,
}

impl Segments {
    /// Of these files, in this order.
    pub(crate) fn new(files: Vec<PathBuf>, table: &'static str, names: &'static [&'static str]) -> Self {
        Segments { files: files.len(), left: files.into_iter(), table, names, open: None }
    }

    /// How much has been read, 0 to 1; each file counts the same.
    pub(crate) fn share(&self) -> f64 {
        let open = self.open.as_ref().map_or(0.0, |open| 1.0 - open.row as f64 / open.all.max(1) as f64);
        1.0 - (self.left.len() as f64 + open) / self.files.max(1) as f64
    }

    /// Goes to the next row; `None` at the end. `begins` is told of each file that is opened.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub(crate) fn advance(&mut self, mut begins: impl FnMut(&ParquetFile)) -> Result<Option<&Columns>, ReadError> {
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
            begins(&about);
            self.open = Some(columns);
        }
    }
}

/// The file of that name, if there is one: an older run has not all of them.
pub(super) fn there(folder: &Path, name: &str) -> Vec<PathBuf> {
    let file = folder.join(name);
    if file.exists() { vec![file] } else { Vec::new() }
}
