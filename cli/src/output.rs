//! Where output goes: data to stdout, all else to stderr; and how much of that else.

use crate::args::Command;
use console::Term;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use wakelab_events::ReadError;

/// The exit code after Ctrl-C: what a shell reports of a program that SIGINT ended.
pub const INTERRUPTED: i32 = 130;

/// How much is said on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// Errors only.
    Quiet,
    /// Warnings, notes and hints, too.
    Usual,
    /// And what is being done.
    Verbose,
}

static VOICE: AtomicU8 = AtomicU8::new(Voice::Usual as u8);

/// Sets how much is said from here on.
pub fn speak(voice: Voice) {
    VOICE.store(voice as u8, Ordering::Relaxed);
}

/// Whether that much is said.
pub fn speaks(voice: Voice) -> bool {
    VOICE.load(Ordering::Relaxed) >= voice as u8
}

/// Says what a user may want to know; not with `--quiet`.
pub fn note(text: impl std::fmt::Display) {
    if speaks(Voice::Usual) {
        eprintln!("{text}");
    }
}

/// [`note`], as `eprintln!` takes it.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::note(format_args!($($text)*)) };
}
pub(crate) use say;

/// Says what to do next after results, to who sits at a terminal; not with `--quiet`.
pub fn hint(text: impl std::fmt::Display) {
    if io::stderr().is_terminal() {
        note(format_args!("hint: {text}"));
    }
}

/// Says what is being done, with `--verbose`.
pub fn detail(text: impl std::fmt::Display) {
    if speaks(Voice::Verbose) {
        eprintln!("{text}");
    }
}

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
        note(format_args!("warning: {warning}"));
    }
}

/// How wide tables may be: as the terminal that shows them. `None` where none does, so that a file or a pipe gets the same
/// text from every terminal.
pub fn terminal_width(command: &Command) -> Option<u16> {
    let out = match command {
        Command::Run(args) => args.how.out.as_ref(),
        Command::Compare(args) => args.how.out.as_ref(),
        Command::Reproduce(args) => args.out.as_ref(),
        _ => None,
    };
    let stdout = Term::stdout();
    let size = stdout.size_checked().filter(|_| out.is_none() && stdout.is_term());
    size.map(|(_, columns)| columns)
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
