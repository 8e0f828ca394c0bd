//! CFS and the slow implementation in a million states: which task is picked, and which preempts, at a wake-up and at
//! the tick.

use crate::runqueue_reference::random_states::equal_in_states;
use crate::runqueue_reference::slow_cfs::SlowCfs;
use crate::support::random::Random;
use wakelab_sched::runqueue::{CfsParams, CfsRules, FairRules};

/// The number of checks for preemption of each version, with more than three times as many states: a million checks of
/// all versions together, and a million states of each.
const STATES: u64 = 334_000;

fn equal(rules: CfsRules) {
    let make = |random: &mut Random| {
        let factor = 1 + random.below(4);
        let params = CfsParams {
            latency_ns: 6_000_000 * factor,
            min_granularity_ns: 750_000 * factor,
            idle_min_granularity_ns: 750_000,
            wakeup_granularity_ns: 1_000_000 * factor,
            nr_latency: 2 + random.below(7) as u32,
            gentle_fair_sleepers: random.chance(80),
            start_debit: random.chance(80),
            wakeup_preemption: random.chance(95),
            alt_period: true,
            base_slice: random.chance(80),
            next_marker: random.chance(90),
            last_buddy: random.chance(80),
            next_buddy: random.chance(30),
            hrtick: false,
            double_tick: false,
        };
        let start = random.next();
        (FairRules::Cfs(params, rules), start, SlowCfs::new(params, rules, start))
    };
    equal_in_states(STATES, make, |slow| !slow.ordered());
}

#[test]
fn cfs_5_10_equals_list_scans() {
    equal(CfsRules::V5_10);
}

#[test]
fn cfs_5_18_equals_list_scans() {
    equal(CfsRules::V5_18);
}

#[test]
fn cfs_6_1_equals_list_scans() {
    equal(CfsRules::V6_1);
}
