//! Follows every task through the events of runs (`wakelab run ... --events DIR`) and prints what cannot be: a task
//! that is lost, on two CPUs, where it may not be, or woken while it runs. `check_conservation DIR...` exits with 1
//! if it finds such a thing.

#[path = "../../fuzz/conservation.rs"]
mod conservation;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    if folders.is_empty() {
        eprintln!("usage: check_conservation DIR...  (folders written by --events)");
        return ExitCode::from(2);
    }
    let mut sound = true;
    for folder in &folders {
        let found = conservation::runs(Path::new(folder)).and_then(|runs| {
            let each = runs.into_iter().map(|run| conservation::check(&run).map(|found| (run, found)));
            each.collect::<Result<Vec<_>, _>>()
        });
        match found {
            Ok(found) => {
                for (run, found) in &found {
                    for fault in &found.faults {
                        println!("{}: {fault}", run.display());
                    }
                }
                sound &= !found.is_empty() && found.iter().all(|(_, found)| found.faults.is_empty());
                let (rows, tasks) =
                    found.iter().fold((0, 0), |(rows, tasks), (_, found)| (rows + found.rows, tasks + found.tasks));
                println!("{folder}: {} runs, {tasks} tasks, {rows} rows", found.len());
            }
            Err(error) => {
                sound = false;
                eprintln!("{folder}: {error}");
            }
        }
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
