//! The thread that converts records to rows and writes them, so that neither encoding nor the disk delays the draining
//! of the ring buffer.

use crate::balance_rows::BalanceRows;
use crate::counts::Counts;
use crate::kernel::Kernel;
use crate::machine::{FIRST_DESCRIPTION, Machine};
use crate::preempt_rows::PreemptRows;
use crate::rows::RowBuilder;
use crate::task_groups::GroupRows;
use crate::wire::{Decision, Event, KIND_FREQUENCY, KIND_IDLE, KIND_MIGRATION, KIND_SWITCH, Record, Waking, c_string};
use anyhow::{Result, anyhow};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use wakelab_events::recording::{
    CountsRow, FrequencyRow, IdleStateRow, MigrationRow, RecordingWriter, SwitchRow, WakingRow,
};

/// At most this many messages wait. Everything else stays in the ring buffer, where losses are counted, so memory does
/// not grow.
const MAX_MESSAGES: usize = 16;

/// A message to the writer.
pub enum Message {
    /// Records, each after its length in bytes.
    Records(Vec<u64>),
    /// A new description of the machine. It is sent before the first decision that refers to it.
    Machine(MachineChange),
    /// The counts so far, and whether they are the last.
    Counts(Box<Counts>, bool),
}

/// A new description of the machine with its number, and the metadata of files of it.
pub struct MachineChange {
    pub number: u32,
    pub machine: Arc<Machine>,
    pub metadata: Vec<(&'static str, String)>,
}

/// A handle of the thread.
pub struct Writer {
    sender: SyncSender<Message>,
    thread: JoinHandle<Result<Option<CountsRow<'static>>>>,
}

impl Writer {
    /// Starts the thread.
    pub fn start(kernel: Kernel, machine: Arc<Machine>, inferred: bool, folder: RecordingWriter) -> Result<Self> {
        let (sender, receiver) = sync_channel(MAX_MESSAGES);
        let rows = RowBuilder::new(kernel, machine, inferred);
        let writing = Writing {
            rows,
            preempts: PreemptRows::default(),
            balance: BalanceRows::default(),
            groups: GroupRows::new(),
            folder,
            number: FIRST_DESCRIPTION,
            pending: VecDeque::new(),
            changed: 0,
            counts: None,
        };
        let thread = std::thread::Builder::new().name("writer".into()).spawn(move || writing.run(&receiver))?;
        Ok(Writer { sender, thread })
    }

    /// Where messages to the writer are sent.
    pub fn sender(&self) -> &SyncSender<Message> {
        &self.sender
    }

    /// Waits until everything is written. Returns the last row of the table `counts`.
    pub fn finish(self) -> Result<Option<CountsRow<'static>>> {
        drop(self.sender);
        self.thread.join().map_err(|_| anyhow!("the writer has panicked"))?
    }
}

/// The state of the thread.
struct Writing {
    rows: RowBuilder,
    preempts: PreemptRows,
    balance: BalanceRows,
    groups: GroupRows,
    folder: RecordingWriter,
    /// The number of the description that rows refer to now.
    number: u32,
    /// Later descriptions.
    pending: VecDeque<MachineChange>,
    /// Decisions left out because the machine changed.
    changed: u64,
    counts: Option<CountsRow<'static>>,
}

impl Writing {
    fn run(mut self, receiver: &Receiver<Message>) -> Result<Option<CountsRow<'static>>> {
        for message in receiver {
            match message {
                Message::Records(words) => self.records(&words)?,
                Message::Machine(change) => self.pending.push_back(change),
                Message::Counts(counts, last) => {
                    let row = counts.row(self.rows.seq as u64, self.rows.stable, self.changed, last);
                    self.folder.write_counts(row)?;
                    self.counts = Some(row);
                }
            }
        }
        Ok(self.counts)
    }

    fn records(&mut self, mut words: &[u64]) -> Result<()> {
        while let Some((&length, rest)) = words.split_first() {
            let length = length as usize;
            let (record, rest) = rest.split_at(length.div_ceil(8));
            words = rest;
            match Record::parse(&bytemuck::cast_slice(record)[..length]) {
                Some(Record::Decision(d, cpus, slow)) if self.follow_machine(&d)? => {
                    self.rows.write(&mut self.folder, &d, cpus, slow)?;
                }
                Some(Record::Decision(..)) => self.changed += 1,
                Some(Record::Event(event)) => write_event(&mut self.folder, &event)?,
                Some(Record::Waking(waking)) => write_waking(&mut self.folder, &waking)?,
                Some(Record::TaskGroup(group)) => self.groups.read(&group),
                Some(Record::GroupMember(member)) => self.groups.member(&mut self.folder, &member)?,
                Some(Record::Preempt(preempt, waiting)) => {
                    self.preempts.write(&mut self.folder, self.rows.kernel(), &preempt, waiting)?;
                }
                Some(Record::Balance(pass, cpus)) => {
                    // A pass of a description that is not current cannot be read with it.
                    let current = pass.machine == self.number;
                    self.balance.write(&mut self.folder, self.rows.kernel(), current, &pass, cpus)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Advances to the description that the decision refers to. Returns false if the decision has to be left out: the
    /// machine was changing, or its description, and with it the segment, is no longer current.
    fn follow_machine(&mut self, d: &Decision) -> Result<bool> {
        if d.changed != 0 {
            return Ok(false);
        }
        while d.machine > self.number
            && let Some(next) = self.pending.pop_front()
        {
            self.number = next.number;
            self.folder.change_metadata(next.metadata)?;
            self.rows.set_machine(next.machine);
        }
        Ok(d.machine == self.number)
    }
}

fn write_waking(folder: &mut RecordingWriter, waking: &Waking) -> Result<()> {
    let (waker_comm, wakee_comm) = (c_string(&waking.waker_comm), c_string(&waking.wakee_comm));
    folder.waking(WakingRow {
        t_ns: waking.t_ns as i64,
        waker_cpu: waking.cpu as i32,
        waker_pid: waking.waker_pid,
        waker_comm: &waker_comm,
        wakee_pid: waking.wakee_pid,
        wakee_comm: &wakee_comm,
        prev_cpu: Some(waking.task_cpu),
        dest_cpu: waking.task_cpu,
        preempt_count: Some(waking.preempt_count.into()),
        wakee_policy: Some(waking.policy as i32),
        wakee_static_prio: Some(waking.static_prio),
        wakee_flags: Some(waking.flags.into()),
        wakee_nr_cpus_allowed: Some(waking.nr_cpus_allowed),
    })?;
    Ok(())
}

fn write_event(folder: &mut RecordingWriter, event: &Event) -> Result<()> {
    let (t_ns, cpu) = (event.t_ns as i64, event.cpu as i32);
    match event.kind {
        KIND_SWITCH => {
            folder.switch(SwitchRow { t_ns, cpu, prev_pid: event.a, prev_sleeps: event.c != 0, next_pid: event.b })?
        }
        KIND_MIGRATION => {
            folder.migration(MigrationRow { t_ns, pid: event.a, from_cpu: event.b, to_cpu: event.c })?;
        }
        KIND_IDLE => folder.idle(IdleStateRow { t_ns, cpu, state: (event.a >= 0).then_some(event.a) })?,
        KIND_FREQUENCY => folder.frequency(FrequencyRow { t_ns, cpu, khz: event.a.into() })?,
        _ => {}
    }
    Ok(())
}
