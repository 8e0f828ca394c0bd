//! `wakelab whatif`.

use super::capture::{CaptureFlags, captured, machine};
use super::compare::positive_time;
use super::simulate::deliver;
use super::trace::only;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::flags::{self, FormatFlag, HtmlFlag, JobsFlag, OutFlag, RepeatFlag, TableFormat};
use crate::out_file::command_line;
use crate::output::{Exit, hint, say, say_error, say_warnings};
use crate::progress::{Bar, RunBar};
use crate::signals::stop_flag;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wakelab_events::simulated::EventFolder;
use wakelab_events::stream::Source;
use wakelab_input::parse_duration;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_report::capture as report;
use wakelab_study::capture::{
    CaptureError, CaptureOptions, Captured, Facts, Likeness, RecordedSide, RunTimes, experiment, fidelity, prediction,
    recorded_side,
};
use wakelab_study::compare::{Comparison, Variant, compare};
use wakelab_study::experiment::AddedSide;
use wakelab_study::runners::{EventWriter, Pictured, Pictures, Simulator};
use wakelab_study::runs::Runner;

pub const EXAMPLE: &str = "\
Example:
  wakelab whatif rec --machine mine.toml --with NO_SIS_UTIL --to-kernel v7.2";

/// `wakelab whatif`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A recording, an import, or the folder of one simulated run.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// How it is captured.
    #[command(flatten)]
    capture: CaptureFlags,
    /// Features and tunables to switch, or a sched_ext scheduler: A,NO_B or scx:NAME.
    ///
    /// Added to what was on in the recording. May be repeated: each is compared with what was recorded. `wakelab docs
    /// scheduler-authors` says how schedulers are named.
    #[arg(long, value_name = "SIDE")]
    with: Vec<AddedSide>,
    /// The kernel on which --with is tried.
    ///
    /// A name from `kernel list`; the recorded one if left out. What was switched in the recording is not switched on
    /// another kernel.
    #[arg(long, value_name = "KERNEL")]
    to_kernel: Option<String>,
    /// The machine on which --with is tried: a name from `machine list`, or a file.
    ///
    /// The recorded one if left out.
    #[arg(long, value_name = "MACHINE")]
    to_machine: Option<String>,
    /// The preset that stands for the recorded kernel.
    ///
    /// A name from `kernel list`; chosen by the recorded release if left out.
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// Scale the captured load: 2, 0.5.
    ///
    /// Applies to both sides; fidelity is measured at 1.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = scale)]
    scale: f64,
    /// How often.
    #[command(flatten)]
    repeat: RepeatFlag,
    /// Measure for this time: 1s, 500ms.
    ///
    /// In simulated time; 300 ms if left out.
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = positive_time, hide_short_help = true)]
    time: u64,
    /// Simulate for this time before measuring.
    #[arg(long, value_name = "TIME", default_value = "300ms", value_parser = parse_duration, hide_short_help = true)]
    settle: u64,
    /// Compare even if the captured load is not like the recording.
    #[arg(long)]
    anyway: bool,
    /// A later recording, made with --with or --to-kernel.
    ///
    /// Shown beside the prediction. Repeat it as often as --with, in the same order.
    #[arg(long, value_name = "RECORDING", hide_short_help = true)]
    came_out: Vec<PathBuf>,
    /// Also write the captured workload to this file.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    workload: Option<PathBuf>,
    /// Where the result goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
    /// Print everything: the capture, each quantity, the whole comparison.
    ///
    /// Without it: the verdict, what changes most, and what is not like the recording. JSON and the page have all.
    #[arg(long)]
    details: bool,
    /// The page.
    #[command(flatten)]
    html: HtmlFlag,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The cache.
    #[command(flatten)]
    cache: CacheFlags,
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if scale.is_finite() && scale > 0.0 && scale <= 1000.0 => Ok(scale),
        _ => Err("expected a number above 0 and up to 1000, such as 2 or 0.5".to_owned()),
    }
}

/// How many times a comparison is repeated, if that is left out.
const REPEATS: u32 = 3;
/// The time before measuring begins if it is not given, ns.
pub(super) const SETTLE_NS: u64 = 300_000_000;

