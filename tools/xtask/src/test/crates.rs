//! `./test crates`: the tests of all crates.
//!
//! Test programs run side by side, as many as there are CPUs: cargo runs one after the other, and a program whose last
//! test is long leaves all CPUs but one idle.

use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::keep_output;
use crate::programs::{program, run as run_program, said};

/// Builds and runs all tests.
pub fn run() -> Result<u8> {
    let mut build = program("cargo");
    build.args(["test", "--workspace", "--locked", "--no-run", "--message-format=json"]);
    let programs = programs(&said(&mut build)?);
    if programs.is_empty() {
        eprintln!("./test crates: cargo named no test program");
        return Ok(1);
    }
    if !run_side_by_side(&programs)? {
        return Ok(1);
    }
    run_program(program("cargo").args(["test", "--workspace", "--locked", "--doc"]))
}

/// A program of tests, and the folder of its crate.
#[derive(Debug, PartialEq)]
struct Tests {
    program: PathBuf,
    folder: PathBuf,
}

/// The test programs that cargo's messages name. What it builds last comes first: the crates that use the others take
/// longest.
fn programs(messages: &str) -> Vec<Tests> {
    let of = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let program = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        Some(Tests { program: program.into(), folder: folder.to_owned() })
    };
    messages.lines().rev().filter_map(of).collect()
}

/// Runs them, and prints what each says when it is over: whether all passed.
fn run_side_by_side(programs: &[Tests]) -> Result<bool> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let worker = || -> Result<()> {
        while let Some(tests) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = program(&tests.program);
            let mut log = keep_output(&mut command)?;
            if run_program(command.current_dir(&tests.folder))? != 0 {
                failed.store(true, Ordering::Relaxed);
            }
            log.rewind()?;
            let mut out = std::io::stdout().lock();
            write!(out, "\n{}, {}\n", tests.folder.display(), tests.program.display())?;
            std::io::copy(&mut log, &mut out)?;
        }
        Ok(())
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| {
            let done = worker.join();
            ensure!(done.is_ok(), "a thread that runs tests panicked");
            done.expect("it did not panic")
        })
    })?;
    Ok(!failed.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_those_of_cargos_messages_in_reverse() {
        let built = |crate_name: &str, test: bool, program: &str| {
            let manifest = format!("/w/crates/{crate_name}/Cargo.toml");
            format!(r#"{{"manifest_path":"{manifest}","profile":{{"test":{test}}},"executable":{program}}}"#)
        };
        let messages = [
            built("sim", true, r#""/t/sim-1""#),
            built("cli", false, r#""/t/wakelab""#),
            built("sched", true, "null"),
            built("cli", true, r#""/t/it-2""#),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let tests = |program: &str, folder: &str| Tests { program: program.into(), folder: folder.into() };
        assert_eq!(
            programs(&messages.join("\n")),
            [tests("/t/it-2", "/w/crates/cli"), tests("/t/sim-1", "/w/crates/sim")]
        );
    }

    #[test]
    fn one_that_fails_does_not_keep_the_others_from_running() {
        let tests = |program: &str| Tests { program: program.into(), folder: "/".into() };
        assert!(run_side_by_side(&[tests("/bin/true"), tests("/bin/true")]).expect("true"));
        assert!(!run_side_by_side(&[tests("/bin/false"), tests("/bin/true")]).expect("false"));
    }
}
