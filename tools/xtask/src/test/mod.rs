//! `./test`: chooses steps, runs them in lanes, and sums up.
//!
//! A step is a process of its own (`xtask step NAME`): its CPU time is its own, and what it prints can be kept until it
//! is over.

mod changed;
mod crates;
mod steps;
mod style;

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use self::steps::{Lane, STEPS, Step};
use crate::programs::{code_of, on_path, program, run as run_program, this_program, variable};

const HELP: &str = "\
Runs the tests.

  ./test            installs what the tests need, says so first, and runs what CI runs
  ./test quick      format, lints, and the tests of the crates that differ from the upstream branch; minutes, not more
  ./test all        what CI runs, and what is slow and rarely fails: guests on every topology, soak, licences
  ./test STEP...    the steps of these names
  ./test --list     all steps, a line each

Only `./test` and `./test all` install packages (apt, as root). The others name the packages that are missing and skip
the steps that need them. The exit code is 1 if a step fails; a skipped step is no failure.

WAKELAB_RECORDINGS and WAKELAB_VECTORS name folders of more recordings or vectors than the committed ones.
WAKELAB_VM=0 starts no guests, WAKELAB_VM=1 fails if none can be started (docs/real-kernel.md). WAKELAB_PERFETTO and
WAKELAB_BROWSER do the same for Perfetto's trace processor (docs/page.md) and the browser (docs/page.md), and
WAKELAB_PYTHON for the package for Python (docs/python.md). WAKELAB_SCHEDULERS=0 compiles no schedulers.
";

/// The exit code of a step that was not run.
const NOT_RUN: u8 = 77;

/// Says why a step is not run.
fn not_run(why: &str) -> Result<u8> {
    eprintln!("./test: not run: {why}");
    Ok(NOT_RUN)
}

/// Runs the tests that the arguments of `./test` name.
pub fn run(arguments: &[String]) -> Result<u8> {
    let first = arguments.first().map_or("", String::as_str);
    if ["--list", "-l"].contains(&first) {
        print!("{}", list());
        return Ok(0);
    }
    if ["--help", "-h"].contains(&first) {
        print!("{HELP}");
        return Ok(0);
    }
    let chosen = match chosen(arguments) {
        Ok(chosen) => chosen,
        Err(why) => {
            eprintln!("./test: {why}");
            return Ok(2);
        }
    };
    let whole = ["", "all"].contains(&first);
    if whole {
        install_packages(&chosen)?;
    }
    // Results that an earlier test run has kept must not be used again.
    let results = tempfile::Builder::new().prefix("wakelab-test-").tempdir()?;
    let mut environment = caches()?;
    environment.push(("XDG_CACHE_HOME", results.path().to_owned()));
    if whole && variable("CARGO_INCREMENTAL").is_none() {
        // A full run builds everything once; what an incremental build keeps would only fill the disk.
        environment.push(("CARGO_INCREMENTAL", "0".into()));
    }
    let running = Running::default();
    let ended = std::thread::scope(|scope| {
        let end = signals(results.path().to_owned(), &running)?;
        scope.spawn(end.1);
        let ended = run_lanes(&chosen, &environment, &running);
        end.0.close();
        ended
    })?;
    Ok(sum_up(&chosen, &ended))
}

/// The steps that the arguments name, in order.
fn chosen(arguments: &[String]) -> Result<Vec<&'static Step>, String> {
    let all_of = |set: &str| STEPS.iter().filter(move |step| step.is_in(set)).collect::<Vec<_>>();
    let word = arguments.first().map_or("", String::as_str);
    let sets: &[&str] = match word {
        "" => &["ci"],
        "all" => &["ci", "all"],
        "quick" => &["quick"],
        _ => {
            let by_name = |name: &String| {
                let step = STEPS.iter().find(|step| step.name == name);
                step.ok_or_else(|| format!("no step {name}; ./test --list has all steps"))
            };
            return arguments.iter().map(by_name).collect();
        }
    };
    if arguments.len() > 1 {
        return Err(format!("{} stands alone", if word == "quick" { word } else { "all" }));
    }
    Ok(sets.iter().flat_map(|set| all_of(set)).collect())
}

fn list() -> String {
    STEPS.iter().map(|step| format!("{:<14} {:<9} {}\n", step.name, step.sets, step.does)).collect()
}

