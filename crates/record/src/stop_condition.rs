//! When a recording ends: after a duration, with its command, or on a signal.

use anyhow::{Context, Result};
use std::process::Stdio;
use std::time::{Duration, Instant};
use wakelab_process::command::{CommandGroup, exit_code};
use wakelab_process::signals::Signals;

/// The condition that ends a recording. A command that still runs when this is dropped is ended with its process group.
pub struct StopCondition {
    signals: Signals,
    duration: Option<Duration>,
    start: Instant,
    command: Option<CommandGroup>,
    /// Whether a signal is how the recording is to end: it has neither a duration nor a command.
    endless: bool,
    exit_code: Option<i32>,
}

impl StopCondition {
    /// A condition that has not begun yet.
    pub fn new(duration: Option<Duration>, signals: Signals) -> Self {
        StopCondition { signals, duration, start: Instant::now(), command: None, endless: false, exit_code: None }
    }

    /// Starts the command, if there is one, and the duration.
    pub fn start(&mut self, command: &[String]) -> Result<()> {
        if let Some(program) = command.first() {
            let started = CommandGroup::start(command, Stdio::inherit());
            self.command = Some(started.map_err(|e| {
                crate::args::UsageError(format!("{program} cannot be run: {e}\n  hint: the command follows --"))
            })?);
        }
        self.endless = self.duration.is_none() && self.command.is_none();
        self.start = Instant::now();
        Ok(())
    }

    /// Whether the recording has to end now.
    pub fn reached(&mut self) -> Result<bool> {
        if let Some(command) = &mut self.command
            && let Some(status) = command.try_wait().context("cannot wait for the command")?
        {
            self.exit_code = Some(exit_code(status));
            return Ok(true);
        }
        if let Some(code) = self.signals.exit_code() {
            self.exit_code = (!self.endless).then_some(code.into());
            return Ok(true);
        }
        Ok(self.duration.is_some_and(|duration| self.start.elapsed() >= duration))
    }

    /// The exit code of the command; 128 + N if signal N killed it, or ended the recording before its command or its
    /// duration was over. `None` if the recording has ended as it should, with no code of a command.
    pub fn exit_code(&self) -> Option<i32> {
        self.exit_code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(duration: Option<Duration>, command: &[&str]) -> Option<i32> {
        let signals = Signals::catch().unwrap();
        let mut stop = StopCondition::new(duration, signals);
        stop.start(&command.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).unwrap();
        assert!(!stop.reached().unwrap());
        signal_hook::low_level::raise(signal_hook::consts::SIGTERM).unwrap();
        assert!(stop.reached().unwrap());
        stop.exit_code()
    }

    #[test]
    fn a_signal_is_an_error_only_if_it_cuts_the_recording_short() {
        assert_eq!(ended(None, &[]), None);
        assert_eq!(ended(Some(Duration::from_secs(1000)), &[]), Some(143));
        assert_eq!(ended(None, &["sleep", "1000"]), Some(143));
    }
}
