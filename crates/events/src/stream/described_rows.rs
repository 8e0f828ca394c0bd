//! Rows of tables whose files describe the machine and whose rows have the features that were on.

use crate::decisions::{RowFeatures, TopoFile};
use crate::error::ReadError;
use crate::limits::MAX_FEATURES;
use crate::table::metadata::ParquetFile;
use crate::table::reader::{Columns, Segments};
use std::path::PathBuf;
use std::sync::Arc;

/// A stream of such rows.
pub(super) struct DescribedRows {
    rows: Segments,
    /// The column of the features.
    column: usize,
    topo: Option<Arc<TopoFile>>,
    features: Arc<RowFeatures>,
}

/// A row with the machine and kernel of its file, and the features that were on.
pub(super) struct DescribedRow<'a> {
    pub(super) row: &'a Columns,
    pub(super) topo: &'a Arc<TopoFile>,
    pub(super) features: &'a Arc<RowFeatures>,
}

impl DescribedRows {
    /// Reads these files of a table; `names` are the columns, of which `column` has the features.
    pub(super) fn new(files: Vec<PathBuf>, table: &'static str, names: &'static [&'static str], column: usize) -> Self {
        DescribedRows { rows: Segments::new(files, table, names), column, topo: None, features: Arc::default() }
    }

    /// The share that has been read, 0 to 1.
    pub(super) fn progress(&self) -> f64 {
        self.rows.progress()
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read or describes no machine, or if a row's features are too long.
    pub(super) fn advance(&mut self) -> Result<Option<DescribedRow<'_>>, ReadError> {
        let mut opened = None;
        let Some(row) = self.rows.advance(|about| opened = Some(topo_of(about)))? else { return Ok(None) };
        if let Some(topo) = opened {
            let topo = Arc::new(topo?);
            self.features = Arc::new(RowFeatures::parse("", topo.preset));
            self.topo = Some(topo);
        }
        let Some(topo) = &self.topo else { return Ok(None) };
        let text = row.short_text(self.column, MAX_FEATURES)?;
        if text != self.features.text {
            self.features = Arc::new(RowFeatures::parse(text, topo.preset));
        }
        Ok(Some(DescribedRow { row, topo, features: &self.features }))
    }
}

fn topo_of(about: &ParquetFile) -> Result<TopoFile, ReadError> {
    TopoFile::parse(about.path(), about.required("wakelab.domains")?)
}
