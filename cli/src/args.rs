//! The command line.

use crate::examples;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;
use wakelab_input::{DURATION_MAX_NS, parse_duration};
use wakelab_kernel::Switches;
use wakelab_sched::select::Reason;
use wakelab_study::AssumedInputs;
use wakelab_study::experiment::REPEATS_MAX;
use wakelab_study::sensitivity::BUDGET_MAX;
use wakelab_study::stats::By;

/// Where Linux puts a waking task, and why.
///
/// `run` and `compare` simulate two feature sets of a kernel on a machine and set them against each other.
///
/// Recordings are decisions of real kernels with everything that the decision read; `explain`, `conform` and `replay` make
/// each decision again with wakelab's model of select_task_rq_fair(). `stats` counts what happened in them.
#[derive(Debug, Parser)]
#[command(name = "wakelab", version, arg_required_else_help = true, after_help = examples::ALL,
          after_long_help = examples::ALL_LONG)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say errors only.
    ///
    /// No warnings, notes, hints and bars on stderr. What goes to stdout is the same.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 900)]
    pub quiet: bool,
    /// Say what is being done.
    ///
    /// Each run and file as it is done, and how long it all took, on stderr, in place of bars. What goes to stdout is the same.
    #[arg(short, long, global = true, display_order = 901)]
    pub verbose: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate what an experiment file compares.
    ///
    /// Exits with 1 where a run fails, with 2 where the file is wrong, with 130 after Ctrl-C, which prints the rows that
    /// are complete.
    #[command(after_help = examples::RUN)]
    Run(Run),
    /// Simulate two feature sets of a kernel and compare them.
    ///
    /// It is an experiment from flags. Exits as `wakelab run` does.
    #[command(after_help = examples::COMPARE, override_usage = examples::COMPARE_USAGE)]
    Compare(Compare),
    /// Simulate published tables and say how close that comes.
    ///
    /// Exits as `wakelab run` does.
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(Reproduce),
    /// Count reasons, searches, waits and migrations.
    ///
    /// Exits with 2 where something cannot be read; what could be read before is counted.
    #[command(after_help = examples::STATS)]
    Stats(Stats),
    /// Say of each wake-up why its CPU was chosen.
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Compare the model's choices with the kernel's.
    ///
    /// Exits with 1 where a decision differs, with 2 where a file cannot be read. Rows whose state changed while the
    /// kernel decided are not compared.
    #[command(after_help = examples::CONFORM)]
    Conform(Conform),
    /// Make recorded choices again with other features.
    ///
    /// Exits with 2 where a file cannot be read, or lacks what the features read.
    #[command(after_help = examples::REPLAY)]
    Replay(Replay),
    /// Take over what trace-cmd, perf or Perfetto recorded.
    ///
    /// Such a recording has waits and migrations for `wakelab stats`, and no states, so that no choice can be made again.
    #[command(after_help = examples::IMPORT)]
    Import(Import),
    /// Write a recording or a simulated run as a Perfetto trace.
    ///
    /// Exits with 2 where it cannot be read or written; there is no file then.
    #[command(after_help = examples::TRACE)]
    Trace(Trace),
    /// Show kernels: features, tunables, forms of the code.
    #[command(after_help = examples::KERNEL)]
    Kernel {
        /// What to show.
        #[command(subcommand)]
        command: Kernel,
    },
    /// Show machines, or write one from sysfs.
    #[command(after_help = examples::MACHINE)]
    Machine {
        /// What to do.
        #[command(subcommand)]
        command: Machine,
    },
    /// Print what lets a shell complete arguments.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// bash, elvish, fish, powershell or zsh.
        #[arg(value_enum, hide_possible_values = true)]
        shell: Shell,
    },
    /// Write the manual pages to a folder.
    ///
    /// They are made of the same text as `--help`.
    #[command(after_help = examples::MAN)]
    Man {
        /// The folder, which exists.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Show workloads: what their tasks do, with sources.
    #[command(after_help = examples::WORKLOAD)]
    Workload {
        /// What to show.
        #[command(subcommand)]
        command: Workload,
    },
    /// Look at a page that --html wrote.
    Report {
        /// What to do.
        #[command(subcommand)]
        command: Report,
    },
}

