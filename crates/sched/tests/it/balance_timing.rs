//! When passes are made, worked out by hand.

use crate::support::balance::{State, domains};
use wakelab_kernel::FeatureSet;
use wakelab_sched::balance::*;
use wakelab_sched::domain::{SchedDomains, Uniform};

fn tunables(hz: u32) -> BalanceTunables {
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: true, hz }
}

fn balance(hz: u32, domains: &SchedDomains) -> Balance<'_> {
    Balance::new(BalanceRules::V6_1, FeatureSet::EMPTY, tunables(hz), domains).unwrap()
}

/// 56 cores with two CPUs each, one LLC: 2 CPUs, then 112.
fn big() -> SchedDomains {
    domains(&Uniform::new(56, 2).topology())
}

/// A plan that ends in a certain way.
fn ended(outcome: Outcome, all_pinned: bool) -> Plan {
    let domains = domains(&Uniform::new(2, 1).topology());
    let balance = balance(1000, &domains);
    let sd = SdBalance::new(balance.sd(1, 0), 0);
    let plan = plan_balance(&State::idle(2), &balance, 1, 0, CpuIdleType::Idle, &sd);
    Plan { outcome, all_pinned, ..plan }
}

/// Milliseconds are rounded up to jiffies; busy CPUs wait 16 times as long, less a jiffy; no one longer than
/// HZ·112 / 10.
#[test]
fn the_interval_is_the_domains_weight_in_ms() {
    let big = big();
    let interval = |hz, level, doubled: u32, busy| {
        let balance = balance(hz, &big);
        let mut sd = SdBalance::new(balance.sd(0, level), 0);
        sd.balance_interval <<= doubled;
        get_sd_balance_interval(&balance, &sd, busy)
    };
    // 2 ms at 250 Hz is half a jiffy; 32 ms are 8.
    assert_eq!([interval(250, 0, 0, false), interval(250, 0, 0, true)], [1, 7]);
    assert_eq!([interval(1000, 0, 0, false), interval(1000, 0, 0, true)], [2, 31]);
    // 112 ms are 28 jiffies; 1792 ms are 448.
    assert_eq!([interval(250, 1, 0, false), interval(250, 1, 0, true)], [28, 447]);
    // 33.6 jiffies of 300 Hz.
    assert_eq!(interval(300, 1, 0, false), 34);
    // 16·112·16 ms are 28672 jiffies of 1000 Hz; the limit is 11200.
    assert_eq!(interval(1000, 1, 4, true), 11200);
    assert_eq!(interval(100, 0, 0, true), 3, "32 ms are 4 jiffies");
}

#[test]
fn balance_doubles_the_interval_up_to_twice_the_weight_and_pinned_tasks_beyond() {
    let big = big();
    let sd = &big.domains[0][0];
    let after = |plan: &Plan, idle, times| {
        let mut state = SdBalance::new(sd, 0);
        (0..times).for_each(|_| state.tune(sd, idle, plan));
        state.balance_interval
    };
    let balanced = ended(Outcome::Balanced(Why::NoBusiestGroup), false);
    let idle = CpuIdleType::Idle;
    assert_eq!([0, 1, 2, 9].map(|times| after(&balanced, idle, times)), [2, 4, 4, 4]);
    assert_eq!(after(&balanced, CpuIdleType::NewlyIdle, 9), 2);
    let pinned = ended(Outcome::Balanced(Why::AllPinned), true);
    assert_eq!([1, 2, 8, 9].map(|times| after(&pinned, idle, times)), [4, 8, 512, 512]);
    assert_eq!(after(&ended(Outcome::OnePinned, false), idle, 9), 4);
    for outcome in [Outcome::Moved, Outcome::Failed] {
        let mut state = SdBalance { balance_interval: 512, ..SdBalance::new(sd, 0) };
        state.tune(sd, CpuIdleType::NewlyIdle, &ended(outcome, true));
        assert_eq!(state.balance_interval, 2);
    }
}

