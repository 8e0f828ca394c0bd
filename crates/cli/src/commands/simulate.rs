//! What `wakelab run` and `wakelab compare` share: the flags of a simulation, and how it is run, printed and written.

use super::matrix::{fitted, only_what_has_room, simulate_matrix};
use super::trace::say_traced;
use super::trust::{self, TrustFlags, TrustResults};
use crate::cache::{CacheFlags, CachedSimulator};
use crate::flags::{HtmlFlag, JobsFlag, LenientFlag, OutFlag};
use crate::out_file::{OutFile, cause, claim, command_line};
use crate::output::{Exit, hint, print, print_as_is, say, say_error, say_warnings, tell};
use crate::progress::RunBar;
use crate::signals::stop_flag;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use wakelab_events::simulated::EventFolder;
use wakelab_report::compare as report;
use wakelab_report::numbers::thousands;
use wakelab_study::compare::{Block, Comparison, Matrix, Until, compare};
use wakelab_study::experiment::{Given, REPEATS_MAX, Spec};
use wakelab_study::fail_if::FailIf;
use wakelab_study::recordings::trace::TraceFolder;
use wakelab_study::runners::{EventWriter, Pictured, Pictures, serve_runs};
use wakelab_study::runs::Runner;
use wakelab_study::verdict::{JudgedRow, Verdict, verdict};

/// The flags of a simulation.
#[derive(Debug, clap::Args)]
pub struct SimulationFlags {
    /// Print table, lkml, json or csv.
    ///
    /// table: everything that was counted. lkml: the table of a posting, as schedtests prints it. json: as
    /// docs/results.schema.json describes it. csv: a line for each row.
    #[arg(long, value_enum, default_value_t = ResultFormat::Table, hide_possible_values = true)]
    pub format: ResultFormat,
    /// Where the result goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// The page.
    #[command(flatten)]
    pub html: HtmlFlag,
    /// Write every event as Parquet to this folder.
    ///
    /// Must be empty or new; `wakelab docs formats` describes the files.
    #[arg(long, value_name = "DIR")]
    pub events: Option<PathBuf>,
    /// Write Perfetto traces to this folder.
    ///
    /// The first repeat of each side: base.pftrace and with.pftrace; `wakelab docs page` describes them.
    #[arg(long, value_name = "DIR")]
    pub perfetto: Option<PathBuf>,
    /// Compare each search with perfect knowledge.
    ///
    /// Shows whether an idle CPU was worth having (table or JSON); `wakelab docs trust` explains how.
    #[arg(long)]
    pub regret: bool,
    /// How many runs at a time.
    #[command(flatten)]
    pub jobs: JobsFlag,
    /// How files of rt-app are read.
    #[command(flatten)]
    pub lenient: LenientFlag,
    /// The cache.
    #[command(flatten)]
    pub cache: CacheFlags,
    /// How sure the result is.
    #[command(flatten)]
    pub trust: TrustFlags,
    /// How long it is repeated.
    #[command(flatten)]
    pub until: UntilFlags,
    /// Print what would be simulated, and about how long it takes.
    #[arg(long, conflicts_with_all = ["html", "events", "perfetto"], hide_short_help = true)]
    pub dry_run: bool,
    /// Simulate a matrix of any size.
    ///
    /// Without it, more than 1,000 runs are refused.
    #[arg(long, hide_short_help = true)]
    pub yes: bool,
    /// Exit with 3 if this holds: 'worse > 2%'.
    ///
    /// worse: a row is worse by the verdict's rule. 'worse > N%': a row is worse by more than N%, and not by chance.
    /// 'not better': no row is better, or one is worse. Needs at least two repeats; `wakelab docs judge-a-patch` has
    /// recipes.
    #[arg(long, value_name = "CONDITION", hide_short_help = true)]
    pub fail_if: Option<FailIf>,
    /// Simulate the base only, in place of both sides.
    ///
    /// Of the package for Python (docs/python.md). A row has the base's numbers on both sides.
    #[arg(long, hide = true, conflicts_with_all = ["control", "sensitivity", "html", "fail_if"])]
    pub one_side: bool,
}

/// Until when each case is repeated.
#[derive(Debug, clap::Args)]
pub struct UntilFlags {
    /// Repeat until each 95% interval is within ±N%.
    ///
    /// Begins with --repeat runs of each side, then adds half as many, and so on. `wakelab docs trust` says what that
    /// does to intervals and p.
    #[arg(long, value_name = "N%", value_parser = Until::parse_half_width)]
    until: Option<f64>,
    /// With --until: repeat each case N times at most; 30 if left out.
    #[arg(long, value_name = "N", hide_short_help = true,
          value_parser = clap::value_parser!(u32).range(2..=i64::from(REPEATS_MAX)))]
    max_repeat: Option<u32>,
}

