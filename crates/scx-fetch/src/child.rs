//! Programs that are run: in a group of their own, which ends when the command is stopped.

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use wakelab_input::files::INTERRUPTED;

/// The most bytes of what a program prints: what cargo says of a thousand packages has 20 MB.
const OUTPUT_MAX: u64 = 256 << 20;

/// How often the flag is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The output of a program, and how it ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// The processes of a child; unless it has ended, they end with this.
struct Group {
    child: Child,
    ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        // A child that was waited for has no number of its own any more.
        if !self.ended {
            if let Some(group) = Pid::from_raw(self.child.id() as i32) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = self.child.wait();
        }
    }
}

/// Runs a program until it ends, until `stop` is set, or for `limit` at most.
///
/// # Errors
/// Fails if it cannot be run, prints too much, has not ended in time (then with the kind `TimedOut`), or was stopped
/// (`Interrupted`).
pub fn run(mut command: Command, stop: &AtomicBool, limit: Option<Duration>) -> io::Result<Ended> {
    let began = Instant::now();
    let goes_on = || match limit.filter(|&limit| began.elapsed() >= limit) {
        _ if stop.load(Ordering::Relaxed) => Err(io::Error::new(io::ErrorKind::Interrupted, INTERRUPTED)),
        Some(limit) => {
            let what = format!("it does not end: {} s have passed", limit.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, what))
        }
        None => Ok(()),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut group = Group { child: command.spawn()?, ended: false };
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let (done, each) = channel();
    // A reader ends when all processes that hold the pipe have, so that the readers are not waited for: they end with
    // the group.
    let reader = |is_stdout: bool, pipe: Box<dyn Read + Send>| {
        let done = done.clone();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let read = pipe.take(OUTPUT_MAX + 1).read_to_end(&mut text);
            let _ = done.send((is_stdout, read.map(|_| text)));
        });
    };
    reader(true, Box::new(stdout.expect("it is a pipe")));
    reader(false, Box::new(stderr.expect("it is a pipe")));
    let (mut stdout, mut stderr) = (None, None);
    while stdout.is_none() || stderr.is_none() {
        match each.recv_timeout(LOOK) {
            Ok((is_stdout, text)) => {
                let text = text?;
                if text.len() as u64 > OUTPUT_MAX {
                    return Err(io::Error::other(format!("it prints more than {} MiB", OUTPUT_MAX >> 20)));
                }
                *if is_stdout { &mut stdout } else { &mut stderr } = Some(text);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("its output cannot be read")),
        }
        goes_on()?;
    }
    // Both pipes are closed, so that it has ended or is about to.
    let status = loop {
        if let Some(status) = group.child.try_wait()? {
            break status;
        }
        goes_on()?;
        std::thread::sleep(Duration::from_millis(1));
    };
    group.ended = true;
    Ok(Ended { status, stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default() })
}

/// The first program of a name in the folders of `path`, which are absolute: a relative one would be another one in
/// each folder, such as that of a scheduler.
pub fn in_path(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    folders_of(path).into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The folders of a variable such as `PATH` that are absolute. An empty one would be the current folder.
pub fn folders_of(path: Option<&OsStr>) -> Vec<PathBuf> {
    path.map(|path| std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect()).unwrap_or_default()
}

/// A program by what somebody has named it: a path, which begins at the current folder, or a name to look for.
pub fn named(name: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 || Path::new(name).is_absolute() {
        return std::path::absolute(name).ok();
    }
    in_path(name.to_str()?, std::env::var_os("PATH").as_deref())
}

/// The environment of a program that is not to find anything in the folder that it runs in: a variable of the list
/// `PATH`, `LD_LIBRARY_PATH` and so on, without its relative folders.
pub fn absolute_list(variable: &str) -> Option<OsString> {
    let folders = folders_of(std::env::var_os(variable).as_deref());
    if folders.is_empty() { None } else { std::env::join_paths(folders).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_program_prints_is_told() {
        let never = AtomicBool::new(false);
        let ended = run(shell("echo out; echo err >&2; exit 3"), &never, None).unwrap();
        assert_eq!(
            (ended.status.code(), &ended.stdout[..], &ended.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        assert!(run(Command::new("/nowhere/program"), &never, None).is_err());
    }

    /// What the program has started ends, too: the file that it would write after a while is never there.
    #[test]
    fn all_of_it_ends_when_it_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let started = folder.path().join("started");
        let stop = Arc::new(AtomicBool::new(false));
        let command = shell(&format!("(sleep 600; :) & echo $! >{0}.part; mv {0}.part {0}; wait", started.display()));
        let flag = Arc::clone(&stop);
        let running = std::thread::spawn(move || run(command, &flag, None).unwrap_err().kind());
        let inner = loop {
            match std::fs::read_to_string(&started) {
                Ok(text) => break text.trim().to_owned(),
                Err(_) => std::thread::yield_now(),
            }
        };
        stop.store(true, Ordering::Relaxed);
        assert_eq!(running.join().unwrap(), io::ErrorKind::Interrupted);
        // A zombie has no memory map; who reaps it is the system's.
        let left =
            || std::fs::read_to_string(format!("/proc/{inner}/status")).is_ok_and(|text| text.contains("VmSize"));
        while left() {
            std::thread::yield_now();
        }
    }

    /// While what it prints is open, and after it has closed that.
    #[test]
    fn a_program_that_waits_for_ever_ends() {
        for script in ["sleep 600", "exec >&- 2>&-; sleep 600"] {
            let error = run(shell(script), &AtomicBool::new(false), Some(Duration::from_millis(100))).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}: {error}");
        }
    }

    #[test]
    fn relative_folders_hold_no_programs() {
        let bin = tempfile::tempdir().unwrap();
        std::fs::write(bin.path().join("tool"), "").unwrap();
        let path = std::env::join_paths([Path::new(""), Path::new("."), bin.path()]).unwrap();
        assert_eq!(folders_of(Some(&path)), [bin.path()]);
        assert_eq!(in_path("tool", Some(&path)), Some(bin.path().join("tool")));
        assert_eq!(in_path("Cargo.toml", Some(OsStr::new(":."))), None);
    }
}