#[test]
fn failures_of_periodic_passes_are_counted_until_one_moves_or_finds_balance() {
    let big = big();
    let sd = &big.domains[0][1];
    let after = |outcome, idle| {
        let mut state = SdBalance { nr_balance_failed: 5, ..SdBalance::new(sd, 0) };
        state.tune(sd, idle, &ended(outcome, false));
        state.nr_balance_failed
    };
    use CpuIdleType::*;
    assert_eq!([after(Outcome::Failed, Idle), after(Outcome::OnePinned, NotIdle)], [6, 6]);
    assert_eq!([after(Outcome::Failed, NewlyIdle), after(Outcome::OnePinned, NewlyIdle)], [5, 5]);
    for why in [Why::NotOurs, Why::NoBusiestGroup, Why::NoBusiestQueue, Why::AllPinned] {
        assert_eq!([after(Outcome::Balanced(why), Idle), after(Outcome::Balanced(why), NewlyIdle)], [0, 0]);
    }
    assert_eq!(after(Outcome::Moved, NewlyIdle), 0);
}

/// From the lowest domain up; the next start is the earliest due.
#[test]
fn periodic_balancing_visits_due_domains_and_plans_the_next_start() {
    let big = big();
    let balance = balance(250, &big);
    let mut sds = [0, 1].map(|level| SdBalance::new(balance.sd(0, level), 1000));
    let mut rebalance = Rebalance::new(&balance, 1001);
    // Idle: 1 jiffy and 28 jiffies.
    assert_eq!(rebalance.visit(balance.sd(0, 0), &mut sds[0], 1001, false), Visit::Due { serialize: false });
    rebalance.balanced(&mut sds[0], 1001, false, true);
    assert_eq!(rebalance.visit(balance.sd(0, 1), &mut sds[1], 1001, false), Visit::Next);
    let end = rebalance.finish();
    assert_eq!((end.next_balance, end.max_idle_balance_cost), (Some(1002), None));
    assert_eq!([sds[0].last_balance, sds[1].last_balance], [1001, 1000]);
    let mut next_balance = 1250;
    update_next_balance(&balance, &sds[1], &mut next_balance);
    update_next_balance(&balance, &sds[0], &mut next_balance);
    assert_eq!(next_balance, 1002);
}

/// Another CPU balances for the group: higher domains are visited only as long as their cost decays.
#[test]
fn higher_domains_are_left_alone_where_another_cpu_balances() {
    let big = big();
    let balance = balance(250, &big);
    let visit = |last_decay| {
        let mut sds = [0, 1].map(|level| SdBalance {
            max_newidle_lb_cost: 600_000,
            last_decay_max_lb_cost: last_decay,
            ..SdBalance::new(balance.sd(0, level), 1000)
        });
        let mut rebalance = Rebalance::new(&balance, 2000);
        assert_eq!(rebalance.visit(balance.sd(0, 0), &mut sds[0], 2000, true), Visit::Due { serialize: false });
        rebalance.balanced(&mut sds[0], 2000, true, false);
        (rebalance.visit(balance.sd(0, 1), &mut sds[1], 2000, true), rebalance.finish())
    };
    let (stop, end) = visit(1750);
    assert_eq!((stop, end.next_balance, end.max_idle_balance_cost), (Visit::Stop, Some(2007), None));
    let (next, end) = visit(1749);
    // 600000·253 / 256 = 592968.75, of both; it has a floor of migration_cost.
    assert_eq!((next, end.max_idle_balance_cost), (Visit::Next, Some(2 * 592_968)));
}

#[test]
fn only_one_cpu_at_a_time_balances_between_nodes() {
    let nodes = domains(&Uniform { packages: 2, nodes: 2, ..Uniform::new(2, 1) }.topology());
    let balance = balance(250, &nodes);
    let level = balance.nr_levels(0) - 1;
    let sd = balance.sd(0, level);
    let mut state = SdBalance::new(sd, 1000);
    let mut rebalance = Rebalance::new(&balance, 1001);
    assert_eq!(rebalance.visit(sd, &mut state, 1001, false), Visit::Due { serialize: true });
    rebalance.not_balanced(&state, false);
    assert_eq!(state.last_balance, 1000, "no pass was made");
    assert_eq!(rebalance.finish().next_balance, Some(1001));
}

/// The jiffies counter wraps.
#[test]
fn times_are_compared_across_the_end_of_the_counter() {
    let big = big();
    let balance = balance(250, &big);
    let mut sd = SdBalance::new(balance.sd(0, 1), u64::MAX - 9);
    let visit =
        |sd: &mut SdBalance, jiffies| Rebalance::new(&balance, jiffies).visit(balance.sd(0, 1), sd, jiffies, false);
    assert_eq!(visit(&mut sd, 17), Visit::Next);
    assert_eq!(visit(&mut sd, 18), Visit::Due { serialize: false });
}
