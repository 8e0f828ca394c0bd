//! A recording from its first record to its last.

use crate::args::Args;
use crate::bpf_program::RecordProgs;
use crate::bpf_program::types;
use crate::counted::{Counted, now_ns, own_time};
use crate::drain::{Drain, WriterEnded, ended};
use crate::machine::{Describer, Machine};
use crate::overhead::{Counting, Overhead};
use crate::shared::{look, tell};
use crate::until::Until;
use crate::writer::{Described, Message, Writer};
use anyhow::{Context, Result};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};
use wakelab_events::recording::CountsRow;

/// How often the ring buffer is emptied. The program never wakes the reader, which would be a wake-up more for each.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often what has come so far is closed, so that a recorder that is killed leaves it.
const CLOSE_EVERY: Duration = Duration::from_secs(5);
/// Choices that have begun when counting ends are over after this; they are made with interrupts off.
const UNDER_WAY: Duration = Duration::from_millis(20);

/// What came of it.
pub struct Outcome {
    /// What was counted.
    pub counts: CountsRow<'static>,
    /// The same, with how often programs ran.
    pub counted: Counted,
    /// How often the machine was described anew.
    pub machines: u32,
    /// Exit code of the command.
    pub command: Option<i32>,
}

/// What a recording has at hand.
pub struct Session<'a, 'd> {
    pub args: &'a Args,
    pub describer: &'a mut Describer<'d>,
    pub metadata: &'a dyn Fn(&Machine) -> Vec<(&'static str, String)>,
    pub bss: &'a mut types::bss,
    pub progs: &'a RecordProgs<'a>,
    pub stats: Counting,
    /// When counting began, and this process' CPU time by then.
    pub started: (Instant, Duration),
    /// As it was described last, and how often.
    pub machine: Arc<Machine>,
    pub machines: u32,
}

impl Session<'_, '_> {
    /// Records until it is over; `detach` takes the programs off.
    pub fn run(&mut self, writer: Writer, drain: Drain<'_>, detach: impl FnOnce()) -> Result<Outcome> {
        let mut until = Until::new(self.args.duration)?;
        let to = writer.tell().clone();
        let recorded = self.record(&mut until, &to, &drain, detach);
        drop((drain, to));
        let written = writer.finish();
        // Where the writer has ended, its error says why.
        let counted = match recorded {
            Err(error) if error.is::<WriterEnded>() => return Err(written.err().unwrap_or(error)),
            other => other?,
        };
        let counts = written?.context("nothing was counted")?;
        Ok(Outcome { counts, counted, machines: self.machines, command: until.code() })
    }

    fn record(
        &mut self,
        until: &mut Until,
        to: &SyncSender<Message>,
        drain: &Drain<'_>,
        detach: impl FnOnce(),
    ) -> Result<Counted> {
        self.started = (Instant::now(), own_time());
        tell(&mut self.bss.counting, 1);
        until.start(&self.args.command)?;
        let mut closed = Instant::now();
        loop {
            let over = until.over()?;
            let some = drain.some()?;
            if look(&self.bss.machine_changed) != 0 {
                self.describe(to)?;
            }
            if over {
                break;
            }
            if closed.elapsed() > CLOSE_EVERY {
                // A writer that is busy is told the next time.
                match to.try_send(Message::Counted(Box::new(self.counted()), false)) {
                    Ok(()) => closed = Instant::now(),
                    Err(TrySendError::Full(_)) => {}
                    Err(TrySendError::Disconnected(_)) => ended()?,
                }
            }
            if !some {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        tell(&mut self.bss.counting, 0);
        std::thread::sleep(UNDER_WAY);
        detach();
        drain.all()?;
        let counted = self.counted();
        to.send(Message::Counted(Box::new(counted), true)).or_else(|_| ended())?;
        Ok(counted)
    }

    /// The machine has changed: decisions from now on go by what it is then.
    fn describe(&mut self, to: &SyncSender<Message>) -> Result<()> {
        // What was under way during a rebuild may notice it after the machine has been described.
        tell(&mut self.bss.machine_changed, 0);
        let machine = Arc::new(self.describer.describe()?);
        if machine.is(&self.machine) {
            return Ok(());
        }
        self.machines += 1;
        let number = look(&self.bss.machine) + 2;
        let metadata = (self.metadata)(&machine);
        let described = Described { number, machine: Arc::clone(&machine), metadata };
        to.send(Message::Machine(described)).or_else(|_| ended())?;
        machine.tell(self.bss, number);
        self.machine = Arc::clone(&machine);
        if self.args.verbose {
            eprintln!("the scheduling domains have changed: a new segment begins ({})", machine.name());
        }
        Ok(())
    }

    fn counted(&self) -> Counted {
        Counted {
            overhead: Overhead::read(self.progs, &self.stats),
            own: own_time().saturating_sub(self.started.1),
            elapsed: self.started.0.elapsed(),
            t_ns: now_ns(),
            ..Counted::read(self.bss)
        }
    }
}