/// Simulates what was recorded, as it was and as asked.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let source = only(&args.recording)?;
    let Some(machine) = machine(&source, &args.capture)? else {
        bail!(
            "--machine: the recording is of a machine that is not known here; give its file\n  \
             hint: run `wakelab machine import` or `wakelab calibrate` on it to write its file"
        );
    };
    let preset = |flag: &'static str, name: &Option<String>| -> anyhow::Result<Option<&'static Preset>> {
        name.as_deref().map(|name| flags::preset(Some(flag), name)).transpose()
    };
    let side = recorded_side(&source, &machine, preset("--kernel", &args.kernel)?)?;
    let kernel = preset("--to-kernel", &args.to_kernel)?;
    let to_machine =
        args.to_machine.as_deref().map(|name| wakelab_machine::get(name).context("--to-machine")).transpose()?;
    anyhow::ensure!(
        to_machine.is_none() || args.html.output().is_none(),
        "--html: a page draws one machine, and --to-machine names another\n  hint: leave one of them out"
    );
    let sides = sides(args, &machine, &side, kernel, to_machine.map(Arc::new))?;
    let came_out = came_out(args, &sides[1..])?;
    anyhow::ensure!(
        args.html.output().is_none() || sides.len() == 2,
        "--html: a page shows one side, and {} were given\n  hint: give one --with, and a page for each",
        sides.len() - 1
    );
    let out = args.out.open()?;
    let html = args.html.open()?;
    let captured = captured(&source, &args.capture, Some(&machine), false)?;
    if let Some(path) = &args.workload {
        crate::out_file::OutFile::new("--workload", path)?.write(&captured.toml)?;
    }
    if !side.left_out.is_empty() {
        say!("warning: the model does not act on these features of the recorded kernel: {}", side.left_out.join(", "));
    }
    let simulator = CachedSimulator::open(&args.cache)?;
    stop_flag();
    let recorded = with_bar(&source, &|bar| Facts::of_captured(&captured, &source, bar))?;
    let settle = args.settle;
    let Some(as_recorded) = simulated(settle, &captured, &machine, &sides[0])? else { return Ok(Exit::Interrupted) };
    let found = fidelity(&recorded, &as_recorded);
    let refused = found.verdict() == Likeness::Not && !args.anyway;
    let (mut predictions, mut comparisons, mut pictures) = (Vec::new(), Vec::new(), Pictures::default());
    if !refused {
        for (at, asked) in sides[1..].iter().enumerate() {
            let Some(predicted) = simulated(settle, &captured, &machine, asked)? else {
                return Ok(Exit::Interrupted);
            };
            let came_out = came_out.get(at).map(|source| facts_of(source, args, &machine)).transpose()?;
            let sides = [&recorded, &as_recorded];
            predictions.push(prediction(asked.label.clone(), sides, &predicted, came_out.as_ref()));
        }
        (comparisons, pictures) = compared(args, &captured, &machine, &sides, &simulator)?;
    }
    let interrupted = comparisons.iter().any(|comparison| !comparison.complete);
    let json = args.format.format == TableFormat::Json;
    let asked =
        report::WhatIf { captured: &captured, fidelity: &found, predictions: &predictions, comparisons: &comparisons };
    let text = match json {
        true => format!("{:#}\n", report::whatif_json(&asked)),
        false if args.details => report::whatif_details(&asked),
        false => report::whatif(&asked),
    };
    deliver(out.as_ref(), &text, json)?;
    if !json && !args.details && !asked.predictions.is_empty() {
        hint("--details prints the capture, each quantity and the whole comparison");
    }
    if let Some(html) = html
        && let Some(page) = wakelab_report::html::whatif(&asked, &pictures, &command_line())
    {
        html.write(page)?;
    }
    if refused && sides.len() > 1 {
        say_error(
            "the captured load does not behave like the recording, so no side was compared\n  hint: the rows that say \
             \"not\" differ; `wakelab calibrate` measures the machine's costs, --anyway compares anyway",
        );
        return Ok(Exit::RunFailed);
    }
    Ok(if interrupted { Exit::Interrupted } else { Exit::Done })
}

/// What was recorded, then what is asked.
fn sides(
    args: &Args,
    machine: &Machine,
    side: &RecordedSide,
    kernel: Option<&'static Preset>,
    to_machine: Option<Arc<Machine>>,
) -> anyhow::Result<Vec<Variant>> {
    let recorded = Variant::on(machine, side.kernel, &side.switches)?;
    let mut sides = vec![recorded];
    let schedulers = args.cache.schedulers();
    let asked = match &args.with[..] {
        [] if kernel.is_some() || to_machine.is_some() => vec![AddedSide::default()],
        with => with.to_vec(),
    };
    for with in asked {
        let on = kernel.unwrap_or(side.kernel);
        let all = if kernel.is_some() { with.switches.clone() } else { side.switches.then(&with.switches) };
        let runs_on = to_machine.as_deref().unwrap_or(machine);
        let mut variant = Variant::on(runs_on, on, &all).context("--with")?;
        let (scheduler, label) = with.load(&schedulers).map_err(|what| anyhow::anyhow!("--with: {what}"))?;
        if let Some(scheduler) = scheduler {
            let (_, missing) = wakelab_sim::check_scheduler(runs_on, on, &*scheduler).context("--with")?;
            say_warnings(&missing);
            variant.scheduler = Some(scheduler);
        }
        variant.machine.clone_from(&to_machine);
        let parts = [
            to_machine.as_ref().map(|machine| machine.name.clone()),
            kernel.map(|kernel| kernel.name.to_owned()),
            (!label.is_empty()).then_some(label),
        ];
        variant.label = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        sides.push(variant);
    }
    Ok(sides)
}

