//! Processes that do a part of a measurement, so that what they use is theirs alone, and so that they can be ended.

use crate::cpus::pin;
use crate::load::{self, Report, Spec};
use crate::noise::Noise;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

/// The task of a child process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Runs a load and prints its report as JSON.
    Load(Spec),
    /// Answers each byte of stdin with one on stdout, on this CPU, until stdin ends.
    Echo(Cpu),
    /// Yields on this CPU until stdin ends.
    Yield(Cpu),
}

/// How child processes are started: a program that calls [`serve`] with the text that is added to the arguments.
#[derive(Clone, Debug)]
pub struct Child {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before the text.
    pub args: Vec<OsString>,
}

/// How much longer than its times a load may take: to start its threads on a machine that is busy.
const GRACE: Duration = Duration::from_secs(20);

/// How often a child is looked at.
const LOOK: Duration = Duration::from_millis(5);

impl Child {
    /// The command of a child.
    pub(crate) fn command(&self, role: &Role) -> io::Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(serde_json::to_string(role)?);
        Ok(command)
    }

    /// Runs a load in a process of its own. The process has ended when this returns, whatever happens, and it ends by
    /// itself if this process is killed.
    ///
    /// # Errors
    /// Fails if the process cannot be started, fails, is not through at its deadline, or once `stop` is set
    /// ([`io::ErrorKind::Interrupted`]).
    pub fn run(&self, spec: &Spec, stop: &AtomicBool) -> io::Result<Report> {
        let mut command = self.command(&Role::Load(spec.clone()))?;
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let deadline = Instant::now() + Duration::from_nanos(spec.settle_ns + spec.time_ns) + GRACE;
        let ended = loop {
            match child.try_wait() {
                Ok(None) if stop.load(Ordering::Relaxed) => break Err(io::ErrorKind::Interrupted.into()),
                Ok(None) if Instant::now() > deadline => {
                    break Err(io::Error::other(format!("load {}: not finished by its deadline", spec.kind.name())));
                }
                Ok(None) => std::thread::sleep(LOOK),
                Ok(Some(status)) => break Ok(status),
                Err(error) => break Err(error),
            }
        };
        if ended.is_err() {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
        let status = ended?;
        let read = |from: &mut dyn Read| {
            let mut text = String::new();
            from.read_to_string(&mut text).map(|_| text)
        };
        let out = child.stdout.as_mut().map_or(Ok(String::new()), |out| read(out))?;
        let said = child.stderr.as_mut().map_or(Ok(String::new()), |err| read(err))?;
        serde_json::from_str(&out).map_err(|_| {
            let why = if said.trim().is_empty() { status.to_string() } else { said.trim().to_owned() };
            io::Error::other(format!("load {}: {why}", spec.kind.name()))
        })
    }
}

/// A run in which others used no more of the CPUs, %, counts as undisturbed.
const QUIET_PCT: f64 = 5.0;

/// Runs of a load for each that is kept, at most, while others use the CPUs.
const TRIES: u32 = 3;

impl Child {
    /// Runs a load so often, and more often if others used the CPUs meanwhile. Keeps the runs that they disturbed
    /// least.
    /// Returns these, and what others used of the CPUs in each, %.
    ///
    /// # Errors
    /// Those of [`Child::run`].
    pub fn quietest(&self, spec: &Spec, repeats: u32, stop: &AtomicBool) -> io::Result<Vec<(Report, f64)>> {
        let one = || {
            let noise = Noise::begin();
            let report = self.run(spec, stop)?;
            Ok((report, noise().others_pct.unwrap_or(0.0)))
        };
        least_disturbed(repeats as usize, one)
    }
}

fn least_disturbed<T>(repeats: usize, mut one: impl FnMut() -> io::Result<(T, f64)>) -> io::Result<Vec<(T, f64)>> {
    let mut all: Vec<(T, f64)> = Vec::new();
    let quiet = |all: &[(T, f64)]| all.iter().filter(|run| run.1 <= QUIET_PCT).count();
    while all.len() < repeats * TRIES as usize && quiet(&all) < repeats {
        all.push(one()?);
    }
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.truncate(repeats);
    Ok(all)
}

/// Does what a text says in a child process, which must exit then: threads of a load may go on.
///
/// # Errors
/// Fails if the text is no role, or as [`load::run`] does.
pub fn serve(role: &str) -> io::Result<()> {
    // The process that started this one reads what it prints; without it there is nothing to do.
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != parent {
        return Ok(());
    }
    match serde_json::from_str(role)? {
        Role::Load(spec) => {
            let report = load::run(&spec)?;
            let mut out = io::stdout().lock();
            serde_json::to_writer(&mut out, &report)?;
            out.flush()
        }
        Role::Echo(cpu) => {
            pin(&[cpu])?;
            echo(io::stdin().lock(), io::stdout().lock())
        }
        Role::Yield(cpu) => {
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    // Nothing is sent; an error is an end, too.
                    let _ = io::stdin().lock().read(&mut [0]);
                    done.store(true, Ordering::Relaxed);
                });
                pin(&[cpu])?;
                while !done.load(Ordering::Relaxed) {
                    rustix::thread::sched_yield();
                }
                Ok(())
            })
        }
    }
}

fn echo(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut byte = [0];
    while from.read(&mut byte)? > 0 {
        to.write_all(&byte)?;
        to.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_answers_each_byte_until_the_end() {
        let mut answers = Vec::new();
        echo(&[7_u8, 8, 9][..], &mut answers).expect("an echo");
        assert_eq!(answers, [7, 8, 9]);
    }

    #[test]
    fn a_text_that_is_no_role_is_refused() {
        assert!(serde_json::from_str::<Role>("{\"load\":{}}").is_err());
        let echo = serde_json::to_string(&Role::Echo(3)).expect("JSON");
        assert_eq!(serde_json::from_str::<Role>(&echo).expect("a role"), Role::Echo(3));
    }

    #[test]
    fn a_program_that_prints_no_report_is_an_error_with_what_it_said() {
        let child = Child { program: "sh".into(), args: vec!["-c".into(), "echo what it said >&2; exit 3".into()] };
        let spec =
            Spec { kind: load::Kind::Tcp, instances: 1, cpus: vec![], settle_ns: 0, time_ns: 1_000_000, count: None };
        let error = child.run(&spec, &AtomicBool::new(false)).expect_err("no report");
        assert_eq!(error.to_string(), "load tcp: what it said");
    }

    #[test]
    fn runs_that_others_disturbed_are_made_again_for_a_while() {
        let kept = |used: &[f64]| {
            let mut runs = used.iter().copied().enumerate();
            let all = least_disturbed(2, || Ok(runs.next().expect("no more than that"))).expect("no error");
            all.into_iter().map(|run| run.0).collect::<Vec<usize>>()
        };
        assert_eq!(kept(&[0.0, 5.0]), [0, 1]);
        assert_eq!(kept(&[40.0, 1.0, 30.0, 2.0]), [1, 3]);
        assert_eq!(kept(&[60.0, 50.0, 40.0, 70.0, 45.0, 90.0]), [2, 4], "the least of three times as many");
    }

    #[test]
    fn a_stopped_child_is_gone() {
        let child = Child { program: "sh".into(), args: vec!["-c".into(), "exec sleep 600".into()] };
        let spec =
            Spec { kind: load::Kind::Tcp, instances: 1, cpus: vec![], settle_ns: 0, time_ns: 1_000_000, count: None };
        let error = child.run(&spec, &AtomicBool::new(true)).expect_err("stopped");
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }
}
