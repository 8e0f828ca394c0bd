//! Chains of processes.

use crate::work::Numbers;
use std::io;

const MOST_WORK: u64 = 40_000;

/// Runs so many chains.
pub fn run(chains: usize, rounds: usize) -> io::Result<()> {
    let mut children = Vec::new();
    for chain in 0..chains {
        children.push(child(|| {
            let mut numbers = Numbers::of(chain);
            for round in 0..rounds {
                numbers.work(MOST_WORK);
                wait([child(|| link(&mut numbers, round))?])?;
            }
            Ok(())
        })?);
    }
    wait(children)
}

/// A process of a chain: it forks another, and every fourth becomes another program.
fn link(numbers: &mut Numbers, round: usize) -> io::Result<()> {
    use std::os::unix::process::CommandExt;
    wait([child(|| {
        numbers.work(MOST_WORK);
        Ok(())
    })?])?;
    if round.is_multiple_of(4) {
        return Err(std::process::Command::new("/proc/self/exe").arg("nothing").exec());
    }
    Ok(())
}

/// A process that does `what`, and ends.
pub fn child(what: impl FnOnce() -> io::Result<()>) -> io::Result<libc::pid_t> {
    // This program has one thread where it forks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = i32::from(what().is_err());
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid),
    }
}

/// Waits for processes, and fails if one has failed.
pub fn wait(children: impl IntoIterator<Item = libc::pid_t>) -> io::Result<()> {
    for pid in children {
        let mut status = 0;
        if unsafe { libc::waitpid(pid, &mut status, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        if status != 0 {
            return Err(io::Error::other(format!("process {pid} ended with status {status}")));
        }
    }
    Ok(())
}
