//! wakelab: where Linux puts a waking task, and why.
//!
//! The command line: arguments are read here, progress and results are printed, and a command ends with its exit code.
//! It may use every room but `python`, and the libraries that a terminal takes. It computes no result: numbers come
//! from `study` or below, and their text from `report`.

mod cache;
mod commands;
mod completion;
mod embedded;
mod flags;
pub mod in_process;
mod out_file;
mod output;
mod progress;
mod signals;
mod sweep_folder;
mod sweep_table;

use clap::{CommandFactory, Parser};
use commands::Command;
use output::Voice;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;
use wakelab_input::files::Files;
use wakelab_study::runs::fence::worker;

/// Where Linux puts a waking task, and why.
///
/// `run` and `compare` simulate two feature sets of a kernel on a machine and compare them.
///
/// Recordings are decisions of real kernels with everything that the decision read; `explain`, `conform` and `replay`
/// make each decision again with wakelab's model of select_task_rq_fair(). `stats` counts what happened in them.
#[derive(Debug, Parser)]
#[command(name = "wakelab", version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES_LONG)]
struct Args {
    /// What to do.
    #[command(subcommand)]
    command: Command,
    /// Print errors only.
    ///
    /// No warnings, notes, hints and bars on stderr. What goes to stdout is the same.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 900)]
    quiet: bool,
    /// Print what is being done.
    ///
    /// Each run and file as it is done, and how long it all took, on stderr, in place of bars. What goes to stdout is
    /// the same.
    #[arg(short, long, global = true, display_order = 901)]
    verbose: bool,
}

// Tests run the examples of all help texts in a clone.
const EXAMPLES: &str = "\
Example: wakelab demo (`wakelab COMMAND -h` has one for each; --help has more)";

const EXAMPLES_LONG: &str = "\
Examples:
  wakelab demo                                            a first comparison
  wakelab run quickstart                                  what does a patch do?
  wakelab demo --recordings demo                          recordings, and what to ask of them: why on that CPU?

Exit codes:
  0    all is well
  1    a choice differs (conform), no row matches (explain), a simulated run failed, a scheduler failed (scx-check), or
       something is missing (doctor)
  2    bad input or arguments, or the output cannot be written; an error says which
  3    --fail-if holds
  130  Ctrl-C (143 SIGTERM, 129 SIGHUP); what was complete is printed

Results go to stdout, everything else to stderr. Colours are for terminals only, and none with NO_COLOR. `wakelab docs \
terminal` has the rules. `wakelab completions SHELL` prints completions, and `wakelab man FOLDER` writes manual pages.";

/// The commands and arguments of the program.
pub fn arguments() -> clap::Command {
    Args::command()
}

/// Runs the program with the arguments of this process. This is the whole of `wakelab`, for a program that brings a
/// search policy of its own ([`wakelab_sched::select::policy::register`]).
pub fn main() -> ExitCode {
    completion::complete();
    if let Err(error) = worker::begin() {
        return output::fail(&anyhow::Error::from(error));
    }
    cache::OWN_PROGRAM.store(true, Ordering::Relaxed);
    run(std::env::args_os())
}

/// Runs the program with these arguments, of which the first is the program's name.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(message) => return output::clap_message(&message),
    };
    let began = Instant::now();
    output::speak(match (args.quiet || worker::is_worker(), args.verbose) {
        (true, _) => Voice::Quiet,
        (_, true) => Voice::Verbose,
        _ => Voice::Usual,
    });
    wakelab_report::fit_tables(output::terminal_width(args.command.prints_to_file()));
    let result = signals::handle().map_err(anyhow::Error::from).and_then(|stop| {
        let _files = Files::begin(stop);
        args.command.run()
    });
    output::detail(format_args!("took {:.1} s", began.elapsed().as_secs_f64()));
    match result {
        Ok(exit) => exit.unless_interrupted().code(),
        Err(error) => output::fail(&error),
    }
}
