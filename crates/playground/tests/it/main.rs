//! The playground's runs, natively: steps and what is watched change nothing, and frames add up.

mod frames;
mod names;
mod steps;

use wakelab_playground::{Description, Finished, Problem, Run, Side};

/// A short run of netperf on eight CPUs.
fn netperf(load: &str, side: &str) -> Description {
    Description {
        machine: "test-8c".to_owned(),
        kernel: "v5.19-rc1".to_owned(),
        workload: "netperf:TCP_RR".to_owned(),
        load: load.to_owned(),
        side: side.to_owned(),
        seed: 1,
        settle: "60ms".to_owned(),
        time: "40ms".to_owned(),
    }
}

/// The result of a run that is made in steps which end at these times, ns.
fn run_in(description: &Description, steps: impl Iterator<Item = u64>) -> Result<Finished, Problem> {
    let side = Side::new(description)?;
    Run::with(&side, |mut run| {
        for at in steps {
            run.advance(at)?;
            run.frame();
        }
        run.advance(u64::MAX)?;
        run.finish()
    })?
}
