//! `wakelab compare`, and what it shares with `wakelab run`.

use super::trace::say_traced;
use super::trust::{self, Found};
use crate::args::{Compare, How, ResultFormat};
use crate::html::{HtmlFile, command_line};
use crate::interrupt::stop_flag;
use crate::kept::KeptRuns;
use crate::out_file::{OutFile, cause};
use crate::output::{Exit, hint, print, say_warnings};
use crate::progress::RunBar;
use std::path::Path;
use wakelab_events::simulated::EventFolder;
use wakelab_report::compare as report;
use wakelab_study::compare::{Comparison, Experiment, Recording, Runner, compare};
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::picture::{Pictured, Pictures};
use wakelab_study::trace::TraceFolder;

/// Simulates what the flags say.
pub fn run(args: &Compare) -> anyhow::Result<Exit> {
    let load = args.load.as_deref();
    let mut spec = Spec::of_flags(&args.machine, &args.kernel, &args.workload, load, &args.base, &args.with)?;
    spec.repeats = Given::by_flag("--repeat", args.repeat);
    spec.seed = args.seed;
    if let Some(time) = args.time {
        spec.time_ns = Given::by_flag("--time", time);
    }
    if let Some(settle) = args.settle {
        spec.settle_ns = Given::by_flag("--settle", settle);
    }
    spec.observer_cost_ns = args.observer_cost;
    spec.lenient = args.how.lenient;
    spec.regret = args.how.regret;
    simulate(&spec, &args.how)
}

/// What is to be run, and where its text goes: all input is known to be good then, and the output to be writable.
pub fn prepare(spec: &Spec, how: &How) -> anyhow::Result<(Experiment, Option<OutFile>)> {
    let experiment = spec.resolve()?;
    say_warnings(&experiment.warnings);
    let out = how.out.as_deref().map(OutFile::new).transpose()?;
    Ok((experiment, out))
}

/// Simulates and prints. Nothing is simulated before all input is known to be good and the output to be writable.
pub fn simulate(spec: &Spec, how: &How) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        !how.regret || matches!(how.format, ResultFormat::Table | ResultFormat::Json),
        "--format: --regret prints a table or JSON; leave --format out, or give --format json"
    );
    trust::check(how)?;
    let (experiment, out) = prepare(spec, how)?;
    let plan = trust::plan(spec, &experiment, &how.trust)?;
    let html = HtmlFile::of(how.html.as_deref())?;
    let events = how.events.as_deref().map(event_folder).transpose()?;
    let several = experiment.cases.len() > 1;
    let traces = how.perfetto.as_deref().map(|path| trace_folder(path, several)).transpose()?;
    let kept = if events.is_some() { KeptRuns::none() } else { KeptRuns::open(&how.kept)? };
    let stop = stop_flag()?;
    let found = kept.with(|runner| -> Result<_, String> {
        let recording = Recording { events: events.as_ref(), traces: traces.as_ref(), others: runner };
        let writes = events.is_some() || traces.is_some();
        let first: &dyn Runner = if writes { &recording } else { runner };
        let pictured = html.as_ref().map(|_| Pictured::new(first, writes.then_some(recording)));
        let watched: &dyn Runner = pictured.as_ref().map_or(first, |pictured| pictured);
        let bar = RunBar::new();
        let found = compare(watched, &experiment, how.jobs(), &bar, stop);
        bar.finish();
        let found = found.map_err(|failed| failed.to_string())?;
        let trust = trust::run(runner, &experiment, &found, how, plan.as_ref(), stop)?;
        Ok((found, trust, pictured.map_or_else(Pictures::default, Pictured::found)))
    });
    let (found, trust, pictures) = match found {
        Ok(found) => found,
        Err(failed) => {
            eprintln!("error: {failed}");
            return Ok(Exit::RunFailed);
        }
    };
    let (done, all) = (found.rows.len(), experiment.cases.len());
    if done > 0 {
        deliver(out.as_ref(), &render(&found, &trust, how.format))?;
        if let Some(html) = html {
            html.write(wakelab_report::html::comparison(&found, &pictures, &command_line()))?;
        }
    }
    if let Some(traces) = &traces {
        say_traces(traces);
    }
    if let Some(path) = how.events.as_deref().filter(|_| done > 0) {
        hint(format_args!("wakelab stats {} counts what happened", path.display()));
    }
    if found.complete && trust.complete() {
        return Ok(Exit::Done);
    }
    eprintln!("interrupted: {done} of {all} rows are complete");
    trust.say_incomplete();
    Ok(Exit::Interrupted)
}

fn trace_folder(path: &Path, several: bool) -> anyhow::Result<TraceFolder> {
    TraceFolder::new(path, several).map_err(|e| {
        let what = format!("--perfetto: {}: {}", path.display(), cause(&e));
        anyhow::anyhow!("{what}\n  hint: name a folder in one that exists and can be written")
    })
}

fn say_traces(folder: &TraceFolder) {
    for file in folder.files() {
        say_traced(&file.traced, &file.path);
    }
}

fn event_folder(path: &Path) -> anyhow::Result<EventFolder> {
    EventFolder::new(path).map_err(|e| {
        anyhow::anyhow!("--events: {e}\n  hint: name a new or empty folder, in a folder that exists and can be written")
    })
}

/// Writes to the file, or to stdout.
pub fn deliver(out: Option<&OutFile>, text: &str) -> anyhow::Result<()> {
    match out {
        Some(file) => file.write(text)?,
        None => print(text)?,
    }
    Ok(())
}

fn render(found: &Comparison, trust: &Found, format: ResultFormat) -> String {
    match format {
        ResultFormat::Lkml => report::lkml(found),
        ResultFormat::Table => report::table(found) + &trust.text(found),
        ResultFormat::Json => format!("{:#}\n", trust.add_json(report::json(found))),
        ResultFormat::Csv => report::csv(found),
    }
}