/// `wakelab report`.
#[derive(Debug, Subcommand)]
pub enum Report {
    /// Open it in the browser.
    ///
    /// Exits with 2 where it is no page, or no program is found that opens it.
    Open {
        /// The page (report.html).
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// `wakelab run`.
#[derive(Debug, ClapArgs)]
pub struct Run {
    /// The experiment (.toml).
    ///
    /// docs/experiments.md says what is in it.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Run each case so often on each side.
    ///
    /// In place of what the file says.
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeat: Option<u32>,
    /// Derive the seeds of the runs from this one.
    ///
    /// In place of what the file says.
    #[arg(long, value_name = "N", value_parser = seeds())]
    pub seed: Option<u64>,
    /// Switch mechanisms of the simulator off in turn.
    ///
    /// Each alone, and print what is lost with it (table or JSON).
    #[arg(long, conflicts_with_all = ["events", "perfetto", "control", "sensitivity", "regret", "html"])]
    pub ablate: bool,
    /// How it runs and prints.
    #[command(flatten)]
    pub how: How,
}

/// `wakelab compare`.
#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// A name of `machine list`, or a file.
    ///
    /// What has a / or ends in .toml is a file; docs/machines.md says what is in it.
    #[arg(long, value_name = "MACHINE")]
    pub machine: String,
    /// A name of `kernel list` (v5.19-rc1).
    #[arg(long, value_name = "KERNEL")]
    pub kernel: String,
    /// A name of `workload list`, or a file.
    ///
    /// netperf:TCP_RR; or a .toml of docs/workloads.md, or a .json of rt-app.
    #[arg(long, value_name = "WORKLOAD")]
    pub workload: String,
    /// Instances: 28, 25% or 25%..200%/25%.
    ///
    /// How many (28), % of the machine's CPUs (25%), from..to/step of either (25%..200%/25%), or several of
    /// these with commas. A file of rt-app says itself how many threads there are, and runs once if this is left out.
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
    /// Features of the side that is 100%: A,NO_B.
    ///
    /// What is switched on top of the kernel's features, as in its features file, and tunables (name=value); "" for nothing.
    #[arg(long, value_name = "SWITCHES")]
    pub base: String,
    /// Features of the other side.
    #[arg(long, value_name = "SWITCHES")]
    pub with: String,
    /// Run each case so often on each side.
    ///
    /// One repeat gives no interval.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repeats())]
    pub repeat: u32,
    /// Derive the seeds of the runs from this one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seeds())]
    pub seed: u64,
    /// Measure for so long: 1s, 500ms.
    ///
    /// In simulated time (ns, us, ms, s); 1s, or what the benchmark takes, if left out.
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub time: Option<u64>,
    /// Simulate so long before measuring.
    ///
    /// 600ms, or what the benchmark takes, if left out.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub settle: Option<u64>,
    /// Let each select_idle_cpu() cost this more.
    ///
    /// As under a tracer.
    #[arg(long, value_name = "NS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=DURATION_MAX_NS))]
    pub observer_cost: u64,
    /// How it runs and prints.
    #[command(flatten)]
    pub how: How,
}

/// `wakelab reproduce`.
#[derive(Debug, ClapArgs)]
pub struct Reproduce {
    /// Tables (sis_util-results); all if left out.
    ///
    /// As their files are called.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The folder of the tables; `published` if left out.
    ///
    /// Other rows of the same tables are simulated in the same way.
    #[arg(long, value_name = "DIR")]
    pub published: Option<PathBuf>,
    /// Simulate headline rows only, once and shortly.
    #[arg(long)]
    pub quick: bool,
    /// Run each case so often on each side.
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeat: Option<u32>,
    /// Also write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print a table, json or markdown.
    #[arg(long, value_enum, default_value_t = ScoreFormat::Table, hide_possible_values = true)]
    pub format: ScoreFormat,
    /// Write to this file in place of stdout.
    ///
    /// It appears only when it is whole.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Run so many simulations at a time.
    ///
    /// As many as there are cores if left out. The result is the same.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Which results are kept.
    #[command(flatten)]
    pub kept: Kept,
}

/// How to print a scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScoreFormat {
    /// For a terminal.
    Table,
    /// For programs.
    Json,
    /// A page, misses first: docs/validation.md.
    Markdown,
}

