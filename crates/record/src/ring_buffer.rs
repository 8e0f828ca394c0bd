//! The ring buffer: its size, and how its records get to the writer in bounded steps.

use crate::args::Args;
use crate::wire::{CpuState, Decision};
use crate::writer::Message;
use anyhow::{Result, bail};
use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{SyncSender, TrySendError};

/// A batch of this size is handed over, bytes.
const BATCH_BYTES: usize = 1 << 20;
/// Records that are taken before the size of the batch is checked.
const RECORDS: usize = 64;
/// How often that is repeated before control returns to the caller.
const TURNS: usize = 256;

/// Moves records from the ring buffer to the writer.
pub struct Drain<'a> {
    ring: RingBuffer<'a>,
    batch: Rc<RefCell<Vec<u64>>>,
    writer: SyncSender<Message>,
}

impl<'a> Drain<'a> {
    /// Begins to drain this ring buffer to this writer.
    pub fn new(ring: &'a dyn MapCore, writer: SyncSender<Message>) -> Result<Self> {
        let batch = Rc::new(RefCell::new(Vec::new()));
        let filled = Rc::clone(&batch);
        let mut builder = RingBufferBuilder::new();
        builder.add(ring, move |bytes| {
            append(&mut filled.borrow_mut(), bytes);
            0
        })?;
        Ok(Drain { ring: builder.build()?, batch, writer })
    }

    /// Takes records up to a limit, and only while the writer has room. Returns false if there was nothing to do.
    pub fn drain_some(&self) -> Result<bool> {
        for turn in 0..TURNS {
            if size_of_val(self.batch.borrow().as_slice()) >= BATCH_BYTES && !self.hand_over()? {
                return Ok(turn > 0);
            }
            let taken = self.ring.consume_raw_n(RECORDS);
            if taken < 0 {
                bail!("the ring buffer cannot be read: {}", std::io::Error::from_raw_os_error(-taken));
            }
            if taken == 0 {
                // An incomplete batch waits no longer than this.
                return Ok(!self.batch.borrow().is_empty() && self.hand_over()? && turn > 0);
            }
        }
        Ok(true)
    }

    /// Takes all that is left, and waits for the writer if it has no room.
    pub fn drain_all(&self) -> Result<()> {
        loop {
            let taken = self.ring.consume_raw_n(RECORDS);
            if taken <= 0 || size_of_val(self.batch.borrow().as_slice()) >= BATCH_BYTES {
                self.writer.send(Message::Records(self.batch.take())).or_else(|_| writer_ended())?;
            }
            if taken <= 0 {
                return Ok(());
            }
        }
    }

    fn hand_over(&self) -> Result<bool> {
        match self.writer.try_send(Message::Records(self.batch.take())) {
            Ok(()) => Ok(true),
            Err(TrySendError::Full(Message::Records(batch))) => {
                self.batch.replace(batch);
                Ok(false)
            }
            Err(_) => writer_ended().map(|()| false),
        }
    }
}

/// Fails with [`WriterEnded`].
pub fn writer_ended() -> Result<()> {
    Err(WriterEnded.into())
}

/// The writer has ended early. Its own error, which [`Writer::finish`](crate::writer::Writer::finish) returns, has the
/// cause.
#[derive(Debug)]
pub struct WriterEnded;

impl std::fmt::Display for WriterEnded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the writer has ended")
    }
}

impl std::error::Error for WriterEnded {}

/// Appends a record after its length. Records begin at multiples of eight bytes, as in the ring buffer.
fn append(batch: &mut Vec<u64>, bytes: &[u8]) {
    batch.push(bytes.len() as u64);
    let at = batch.len();
    batch.resize(at + bytes.len().div_ceil(8), 0);
    bytemuck::cast_slice_mut(&mut batch[at..])[..bytes.len()].copy_from_slice(bytes);
}

const MIB: u64 = 1 << 20;
/// A busy CPU makes about this many decisions a second. The buffer holds those of a quarter of a second of all CPUs.
const DECISIONS_PER_CPU: u64 = 2000;
const QUARTERS: u64 = 4;
const MIN_BYTES: u64 = 64 * MIB;
const MAX_BYTES: u64 = 256 * MIB;
/// Without --buffer it takes at most this part of the machine's memory.
const PART_OF_MEMORY: u64 = 16;

/// The size of the ring buffer in bytes, a power of two.
pub fn size(args: &Args, nr_cpus: usize) -> u32 {
    if let Some(mib) = args.buffer {
        return (mib << 20).next_power_of_two();
    }
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_total(&text));
    default_size(nr_cpus as u64, args.sample.into(), args.max_rate.map(u64::from), memory)
}

fn default_size(nr_cpus: u64, sample: u64, max_rate: Option<u64>, memory: Option<u64>) -> u32 {
    let record = (size_of::<Decision>() + nr_cpus as usize * size_of::<CpuState>()) as u64;
    let rate = (nr_cpus * DECISIONS_PER_CPU / sample).min(max_rate.unwrap_or(u64::MAX));
    let max = memory.map_or(MAX_BYTES, |memory| (memory / PART_OF_MEMORY).clamp(MIB, MAX_BYTES));
    let wanted = (rate.saturating_mul(record) / QUARTERS).clamp(MIN_BYTES.min(max), max);
    // Rounded down to a power of two, so that it stays below the limit.
    1 << (63 - wanted.leading_zeros())
}

/// `MemTotal` in bytes.
fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_odd_lengths_are_found_again() {
        let mut batch = Vec::new();
        append(&mut batch, &[1, 2, 3]);
        append(&mut batch, &[9; 16]);
        assert_eq!((batch[0], batch[2], batch.len()), (3, 16, 5));
        assert_eq!(bytemuck::cast_slice::<u64, u8>(&batch[1..2])[..3], [1, 2, 3]);
    }

    #[test]
    fn the_buffer_grows_with_the_cpus_up_to_a_limit() {
        let of = |cpus| u64::from(default_size(cpus, 1, None, None)) / MIB;
        assert_eq!([of(1), of(8), of(72), of(128), of(225), of(1024)], [64, 64, 128, 256, 256, 256]);
        assert_eq!(default_size(225, 1, Some(100), None), 64 << 20);
        assert_eq!(default_size(225, 100, None, None), 64 << 20);
    }

    #[test]
    fn a_small_machine_gives_a_sixteenth_of_its_memory() {
        assert_eq!(default_size(225, 1, None, Some(1024 * MIB)), 64 << 20);
        assert_eq!(default_size(8, 1, None, Some(500 * MIB)), 16 << 20);
        assert_eq!(mem_total("MemTotal:        1024 kB\nMemFree: 1 kB\n"), Some(1 << 20));
        assert_eq!(mem_total("Nothing"), None);
    }
}