impl UntilFlags {
    /// Puts what the flags say in place of what the file says.
    pub fn set(&self, spec: &mut Spec) {
        if let Some(half_width_pct) = self.until {
            let most = spec.until.as_ref().map_or(Until::MOST, |until| until.value.most);
            spec.until = Some(Given::by_flag("--until", Until { half_width_pct, most }));
        }
        if let (Some(most), Some(until)) = (self.max_repeat, &mut spec.until) {
            *until = Given::by_flag("--max-repeat", Until { most, ..until.value });
        }
    }
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// The table of patch letters, as schedtests prints it.
    Lkml,
    /// Tables with everything that was counted.
    Table,
    /// JSON; docs/results.schema.json describes it.
    Json,
    /// A line for each row.
    Csv,
}

impl SimulationFlags {
    /// Claims all that it writes, before any of it is begun.
    ///
    /// # Errors
    /// Fails if an output is an input, or another output.
    pub fn claim_outputs(&self) -> anyhow::Result<()> {
        let folders = [("--events", &self.events), ("--perfetto", &self.perfetto)];
        let folders = folders.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)));
        let mut all = self.out.output().into_iter().chain(self.html.output()).chain(folders);
        all.try_for_each(|(flag, path)| claim(flag, path))
    }
}

/// Resolves the experiment and opens the output. After this, all input is known to be good, and the output to be
/// writable.
pub fn prepare(spec: &Spec, flags: &SimulationFlags) -> anyhow::Result<(Matrix, Option<OutFile>)> {
    let matrix = spec.resolve()?;
    serve_runs(&matrix.blocks);
    say_warnings(&matrix.warnings);
    if !spec.has_two_sides() {
        say_warnings(&fitted(&matrix));
    }
    flags.claim_outputs()?;
    let out = flags.out.open()?;
    Ok((matrix, out))
}

/// Simulates and prints two sides, or a matrix. Nothing is simulated before all input is known to be good and the
/// output to be writable.
pub fn simulate(spec: &Spec, flags: &SimulationFlags) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        flags.until.max_repeat.is_none() || spec.until.is_some(),
        "--max-repeat: has no effect without --until, which says how exact the intervals must be"
    );
    anyhow::ensure!(
        flags.fail_if.is_none() || spec.repeats.value > 1 || spec.until.is_some(),
        "--fail-if: one run per side cannot tell a difference from chance\n  hint: --repeat 3, or repeats in the file"
    );
    let two_sides = spec.has_two_sides();
    if two_sides {
        anyhow::ensure!(
            !flags.regret || matches!(flags.format, ResultFormat::Table | ResultFormat::Json),
            "--format: --regret prints a table or JSON; leave --format out, or give --format json"
        );
        trust::check(flags)?;
    } else {
        anyhow::ensure!(!flags.one_side, "one side is simulated on one machine and one kernel");
        only_what_has_room(flags)?;
    }
    let (matrix, out) = prepare(spec, flags)?;
    if flags.dry_run {
        let plan = CachedSimulator::open(&flags.cache)?.with(|runner| matrix.plan(runner));
        deliver(out.as_ref(), &report::matrix::plan(&matrix, &plan, flags.jobs.at_a_time()), false)?;
        return Ok(Exit::Done);
    }
    match &matrix.blocks[..] {
        [block] if two_sides => simulate_two_sides(spec, block, out.as_ref(), flags),
        _ => simulate_matrix(&matrix, out.as_ref(), flags),
    }
}

fn simulate_two_sides(
    spec: &Spec,
    block: &Block,
    out: Option<&OutFile>,
    flags: &SimulationFlags,
) -> anyhow::Result<Exit> {
    let plan = trust::plan(spec, block, flags)?;
    // From here on there are temporary files.
    let stop = stop_flag();
    let html = flags.html.open()?;
    let events = flags.events.as_deref().map(event_folder).transpose()?;
    let several = block.cases.len() > 1;
    let traces = flags.perfetto.as_deref().map(|path| trace_folder(path, several)).transpose()?;
    let simulator =
        if events.is_some() { CachedSimulator::without_cache() } else { CachedSimulator::open(&flags.cache)?.fenced() };
    let found = simulator.with(|runner| -> Result<_, String> {
        let recording = EventWriter { events: events.as_ref(), traces: traces.as_ref(), others: runner };
        let writes = events.is_some() || traces.is_some();
        let first: &dyn Runner = if writes { &recording } else { runner };
        let pictured = html.as_ref().map(|_| Pictured::new(first, writes.then_some(recording)));
        let watched: &dyn Runner = pictured.as_ref().map_or(first, |pictured| pictured);
        let bar = RunBar::new();
        let found = compare(watched, block, flags.jobs.jobs(), &bar, stop);
        bar.finish();
        let found = found.map_err(|failed| failed.to_string())?;
        let trust = trust::run_trust(runner, block, &found, flags, plan.as_ref(), stop)?;
        Ok((found, trust, pictured.map_or_else(Pictures::default, Pictured::found)))
    });
    let (found, trust, pictures) = match found {
        Ok(found) => found,
        Err(failed) => {
            say_error(failed);
            return Ok(Exit::RunFailed);
        }
    };
    let (done, all) = (found.rows.len(), block.cases.len());
    let mut failed = false;
    if done > 0 {
        let verdict = verdict(&found, trust.certainty());
        deliver(out, &render(&found, &verdict, &trust, flags.format), flags.format == ResultFormat::Json)?;
        if let Some(html) = html {
            html.write(wakelab_report::html::comparison(&found, &verdict, &pictures, &command_line()))?;
            if simulator.found_some() {
                say!("--html: the first repeat of each side was simulated again: the cache keeps no pictures of runs");
            }
            for why in pictures.unexplained() {
                say!("warning: --html: the page explains no wake-ups of some runs: {why}");
            }
        }
        if let Some(condition) = flags.fail_if {
            failed = condition.holds(&verdict);
            say_condition(condition, "", &verdict, failed);
        }
    }
    if let Some(traces) = &traces {
        say_traces(traces);
    }
    if let Some(path) = flags.events.as_deref().filter(|_| done > 0) {
        say_if_large("--events", path, size_of(path));
        hint(format_args!("wakelab stats {} counts what happened", path.display()));
    }
    if found.complete && trust.complete() {
        return Ok(if failed { Exit::Failed } else { Exit::Done });
    }
    tell(format_args!("interrupted: {done} of {all} rows are complete"));
    trust.say_incomplete();
    Ok(Exit::Interrupted)
}

