//! Where output goes: data to stdout, all else to stderr.

use std::io::{self, Write};
use std::process::ExitCode;
use wakelab_events::ReadError;

/// The exit code after Ctrl-C: what a shell reports of a program that SIGINT ended.
pub const INTERRUPTED: i32 = 130;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// The data do not agree.
    Differs,
    /// Some input could not be read; what could be was done.
    BadInput,
    /// A simulated run failed.
    RunFailed,
    /// Ctrl-C; what was complete was printed.
    Interrupted,
}

impl Exit {
    /// The exit code.
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Exit::Done => 0,
            Exit::Differs | Exit::RunFailed => 1,
            Exit::BadInput => 2,
            Exit::Interrupted => INTERRUPTED as u8,
        })
    }
}

/// Ends after an error: quietly if only the reader of the output went away, else with the error and code 2.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error:#}");
    ExitCode::from(2)
}

/// Says what could not be read.
pub fn say_errors(errors: &[ReadError]) {
    for error in errors {
        eprintln!("error: {error}");
    }
}

/// Says what was let pass.
pub fn say_warnings<T: std::fmt::Display>(warnings: &[T]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}

/// Prints text to stdout.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints one JSON value to stdout, over several lines.
pub fn print_json(value: &serde_json::Value) -> io::Result<()> {
    print(&format!("{value:#}\n"))
}
