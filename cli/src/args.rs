//! The command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;
use wakelab_kernel::Switches;
use wakelab_sched::select::Reason;
use wakelab_study::Assumed;
use wakelab_study::experiment::{REPEATS_MAX, TIME_MAX_NS, parse_time};
use wakelab_study::sensitivity::BUDGET_MAX;
use wakelab_study::stats::By;

/// Where Linux puts a waking task, and why.
///
/// `run` and `compare` simulate two feature sets of a kernel on a machine and set them against each other.
///
/// Recordings are decisions of real kernels with everything that the decision read; `explain`, `conform` and `replay` make
/// each decision again with wakelab's model of select_task_rq_fair(). `stats` counts what happened in them.
#[derive(Debug, Parser)]
#[command(name = "wakelab", version, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Simulate what an experiment file compares.
    ///
    /// Exits with 1 where a run fails, with 2 where the file is wrong, with 130 after Ctrl-C, which prints the rows that
    /// are complete.
    Run(Run),
    /// Simulate two feature sets of a kernel and compare them: an experiment from flags.
    ///
    /// Exits as `wakelab run` does.
    Compare(Compare),
    /// Simulate the published tables and say row by row how close that comes.
    ///
    /// Exits as `wakelab run` does.
    Reproduce(Reproduce),
    /// Count what a recording or a simulated run tells: reasons, searches, waits, migrations.
    ///
    /// Exits with 2 where something cannot be read; what could be read before is counted.
    Stats(Stats),
    /// Say of each recorded or simulated wake-up why its CPU was chosen.
    Explain(Explain),
    /// Compare the model's choices with the kernel's.
    ///
    /// Exits with 1 where a decision differs, with 2 where a file cannot be read. Rows whose state changed while the
    /// kernel decided are not compared.
    Conform(Conform),
    /// Make each recorded choice again with other features, on the state that was recorded.
    ///
    /// Exits with 2 where a file cannot be read, or lacks what the features read.
    Replay(Replay),
    /// Take the scheduler events of another recorder over as a recording: trace.dat, perf.data, Perfetto.
    ///
    /// Such a recording has waits and migrations for `wakelab stats`, and no states, so that no choice can be made again.
    Import(Import),
    /// Write a recording or a simulated run as a trace for another program: Perfetto.
    ///
    /// Exits with 2 where it cannot be read or written; there is no file then.
    Trace(Trace),
    /// Show the kernels that are known: features, tunables, forms of the code, with their sources.
    Kernel {
        /// What to show.
        #[command(subcommand)]
        command: Kernel,
    },
    /// Show the machines that are known, or write one from sysfs: topology, caches, costs, with their sources.
    Machine {
        /// What to do.
        #[command(subcommand)]
        command: Machine,
    },
    /// Print what lets a shell complete the arguments of wakelab.
    ///
    /// bash: `wakelab completions bash > ~/.local/share/bash-completion/completions/wakelab`
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the manual pages, made of the same text as `--help`, to a folder.
    Man {
        /// The folder, which exists: `man -l FOLDER/wakelab.1` shows the first of them.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Show the workloads that are known: what their tasks do, with their sources.
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
    /// The experiment (.toml); docs/experiments.md says what is in it.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Run each case so often on each side, in place of what the file says.
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeat: Option<u32>,
    /// Derive the seeds of the runs from this one, in place of what the file says.
    #[arg(long, value_name = "N", value_parser = seeds())]
    pub seed: Option<u64>,
    /// Run it instead with each mechanism of the simulator switched off in turn, and print what is lost (table or JSON).
    #[arg(long, conflicts_with_all = ["events", "control", "sensitivity", "regret", "html"])]
    pub ablate: bool,
    /// How it runs and prints.
    #[command(flatten)]
    pub how: How,
}

