//! What the BPF programs count.

use crate::bpf_program::types;
use crate::overhead::Overhead;
use crate::shared::look;
use std::time::Duration;
use wakelab_events::recording::CountsRow;

/// Sums over the CPUs, as config.h explains them, and what it cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub wakings: u64,
    pub woken: u64,
    pub choices: u64,
    pub filtered: u64,
    pub sampled: u64,
    pub limited: u64,
    pub lost: u64,
    pub lost_events: u64,
    pub limited_events: u64,
    pub overhead: Overhead,
    /// CPU time of this process.
    pub own: Duration,
    /// Since the beginning.
    pub elapsed: Duration,
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: i64,
}

impl Counted {
    /// Looks. What is counted first is read last, so that no part is more than its whole.
    pub fn read(bss: &types::bss) -> Self {
        let sum = |of: fn(&types::tally) -> &u64| bss.tallies.iter().map(|tally| look(of(tally))).sum();
        let [lost_events, limited_events] = [look(&bss.lost_events), look(&bss.limited_events)];
        let lost = sum(|tally| &tally.lost);
        let [filtered, sampled, limited] = [sum(|t| &t.filtered), sum(|t| &t.sampled), sum(|t| &t.limited)];
        let woken = sum(|tally| &tally.woken);
        let choices = sum(|tally| &tally.choices);
        let wakings = sum(|tally| &tally.wakings);
        let of = Counted { wakings, woken, choices, filtered, sampled, limited, lost, ..Counted::default() };
        Counted { lost_events, limited_events, ..of }
    }

    /// With what came of it, a row of the counts.
    pub fn row(&self, recorded: u64, stable: u64, changed: u64, last: bool) -> CountsRow<'static> {
        let int = |value: u64| value as i64;
        let known = |ns: u64| self.overhead.known.then_some(int(ns));
        let done = recorded + changed + self.lost + self.filtered + self.sampled + self.limited;
        CountsRow {
            t_ns: self.t_ns,
            last,
            wakings: int(self.wakings),
            woken: int(self.woken),
            choices: int(self.choices),
            recorded: int(recorded),
            lost: int(self.lost),
            filtered: int(self.filtered),
            sampled: int(self.sampled),
            limited: int(self.limited),
            changed: int(changed),
            unfinished: int(self.choices) - int(done),
            stable: int(stable),
            events_lost: int(self.lost_events),
            events_limited: int(self.limited_events),
            missed: int(self.overhead.missed),
            choice_ns: known(self.overhead.entry_ns + self.overhead.exit_ns),
            programs_ns: known(self.overhead.all_ns),
            recorder_ns: self.own.as_nanos() as i64,
            elapsed_ns: self.elapsed.as_nanos() as i64,
        }
    }
}

/// CPU time of this process so far, in the kernel and outside.
pub fn own_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let time = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(time.tv_sec() as u64) + Duration::from_micros(time.tv_usec() as u64)
    };
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| time(usage.user_time()) + time(usage.system_time()))
}

/// CLOCK_MONOTONIC, ns.
pub fn now_ns() -> i64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_choices() {
        let counted = Counted { choices: 100, filtered: 10, sampled: 20, limited: 5, lost: 7, ..Counted::default() };
        let row = counted.row(40, 39, 8, true);
        assert_eq!(row.unfinished, 10);
        assert_eq!(row.recorded + row.lost + row.left_out() + row.unfinished, row.choices);
        assert_eq!((row.choice_ns, row.programs_ns), (None, None));
    }
}
