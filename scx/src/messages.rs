//! What libbpf has to say: gathered, and shown if the user wants to know.

use libbpf_rs::{PrintLevel, set_print};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<String> = Mutex::new(String::new());
static VERBOSE: AtomicBool = AtomicBool::new(false);

fn gather(level: PrintLevel, message: String) {
    if VERBOSE.load(Ordering::Relaxed) && level != PrintLevel::Debug {
        eprint!("{message}");
    }
    SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&message);
}

/// From now on messages are gathered, and shown where `verbose` says so.
pub fn listen(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
    set_print(Some((PrintLevel::Info, gather)));
}

/// What was said since the last call.
pub fn take() -> String {
    std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner))
}
