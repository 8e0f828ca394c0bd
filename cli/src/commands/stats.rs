//! `wakelab stats`.

use super::{all_errors, exit};
use crate::args::{Stats, TableFormat};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_report as report;
use wakelab_study::stats::{sources, stats};

/// Counts what recordings and simulated runs tell.
pub fn run(args: &Stats) -> anyhow::Result<Exit> {
    let (sources, errors) = sources(&args.files);
    let files: Vec<_> = sources.iter().flat_map(|source| source.decisions()).collect();
    let bar = Bar::new(&files, false);
    let (stats, outcomes) = stats(&sources, &args.by, &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    match args.format {
        // Nothing could be read: the errors say all there is.
        TableFormat::Table if stats.values().all(|tally| tally.all.wakeups == 0) => {}
        TableFormat::Table => print(&report::stats::text(&stats, args.top))?,
        TableFormat::Json => print_json(&report::stats::json(&stats, &errors))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, false))
}
