//! The numbers of regret: plain data that adds up over runs.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// How many buckets there are of positions: 1, 2, 3-4, 5-8 and so on by powers of two, the last without an end.
pub const POSITIONS: usize = 12;

/// Which bucket holds a look's position, counted from 1.
pub fn position_bucket(position: u32) -> usize {
    ((u32::BITS - position.saturating_sub(1).leading_zeros()) as usize).min(POSITIONS - 1)
}

/// The lowest and the highest position of a bucket; the last has no highest.
pub fn position_range(bucket: usize) -> (u32, Option<u32>) {
    let from = if bucket == 0 { 1 } else { (1 << (bucket - 1)) + 1 };
    (from, (bucket + 1 < POSITIONS).then_some(1 << bucket))
}

/// Wake-ups that called `select_idle_sibling()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeupRegret {
    /// How many.
    pub n: u64,
    /// When so many of them began, perfect knowledge had an idle CPU: one that looked idle, with no wake-up on its way to it.
    pub idle_existed: u64,
    /// So many chose a CPU that was idle then, and had no wake-up on its way to it.
    pub on_idle: u64,
    /// So many chose a CPU that looked idle, and that another wake-up had claimed.
    pub on_claimed: u64,
    /// So many chose a busy CPU.
    pub on_busy: u64,
    /// An idle CPU had existed, and so many chose one that was busy or claimed already when they began.
    pub missed: u64,
    /// An idle CPU had existed, and so many chose one that was idle and unclaimed when they began, and no longer when the choice
    /// was there. `idle_existed` less those of `on_idle` for which one existed is `missed + gone`.
    pub gone: u64,
}

/// Searches past the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRegret {
    /// How many.
    pub n: u64,
    /// Of them, those that found nothing and fell back on the target.
    pub failed: u64,
    /// Of the failed, those for which some CPU was idle when they began and is when they ended; what it was in between is not
    /// asked.
    pub missed: u64,
    /// Of the failed, those for which CPUs were idle when they began, and none of these when they ended.
    pub gone: u64,
    /// Of the failed, those for which none was idle when they began.
    pub nothing: u64,
}

/// Looks at run queues past the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookRegret {
    /// How many.
    pub n: u64,
    /// Of searches that began when none was idle.
    pub nothing_idle: u64,
    /// Of the others: those before the first CPU that was idle.
    pub before_first: u64,
    /// At it and after it: what was needed, and what is spent on looking for an idle core.
    pub from_first: u64,
}

/// CPU time for the wake-ups of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimeOf {
    /// How many wake-ups.
    pub wakeups: u64,
    /// CPU time that was spent for them, ns.
    pub busy_ns: u64,
}

/// Where the machine's busy time went: adds up to all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimeRegret {
    /// For wake-ups that were put on an idle CPU.
    pub on_idle: CpuTimeOf,
    /// For those that were put on a CPU that looked idle, and that another wake-up had claimed.
    pub on_claimed: CpuTimeOf,
    /// For those that were put on a busy CPU.
    pub on_busy: CpuTimeOf,
    /// For all else: wake-ups without a choice, the background, new tasks, interrupts of idle CPUs.
    pub other: CpuTimeOf,
}

/// Time in one of the two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRegret {
    /// How long the machine was in it, ns, in the whole run, the time before measuring included.
    pub time_ns: u64,
    /// CPU time that there was: CPUs × `time_ns`.
    pub cpu_ns: u64,
    /// Of it, what was not idle.
    pub busy_ns: u64,
    /// Wake-ups with a choice, of the workload.
    pub wakeups: u64,
}

/// What `--regret` counts in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegretStats {
    /// By wake-up.
    pub wakeups: WakeupRegret,
    /// By search.
    pub searches: SearchRegret,
    /// By look.
    pub looks: LookRegret,
    /// How many looks would have been enough, by [`position_bucket`].
    pub enough: [u64; POSITIONS],
    /// For so many searches no number of looks was: nothing was idle.
    pub enough_never: u64,
    /// Whether an idle CPU was worth having.
    pub cpu: CpuTimeRegret,
    /// The migrating state.
    pub migrating: StateRegret,
    /// The stacked state.
    pub stacked: StateRegret,
}

macro_rules! add {
    ($($what:ty { $($field:ident),* }),* $(,)?) => {
        $(impl AddAssign for $what {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        })*
    };
}

add!(
    WakeupRegret { n, idle_existed, on_idle, on_claimed, on_busy, missed, gone },
    SearchRegret { n, failed, missed, gone, nothing },
    LookRegret { n, nothing_idle, before_first, from_first },
    CpuTimeOf { wakeups, busy_ns },
    CpuTimeRegret { on_idle, on_claimed, on_busy, other },
    StateRegret { time_ns, cpu_ns, busy_ns, wakeups },
);

impl AddAssign<&RegretStats> for RegretStats {
    fn add_assign(&mut self, other: &RegretStats) {
        self.wakeups += other.wakeups;
        self.searches += other.searches;
        self.looks += other.looks;
        for (sum, one) in self.enough.iter_mut().zip(other.enough) {
            *sum += one;
        }
        self.enough_never += other.enough_never;
        self.cpu += other.cpu;
        self.migrating += other.migrating;
        self.stacked += other.stacked;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_the_positions_of_its_range() {
        for (position, bucket) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (1024, 10), (1025, 11)] {
            assert_eq!(position_bucket(position), bucket, "{position}");
            let (from, to) = position_range(bucket);
            assert!(from <= position && to.is_none_or(|to| position <= to), "{position}");
        }
        assert_eq!(position_bucket(u32::MAX), POSITIONS - 1);
    }
}