/// What `run` and `compare` share.
#[derive(Debug, ClapArgs)]
pub struct How {
    /// Print table, lkml, json or csv.
    ///
    /// table: everything that was counted. lkml: the table of patch letters, as schedtests prints it. json: as
    /// docs/results.schema.json describes it. csv: a line for each row.
    #[arg(long, value_enum, default_value_t = ResultFormat::Table, hide_possible_values = true)]
    pub format: ResultFormat,
    /// Write to this file in place of stdout.
    ///
    /// It appears only when it is whole.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write one HTML page, too.
    ///
    /// Charts and tables, which no network is needed for.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write every event as Parquet to this folder.
    ///
    /// It is empty or not there yet; docs/events.md says what is in it.
    #[arg(long, value_name = "DIR")]
    pub events: Option<PathBuf>,
    /// Write Perfetto traces to this folder.
    ///
    /// The first repeat of each side: base.pftrace and with.pftrace; docs/trace.md says what is in them.
    #[arg(long, value_name = "DIR")]
    pub perfetto: Option<PathBuf>,
    /// Compare each search with perfect knowledge.
    ///
    /// And say whether an idle CPU was worth having (table or JSON); docs/regret.md says how.
    #[arg(long)]
    pub regret: bool,
    /// Run so many simulations at a time.
    ///
    /// As many as there are cores if left out. The result is the same.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Let unknown parts of a file of rt-app pass.
    ///
    /// With a warning that says what is done instead.
    #[arg(long)]
    pub lenient: bool,
    /// Which results are kept.
    #[command(flatten)]
    pub kept: Kept,
    /// How sure the result is.
    #[command(flatten)]
    pub trust: Trust,
}

impl How {
    /// Simulations at a time; 0 for as many as there are cores.
    pub fn jobs(&self) -> usize {
        self.jobs.unwrap_or(0) as usize
    }
}

/// How sure a result is.
#[derive(Debug, ClapArgs)]
pub struct Trust {
    /// Run the base side against itself, too.
    ///
    /// With other seeds: one draw of what chance does (table or JSON).
    #[arg(long, conflicts_with = "events")]
    pub control: bool,
    /// Change all assumed constants, too.
    ///
    /// Compare again with every assumed constant changed within its range, and say of each row whether its conclusion holds or
    /// what it depends on (table or JSON): latin-hypercube, all at once, or one-at-a-time. docs/trust.md says how.
    #[arg(long, value_name = "METHOD", num_args = 0..=1, default_missing_value = "latin-hypercube",
          hide_possible_values = true, conflicts_with = "events")]
    pub sensitivity: Option<SensitivityMethod>,
    /// Make so many samples, 32 if left out.
    ///
    /// A greater budget makes only those that are new.
    #[arg(long, value_name = "N", requires = "sensitivity", value_parser = budgets())]
    pub budget: Option<u32>,
}

/// How constants are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SensitivityMethod {
    /// All at once.
    LatinHypercube,
    /// Each alone, at both ends of its range.
    OneAtATime,
}

/// Which results are kept.
#[derive(Debug, ClapArgs)]
pub struct Kept {
    /// Keep finished runs in this folder.
    ///
    /// And take them from there; `wakelab` in $XDG_CACHE_HOME or ~/.cache if left out. Runs that are written down (--events,
    /// --perfetto) are always made.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Make every run, and keep none.
    #[arg(long, conflicts_with_all = ["cache", "fresh"])]
    pub no_cache: bool,
    /// Make every run, and replace what was kept.
    #[arg(long)]
    pub fresh: bool,
}

