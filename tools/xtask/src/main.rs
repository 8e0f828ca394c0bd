//! What is done to this repository that takes more than a few lines of shell: its tests, its measurements, its
//! comparisons with kernels, its releases. `cargo xtask --help` has all.
//!
//! Each task is a file. A task says itself what is wrong; its number is the exit code: 1 if something was found, 2 for
//! bad input or something missing, 77 if it was not run, as automake's tests have it.

mod bench;
mod programs;
mod test;
mod vm;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "What is done to this repository", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs the tests; `./test --help` says more
    #[command(disable_help_flag = true)]
    Test {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measures and compares builds
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Holds the model against kernels in guests
    #[command(subcommand)]
    Vm(vm::Vm),
    /// Runs one step of the tests, in this process
    #[command(hide = true)]
    Step { name: String },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test { arguments } => test::run(&arguments),
        Task::Bench(what) => bench::bench(what),
        Task::Vm(what) => vm::vm(what),
        Task::Step { name } => test::step(&name),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::from(if error.is::<programs::Bad>() { 2 } else { 1 })
        }
    }
}
