//! The thread that makes rows of records and writes them, so that neither encoding nor the disk holds up the draining.

use crate::counted::Counted;
use crate::kernel::Kernel;
use crate::machine::{FIRST, Machine};
use crate::rows::Rows;
use crate::wire::{Decision, Event, KIND_FREQUENCY, KIND_IDLE, KIND_MIGRATION, KIND_SWITCH, Record};
use anyhow::{Result, anyhow};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use wakelab_events::recording::{
    CountsRow, FrequencyRow, IdleStateRow, RecordingWriter, MigrationRow, SwitchRow,
};

/// So many messages wait at most. More is left in the ring buffer, where a loss is counted; memory does not grow.
const WAITING: usize = 16;

/// What the writer is told.
pub enum Message {
    /// Records, each after its length in bytes.
    Records(Vec<u64>),
    /// Decisions with this number go by this description; it comes before the first of them.
    Machine(Described),
    /// What was counted by now; the second says whether that is the last.
    Counted(Box<Counted>, bool),
}

/// A description of the machine with its number, and what files say of it.
pub struct Described {
    pub number: u32,
    pub machine: Arc<Machine>,
    pub metadata: Vec<(&'static str, String)>,
}

/// The thread.
pub struct Writer {
    to: SyncSender<Message>,
    thread: JoinHandle<Result<Option<CountsRow<'static>>>>,
}

impl Writer {
    /// Starts it.
    pub fn start(kernel: Kernel, machine: Arc<Machine>, inferred: bool, folder: RecordingWriter) -> Result<Self> {
        let (to, from) = sync_channel(WAITING);
        let rows = Rows::new(kernel, machine, inferred);
        let writing = Writing { rows, folder, number: FIRST, next: VecDeque::new(), changed: 0, counted: None };
        let thread = std::thread::Builder::new().name("writer".into()).spawn(move || writing.run(&from))?;
        Ok(Writer { to, thread })
    }

    /// Where it is told.
    pub fn tell(&self) -> &SyncSender<Message> {
        &self.to
    }

    /// Waits until all is written; what was counted last.
    pub fn finish(self) -> Result<Option<CountsRow<'static>>> {
        drop(self.to);
        self.thread.join().map_err(|_| anyhow!("the writer has panicked"))?
    }
}

struct Writing {
    rows: Rows,
    folder: RecordingWriter,
    /// Of the description that rows go by now.
    number: u32,
    next: VecDeque<Described>,
    changed: u64,
    counted: Option<CountsRow<'static>>,
}

impl Writing {
    fn run(mut self, from: &Receiver<Message>) -> Result<Option<CountsRow<'static>>> {
        for message in from {
            match message {
                Message::Records(words) => self.records(&words)?,
                Message::Machine(described) => self.next.push_back(described),
                Message::Counted(counted, last) => {
                    let row = counted.row(self.rows.seq as u64, self.rows.stable, self.changed, last);
                    self.folder.write_counts(row)?;
                    self.counted = Some(row);
                }
            }
        }
        Ok(self.counted)
    }

    fn records(&mut self, mut words: &[u64]) -> Result<()> {
        while let Some((&length, rest)) = words.split_first() {
            let length = length as usize;
            let (record, rest) = rest.split_at(length.div_ceil(8));
            words = rest;
            match Record::parse(&bytemuck::cast_slice(record)[..length]) {
                Some(Record::Decision(d, cpus, slow)) if self.holds(&d)? => {
                    self.rows.write(&mut self.folder, &d, cpus, slow)?;
                }
                Some(Record::Decision(..)) => self.changed += 1,
                Some(Record::Event(event)) => put(&mut self.folder, &event)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Whether the decision goes by a description that is known, which is then the one at hand. One that comes late, after
    /// those of the next description, has no segment any more.
    fn holds(&mut self, d: &Decision) -> Result<bool> {
        if d.changed != 0 {
            return Ok(false);
        }
        while d.machine > self.number
            && let Some(next) = self.next.pop_front()
        {
            self.number = next.number;
            self.folder.change_metadata(next.metadata)?;
            self.rows.machine(next.machine);
        }
        Ok(d.machine == self.number)
    }
}

fn put(folder: &mut RecordingWriter, event: &Event) -> Result<()> {
    let (t_ns, cpu) = (event.t_ns as i64, event.cpu as i32);
    match event.kind {
        KIND_SWITCH => folder.switch(SwitchRow {
            t_ns,
            cpu,
            prev_pid: event.a,
            prev_sleeps: event.c != 0,
            next_pid: event.b,
        })?,
        KIND_MIGRATION => {
            folder.migration(MigrationRow { t_ns, pid: event.a, from_cpu: event.b, to_cpu: event.c })?;
        }
        KIND_IDLE => folder.idle(IdleStateRow { t_ns, cpu, state: (event.a >= 0).then_some(event.a) })?,
        KIND_FREQUENCY => folder.frequency(FrequencyRow { t_ns, cpu, khz: event.a.into() })?,
        _ => {}
    }
    Ok(())
}
