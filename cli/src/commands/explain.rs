//! `wakelab explain`.

use super::{all_errors, exit, question, recordings};
use crate::args::{Explain, TextFormat};
use crate::output::{Exit, print, print_json, say_errors};
use crate::progress::Bar;
use std::io::{self, BufWriter, Write};
use wakelab_report as report;
use wakelab_study::Progress;
use wakelab_study::explain::{Filter, explain_file};
use wakelab_study::summary::summarize;

/// Explains, or counts reasons.
pub fn run(args: &Explain) -> anyhow::Result<Exit> {
    if args.summary { summary(args) } else { explain(args) }
}

fn explain(args: &Explain) -> anyhow::Result<Exit> {
    let question = question(args.with.as_ref())?;
    let (files, mut errors) = recordings(&args.files);
    let filter = Filter { row: args.row, pid: args.pid, reason: args.reason };
    let bar = Bar::new(&files, true);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut explained_any = false;
    for file in &files {
        if left == 0 {
            break;
        }
        let mut broken: Option<io::Error> = None;
        let result = explain_file(file, &question, &filter, &bar, |explained| {
            let written = match args.format {
                TextFormat::Text => out.write_all(report::explain::text(explained).as_bytes()),
                TextFormat::Json => writeln!(out, "{}", report::explain::json(explained)),
            };
            broken = written.err();
            left -= 1;
            explained_any = true;
            left > 0 && broken.is_none()
        });
        bar.file(file);
        if let Some(error) = broken {
            return Err(error.into());
        }
        errors.extend(result.err());
    }
    bar.finish();
    out.flush()?;
    say_errors(&errors);
    if !explained_any && errors.is_empty() {
        eprintln!("no row matches; `wakelab explain FILE --summary` shows which reasons there are");
    }
    Ok(exit(&errors, false))
}

fn summary(args: &Explain) -> anyhow::Result<Exit> {
    let question = question(args.with.as_ref())?;
    let (files, errors) = recordings(&args.files);
    let bar = Bar::new(&files, false);
    let (summary, outcomes) = summarize(&files, &question, &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    match args.format {
        TextFormat::Text => print(&report::summary::text(&summary))?,
        TextFormat::Json => print_json(&report::summary::json(&summary))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, false))
}
