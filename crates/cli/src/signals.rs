//! The signals that end a command: SIGINT (Ctrl-C), SIGTERM and SIGHUP. The first one ends the program at once, unless
//! there is something to leave in good order: rows that are complete, temporary files, processes. Then it sets a flag,
//! which every long loop looks at, and the second one ends the program at once. No thread waits for signals, so that a
//! command can be interrupted where no thread can be made.

use crate::in_process::host;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use wakelab_input::files::INTERRUPTED;

/// Set by the first signal.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Whether the command ends in good order from here on.
static IN_GOOD_ORDER: AtomicBool = AtomicBool::new(false);
/// Whether the next signal ends the program at once.
static ENDS: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
/// The signal that came last; 0 if none came.
static LAST: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// Handles the signals from here on, and returns the flag that the first of them sets. SIGHUP stays ignored if it is,
/// as under `nohup`.
///
/// # Errors
/// Fails if the system does not let a handler be set.
pub fn handle() -> io::Result<&'static AtomicBool> {
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)) {
        // The order matters: the next signal finds the flags set.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&ENDS))?;
        flag::register(signal, Arc::clone(&ENDS))?;
        flag::register(signal, Arc::clone(&STOP))?;
        flag::register_usize(signal, Arc::clone(&LAST), signal as usize)?;
    }
    // A file that has reached the limit of its size (`ulimit -f`) is an error of the write in place of SIGXFSZ.
    flag::register(SIGXFSZ, Arc::default())?;
    Ok(&STOP)
}

/// Lets the first signal set a flag from here on, at which the command ends in good order. Inside another program the
/// flag is that program's.
pub fn stop_flag() -> &'static AtomicBool {
    if let Some(host) = host() {
        return host.stop;
    }
    IN_GOOD_ORDER.store(true, Ordering::Relaxed);
    ENDS.store(STOP.load(Ordering::Relaxed), Ordering::Relaxed);
    &STOP
}

/// Lets the first signal wait until this is dropped, as long as there is a temporary file. What is done meanwhile is
/// short, or looks at the flag.
#[derive(Debug)]
pub struct InGoodOrder {
    /// Whether a signal ended the program at once before.
    ended: bool,
}

/// See [`InGoodOrder`], which is to be dropped after the temporary file.
pub fn in_good_order() -> InGoodOrder {
    let ended = !IN_GOOD_ORDER.load(Ordering::Relaxed);
    if ended {
        ENDS.store(STOP.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    InGoodOrder { ended }
}

impl Drop for InGoodOrder {
    fn drop(&mut self) {
        // What was asked for meanwhile stays.
        if !self.ended || IN_GOOD_ORDER.load(Ordering::Relaxed) {
            return;
        }
        ENDS.store(true, Ordering::Relaxed);
        // In the midst of a panic the program ends by itself.
        if !std::thread::panicking()
            && let Some(code) = exit_code()
        {
            std::process::exit(i32::from(code));
        }
    }
}

/// The exit code of a command that a signal has ended: 128 and the number of the signal, 130 for Ctrl-C. `None` if
/// there was no signal.
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
            return Err(io::Error::other(INTERRUPTED));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