/// `wakelab compare`.
#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// The machine: a name of `wakelab machine list`, or its file.
    #[arg(long, value_name = "MACHINE")]
    pub machine: String,
    /// The kernel (v5.19-rc1), of `wakelab kernel list`.
    #[arg(long, value_name = "KERNEL")]
    pub kernel: String,
    /// The workload (netperf:TCP_RR), of `wakelab workload list`; or its file (.toml, or .json of rt-app).
    #[arg(long, value_name = "WORKLOAD")]
    pub workload: String,
    /// How many instances (28), % of the machine's CPUs (25%), from..to/step of either (25%..200%/25%), or several of
    /// these with commas. A file of rt-app says itself how many threads there are, and runs once if this is left out.
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
    /// What is switched on top of the kernel's features (A,NO_B as in its features file; "" for nothing): the 100%.
    #[arg(long, value_name = "SWITCHES")]
    pub base: String,
    /// What is switched on top of the kernel's features on the other side.
    #[arg(long, value_name = "SWITCHES")]
    pub with: String,
    /// Run each case so often on each side. One repeat gives no interval.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = repeats())]
    pub repeat: u32,
    /// Derive the seeds of the runs from this one.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seeds())]
    pub seed: u64,
    /// Measure for so long in simulated time (ns, us, ms, s); 1s, or what the benchmark takes, if left out.
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub time: Option<u64>,
    /// Simulate so long before measuring begins; 600ms, or what the benchmark takes, if left out.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub settle: Option<u64>,
    /// Let each call of select_idle_cpu() cost this much more, as under a tracer.
    #[arg(long, value_name = "NS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=TIME_MAX_NS))]
    pub observer_cost: u64,
    /// How it runs and prints.
    #[command(flatten)]
    pub how: How,
}

/// `wakelab reproduce`.
#[derive(Debug, ClapArgs)]
pub struct Reproduce {
    /// The tables (sis_util-results), as their files are called; all that are there if left out.
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// The folder of the tables; `published` if left out. Other rows of the same tables are simulated in the same way.
    #[arg(long, value_name = "DIR")]
    pub published: Option<PathBuf>,
    /// Simulate headline rows only, once and shortly.
    #[arg(long)]
    pub quick: bool,
    /// Run each case so often on each side.
    #[arg(long, value_name = "N", value_parser = repeats())]
    pub repeat: Option<u32>,
    /// Write the result to this file as one HTML page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = ScoreFormat::Table)]
    pub format: ScoreFormat,
    /// Write to this file, which appears only when it is whole, in place of stdout.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Run so many simulations at a time; as many as there are cores if left out. The result is the same.
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
    /// How to print.
    #[arg(long, value_enum, default_value_t = ResultFormat::Table)]
    pub format: ResultFormat,
    /// Write to this file, which appears only when it is whole, in place of stdout.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the result to this file as one HTML page, too: charts and tables, which no network is needed for.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write every event of every run as Parquet to this folder, which is empty or not there yet; docs/events.md says what
    /// is in it.
    #[arg(long, value_name = "DIR")]
    pub events: Option<PathBuf>,
    /// Compare each search with perfect knowledge, and say whether an idle CPU was worth having (table or JSON);
    /// docs/regret.md says how.
    #[arg(long)]
    pub regret: bool,
    /// Run so many simulations at a time; as many as there are cores if left out. The result is the same.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Let what the model has no meaning for pass in a file of rt-app, with a warning that says what is done instead.
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
    /// Run the base side against itself with other seeds too, and print one draw of what chance does (table or JSON).
    #[arg(long, conflicts_with = "events")]
    pub control: bool,
    /// Compare again with every assumed constant changed within its range, and say of each row whether its conclusion
    /// holds or what it depends on (table or JSON). docs/trust.md says how.
    #[arg(long, value_name = "METHOD", num_args = 0..=1, default_missing_value = "latin-hypercube",
          conflicts_with = "events")]
    pub sensitivity: Option<SensitivityMethod>,
    /// Make so many samples, 32 if left out. A greater budget makes only those that are new.
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
    /// Keep each finished run in this folder, and take it from there; `wakelab` in $XDG_CACHE_HOME or ~/.cache if left
    /// out. Runs that are recorded (--events) are always made.
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
    /// Write a machine file from sysfs to stdout: this machine, or a saved /sys tree.
    ///
    /// Costs are not in sysfs and are assumed. What a reader should know of the import goes to stderr and into the file.
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
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Show one.
    Show {
        /// Its name, or the path of its file (.toml, or .json of rt-app).
        name: String,
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
        /// Let what the model has no meaning for pass in a file of rt-app, with a warning.
        #[arg(long)]
        lenient: bool,
    },
}

