//! `wakelab explain`.

use super::{all_errors, decider, exit, with_read};
use crate::flags::{HtmlFlag, RecordingFiles, WithFlag, by_name};
use crate::out_file::HtmlFile;
use crate::output::{Exit, hint, named_stdout, print, print_as_is, print_json, say, say_errors, stdout};
use crate::progress::Bar;
use anyhow::bail;
use std::cmp::Reverse;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use wakelab_events::ReadError;
use wakelab_events::stream::RunDescription;
use wakelab_input::printable_lines;
use wakelab_report as report;
use wakelab_report::html::{Explanations, Piece, ScxExplanations};
use wakelab_sched::select::Reason;
use wakelab_study::recordings::choice::{earliest, longest_waits, slowest};
use wakelab_study::recordings::explain::{Explained, Filter, explain_file, why_no_row};
use wakelab_study::recordings::least::Least;
use wakelab_study::recordings::scx_wakeups::{Routes, ScxWakeup, is_scx, scx_wakeups};
use wakelab_study::recordings::summary::summarize;
use wakelab_study::recordings::{decision_files, sample, sources};
use wakelab_study::{Decider, Progress};

pub const EXAMPLE: &str = "\
Example:
  wakelab explain data/recordings/6.12-C-hb.csv.gz --reason limit --limit 1";

/// `wakelab explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is read.
    #[command(flatten)]
    pub recordings: RecordingFiles,
    /// Print the share of each reason instead.
    ///
    /// By kernel, load and flags.
    #[arg(long, conflicts_with_all = ["row", "reason", "limit", "at", "slowest"])]
    summary: bool,
    /// Explain the first decision from this time on.
    ///
    /// Takes a time as explanations print it (52.298654). --limit N explains the first N.
    #[arg(long, value_name = "SECONDS", value_parser = moment, conflicts_with = "row")]
    at: Option<u64>,
    /// Explain the N whose wakees waited longest.
    ///
    /// The longest wait comes first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000),
          conflicts_with_all = ["row", "at", "limit"])]
    slowest: Option<u32>,
    /// Explain only the row with this number (its `seq`).
    #[arg(long, value_name = "N")]
    row: Option<u64>,
    /// Explain only wake-ups of or by this task.
    #[arg(long, value_name = "P")]
    pid: Option<i64>,
    /// Explain only wake-ups of or by tasks of this name.
    ///
    /// As the kernel cuts it (15 bytes).
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,
    /// Explain only decisions with this reason (limit).
    ///
    /// `wakelab docs why-there` lists them.
    #[arg(long, value_name = "REASON", hide_possible_values = true, value_parser = by_name(Reason::ALL, Reason::name))]
    reason: Option<Reason>,
    /// Stop after this many explanations.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// The features.
    #[command(flatten)]
    with: WithFlag,
    /// The page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Print text, json or csv.
    ///
    /// json: an object for each row and line; one object for --summary. csv: a line for each row.
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text, hide_possible_values = true)]
    format: ExplainFormat,
}

/// How explanations are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ExplainFormat {
    /// Sentences.
    Text,
    /// JSON.
    Json,
    /// CSV.
    Csv,
}

impl Args {
    /// What stands before the explanations.
    fn head(&self) -> String {
        if self.format == ExplainFormat::Csv { report::explain::csv_header() } else { String::new() }
    }

    fn decider(&self) -> anyhow::Result<Decider> {
        decider(self.with.with.as_ref())
    }

    fn filter(&self) -> Filter {
        Filter {
            row: self.row,
            pid: self.pid,
            comm: self.comm.clone(),
            reason: self.reason,
            from_ns: self.at,
            ..Filter::default()
        }
    }

    /// The explanation of a wake-up under a scheduler of sched_ext, with the end of its line.
    fn scx_text(&self, about: &RunDescription, wakeup: &ScxWakeup) -> String {
        match self.format {
            ExplainFormat::Json => format!("{}\n", report::scx_wakeups::json(about, wakeup)),
            ExplainFormat::Text | ExplainFormat::Csv => {
                printable_lines(&report::scx_wakeups::text(about, wakeup)).into_owned()
            }
        }
    }

    /// The explanation of a row as it is printed, and for the page if there is to be one.
    fn explanation(&self, explained: &Explained<'_>) -> (String, Option<Piece>) {
        (self.text(explained), self.html.output().map(|_| Piece::of(explained)))
    }

    /// The explanation of a row in the output format, with the end of its line.
    fn text(&self, explained: &Explained<'_>) -> String {
        match self.format {
            ExplainFormat::Text => printable_lines(&report::explain::text(explained)).into_owned(),
            ExplainFormat::Json => format!("{}\n", report::explain::json(explained)),
            ExplainFormat::Csv => report::explain::csv_line(explained),
        }
    }
}

/// A moment in seconds, as ns.
fn moment(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a time; expected seconds as explanations print them, such as 52.298654");
    let seconds = text.trim().trim_end_matches('s').trim_end();
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let ns: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    whole.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(ns)).ok_or_else(wrong)
}

