//! `wakelab survey`.

use super::capture::{self, CaptureFlags};
use super::matrix::{found, say_failed};
use super::simulate::deliver;
use super::trace::only;
use super::whatif::is_like_the_recording;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::completion;
use crate::flags::{self, HtmlFlag, JobsFlag, OutFlag, RepeatFlag, SeedFlag, TableOrCsv};
use crate::out_file::command_line;
use crate::output::{Exit, hint, say, say_error, say_warnings, tell};
use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wakelab_input::{parse_duration, parse_wall_time};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_report::compare::matrix as table;
use wakelab_report::survey as report;
use wakelab_study::capture::{Captured, recorded_side};
use wakelab_study::compare::{Matrix, MatrixComparison, Variant};
use wakelab_study::experiment::{AddedSide, Given, NamedSide, Spec};
use wakelab_study::runners::serve_runs;
use wakelab_study::survey::{CAPTURED, Surveyed, THIS_MACHINE, loads, policies, ranking};
use wakelab_study::verdict::{Verdict, matrix_verdicts};

pub const EXAMPLE: &str = "\
Example:
  wakelab survey --machine test-8c --kernel v6.12 --quick";

/// `wakelab survey`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A recording, an import, or the folder of one simulated run.
    ///
    /// Its load is captured and simulated in place of the standard loads.
    #[arg(value_name = "RECORDING")]
    recording: Option<PathBuf>,
    /// The machine: a name from `machine list`, or a file.
    ///
    /// The default is this machine, imported from sysfs with assumed costs; for a recording, the one that was recorded.
    #[arg(long, value_name = "MACHINE", add = completion::machine())]
    machine: Option<String>,
    /// A name from `kernel list`.
    ///
    /// The default is the preset that stands for the running kernel, or for the recorded one.
    #[arg(long, value_name = "KERNEL", add = completion::kernel())]
    kernel: Option<String>,
    /// Switch these on all sides, on top of the kernel's features: A,NO_B.
    #[arg(long, value_name = "SWITCHES", add = completion::switches(), conflicts_with = "recording")]
    base: Option<Switches>,
    /// Also try these switches, or this sched_ext scheduler: A,NO_B or scx:NAME. May be repeated.
    #[arg(long, value_name = "SIDE", add = completion::switches())]
    with: Vec<AddedSide>,
    /// Try only these switches, or this scheduler. May be repeated.
    #[arg(long, value_name = "SIDE", add = completion::switches(), conflicts_with = "with")]
    only: Vec<AddedSide>,
    /// Simulate fewer loads: takes seconds to a minute.
    #[arg(long, conflicts_with = "recording")]
    quick: bool,
    /// Take about so much CPU time: 10m.
    ///
    /// All runs together; the measured time of each is set by it, from 20 ms to 1 s. If left out, 100 ms, and of a
    /// recording as long as it is, up to 1 s.
    #[arg(long, value_name = "TIME", value_parser = parse_wall_time)]
    budget: Option<Duration>,
    /// Survey even if the captured load is not like the recording.
    #[arg(long, requires = "recording", hide_short_help = true)]
    anyway: bool,
    /// Begin this long after the first event of the recording.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "recording", hide_short_help = true)]
    from: Option<u64>,
    /// Capture this much of the recording.
    #[arg(long, value_name = "TIME", value_parser = super::compare::positive_time, requires = "recording",
          hide_short_help = true)]
    window: Option<u64>,
    /// How often.
    #[command(flatten)]
    repeat: RepeatFlag,
    /// The seed.
    #[command(flatten)]
    seed: SeedFlag,
    /// Print table, json or csv.
    #[arg(long, value_enum, default_value_t = TableOrCsv::Table, hide_possible_values = true)]
    format: TableOrCsv,
    /// Where the result goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// The page.
    #[command(flatten)]
    html: HtmlFlag,
    /// Print what would be simulated, and about how long it takes.
    #[arg(long, conflicts_with = "html")]
    dry_run: bool,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The cache.
    #[command(flatten)]
    cache: CacheFlags,
}

/// Simulated before measuring begins, ns: the ramp of the standard loads is over, and of two states the one that stays
/// has been reached.
const SETTLE_NS: u64 = 60_000_000;
/// The measured time, ns, if there is no budget.
const TIME_NS: u64 = 100_000_000;
/// The ends of the measured time with a budget, ns.
const TIMES_NS: (u64, u64) = (20_000_000, 1_000_000_000);
/// The longest measured time of a captured load without a budget, ns.
const CAPTURED_MOST_NS: u64 = 1_000_000_000;

/// Before measuring begins, and the measured time without a budget, ns. What a captured load does again and again was
/// seen several times in the window that it was captured from, so that it is measured for as long.
fn times(captured: Option<&Captured>) -> (u64, u64) {
    captured.map_or((SETTLE_NS, TIME_NS), |captured| {
        (super::whatif::SETTLE_NS, captured.window_ns.1.clamp(TIME_NS, CAPTURED_MOST_NS))
    })
}

