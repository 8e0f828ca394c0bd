//! What is counted of wake-ups that belong together.

use std::collections::BTreeMap;
use wakelab_measure::{SearchStats, Waits};
use wakelab_sched::select::{Reason, SearchCount};

/// What was counted.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Wake-ups.
    pub wakeups: u64,
    /// Of them, those for which the scheduler chose a CPU, as far as the file tells.
    pub chose: u64,
    /// Of them, those that went to another CPU than the previous one.
    pub moved: u64,
    /// Of these, those to another last-level cache; 0 where the machine is not known.
    pub crossed: u64,
    /// Choices with a reason.
    pub reasons: BTreeMap<Reason, u64>,
    /// Search statistics of those.
    pub search: SearchStats,
    /// How long wakees waited until they ran, ns.
    pub waits: Waits,
}

impl Tally {
    /// Nothing yet; waits to so many digits.
    pub(super) fn new(digits: u8) -> Self {
        Tally {
            wakeups: 0,
            chose: 0,
            moved: 0,
            crossed: 0,
            reasons: BTreeMap::new(),
            search: SearchStats::default(),
            waits: Waits::new(digits),
        }
    }

    pub(super) fn add(&mut self, wake: &Counted) {
        self.wakeups += 1;
        self.chose += u64::from(wake.chose);
        self.moved += u64::from(wake.moved);
        self.crossed += u64::from(wake.crossed);
        if let Some((reason, count)) = wake.decision {
            *self.reasons.entry(reason).or_default() += 1;
            self.search.add(&count);
        }
    }

    pub(super) fn merge(&mut self, other: &Tally) {
        self.wakeups += other.wakeups;
        self.chose += other.chose;
        self.moved += other.moved;
        self.crossed += other.crossed;
        for (&reason, n) in &other.reasons {
            *self.reasons.entry(reason).or_default() += n;
        }
        self.search += other.search;
        self.waits.merge(&other.waits);
    }
}

/// One wake-up, as it is counted.
pub(super) struct Counted {
    pub(super) chose: bool,
    pub(super) moved: bool,
    pub(super) crossed: bool,
    pub(super) decision: Option<(Reason, SearchCount)>,
}
