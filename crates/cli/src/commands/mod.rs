//! The commands. Each file has the arguments of its command, its help, and its code: arguments in, studies run, reports
//! out.

mod calibrate;
mod capture;
mod compare;
mod conform;
mod demo;
mod diff;
pub mod docs;
mod doctor;
mod explain;
mod fit;
mod help;
mod import;
mod kernel;
mod list;
mod machine;
mod matrix;
mod playground;
mod replay;
mod report;
mod reproduce;
mod run;
mod score;
mod scx_check;
mod simulate;
mod stats;
mod survey;
mod sweep;
mod trace;
mod trust;
mod verify;
mod waits;
mod whatif;
mod workload;

use crate::out_file::command_line;
use crate::output::Exit;
use anyhow::Context;
use clap::Subcommand;
use std::path::PathBuf;
use wakelab_events::ReadError;
use wakelab_kernel::Switches;
use wakelab_report::html::Read;
use wakelab_study::recordings::machines;
use wakelab_study::{Decider, FileOutcome};

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a first comparison, and explain it.
    ///
    /// Takes seconds: SIS_PROP against SIS_UTIL on 112 CPUs, and ten lines that explain the result. Exits like `wakelab
    /// run`.
    #[command(after_help = demo::EXAMPLE)]
    Demo(demo::Args),
    /// Simulate what an experiment compares.
    ///
    /// Exits with 1 if a run fails, with 2 if the file is wrong, with 130 after Ctrl-C, which prints the rows that are
    /// complete.
    #[command(after_help = run::EXAMPLE)]
    Run(run::Args),
    /// Simulate feature sets or kernels and compare them.
    ///
    /// An experiment made of flags: two sides, or any number of machines, kernels, workloads and sides. Exits like
    /// `wakelab run`.
    #[command(after_help = compare::EXAMPLE, override_usage = compare::USAGE)]
    Compare(compare::Args),
    /// Try all policies on standard loads of a machine, and rank them.
    ///
    /// Which switch helps where, and which hurts: on this machine, a machine file, or a recorded load. Takes minutes
    /// for up to 16 CPUs, and continues from the cache after an interruption. Exits like `wakelab run`.
    #[command(after_help = survey::EXAMPLE)]
    Survey(survey::Args),
    /// Give a candidate one number on a panel of machines and loads.
    ///
    /// Its geometric mean over all rows, in %, alone on stdout: what an optimiser maximises. Exits like `wakelab run`.
    #[command(after_help = score::EXAMPLE)]
    Score(score::Args),
    /// Look for stalls, errors and unfairness of a sched_ext scheduler.
    ///
    /// Runs workloads drawn at random, and prints the smallest workload that shows each kind of failure.
    /// Exits with 1 if something was found, with 2 if the scheduler cannot be loaded, with 130 after Ctrl-C.
    #[command(after_help = scx_check::EXAMPLE)]
    ScxCheck(scx_check::Args),
    /// Run a whole space of machines, loads and tunables.
    ///
    /// Writes Parquet to a folder, continues after an interruption, and can run on a Ray cluster. Exits with 2 if the
    /// sweep is wrong; failed runs are rows, too.
    #[command(after_help = sweep::EXAMPLE)]
    Sweep(sweep::Args),
    /// Set two results or two recordings side by side.
    ///
    /// What was run differently comes first. Exits with 2 if one cannot be read, with 3 if --fail-if holds.
    #[command(after_help = diff::EXAMPLE)]
    Diff(diff::Args),
    /// Simulate published tables and show how close they come.
    ///
    /// Exits like `wakelab run`.
    #[command(after_help = reproduce::EXAMPLE)]
    Reproduce(reproduce::Args),
    /// Fit a machine to what was measured on it.
    ///
    /// Uses numbers measured without a patch: levels over load, search statistics, idle time. Comparisons on the fitted
    /// machine are predictions, and say for how many of the machines that fit they hold. Exits like `wakelab run`.
    #[command(after_help = fit::EXAMPLE)]
    Fit(fit::Args),
    /// Measure this machine, and write its costs to a file.
    ///
    /// The topology comes from sysfs, the costs from microbenchmarks: ordinary system calls of pinned threads, without
    /// root or BPF. A constant is the value with which the simulated microbenchmark takes the measured time. Takes a
    /// minute; run it while nothing else runs. `wakelab docs your-machine` has the equations.
    #[command(after_help = calibrate::EXAMPLE)]
    Calibrate(calibrate::Args),
    /// Run loads here, and compare them with their simulation.
    ///
    /// On the machine that `wakelab calibrate` measured: throughput, switches, migrations and latencies of loads from a
    /// quarter to twice the CPUs, and a verdict. Exits with 0 whatever the verdict is.
    #[command(after_help = verify::EXAMPLE)]
    Verify(verify::Args),
    /// Do a part of a measurement.
    #[command(hide = true, name = calibrate::PART)]
    MeasurePart(calibrate::PartArgs),
    /// Count reasons, searches, waits and migrations.
    ///
    /// Exits with 2 if something cannot be read; what could be read before is counted.
    #[command(after_help = stats::EXAMPLE)]
    Stats(stats::Args),
    /// Show why tasks waited: behind whom, and who was idle.
    ///
    /// Needs context switches. Exits with 2 if something cannot be read; what could be read before is counted.
    #[command(after_help = waits::EXAMPLE)]
    Waits(waits::Args),
    /// Explain for each wake-up why its CPU was chosen.
    ///
    /// Exits with 1 if no row matches, with 2 if a file cannot be read.
    #[command(after_help = explain::EXAMPLE)]
    Explain(explain::Args),
    /// Compare the model's choices with the kernel's.
    ///
    /// Exits with 1 if a decision differs, with 2 if a file cannot be read. Rows whose state changed while the kernel
    /// decided are not compared.
    #[command(after_help = conform::EXAMPLE)]
    Conform(conform::Args),
    /// Make recorded choices again with other features.
    ///
    /// Exits with 2 if a file cannot be read, or lacks what the features read.
    #[command(after_help = replay::EXAMPLE)]
    Replay(replay::Args),
    /// Import traces of trace-cmd, perf or Perfetto.
    ///
    /// The import has waits and migrations for `wakelab stats`. Traces lack the state that decisions read, so choices
    /// cannot be made again.
    #[command(after_help = import::EXAMPLE)]
    Import(import::Args),
    /// Turn a recording into a workload.
    ///
    /// It says how much each task computes, who wakes whom, and how long timers let tasks sleep. `compare` and every
    /// other command that simulates takes it. Exits with 2 if the recording cannot be read.
    #[command(after_help = capture::EXAMPLE)]
    Capture(capture::Args),
    /// Simulate a recorded load under another policy.
    ///
    /// Captures the load, simulates it as recorded, which shows how far to trust the answer, and then as asked. Exits
    /// with 1 if the simulation is not like the recording, with 2 if the recording cannot be read.
    #[command(after_help = whatif::EXAMPLE)]
    Whatif(whatif::Args),
    /// Write a recording or a simulated run as a Perfetto trace.
    ///
    /// Exits with 2 if it cannot be read or written, and leaves no file.
    #[command(after_help = trace::EXAMPLE)]
    Trace(trace::Args),
    /// List machines, kernels, workloads, features, and more.
    #[command(after_help = list::EXAMPLE)]
    List(list::Args),
    /// Show kernels: features, tunables, forms of the code.
    #[command(after_help = kernel::EXAMPLE)]
    Kernel {
        /// What to show.
        #[command(subcommand)]
        command: kernel::Args,
    },
    /// Show machines, or write one from sysfs.
    #[command(after_help = machine::EXAMPLE)]
    Machine {
        /// What to do.
        #[command(subcommand)]
        command: machine::Args,
    },
    /// Print pages of the book, or write all of them.
    ///
    /// The book is part of the program. Exits with 2 if there is no such page.
    #[command(after_help = docs::EXAMPLE)]
    Docs(docs::Args),
    /// Write the simulator as a page for a browser.
    ///
    /// One file, index.html, which needs no network: CPUs, searches and the two states of a run as they happen, with
    /// sliders for the load and for SIS_UTIL's limit. Exits with 2 if it cannot be written.
    #[command(after_help = playground::EXAMPLE)]
    Playground(playground::Args),
    /// Show what works here, and what to install.
    ///
    /// Checks simulating, the recorder, the sched_ext scheduler, guests, the browser and CTF, one line each. Nothing is
    /// loaded, attached or started. Exits with 0 if everything asked for works, with 1 if not.
    #[command(after_help = doctor::EXAMPLE)]
    Doctor(doctor::Args),
    /// Print the completion script of a shell.
    #[command(after_help = help::COMPLETIONS_EXAMPLE, hide = true)]
    Completions(help::CompletionsArgs),
    /// Write the manual pages to a folder.
    ///
    /// They have the same text as `--help`.
    #[command(after_help = help::MAN_EXAMPLE, hide = true)]
    Man(help::ManArgs),
    /// Show workloads: what their tasks do, with sources.
    #[command(after_help = workload::EXAMPLE)]
    Workload {
        /// What to show.
        #[command(subcommand)]
        command: workload::Args,
    },
    /// Open a page that --html wrote.
    #[command(hide = true)]
    Report {
        /// What to do.
        #[command(subcommand)]
        command: report::Args,
    },
}

