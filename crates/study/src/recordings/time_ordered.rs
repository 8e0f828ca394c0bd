//! Everything that a source has, in the order of time: a merge of its tables.

use super::progress::{Progress, report_share};
use super::wakeups::{WakeupStream, WakeupWithReason};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use wakelab_events::ReadError;
use wakelab_events::stream::{
    CpuValue, CpuValues, InOrder, Migration, Migrations, Names, PackagePower, PackagePowers, ScxStepRow, ScxSteps,
    SdShared, SdSharedWrites, Source, Switch, Switches, TaskName, Wake, Wakes,
};
use wakelab_sched::cpumask::Cpu;

/// The number of events that are handed over at a time.
const BATCH: usize = 1024;
/// The number of batches that are read ahead.
const BATCHES: usize = 4;

/// An event of a source.
#[allow(
    clippy::large_enum_variant,
    reason = "wake-ups are many: a box for each would be made here and dropped by another thread"
)]
pub(crate) enum SourceEvent {
    /// A wake-up.
    Wake(WakeupWithReason),
    /// A migration.
    Moved(Migration),
    /// A context switch.
    Switch(Switch),
    /// A change of the idle state of a CPU.
    Idle(CpuValue),
    /// A change of the frequency of a CPU.
    Frequency(CpuValue),
    /// The name of a task.
    Name(TaskName),
    /// The power of a package.
    Power(PackagePower),
    /// A hint of the LLC with this lowest CPU.
    Hint(Cpu, SdShared),
    /// A step of a task under a scheduler of sched_ext.
    Scx(ScxStepRow),
}

type Next<'a, E> = Box<dyn FnMut() -> Result<Option<(u64, E)>, ReadError> + 'a>;

struct TableStream<'a, E> {
    next: Next<'a, E>,
    held: InOrder<E>,
    more: bool,
}

/// The tables of a source. Of events with the same time, those of an earlier table come first.
pub(crate) struct TimeOrdered<'a, E = SourceEvent> {
    tables: Vec<TableStream<'a, E>>,
    /// The share of the wake-ups that has been read, 0 to 1.
    pub(crate) share: Rc<Cell<f64>>,
}

impl<'a, E> TimeOrdered<'a, E> {
    /// No tables yet.
    pub(crate) fn empty() -> Self {
        TimeOrdered { tables: Vec::new(), share: Rc::default() }
    }

    /// Adds a table, whose rows `next` returns with their times, ns.
    pub(crate) fn add(&mut self, next: impl FnMut() -> Result<Option<(u64, E)>, ReadError> + 'a) {
        self.tables.push(TableStream { next: Box::new(next), held: InOrder::default(), more: true });
    }

    /// Returns the next event with its time, ns; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, E)>, ReadError> {
        for table in &mut self.tables {
            while table.more && table.held.has_room() {
                match (table.next)()? {
                    Some((time, item)) => table.held.push(time, item),
                    None => table.more = false,
                }
            }
        }
        let times = self.tables.iter_mut().filter_map(|table| Some((table.held.time()?, table)));
        let earliest = times.min_by_key(|(time, _)| *time);
        Ok(earliest.and_then(|(time, table)| Some((time, table.held.pop()?))))
    }
}

impl<'a> TimeOrdered<'a> {
    /// Opens wake-ups, migrations and switches.
    fn of(source: &Source, mut wakes: WakeupStream) -> Self {
        let mut tables = TimeOrdered::empty();
        if let Source::Recorded(of) = source {
            // Before what happens at the same time.
            let mut names = Names::new(of.names.clone());
            tables.add(move || Ok(names.next_name()?.map(|named| (named.t_ns, SourceEvent::Name(named)))));
        }
        let share = Rc::clone(&tables.share);
        tables.add(move || {
            let found = wakes.next()?;
            share.set(wakes.share());
            Ok(found.map(|found| (found.wake.decided_ns, SourceEvent::Wake(found))))
        });
        let (mut migrations, mut switches) = match source {
            Source::Csv(_) => return tables,
            Source::Recorded(of) => {
                let mut undecided = Wakes::undecided(of);
                tables.add(move || {
                    let wake = |wake: Wake| (wake.decided_ns, SourceEvent::Wake(WakeupWithReason::undecided(wake)));
                    Ok(undecided.next_wake()?.map(wake))
                });
                (Migrations::new(of.migrations.clone()), Switches::new(of.switches.clone()))
            }
            Source::Simulated(folder) => (Migrations::simulated(folder), Switches::simulated(folder)),
        };
        tables.add(move || Ok(migrations.next_migration()?.map(|moved| (moved.t_ns, SourceEvent::Moved(moved)))));
        tables.add(move || Ok(switches.next_switch()?.map(|switch| (switch.t_ns, SourceEvent::Switch(switch)))));
        tables
    }