/// What is surveyed.
struct Subject {
    machine: Machine,
    /// The name or path that the user gave; that of the machine itself if there is none.
    machine_name: String,
    kernel: &'static Preset,
    base: Switches,
    captured: Option<Captured>,
}

/// Simulates all policies on all loads.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let subject = match &args.recording {
        Some(recording) => recorded(args, recording)?,
        None => standing(args)?,
    };
    let Some(subject) = subject else { return Ok(Exit::RunFailed) };
    let matrix = matrix(args, &subject)?;
    serve_runs(&matrix.blocks);
    say_warnings(&matrix.warnings);
    let out = args.out.open()?;
    let plan = CachedSimulator::open(&args.cache)?.with(|runner| matrix.plan(runner));
    let plan = table::plan(&matrix, &plan, args.jobs.at_a_time());
    if args.dry_run {
        deliver(out.as_ref(), &plan, false)?;
        return Ok(Exit::Done);
    }
    let html = args.html.open()?;
    hint(plan.lines().last().unwrap_or_default());
    let Some(found) = found(&matrix, &args.cache, &args.jobs)? else { return Ok(Exit::RunFailed) };
    let verdicts = matrix_verdicts(&found);
    if found.lines() > 0 || !found.failed.is_empty() {
        let next = next(args, &subject, &matrix, &found, &verdicts);
        let text = match args.format {
            TableOrCsv::Table => report::text(&found, &verdicts, next.as_deref()),
            TableOrCsv::Json => format!("{:#}\n", report::json(&found, &verdicts)),
            TableOrCsv::Csv => table::csv(&found, &verdicts),
        };
        deliver(out.as_ref(), &text, args.format == TableOrCsv::Json)?;
    }
    if let Some(html) = html.filter(|_| found.lines() > 0) {
        html.write(wakelab_report::html::survey(&found, &verdicts, &command_line()))?;
    }
    say_failed(&found);
    if found.complete {
        return Ok(if found.failed.is_empty() { Exit::Done } else { Exit::RunFailed });
    }
    let all = matrix.blocks[0].cases.len();
    tell(format_args!(
        "interrupted: {} of {all} loads are complete; run the same command again to continue",
        found.lines()
    ));
    Ok(Exit::Interrupted)
}

/// A machine with the standard loads.
fn standing(args: &Args) -> anyhow::Result<Option<Subject>> {
    let machine = match &args.machine {
        Some(name) => wakelab_machine::get(name).context("--machine")?,
        None => {
            let imported = wakelab_machine::import(Path::new("/sys"), THIS_MACHINE)
                .map_err(|error| anyhow::anyhow!("{error}\n  hint: --machine names one of `wakelab machine list`"))?;
            say!(
                "surveys this machine as sysfs describes it; its costs are assumed, `wakelab calibrate` measures them"
            );
            imported.file.machine
        }
    };
    let kernel = match &args.kernel {
        Some(name) => flags::preset(Some("--kernel"), name)?,
        None => running_kernel()?,
    };
    let machine_name = args.machine.clone().unwrap_or_else(|| THIS_MACHINE.to_owned());
    let base = args.base.clone().unwrap_or_default();
    Ok(Some(Subject { machine, machine_name, kernel, base, captured: None }))
}

/// The preset that stands for the kernel that runs here.
fn running_kernel() -> anyhow::Result<&'static Preset> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    let preset = Preset::of_release(release).map_err(|error| {
        anyhow::anyhow!("--kernel: the running kernel: {error}\n  hint: choose the nearest preset with --kernel")
    })?;
    if let Some(note) = preset.stands_for(release) {
        say!("{note}");
    }
    Ok(preset)
}

/// What was recorded; `None` if it is not simulated as it was.
fn recorded(args: &Args, recording: &Path) -> anyhow::Result<Option<Subject>> {
    let name = recording.to_string_lossy();
    ensure!(
        recording.exists() || !wakelab_machine::names().contains(&&*name),
        "{name}: there is no such recording, but there is a machine of this name\n  hint: wakelab survey --machine \
        {name}"
    );
    let source = only(recording)?;
    let flags = CaptureFlags { machine: args.machine.clone(), from: args.from, window: args.window };
    let Some(machine) = capture::machine(&source, &flags)? else {
        bail!(
            "--machine: the recording is of a machine that is not known here; give its file\n  \
             hint: run `wakelab machine import` or `wakelab calibrate` on it to write its file"
        );
    };
    let kernel = args.kernel.as_deref().map(|name| flags::preset(Some("--kernel"), name)).transpose()?;
    let side = recorded_side(&source, &machine, kernel)?;
    let captured = capture::captured(&source, &flags, Some(&machine), false)?;
    let variant = Variant::on(&machine, side.kernel, &side.switches)?;
    let Some(alike) = is_like_the_recording(&source, &captured, &machine, &variant)? else { return Ok(None) };
    if !alike && !args.anyway {
        say_error(
            "the captured load does not behave like the recording, so no policy was compared\n  hint: `wakelab \
             whatif` says which rows differ; --anyway compares anyway",
        );
        return Ok(None);
    }
    let machine_name = args.machine.clone().unwrap_or_else(|| machine.name.clone());
    Ok(Some(Subject { machine, machine_name, kernel: side.kernel, base: side.switches, captured: Some(captured) }))
}

