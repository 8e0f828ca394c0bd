//! Ctrl-C: the first ends the runs and prints what is complete, the second ends the program.

use crate::output::INTERRUPTED;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Handles Ctrl-C from here on; gives the flag that the first sets.
///
/// # Errors
/// Where the system lets no handler be set.
pub fn stop_flag() -> anyhow::Result<&'static AtomicBool> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    })?;
    Ok(&STOP)
}
