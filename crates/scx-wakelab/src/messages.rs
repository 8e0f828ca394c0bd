//! The messages on stderr. The log of libbpf is kept, too, and printed with `--verbose`.

use libbpf_rs::{PrintLevel, set_print};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use wakelab_input::printable;

static LOG: Mutex<String> = Mutex::new(String::new());
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Prints a line. After SIGHUP there may be no terminal any more, which must not end the scheduler.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn keep(level: PrintLevel, message: String) {
    if VERBOSE.load(Ordering::Relaxed) && level != PrintLevel::Debug {
        message.lines().for_each(|line| say(&printable(line)));
    }
    LOG.lock().unwrap_or_else(PoisonError::into_inner).push_str(&message);
}

/// Keeps libbpf's log from now on, and prints it if `verbose` is true.
pub fn listen(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
    set_print(Some((PrintLevel::Info, keep)));
}

/// Returns the log of libbpf since the last call.
pub fn take() -> String {
    std::mem::take(&mut *LOG.lock().unwrap_or_else(PoisonError::into_inner))
}
