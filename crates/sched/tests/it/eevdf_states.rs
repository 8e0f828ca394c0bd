//! EEVDF and the slow implementation in a million states: which tasks are eligible, which is picked, and which
//! preempts.

use crate::runqueue_reference::random_states::equal_in_states;
use crate::runqueue_reference::slow_eevdf::SlowEevdf;
use crate::support::random::Random;
use wakelab_sched::runqueue::{EevdfParams, EevdfRules, FairRules};

/// The number of checks for preemption of each version, with more than three times as many states: a million checks of
/// all versions together, and a million states of each.
const STATES: u64 = 334_000;

fn equal(forms: EevdfRules) {
    let make = |random: &mut Random| {
        let params = EevdfParams {
            base_slice_ns: 700_000 + random.below(3_000_000),
            tick_ns: [1_000_000, 4_000_000, 10_000_000][random.below(3) as usize],
            place_lag: random.chance(90),
            place_deadline_initial: random.chance(90),
            place_rel_deadline: random.chance(90),
            run_to_parity: random.chance(80),
            preempt_short: random.chance(80),
            delay_dequeue: random.chance(90),
            delay_zero: random.chance(80),
            wakeup_preemption: random.chance(95),
            hrtick: false,
            next_buddy: random.chance(30),
            pick_buddy: random.chance(90),
            paranoid_avg: false,
            migration_cost_ns: if random.chance(50) { 0 } else { 500_000 },
            normalized_base_slice_ns: 700_000,
            resched_ineligible: false,
        };
        let rules = EevdfRules { lazy_preemption: forms.lazy_preemption && random.chance(50), ..forms };
        let start = random.next();
        (FairRules::Eevdf(params, rules), start, SlowEevdf::new(params, rules, start))
    };
    equal_in_states(STATES, make, |slow| slow.overflowed.get());
}

#[test]
fn eevdf_6_6_equals_list_scans() {
    equal(EevdfRules::V6_6);
}

#[test]
fn eevdf_6_8_equals_list_scans() {
    equal(EevdfRules::V6_8);
}

#[test]
fn eevdf_6_18_equals_list_scans() {
    equal(EevdfRules::V6_18);
}

#[test]
fn eevdf_6_12_equals_list_scans() {
    equal(EevdfRules::V6_12);
}

#[test]
fn eevdf_7_2_equals_list_scans() {
    equal(EevdfRules::V7_2);
}

#[test]
fn eevdf_7_3_equals_list_scans() {
    equal(EevdfRules::V7_3);
}
