//! `wakelab reproduce`.

use super::simulate::deliver;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::embedded;
use crate::flags::{HtmlFlag, JobsFlag, OutFlag, RepeatFlag};
use crate::out_file::command_line;
use crate::output::{Exit, say_error, say_warnings, tell};
use crate::progress::RunBar;
use crate::signals::stop_flag;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use wakelab_machine::MachineFile;
use wakelab_report::reproduce as report;
use wakelab_study::reproduce::{Effort, Scoreboard, plan, reproduce, tables};

pub const EXAMPLE: &str = "\
Example:
  wakelab reproduce sis_util-results --quick";

/// `wakelab reproduce`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Tables (sis_util-results); all if left out.
    ///
    /// A table is named after its file or folder.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder of the tables; `published`, or `data/published` as in a clone, if left out.
    ///
    /// Without such a folder, the program's own tables are used. Other rows of the same tables are simulated in the
    /// same way, and so is every folder in it with table.toml and rows.csv: `wakelab docs reproduce`.
    #[arg(long, value_name = "DIR")]
    published: Option<PathBuf>,
    /// Simulate the rows of this file's machine on it.
    ///
    /// A machine file, such as one that `wakelab fit` wrote. May be repeated for other machines.
    #[arg(long, value_name = "FILE")]
    machine: Vec<PathBuf>,
    /// Simulate headline rows only, once and briefly.
    #[arg(long)]
    quick: bool,
    /// Print what would be simulated and about how long it takes.
    #[arg(long, conflicts_with = "html")]
    dry_run: bool,
    /// How often.
    #[command(flatten)]
    repeat: RepeatFlag,
    /// The page.
    #[command(flatten)]
    html: HtmlFlag,
    /// Print a table, json, csv or markdown.
    #[arg(long, value_enum, default_value_t = ScoreFormat::Table, hide_possible_values = true)]
    format: ScoreFormat,
    /// Where the result goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The cache.
    #[command(flatten)]
    cache: CacheFlags,
}

/// How a scoreboard is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScoreFormat {
    /// For a terminal.
    Table,
    /// For programs.
    Json,
    /// Published and simulated differences, a line each.
    Csv,
    /// A page, misses first: docs/evidence/validation.md.
    Markdown,
}

/// Simulates the published tables and prints how close the model comes.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    // A folder of one's own, or that of a clone.
    let usual = ["published", "data/published"].map(Path::new).into_iter().find(|folder| folder.is_dir());
    // The program's own files are needed until the end: machines and workloads beside the tables are read later.
    let own;
    let (folder, flag, hint) = match (&args.published, usual) {
        (Some(folder), _) => (folder.as_path(), "--published: ", String::new()),
        (None, Some(usual)) => {
            let hint = format!(
                "\n  hint: {}/ in this folder takes precedence over the program's own tables; run it elsewhere, or \
                 name a folder: --published DIR",
                usual.display()
            );
            (usual, "", hint)
        }
        (None, None) => {
            own = embedded::published()?;
            (own.path.as_path(), "", "\n  hint: `wakelab list tables` lists the names".to_owned())
        }
    };
    let mut tables = tables(folder, &args.names).map_err(|error| anyhow::anyhow!("{flag}{error}{hint}"))?;
    for path in &args.machine {
        let name = MachineFile::get(&path.to_string_lossy()).map_err(|error| anyhow::anyhow!("--machine: {error}"))?;
        let rows: usize = tables.iter_mut().map(|table| table.run_on(&name.machine.name, path)).sum();
        if rows == 0 {
            say_warnings(&[format!(
                "--machine: no row was measured on {}, which {} describes",
                name.machine.name,
                path.display()
            )]);
        }
    }
    let out = args.out.open()?;
    let html = args.html.open()?;
    let base = if args.quick { Effort::QUICK } else { Effort::FULL };
    let effort = match args.repeat.repeat {
        Some(repeats) => Effort { repeats, confirm: repeats, ..base },
        None => base,
    };
    if args.dry_run {
        let plan = CachedSimulator::open(&args.cache)?.with(|runner| plan(runner, &tables, effort));
        deliver(out.as_ref(), &report::plan(&plan, args.jobs.at_a_time()), false)?;
        return Ok(Exit::Done);
    }
    let stop = stop_flag();
    let board = CachedSimulator::open(&args.cache)?.with(|runner| {
        let bar = RunBar::new();
        let found = reproduce(runner, &tables, effort, args.jobs.jobs(), &bar, stop);
        bar.finish();
        found
    });
    deliver(out.as_ref(), &render(&board, args.format), matches!(args.format, ScoreFormat::Json))?;
    if let Some(html) = &html {
        html.write(wakelab_report::html::reproduce(&board, &command_line()))?;
    }
    for failed in &board.failed {
        say_error(failed);
    }
    if !board.complete {
        tell("interrupted: rows that were not reached are listed as such");
        return Ok(Exit::Interrupted);
    }
    Ok(if board.failed.is_empty() { Exit::Done } else { Exit::RunFailed })
}

fn render(board: &Scoreboard, format: ScoreFormat) -> String {
    match format {
        ScoreFormat::Table => report::text(board),
        ScoreFormat::Csv => report::csv(board),
        ScoreFormat::Markdown => report::markdown(board),
        ScoreFormat::Json => format!("{:#}\n", report::json(board)),
    }
}
