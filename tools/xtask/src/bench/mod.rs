//! What is measured of the programs: instructions, the same bytes of all builds, a build with a profile.

pub mod instructions;
mod pgo;
pub mod same_bytes;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Subcommand;

use crate::programs::{program, root, run, variable};

#[derive(Subcommand)]
pub enum Bench {
    Instructions(instructions::Arguments),
    /// Compares every event of some runs between the dev and the release profile
    SameBytes,
    Pgo(pgo::Arguments),
}

/// Runs what is named.
pub fn bench(what: Bench) -> Result<u8> {
    match what {
        Bench::Instructions(arguments) => instructions::run(&arguments),
        Bench::SameBytes => same_bytes::run(),
        Bench::Pgo(arguments) => pgo::run(arguments),
    }
}

/// Builds the examples that are measured, in the release profile: the folder that has them. It is one build: cargo
/// chooses features of libraries by what is built with them, and would build them anew for each.
fn examples() -> Result<PathBuf> {
    let mut build = program("cargo");
    build.args(["build", "--quiet", "--locked", "--release", "--examples"]);
    build.args(
        ["wakelab-sched", "wakelab-sim", "wakelab-scx-bpf", "wakelab-perfetto"].iter().flat_map(|name| ["-p", name]),
    );
    if run(&mut build)? != 0 {
        bail!("the examples cannot be built");
    }
    Ok(root().join(variable("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned())).join("release/examples"))
}
