//! `wakelab fit`.

use super::simulate::deliver;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::flags::{FormatFlag, JobsFlag, TableFormat};
use crate::out_file::OutFile;
use crate::output::{Exit, say, say_error, tell};
use crate::progress::FitBar;
use crate::signals::stop_flag;
use clap::builder::TypedValueParser;
use std::path::PathBuf;
use wakelab_machine::MachineFile;
use wakelab_report::fit as report;
use wakelab_report::numbers::count;
use wakelab_study::fit::{
    BUDGET, BUDGET_MAX, BUDGET_MIN, ENSEMBLE, ENSEMBLE_MAX, FitError, Observations, Request, fit, observations,
};
use wakelab_study::reproduce::tables_at;

pub const EXAMPLE: &str = "\
Example:
  wakelab fit i7-2600k --observed my-table --out mine.toml";

/// `wakelab fit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The machine: a name, or a machine file.
    ///
    /// Its assumed costs are searched within their ranges, from the middle of each; its measured costs stay.
    machine: String,
    /// Fit to the base side of these tables.
    ///
    /// A folder with table.toml and rows.csv, such a .toml, a folder of such folders, a .csv of data/published/, or a
    /// name of data/published/. Only numbers measured without the patch are read, and only rows of this machine.
    #[arg(long, value_name = "TABLE", required = true)]
    observed: Vec<PathBuf>,
    /// Fit the assumed numbers of this workload, too.
    #[arg(long, value_name = "NAME")]
    workload: Vec<String>,
    /// Try N sets of constants in short runs.
    ///
    /// One in twelve is also tried in long runs. More sets fit better, and take longer.
    #[arg(long, value_name = "N", default_value_t = BUDGET as u32, value_parser = budgets())]
    budget: u32,
    /// Keep up to N sets that fit.
    ///
    /// A comparison on the machine is made with each of them.
    #[arg(long, value_name = "N", default_value_t = ENSEMBLE as u32, value_parser = ensembles())]
    ensemble: u32,
    /// Draw the sets from this seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Name the fitted machine NAME; by default it keeps its name.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write the fitted machine to this file.
    ///
    /// What it fits and what it misses goes to stdout. The file appears only when it is complete.
    #[arg(long, value_name = "FILE", required = true)]
    out: PathBuf,
    /// How the report is printed.
    #[command(flatten)]
    format: FormatFlag,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The cache.
    #[command(flatten)]
    cache: CacheFlags,
}

fn budgets() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(BUDGET_MIN as i64..=BUDGET_MAX as i64)
}

fn ensembles() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=ENSEMBLE_MAX as i64)
}

/// Fits the machine, writes it, and prints what it fits.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut machine = MachineFile::get(&args.machine)?;
    let observed = observed(args, &machine)?;
    if let Some(name) = &args.name {
        wakelab_machine::check_name(name).map_err(|what| anyhow::anyhow!("--name: {what}"))?;
        machine.machine.name.clone_from(name);
    }
    let out = OutFile::new("--out", &args.out)?;
    let (tables, rows) = (observed.tables.join(", "), count(observed.rows.len() as u64, "row"));
    let fitted = format!("the base side of {tables} ({rows}), {}", chrono::Utc::now().format("%Y-%m-%d"));
    let request = Request {
        machine: &machine,
        workloads: &args.workload,
        budget: args.budget as usize,
        ensemble: args.ensemble as usize,
        seed: args.seed,
        fitted: &fitted,
    };
    let stop = stop_flag();
    let found = CachedSimulator::open(&args.cache)?.with(|runner| {
        let bar = FitBar::new();
        let found = fit(runner, &observed, &request, args.jobs.jobs(), &bar, stop);
        bar.finish();
        found
    });
    let fit = match found {
        Ok(fit) => fit,
        Err(stopped @ FitError::Interrupted { .. }) => {
            tell(format_args!("{stopped}"));
            return Ok(Exit::Interrupted);
        }
        Err(failed @ FitError::Failed(_)) => {
            say_error(failed);
            return Ok(Exit::RunFailed);
        }
        Err(wrong) => return Err(wrong.into()),
    };
    out.write(&fit.machine.to_toml())?;
    match args.format.format {
        TableFormat::Table => deliver(None, &report::text(&fit, &observed), false)?,
        TableFormat::Json => deliver(None, &format!("{:#}\n", report::json(&fit, &observed)), true)?,
    }
    say!("{}: wrote the fitted machine and {}", args.out.display(), count(fit.ensemble.len() as u64, "set"));
    Ok(Exit::Done)
}

/// The base side of the tables.
fn observed(args: &Args, machine: &MachineFile) -> anyhow::Result<Observations> {
    let mut tables = Vec::new();
    for path in &args.observed {
        tables.extend(tables_at(path).map_err(|error| anyhow::anyhow!("--observed: {error}"))?);
    }
    Ok(observations(&tables, &machine.machine, &args.machine)?)
}
