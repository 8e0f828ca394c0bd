//! The signals that end a recorder or a scheduler in good order: SIGINT, SIGTERM and SIGHUP.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Remembers the signal that came last. Copies remember the same one.
#[derive(Clone, Debug)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// Fails if the kernel refuses a handler.
    pub fn catch() -> io::Result<Self> {
        let caught = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(signal, Arc::clone(&caught), signal as usize)?;
        }
        Ok(Signals(caught))
    }

    /// The signal that came last, if one came.
    pub fn caught(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed) as i32).filter(|&signal| signal != 0)
    }

    /// The exit code of a program that was ended by a signal before it had done its work: 128 and the number of the
    /// signal, 130 for Ctrl-C.
    pub fn exit_code(&self) -> Option<u8> {
        self.caught().map(|signal| 128 + signal as u8)
    }
}

/// Tests that raise signals hold this, because every [`Signals`] of the process remembers them.
#[cfg(test)]
pub static RAISING: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_names_the_signal() {
        let _raising = RAISING.lock();
        let signals = Signals::catch().unwrap();
        assert_eq!(signals.exit_code(), None);
        for (signal, code) in [(SIGHUP, 129), (SIGINT, 130), (SIGTERM, 143)] {
            signal_hook::low_level::raise(signal).unwrap();
            assert_eq!((signals.caught(), signals.clone().exit_code()), (Some(signal), Some(code)));
        }
    }
}
