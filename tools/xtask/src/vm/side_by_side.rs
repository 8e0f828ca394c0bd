//! `cargo xtask vm side-by-side`: hackbench recorded beside hackbench simulated.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::wakelab;
use crate::programs::{Bad, folders, program_here, run as run_program, said, variable};

/// hackbench as a guest's kernel placed it and as the simulator does, on the same topology
///
/// Prints the page docs/evidence/side-by-side.md.
#[derive(clap::Args)]
pub struct Arguments {
    /// What `matrix` at SCALE 8 left of one guest of 4 cores with 2 threads each, with CPUs that run at once
    /// (6.12-1x1x4x2-multi-...: rec/hackbench is read); left out, such a guest is recorded
    folder: Option<PathBuf>,
}

/// Groups of hackbench, and descriptors of each.
const GROUPS: &str = "2";
const FDS: &str = "4";
/// Loops as hackbench had them, and as many as last about as long as the guest needed.
const SHORT: &str = "1600";
const LONG: &str = "48000";

/// Records, simulates, and prints the page.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let kernel = variable("WAKELAB_SIDE_KERNEL").unwrap_or_else(|| "6.12".to_owned());
    let wakelab = wakelab()?;
    let work = tempfile::Builder::new().prefix("wakelab-side-").tempdir()?;
    let recorded = work.path().join("recorded");
    if let Some(folder) = &arguments.folder {
        let hackbench = folder.join("rec/hackbench");
        if !hackbench.is_dir() {
            let folder = folder.display();
            bail!(Bad(format!("{folder} has no rec/hackbench\n  hint: name a folder of cargo xtask vm matrix")));
        }
        run_program(program_here("cp").arg("-r").arg(hackbench).arg(&recorded))?;
    } else {
        let mut guest = program_here("tools/vm/run");
        guest.args(["--kernel", &kernel, "--topology", "1x1x4x2", "--cpu-accel", "multi", "--get"]);
        guest.arg(format!("rec:{}", recorded.display()));
        guest.args(["--", "wakelab-record", "--workload", "hackbench", "-o", "rec", "--"]);
        guest.args(["hackbench", "-p", "-g", GROUPS, "-f", FDS, "-l", SHORT]).stdout(std::io::stderr());
        match run_program(&mut guest)? {
            0 => {}
            code => return Ok(code),
        }
    }
    let beside = |loops: &str, name: &str| -> Result<String> {
        fs::rename(simulate(&wakelab, work.path(), &kernel, loops)?, work.path().join(name))?;
        said(program_here(&wakelab).args(["stats", "recorded", name]).current_dir(work.path()))
    };
    let (short, long) = (beside(SHORT, "short")?, beside(LONG, "long")?);
    let page = include_str!("side_by_side.md");
    print!("{}", page.replace("{{kernel}}", &kernel).replace("{{short}}", &short).replace("{{long}}", &long));
    Ok(0)
}

/// Simulates so many loops: the folder with the events of the base side.
fn simulate(wakelab: &Path, work: &Path, kernel: &str, loops: &str) -> Result<PathBuf> {
    let experiment = format!(
        r#"name = "hackbench-of-a-guest"
machine = "test-8c"
kernel = "v{kernel}"
settle = "0ms"
time = "2s"

[[workload]]
name = "hackbench:process-pipe"
load = "{GROUPS}"
params = {{ fds = {FDS}, loops = {loops} }}

[variants]
base = ""
with = "NO_SIS_UTIL"
"#
    );
    let file = work.join(format!("{loops}.toml"));
    fs::write(&file, experiment)?;
    let events = work.join(loops);
    let mut run = program_here(wakelab);
    run.arg("run").arg(file).args(["--no-cache", "--events"]).arg(&events).stdout(Stdio::null());
    if run_program(&mut run)? != 0 {
        bail!("wakelab run failed");
    }
    let only = |folder: &Path| folders(folder)?.pop().with_context(|| format!("{} is empty", folder.display()));
    Ok(only(&only(&events)?)?.join("side=base"))
}
