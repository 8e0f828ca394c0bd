//! Message threads and workers, as in schbench since 2023: a worker puts itself on its message thread's list, wakes
//! that if it sleeps, and waits. The message thread takes the whole list and the time, and wakes all, the latest first.

use super::work::{Pace, steps};
use super::{Task, rounds};
use rustix::io::Errno;
use rustix::thread::futex;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Workers of a message thread.
pub const WORKERS: u32 = 2;

/// The work of a request, ns.
pub const REQUEST_NS: u64 = 20_000;

/// What a message thread shares with its workers.
#[derive(Debug)]
struct Shared {
    /// The workers that wait to be served.
    list: Mutex<Vec<usize>>,
    /// 1 while somebody is on the list.
    bell: AtomicU32,
    /// By worker: 1 when it has been served.
    served: Vec<AtomicU32>,
    /// By worker: when the message thread took the list, ns since `epoch`.
    at: Vec<AtomicU64>,
    epoch: Instant,
    /// How many workers have not ended.
    left: AtomicU32,
}

/// A message thread and its workers, who count.
pub(super) fn thread_with_workers(count: Option<u64>) -> Vec<Task> {
    let each = || (0..WORKERS).map(|_| AtomicU32::new(0)).collect();
    let shared = Arc::new(Shared {
        list: Mutex::default(),
        bell: AtomicU32::new(0),
        served: each(),
        at: (0..WORKERS).map(|_| AtomicU64::new(0)).collect(),
        epoch: Instant::now(),
        left: AtomicU32::new(WORKERS),
    });
    let serve = Arc::clone(&shared);
    let mut tasks: Vec<Task> = vec![Box::new(move |_| serve.message_thread())];
    for worker in 0..WORKERS as usize {
        let shared = Arc::clone(&shared);
        tasks.push(Box::new(move |tally| {
            let work = Pace::measure().steps(REQUEST_NS);
            for _ in rounds(count) {
                tally.done(shared.ask(worker)?);
                black_box(steps(work));
            }
            shared.left.fetch_sub(1, Ordering::AcqRel);
            post(&shared.bell)
        }));
    }
    tasks
}

impl Shared {
    fn message_thread(&self) -> io::Result<()> {
        while self.left.load(Ordering::Acquire) > 0 {
            wait(&self.bell)?;
            let waiting = std::mem::take(&mut *self.list.lock().unwrap_or_else(PoisonError::into_inner));
            let now = self.epoch.elapsed().as_nanos() as u64;
            for worker in waiting.into_iter().rev() {
                self.at[worker].store(now, Ordering::Relaxed);
                post(&self.served[worker])?;
            }
        }
        Ok(())
    }

    /// Waits to be served. Returns how long it took from when the message thread took the list.
    fn ask(&self, worker: usize) -> io::Result<Duration> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        post(&self.bell)?;
        wait(&self.served[worker])?;
        let now = self.epoch.elapsed().as_nanos() as u64;
        Ok(Duration::from_nanos(now.saturating_sub(self.at[worker].load(Ordering::Relaxed))))
    }
}

/// Sets the word, and wakes who waits for it if it was not set.
fn post(word: &AtomicU32) -> io::Result<()> {
    if word.swap(1, Ordering::AcqRel) == 0 {
        futex::wake(word, futex::Flags::PRIVATE, 1)?;
    }
    Ok(())
}

/// Sleeps until the word is set, and clears it.
fn wait(word: &AtomicU32) -> io::Result<()> {
    while word.swap(0, Ordering::AcqRel) == 0 {
        match futex::wait(word, futex::Flags::PRIVATE, 0, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