/// Explains rows, or counts reasons.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (files, errors) = decision_files(&args.recordings.files);
    let (of_scx, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_scx(file));
    if !of_scx.is_empty() {
        return scx(args, &of_scx, &files, errors);
    }
    let html = args.html.open()?;
    if args.summary {
        say_sample(args);
        return summary(args, &files, errors, html.as_ref());
    }
    let mut page = Explanations::default();
    let (found, errors) = match args.slowest {
        Some(most) => explain_slowest(args, most as usize, &mut page)?,
        None if args.at.is_some() => explain_earliest(args, &files, errors, &mut page)?,
        None => explain(args, &files, errors, html.is_some().then_some(&mut page))?,
    };
    say_errors(&errors);
    if args.slowest.is_some() {
        say_sample(args);
    }
    if !found && errors.is_empty() {
        say_no_row(args, &files)?;
    }
    if let Some(html) = &html {
        with_read(files.len(), &files, &errors, |read| html.write_if(found, || page.page(read)))?;
    }
    Ok(exit(&errors, if found { Exit::Done } else { Exit::NoMatch }))
}

/// Says which share of the decisions the recordings have, if not all, and what that share cannot show.
fn say_sample(args: &Args) {
    if let Some(share) = sample(&args.recordings.files) {
        say!(
            "a sample: it has {} of the decisions; filters, --sample or --max-rate left out the others. The shares of \
             reasons stand for all decisions only if --sample alone chose, and longer waits may be missing",
            report::stats::sampled(share)
        );
    }
}

/// Prints why no row was found.
fn say_no_row(args: &Args, files: &[PathBuf]) -> anyhow::Result<()> {
    let why = why_no_row(files, &args.decider()?, &args.filter());
    say!("no row matches: {why}");
    hint("`wakelab explain FILE --summary` shows which reasons there are");
    Ok(())
}

/// Explains wake-ups of runs under a scheduler of sched_ext: operations decided, so that no decision is made again.
fn scx(args: &Args, files: &[PathBuf], others: &[PathBuf], mut errors: Vec<ReadError>) -> anyhow::Result<Exit> {
    let refused = [
        ("--with", args.with.with.is_some()),
        ("--reason", args.reason.is_some()),
        ("--format csv", args.format == ExplainFormat::Csv),
    ];
    if let Some((flag, _)) = refused.into_iter().find(|(_, given)| *given) {
        let file = files[0].display();
        bail!("{flag}: {file} is from a run under a sched_ext scheduler, which decides itself; leave {flag} out");
    }
    if let Some(other) = others.first() {
        let (file, other) = (files[0].display(), other.display());
        bail!("{file} is from a run under a sched_ext scheduler, and {other} is not; expected files of one kind");
    }
    let (filter, bar) = (args.filter(), Bar::new(files, !args.summary && args.slowest.is_none()));
    let most = args.slowest.map(u64::from).or(args.limit).or(args.at.map(|_| 1)).unwrap_or(u64::MAX);
    let (mut found, mut left) = (false, most);
    let html = args.html.open()?;
    let (mut page, mut routes) = (ScxExplanations::default(), Routes::default());
    // The longest waits first.
    let mut slowest = Least::new(most as usize);
    let mut out = BufWriter::new(stdout());
    for (number, file) in files.iter().enumerate() {
        let mut broken: Option<io::Error> = None;
        let result = scx_wakeups(file, &filter, &bar, |about, wakeup| {
            found = true;
            if args.summary {
                routes.add(wakeup);
                return true;
            }
            if args.slowest.is_some() {
                if let Some((at, _)) = wakeup.picked() {
                    let key = (Reverse(at.saturating_sub(wakeup.t_ns)), number, wakeup.row);
                    slowest.offer(key, || (about.clone(), wakeup.clone()));
                }
                return true;
            }
            broken = out.write_all(args.scx_text(about, wakeup).as_bytes()).err();
            if html.is_some() {
                page.add(about, wakeup);
            }
            left -= 1;
            left > 0 && broken.is_none()
        });
        bar.file(file);
        if let Some(error) = broken {
            return Err(named_stdout(error).into());
        }
        errors.extend(result.err());
        if left == 0 {
            break;
        }
    }
    bar.finish();
    for (about, wakeup) in slowest.into_values() {
        out.write_all(args.scx_text(&about, &wakeup).as_bytes()).map_err(named_stdout)?;
        if html.is_some() {
            page.add(&about, &wakeup);
        }
    }
    out.flush().map_err(named_stdout)?;
    if let Some(html) = &html {
        let page = if args.summary { routes.clone().into() } else { page };
        with_read(files.len(), files, &errors, |read| html.write_if(found, || page.page(read)))?;
    }
    if args.summary && found {
        match args.format {
            ExplainFormat::Json => print_json(&report::scx_wakeups::routes_json(&routes))?,
            ExplainFormat::Text | ExplainFormat::Csv => print(&report::scx_wakeups::routes_text(&routes))?,
        }
    }
    say_errors(&errors);
    if !found && errors.is_empty() {
        say!("no row matches: no wake-up passes all filters");
        hint("`wakelab explain FILE --summary` shows how tasks came to their CPUs");
    }
    Ok(exit(&errors, if found { Exit::Done } else { Exit::NoMatch }))
}

