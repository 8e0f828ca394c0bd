//! Everything that a source tells, in the order of time: each table is a lane of its own.

use crate::stats::wakes::{Found, Stream};
use wakelab_events::ReadError;
use wakelab_events::stream::{
    Hint, Hints, InOrder, Migrations, Moved, OfCpu, OfCpus, Powers, Source, Spent, Switched, Switches,
};
use wakelab_sched::cpumask::Cpu;

/// One thing that happened.
pub(crate) enum Item {
    /// A wake-up.
    Wake(Box<Found>),
    /// A migration.
    Moved(Moved),
    /// A context switch.
    Switch(Switched),
    /// An idle state.
    Idle(OfCpu),
    /// A frequency.
    Frequency(OfCpu),
    /// Power of a package.
    Power(Spent),
    /// A hint of the cache with this lowest CPU.
    Hint(Cpu, Hint),
}

type Next<'a> = Box<dyn FnMut() -> Result<Option<(u64, Item)>, ReadError> + 'a>;

struct Lane<'a> {
    next: Next<'a>,
    held: InOrder<Item>,
    more: bool,
}

/// The lanes of a source. Of one moment, what is of an earlier lane comes first.
pub(crate) struct Lanes<'a>(Vec<Lane<'a>>);

impl<'a> Lanes<'a> {
    /// Wake-ups, migrations and switches.
    pub(crate) fn of(source: &Source, mut wakes: Stream) -> Self {
        let mut lanes = Lanes(Vec::new());
        lanes.add(move || Ok(wakes.next()?.map(|found| (found.wake.decided_ns, Item::Wake(Box::new(found))))));
        let (mut migrations, mut switches) = match source {
            Source::Csv(_) => return lanes,
            Source::Recorded(tables) => {
                (Migrations::new(tables.migrations.clone()), Switches::new(tables.switches.clone()))
            }
            Source::Simulated(folder) => (Migrations::simulated(folder), Switches::simulated(folder)),
        };
        lanes.add(move || Ok(migrations.next_moved()?.map(|moved| (moved.t_ns, Item::Moved(moved)))));
        lanes.add(move || Ok(switches.next_switch()?.map(|switch| (switch.t_ns, Item::Switch(switch)))));
        lanes
    }

    /// Besides, the states of CPUs and of their caches.
    pub(crate) fn and_states(mut self, source: &Source) -> Self {
        let (mut frequencies, mut idle) = match source {
            Source::Csv(_) => return self,
            Source::Recorded(tables) => (OfCpus::frequencies(tables), OfCpus::idle_states(tables)),
            Source::Simulated(folder) => {
                let mut hints = Hints::simulated(folder);
                let mut powers = Powers::simulated(folder);
                self.add(move || Ok(hints.next_hint()?.map(|(at, llc, hint)| (at, Item::Hint(llc, hint)))));
                self.add(move || Ok(powers.next_power()?.map(|spent| (spent.t_ns, Item::Power(spent)))));
                (OfCpus::simulated_frequencies(folder), OfCpus::simulated_idle_states(folder))
            }
        };
        self.add(move || Ok(frequencies.next_value()?.map(|of| (of.t_ns, Item::Frequency(of)))));
        self.add(move || Ok(idle.next_value()?.map(|of| (of.t_ns, Item::Idle(of)))));
        self
    }

    fn add(&mut self, next: impl FnMut() -> Result<Option<(u64, Item)>, ReadError> + 'a) {
        self.0.push(Lane { next: Box::new(next), held: InOrder::default(), more: true });
    }

    /// What comes next, with its time, ns; `None` at the end.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Item)>, ReadError> {
        for lane in &mut self.0 {
            while lane.more && lane.held.wants() {
                match (lane.next)()? {
                    Some((time, item)) => lane.held.push(time, item),
                    None => lane.more = false,
                }
            }
        }
        let times = self.0.iter_mut().filter_map(|lane| Some((lane.held.time()?, lane)));
        let earliest = times.min_by_key(|(time, _)| *time);
        Ok(earliest.and_then(|(time, lane)| Some((time, lane.held.pop()?))))
    }
}
