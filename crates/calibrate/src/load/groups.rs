//! Groups of senders and receivers, each sender writing to every receiver of its group in turn, as in hackbench.

use super::{Task, rounds};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

/// Senders of a group, and receivers. hackbench has 20; fewer fit small machines.
pub const FDS: u32 = 4;

/// Bytes of a message, as hackbench has them.
pub const SIZE: usize = 100;

/// A group that sends through pipes. Receivers count.
pub(super) fn through_pipes(count: Option<u64>) -> io::Result<Vec<Task>> {
    let mut ends = Vec::new();
    for _ in 0..FDS {
        ends.push(io::pipe()?);
    }
    Ok(group(ends, count))
}

/// A group that sends through Unix sockets.
pub(super) fn through_sockets(count: Option<u64>) -> io::Result<Vec<Task>> {
    let mut ends = Vec::new();
    for _ in 0..FDS {
        ends.push(UnixStream::pair()?);
    }
    Ok(group(ends, count))
}

fn group<R, W>(ends: Vec<(R, W)>, count: Option<u64>) -> Vec<Task>
where
    R: Read + Send + 'static,
    W: Send + Sync + 'static,
    for<'a> &'a W: Write,
{
    let (readers, writers): (Vec<R>, Vec<W>) = ends.into_iter().unzip();
    let writers = Arc::new(writers);
    let receiver = |mut from: R| -> Task {
        Box::new(move |tally| {
            let mut message = [0; SIZE];
            for _ in rounds(count.map(|count| count * u64::from(FDS))) {
                let began = Instant::now();
                from.read_exact(&mut message)?;
                tally.done_since(began);
            }
            Ok(())
        })
    };
    let sender = |_| -> Task {
        let writers = Arc::clone(&writers);
        Box::new(move |_| {
            for _ in rounds(count) {
                for mut to in writers.iter() {
                    to.write_all(&[0; SIZE])?;
                }
            }
            Ok(())
        })
    };
    let receivers: Vec<Task> = readers.into_iter().map(receiver).collect();
    receivers.into_iter().chain((0..FDS).map(sender)).collect()
}
