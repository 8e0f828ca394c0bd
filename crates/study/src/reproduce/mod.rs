//! Published tables, simulated: a scoreboard that shows row by row how close the model comes.
//!
//! [`tables`] reads what was published and decides for each row how it is simulated, or why it is not. [`reproduce`]
//! simulates each distinct case once and scores the tables. The class of a row depends on the noise of the posting
//! itself ([`noise_pct`](crate::compare::noise_pct)).

mod ledger;
mod plan;
mod quantity;
mod score;
mod scoreboard;
mod tables;

pub use crate::compare::SearchRates;
pub use ledger::{Known, LedgerRow, MachineKind, SMALL_LLC, by_benchmark, known, ledger, shipped};
pub use plan::{Plan, PlannedTable, plan};
pub use quantity::{Quantity, SideBySide, TurbostatColumn};
pub use score::{Summary, distance};
pub(crate) use scoreboard::{Choice, PartialProgress, experiment, scored};
pub use scoreboard::{Effort, Scoreboard, Scored, ScoredTable, reproduce};
pub use tables::{Published, Recipe, WorstOver};

use crate::compare::PublishedError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tables::table_folder::{self, TABLE_TOML};
use tables::{PublishedTable, TABLES};
use wakelab_input::{files, nearest, suggest};

/// A published table cannot be read, or is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReproduceError {
    /// A file is not as it should be.
    #[error(transparent)]
    File(#[from] PublishedError),
    /// No table of that name.
    #[error("there is no published table {name}; expected one of {}{}", listed(there), near(name, there))]
    Unknown {
        /// What was given.
        name: String,
        /// The tables that are in the folder.
        there: Vec<String>,
    },
    /// The folder has no table that is known.
    #[error("{}: no published table in it; expected files such as sis_util-results.csv, or \
         folders with a table.toml", folder.display())]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
}

/// The known tables, and those that are there.
fn all_names(there: &[String]) -> Vec<&str> {
    let more = there.iter().map(String::as_str).filter(|name| !names().contains(name));
    names().into_iter().chain(more).collect()
}

fn listed(there: &[String]) -> String {
    all_names(there).join(", ")
}

fn near(name: &str, there: &[String]) -> String {
    suggest(&nearest(name, all_names(there)))
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

impl Table {
    /// Simulates the rows of the machine `name` on the machine of a file in its place, and returns how many there are.
    pub fn run_on(&mut self, name: &str, file: &Path) -> usize {
        let mut rows = 0;
        for row in &mut self.rows {
            let reference = row.over.as_mut().map(|over| &mut over.reference);
            let own = row.recipe.as_mut().ok().map(|(recipe, _)| recipe);
            for recipe in own.into_iter().chain(reference).filter(|recipe| recipe.machine == name) {
                recipe.machine = file.to_string_lossy().into_owned();
                rows += 1;
            }
        }
        rows
    }
}

/// The names of all known tables.
pub fn names() -> Vec<&'static str> {
    TABLES.iter().map(|table| table.name()).collect()
}

/// Reads the tables of these names from a folder; without names, all tables that are there: the known CSV files, and
/// every folder with a `table.toml`. Every row of a CSV file that is no known table is excluded, with the reason.
///
/// # Errors
/// Fails if a name is neither that of a known table nor that of one in the folder, or if a file cannot be read.
pub fn tables(folder: &Path, wanted: &[String]) -> Result<Vec<Table>, ReproduceError> {
    let path = |name: &str| folder.join(format!("{name}.csv"));
    let known = TABLES.into_iter().map(|table| (table.name().to_owned(), Form::Known(table)));
    let there = known.filter(|(name, _)| path(name).exists() || wanted.contains(name));
    let unknown = unknown_tables(folder).into_iter().map(|name| (name, Form::Unknown));
    let data = table_folders(folder).into_iter().map(|name| (name, Form::Data));
    let all: Vec<(String, Form)> = there.chain(unknown).chain(data).collect();
    if let Some(name) = wanted.iter().find(|&name| !all.iter().any(|(other, _)| other == name)) {
        let there = all.into_iter().map(|(name, _)| name).collect();
        return Err(ReproduceError::Unknown { name: name.clone(), there });
    }
    let chosen = all.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.contains(name));
    let tables: Vec<Table> = chosen
        .map(|(name, form)| {
            let (rows, notes) = match form {
                Form::Data => return table_folder::read(&folder.join(&name).join(TABLE_TOML)),
                Form::Known(table) => tables::read(Some(table), &path(&name))?,
                Form::Unknown => tables::read(None, &path(&name))?,
            };
            Ok(Table { name, rows, notes })
        })
        .collect::<Result<_, ReproduceError>>()?;
    if tables.is_empty() { Err(ReproduceError::Empty { folder: folder.to_owned() }) } else { Ok(tables) }
}

/// Reads the table at a path, or all tables of a folder: a folder with `table.toml` and `rows.csv`, such a `.toml`
/// file, a CSV file that is a known table, or a folder of these. A path that is not there and is a bare name is that of
/// a table in `published`.
///
/// # Errors
/// Fails as [`tables`] does.
pub fn tables_at(path: &Path) -> Result<Vec<Table>, ReproduceError> {
    let name = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
    if path.is_dir() {
        return if path.join(TABLE_TOML).is_file() {
            Ok(vec![table_folder::read(&path.join(TABLE_TOML))?])
        } else {
            tables(path, &[])
        };
    }
    if ends("toml") {
        return Ok(vec![table_folder::read(path)?]);
    }
    if ends("csv") {
        return tables(path.parent().unwrap_or(Path::new("")), &[name()]);
    }
    let shipped = Path::new("published");
    let baselines = shipped.join("baselines");
    let folder = if baselines.join(path).is_dir() { baselines.as_path() } else { shipped };
    tables(folder, &[path.to_string_lossy().into_owned()])
}

/// What a table is written in.
enum Form {
    /// A CSV file with columns of its own.
    Known(&'static dyn PublishedTable),
    /// A CSV file that nothing reads.
    Unknown,
    /// A folder of `table.toml` and `rows.csv`.
    Data,
}

/// The folders in a folder that are tables, by name.
fn table_folders(folder: &Path) -> BTreeSet<String> {
    files::note_folder(folder, &[("", ".toml"), ("", ".csv"), ("", ".json")]);
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let tables = folders.filter(|path| path.join(TABLE_TOML).is_file());
    tables.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}

/// The CSV files of a folder that are no known table, by name.
fn unknown_tables(folder: &Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let tables = files.filter(|path| path.extension().is_some_and(|end| end == "csv"));
    let stems = tables.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    stems.filter(|name| !names().contains(&name.as_str())).collect()
}