/// Says on stderr which rows of a comparison, or of a variant, fail.
pub fn say_condition(condition: FailIf, variant: &str, verdict: &Verdict<'_>, failed: bool) {
    let of = if variant.is_empty() { String::new() } else { format!("{variant}: ") };
    for row in condition.rows(verdict) {
        let JudgedRow { machine, kernel, benchmark, case, load, compare_pct, .. } = row;
        let on = if variant.is_empty() { String::new() } else { format!(" on {machine} {kernel}") };
        say!("--fail-if {condition}: {of}{benchmark} {case} {load}{on}: {compare_pct:+.2}%");
    }
    // A row that is worse stays so; what is missing may be better.
    let decided = verdict.complete || condition.rows(verdict).next().is_some();
    let said = match failed {
        _ if !decided => "not decided, rows are missing",
        true => "fails",
        false => "passes",
    };
    say!("--fail-if {condition}: {of}{said}");
}

/// From this size on it is said how to write less, bytes: some ms of a busy machine of 100 CPUs.
const LARGE_BYTES: u64 = 64 << 20;

/// Says how to write less, if much was written.
fn say_if_large(flag: &str, path: &Path, bytes: u64) {
    if bytes >= LARGE_BYTES {
        say!(
            "note: {flag}: {} bytes in {}, with the events of settling. To write less, shorten --settle and --time \
             (settle and time in a file), or give one --workload at one --load",
            thousands(bytes),
            path.display()
        );
    }
}

/// The size of all files below a folder, bytes.
fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size_of(&entry.path()),
        _ => entry.metadata().map_or(0, |data| data.len()),
    });
    sizes.sum()
}

fn trace_folder(path: &Path, several: bool) -> anyhow::Result<TraceFolder> {
    claim("--perfetto", path)?;
    TraceFolder::new(path, several).map_err(|e| {
        let what = format!("--perfetto: {}: {}", path.display(), cause(&e));
        anyhow::anyhow!("{what}\n  hint: name a folder in one that exists and can be written")
    })
}

fn say_traces(folder: &TraceFolder) {
    for file in folder.files() {
        say_traced(&file.traced, &file.path);
    }
    say_if_large("--perfetto", folder.path(), folder.files().iter().map(|file| file.traced.written.bytes).sum());
}

fn event_folder(path: &Path) -> anyhow::Result<EventFolder> {
    claim("--events", path)?;
    EventFolder::new(path).map_err(|e| {
        anyhow::anyhow!("--events: {e}\n  hint: name a new or empty folder, in a folder that exists and can be written")
    })
}

/// Writes to the file, or to stdout; there text that is not JSON is made printable.
pub fn deliver(out: Option<&OutFile>, text: &str, is_json: bool) -> anyhow::Result<()> {
    match out {
        Some(file) => file.write(text)?,
        None if is_json => print_as_is(text)?,
        None => print(text)?,
    }
    Ok(())
}

fn render(found: &Comparison, verdict: &Verdict<'_>, trust: &TrustResults, format: ResultFormat) -> String {
    match format {
        ResultFormat::Lkml => report::lkml(found, verdict),
        ResultFormat::Table => report::table(found) + &trust.text(found) + &report::verdict_text(verdict),
        ResultFormat::Json => format!("{:#}\n", trust.add_json(report::json(found, verdict))),
        ResultFormat::Csv => report::csv(found, verdict),
    }
}
