//! `wakelab stats`.

use super::{all_errors, exit, with_read};
use crate::flags::{HtmlFlag, RecordingFiles, TableOrCsv, by_name};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_report as report;
use wakelab_study::recordings::sources;
use wakelab_study::recordings::stats::{By, explained_wakeups, stats, stats_and_pictures};

pub const EXAMPLE: &str = "\
Example:
  wakelab stats data/recordings/6.12-C-hb.csv.gz --by comm";

/// `wakelab stats`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is read.
    #[command(flatten)]
    pub recordings: RecordingFiles,
    /// Count by comm, task, cpu or llc; several with commas.
    ///
    /// Adds a table by the wakee's name, the wakee, its CPU, or the last-level cache of that CPU.
    #[arg(long, value_name = "WHAT", hide_possible_values = true, value_delimiter = ',')]
    #[arg(value_parser = by_name(By::ALL, By::name))]
    by: Vec<By>,
    /// Print N lines of each of these.
    ///
    /// JSON and CSV have all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// The page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Print a table, json or csv.
    ///
    /// csv: a line for each run and for each part that --by counts, with all of them.
    #[arg(long, value_enum, default_value_t = TableOrCsv::Table, hide_possible_values = true)]
    format: TableOrCsv,
}

/// Counts what happened in recordings and simulated runs.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (sources, errors) = sources(&args.recordings.files);
    let html = args.html.open()?;
    let files: Vec<_> = sources.iter().flat_map(|source| source.wakeups()).collect();
    let bar = Bar::new(&files, false);
    let (stats, outcomes) = match &html {
        Some(_) => stats_and_pictures(&sources, &args.by, &bar),
        None => stats(&sources, &args.by, &bar),
    };
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = &html {
        // Errors of reading were collected while the rows were counted.
        let explained = explained_wakeups(&stats);
        let any = stats.values().any(|tally| tally.all.wakeups > 0);
        with_read(sources.len(), &files, &errors, |read| {
            html.write_if(any, || report::html::stats(&stats, &explained, args.top, read))
        })?;
    }
    match args.format {
        // Nothing could be read, and the errors say why.
        TableOrCsv::Table if stats.values().all(|tally| tally.all.wakeups == 0) => {}
        TableOrCsv::Table => print(&report::stats::text(&stats, args.top))?,
        TableOrCsv::Json => print_json(&report::stats::json(&stats, &errors))?,
        TableOrCsv::Csv => print(&report::stats::csv(&stats))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, Exit::Done))
}
