//! `wakelab demo`: a first comparison.

use super::simulate::{SimulationFlags, simulate};
use crate::embedded;
use crate::output::{Exit, print};
use clap::Parser;
use std::path::{Path, PathBuf};
use wakelab_study::experiment::Spec;

pub const EXAMPLE: &str = "\
Example:
  wakelab demo";

/// `wakelab demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write small recordings of real kernels here instead.
    ///
    /// One of Debian's 6.1 with switches (sis-prop-6.1) and one of 6.12 (6.12-C-hb.csv.gz), for `explain`, `waits`,
    /// `stats` and `replay`.
    #[arg(long, value_name = "DIR")]
    recordings: Option<PathBuf>,
}

/// Said before and after the table. It has no number of the result, which the table has.
const BEFORE: &str = "\
Simulates a few seconds of netperf TCP_RR on 112 Intel CPUs under Linux 5.19-rc1. SIS_PROP (the default up to 5.19) and
SIS_UTIL (since 6.0) limit the search for an idle CPU at each wake-up. `compare%` is what SIS_UTIL changes.

";

const AFTER: &str = "
 1  Each netperf client wakes its server and is woken by it. Each wake-up looks for an idle CPU near the last one.
 2  SIS_PROP probes as many CPUs as the average idle time of the searching CPU allows, at least four.
 3  SIS_UTIL reads the utilisation of all CPUs that share the cache, and probes fewer, or none, as they fill up.
 4  With as many threads as CPUs, idle CPUs are found at once, and no limit is reached: the first row.
 5  With twice as many, SIS_PROP still finds some CPU that is idle for a moment, and the task goes there.
 6  Each such move costs an idle exit and a cold cache, and leaves another CPU idle for a moment: tasks keep moving.
 7  SIS_UTIL gives up; tasks stay where they ran, wakers and wakees share a CPU, and nothing goes idle: the second row.
 8  The posting of June 2022 measured +197% there (`wakelab run quickstart` prints both).
 9  This is a simulation. `wakelab docs trust` says how far to trust it, `wakelab docs two-states` what happens.
10  Next: `wakelab docs first-comparison`; `wakelab demo --recordings DIR` writes wake-ups of real kernels to explain.
";

/// The flags as they are without any.
#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    flags: SimulationFlags,
}

/// Simulates the program's own experiment `demo`, and says what is seen.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.recordings {
        embedded::write_recordings(folder).map_err(|e| anyhow::anyhow!("--recordings: {e:#}"))?;
        print(&next_with(folder))?;
        return Ok(Exit::Done);
    }
    let (path, _unpacked) = embedded::own_experiment("demo")?;
    let spec = Spec::read(&path)?;
    // The letter's table is short enough for a first look.
    let Defaults { flags } = Defaults::parse_from(["demo", "--format", "lkml"]);
    print(BEFORE)?;
    let exit = simulate(&spec, &flags)?;
    if exit == Exit::Done {
        print(AFTER)?;
    }
    Ok(exit)
}

fn next_with(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let (csv, parquet, run) = (at("6.12-C-hb.csv.gz"), at("sis-prop-6.1"), at("production"));
    format!(
        "wakelab explain {csv} --row 23            why on that CPU?\n\
         wakelab replay {csv} --with NO_SIS_UTIL   what would it have been without SIS_UTIL?\n\
         wakelab waits {parquet} --over 500us      why did tasks wait?\n\
         wakelab stats {parquet}                   reasons, searches, waits, migrations\n\
         \n\
         A production load (simulated here): record it, and try other policies on it:\n\
         wakelab run production --events {run}   base, and with NO_SIS_UTIL\n\
         wakelab diff {run}/*/*/side=*           what differs between the two\n\
         wakelab whatif {run}/*/*/side=base --with SIS_SHORT   what would SIS_SHORT do?\n\
         wakelab survey {run}/*/*/side=base      which of all policies helps? (a minute)\n"
    )
}
