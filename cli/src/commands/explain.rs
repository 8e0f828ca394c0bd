//! `wakelab explain`.

use super::{all_errors, decider, exit, recordings};
use crate::args::{Explain, TextFormat};
use crate::html::{HtmlFile, command_line};
use crate::output::{Exit, hint, print, print_json, say, say_errors};
use crate::progress::Bar;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use wakelab_events::ReadError;
use wakelab_report as report;
use wakelab_report::html::{Explanations, Piece, Read};
use wakelab_study::Progress;
use wakelab_study::explain::{Filter, explain_file};
use wakelab_study::recordings::machines;
use wakelab_study::stats;
use wakelab_study::summary::summarize;

/// Says that nothing was found.
fn say_no_row() {
    say!("no row matches");
    hint("`wakelab explain FILE --summary` shows which reasons there are");
}

/// Explains, or counts reasons.
pub fn run(args: &Explain) -> anyhow::Result<Exit> {
    let html = HtmlFile::of(args.html.as_deref())?;
    if args.summary {
        return summary(args, html.as_ref());
    }
    let mut page = Explanations::default();
    let (exit, errors) = match args.slowest {
        Some(most) => slowest(args, most as usize, &mut page)?,
        None if args.at.is_some() => earliest(args, &mut page)?,
        None => explain(args, &mut page)?,
    };
    if let Some(html) = &html {
        with_read(args, &errors, |read| html.write_if(!page.is_empty(), || page.page(read)))?;
    }
    Ok(exit)
}

/// Gives what a page says of the files.
fn with_read<T>(args: &Explain, errors: &[ReadError], then: impl FnOnce(&Read<'_>) -> T) -> T {
    let (files, _) = recordings(&args.files);
    let (command, machines) = (command_line(), machines(&files));
    then(&Read { command: &command, files: files.len(), machines: &machines, errors })
}

/// How it ended, and what could not be read.
type Ended = (Exit, Vec<ReadError>);

fn explain(args: &Explain, page: &mut Explanations) -> anyhow::Result<Ended> {
    let decider = decider(args.with.as_ref())?;
    let (files, mut errors) = recordings(&args.files);
    let filter = filter(args);
    let bar = Bar::new(&files, true);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut explained_any = false;
    for file in &files {
        if left == 0 {
            break;
        }
        let mut broken: Option<io::Error> = None;
        let result = explain_file(file, &decider, &filter, &bar, |explained| {
            let written = match args.format {
                TextFormat::Text => out.write_all(report::explain::text(explained).as_bytes()),
                TextFormat::Json => writeln!(out, "{}", report::explain::json(explained)),
            };
            broken = written.err();
            page.add(explained);
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
        say_no_row();
    }
    Ok((exit(&errors, false), errors))
}

/// Explains the first from `--at` on, by their times: rows come as their decisions ended, and files by their names.
fn earliest(args: &Explain, page: &mut Explanations) -> anyhow::Result<Ended> {
    let decider = decider(args.with.as_ref())?;
    let (files, mut errors) = recordings(&args.files);
    let (filter, most) = (filter(args), args.limit.unwrap_or(1));
    let bar = Bar::new(&files, true);
    let mut first = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        let result = explain_file(file, &decider, &filter, &bar, |explained| {
            let key = (explained.row.t_ns, number, explained.row.seq);
            let full = first.len() as u64 >= most;
            if !full || first.last_key_value().is_some_and(|(last, _)| key < *last) {
                let text = match args.format {
                    TextFormat::Text => report::explain::text(explained),
                    TextFormat::Json => format!("{}\n", report::explain::json(explained)),
                };
                first.insert(key, (text, Piece::of(explained)));
                if full {
                    first.pop_last();
                }
            }
            true
        });
        bar.file(file);
        errors.extend(result.err());
    }
    bar.finish();
    first.values().try_for_each(|(text, _)| print(text))?;
    say_errors(&errors);
    if first.is_empty() && errors.is_empty() {
        say_no_row();
    }
    first.into_values().for_each(|(_, piece)| page.take(piece));
    Ok((exit(&errors, false), errors))
}

fn filter(args: &Explain) -> Filter {
    Filter {
        row: args.row,
        pid: args.pid,
        comm: args.comm.clone(),
        reason: args.reason,
        from_ns: args.at,
        ..Filter::default()
    }
}

/// Explains those after which the wakee waited longest.
fn slowest(args: &Explain, most: usize, page: &mut Explanations) -> anyhow::Result<Ended> {
    let decider = decider(args.with.as_ref())?;
    let (sources, mut errors) = stats::sources(&args.files);
    let mut found = Vec::new();
    // Nothing is printed before all is known.
    let bar = Bar::new(&sources.iter().flat_map(|source| source.wakeups()).collect::<Vec<_>>(), false);
    for source in &sources {
        match stats::slowest(source, most, &filter(args), &decider, &bar) {
            Ok(slow) => found.extend(slow),
            Err(error) => errors.push(error),
        }
    }
    bar.finish();
    found.sort_by(|a, b| b.cmp(a));
    found.truncate(most);
    let mut by_file: BTreeMap<&Path, HashMap<(u64, i64), u64>> = BTreeMap::new();
    for slow in &found {
        by_file.entry(&slow.file).or_default().insert((slow.t_ns, slow.wakee_pid), slow.wait_ns);
    }
    let mut texts: Vec<(u64, String, Piece)> = Vec::new();
    let bar = Bar::new(&by_file.keys().map(|file| file.to_path_buf()).collect::<Vec<_>>(), false);
    for (file, waits) in by_file {
        let only = Some(waits.keys().copied().collect());
        let filter = Filter { only, waits, ..filter(args) };
        let result = explain_file(file, &decider, &filter, &bar, |explained| {
            let text = match args.format {
                TextFormat::Text => report::explain::text(explained),
                TextFormat::Json => format!("{}\n", report::explain::json(explained)),
            };
            texts.push((explained.wait_ns.unwrap_or(0), text, Piece::of(explained)));
            true
        });
        bar.file(file);
        errors.extend(result.err());
    }
    bar.finish();
    texts.sort_by_key(|(wait, ..)| Reverse(*wait));
    texts.iter().try_for_each(|(_, text, _)| print(text))?;
    say_errors(&errors);
    if texts.is_empty() && errors.is_empty() {
        say_no_row();
    }
    texts.into_iter().for_each(|(.., piece)| page.take(piece));
    Ok((exit(&errors, false), errors))
}

fn summary(args: &Explain, html: Option<&HtmlFile>) -> anyhow::Result<Exit> {
    let decider = decider(args.with.as_ref())?;
    let (files, errors) = recordings(&args.files);
    let bar = Bar::new(&files, false);
    let (summary, outcomes) = summarize(&files, &decider, &filter(args), &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = html {
        with_read(args, &errors, |read| html.write(report::html::summary(&summary, read)))?;
    }
    match args.format {
        TextFormat::Text => print(&report::summary::text(&summary))?,
        TextFormat::Json => print_json(&report::summary::json(&summary))?,
    }
    say_errors(&errors);
    Ok(exit(&errors, false))
}
