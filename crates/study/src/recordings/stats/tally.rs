//! Counts of wake-ups, and their breakdown by task, name, CPU or LLC.

use crate::recordings::wakeups::WakeupWithReason;
use std::collections::BTreeMap;
use wakelab_measure::{SearchStats, Waits};
use wakelab_sched::select::{Reason, SearchCount};

/// The counts of some wake-ups.
#[derive(Clone, Debug)]
pub struct Tally {
    /// The number of wake-ups.
    pub wakeups: u64,
    /// The wake-ups for which the scheduler chose a CPU, as far as the file shows; `None` if it does not, as an import.
    pub chose: Option<u64>,
    /// The wake-ups that went to another CPU than the previous one.
    pub moved: u64,
    /// The wake-ups of which `moved` is a part: those whose previous CPU is known.
    pub moved_of: u64,
    /// The wake-ups that went to another LLC.
    pub crossed: u64,
    /// The wake-ups of which `crossed` is a part: those whose previous CPU and whose LLCs are known.
    pub crossed_of: u64,
    /// The wake-ups with a known reason, by reason.
    pub reasons: BTreeMap<Reason, u64>,
    /// Their search statistics.
    pub search: SearchStats,
    /// How long wakees waited until they ran, ns.
    pub waits: Waits,
}

impl Tally {
    /// Creates empty counts, with waits to this number of digits.
    pub(super) fn new(digits: u8) -> Self {
        Tally {
            wakeups: 0,
            chose: Some(0),
            moved: 0,
            moved_of: 0,
            crossed: 0,
            crossed_of: 0,
            reasons: BTreeMap::new(),
            search: SearchStats::default(),
            waits: Waits::new(digits),
        }
    }

    pub(super) fn add(&mut self, wake: &Counted) {
        self.wakeups += 1;
        self.chose = self.chose.zip(wake.chose).map(|(sum, chose)| sum + u64::from(chose));
        self.moved += u64::from(wake.moved);
        self.moved_of += u64::from(wake.knows_prev);
        self.crossed += u64::from(wake.crossed);
        self.crossed_of += u64::from(wake.knows_llcs);
        if let Some((reason, count)) = wake.decision {
            *self.reasons.entry(reason).or_default() += 1;
            self.search.add(&count);
        }
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        self.wakeups += other.wakeups;
        self.chose = self.chose.zip(other.chose).map(|(sum, chose)| sum + chose);
        self.moved += other.moved;
        self.moved_of += other.moved_of;
        self.crossed += other.crossed;
        self.crossed_of += other.crossed_of;
        for (&reason, n) in &other.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        self.search += other.search;
        self.waits.merge(&other.waits);
    }
}

/// A wake-up as it is counted.
pub(super) struct Counted {
    pub(super) chose: Option<bool>,
    pub(super) moved: bool,
    pub(super) crossed: bool,
    /// Whether `moved` and `crossed` are known; otherwise they are false.
    pub(super) knows_prev: bool,
    pub(super) knows_llcs: bool,
    pub(super) decision: Option<(Reason, SearchCount)>,
}

impl Counted {
    /// A wake-up as it is counted, on a machine with these LLCs by CPU.
    pub(super) fn of(found: &WakeupWithReason, llcs: Option<&Vec<u32>>) -> Self {
        let wake = &found.wake;
        let moved = wake.prev_cpu.is_some_and(|prev| prev != wake.dest_cpu);
        let llc = |cpu: u32| llcs.and_then(|llcs| llcs.get(cpu as usize));
        let crossed = moved && wake.prev_cpu.is_some_and(|prev| llc(prev) != llc(wake.dest_cpu));
        // Simulated runs and recordings have the previous CPU of every task that has one.
        let knows_prev = wake.prev_cpu.is_some() || wake.chose.is_some();
        let knows_llcs = knows_prev && llcs.is_some();
        Counted { chose: wake.chose, moved, crossed, knows_prev, knows_llcs, decision: found.decision }
    }
}

/// The breakdowns of wake-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The wakee.
    Task,
    /// The name of the wakee.
    Comm,
    /// The CPU to which the wakee goes.
    Cpu,
    /// The LLC to which the wakee goes.
    Llc,
}

impl By {
    /// All of them, in the order of the output.
    pub const ALL: [By; 4] = [By::Comm, By::Task, By::Cpu, By::Llc];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            By::Task => "task",
            By::Comm => "comm",
            By::Cpu => "cpu",
            By::Llc => "llc",
        }
    }

    /// The most parts that are counted apart. There are not more CPUs and LLCs than this.
    fn most(self) -> usize {
        match self {
            By::Task | By::Comm => 1024,
            By::Cpu | By::Llc => wakelab_sched::domain::MAX_CPUS as usize,
        }
    }
}

/// A part of a breakdown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The number of a CPU or an LLC.
    Number(u32),
    /// A task: its pid and its name.
    Task(i64, String),
    /// A name.
    Name(String),
    /// Everything that came after there was no more room.
    Other,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Key::Number(number) => number.fmt(f),
            Key::Task(pid, comm) => write!(f, "{comm}/{pid}"),
            Key::Name(name) => f.write_str(name),
            Key::Other => f.write_str("(others)"),
        }
    }
}

/// Counts by part.
#[derive(Clone, Debug)]
pub struct Breakdown {
    /// The breakdown.
    pub by: By,
    /// The counts.
    pub tallies: BTreeMap<Key, Tally>,
}

impl Breakdown {
    pub(super) fn new(by: By) -> Self {
        Breakdown { by, tallies: BTreeMap::new() }
    }

    /// Returns the counts of a part, and creates them if there is room.
    fn of(&mut self, key: Key) -> &mut Tally {
        // The waits of a part have only one or two digits, because there are many parts.
        let digits = if matches!(self.by, By::Cpu | By::Llc) { 2 } else { 1 };
        let full = self.tallies.len() >= self.by.most() && !self.tallies.contains_key(&key);
        self.tallies.entry(if full { Key::Other } else { key }).or_insert_with(|| Tally::new(digits))
    }

    pub(super) fn add(&mut self, key: Key, wake: &Counted) {
        self.of(key).add(wake);
    }

    pub(super) fn wait(&mut self, key: Key, ns: u64) {
        self.of(key).waits.record(ns);
    }

    pub(super) fn merge(&mut self, other: &Breakdown) {
        for (key, tally) in &other.tallies {
            self.of(key.clone()).merge(tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_counted_together() {
        let wake = Counted {
            chose: Some(true),
            moved: false,
            crossed: false,
            knows_prev: true,
            knows_llcs: true,
            decision: None,
        };
        let mut parts = Breakdown::new(By::Task);
        (0..5000).for_each(|pid| parts.add(Key::Task(pid, String::new()), &wake));
        assert_eq!(parts.tallies.len(), 1025);
        assert_eq!(parts.tallies[&Key::Other].wakeups, 5000 - 1024);
        assert_eq!(parts.tallies.values().map(|tally| tally.wakeups).sum::<u64>(), 5000);
    }
}
