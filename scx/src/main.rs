//! `scx_wakelab`: the published wake-up placement policies on a running kernel. docs/scx.md says how to use it.

mod ab;
mod args;
mod bpf_skel;
mod compare;
mod costs;
mod domains;
mod features;
mod groups;
mod hz;
mod machine;
mod messages;
mod recording;
mod refusal;
mod run;
mod scheduler;
mod server;
#[path = "../../study/src/statistics.rs"]
mod statistics;
mod stats;
mod wire;

use args::Args;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    match run::run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("scx_wakelab: {error:#}");
            ExitCode::from(1)
        }
    }
}
