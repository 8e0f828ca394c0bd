//! Flags that several commands share. Each is declared here once; a command flattens what it needs into its arguments.

use crate::out_file::{HtmlFile, OutFile};
use crate::output::say;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use wakelab_kernel::{Preset, Switches};
use wakelab_study::experiment::REPEATS_MAX;

/// A parser of one of `all` by its name, so that help and errors list the names.
pub fn by_name<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name))
        .map(move |typed| *all.iter().find(|one| name(**one) == typed).expect("only these names are let through"))
}

/// The preset of that name, or the one that stands for that version, which is then said. `flag` goes before an error.
pub fn preset(flag: Option<&str>, name: &str) -> anyhow::Result<&'static Preset> {
    let preset = Preset::get(name).map_err(|e| match flag {
        Some(flag) => anyhow::anyhow!("{flag}: {e}"),
        None => e.into(),
    })?;
    if let Some(note) = preset.stands_for(name) {
        say!("{note}");
    }
    Ok(preset)
}

/// The recordings that a command reads.
#[derive(Debug, Args)]
pub struct RecordingFiles {
    /// Recordings, or folders of them.
    ///
    /// From wakelab-record, from a simulation (--events), or CSV, each with its machine's topo-*.json beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// Features for decisions that are made again.
#[derive(Debug, Args)]
pub struct WithFlag {
    /// Decide with these features switched (A,NO_B).
    ///
    /// Uses the recorded states, and adds to what was on; features are named as in the kernel's features file.
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
}

/// A table or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// A table.
    Table,
    /// JSON.
    Json,
}

/// A table, JSON or CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableOrCsv {
    /// A table.
    Table,
    /// JSON.
    Json,
    /// A line for each row.
    Csv,
}

/// Text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// Sentences.
    Text,
    /// JSON.
    Json,
}

/// How a table is printed.
#[derive(Clone, Copy, Debug, Args)]
pub struct FormatFlag {
    /// Print a table or json.
    #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
    pub format: TableFormat,
}

/// A page of what is printed.
#[derive(Debug, Args)]
pub struct HtmlFlag {
    /// Also write the result as an HTML page.
    ///
    /// One file with charts and tables, which needs no network.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl HtmlFlag {
    /// The file of the page with its flag, if one was asked for.
    pub fn output(&self) -> Option<(&'static str, &Path)> {
        Some(("--html", self.html.as_deref()?))
    }

    /// Opens the file of the page, if one was asked for.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn open(&self) -> anyhow::Result<Option<HtmlFile>> {
        self.html.as_deref().map(HtmlFile::new).transpose()
    }
}

/// A file in place of stdout.
#[derive(Debug, Args)]
pub struct OutFlag {
    /// Write to this file instead of stdout.
    ///
    /// It appears only when it is complete.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl OutFlag {
    /// The file with its flag, if one was named.
    pub fn output(&self) -> Option<(&'static str, &Path)> {
        Some(("--out", self.out.as_deref()?))
    }

    /// Opens the file, if one was named.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn open(&self) -> anyhow::Result<Option<OutFile>> {
        self.out.as_deref().map(|path| OutFile::new("--out", path)).transpose()
    }
}

/// How many simulations run at a time.
#[derive(Debug, Args)]
pub struct JobsFlag {
    /// Run N simulations at a time.
    ///
    /// The default is the number of cores. The result does not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
}

impl JobsFlag {
    /// Simulations at a time; 0 for as many as there are cores.
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or(0) as usize
    }

    /// Simulations at a time.
    pub fn at_a_time(&self) -> usize {
        match self.jobs() {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        }
    }
}

/// How often each case is run.
#[derive(Debug, Args)]
pub struct RepeatFlag {
    /// Run each case N times on each side.
    ///
    /// The default is that of the experiment file, or three times. One repeat gives no interval.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(REPEATS_MAX)))]
    pub repeat: Option<u32>,
}

/// The origin of the seeds.
#[derive(Debug, Args)]
pub struct SeedFlag {
    /// Derive the seeds of the runs from this one.
    ///
    /// The default is the seed of the experiment file, or 1.
    #[arg(long, value_name = "N", value_parser = seeds())]
    pub seed: Option<u64>,
}

/// Seeds, as far as experiment files can hold them.
fn seeds() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(..=i64::MAX as u64)
}

/// How strictly files of rt-app are read.
#[derive(Clone, Copy, Debug, Args)]
pub struct LenientFlag {
    /// Simulate an rt-app file without the parts that the model lacks.
    ///
    /// Without this, such a part (mem, taskgroup, an unknown key) is an error. With it, the part is left out or
    /// replaced, and a warning gives its line and what is done instead. Everything else is read as strictly; `wakelab
    /// docs your-workload` lists the parts.
    #[arg(long)]
    pub lenient: bool,
}