    /// Adds the states of CPUs and of their caches.
    fn and_states(mut self, source: &Source) -> Self {
        let (mut frequencies, mut idle) = match source {
            Source::Csv(_) => return self,
            Source::Recorded(tables) => (CpuValues::frequencies(tables), CpuValues::idle_states(tables)),
            Source::Simulated(folder) => {
                let mut hints = SdSharedWrites::simulated(folder);
                let mut powers = PackagePowers::simulated(folder);
                let mut steps = ScxSteps::simulated(folder);
                self.add(move || Ok(hints.next_write()?.map(|(at, llc, hint)| (at, SourceEvent::Hint(llc, hint)))));
                self.add(move || Ok(steps.next_step()?.map(|step| (step.t_ns, SourceEvent::Scx(step)))));
                self.add(move || Ok(powers.next_power()?.map(|spent| (spent.t_ns, SourceEvent::Power(spent)))));
                (CpuValues::simulated_frequencies(folder), CpuValues::simulated_idle_states(folder))
            }
        };
        self.add(move || Ok(frequencies.next_value()?.map(|of| (of.t_ns, SourceEvent::Frequency(of)))));
        self.add(move || Ok(idle.next_value()?.map(|of| (of.t_ns, SourceEvent::Idle(of)))));
        self
    }

    /// Calls `each` with every event and its time, ns, and reports the share that was read to `progress`. A thread of
    /// its own reads ahead, as far as it need not wait for `each`.
    ///
    /// # Errors
    /// Fails if a file cannot be read, after all events before that were passed on, or if `each` fails.
    pub(crate) fn each<E: From<ReadError>>(
        source: &Source,
        wakes: WakeupStream,
        states: bool,
        progress: &dyn Progress,
        mut each: impl FnMut(u64, SourceEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let (to, from) = sync_channel::<Result<(Vec<(u64, SourceEvent)>, f64), ReadError>>(BATCHES);
        let files = source.wakeups();
        // Whoever reads takes it: the thread, or this one if the system makes no other.
        let wakes = Mutex::new(Some(wakes));
        let tables = || {
            let wakes = wakes.lock().unwrap_or_else(PoisonError::into_inner).take().expect("it is read once");
            let tables = TimeOrdered::of(source, wakes);
            if states { tables.and_states(source) } else { tables }
        };
        thread::scope(|threads| {
            let ahead = thread::Builder::new().spawn_scoped(threads, move || {
                let mut tables = tables();
                let mut more = true;
                while more {
                    let mut batch = Vec::with_capacity(BATCH);
                    let filled = tables.fill(&mut batch);
                    more = matches!(filled, Ok(true));
                    // The receiver is gone only after an error.
                    more &= to.send(Ok((batch, tables.share.get()))).is_ok();
                    filled.err().into_iter().for_each(|error| drop(to.send(Err(error))));
                }
            });
            if ahead.is_err() {
                let (mut tables, mut more) = (tables(), true);
                while more {
                    let mut batch = Vec::with_capacity(BATCH);
                    let filled = tables.fill(&mut batch);
                    batch.into_iter().try_for_each(|(time, item)| each(time, item))?;
                    report_share(progress, &files, tables.share.get());
                    more = filled?;
                }
                return Ok(());
            }
            for batch in from {
                let (batch, share) = batch?;
                batch.into_iter().try_for_each(|(time, item)| each(time, item))?;
                report_share(progress, &files, share);
            }
            Ok(())
        })
    }

    /// Fills a batch. Returns whether there is more.
    fn fill(&mut self, batch: &mut Vec<(u64, SourceEvent)>) -> Result<bool, ReadError> {
        while batch.len() < BATCH {
            match self.next()? {
                Some(item) => batch.push(item),
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}