/// Explains rows in their order, as they are read. Returns whether there was one, and what could not be read.
fn explain(
    args: &Args,
    files: &[PathBuf],
    mut errors: Vec<ReadError>,
    mut page: Option<&mut Explanations>,
) -> anyhow::Result<(bool, Vec<ReadError>)> {
    let (decider, filter) = (args.decider()?, args.filter());
    let bar = Bar::new(files, true);
    let mut out = BufWriter::new(stdout());
    out.write_all(args.head().as_bytes()).map_err(named_stdout)?;
    let most = args.limit.unwrap_or(u64::MAX);
    let mut left = most;
    for file in files {
        if left == 0 {
            break;
        }
        let mut broken: Option<io::Error> = None;
        let result = explain_file(file, &decider, &filter, &bar, |explained| {
            broken = out.write_all(args.text(&explained).as_bytes()).err();
            if let Some(page) = &mut page {
                page.add(&explained);
            }
            left -= 1;
            left > 0 && broken.is_none()
        });
        bar.file(file);
        if let Some(error) = broken {
            return Err(named_stdout(error).into());
        }
        errors.extend(result.err());
    }
    bar.finish();
    out.flush().map_err(named_stdout)?;
    Ok((left < most, errors))
}

/// Explains the first decisions from `--at` on.
fn explain_earliest(
    args: &Args,
    files: &[PathBuf],
    mut errors: Vec<ReadError>,
    page: &mut Explanations,
) -> anyhow::Result<(bool, Vec<ReadError>)> {
    let (decider, most) = (args.decider()?, args.limit.unwrap_or(1) as usize);
    let bar = Bar::new(files, true);
    let (found, failed) =
        earliest(files, &decider, &args.filter(), most, &bar, |explained| args.explanation(explained));
    bar.finish();
    errors.extend(failed);
    Ok((print_found(args, found, page)?, errors))
}

/// Explains the wake-ups after which the wakee waited longest.
fn explain_slowest(args: &Args, most: usize, page: &mut Explanations) -> anyhow::Result<(bool, Vec<ReadError>)> {
    let decider = args.decider()?;
    let (sources, mut errors) = sources(&args.recordings.files);
    // Nothing is printed before all is known.
    let bar = Bar::new(&sources.iter().flat_map(|source| source.wakeups()).collect::<Vec<_>>(), false);
    let (waits, failed) = longest_waits(&sources, most, &args.filter(), &decider, &bar);
    bar.finish();
    errors.extend(failed);
    let bar = Bar::new(&waits.keys().cloned().collect::<Vec<_>>(), false);
    let (found, failed) = slowest(waits, &decider, &args.filter(), &bar, |explained| args.explanation(explained));
    bar.finish();
    errors.extend(failed);
    Ok((print_found(args, found, page)?, errors))
}

/// Prints explanations, and takes them for the page. Returns whether there is one.
fn print_found(args: &Args, found: Vec<(String, Option<Piece>)>, page: &mut Explanations) -> anyhow::Result<bool> {
    print_as_is(&args.head())?;
    found.iter().try_for_each(|(text, _)| print_as_is(text))?;
    let any = !found.is_empty();
    found.into_iter().filter_map(|(_, piece)| piece).for_each(|piece| page.take(piece));
    Ok(any)
}

fn summary(args: &Args, files: &[PathBuf], errors: Vec<ReadError>, html: Option<&HtmlFile>) -> anyhow::Result<Exit> {
    let decider = args.decider()?;
    let bar = Bar::new(files, false);
    let (summary, outcomes) = summarize(files, &decider, &args.filter(), &bar);
    bar.finish();
    let errors = all_errors(errors, outcomes);
    if let Some(html) = html {
        with_read(files.len(), files, &errors, |read| html.write(report::html::summary(&summary, read)))?;
    }
    match args.format {
        ExplainFormat::Text => print(&report::summary::text(&summary))?,
        ExplainFormat::Json => print_json(&report::summary::json(&summary))?,
        ExplainFormat::Csv => print(&report::summary::csv(&summary))?,
    }
    say_errors(&errors);
    let found = summary.unstable > 0 || !summary.groups.is_empty();
    if !found && errors.is_empty() {
        say_no_row(args, files)?;
    }
    Ok(exit(&errors, if found { Exit::Done } else { Exit::NoMatch }))
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn moments_are_exact_to_the_ns() {
        assert_eq!(moment("52.298654"), Ok(52_298_654_000));
        assert_eq!(moment("7200.000000001s"), Ok(7_200_000_000_001));
        for text in ["", "x", "1.", "1.0000000001", "-1", "99999999999"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }
}
