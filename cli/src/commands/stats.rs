//! `wakelab stats`.

use super::{all_errors, exit};
use crate::args::{Stats, TableFormat};
use crate::html::{HtmlFile, command_line};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_report as report;
use wakelab_report::html::Read;
use wakelab_study::picture::explained_wakeups;
use wakelab_study::recordings::machines;
use wakelab_study::stats::{sources, stats, stats_and_pictures};

/// Counts what recordings and simulated runs tell.
pub fn run(args: &Stats) -> anyhow::Result<Exit> {
    let html = HtmlFile::of(args.html.as_deref())?;
    let (sources, errors) = sources(&args.files);
    let files: Vec<_> = sources.iter().flat_map(|source| source.wakeups()).collect();
    let bar = Bar::new(&files, false);
    let (stats, outcomes) = match &html {
        Some(_) => stats_and_pictures(&sources, &args.by, &bar),
        None => stats(&sources, &args.by, &bar),
    };
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = &html {
        // What cannot be explained was said to be so while it was counted.
        let explained = explained_wakeups(&stats);
        let (command, machines) = (command_line(), machines(&files));
        let read = Read { command: &command, files: sources.len(), machines: &machines, errors: &errors };
        let any = stats.values().any(|tally| tally.all.wakeups > 0);
        html.write_if(any, || report::html::stats(&stats, &explained, args.top, &read))?;
    }
    match args.format {
        // Nothing could be read: the errors say all there is.
        TableFormat::Table if stats.values().all(|tally| tally.all.wakeups == 0) => {}
        TableFormat::Table => print(&report::stats::text(&stats, args.top))?,
        TableFormat::Json => print_json(&report::stats::json(&stats, &errors))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, false))
}
