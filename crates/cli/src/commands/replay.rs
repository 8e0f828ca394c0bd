//! `wakelab replay`.

use super::{all_errors, decider, exit, with_read};
use crate::flags::{FormatFlag, HtmlFlag, RecordingFiles, TableFormat};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_kernel::Switches;
use wakelab_report as report;
use wakelab_study::AssumedInputs;
use wakelab_study::recordings::decision_files;
use wakelab_study::recordings::replay::replay;

pub const EXAMPLE: &str = "\
Example:
  wakelab replay data/recordings/6.12-C-hb.csv.gz --with NO_SIS_UTIL";

/// `wakelab replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is read.
    #[command(flatten)]
    pub recordings: RecordingFiles,
    /// Features (A,NO_B) on top of what was on.
    ///
    /// As in the kernel's features file.
    #[arg(long, value_name = "FEATURES")]
    with: Switches,
    /// Values that a recording lacks (avg_idle=500us).
    ///
    /// avg_idle, avg_scan_cost (4us) and wake_avg_idle, separated by commas, the same at each wake-up. They replace
    /// recorded values.
    #[arg(long, value_name = "VALUES")]
    assume: Option<AssumedInputs>,
    /// The page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
}

/// Makes each recorded choice again with other features.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let decider = decider(Some(&args.with))?.assuming(args.assume.unwrap_or_default());
    let (files, errors) = decision_files(&args.recordings.files);
    let html = args.html.open()?;
    let bar = Bar::new(&files, false);
    let (replay, outcomes) = replay(&files, &decider, &bar)?;
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = &html {
        with_read(files.len(), &files, &errors, |read| {
            html.write_if(replay.rows + replay.unscored > 0, || report::html::replay(&replay, &decider, read))
        })?;
    }
    match args.format.format {
        TableFormat::Table if replay.rows == 0 && !errors.is_empty() => {}
        TableFormat::Table => print(&report::replay::text(&replay, &decider))?,
        TableFormat::Json => print_json(&report::replay::json(&replay, &decider, &errors))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, Exit::Done))
}
