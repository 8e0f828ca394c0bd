//! wakelab: where Linux puts a waking task, and why.

mod args;
mod commands;
mod examples;
mod html;
mod interrupt;
mod kept;
mod out_file;
mod output;
mod progress;

use args::{Args, Command, Machine, Report, Show, Workload};
use clap::Parser;
use output::Voice;
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

/// Does what the program's arguments say: the whole of `wakelab`, for a program that brings a search policy of its own along
/// ([`wakelab_sched::select::policy::register`]).
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// The same with these arguments, of which the first is the program's name. Bad ones and `--help` end the process.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let args = Args::parse_from(args);
    let began = Instant::now();
    output::speak(match (args.quiet, args.verbose) {
        (true, _) => Voice::Quiet,
        (_, true) => Voice::Verbose,
        _ => Voice::Usual,
    });
    wakelab_report::fit_tables(output::terminal_width(&args.command));
    let result = match args.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Compare(args) => commands::compare::run(&args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Stats(args) => commands::stats::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Conform(args) => commands::conform::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Trace(args) => commands::trace::run(&args),
        Command::Completions { shell } => commands::help::completions(shell),
        Command::Man { folder } => commands::help::man(&folder),
        Command::Report { command: Report::Open { file } } => commands::report::open(&file),
        Command::Kernel { command } => commands::kernel::run(&command),
        Command::Machine { command } => match command {
            Machine::Show(Show::List { format }) => commands::machine::list(format),
            Machine::Show(Show::Show { name, format }) => commands::machine::show(&name, format),
            Machine::Import { sysfs, name } => commands::machine::import(&sysfs, &name),
        },
        Command::Workload { command } => match command {
            Workload::List { format } => commands::workload::list(format),
            Workload::Show { name, format, lenient } => commands::workload::show(&name, format, lenient),
        },
    };
    output::detail(format_args!("took {:.1} s", began.elapsed().as_secs_f64()));
    match result {
        Ok(exit) => exit.code(),
        Err(error) => output::fail(&error),
    }
}
