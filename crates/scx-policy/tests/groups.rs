//! What control groups leave of a task's weight, against what calc_group_shares() and task_h_load() come to when a
//! task's load is its weight and a group has one queue.

mod support;

use proptest::prelude::*;
use support::many;
use wakelab_scx_policy as c;

/// Fractional bits of what is compared: far more than the scheduler has.
const BITS: u32 = 10;

/// A group on the way from a task to the root: its load weight, and the sum of the weights of what is runnable in it.
#[derive(Clone, Copy, Debug)]
struct Level {
    shares: u32,
    sum: i64,
}

/// `scale_load(weight)` through the groups, from the lowest up; each level rounded down once, as the kernel's divisions
/// do.
fn through(own: u32, levels: &[Level]) -> u64 {
    let mut weight = u128::from(own) << BITS;
    let mut part = i64::from(own);
    for level in levels {
        // tg_weight >= load: what a group's sum has of others is never less than nothing.
        weight = weight * u128::from(level.shares) / level.sum.max(part) as u128;
        part = i64::from(level.shares);
    }
    weight.max(2) as u64
}

fn scheduler(own: u32, levels: &[Level]) -> u64 {
    let mut part = c::group_part_of(own);
    for level in levels {
        c::group_part_up(&mut part, level.shares, level.sum);
    }
    c::group_part_weight(&part)
}

/// Nice levels' weights, SCHED_IDLE's and anything between.
fn weight() -> impl Strategy<Value = u32> {
    prop_oneof![Just(3), (100..140).prop_map(|prio| c::weight_of(prio, false)), 3..88762_u32]
}

fn cpu_weight() -> impl Strategy<Value = u32> {
    prop_oneof![Just(1), Just(100), Just(10000), 1..10001_u32]
}

prop_compose! {
    fn level()(
        cpu_weight in cpu_weight(), idle in any::<bool>(),
        sum in prop_oneof![-100_000..100_000_i64, 1..1_i64 << 32],
    ) -> Level {
        Level { shares: if idle { 3 } else { c::sched_weight_from_cgroup(cpu_weight) }, sum }
    }
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn a_task_weighs_what_fair_gives_it(own in weight(), levels in prop::collection::vec(level(), 0..16)) {
        prop_assert_eq!(scheduler(own, &levels), through(own, &levels));
    }

    #[test]
    fn what_is_in_a_group_weighs_as_much_as_the_group(
        tasks in prop::collection::vec(weight(), 1..40), cpu_weight in 50..10001_u32,
    ) {
        let shares = c::sched_weight_from_cgroup(cpu_weight);
        let sum = tasks.iter().map(|&task| i64::from(task)).sum();
        let all: u64 = tasks.iter().map(|&own| scheduler(own, &[Level { shares, sum }])).sum();
        let group = u64::from(shares) << BITS;
        // A unit for each that was rounded down, two for what is raised to the least weight.
        prop_assert!(all.abs_diff(group) <= 2 * tasks.len() as u64, "{all} for {group}");
    }

    #[test]
    fn cpu_weight_becomes_load_weight(cpu_weight in 1..10001_u32) {
        // DIV_ROUND_CLOSEST_ULL(cgrp_weight * 1024, CGROUP_WEIGHT_DFL)
        let exact = f64::from(cpu_weight) * 1024.0 / 100.0;
        prop_assert_eq!(c::sched_weight_from_cgroup(cpu_weight), exact.round() as u32);
    }

    #[test]
    fn virtual_time_is_the_exact_quotient(ns in 0..1_u64 << 43, weight in prop_oneof![2..4096_u64, 1..1_u64 << 34]) {
        let exact = (u128::from(ns) << 20) / u128::from(weight);
        prop_assert_eq!(u128::from(c::calc_delta_fair(ns, weight)), exact);
    }
}

#[test]
fn a_group_in_a_group_divides_what_that_has() {
    // a/x of weight 100 beside a/y of 300, in a of weight 100; two hogs in x.
    let x = Level { shares: 1024, sum: 2048 };
    let a = Level { shares: 1024, sum: 4096 };
    assert_eq!(scheduler(1024, &[x, a]), (1024 << BITS) / 8);
    assert_eq!(scheduler(1024, &[]), 1 << 20);
    assert_eq!(c::calc_delta_fair(3_000_000, scheduler(1024, &[x, a])), 24_000_000);
}
