//! Follows every task through the events of runs (`wakelab run ... --events DIR`) and prints what cannot be: a task
//! that is lost, on two CPUs, where it may not be, or woken while it runs; time that does not add up. With the
//! workload's file it also knows quotas, reservations, the work of a transaction, and which CPUs are offline.
//! `check_conservation DIR [WORKLOAD.toml]` exits with 1 if it finds such a thing.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use wakelab_testing::amounts::Limits;
use wakelab_testing::conservation;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, workload) = match &arguments[..] {
        [folder] => (folder, None),
        [folder, workload] => (folder, Some(workload)),
        _ => {
            eprintln!(
                "usage: check_conservation DIR [WORKLOAD.toml]  (a folder written by --events, and its workload)"
            );
            return ExitCode::from(2);
        }
    };
    match check(folder, workload.map(Path::new)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{folder}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all runs below a folder are sound, and there is one.
fn check(folder: &str, workload: Option<&Path>) -> Result<bool, Box<dyn Error>> {
    let workload = match workload {
        Some(path) => Some(wakelab_workload::from_toml(&std::fs::read_to_string(path)?, path, 1)?),
        None => None,
    };
    let (mut sound, mut rows, mut tasks) = (true, 0, 0);
    let runs = conservation::runs(Path::new(folder))?;
    for run in &runs {
        let found = conservation::check(run, workload.as_ref().map_or_else(Limits::default, Limits::of))?;
        for fault in &found.faults {
            println!("{}: {fault}", run.display());
        }
        sound &= found.faults.is_empty();
        (rows, tasks) = (rows + found.rows, tasks + found.tasks);
    }
    println!("{folder}: {} runs, {tasks} tasks, {rows} rows", runs.len());
    Ok(sound && !runs.is_empty())
}
