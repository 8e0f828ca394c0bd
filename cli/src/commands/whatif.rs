//! `wakelab whatif`.

use super::capture::{CaptureFlags, captured, machine};
use super::compare::positive_time;
use super::simulate::deliver;
use super::trace::only;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::distinct_paths::Paths;
use crate::flags::{FormatFlag, JobsFlag, OutFlag, RepeatFlag, TableFormat};
use crate::output::{Exit, say, say_error};
use crate::progress::{Bar, RunBar};
use crate::signals::stop_flag;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use wakelab_events::simulated::EventFolder;
use wakelab_events::stream::Source;
use wakelab_input::parse_duration;
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_report::capture as report;
use wakelab_study::capture::{
    CaptureError, CaptureOptions, Captured, Facts, Fidelity, Likeness, RecordedSide, RunTimes, experiment, fidelity,
    recorded_side,
};
use wakelab_study::compare::{Comparison, Recording, Simulator, Variant, compare};

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
    /// Features and tunables to switch: A,NO_B.
    ///
    /// On top of what was on in the recording. May be given again: each is compared with what was recorded.
    #[arg(long, value_name = "SWITCHES")]
    with: Vec<Switches>,
    /// The kernel on which --with is tried.
    ///
    /// A name of `kernel list`; that of the recording if left out. What was switched in the recording is not switched
    /// there.
    #[arg(long, value_name = "KERNEL")]
    to_kernel: Option<String>,
    /// The preset that stands for the recorded kernel.
    ///
    /// A name of `kernel list`; found by the release if left out.
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// Simulate so many times what was captured: 2, 0.5.
    ///
    /// On both sides; fidelity is that of 1.
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
    /// Also write the captured workload to this file.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    workload: Option<PathBuf>,
    /// Where the result goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
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

impl Args {
    /// What it reads and writes.
    pub fn paths(&self) -> Paths<'_> {
        let workload = self.workload.as_deref().map(|path| ("--workload", path));
        Paths { inputs: vec![self.recording.clone()], outputs: self.out.output().into_iter().chain(workload).collect() }
    }
}

/// How many times a comparison is repeated, if that is left out.
const REPEATS: u32 = 3;
/// Of how many wake-ups fidelity is taken, about: the events of that simulation are written to a temporary folder.
const FIDELITY_WAKEUPS: u64 = 1_500_000;
/// The shortest measured time of that simulation, ns.
const SHORTEST_FIDELITY_NS: u64 = 50_000_000;