/// `wakelab machine`.
#[derive(Debug, Subcommand)]
pub enum Machine {
    /// List them, or show one.
    #[command(flatten)]
    Show(Show),
    /// Write a machine file from sysfs to stdout.
    ///
    /// Of this machine, or of a saved /sys tree. Costs are not in sysfs and are assumed. What a reader should know of the import
    /// goes to stderr and into the file.
    /// Exits with 2, writing nothing, where a file is missing or files contradict each other. docs/machines.md says what
    /// is read.
    Import {
        /// The /sys tree.
        #[arg(long, value_name = "DIR", default_value = "/sys")]
        sysfs: PathBuf,
        /// What the machine is to be called.
        #[arg(long, value_name = "NAME", default_value = "imported")]
        name: String,
    },
}

/// `wakelab workload`.
#[derive(Debug, Subcommand)]
pub enum Workload {
    /// List all of them.
    List {
        /// Print a table or json.
        #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
        format: TableFormat,
    },
    /// Show one.
    Show {
        /// Its name, or its file (.toml, or .json of rt-app).
        name: String,
        /// Print a table or json.
        #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
        format: TableFormat,
        /// Let unknown parts of a file of rt-app pass.
        ///
        /// With a warning.
        #[arg(long)]
        lenient: bool,
    },
}

/// `wakelab machine`.
#[derive(Debug, Subcommand)]
pub enum Show {
    /// List all of them.
    List {
        /// Print a table or json.
        #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
        format: TableFormat,
    },
    /// Show one.
    Show {
        /// Its name.
        name: String,
        /// Print a table or json.
        #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
        format: TableFormat,
    },
}

/// `wakelab stats`.
#[derive(Debug, ClapArgs)]
pub struct Stats {
    /// Recordings, or folders of them.
    ///
    /// Of wakelab-record, CSV, or simulated (--events).
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Count by comm, task, cpu or llc; several with commas.
    ///
    /// Besides: by the wakee's name, the wakee, its CPU, or that CPU's last-level cache.
    #[arg(long, value_name = "WHAT", hide_possible_values = true, value_delimiter = ',', value_parser = parts())]
    pub by: Vec<By>,
    /// Print so many lines of each of these.
    ///
    /// JSON has all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Also write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print a table or json.
    #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
    pub format: TableFormat,
}

/// `wakelab trace`.
#[derive(Debug, ClapArgs)]
pub struct Trace {
    /// A recording, or the folder of one or of one run.
    ///
    /// The folder of a simulated run is one of those below that of --events.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write it to this file (out.pftrace).
    ///
    /// ui.perfetto.dev and Perfetto's trace processor open it.
    #[arg(long, value_name = "FILE")]
    pub perfetto: PathBuf,
}

/// `wakelab import`.
#[derive(Debug, ClapArgs)]
pub struct Import {
    /// A trace.dat, perf.data or Perfetto trace.
    ///
    /// trace.dat of trace-cmd is of version 6.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The folder to write, empty or not there yet.
    #[arg(short, long, value_name = "FOLDER")]
    pub out: PathBuf,
}

/// `wakelab replay`.
#[derive(Debug, ClapArgs)]
pub struct Replay {
    /// Recordings, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Features (A,NO_B) on top of what was on.
    ///
    /// As in the kernel's features file.
    #[arg(long, value_name = "FEATURES")]
    pub with: Switches,
    /// Values that a recording lacks (avg_idle=500us).
    ///
    /// avg_idle, avg_scan_cost (4us) and wake_avg_idle, with commas, the same at each wake-up. They go before recorded ones.
    #[arg(long, value_name = "VALUES")]
    pub assume: Option<AssumedInputs>,
    /// Also write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print a table or json.
    #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
    pub format: TableFormat,
}

