//! [`RegretStats`]: the numbers of regret, plain data that is summed over runs. `docs/trust.md` defines every number.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// The number of buckets of positions: 1, 2, 3-4, 5-8 and so on by powers of two; the last has no upper bound.
pub const POSITIONS: usize = 12;

/// The bucket of a probe's position in the scan, which is counted from 1.
pub fn position_bucket(position: u32) -> usize {
    ((u32::BITS - position.saturating_sub(1).leading_zeros()) as usize).min(POSITIONS - 1)
}

/// The lowest and the highest position of a bucket; the highest is `None` for the last bucket.
pub fn position_range(bucket: usize) -> (u32, Option<u32>) {
    let from = if bucket == 0 { 1 } else { (1 << (bucket - 1)) + 1 };
    (from, (bucket + 1 < POSITIONS).then_some(1 << bucket))
}

/// The wake-ups that called `select_idle_sibling()`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeupRegret {
    /// Their number.
    pub n: u64,
    /// Those for which an idle CPU existed when they began: one that looked idle and had no wake-up on its way to it.
    pub idle_existed: u64,
    /// Those that chose a CPU which was idle and had no wake-up on its way to it.
    pub on_idle: u64,
    /// Those that chose a CPU which looked idle but had been claimed by another wake-up.
    pub on_claimed: u64,
    /// Those that chose a busy CPU.
    pub on_busy: u64,
    /// Those for which an idle CPU existed, and which chose one that was busy or claimed already when they began.
    pub missed: u64,
    /// Those for which an idle CPU existed, and which chose one that was idle and unclaimed when they began, but not
    /// any more when they chose. `missed + gone` is `idle_existed` less those of `on_idle` for which an idle CPU
    /// existed.
    pub gone: u64,
}

/// The searches that went past the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchRegret {
    /// Their number.
    pub n: u64,
    /// Those that found nothing and fell back on the target.
    pub failed: u64,
    /// The failed ones for which some CPU was idle both when they began and when they ended; it may have been busy in
    /// between.
    pub missed: u64,
    /// The failed ones for which CPUs were idle when they began, but none of these when they ended.
    pub gone: u64,
    /// The failed ones for which no CPU was idle when they began.
    pub nothing: u64,
}

/// The probes of run queues past the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeRegret {
    /// Their number.
    pub n: u64,
    /// The probes of searches that began when no CPU was idle.
    pub nothing_idle: u64,
    /// The probes of the other searches before the first CPU that was idle.
    pub before_first: u64,
    /// The probes of the other searches from that CPU on: the one that was needed, and those spent on the search of an
    /// idle core.
    pub from_first: u64,
}

/// The CPU time spent for the wake-ups of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimeOf {
    /// The number of wake-ups.
    pub wakeups: u64,
    /// The CPU time spent for them, ns.
    pub busy_ns: u64,
}

/// The machine's busy time by kind of wake-up; the kinds add up to all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimeRegret {
    /// Wake-ups that were put on an idle CPU.
    pub on_idle: CpuTimeOf,
    /// Wake-ups that were put on a CPU which looked idle but had been claimed by another wake-up.
    pub on_claimed: CpuTimeOf,
    /// Wake-ups that were put on a busy CPU.
    pub on_busy: CpuTimeOf,
    /// Everything else: wake-ups without a choice, the background, new tasks, interrupts of idle CPUs.
    pub other: CpuTimeOf,
}

/// The time in one of the two states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateRegret {
    /// The time that the machine spent in it, ns, in the whole run, including the time before measuring.
    pub time_ns: u64,
    /// The CPU time of all CPUs: CPUs × `time_ns`.
    pub cpu_ns: u64,
    /// The CPU time that was not idle, ns.
    pub busy_ns: u64,
    /// The workload's wake-ups that had a choice.
    pub wakeups: u64,
}

/// The numbers that `--regret` adds to a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegretStats {
    /// Regret by wake-up.
    pub wakeups: WakeupRegret,
    /// Regret by search.
    pub searches: SearchRegret,
    /// Regret by probe.
    #[serde(rename = "looks")]
    pub probes: ProbeRegret,
    /// The number of searches by the number of probes that would have been enough, in buckets of [`position_bucket`].
    pub enough: [u64; POSITIONS],
    /// The number of searches for which no number of probes was enough, because nothing was idle.
    pub enough_never: u64,
    /// The busy time by kind of wake-up: whether an idle CPU was worth finding.
    pub cpu: CpuTimeRegret,
    /// The time in the migrating state.
    pub migrating: StateRegret,
    /// The time in the stacked state.
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
    ProbeRegret { n, nothing_idle, before_first, from_first },
    CpuTimeOf { wakeups, busy_ns },
    CpuTimeRegret { on_idle, on_claimed, on_busy, other },
    StateRegret { time_ns, cpu_ns, busy_ns, wakeups },
);

impl AddAssign<&RegretStats> for RegretStats {
    fn add_assign(&mut self, other: &RegretStats) {
        self.wakeups += other.wakeups;
        self.searches += other.searches;
        self.probes += other.probes;
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