/// Simulates what was recorded, as it was and as asked.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let source = only(&args.recording)?;
    let Some(machine) = machine(&source, &args.capture)? else {
        bail!(
            "--machine: the recording does not name a machine that is known; expected the machine that was recorded\n  \
             hint: `wakelab machine import` or `wakelab calibrate` on it writes its file"
        );
    };
    let preset = |flag: &'static str, name: &Option<String>| -> anyhow::Result<Option<&'static Preset>> {
        name.as_deref().map(|name| Preset::get(name).context(flag)).transpose()
    };
    let side = recorded_side(&source, &machine, preset("--kernel", &args.kernel)?)?;
    let kernel = preset("--to-kernel", &args.to_kernel)?;
    let sides = sides(args, &machine, &side, kernel)?;
    let out = args.out.open()?;
    let captured = captured(&source, &args.capture, Some(&machine), false)?;
    if let Some(path) = &args.workload {
        crate::out_file::OutFile::new("--workload", path)?.write(&captured.toml)?;
    }
    if !side.left_out.is_empty() {
        say!("warning: the model does not act on these features of the recorded kernel: {}", side.left_out.join(", "));
    }
    let simulator = CachedSimulator::open(&args.cache)?;
    stop_flag()?;
    let Some(found) = fidelity_of(args, &source, &captured, &machine, &sides[0])? else {
        return Ok(Exit::Interrupted);
    };
    let refused = found.verdict() == Likeness::Not && !args.anyway;
    let comparisons = if refused { Vec::new() } else { comparisons(args, &captured, &machine, &sides, &simulator)? };
    let interrupted = comparisons.iter().any(|comparison| !comparison.complete);
    let json = args.format.format == TableFormat::Json;
    let text = match json {
        true => format!("{:#}\n", report::whatif_json(&captured, &found, &comparisons)),
        false => report::whatif(&captured, &found, &comparisons),
    };
    deliver(out.as_ref(), &text, json)?;
    if refused && !args.with.is_empty() {
        say_error(
            "the captured load does not behave as the recording, so that no side is compared\n  hint: see which rows \
             say \"not\"; `wakelab calibrate` measures the machine's costs, --anyway compares all the same",
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
) -> anyhow::Result<Vec<Variant>> {
    let recorded = Variant::on(machine, side.kernel, &side.switches)?;
    let mut sides = vec![recorded];
    let asked = match (&args.with[..], kernel) {
        ([], Some(_)) => vec![Switches::default()],
        (with, _) => with.to_vec(),
    };
    for with in asked {
        let on = kernel.unwrap_or(side.kernel);
        let all = if kernel.is_some() { with.clone() } else { side.switches.then(&with) };
        let mut variant = Variant::on(machine, on, &all).context("--with")?;
        let name = if with.is_empty() { String::new() } else { format!(" {with}") };
        variant.label = if kernel.is_some() { format!("{}{name}", on.name) } else { with.to_string() };
        sides.push(variant);
    }
    Ok(sides)
}

fn fidelity_of(
    args: &Args,
    source: &Source,
    captured: &Captured,
    machine: &Machine,
    recorded: &Variant,
) -> anyhow::Result<Option<Fidelity>> {
    let few = u128::from(captured.window_ns.1) * u128::from(FIDELITY_WAKEUPS)
        / u128::from(captured.wakeups.max(FIDELITY_WAKEUPS));
    let times = RunTimes { settle_ns: args.settle, time_ns: (few as u64).max(SHORTEST_FIDELITY_NS) };
    let mut experiment = experiment(captured, file(args), captured.load, machine, [recorded, recorded], times)?;
    experiment.base_only = true;
    let folder = tempfile::tempdir().context("a temporary folder for the events of the simulation")?;
    let events = EventFolder::new(&folder.path().join("events"))?;
    let recording = Recording { events: Some(&events), traces: None, others: &Simulator };
    let bar = RunBar::new();
    let done = compare(&recording, &experiment, 1, &bar, stop_flag()?);
    bar.finish();
    if !done?.complete {
        return Ok(None);
    }
    let simulated = only(&folder.path().join("events"))?;
    let with_bar = |source: &Source, read: &dyn Fn(&Bar) -> Result<Facts, CaptureError>| {
        let bar = Bar::new(&source.wakeups(), false);
        let facts = read(&bar);
        bar.finish();
        facts
    };
    let recorded = with_bar(source, &|bar| Facts::of_captured(captured, source, bar))?;
    let all = CaptureOptions { machine: Some(machine), from_ns: None, window_ns: None, exact: false };
    let simulated = with_bar(&simulated, &|bar| Facts::of(&simulated, &all, bar))?;
    Ok(Some(fidelity(&recorded, &simulated, machine)))
}

fn comparisons(
    args: &Args,
    captured: &Captured,
    machine: &Machine,
    sides: &[Variant],
    simulator: &CachedSimulator,
) -> anyhow::Result<Vec<Comparison>> {
    let load = (f64::from(captured.load) * args.scale).round().max(1.0) as u32;
    let times = RunTimes { settle_ns: args.settle, time_ns: args.time };
    let stop = stop_flag()?;
    let mut found = Vec::new();
    for with in &sides[1..] {
        let mut experiment = experiment(captured, file(args), load, machine, [&sides[0], with], times)?;
        experiment.repeats = args.repeat.repeat.unwrap_or(REPEATS);
        let bar = RunBar::new();
        let compared = simulator
            .with(|runner| compare(runner, &experiment, args.jobs.jobs(), &bar, stop).map_err(|e| e.to_string()));
        bar.finish();
        found.push(compared.map_err(|error| anyhow::anyhow!("{error}"))?);
    }
    Ok(found)
}

fn file(args: &Args) -> &Path {
    args.workload.as_deref().unwrap_or(Path::new("captured.toml"))
}
