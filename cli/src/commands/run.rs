//! `wakelab run`.

use super::compare::simulate;
use crate::args::Run;
use crate::output::Exit;
use wakelab_study::experiment::{Given, Spec};

/// Simulates what a file says.
pub fn run(args: &Run) -> anyhow::Result<Exit> {
    let mut spec = Spec::read(&args.file)?;
    if let Some(repeat) = args.repeat {
        spec.repeats = Given::by_flag("--repeat", repeat);
    }
    if let Some(seed) = args.seed {
        spec.seed = seed;
    }
    simulate(&spec, &args.how)
}