/// Installs what the steps need, as root.
fn install_packages(chosen: &[&Step]) -> Result<()> {
    let mut missing = BTreeSet::new();
    for step in chosen {
        missing.extend((step.packages)()?);
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<String> = missing.into_iter().collect();
    let names = missing.join(" ");
    if !rustix::process::getuid().is_root() || !on_path("apt-get") {
        eprintln!(
            "./test: missing packages: {names}; steps that need them are skipped (as root, ./test installs them)"
        );
        return Ok(());
    }
    println!("./test: installs {names} (apt)");
    let apt = |seconds: &str| {
        let mut apt = program("timeout");
        apt.args(["-k", "10", seconds, "apt-get", "-qq"]);
        let bounds = ["Acquire::http::Timeout=20", "Acquire::https::Timeout=20", "DPkg::Lock::Timeout=120"];
        apt.args(bounds.iter().flat_map(|bound| ["-o", bound]));
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        apt
    };
    let install = |packages: &[String]| {
        let mut apt = apt("900");
        run_program(apt.args(["install", "-y", "--no-install-recommends"]).args(packages).stdout(Stdio::null()))
    };
    run_program(apt("300").arg("update"))?;
    // A release may lack one of them by this name; that is no reason to go without the others.
    if install(&missing)? != 0 {
        for package in &missing {
            if install(std::slice::from_ref(package))? != 0 {
                eprintln!("./test: apt could not install {package}");
            }
        }
    }
    Ok(())
}

/// Kernels of guests, the trace processor and what drives the browser are fetched once, not once a test run.
fn caches() -> Result<Vec<(&'static str, PathBuf)>> {
    let cache = match variable("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    let named = [
        ("WAKELAB_VM_CACHE", "vm"),
        ("WAKELAB_PERFETTO_CACHE", "perfetto"),
        ("WAKELAB_PYTHON_CACHE", "python"),
        ("WAKELAB_BROWSER_CACHE", "browser"),
    ];
    let of = |(name, folder): (&'static str, &str)| {
        (name, variable(name).map_or_else(|| cache.join("wakelab").join(folder), PathBuf::from))
    };
    Ok(named.into_iter().map(of).collect())
}

/// The steps that run now.
#[derive(Default)]
struct Running(Mutex<Vec<Pid>>);

impl Running {
    fn begin(&self, child: &Child) -> Pid {
        let pid = Pid::from_child(child);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
        pid
    }

    fn end(&self, pid: Pid) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| *other != pid);
    }

    fn stop(&self) {
        for pid in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = rustix::process::kill_process(*pid, Signal::TERM);
        }
    }
}

/// What waits for a signal that ends this program, and then takes the steps and the folder along; and what ends the
/// waiting.
fn signals(folder: PathBuf, running: &Running) -> Result<(signal_hook::iterator::Handle, impl FnOnce() + Send)> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let handle = signals.handle();
    Ok((handle, move || {
        if let Some(signal) = signals.forever().next() {
            running.stop();
            let _ = std::fs::remove_dir_all(folder);
            std::process::exit(128 + signal);
        }
    }))
}

/// How a step ended.
struct Ended {
    word: &'static str,
    seconds: u64,
    cpu_seconds: u64,
}

/// Lanes of steps run side by side: many steps leave one of two CPUs idle, for minutes while a chain of crates is
/// compiled, a browser waits, or a guest runs.
fn run_lanes(
    chosen: &[&'static Step],
    environment: &[(&str, PathBuf)],
    running: &Running,
) -> Result<HashMap<&'static str, Ended>> {
    let ended = Mutex::new(HashMap::new());
    let lane = |lane: Lane| -> Result<()> {
        for step in chosen.iter().filter(|step| step.lane == lane) {
            let done = run_step(step, environment, running)?;
            ended.lock().unwrap_or_else(PoisonError::into_inner).insert(step.name, done);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others = [Lane::Guests, Lane::Pages].map(|of| scope.spawn(move || lane(of)));
        lane(Lane::First)?;
        others.into_iter().try_for_each(|other| other.join().expect("a lane does not panic"))
    })?;
    Ok(ended.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs a step in a process of its own. What it prints is shown when it is over, but for the first lane.
fn run_step(step: &Step, environment: &[(&str, PathBuf)], running: &Running) -> Result<Ended> {
    let mut command = this_program();
    command.args(["step", step.name]).envs(environment.iter().map(|(name, value)| (name, value)));
    let log = if step.lane == Lane::First { None } else { Some(keep_output(&mut command)?) };
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let pid = running.begin(&child);
    // It can be asked for its time as long as nobody has waited for it.
    rustix::io::retry_on_intr(|| {
        rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    })?;
    let cpu = cpu_ticks(&std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))?);
    running.end(pid);
    let code = code_of(child.wait()?);
    if let Some(mut log) = log {
        log.rewind()?;
        std::io::copy(&mut log, &mut std::io::stdout().lock())?;
    }
    let word = match code {
        0 => "passed",
        NOT_RUN => "not run",
        _ => "FAILED",
    };
    let cpu_seconds = cpu.context("the time of a step is not in /proc")? / rustix::param::clock_ticks_per_second();
    Ok(Ended { word, seconds: begin.elapsed().as_secs(), cpu_seconds })
}

