//! A worker, as the program sees it that asks.

use super::worker::{Hello, VARIABLE, read_frame, write_frame};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wakelab_input::printable;

/// How a worker is started: this program with the arguments that it was started with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl Start {
    /// This program, as it was started.
    pub fn again() -> Self {
        // The running file, even if a build has replaced it since.
        Start { program: PathBuf::from("/proc/self/exe"), args: std::env::args_os().skip(1).collect() }
    }
}

/// How long passes between two looks at whether a run was stopped.
const LOOK: Duration = Duration::from_millis(20);

/// So much of what a worker says on stderr is kept, bytes.
const SAID_BYTES: usize = 4096;

/// A worker.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    /// To the thread that writes them; taken when it is to end.
    questions: Option<Sender<Vec<u8>>>,
    answers: Receiver<Vec<u8>>,
    /// Has the last of what it said on stderr.
    said: Option<JoinHandle<Vec<u8>>>,
}

/// What came of a question.
#[derive(Debug)]
pub(super) enum Exchanged {
    /// The answer.
    Answer(Vec<u8>),
    /// The run was stopped.
    Stopped,
    /// The worker was dead before it was asked.
    Unsent,
    /// The worker has died of it.
    Died,
}

impl Process {
    /// Starts a worker, and waits until it knows its runs; `None` if the run was stopped meanwhile.
    ///
    /// # Errors
    /// Fails if the program cannot be started, or does not come to where it would make runs.
    pub(super) fn start(start: &Start, stop: &AtomicBool) -> io::Result<Option<Self>> {
        let mut command = Command::new(&start.program);
        command.args(&start.args).env(VARIABLE, "1");
        // Ctrl-C is for the program, which ends its workers itself.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            unreachable!("all three are pipes")
        };
        let (send, answers) = channel();
        let (questions, asked) = channel::<Vec<u8>>();
        let mut process = Process { child, questions: Some(questions), answers, said: None };
        // One that does not read does not keep the program from being stopped.
        thread::Builder::new().spawn(move || {
            while let Ok(question) = asked.recv() {
                if write_frame(&mut stdin, &question).is_err() {
                    break;
                }
            }
        })?;
        thread::Builder::new().spawn(move || {
            while let Ok(Some(frame)) = read_frame(&mut stdout) {
                if send.send(frame).is_err() {
                    break;
                }
            }
        })?;
        process.said = Some(thread::Builder::new().spawn(move || last_of(stderr))?);
        let hello = postcard::to_stdvec(&Hello::now()).expect("plain data can be written to memory");
        match process.exchange(&hello, stop) {
            Exchanged::Answer(_) => Ok(Some(process)),
            Exchanged::Stopped => Ok(None),
            Exchanged::Unsent | Exchanged::Died => Err(io::Error::other(process.how_it_ended())),
        }
    }

    /// Sends a question and waits for the answer. It ends the worker if it is not answered.
    pub(super) fn exchange(&mut self, question: &[u8], stop: &AtomicBool) -> Exchanged {
        let lives = matches!(self.child.try_wait(), Ok(None));
        let sent = self.questions.as_ref().is_some_and(|questions| questions.send(question.to_owned()).is_ok());
        if !lives || !sent {
            return Exchanged::Unsent;
        }
        loop {
            match self.answers.recv_timeout(LOOK) {
                Ok(answer) => return Exchanged::Answer(answer),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    let _ = self.child.kill();
                    return Exchanged::Stopped;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Exchanged::Died,
            }
        }
    }

    /// Waits for its end: it ends by itself when its questions do, and is killed if it does not.
    fn end(&mut self) -> io::Result<ExitStatus> {
        const LOOKS: u32 = 100;
        self.questions = None;
        for _ in 0..LOOKS {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(LOOK);
        }
        self.child.kill()?;
        self.child.wait()
    }

    /// How it ended, with its last words.
    pub(super) fn how_it_ended(mut self) -> String {
        let status = match self.end() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let told = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("note: ");
        match said.lines().rfind(told) {
            Some(line) => format!("{status}: {}", printable(line.trim())),
            None => status,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Reads to the end, and returns the last of it.
fn last_of(mut from: impl Read) -> Vec<u8> {
    let (mut last, mut bytes) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        last.extend_from_slice(&bytes[..count]);
        let over = last.len().saturating_sub(SAID_BYTES);
        last.drain(..over);
    }
    last
}
