//! `scx_wakelab`: the published wake-up placement policies on a running kernel. docs/real-kernel.md describes its use.

mod ab;
mod args;
mod bpf_skel;
mod bpf_variables;
#[path = "../../record/src/capabilities.rs"]
mod capabilities;
#[path = "../../record/src/command.rs"]
#[allow(dead_code, reason = "shared with the recorder, which also needs the exit code of the command")]
mod command;
mod costs;
mod decision_rows;
mod domains;
mod exit;
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
#[path = "../../record/src/signals.rs"]
mod signals;
mod sis_param;
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
            messages::say(&format!("scx_wakelab: {error:#}"));
            ExitCode::from(1)
        }
    }
}