impl Command {
    /// Runs the command.
    pub fn run(&self) -> anyhow::Result<Exit> {
        match self {
            Command::Demo(args) => demo::run(args),
            Command::List(args) => list::run(args),
            Command::Docs(args) => docs::run(args),
            Command::Playground(args) => playground::run(args),
            Command::Doctor(args) => doctor::run(args),
            Command::Run(args) => run::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Survey(args) => survey::run(args),
            Command::Score(args) => score::run(args),
            Command::ScxCheck(args) => scx_check::run(args),
            Command::Sweep(args) => sweep::run(args),
            Command::Diff(args) => diff::run(args),
            Command::Reproduce(args) => reproduce::run(args),
            Command::Fit(args) => fit::run(args),
            Command::Calibrate(args) => calibrate::run(args),
            Command::Verify(args) => verify::run(args),
            Command::MeasurePart(args) => calibrate::part(args),
            Command::Stats(args) => stats::run(args),
            Command::Waits(args) => waits::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Conform(args) => conform::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Import(args) => import::run(args),
            Command::Capture(args) => capture::run(args),
            Command::Whatif(args) => whatif::run(args),
            Command::Trace(args) => trace::run(args),
            Command::Kernel { command } => kernel::run(command),
            Command::Machine { command } => machine::run(command),
            Command::Completions(args) => help::completions(args),
            Command::Man(args) => help::man(args),
            Command::Workload { command } => workload::run(command),
            Command::Report { command } => report::run(command),
        }
    }