fn matrix(args: &Args, subject: &Subject) -> anyhow::Result<Matrix> {
    let Subject { machine, machine_name, kernel, base, captured } = subject;
    let own = |side: &AddedSide| NamedSide::new(side.to_string(), Given::by_flag("--with", side.on(base).to_string()));
    let mut variants: Vec<NamedSide> = args.only.iter().chain(&args.with).map(own).collect();
    if args.only.is_empty() {
        for policy in policies(machine, kernel, base) {
            if variants.iter().all(|own| own.name != policy.name) {
                let switches = Given::by_default("policies", policy.switches.to_string());
                variants.push(NamedSide::new(policy.name, switches));
            }
        }
    }
    ensure!(!variants.is_empty(), "{} has no policy that can be switched", kernel.name);
    let workloads = workloads(args, subject);
    let given = |flag, value: &str| Given::by_flag(flag, value.to_owned());
    let names = [given("--machine", machine_name), given("--kernel", kernel.name)];
    let mut spec = Spec::of_sides("survey", names, &workloads, given("--base", &base.to_string()), variants)?;
    let (settle_ns, time_ns) = times(captured.as_ref());
    spec.schedulers = args.cache.schedulers();
    spec.settle_ns = Given::by_default("settle", settle_ns);
    spec.time_ns = Given::by_default("time", time_ns);
    if let Some(repeat) = args.repeat.repeat {
        spec.repeats = Given::by_flag("--repeat", repeat);
    }
    if let Some(seed) = args.seed.seed {
        spec.seed = seed;
    }
    let catalogue = Surveyed { machine: Some(machine.clone()), captured: captured.clone() };
    let mut matrix = spec.resolve_from(&catalogue)?;
    if let Some(budget) = args.budget {
        let all_ns = budget.as_secs_f64() / matrix.cpu_s_per_simulated_s() * 1e9;
        let time_ns = (all_ns as u64).saturating_sub(settle_ns).clamp(TIMES_NS.0, TIMES_NS.1);
        // Whole milliseconds are easier to repeat by hand.
        matrix.blocks.iter_mut().for_each(|block| block.time_ns = time_ns / 1_000_000 * 1_000_000);
    }
    Ok(matrix)
}

/// The command that looks at the best policy with other seeds; `None` if all are worse than the base, or if loads are
/// missing.
fn next(
    args: &Args,
    subject: &Subject,
    matrix: &Matrix,
    found: &MatrixComparison,
    verdicts: &[Verdict<'_>],
) -> Option<String> {
    if !found.complete {
        return None;
    }
    let (ranked, _) = ranking(found, verdicts);
    let best = ranked.iter().find(|one| found.variants[one.variant] != "SIS_ORACLE" && one.mean.pct > 0.0)?;
    let variant = best.variant;
    let block = &matrix.blocks[0];
    let seed = (block.seed + 1).to_string();
    let mut words: Vec<String> = vec!["wakelab".to_owned()];
    let mut say = |flag: &str, value: &str| words.extend([flag.to_owned(), value.to_owned()]);
    if let Some(recording) = &args.recording {
        say("whatif", &recording.display().to_string());
        if let Some(machine) = &args.machine {
            say("--machine", machine);
        }
        say("--with", &found.variants[variant]);
    } else {
        // Of the machine itself, this is the file that was written by the command before.
        let machine = args.machine.clone().unwrap_or_else(|| format!("{THIS_MACHINE}.toml"));
        words.push("compare".to_owned());
        let mut say = |flag: &str, value: &str| words.extend([flag.to_owned(), value.to_owned()]);
        say("--machine", &machine);
        say("--kernel", subject.kernel.name);
        for (name, load) in workloads(args, subject) {
            say("--workload", &name);
            say("--load", &load);
        }
        say("--base", &block.base.label);
        say("--with", &block.variants[variant].label);
        say("--settle", &format!("{}ms", block.settle_ns / 1_000_000));
        say("--time", &format!("{}ms", block.time_ns / 1_000_000));
    }
    words.extend(["--repeat".to_owned(), "5".to_owned(), "--seed".to_owned(), seed]);
    let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
    Some(match (&args.recording, &args.machine) {
        (None, None) => format!("wakelab machine import --name {THIS_MACHINE} >{THIS_MACHINE}.toml\n  {line}"),
        _ => line,
    })
}

/// The workloads with their loads.
fn workloads(args: &Args, subject: &Subject) -> Vec<(String, String)> {
    if let Some(captured) = &subject.captured {
        return vec![(CAPTURED.to_owned(), captured.load.to_string())];
    }
    let of_machine = loads(subject.machine.topology.nr_cpus(), args.quick);
    of_machine.into_iter().map(|(name, load)| (name.to_owned(), load)).collect()
}
