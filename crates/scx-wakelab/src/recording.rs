//! `--record`: decisions in the schema of the recorder, which `wakelab stats`, `explain` and `conform` read.

use crate::bpf_skel::BpfSkel;
use crate::machine::Machine;
use anyhow::{Context, Result};
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wakelab_scx_decisions::decision_rows::{DecisionRows, Place};

/// How often the open segments are closed, so that a scheduler that is killed leaves them.
const CLOSE_INTERVAL: Duration = Duration::from_secs(5);

/// The rows, and why one could not be written.
struct Rows {
    rows: DecisionRows,
    broken: Option<anyhow::Error>,
}

/// A recording that is being written.
pub struct Recording<'a> {
    rows: Rc<RefCell<Rows>>,
    ring: RingBuffer<'a>,
    closed: Instant,
}

impl<'a> Recording<'a> {
    /// Begins a recording in a folder that is new, or empty and root's alone.
    ///
    /// # Errors
    /// Fails if the folder cannot be made, or the machine cannot be described.
    pub fn begin(path: &Path, skel: &BpfSkel<'a>, machine: &Machine, hz: u32) -> Result<Self> {
        let topology = machine.topology()?;
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let place = Place { topology: &topology, llcs: &machine.llcs, hz, release: release.trim() };
        let rows = DecisionRows::new(path, &place).map_err(|e| anyhow::anyhow!("--record: {e:#}"))?;
        let rows = Rc::new(RefCell::new(Rows { rows, broken: None }));
        let to = Rc::clone(&rows);
        let put = move |bytes: &[u8]| {
            let Rows { rows, broken } = &mut *to.borrow_mut();
            match rows.put(bytes) {
                Ok(()) => 0,
                Err(error) => {
                    *broken = Some(error);
                    -1
                }
            }
        };
        let mut builder = RingBufferBuilder::new();
        builder.add(&skel.maps.ring, put)?;
        let ring = builder.build().context("the ring buffer cannot be read")?;
        Ok(Recording { rows, ring, closed: Instant::now() })
    }

    /// Writes the records of the ring buffer.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub fn consume(&mut self) -> Result<()> {
        let consumed = self.ring.consume();
        let mut rows = self.rows.borrow_mut();
        if let Some(error) = rows.broken.take() {
            return Err(error);
        }
        consumed.context("the ring buffer cannot be read")?;
        if self.closed.elapsed() > CLOSE_INTERVAL {
            rows.rows.close_segments()?;
            self.closed = Instant::now();
        }
        Ok(())
    }

    /// Writes the rest and closes the files. Returns the number of decisions, and how many of them are stable.
    ///
    /// # Errors
    /// Those of [`Recording::consume`].
    pub fn end(mut self) -> Result<(i64, u64)> {
        self.consume()?;
        let rows = &mut self.rows.borrow_mut().rows;
        rows.close_segments()?;
        Ok((rows.seq, rows.stable))
    }
}

#[cfg(test)]
mod tests {
    use crate::bpf_skel::types;
    use wakelab_scx_decisions::wire::{MAX_CPUS, Record, RecordedCpu};

    #[test]
    fn records_are_as_large_as_the_programs() {
        assert_eq!(size_of::<Record>(), size_of::<types::record>());
        assert_eq!(size_of::<RecordedCpu>(), size_of::<types::recorded_cpu>());
        assert!(include_str!("bpf/intf.h").contains(&format!("#define MAX_CPUS {MAX_CPUS}\n")));
    }
}
