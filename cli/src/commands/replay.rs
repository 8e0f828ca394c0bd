//! `wakelab replay`.

use super::{all_errors, decider, exit, recordings};
use crate::args::{Replay, TableFormat};
use crate::html::{HtmlFile, command_line};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use wakelab_report as report;
use wakelab_report::html::Read;
use wakelab_study::recordings::machines;
use wakelab_study::replay::replay;

/// Makes each recorded choice again with other features.
pub fn run(args: &Replay) -> anyhow::Result<Exit> {
    let html = HtmlFile::of(args.html.as_deref())?;
    let decider = decider(Some(&args.with))?.assuming(args.assume.unwrap_or_default());
    let (files, errors) = recordings(&args.files);
    let bar = Bar::new(&files, false);
    let (replay, outcomes) = replay(&files, &decider, &bar)?;
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = &html {
        let (command, machines) = (command_line(), machines(&files));
        let read = Read { command: &command, files: files.len(), machines: &machines, errors: &errors };
        html.write_if(replay.rows + replay.unscored > 0, || report::html::replay(&replay, &decider, &read))?;
    }
    match args.format {
        TableFormat::Table if replay.rows == 0 && !errors.is_empty() => {}
        TableFormat::Table => print(&report::replay::text(&replay, &decider))?,
        TableFormat::Json => print_json(&report::replay::json(&replay, &decider, &errors))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, false))
}
