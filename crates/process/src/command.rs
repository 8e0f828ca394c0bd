//! A command that runs in a process group of its own, so that it can be ended with all that it has started.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, IsTerminal, stdin};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take to end on SIGTERM before it is killed.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);

/// A command that was started. If it still runs when this is dropped, its process group is ended: SIGTERM, and SIGKILL
/// after two seconds.
#[derive(Debug)]
pub struct CommandGroup {
    /// `None` once it has ended: the number may then be another process's.
    child: Option<Child>,
}

impl CommandGroup {
    /// Starts a command, which is the program and its arguments. Its output goes to `stdout`.
    ///
    /// # Errors
    /// Fails if there is no command, or it cannot be run.
    pub fn start(command: &[String], stdout: Stdio) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).process_group(0).stdout(stdout);
        // A background process group is stopped (SIGTTIN) if it reads from the terminal.
        if stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        Ok(CommandGroup { child: Some(command.spawn()?) })
    }

    /// The status of the command if it has ended.
    ///
    /// # Errors
    /// Fails if it cannot be waited for.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait()?;
        if status.is_some() {
            self.child = None;
        }
        Ok(status)
    }
}

/// The exit code of a command; 128 + N if signal N killed it.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

impl Drop for CommandGroup {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let group = Pid::from_child(child);
        let _ = kill_process_group(group, Signal::TERM);
        let start = Instant::now();
        while start.elapsed() < TERM_TIMEOUT && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // The command may leave processes in its group behind.
        let _ = kill_process_group(group, Signal::KILL);
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
        let file = std::env::temp_dir().join(format!("wakelab-command-{}", std::process::id()));
        let script = format!("trap '' TERM; sleep 1000 & echo $! $$ >{0}.new; mv {0}.new {0}; wait", file.display());
        let mut command = CommandGroup::start(&["sh".into(), "-c".into(), script], Stdio::inherit()).unwrap();
        assert!(wait_for(|| file.exists()), "the command does not start");
        let pids = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(command.try_wait().unwrap().is_none());
        assert!(pids.split_whitespace().all(runs), "{pids}");
        drop(command);
        for pid in pids.split_whitespace() {
            assert!(wait_for(|| !runs(pid)), "{pid} still runs");
        }
    }

    #[test]
    fn the_exit_code_is_that_of_the_command() {
        for (script, code) in [("exit 3", 3), ("kill -9 $$", 137)] {
            let command = ["sh".to_owned(), "-c".to_owned(), script.to_owned()];
            let mut command = CommandGroup::start(&command, Stdio::null()).unwrap();
            let mut status = None;
            assert!((0..1000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                status = command.try_wait().unwrap();
                status.is_some()
            }));
            assert_eq!(status.map(exit_code), Some(code));
        }
        assert!(CommandGroup::start(&[], Stdio::null()).is_err());
    }
}