/// What was recorded of the sides that are asked for.
fn came_out(args: &Args, asked: &[Variant]) -> anyhow::Result<Vec<Source>> {
    anyhow::ensure!(
        args.came_out.is_empty() || args.came_out.len() == asked.len(),
        "--came-out: expected one recording for each of the {} sides, found {}\n  hint: repeat it as often as \
         --with, in the same order",
        asked.len(),
        args.came_out.len()
    );
    args.came_out.iter().map(|path| only(path).context("--came-out")).collect()
}

/// What another recording has, in a window of the same place.
fn facts_of(source: &Source, args: &Args, machine: &Machine) -> anyhow::Result<Facts> {
    let CaptureFlags { from: from_ns, window: window_ns, .. } = args.capture;
    let options = CaptureOptions { machine: Some(machine), from_ns, window_ns, exact: false };
    with_bar(source, &|bar| Facts::of(source, &options, bar)).context("--came-out")
}

fn with_bar(source: &Source, read: &dyn Fn(&Bar) -> Result<Facts, CaptureError>) -> anyhow::Result<Facts> {
    let bar = Bar::new(&source.wakeups(), false);
    let facts = read(&bar);
    bar.finish();
    Ok(facts?)
}

/// Simulates what was captured under a side, at the load that was recorded. Returns `None` if it was interrupted.
fn simulated(settle_ns: u64, captured: &Captured, machine: &Machine, side: &Variant) -> anyhow::Result<Option<Facts>> {
    let times = RunTimes::of_fidelity(captured, settle_ns);
    let file = Path::new(CAPTURED_FILE);
    let mut experiment = experiment(captured, file, captured.load, machine, [side, side], times)?;
    experiment.variants.clear();
    let folder = tempfile::tempdir().context("a temporary folder for the events of the simulation")?;
    let events = EventFolder::new(&folder.path().join("events"))?;
    let recording = EventWriter { events: Some(&events), traces: None, others: &Simulator };
    let bar = RunBar::new();
    let done = compare(&recording, &experiment, 1, &bar, stop_flag());
    bar.finish();
    if !done?.complete {
        return Ok(None);
    }
    let events = only(&folder.path().join("events"))?;
    let ran_on = side.machine.as_deref().unwrap_or(machine);
    let all = CaptureOptions { machine: Some(ran_on), from_ns: None, window_ns: None, exact: false };
    Ok(Some(with_bar(&events, &|bar| Facts::of(&events, &all, bar))?))
}

/// Each side that is asked for compared with what was recorded, with pictures if there is to be a page.
fn compared(
    args: &Args,
    captured: &Captured,
    machine: &Machine,
    sides: &[Variant],
    simulator: &CachedSimulator,
) -> anyhow::Result<(Vec<Comparison>, Pictures)> {
    let load = (f64::from(captured.load) * args.scale).round().max(1.0) as u32;
    let times = RunTimes { settle_ns: args.settle, time_ns: args.time };
    let stop = stop_flag();
    let (mut found, mut pictures) = (Vec::new(), Pictures::default());
    for with in &sides[1..] {
        let mut experiment = experiment(captured, file(args), load, machine, [&sides[0], with], times)?;
        experiment.repeats = args.repeat.repeat.unwrap_or(REPEATS);
        let bar = RunBar::new();
        let compared = simulator.with(|runner| {
            let pictured = args.html.output().map(|_| Pictured::new(runner, None));
            let watched: &dyn Runner = pictured.as_ref().map_or(runner, |pictured| pictured);
            let compared = compare(watched, &experiment, args.jobs.jobs(), &bar, stop).map_err(|e| e.to_string())?;
            Ok::<_, String>((compared, pictured.map_or_else(Pictures::default, Pictured::found)))
        });
        bar.finish();
        let (compared, seen) = compared.map_err(|error| anyhow::anyhow!("{error}"))?;
        found.push(compared);
        pictures = seen;
    }
    Ok((found, pictures))
}

fn file(args: &Args) -> &Path {
    args.workload.as_deref().unwrap_or(Path::new(CAPTURED_FILE))
}

/// What messages call a captured workload that has no file.
const CAPTURED_FILE: &str = "the captured workload (--workload writes it)";

/// Whether what was captured behaves as the recording, roughly at least, simulated as it was recorded. `None` if it was
/// interrupted.
pub fn is_like_the_recording(
    source: &Source,
    captured: &Captured,
    machine: &Machine,
    side: &Variant,
) -> anyhow::Result<Option<bool>> {
    let recorded = with_bar(source, &|bar| Facts::of_captured(captured, source, bar))?;
    let simulated = simulated(SETTLE_NS, captured, machine, side)?;
    Ok(simulated.map(|simulated| fidelity(&recorded, &simulated).verdict() != Likeness::Not))
}
