//! Where output goes: data to stdout, all else to stderr; how much goes to stderr; and how the program ends.

use crate::in_process::{HostOut, host};
use crate::signals;
use console::Term;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use wakelab_events::ReadError;
use wakelab_input::printable_lines;

/// How much is printed to stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// Errors only.
    Quiet,
    /// Warnings, notes and hints, too.
    Usual,
    /// What is being done, too.
    Verbose,
}

static VOICE: AtomicU8 = AtomicU8::new(Voice::Usual as u8);

/// Sets how much is printed to stderr from here on.
pub fn speak(voice: Voice) {
    VOICE.store(voice as u8, Ordering::Relaxed);
}

/// Whether messages of this kind are printed.
pub fn speaks(voice: Voice) -> bool {
    VOICE.load(Ordering::Relaxed) >= voice as u8
}

/// Prints to stderr what a user may want to know; not with `--quiet`.
pub fn note(text: impl std::fmt::Display) {
    if speaks(Voice::Usual) {
        tell(text);
    }
}

/// Prints to stderr, whatever flags say; inside another program it is kept ([`crate::in_process`]).
pub fn tell(text: impl std::fmt::Display) {
    let text = text.to_string();
    let text = printable_lines(&text);
    match host() {
        Some(host) => host.say(&text),
        None => eprintln!("{text}"),
    }
}

/// [`note`] with the arguments of `eprintln!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::note(format_args!($($text)*)) };
}
pub(crate) use say;

/// Prints what to do next after results, if stderr is a terminal; not with `--quiet`.
pub fn hint(text: impl std::fmt::Display) {
    if host().is_none() && io::stderr().is_terminal() {
        note(format_args!("hint: {text}"));
    }
}

/// Prints what is being done, with `--verbose`.
pub fn detail(text: impl std::fmt::Display) {
    if speaks(Voice::Verbose) {
        tell(text);
    }
}

/// The way a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// The data do not agree.
    Differs,
    /// No row matches.
    NoMatch,
    /// Something does not work here (`doctor`).
    Missing,
    /// A scheduler does what it should not (`scx-check`).
    Found,
    /// Some input could not be read; what could be was done.
    BadInput,
    /// A simulated run failed.
    RunFailed,
    /// The condition of `--fail-if` holds.
    Failed,
    /// Ctrl-C, SIGTERM or SIGHUP; what was complete was printed.
    Interrupted,
}

impl Exit {
    /// [`Interrupted`](Self::Interrupted) in place of an error, if a signal came: then the signal is why it failed.
    pub fn unless_interrupted(self) -> Self {
        let by_signal = matches!(self, Exit::BadInput | Exit::RunFailed) && signals::exit_code().is_some();
        if by_signal { Exit::Interrupted } else { self }
    }

    /// The exit code.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// The number of the exit code.
    pub fn number(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Differs | Exit::NoMatch | Exit::Missing | Exit::Found | Exit::RunFailed => 1,
            Exit::BadInput => 2,
            Exit::Failed => 3,
            Exit::Interrupted => signals::exit_code().unwrap_or(130),
        }
    }
}

/// Ends the program after an error: silently if only the reader of a pipe went away, else with the error and code 2.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    if let Some(code) = signals::exit_code() {
        eprintln!("interrupted: nothing was written");
        return ExitCode::from(code);
    }
    say_error(format_args!("{error:#}"));
    ExitCode::from(2)
}

/// Prints what clap says of the arguments, or the help that was asked for. Returns the exit code: 0 for help that could
/// be written, 2 else.
pub fn clap_message(message: &clap::Error) -> ExitCode {
    match message.print() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => fail(&named_stdout(error).into()),
        _ => ExitCode::from(message.exit_code() as u8),
    }
}

/// An error of stdout with its name. Its kind stays: that a reader has gone away is no error.
pub fn named_stdout(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("stdout: {error}\n  hint: make room, or send the output elsewhere"))
}

/// Prints what could not be read.
pub fn say_errors(errors: &[ReadError]) {
    for error in errors {
        say_error(error);
    }
}

/// Prints an error to stderr.
pub fn say_error(error: impl std::fmt::Display) {
    tell(format_args!("error: {error}"));
}

/// Prints warnings; not with `--quiet`.
pub fn say_warnings<T: std::fmt::Display>(warnings: &[T]) {
    for warning in warnings {
        note(format_args!("warning: {warning}"));
    }
}

/// The width of tables on stdout: that of the terminal. `None` if stdout is no terminal or the output goes `to_file`,
/// so that files and pipes receive the same text whatever terminal the program was started from.
pub fn terminal_width(to_file: bool) -> Option<u16> {
    let stdout = Term::stdout();
    let size = stdout.size_checked().filter(|_| !to_file && stdout.is_term());
    size.map(|(_, columns)| columns)
}

/// Prints text to stdout. What a terminal would obey in it is escaped: tasks, files and machines have any name.
pub fn print(text: &str) -> io::Result<()> {
    print_as_is(&printable_lines(text))
}

/// Prints to stdout what escapes its strings itself, as JSON does, or text that is printable already.
pub fn print_as_is(text: &str) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(named_stdout)
}

/// Where results go.
pub fn stdout() -> Box<dyn Write> {
    match host() {
        Some(host) => Box::new(HostOut(host)),
        None => Box::new(io::stdout().lock()),
    }
}

/// Prints one JSON value to stdout, over several lines.
pub fn print_json(value: &serde_json::Value) -> io::Result<()> {
    print_as_is(&format!("{value:#}\n"))
}
