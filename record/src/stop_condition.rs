//! When a recording ends: after a duration, with its command, or on a signal.

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::io::{IsTerminal, stdin};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a command may take to end on SIGTERM before it is killed.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// The condition that ends a recording. A command that still runs when this is dropped is ended with its process group.
pub struct StopCondition {
    signalled: Arc<AtomicBool>,
    duration: Option<Duration>,
    start: Instant,
    child: Option<Child>,
    exit_code: Option<i32>,
}

impl StopCondition {
    /// Catches SIGINT and SIGTERM from now on.
    pub fn new(duration: Option<Duration>) -> Result<Self> {
        let signalled = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&signalled);
        ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed)).context("signals cannot be waited for")?;
        Ok(StopCondition { signalled, duration, start: Instant::now(), child: None, exit_code: None })
    }

    /// Starts the command, if there is one, and the duration.
    pub fn start(&mut self, command: &[String]) -> Result<()> {
        if let Some((program, arguments)) = command.split_first() {
            let mut command = Command::new(program);
            command.args(arguments).process_group(0);
            // A background process group is stopped (SIGTTIN) if it reads from the terminal.
            if stdin().is_terminal() {
                command.stdin(Stdio::null());
            }
            self.child = Some(command.spawn().map_err(|e| {
                crate::args::UsageError(format!("{program} cannot be run: {e}\n  hint: the command stands after --"))
            })?);
        }
        self.start = Instant::now();
        Ok(())
    }

    /// Whether the recording has to end now.
    pub fn reached(&mut self) -> Result<bool> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait().context("the command cannot be waited for")?
        {
            use std::os::unix::process::ExitStatusExt;
            self.exit_code = status.code().or(status.signal().map(|signal| 128 + signal));
            self.child = None;
            return Ok(true);
        }
        Ok(self.signalled.load(Ordering::Relaxed)
            || self.duration.is_some_and(|duration| self.start.elapsed() >= duration))
    }

    /// The exit code of the command; 128 + N if signal N killed it. `None` if it still runs, or there is none.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }
}

impl Drop for StopCondition {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let group = Pid::from_raw(child.id() as i32);
        let _ = killpg(group, Signal::SIGTERM);
        let start = Instant::now();
        while start.elapsed() < TERM_TIMEOUT && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The command may leave processes in its group behind.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a process runs. A zombie does not.
    fn runs(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
    }

    fn wait_for(condition: impl Fn() -> bool) -> bool {
        (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            condition()
        })
    }

    #[test]
    fn a_command_that_still_runs_is_ended_with_what_it_started() {
        let file = std::env::temp_dir().join(format!("wakelab-until-{}", std::process::id()));
        let script = format!("trap '' TERM; sleep 1000 & echo $! $$ >{0}.new; mv {0}.new {0}; wait", file.display());
        let mut recording = StopCondition::new(None).unwrap();
        recording.start(&["sh".into(), "-c".into(), script]).unwrap();
        assert!(wait_for(|| file.exists()), "the command does not start");
        let pids = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(!recording.reached().unwrap());
        assert!(pids.split_whitespace().all(runs), "{pids}");
        drop(recording);
        for pid in pids.split_whitespace() {
            assert!(wait_for(|| !runs(pid)), "{pid} still runs");
        }
    }
}
