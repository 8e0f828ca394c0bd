//! `wakelab waits`.

use super::{all_errors, exit, with_read};
use crate::flags::{HtmlFlag, RecordingFiles, TextFormat, by_name};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_input::parse_duration;
use wakelab_report as report;
use wakelab_report::waits::{By, Shown};
use wakelab_study::recordings::sources;
use wakelab_study::recordings::waits::{Options, waits};

pub const EXAMPLE: &str = "\
Example:
  wakelab waits crates/cli/tests/data/sis-prop-6.1 --over 500us --slowest 2";

/// `wakelab waits`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is read.
    #[command(flatten)]
    pub recordings: RecordingFiles,
    /// Show the N longest waits.
    ///
    /// Among those that --over selects.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(..=100_000))]
    slowest: u32,
    /// Explain waits of this length or longer.
    ///
    /// 0s explains all waits.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration)]
    over: u64,
    /// Also sum by comm, cpu or dsq.
    ///
    /// By the name of the task that waited, the CPU where it was queued first, or the dispatch queue of sched_ext.
    #[arg(long, value_name = "WHAT", hide_possible_values = true, default_value = "cause", hide_default_value = true,
          value_parser = by_name(By::ALL, By::name))]
    by: By,
    /// The page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Print text or json.
    #[arg(long, value_enum, default_value_t = TextFormat::Text, hide_possible_values = true)]
    format: TextFormat,
}

/// Says why tasks waited in recordings and simulated runs.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (sources, errors) = sources(&args.recordings.files);
    let html = args.html.open()?;
    let files: Vec<_> = sources.iter().flat_map(|source| source.wakeups()).collect();
    let bar = Bar::new(&files, false);
    let (found, outcomes) = waits(&sources, Options { over_ns: args.over, slowest: args.slowest as usize }, &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    let shown = Shown { over_ns: args.over, by: args.by };
    let any = found.values().any(|waits| !waits.is_empty());
    if let Some(html) = &html {
        with_read(sources.len(), &files, &errors, |read| {
            html.write_if(any, || report::html::waits(&found, shown, read))
        })?;
    }
    match args.format {
        // Nothing could be read, and the errors say why.
        TextFormat::Text if !any => {}
        TextFormat::Text => print(&report::waits::text(&found, shown))?,
        TextFormat::Json => print_json(&report::waits::json(&found, shown, &errors))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, Exit::Done))
}
