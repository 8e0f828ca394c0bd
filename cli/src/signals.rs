//! The signals that end a command in good order: SIGINT (Ctrl-C), SIGTERM and SIGHUP. No thread waits for them, so that
//! a command can be interrupted where no thread can be made.

use crate::in_process::host;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag as signal_flag;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Set by the first signal.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// The signal that came last; 0 if none came.
static LAST: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Handles the signals from here on, and returns the flag that the first of them sets. A second one ends the program at
/// once. SIGHUP stays ignored if it is, as under `nohup`. Inside another program the signals are that program's, which
/// sets the flag.
///
/// # Errors
/// Fails if the system does not let a handler be set.
pub fn stop_flag() -> anyhow::Result<&'static AtomicBool> {
    // Once: a second handler would find the flag set by the first signal, and end the program.
    static HANDLED: Mutex<bool> = Mutex::new(false);
    let mut handled = HANDLED.lock().unwrap_or_else(PoisonError::into_inner);
    if host().is_some() || std::mem::replace(&mut *handled, true) {
        return Ok(flag());
    }
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)) {
        // The order matters: the second signal finds the flag set.
        signal_flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&STOP))?;
        signal_flag::register(signal, Arc::clone(&STOP))?;
        signal_flag::register_usize(signal, Arc::clone(&LAST), signal as usize)?;
    }
    Ok(flag())
}

/// The flag that the first signal sets once [`stop_flag`] has been asked for. Before, a signal ends the program.
pub fn flag() -> &'static AtomicBool {
    host().map_or(&STOP, |host| host.stop)
}

/// Lets a file that has reached the limit of its size (`ulimit -f`) be an error of the write in place of SIGXFSZ.
///
/// # Errors
/// Fails if the system does not let a handler be set.
pub fn refuse_files_over_the_limit() -> io::Result<()> {
    signal_flag::register(SIGXFSZ, Arc::default()).map(|_| ())
}

/// The exit code of a command that a signal has ended: 128 and the number of the signal, 130 for Ctrl-C. `None` if
/// there
/// was no signal.
pub fn exit_code() -> Option<u8> {
    Some(LAST.load(Ordering::Relaxed) as u8).filter(|&signal| signal != 0).map(|signal| 128 + signal)
}

/// Whether this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal - 1) & 1 != 0)
}

/// A writer that fails after a signal, so that the file that is written is removed as after any error.
pub struct Interruptible<W>(pub W);

impl<W: Write> Write for Interruptible<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if STOP.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
