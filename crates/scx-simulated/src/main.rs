//! `scx-simulated`: schedulers of sched_ext in the simulator, as `scx-live` runs them under a real kernel.
//! docs/real-kernel.md describes its use.
//!
//! `run` runs each load under each object in simulated time, and writes what was counted. `table` sets results of
//! `scx-live run` beside it. `decisions` simulates scx_wakelab alone, and writes what it records.
//!
//! It may use `sim`, `scx-loads` and `scx-decisions`. It never touches the kernel that it runs on.

mod decisions;
mod simulate;
mod table;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wakelab_scx_loads::{Load, Ran, Results, What, guest, opened};

#[derive(Parser)]
#[command(about = "Schedulers of sched_ext in the simulator, compared with runs under a real kernel")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Simulates the loads under each object
    Run(What),
    /// Simulates scx_wakelab and writes its decisions as `scx_wakelab --record` does: one recording for each machine
    Decisions {
        /// Its object, such as `wakelab compare --with scx:scx/src/bpf/main.bpf.c` leaves in its cache
        object: PathBuf,
        /// The folder to create
        out: PathBuf,
    },
    /// Compares results of `scx-live run` with one of `run`, as Markdown
    Table {
        /// The result of `run`
        simulated: PathBuf,
        /// Results of `scx-live run`, one for each boot
        #[arg(required = true)]
        live: Vec<PathBuf>,
        /// Exit with 1 if one of these differs: scheduler/load/quantity, `*` for any
        #[arg(long)]
        require: Vec<String>,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Run(what) => what.each(simulated).map(|()| ExitCode::SUCCESS),
        Command::Decisions { object, out } => opened(&object).and_then(|scheduler| decisions::record(scheduler, &out)),
        Command::Table { simulated, live, require } => compare(&simulated, &live, &require),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("scx-simulated: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn simulated(object: &Path, loads: &[Load]) -> Ran {
    let mut ran = Ran::default();
    let result = (|| {
        let (machine, kernel) = guest()?;
        let scheduler = opened(object)?;
        for load in loads {
            let workload = load.workload()?;
            let found = simulate::simulate(&scheduler, &machine, kernel, load, &workload, 1);
            ran.loads.insert(load.name.to_owned(), found.with_context(|| load.name.to_owned())?);
        }
        anyhow::Ok(())
    })();
    ran.failed = result.err().map(|error| format!("{error:#}"));
    ran
}

fn compare(simulated: &Path, live: &[PathBuf], require: &[String]) -> Result<ExitCode> {
    let read = |path: &Path| -> Result<Results> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    };
    let live = live.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let table = table::Table::of(&read(simulated)?, &live);
    print!("{}", table.markdown());
    let missed = table.missed(require);
    missed.iter().for_each(|miss| eprintln!("scx-simulated: {miss} differs"));
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
