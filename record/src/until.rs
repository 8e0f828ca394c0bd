//! When a recording ends: after a time, with its command, or when it is asked to.

use anyhow::{Context, Result};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What it waits for.
pub struct Until {
    asked: Arc<AtomicBool>,
    duration: Option<Duration>,
    start: Instant,
    child: Option<Child>,
    code: Option<i32>,
}

impl Until {
    /// From now on Ctrl-C and SIGTERM ask for the end.
    pub fn new(duration: Option<Duration>) -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&asked);
        ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed)).context("signals cannot be waited for")?;
        Ok(Until { asked, duration, start: Instant::now(), child: None, code: None })
    }

    /// Starts the command, if there is one.
    pub fn start(&mut self, command: &[String]) -> Result<()> {
        if let Some((program, arguments)) = command.split_first() {
            let child = Command::new(program).args(arguments).spawn();
            self.child = Some(child.map_err(|e| {
                crate::usage::Usage(format!("{program} cannot be run: {e}\n  hint: the command stands after --"))
            })?);
        }
        self.start = Instant::now();
        Ok(())
    }

    /// Whether the recording is to end.
    pub fn over(&mut self) -> Result<bool> {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait().context("the command cannot be waited for")?
        {
            use std::os::unix::process::ExitStatusExt;
            self.code = status.code().or(status.signal().map(|signal| 128 + signal));
            return Ok(true);
        }
        Ok(self.asked.load(Ordering::Relaxed) || self.duration.is_some_and(|most| self.start.elapsed() >= most))
    }

    /// The command's exit code.
    pub fn code(&self) -> Option<i32> {
        self.code
    }
}