    /// Whether what it prints goes to a file that a flag names.
    pub fn prints_to_file(&self) -> bool {
        match self {
            Command::Run(args) => args.simulation.out.out.is_some(),
            Command::Compare(args) => args.simulation.out.out.is_some(),
            Command::Survey(args) => args.out.out.is_some(),
            Command::Score(args) => args.out.out.is_some(),
            Command::Diff(args) => args.out.out.is_some(),
            Command::Reproduce(args) => args.out.out.is_some(),
            Command::Whatif(args) => args.out.out.is_some(),
            _ => false,
        }
    }
}

/// Returns the decider for the features of `--with`.
fn decider(with: Option<&Switches>) -> anyhow::Result<Decider> {
    match with {
        None => Ok(Decider::as_recorded()),
        Some(switches) => Decider::with(switches.clone())
            .context("--with")
            .map_err(|e| e.context_hint("`wakelab kernel show NAME` lists the features of a kernel")),
    }
}

/// Calls `then` with what a page says of its sources: `sources` of them, with decisions in `files`.
fn with_read<T>(sources: usize, files: &[PathBuf], errors: &[ReadError], then: impl FnOnce(&Read<'_>) -> T) -> T {
    let (command, machines) = (command_line(), machines(files));
    then(&Read { command: &command, files: sources, machines: &machines, errors })
}

/// The errors of listing the files, then those of reading them, in order.
fn all_errors(mut listing: Vec<ReadError>, outcomes: Vec<FileOutcome<()>>) -> Vec<ReadError> {
    listing.extend(outcomes.into_iter().filter_map(|outcome| outcome.error));
    listing
}

/// How a command ends: an input that cannot be read comes before what was found in the others.
fn exit(errors: &[ReadError], found: Exit) -> Exit {
    if errors.is_empty() { found } else { Exit::BadInput }
}

/// Adds the next step to an error.
trait Hint {
    fn context_hint(self, hint: &str) -> Self;
}

impl Hint for anyhow::Error {
    fn context_hint(self, hint: &str) -> Self {
        anyhow::anyhow!("{self:#}\n  hint: {hint}")
    }
}
