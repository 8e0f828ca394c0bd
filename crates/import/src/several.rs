//! Reads several files of one recording at once, each in a thread of its own, and merges their events by time.

use crate::ImportError;
use crate::event::{Event, Losses};
use crate::trace_info::TraceInfo;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// How many events a thread hands over at a time, and how many times it may be ahead.
const BATCH: usize = 4096;
const BATCHES_AHEAD: usize = 2;

/// Called with the bytes that were read and all bytes.
pub(crate) type Progress<'a> = dyn Fn(u64, u64) + 'a;
/// Called with each event.
pub(crate) type Each<'a> = dyn FnMut(Event) -> Result<(), ImportError> + 'a;

/// Reads one file.
pub(crate) trait ReadFile: Sync {
    /// Calls `each` with every event of a file; `info` has what is known of the machine before the first of them.
    fn read(
        &self,
        path: &Path,
        info: &RefCell<TraceInfo>,
        progress: &Progress<'_>,
        each: &mut Each<'_>,
    ) -> Result<Losses, ImportError>;
}

struct Batch {
    info: TraceInfo,
    events: Vec<Event>,
}

/// Calls `each` with the events of all files. Returns what each of them lost.
pub(crate) fn read(
    paths: &[PathBuf],
    reader: &impl ReadFile,
    info: &RefCell<TraceInfo>,
    progress: &Progress<'_>,
    each: &mut Each<'_>,
) -> Result<Vec<Losses>, ImportError> {
    if let [path] = paths {
        return Ok(vec![reader.read(path, info, progress, each)?]);
    }
    let bytes: Vec<[AtomicU64; 2]> = paths.iter().map(|_| Default::default()).collect();
    let report = || {
        let sum = |at: usize| bytes.iter().map(|of| of[at].load(Ordering::Relaxed)).sum();
        progress(sum(0), sum(1));
    };
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut files = Vec::new();
        for (path, bytes) in paths.iter().zip(&bytes) {
            let (sender, receiver) = sync_channel(BATCHES_AHEAD);
            let run = move || {
                let info = RefCell::new(TraceInfo::default());
                let mut events = Vec::with_capacity(BATCH);
                let progress = |done, all| {
                    bytes[0].store(done, Ordering::Relaxed);
                    bytes[1].store(all, Ordering::Relaxed);
                };
                // Nobody receives any more if another file had an error, which is what is reported then.
                let stopped = || ImportError::new(path, "not read to its end");
                let losses = reader.read(path, &info, &progress, &mut |event| {
                    events.push(event);
                    if events.len() < BATCH {
                        return Ok(());
                    }
                    let events = std::mem::replace(&mut events, Vec::with_capacity(BATCH));
                    let of_batch = info.borrow_mut().take_names();
                    sender.send(Batch { info: of_batch, events }).map_err(|_| stopped())
                })?;
                sender.send(Batch { info: info.take(), events }).map_err(|_| stopped())?;
                Ok(losses)
            };
            let thread = thread::Builder::new().spawn_scoped(scope, run).map_err(|error| {
                ImportError::new(path, format!("the system cannot start a thread to read it: {error}"))
                    .with_hint("raise the limit (ulimit -u, pids.max), or import fewer files at a time")
            })?;
            threads.push(thread);
            files.push(Incoming { path, receiver, events: Vec::new().into_iter().peekable() });
        }
        let merged = merge(files, info, &report, each);
        let losses = threads.into_iter().map(|thread| {
            let failed = |_| Err(ImportError::new(Path::new(""), "a thread that reads a file has panicked"));
            thread.join().unwrap_or_else(failed)
        });
        let losses = losses.collect::<Vec<_>>();
        merged?;
        losses.into_iter().collect()
    })
}

/// The events of a file that are still to come.
struct Incoming<'a> {
    path: &'a Path,
    receiver: Receiver<Batch>,
    events: std::iter::Peekable<std::vec::IntoIter<Event>>,
}

impl Incoming<'_> {
    /// The time of its next event; `None` at its end.
    fn time(&mut self, info: &RefCell<TraceInfo>, report: &dyn Fn()) -> Result<Option<u64>, ImportError> {
        while self.events.peek().is_none() {
            let Ok(batch) = self.receiver.recv() else { return Ok(None) };
            info.borrow_mut().merge(batch.info, self.path)?;
            self.events = batch.events.into_iter().peekable();
            report();
        }
        Ok(self.events.peek().map(|event| event.t_ns))
    }
}

fn merge(
    mut files: Vec<Incoming<'_>>,
    info: &RefCell<TraceInfo>,
    report: &dyn Fn(),
    each: &mut Each<'_>,
) -> Result<(), ImportError> {
    let mut next = BinaryHeap::new();
    for (at, file) in files.iter_mut().enumerate() {
        next.extend(file.time(info, report)?.map(|time| Reverse((time, at))));
    }
    while let Some(Reverse((_, at))) = next.pop() {
        let file = &mut files[at];
        if let Some(event) = file.events.next() {
            each(event)?;
        }
        next.extend(file.time(info, report)?.map(|time| Reverse((time, at))));
    }
    Ok(())
}
