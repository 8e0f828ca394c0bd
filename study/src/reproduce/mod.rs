//! Published tables, simulated: a scoreboard that shows row by row how close the model comes.
//!
//! [`tables`] reads what was published and decides for each row how it is simulated, or why it is not. [`reproduce`]
//! simulates each distinct case once and scores the tables. The class of a row depends on the noise of the posting
//! itself ([`noise_pct`]).

mod quantity;
mod score;
mod scoreboard;
mod tables;

pub use crate::compare::SearchRates;
pub use quantity::{Quantity, SideBySide, TurbostatColumn};
pub use score::{Class, Summary, noise_pct};
pub(crate) use scoreboard::PartialProgress;
pub use scoreboard::{Effort, Scoreboard, Scored, ScoredTable, reproduce};
pub use tables::{Published, Recipe, WorstOver};

use crate::compare::PublishedError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tables::{PublishedTable, TABLES};
use wakelab_input::{nearest, suggest};

/// A published table cannot be read, or is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReproduceError {
    /// A file is not as it should be.
    #[error(transparent)]
    File(#[from] PublishedError),
    /// No table of that name.
    #[error("no published table {name}; expected one of {}{}", names().join(", "), near(name))]
    Unknown {
        /// What was given.
        name: String,
    },
    /// The folder has no table that is known.
    #[error("{}: no published table in it; expected files such as sis_util-results.csv", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

fn near(name: &str) -> String {
    suggest(&nearest(name, names()))
}

/// A published table.
#[derive(Clone, Debug)]
pub struct Table {
    /// The stem of its file.
    pub name: String,
    /// Its rows.
    pub rows: Vec<Published>,
    /// Notes on all of it.
    pub notes: Vec<String>,
}

/// The names of all known tables.
pub fn names() -> Vec<&'static str> {
    TABLES.iter().map(|table| table.name()).collect()
}

/// Reads the tables of these names from a folder; without names, all tables that are there. Every row of a CSV file
/// that is no known table is excluded, with the reason.
///
/// # Errors
/// Fails if a name is neither that of a known table nor that of a file in the folder, or if a file cannot be read.
pub fn tables(folder: &Path, wanted: &[String]) -> Result<Vec<Table>, ReproduceError> {
    let path = |name: &str| folder.join(format!("{name}.csv"));
    let known = TABLES.into_iter().map(|table| (table.name().to_owned(), Some(table)));
    let there = known.filter(|(name, _)| path(name).exists() || wanted.contains(name));
    let unknown = unknown_tables(folder).into_iter().map(|name| (name, None));
    let all: Vec<(String, Option<&dyn PublishedTable>)> = there.chain(unknown).collect();
    if let Some(name) = wanted.iter().find(|&name| !all.iter().any(|(other, _)| other == name)) {
        return Err(ReproduceError::Unknown { name: name.clone() });
    }
    let chosen = all.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name));
    let tables: Vec<Table> = chosen
        .map(|(name, table)| {
            let (rows, notes) = tables::read(table, &path(&name))?;
            Ok(Table { name, rows, notes })
        })
        .collect::<Result<_, ReproduceError>>()?;
    if tables.is_empty() { Err(ReproduceError::Empty { folder: folder.to_owned() }) } else { Ok(tables) }
}

/// The CSV files of a folder that are no known table, by name.
fn unknown_tables(folder: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let tables = files.filter(|path| path.extension().is_some_and(|end| end == "csv"));
    let stems = tables.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    stems.filter(|name| !names().contains(&name.as_str())).collect()
}
