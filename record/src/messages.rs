//! What libbpf has to say: gathered, and shown if the user wants to know.

use libbpf_rs::{PrintLevel, get_print, set_print};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

static SAID: Mutex<String> = Mutex::new(String::new());
static VERBOSE: AtomicBool = AtomicBool::new(false);

/// Whether messages are shown, too.
pub fn show(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
}

fn gather(_: PrintLevel, message: String) {
    if VERBOSE.load(Ordering::Relaxed) {
        eprint!("{message}");
    }
    SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&message);
}

/// Does something, and gives what libbpf said meanwhile.
pub fn gathered<T>(what: impl FnOnce() -> T) -> (T, String) {
    SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
    let before = get_print();
    set_print(Some((PrintLevel::Info, gather)));
    let result = what();
    set_print(before);
    (result, std::mem::take(&mut *SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner)))
}
