//! `wakelab run`.

use super::simulate::{ResultFormat, SimulationFlags, deliver, prepare, simulate};
use crate::cache::CachedSimulator;
use crate::embedded;
use crate::flags::{RepeatFlag, SeedFlag};
use crate::output::{Exit, say_error, tell};
use crate::progress::RunBar;
use crate::signals::stop_flag;
use std::path::PathBuf;
use wakelab_report::ablation as report;
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::mechanisms::mechanisms;

pub const EXAMPLE: &str = "\
Example:
  wakelab run data/experiments/quickstart.toml";

/// `wakelab run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The experiment: a file (.toml) or a name (quickstart).
    ///
    /// A name is one of `wakelab list experiments`; a file of that name takes precedence. `wakelab docs compare`
    /// describes the file.
    #[arg(value_name = "EXPERIMENT", add = crate::completion::experiment())]
    pub file: PathBuf,
    /// How often.
    #[command(flatten)]
    repeat: RepeatFlag,
    /// The seed.
    #[command(flatten)]
    seed: SeedFlag,
    /// Switch mechanisms of the simulator off in turn.
    ///
    /// One at a time; prints what is lost without each (table or JSON).
    #[arg(long, conflicts_with_all = ["events", "perfetto", "control", "sensitivity", "regret", "html"])]
    ablate: bool,
    /// How it runs and prints.
    #[command(flatten)]
    pub simulation: SimulationFlags,
}

/// Simulates what the file describes.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    // The program's own files are needed until the end.
    let (path, unpacked) = embedded::experiment(&args.file)?;
    let mut spec = Spec::read(&path)?;
    spec.unpacked_to = unpacked.as_ref().map(|unpacked| unpacked.folder().to_owned());
    if let Some(repeat) = args.repeat.repeat {
        spec.repeats = Given::by_flag("--repeat", repeat);
    }
    if let Some(seed) = args.seed.seed {
        spec.seed = seed;
    }
    spec.lenient |= args.simulation.lenient.lenient;
    spec.schedulers = args.simulation.cache.schedulers();
    spec.regret = args.simulation.regret;
    if args.simulation.one_side {
        spec.variants.clear();
    }
    args.simulation.until.set(&mut spec);
    if args.ablate { ablate(&spec, &args.simulation) } else { simulate(&spec, &args.simulation) }
}

/// Simulates the experiment without each mechanism in turn.
fn ablate(spec: &Spec, flags: &SimulationFlags) -> anyhow::Result<Exit> {
    spec.only_two_sides()?;
    anyhow::ensure!(
        matches!(flags.format, ResultFormat::Table | ResultFormat::Json),
        "--format: --ablate prints a table or JSON; leave --format out, or give --format json"
    );
    let (matrix, out) = prepare(spec, flags)?;
    let block = &matrix.blocks[0];
    let (simulator, stop) = (CachedSimulator::open(&flags.cache)?, stop_flag());
    let found = simulator.with(|runner| {
        let bar = RunBar::new();
        let found = mechanisms(runner, block, flags.jobs.jobs(), &bar, stop);
        bar.finish();
        found
    });
    let found = match found {
        Ok(found) => found,
        Err(failed) => {
            say_error(failed);
            return Ok(Exit::RunFailed);
        }
    };
    let text = match flags.format {
        ResultFormat::Json => format!("{:#}\n", report::mechanisms_json(block, &found)),
        _ => report::mechanisms_text(block, &found),
    };
    deliver(out.as_ref(), &text, flags.format == ResultFormat::Json)?;
    if found.complete {
        return Ok(Exit::Done);
    }
    tell("interrupted: not all mechanisms were run");
    Ok(Exit::Interrupted)
}
