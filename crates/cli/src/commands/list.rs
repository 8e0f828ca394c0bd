//! `wakelab list`: the names of all that the program knows.

use crate::embedded;
use crate::flags::{FormatFlag, TableFormat};
use crate::output::{Exit, print, print_json};
use clap::ValueEnum;
use serde_json::{Value, json};
use wakelab_kernel::{Feature, Preset};
use wakelab_report::{kernel, machine, workload};
use wakelab_sched::select::policy;
use wakelab_study::reproduce::{Table, tables};

pub const EXAMPLE: &str = "\
Example:
  wakelab list experiments";

/// `wakelab list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// machines, kernels, workloads, features, policies, experiments, panels, sweeps or tables.
    ///
    /// Without it: how many of each there are, and a command that takes one.
    #[arg(value_name = "WHAT", value_enum, hide_possible_values = true)]
    what: Option<What>,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
}

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Machines that the program describes.
    Machines,
    /// Kernel presets.
    Kernels,
    /// Benchmarks, with their cases.
    Workloads,
    /// Features of kernels that are modelled.
    Features,
    /// Switches that decide how an idle CPU is searched.
    Policies,
    /// Experiments that the program brings along.
    Experiments,
    /// Panels on which `wakelab score` judges a candidate.
    Panels,
    /// Spaces of runs for `wakelab sweep`.
    Sweeps,
    /// Published tables that the program brings along.
    Tables,
}

/// Lists names.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let json = args.format.format == TableFormat::Json;
    match args.what {
        Some(What::Machines) if json => print_json(&machine::list_json(&wakelab_machine::all()))?,
        Some(What::Machines) => print(&machine::list_text(&wakelab_machine::all()))?,
        Some(What::Kernels) if json => print_json(&kernel::list_json())?,
        Some(What::Kernels) => print(&kernel::list_text())?,
        Some(What::Workloads) if json => print_json(&workload::list_json())?,
        Some(What::Workloads) => print(&workload::list_text())?,
        Some(What::Features) => deliver("features", &features(), json)?,
        Some(What::Policies) => deliver("policies", &policies(), json)?,
        Some(What::Experiments) => deliver("experiments", &experiments(), json)?,
        Some(What::Panels) => deliver("panels", &panels(), json)?,
        Some(What::Sweeps) => deliver("sweeps", &sweeps(), json)?,
        Some(What::Tables) => deliver("tables", &tables_of_the_program()?, json)?,
        None => deliver("lists", &all()?, json)?,
    }
    Ok(Exit::Done)
}

/// Names, each with what it is.
type Names = Vec<(String, String)>;

fn deliver(key: &str, names: &Names, json: bool) -> anyhow::Result<()> {
    if json {
        let list: Vec<Value> = names.iter().map(|(name, is)| json!({"name": name, "doc": is})).collect();
        print_json(&json!({"wakelab": wakelab_report::VERSION, key: list}))?;
    } else {
        let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, is): &(String, String)| format!("{name:width$}  {is}").trim_end().to_owned() + "\n";
        print(&names.iter().map(line).collect::<String>())?;
    }
    Ok(())
}

fn features() -> Names {
    let modelled = Feature::ALL.iter().filter(|&&feature| feature.modelled() && feature != Feature::OWN);
    modelled.map(|feature| (feature.name().to_owned(), feature.doc().to_owned())).collect()
}

fn policies() -> Names {
    policy::switches().map(|switch| (switch.feature.name().to_owned(), switch.does.to_owned())).collect()
}

fn experiments() -> Names {
    described(embedded::experiments(), embedded::about_experiment)
}

fn panels() -> Names {
    described(embedded::panels(), embedded::about_panel)
}

fn sweeps() -> Names {
    described(embedded::sweeps(), embedded::about_sweep)
}

fn described(names: Vec<String>, about: fn(&str) -> String) -> Names {
    names.into_iter().map(|name| (name.clone(), about(&name))).collect()
}

fn tables_of_the_program() -> anyhow::Result<Names> {
    let published = embedded::published()?;
    let rows = |table: Table| {
        let simulated = table.rows.iter().filter(|row| row.recipe.is_ok()).count();
        let is = format!("{} rows, {simulated} of them can be simulated", table.rows.len());
        (table.name, is)
    };
    Ok(tables(&published.path, &[])?.into_iter().map(rows).collect())
}

fn all() -> anyhow::Result<Names> {
    let line = |what: &str, count: usize, command: &str| (what.to_owned(), format!("{count:3}  {command}"));
    let cases = wakelab_workload::names().len();
    Ok(vec![
        line("machines", wakelab_machine::names().len(), "wakelab machine show intel-1s56c112t"),
        line("kernels", Preset::names().len(), "wakelab kernel show v6.12"),
        line("workloads", cases, "wakelab workload show netperf:TCP_RR"),
        line("features", features().len(), "wakelab docs every-feature"),
        line("policies", policies().len(), "wakelab docs policies"),
        line("experiments", experiments().len(), "wakelab run quickstart"),
        line("panels", panels().len(), "wakelab score search --with NO_SIS_UTIL --rung fast"),
        line("sweeps", sweeps().len(), "wakelab sweep migration-cost --dry-run"),
        line("tables", tables_of_the_program()?.len(), "wakelab reproduce sis_util-results --quick"),
    ])
}
