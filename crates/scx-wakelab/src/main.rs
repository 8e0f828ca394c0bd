//! `scx_wakelab`: the published wake-up placement policies on a running kernel. docs/real-kernel.md describes its use.
//!
//! It may use `sched` for the scheduling domains, `scx-decisions` for what it records, and libbpf-rs. The policies are
//! in `src/bpf`, under the kernel's names; the program loads them, passes on flags, and prints what they count. It
//! never simulates, and leaves nothing loaded when it ends.

mod ab;
mod args;
mod bpf_skel;
mod bpf_variables;
mod costs;
mod exit;
mod groups;
mod hz;
mod machine;
mod messages;
mod recording;
mod refusal;
mod run;
mod scheduler;
mod server;
mod sis_param;
mod stats;

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
