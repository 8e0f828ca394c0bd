//! `wakelab reproduce`.

use super::compare::deliver;
use crate::args::{Reproduce, ScoreFormat};
use crate::html::{HtmlFile, command_line};
use crate::interrupt::stop_flag;
use crate::kept::KeptRuns;
use crate::out_file::OutFile;
use crate::output::Exit;
use crate::progress::RunBar;
use std::path::PathBuf;
use wakelab_report::reproduce as report;
use wakelab_study::reproduce::{Effort, Scoreboard, reproduce, tables};

/// Simulates what was published and prints how close that comes.
pub fn run(args: &Reproduce) -> anyhow::Result<Exit> {
    let folder = args.published.clone().unwrap_or_else(|| PathBuf::from("published"));
    let tables = tables(&folder, &args.names).map_err(|error| match &args.published {
        Some(_) => anyhow::anyhow!("--published: {error}"),
        None => anyhow::anyhow!(
            "{error}\n  hint: run it in a clone, whose published/ has the tables, or name a folder: --published DIR"
        ),
    })?;
    let out = args.out.as_deref().map(OutFile::new).transpose()?;
    let html = HtmlFile::of(args.html.as_deref())?;
    let base = if args.quick { Effort::QUICK } else { Effort::FULL };
    let effort = Effort { repeats: args.repeat.unwrap_or(base.repeats), ..base };
    let stop = stop_flag()?;
    let board = KeptRuns::open(&args.kept)?.with(|runner| {
        let bar = RunBar::new();
        let found = reproduce(runner, &tables, effort, args.jobs.unwrap_or(0) as usize, &bar, stop);
        bar.finish();
        found
    });
    deliver(out.as_ref(), &render(&board, args.format))?;
    if let Some(html) = &html {
        html.write(wakelab_report::html::reproduce(&board, &command_line()))?;
    }
    for failed in &board.failed {
        eprintln!("error: {failed}");
    }
    if !board.complete {
        eprintln!("interrupted: rows that were not reached are listed as such");
        return Ok(Exit::Interrupted);
    }
    Ok(if board.failed.is_empty() { Exit::Done } else { Exit::RunFailed })
}

fn render(board: &Scoreboard, format: ScoreFormat) -> String {
    match format {
        ScoreFormat::Table => report::text(board),
        ScoreFormat::Markdown => report::markdown(board),
        ScoreFormat::Json => format!("{:#}\n", report::json(board)),
    }
}