/// `wakelab machine`.
#[derive(Debug, Subcommand)]
pub enum Show {
    /// List all of them.
    List {
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Show one.
    Show {
        /// Its name.
        name: String,
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
}

/// `wakelab stats`.
#[derive(Debug, ClapArgs)]
pub struct Stats {
    /// Recordings, or folders of them: of wakelab-record, CSV, or simulated (--events).
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Count besides by the wakee, its name, its CPU, or that CPU's last-level cache; several with commas.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = parts())]
    pub by: Vec<By>,
    /// Print so many lines of each of these tables; JSON has all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Write the result to this file as one HTML page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// `wakelab trace`.
#[derive(Debug, ClapArgs)]
pub struct Trace {
    /// A recording, or the folder of one, or that of one simulated run (--events).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write it to this file (out.pftrace), which ui.perfetto.dev and Perfetto's trace processor open.
    #[arg(long, value_name = "FILE")]
    pub perfetto: PathBuf,
}

/// `wakelab import`.
#[derive(Debug, ClapArgs)]
pub struct Import {
    /// The file: trace.dat of trace-cmd (version 6), perf.data, or a Perfetto trace.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The folder of the recording, which is empty or not there yet.
    #[arg(short, long, value_name = "FOLDER")]
    pub out: PathBuf,
}

/// `wakelab replay`.
#[derive(Debug, ClapArgs)]
pub struct Replay {
    /// Recordings, or folders of them.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What is switched on top of what was on (A,NO_B as in the kernel's features file).
    #[arg(long, value_name = "FEATURES")]
    pub with: Switches,
    /// Values for what a recording lacks (avg_idle=500us,avg_scan_cost=4us; wake_avg_idle), the same at each wake-up. They go
    /// before recorded ones.
    #[arg(long, value_name = "VALUES")]
    pub assume: Option<Assumed>,
    /// Write the result to this file as one HTML page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// `wakelab explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// Recordings or folders of them: of wakelab-record, simulated (--events), or CSV, each with the topo-*.json of its
    /// machine beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print the share of each reason, by kernel, load and flags, in place of the explanations.
    #[arg(long, conflicts_with_all = ["row", "reason", "limit", "at", "slowest"])]
    pub summary: bool,
    /// Explain the first decision from this time on, as explanations show times (52.298654), or --limit of them.
    #[arg(long, value_name = "SECONDS", value_parser = moment, conflicts_with = "row")]
    pub at: Option<u64>,
    /// Explain the N decisions after which the wakee waited longest until it ran, the longest first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000),
          conflicts_with_all = ["row", "at", "limit"])]
    pub slowest: Option<u32>,
    /// Explain only the row with this number (its `seq`).
    #[arg(long, value_name = "N")]
    pub row: Option<u64>,
    /// Explain only wake-ups of or by this task.
    #[arg(long, value_name = "P")]
    pub pid: Option<i64>,
    /// Explain only wake-ups of or by tasks of this name, as the kernel cuts it (15 bytes).
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// Explain only decisions with this reason.
    #[arg(long, value_name = "REASON", value_parser = reasons())]
    pub reason: Option<Reason>,
    /// Stop after this many explanations.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Explain what the kernel would have chosen with these features switched (A,NO_B as in its features file).
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
    /// Write the result to this file as one HTML page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// How to print: text, or JSON (an object for each row and line; one object for --summary).
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    pub format: TextFormat,
}

/// `wakelab conform`.
#[derive(Debug, ClapArgs)]
pub struct Conform {
    /// Recordings or folders of them: of wakelab-record, or CSV, each with the topo-*.json of its machine beside it.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Ask what these features (A,NO_B as in the kernel's features file) would have chosen on the same states.
    #[arg(long, value_name = "FEATURES")]
    pub with: Option<Switches>,
    /// How many of the rows that differ are explained.
    #[arg(long = "disagreements", visible_alias = "limit", value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Count instead how many decisions are lost when each rule and input of the model is made wrong in turn.
    #[arg(long, conflicts_with = "with")]
    pub ablate: bool,
    /// Write the result to this file as one HTML page, too.
    #[arg(long, value_name = "FILE", conflicts_with = "ablate")]
    pub html: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// `wakelab kernel`.
#[derive(Debug, Subcommand)]
pub enum Kernel {
    /// List all of them.
    List {
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
    /// Show one, or what differs between two.
    Show {
        /// The kernel (v6.12).
        name: String,
        /// Show only what differs in this kernel.
        #[arg(long, value_name = "OTHER")]
        diff: Option<String>,
        /// How to print.
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
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
    match parse_time(text)? {
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
