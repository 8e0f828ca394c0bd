//! A worker: this program, started once more to make runs for another that asks for them.
//!
//! It is told so by an environment variable. It reads questions from stdin and writes answers to stdout, each with its
//! length before it. The first question names the schedulers' objects, so that none is compiled again and all are the
//! same, and its answer says that the worker knows its runs.

use crate::runs::scheduler::{KnownScheduler, known_schedulers, set_known_schedulers};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// The environment variable that makes the program a worker.
pub const VARIABLE: &str = "WAKELAB_WORKER";

/// The longest question or answer, bytes: schedulers' objects, or the numbers of a run of thousands of CPUs.
const FRAME_BYTES: u32 = 1 << 30;

/// The least that a worker may use, bytes.
const MEMORY_LEAST: u64 = 4 << 30;

/// The first question.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    schedulers: Vec<KnownScheduler>,
}

impl Hello {
    /// With what is known now.
    pub(super) fn now() -> Self {
        Hello { schedulers: known_schedulers() }
    }
}

/// The questions of a worker; not there in the program that asks.
static QUESTIONS: OnceLock<Mutex<Receiver<Vec<u8>>>> = OnceLock::new();

/// Whether this process is a worker.
pub fn is_worker() -> bool {
    QUESTIONS.get().is_some()
}

/// Becomes a worker if the environment says so. To be called first of all.
///
/// Its memory is limited to half of the machine's, and at least 4 GiB: a run that takes more would be ended by the
/// kernel, with whatever else runs here.
///
/// # Errors
/// Fails if the system makes no thread, or does not let the limits be set.
pub fn begin() -> io::Result<()> {
    if std::env::var_os(VARIABLE).is_none() || is_worker() {
        return Ok(());
    }
    let all = rustix::system::sysinfo();
    let memory = (all.totalram * u64::from(all.mem_unit) / 2).max(MEMORY_LEAST);
    // Whoever has started the program may allow less.
    let memory = getrlimit(Resource::As).maximum.map_or(memory, |most| most.min(memory));
    setrlimit(Resource::As, Rlimit { current: Some(memory), maximum: Some(memory) })?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let (send, questions) = channel();
    // Questions get a descriptor of their own: an input of the command may be /dev/stdin, which is empty here.
    let mut stdin = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(null)?;
    if let Some(hello) = read_frame(&mut stdin)?
        && let Ok(hello) = postcard::from_bytes::<Hello>(&hello)
    {
        set_known_schedulers(hello.schedulers);
    }
    thread::Builder::new().spawn(move || {
        while let Ok(Some(question)) = read_frame(&mut stdin) {
            if send.send(question).is_err() {
                break;
            }
        }
        // Whoever asked has gone. What waits for a question ends by itself, and what runs would run for nobody.
        drop(send);
        thread::sleep(Duration::from_millis(100));
        process::exit(0);
    })?;
    let _ = QUESTIONS.set(Mutex::new(questions));
    Ok(())
}

/// Answers the questions of the program that has started this worker, and ends the process when there are no more. Does
/// nothing in a program that is no worker.
pub fn serve<Q: DeserializeOwned, A: Serialize>(mut answer: impl FnMut(Q) -> A) {
    let Some(questions) = QUESTIONS.get() else { return };
    let questions = questions.lock().unwrap_or_else(PoisonError::into_inner);
    let mut serving = || -> io::Result<Infallible> {
        let mut stdout = io::stdout();
        let mut reply = |bytes: &[u8]| write_frame(&mut stdout, bytes);
        reply(&[])?;
        loop {
            let question = questions.recv().map_err(io::Error::other)?;
            let question = postcard::from_bytes(&question).map_err(io::Error::other)?;
            reply(&postcard::to_stdvec(&answer(question)).map_err(io::Error::other)?)?;
        }
    };
    // It ends when nobody asks any more.
    let _ = serving();
    process::exit(0);
}

/// Writes bytes with their length before them.
pub(super) fn write_frame(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|&length| length <= FRAME_BYTES);
    let length = length.ok_or_else(|| io::Error::other("too long"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)?;
    to.flush()
}

/// Reads bytes with their length before them; `None` at the end.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length);
    if length > FRAME_BYTES {
        return Err(io::Error::other("too long"));
    }
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    Ok((bytes.len() == length as usize).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_whole_or_not_there() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, b"one").unwrap();
        write_frame(&mut bytes, b"").unwrap();
        let mut from = &bytes[..];
        assert_eq!(read_frame(&mut from).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(read_frame(&mut from).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read_frame(&mut from).unwrap(), None);
        assert_eq!(read_frame(&mut &bytes[..5]).unwrap(), None, "a cut one");
        assert!(read_frame(&mut &[0xff; 8][..]).is_err(), "a length that nobody sends");
    }
}
