//! When a recording ends: after a time, with its command, or when it is asked to.

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{IsTerminal, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a command that is to end may take before it is killed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What it waits for. A command that still runs when this is dropped is ended, with all of its process group.
pub struct Until {
    asked: Arc<AtomicBool>,
    duration: Option<Duration>,
    start: Instant,
    child: Option<Child>,
    code: Option<i32>,
}

impl Until {
    /// From now on Ctrl-C and SIGTERM ask for the end.
    pub fn new(duration: Option<Duration>) -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed)).context("signals cannot be waited for")?;
        Ok(Until { asked, duration, start: Instant::now(), child: None, code: None })
    }

    /// Starts the command, if there is one.
    pub fn start(&mut self, command: &[String]) -> Result<()> {
        if let Some((program, arguments)) = command.split_first() {
            let mut command = Command::new(program);
            command.args(arguments).process_group(0);
            // A group that is not the terminal's would be stopped where it reads from it.
            if stdin().is_terminal() {
                command.stdin(Stdio::null());
            }
            self.child = Some(command.spawn().map_err(|e| {
                crate::usage::Usage(format!("{program} cannot be run: {e}\n  hint: the command stands after --"))
            })?);
        }
        self.start = Instant::now();
        Ok(())
    }

    /// Whether the recording is to end.
    pub fn over(&mut self) -> Result<bool> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait().context("the command cannot be waited for")?
        {
            use std::os::unix::process::ExitStatusExt;
            self.code = status.code().or(status.signal().map(|signal| 128 + signal));
            self.child = None;
            return Ok(true);
        }
        Ok(self.asked.load(Ordering::Relaxed) || self.duration.is_some_and(|most| self.start.elapsed() >= most))
    }

    /// The command's exit code.
    pub fn code(&self) -> Option<i32> {
        self.code
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let group = Pid::from_raw(child.id() as i32);
        let _ = killpg(group, Signal::SIGTERM);
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // What the command started may stay where it went.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a process runs; one that has ended may wait for its parent.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
    }

    fn until(what: impl Fn() -> bool) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            what()
        })
    }

    #[test]
    fn a_command_that_still_runs_is_ended_with_what_it_started() {
        let file = std::env::temp_dir().join(format!("wakelab-until-{}", std::process::id()));
        let script = format!("trap '' TERM; sleep 1000 & echo $! $$ >{0}.new; mv {0}.new {0}; wait", file.display());
        let mut recording = Until::new(None).unwrap();
        recording.start(&["sh".into(), "-c".into(), script]).unwrap();
        assert!(until(|| file.exists()), "the command does not start");
        let pids = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(!recording.over().unwrap());
        assert!(pids.split_whitespace().all(runs), "{pids}");
        drop(recording);
        for pid in pids.split_whitespace() {
            assert!(until(|| !runs(pid)), "{pid} still runs");
        }
    }
}
