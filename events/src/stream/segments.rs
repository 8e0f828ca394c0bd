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
}

impl Segments {
    /// Of these files, in this order.
    pub(crate) fn new(files: Vec<PathBuf>, table: &'static str, names: &'static [&'static str]) -> Self {
        Segments { left: files.into_iter(), table, names, open: None }
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