/// A file, which nobody else sees, of what a program will print.
fn keep_output(command: &mut Command) -> Result<File> {
    let log = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    Ok(log)
}

/// The CPU time of a process and of all that it has waited for, in ticks: utime, stime, cutime and cstime of
/// proc_pid_stat(5).
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, numbers) = stat.rsplit_once(')')?;
    let times: Vec<u64> = numbers.split_whitespace().skip(11).take(4).filter_map(|time| time.parse().ok()).collect();
    (times.len() == 4).then(|| times.iter().sum())
}

/// Prints the summary: the exit code.
fn sum_up(chosen: &[&Step], ended: &HashMap<&str, Ended>) -> u8 {
    println!("\n== summary");
    for step in chosen {
        let Ended { word, seconds, cpu_seconds } = &ended[step.name];
        println!("{:<14} {word:<8} {seconds:>4} s, {cpu_seconds:>4} s of CPU", step.name);
    }
    let count = |word: &str| ended.values().filter(|ended| ended.word == word).count();
    let failed = count("FAILED");
    println!("{} passed, {failed} failed, {} skipped", count("passed"), count("not run"));
    u8::from(failed > 0)
}

/// Runs one step in this process: its exit code.
pub fn step(name: &str) -> Result<u8> {
    let step = STEPS.iter().find(|step| step.name == name).with_context(|| format!("no step {name}"))?;
    println!("\n== {name}");
    std::io::stdout().flush()?;
    let absent = (step.packages)()?.join(" ");
    if !absent.is_empty() {
        eprintln!("./test: {name}: not run: missing packages: {absent} (apt-get install them; as root, ./test does)");
        return Ok(NOT_RUN);
    }
    (step.run)()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>, String> {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        Ok(chosen(&arguments)?.iter().map(|step| step.name).collect())
    }

    #[test]
    fn steps_are_chosen_by_set_and_by_name() {
        assert_eq!(names(&["quick"]), Ok(vec!["style", "format", "clippy", "changed"]));
        assert_eq!(names(&["scx", "style"]), Ok(vec!["scx", "style"]));
        let (ci, all) = (names(&[]).expect("ci"), names(&["all"]).expect("all"));
        assert!(all.starts_with(&ci) && all.contains(&"soak") && !ci.contains(&"soak") && !all.contains(&"changed"));
        assert_eq!(names(&["all", "style"]), Err("all stands alone".to_owned()));
        assert_eq!(names(&["quick", "style"]), Err("quick stands alone".to_owned()));
        assert_eq!(names(&["style", "slow"]), Err("no step slow; ./test --list has all steps".to_owned()));
    }

    #[test]
    fn each_step_has_a_line_and_its_own_name() {
        let names: BTreeSet<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        assert!(list().starts_with("style          quick ci  no line over 120 columns, scripts pass shellcheck\n"));
        assert!(STEPS.iter().all(|step| step.sets.split(' ').all(|set| ["quick", "ci", "all"].contains(&set))));
    }

    #[test]
    fn cpu_time_is_read_behind_a_name_of_any_kind() {
        let stat = "7 (a) b) Z 1 7 7 0 -1 4 10 20 0 0 100 20 3 4 20 0 1 0 5000 0 0";
        assert_eq!(cpu_ticks(stat), Some(127));
        assert_eq!(cpu_ticks("7 (a) Z 1"), None);
    }
}
