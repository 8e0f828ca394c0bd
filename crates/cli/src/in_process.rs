//! Commands inside another program, such as an interpreter: what a command would print is kept, no signal is handled,
//! and nothing ends the process. Each call has a thread of its own, so that several run at a time.

use crate::commands::Command;
use crate::output::Exit;
use crate::{Args, output};
use clap::Parser;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;
use wakelab_input::files::Files;
use wakelab_study::runs::Program;

/// The stack of a call's thread, bytes: that of a program's first thread on Linux, for which the commands are written.
const STACK: usize = 8 << 20;

/// What the thread of a command is part of; `None` in the program itself.
pub(crate) fn host() -> Option<Arc<Host>> {
    HOST.with_borrow(Clone::clone)
}

thread_local! {
    static HOST: RefCell<Option<Arc<Host>>> = const { RefCell::new(None) };
}

/// Flags of calls that have ended. They are lent as `&'static`, and thus never freed.
static FLAGS: Mutex<Vec<&'static AtomicBool>> = Mutex::new(Vec::new());

/// The program that a call is part of: where its output goes, and how it is stopped.
#[derive(Debug)]
pub(crate) struct Host {
    /// The command as a page shows it.
    pub command: String,
    /// Set by the host to stop the command.
    pub stop: &'static AtomicBool,
    /// The file in which this library is linked.
    library: PathBuf,
    out: Mutex<Vec<u8>>,
    said: Mutex<Vec<Said>>,
    progress: Mutex<Option<Done>>,
}

impl Host {
    /// Keeps a line that the program prints to stderr.
    pub fn say(&self, text: &str) {
        let said = match text.split_once(": ") {
            Some(("error", text)) => Said::Error(text.to_owned()),
            Some(("warning", text)) => Said::Warning(text.to_owned()),
            _ => Said::Note(text.to_owned()),
        };
        lock(&self.said).push(said);
    }

    /// Tells how far the command is. If it is to be stopped it ends here, as from a panic, but without a message.
    pub fn progress(&self, done: u64, all: u64, what: &str) {
        if self.stop.load(Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new(Stopped));
        }
        *lock(&self.progress) = Some(Done { done, all, what: what.to_owned() });
    }

    /// The identity of this program for the cache. It is that of the library: the executable may be an interpreter,
    /// which stays the same when the library is replaced.
    pub fn program(&self) -> io::Result<Program> {
        static PROGRAM: OnceLock<Program> = OnceLock::new();
        match PROGRAM.get() {
            Some(program) => Ok(*program),
            None => Program::of(&self.library).map(|program| *PROGRAM.get_or_init(|| program)),
        }
    }
}

/// The payload with which a command that is stopped ends.
struct Stopped;

/// Keeps what a command writes to stdout.
pub(crate) struct HostOut(pub Arc<Host>);

impl Write for HostOut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        lock(&self.0.out).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line that the program prints to stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// An error, with the next step.
    Error(String),
    /// A warning.
    Warning(String),
    /// All else.
    Note(String),
}

/// How far a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Runs, or bytes of recordings, that are done.
    pub done: u64,
    /// All of them; 0 if that is not known.
    pub all: u64,
    /// The thing that is being done.
    pub what: String,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit code of the program (`wakelab --help` lists them); `None` if the command was stopped or panicked.
    pub exit: Option<u8>,
    /// The command's stdout.
    pub out: Vec<u8>,
    /// The lines of the command's stderr, in order.
    pub said: Vec<Said>,
}

/// A command that runs.
#[derive(Debug)]
pub struct Call {
    host: Arc<Host>,
    ended: Mutex<Receiver<Ended>>,
}

impl Call {
    /// Begins a command, given as the program's arguments without its name. `command` is how a page shows it, and
    /// `library` the file in which this code is linked.
    ///
    /// Commands that measure this machine, print completions or open a browser are refused: they start this program
    /// again, or write to the terminal.
    ///
    /// # Errors
    /// Fails if the system makes no thread. Wrong arguments are errors of the command.
    pub fn begin(args: Vec<String>, command: String, library: PathBuf) -> io::Result<Self> {
        let stop = lock(&FLAGS).pop().unwrap_or_else(|| Box::leak(Box::default()));
        stop.store(false, Ordering::Relaxed);
        let (out, said, progress) = Default::default();
        let host = Arc::new(Host { command, stop, library, out, said, progress });
        let (send, ended) = channel();
        let of_thread = Arc::clone(&host);
        thread::Builder::new().name("wakelab".to_owned()).stack_size(STACK).spawn(move || {
            HOST.set(Some(Arc::clone(&of_thread)));
            let exit = std::panic::catch_unwind(|| run(args)).unwrap_or_else(|payload| {
                if !payload.is::<Stopped>() {
                    of_thread.say("error: a bug in wakelab ended the command\n  hint: please report what you called");
                }
                None
            });
            HOST.set(None);
            let Host { out, said, .. } = &*of_thread;
            let ended = Ended { exit, out: std::mem::take(&mut lock(out)), said: std::mem::take(&mut lock(said)) };
            lock(&FLAGS).push(of_thread.stop);
            // Nobody waits for a call that was given up.
            let _ = send.send(ended);
        })?;
        Ok(Call { host, ended: Mutex::new(ended) })
    }

    /// Waits until the command has ended, and no longer than `time`. Returns `None` if it runs on.
    pub fn wait(&self, time: Duration) -> Option<Ended> {
        match lock(&self.ended).recv_timeout(time) {
            Ok(ended) => Some(ended),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Ended { exit: None, out: Vec::new(), said: Vec::new() }),
        }
    }

    /// How far it is, if that has changed since it was last asked.
    pub fn progress(&self) -> Option<Done> {
        lock(&self.host.progress).take()
    }

    /// Stops the command as Ctrl-C does the program: soon, and without a result.
    pub fn stop(&self) {
        self.host.stop.store(true, Ordering::Relaxed);
    }
}

fn run(args: Vec<String>) -> Option<u8> {
    let args = match Args::try_parse_from([String::from("wakelab")].into_iter().chain(args)) {
        Ok(args) => args,
        Err(message) => {
            // Usage and --help are of the terminal.
            let text = message.render().to_string();
            let text = text.split("\n\nUsage:").next().and_then(|text| text.split("\n\nFor more").next());
            output::tell(text.unwrap_or_default().trim_end());
            return Some(2);
        }
    };
    let _files = host().map(|host| Files::begin(host.stop));
    let result = allowed(&args.command).and_then(|()| args.command.run());
    match result {
        Ok(Exit::Interrupted) => None,
        Ok(exit) => Some(exit.number()),
        Err(_) if host().is_some_and(|host| host.stop.load(Ordering::Relaxed)) => None,
        Err(error) => {
            output::say_error(format_args!("{error:#}"));
            Some(2)
        }
    }
}

fn allowed(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Compare(_)
        | Command::Run(_)
        | Command::Score(_)
        | Command::Sweep(_)
        | Command::Stats(_)
        | Command::Waits(_)
        | Command::Explain(_)
        | Command::Conform(_)
        | Command::Replay(_)
        | Command::Capture(_)
        | Command::Whatif(_)
        | Command::List(_) => Ok(()),
        _ => Err(anyhow::anyhow!("this command runs only in the program\n  hint: call `wakelab` in a shell")),
    }
}

/// What a thread that panicked had locked is whole: it is text that was appended.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
