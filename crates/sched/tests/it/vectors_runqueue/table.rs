//! CSV files by column name.

use std::path::PathBuf;

/// One file of the vectors.
pub struct Table {
    pub file: String,
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

/// One row of a [`Table`].
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    record: &'a csv::StringRecord,
}

impl Table {
    /// Reads a file of `runqueue/` in the folder that `WAKELAB_VECTORS` names, or else in the repository's
    /// `data/vectors/`.
    pub fn read(file: &str) -> Table {
        let root = match std::env::var_os("WAKELAB_VECTORS") {
            Some(folder) => PathBuf::from(folder),
            None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/vectors")),
        };
        let path = root.join("runqueue").join(file);
        let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let columns = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows = reader.records().collect::<Result<_, _>>().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Table { file: file.to_owned(), columns, rows }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|record| Row { table: self, record })
    }
}

impl<'a> Row<'a> {
    pub fn columns(self) -> &'a [String] {
        &self.table.columns
    }

    pub fn cell(self, column: &str) -> &'a str {
        let at = self.table.columns.iter().position(|name| name == column);
        &self.record[at.unwrap_or_else(|| panic!("{} has no column {column}", self.table.file))]
    }

    /// An integer; `None` if the cell is empty.
    pub fn get<T: std::str::FromStr>(self, column: &str) -> Option<T> {
        let cell = self.cell(column);
        let parsed = || cell.parse().ok().unwrap_or_else(|| panic!("{}: {column} is {cell:?}", self.table.file));
        (!cell.is_empty()).then(parsed)
    }

    /// An integer; panics if the cell is empty.
    pub fn int<T: std::str::FromStr>(self, column: &str) -> T {
        self.get(column).unwrap_or_else(|| panic!("{}: {column} is empty", self.table.file))
    }

    /// A feature switch: 0 or 1.
    pub fn switch(self, column: &str) -> bool {
        self.int::<u8>(column) != 0
    }
}
