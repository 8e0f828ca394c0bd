//! wakelab: where Linux puts a waking task, and why.

mod args;
mod commands;
mod output;
mod progress;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match args.command {
        Command::Explain(args) => commands::explain::run(&args),
        Command::Conform(args) => commands::conform::run(&args),
        Command::Kernel { command } => commands::kernel::run(&command),
    };
    match result {
        Ok(exit) => exit.code(),
        Err(error) => output::fail(&error),
    }
}
