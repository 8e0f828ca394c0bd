//! A recording from its first record to its last.

use crate::args::Args;
use crate::bpf_program::RecordProgs;
use crate::bpf_variables::BpfVariables;
use crate::counts::{Counts, Overhead, RunTimeStats, now_ns, process_time};
use crate::machine::{Describer, Machine};
use crate::ring_buffer::{Drain, WriterEnded, writer_ended};
use crate::stop_condition::StopCondition;
use crate::writer::{MachineChange, Message, Writer};
use anyhow::{Context, Result};
use libbpf_rs::{Iter, Link};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};
use wakelab_events::recording::CountsRow;
use wakelab_process::signals::Signals;

/// How often the ring buffer is emptied. The programs never wake this process, which would add a wake-up to each
/// decision.
const DRAIN_INTERVAL: Duration = Duration::from_millis(5);
/// How often the open segments are closed, so that a recorder that is killed leaves them.
const CLOSE_INTERVAL: Duration = Duration::from_secs(5);
/// Decisions that have begun when counting stops have ended after this time. They are made with interrupts off.
const PENDING_DECISIONS: Duration = Duration::from_millis(20);

/// The result of a recording.
pub struct Outcome {
    /// The last row of the table `counts`.
    pub counts: CountsRow<'static>,
    /// The number of runs of the programs, and the time that they took.
    pub overhead: Overhead,
    /// The number of descriptions of the machine.
    pub machines: u32,
    /// The exit code of the command, or of a signal that cut the recording short.
    pub exit_code: Option<i32>,
}

/// The resources of a recording.
pub struct Session<'a, 'd> {
    pub args: &'a Args,
    pub signals: Signals,
    pub describer: &'a mut Describer<'d>,
    pub metadata: &'a dyn Fn(&Machine) -> Vec<(&'static str, String)>,
    pub variables: &'a BpfVariables<'a>,
    pub progs: &'a RecordProgs<'a>,
    /// The walk over all tasks, which tells their groups.
    pub each_task: Option<Link>,
    pub stats: RunTimeStats,
    /// When counting began, and the CPU time of this process at that time.
    pub started: (Instant, Duration),
    /// The latest description of the machine, and how many there are.
    pub machine: Arc<Machine>,
    pub machines: u32,
}

impl Session<'_, '_> {
    /// Records until the stop condition is met. `detach` detaches the programs.
    pub fn run(&mut self, writer: Writer, drain: Drain<'_>, detach: impl FnOnce()) -> Result<Outcome> {
        let mut stop = StopCondition::new(self.args.duration, self.signals.clone());
        let to = writer.sender().clone();
        let recorded = self.record(&mut stop, &to, &drain, detach);
        drop((drain, to));
        let written = writer.finish();
        // If the writer has ended early, its own error has the cause.
        let overhead = match recorded {
            Err(error) if error.is::<WriterEnded>() => return Err(written.err().unwrap_or(error)),
            other => other?,
        };
        let counts = written?.context("nothing was counted")?;
        Ok(Outcome { counts, overhead, machines: self.machines, exit_code: stop.exit_code() })
    }

    fn record(
        &mut self,
        stop: &mut StopCondition,
        to: &SyncSender<Message>,
        drain: &Drain<'_>,
        detach: impl FnOnce(),
    ) -> Result<Overhead> {
        self.started = (Instant::now(), process_time());
        self.variables.counting().store(1, Ordering::SeqCst);
        self.walk_tasks()?;
        stop.start(&self.args.command)?;
        let (mut closed, mut walked) = (Instant::now(), Instant::now());
        loop {
            let over = stop.reached()?;
            let drained = drain.drain_some()?;
            if self.variables.machine_changed().load(Ordering::Acquire) != 0 {
                self.describe(to)?;
            }
            if over {
                break;
            }
            if closed.elapsed() > CLOSE_INTERVAL && walked.elapsed() > CLOSE_INTERVAL {
                self.walk_tasks()?;
                walked = Instant::now();
            }
            if closed.elapsed() > CLOSE_INTERVAL {
                // A busy writer gets the counts the next time.
                match to.try_send(Message::Counts(Box::new(self.counts()), false)) {
                    Ok(()) => closed = Instant::now(),
                    Err(TrySendError::Full(_)) => {}
                    Err(TrySendError::Disconnected(_)) => writer_ended()?,
                }
            }
            if !drained {
                std::thread::sleep(DRAIN_INTERVAL);
            }
        }
        self.walk_tasks()?;
        self.variables.counting().store(0, Ordering::SeqCst);
        std::thread::sleep(PENDING_DECISIONS);
        detach();
        drain.drain_all()?;
        let counts = self.counts();
        to.send(Message::Counts(Box::new(counts), true)).or_else(|_| writer_ended())?;
        Ok(counts.overhead)
    }

    /// Describes the machine again after a change. Decisions from now on refer to the new description.
    fn describe(&mut self, to: &SyncSender<Message>) -> Result<()> {
        // A decision during the rebuild may set it again after the machine has been described.
        self.variables.machine_changed().store(0, Ordering::SeqCst);
        let machine = Arc::new(self.describer.describe()?);
        if machine.same_domains(&self.machine) {
            return Ok(());
        }
        self.machines += 1;
        let number = self.variables.machine().load(Ordering::Acquire) + 2;
        let metadata = (self.metadata)(&machine);
        let change = MachineChange { number, machine: Arc::clone(&machine), metadata };
        to.send(Message::Machine(change)).or_else(|_| writer_ended())?;
        machine.publish(self.variables, number);
        self.machine = Arc::clone(&machine);
        if self.args.verbose {
            crate::say(&format!("the scheduling domains have changed: a new segment begins ({})\n", machine.name()));
        }
        Ok(())
    }

    /// Records the groups of all tasks, and what the groups are now.
    fn walk_tasks(&self) -> Result<()> {
        let Some(link) = &self.each_task else { return Ok(()) };
        self.variables.group_walk().fetch_add(1, Ordering::SeqCst);
        let mut walk = Iter::new(link).context("the walk over all tasks cannot begin")?;
        // The program writes to the ring buffer, and nothing here.
        let mut nothing = [0; 64];
        while walk.read(&mut nothing).context("the walk over all tasks")? > 0 {}
        Ok(())
    }

    fn counts(&self) -> Counts {
        Counts {
            overhead: Overhead::read(self.progs, &self.stats),
            recorder_time: process_time().saturating_sub(self.started.1),
            elapsed: self.started.0.elapsed(),
            t_ns: now_ns(),
            ..Counts::read(self.variables)
        }
    }
}
