//! `wakelab run`.

use super::compare::{deliver, prepare, simulate};
use crate::args::{How, ResultFormat, Run};
use crate::interrupt::stop_flag;
use crate::kept::KeptRuns;
use crate::output::Exit;
use crate::progress::RunBar;
use wakelab_report::ablation as report;
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::mechanisms::mechanisms;

/// Simulates what a file says.
pub fn run(args: &Run) -> anyhow::Result<Exit> {
    let mut spec = Spec::read(&args.file)?;
    if let Some(repeat) = args.repeat {
        spec.repeats = Given::by_flag("--repeat", repeat);
    }
    if let Some(seed) = args.seed {
        spec.seed = seed;
    }
    spec.lenient |= args.how.lenient;
    spec.regret = args.how.regret;
    if args.ablate { ablate(&spec, &args.how) } else { simulate(&spec, &args.how) }
}

/// Simulates it without each mechanism in turn.
fn ablate(spec: &Spec, how: &How) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        matches!(how.format, ResultFormat::Table | ResultFormat::Json),
        "--format: --ablate prints a table or JSON; leave --format out, or give --format json"
    );
    let (experiment, out) = prepare(spec, how)?;
    let (kept, stop) = (KeptRuns::open(&how.kept)?, stop_flag()?);
    let found = kept.with(|runner| {
        let bar = RunBar::new();
        let found = mechanisms(runner, &experiment, how.jobs(), &bar, stop);
        bar.finish();
        found
    });
    let found = match found {
        Ok(found) => found,
        Err(failed) => {
            eprintln!("error: {failed}");
            return Ok(Exit::RunFailed);
        }
    };
    let text = match how.format {
        ResultFormat::Json => format!("{:#}\n", report::mechanisms_json(&experiment, &found)),
        _ => report::mechanisms_text(&experiment, &found),
    };
    deliver(out.as_ref(), &text)?;
    if found.complete {
        return Ok(Exit::Done);
    }
    eprintln!("interrupted: not all mechanisms were run");
    Ok(Exit::Interrupted)
}
