//! Everything that a source tells, in the order of time: each table is a table of its own.

use crate::recordings::{Progress, report_share};
use crate::stats::wakeups::{WakeupStream, WakeupWithReason};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::thread;
use wakelab_events::ReadError;
use wakelab_events::stream::{
    CpuValue, CpuValues, InOrder, Migration, Migrations, PackagePower, PackagePowers, SdShared, SdSharedWrites, Source,
    Switch, Switches,
};
use wakelab_sched::cpumask::Cpu;

/// Things are handed over so many at a time,
const BATCH: usize = 1024;
/// and so many times before they are asked for.
const BATCHES: usize = 4;

/// One thing that happened.
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
    /// An idle state.
    Idle(CpuValue),
    /// A frequency.
    Frequency(CpuValue),
    /// Power of a package.
    Power(PackagePower),
    /// A hint of the cache with this lowest CPU.
    Hint(Cpu, SdShared),
}

type Next<'a> = Box<dyn FnMut() -> Result<Option<(u64, SourceEvent)>, ReadError> + 'a>;

struct TableStream<'a> {
    next: Next<'a>,
    held: InOrder<SourceEvent>,
    more: bool,
}

/// The tables of a source. Of one moment, what is of an earlier table comes first.
pub(crate) struct TimeOrdered<'a> {
    tables: Vec<TableStream<'a>>,
    /// How much of the wake-ups has been read, 0 to 1.
    share: Rc<Cell<f64>>,
}

impl<'a> TimeOrdered<'a> {
    /// Wake-ups, migrations and switches.
    fn of(source: &Source, mut wakes: WakeupStream) -> Self {
        let mut tables = TimeOrdered { tables: Vec::new(), share: Rc::default() };
        let share = Rc::clone(&tables.share);
        tables.add(move || {
            let found = wakes.next()?;
            share.set(wakes.share());
            Ok(found.map(|found| (found.wake.decided_ns, SourceEvent::Wake(found))))
        });
        let (mut migrations, mut switches) = match source {
            Source::Csv(_) => return tables,
            Source::Recorded(tables) => {
                (Migrations::new(tables.migrations.clone()), Switches::new(tables.switches.clone()))
            }
            Source::Simulated(folder) => (Migrations::simulated(folder), Switches::simulated(folder)),
        };
        tables.add(move || Ok(migrations.next_migration()?.map(|moved| (moved.t_ns, SourceEvent::Moved(moved)))));
        tables.add(move || Ok(switches.next_switch()?.map(|switch| (switch.t_ns, SourceEvent::Switch(switch)))));
        tables
    }

    /// Besides, the states of CPUs and of their caches.
    fn and_states(mut self, source: &Source) -> Self {
        let (mut frequencies, mut idle) = match source {
            Source::Csv(_) => return self,
            Source::Recorded(tables) => (CpuValues::frequencies(tables), CpuValues::idle_states(tables)),
            Source::Simulated(folder) => {
                let mut hints = SdSharedWrites::simulated(folder);
                let mut powers = PackagePowers::simulated(folder);
                self.add(move || Ok(hints.next_write()?.map(|(at, llc, hint)| (at, SourceEvent::Hint(llc, hint)))));
                self.add(move || Ok(powers.next_power()?.map(|spent| (spent.t_ns, SourceEvent::Power(spent)))));
                (CpuValues::simulated_frequencies(folder), CpuValues::simulated_idle_states(folder))
            }
        };
        self.add(move || Ok(frequencies.next_value()?.map(|of| (of.t_ns, SourceEvent::Frequency(of)))));
        self.add(move || Ok(idle.next_value()?.map(|of| (of.t_ns, SourceEvent::Idle(of)))));
        self
    }

    fn add(&mut self, next: impl FnMut() -> Result<Option<(u64, SourceEvent)>, ReadError> + 'a) {
        self.tables.push(TableStream { next: Box::new(next), held: InOrder::default(), more: true });
    }

    /// Tells `each` of all that comes, with its time, ns, and `progress` how far that is. It is read ahead by a thread of its own, as far as it waits for `each`.
    ///
    /// # Errors
    /// Where a file cannot be read, once all before that was told; and those of `each`.
    pub(crate) fn each<E: From<ReadError>>(
        source: &Source,
        wakes: WakeupStream,
        states: bool,
        progress: &dyn Progress,
        mut each: impl FnMut(u64, SourceEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let (to, from) = sync_channel::<Result<(Vec<(u64, SourceEvent)>, f64), ReadError>>(BATCHES);
        let files = source.wakeups();
        thread::scope(|threads| {
            threads.spawn(move || {
                let tables = TimeOrdered::of(source, wakes);
                let mut tables = if states { tables.and_states(source) } else { tables };
                let mut more = true;
                while more {
                    let mut batch = Vec::with_capacity(BATCH);
                    let filled = tables.fill(&mut batch);
                    more = matches!(filled, Ok(true));
                    // Who does not listen any more has met an error.
                    more &= to.send(Ok((batch, tables.share.get()))).is_ok();
                    filled.err().into_iter().for_each(|error| drop(to.send(Err(error))));
                }
            });
            for batch in from {
                let (batch, share) = batch?;
                batch.into_iter().try_for_each(|(time, item)| each(time, item))?;
                report_share(progress, &files, share);
            }
            Ok(())
        })
    }

    /// Fills a batch. Whether more comes.
    fn fill(&mut self, batch: &mut Vec<(u64, SourceEvent)>) -> Result<bool, ReadError> {
        while batch.len() < BATCH {
            match self.next()? {
                Some(item) => batch.push(item),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// What comes next, with its time, ns; `None` at the end.
    fn next(&mut self) -> Result<Option<(u64, SourceEvent)>, ReadError> {
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