/// `wakelab explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// Recordings, or folders of them.
    ///
    /// Of wakelab-record, simulated (--events), or CSV, each with the topo-*.json of its machine beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the share of each reason instead.
    ///
    /// By kernel, load and flags.
    #[arg(long, conflicts_with_all = ["row", "reason", "limit", "at", "slowest"])]
    pub summary: bool,
    /// Explain the first decision from then on.
    ///
    /// A time as explanations show it (52.298654); or --limit of them.
    #[arg(long, value_name = "SECONDS", value_parser = moment, conflicts_with = "row")]
    pub at: Option<u64>,
    /// Explain the N after which wakees waited longest.
    ///
    /// Until they ran, the longest first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000),
          conflicts_with_all = ["row", "at", "limit"])]
    pub slowest: Option<u32>,
    /// Explain only the row with this number (its `seq`).
    #[arg(long, value_name = "N")]
    pub row: Option<u64>,
    /// Explain only wake-ups of or by this task.
    #[arg(long, value_name = "P")]
    pub pid: Option<i64>,
    /// Explain only wake-ups of or by tasks of this name.
    ///
    /// As the kernel cuts it (15 bytes).
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// Explain only decisions with this reason (limit).
    ///
    /// docs/explain.md lists them.
    #[arg(long, value_name = "REASON", hide_possible_values = true, value_parser = reasons())]
    pub reason: Option<Reason>,
    /// Stop after this many explanations.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Explain as if these features were switched (A,NO_B).
    ///
    /// As in the kernel's features file.
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
    /// Also write the result as an HTML page.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print text or json.
    ///
    /// json: an object for each row and line; one object for --summary.
    #[arg(long, value_enum, default_value_t = TextFormat::Text, hide_possible_values = true)]
    pub format: TextFormat,
}

/// `wakelab conform`.
#[derive(Debug, ClapArgs)]
pub struct Conform {
    /// Recordings, or folders of them.
    ///
    /// Of wakelab-record, or CSV, each with the topo-*.json of its machine beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Ask what these features (A,NO_B) would have chosen.
    ///
    /// On the same states; features as in the kernel's features file.
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
    /// How many of the rows that differ are explained.
    #[arg(long = "disagreements", visible_alias = "limit", value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Count what each rule and input of the model is worth.
    ///
    /// Instead: how many decisions are lost when it is made wrong.
    #[arg(long, conflicts_with = "with")]
    pub ablate: bool,
    /// Also write the result as an HTML page.
    #[arg(long, value_name = "FILE", conflicts_with = "ablate")]
    pub html: Option<PathBuf>,
    /// Print a table or json.
    #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
    pub format: TableFormat,
}

/// `wakelab kernel`.
#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// List all of them.
    List {
        /// Print a table or json.
        #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
        format: TableFormat,
    },
    /// Show one, or what differs between two.
    Show {
        /// The kernel (v6.12).
        name: String,
        /// Show only what differs in this kernel.
        #[arg(long, value_name = "OTHER")]
        diff: Option<String>,
        /// Print a table or json.
        #[arg(long, value_enum, default_value_t = TableFormat::Table, hide_possible_values = true)]
        format: TableFormat,
    },
}

/// Text or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// Sentences.
    Text,
    /// JSON.
    Json,
}

/// A table or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// A table.
    Table,
    /// JSON.
    Json,
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

/// Numbers of repeats.
fn repeats() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=i64::from(REPEATS_MAX))
}

/// Numbers of samples.
fn budgets() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=BUDGET_MAX as i64)
}

/// Seeds, as far as experiment files can hold them.
fn seeds() -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(..=i64::MAX as u64)
}

/// A time that is not 0.
fn positive_time(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        0 => Err("expected more than 0, such as 1s".to_owned()),
        ns => Ok(ns),
    }
}

/// A moment in seconds, as ns.
fn moment(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time; expected seconds as explanations show them: 52.298654");
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

/// What statistics are counted by.
fn parts() -> impl TypedValueParser<Value = By> {
    PossibleValuesParser::new(By::ALL.map(By::name))
        .map(|name| By::ALL.into_iter().find(|by| by.name() == name).expect("only these names are let through"))
}

/// The reasons by name, so that help and errors list them.
fn reasons() -> impl TypedValueParser<Value = Reason> {
    PossibleValuesParser::new(Reason::ALL.map(Reason::name))
        .map(|name| Reason::from_name(&name).expect("only names of reasons are let through"))
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
