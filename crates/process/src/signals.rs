//! The signals that end a recorder or a scheduler in good order: SIGINT, SIGTERM and SIGHUP.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Remembers the signal that came last. Copies remember the same one.
#[derive(Clone, Debug)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Catches the signals from now on. SIGHUP stays ignored if it is, as under `nohup`. SIGINT is caught even then,
    /// because shells ignore it in all commands that a script runs in the background.
    ///
    /// # Errors
    /// Fails if the kernel refuses a handler.
    pub fn catch() -> io::Result<Self> {
        let caught = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| signal != SIGHUP || !is_ignored(signal)) {
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

/// Whether this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal - 1) & 1 != 0)
}

/// Tests that raise signals hold this, because every [`Signals`] of the process remembers them.
#[cfg(test)]
static RAISING: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in a process that the test below starts for itself.
    const UNDER_NOHUP: &str = "WAKELAB_TEST_UNDER_NOHUP";

    #[test]
    fn nohup_is_respected() {
        let _raising = RAISING.lock();
        if std::env::var_os(UNDER_NOHUP).is_some() {
            let signals = Signals::catch().unwrap();
            signal_hook::low_level::raise(SIGHUP).unwrap();
            assert_eq!(signals.caught(), None);
            signal_hook::low_level::raise(SIGINT).unwrap();
            assert_eq!(signals.caught(), Some(SIGINT));
            return;
        }
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
        let output =
            shell.args(["signals::tests::nohup_is_respected", "--exact"]).env(UNDER_NOHUP, "1").output().unwrap();
        assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    }

    #[test]
    fn the_exit_code_names_the_signal() {
        let _raising = RAISING.lock();
        // The tests may run under nohup, too.
        let of_hangup = (!is_ignored(SIGHUP)).then_some((SIGHUP, 129));
        let signals = Signals::catch().unwrap();
        assert_eq!(signals.exit_code(), None);
        for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)].into_iter().chain(of_hangup) {
            signal_hook::low_level::raise(signal).unwrap();
            assert_eq!((signals.caught(), signals.clone().exit_code()), (Some(signal), Some(code)));
        }
    }
}
