//! Newly idle balancing: each decision of `sched_balance_newidle()`, with numbers worked out by hand from the kernel's
//! functions.

use crate::support::balance::domains;
use wakelab_kernel::{Feature, FeatureSet, Preset};
use wakelab_sched::balance::*;
use wakelab_sched::domain::{SchedDomains, Uniform};

/// `sysctl_sched_migration_cost`, ns.
const MIGRATION_COST: u64 = 500_000;

/// Two cores with two CPUs each.
fn machine() -> SchedDomains {
    domains(&Uniform::new(2, 2).topology())
}

fn on(rules: BalanceRules, features: FeatureSet, hz: u32, domains: &SchedDomains) -> Balance<'_> {
    let tunables = BalanceTunables { migration_cost: MIGRATION_COST as u32, nr_migrate: 32, preemption: true, hz };
    Balance::new(rules, features, tunables, domains).unwrap()
}

/// Without features, at 250 Hz.
fn by(rules: BalanceRules, domains: &SchedDomains) -> Balance<'_> {
    on(rules, FeatureSet::EMPTY, 250, domains)
}

/// All presets: their names and their rules.
fn versions() -> Vec<(&'static str, BalanceRules)> {
    Preset::all().iter().map(|preset| (preset.name, preset.balance)).collect()
}

/// `this_rq->avg_idle < sysctl_sched_migration_cost` up to 5.10, `this_rq->avg_idle < sd->max_newidle_lb_cost` since.
#[test]
fn a_cpu_begins_if_it_expects_to_be_idle_for_longer_than_the_lowest_domain_takes() {
    let domains = machine();
    for (name, rules) in versions() {
        let balance = by(rules, &domains);
        for cost in [30_000, 700_000] {
            let lowest = SdBalance { max_newidle_lb_cost: cost, ..SdBalance::new(balance.sd(0, 0), 0) };
            let needed = if rules.newidle.cost_floor { MIGRATION_COST } else { cost };
            let begins = |avg_idle, overload| balance.newidle_begins(avg_idle, &lowest, overload);
            assert_eq!([begins(needed - 1, true), begins(needed, true)], [false, true], "{name}, cost {cost}");
            assert!(!begins(u64::MAX, false), "{name}: no run queue has two tasks");
        }
    }
}

/// `this_rq->avg_idle < curr_cost + sd->max_newidle_lb_cost` ends the loop: after 10 us on lower domains, 30 us more
/// have to fit.
#[test]
fn the_time_spent_on_lower_domains_counts() {
    let domains = machine();
    for (name, rules) in versions() {
        let balance = by(rules, &domains);
        let sd = SdBalance { max_newidle_lb_cost: 30_000, ..SdBalance::new(balance.sd(0, 1), 0) };
        let affords = |avg_idle, curr_cost| balance.newidle_affords(avg_idle, curr_cost, &sd);
        assert_eq!([affords(29_999, 0), affords(30_000, 0)], [false, true], "{name}");
        assert_eq!([affords(39_999, 10_000), affords(40_000, 10_000)], [false, true], "{name}");
    }
}

/// `update_newidle_cost()` at 250 Hz: a higher cost counts at once and puts off the decay, which comes once
/// `time_after(jiffies, last_decay_max_lb_cost + HZ)`: not at 1500 + 250 but one jiffy later. 10000 * 253 / 256 =
/// 9882.8.
#[test]
fn the_cost_rises_at_once_and_decays_by_a_hundredth_per_second() {
    let domains = machine();
    for (name, rules) in versions().into_iter().filter(|version| !version.1.newidle.cost_floor) {
        let balance = by(rules, &domains);
        let mut sd = balance.sd_state(0, 0, 1000, 0);
        assert!(!balance.update_newidle_cost(&mut sd, 10_000, 1, 1500, 0), "{name}");
        assert_eq!((sd.max_newidle_lb_cost, sd.last_decay_max_lb_cost), (10_000, 1500), "{name}");
        assert!(!balance.update_newidle_cost(&mut sd, 9_000, 0, 1750, 0), "{name}: a second has not passed");
        assert_eq!(sd.max_newidle_lb_cost, 10_000, "{name}: a lower cost does not count");
        assert!(balance.update_newidle_cost(&mut sd, 0, 0, 1751, 0), "{name}");
        assert_eq!((sd.max_newidle_lb_cost, sd.last_decay_max_lb_cost), (9_882, 1751), "{name}");
        assert!(balance.update_newidle_cost(&mut sd, 9_000, 0, 2002, 0), "{name}: a pass lets it decay, too");
        // 9882 * 253 / 256 = 9766.2.
        assert_eq!(sd.max_newidle_lb_cost, 9_766, "{name}");
        // It began with 512 passes. Two of the calls had no cost, so they were no passes.
        assert_eq!((sd.newidle_call, sd.newidle_success), (515, 257), "{name}");
    }
}

/// Up to 5.10 `next_decay_max_lb_cost` is set by decays only, and starts at `jiffies`. 25600 * 253 / 256 = 25300.
#[test]
fn up_to_5_10_a_higher_cost_does_not_put_off_the_decay() {
    let domains = machine();
    for (name, rules) in versions() {
        let balance = on(rules, FeatureSet::EMPTY, 1000, &domains);
        let mut sd = balance.sd_state(0, 0, 5000, 0);
        balance.update_newidle_cost(&mut sd, 25_600, 1, 5500, 0);
        let decays = [5501, 6501].map(|jiffies| balance.update_newidle_cost(&mut sd, 0, 0, jiffies, 0));
        assert_eq!(decays, [rules.newidle.cost_floor, !rules.newidle.cost_floor], "{name}");
        assert_eq!(sd.max_newidle_lb_cost, 25_300, "{name}");
    }
}

/// `weight = 1 + newidle_ratio; if (d1k > weight) continue; weight = (1024 + weight / 2) / weight`. A domain starts
/// with a ratio of 512, so that 0 to 513 let a pass through.
#[test]
fn ni_random_makes_passes_by_their_success_and_weighs_it_inversely() {
    let domains = machine();
    // Ratio, the largest number that lets a pass through, what a success counts.
    let cases = [(512, 513, 2), (0, 1, 1024), (127, 128, 8), (340, 341, 3), (1023, 1023, 1)];
    for (name, rules) in versions() {
        let balance = by(rules, &domains);
        for (ratio, largest, counts) in cases {
            let mut sd = SdBalance { newidle_ratio: ratio, ..SdBalance::new(balance.sd(0, 0), 0) };
            let at = format!("{name}, ratio {ratio}");
            assert_eq!([0, largest].map(|d1k| balance.newidle_random(&mut sd, d1k, 0)), [Some(counts); 2], "{at}");
            assert_eq!(
                (sd.newidle_call, sd.newidle_success),
                (512, 256),
                "{at}: the pass itself is counted by its cost"
            );
            if largest < 1023 {
                assert_eq!(balance.newidle_random(&mut sd, largest + 1, 0), None, "{at}");
                assert_eq!((sd.newidle_call, sd.newidle_success), (513, 256), "{at}: a pass without success");
            }
        }
    }
}

/// `update_newidle_stats()`: 256 successes of 512 passes at first. After 512 more, the number of successes is the
/// ratio, and both counts are halved.
#[test]
fn the_success_rate_is_measured_over_512_passes_and_what_half_of_those_before_count() {
    let domains = machine();
    for (name, rules) in versions() {
        let balance = by(rules, &domains);
        for (successes, weight) in [(0, 1), (128, 2), (512, 1)] {
            let mut sd = SdBalance::new(balance.sd(0, 0), 0);
            for pass in 0..512 {
                assert_eq!(sd.newidle_ratio, 512, "{name}");
                balance.update_newidle_cost(&mut sd, 1, if pass < successes { weight } else { 0 }, 0, 0);
            }
            let ratio = 256 + successes * weight;
            assert_eq!((sd.newidle_ratio, sd.newidle_call, sd.newidle_success), (ratio, 512, ratio / 2), "{name}");
        }
    }
}

/// `sched_feat(NI_RANDOM)`, and since 7.2 `sd->newidle_ratio < 1024`.
#[test]
fn dice_are_thrown_with_ni_random_unless_every_pass_succeeds() {
    let domains = machine();
    for (name, rules) in versions() {
        let random = FeatureSet::EMPTY.with(Feature::NI_RANDOM, true);
        let dice = |features, newidle_ratio| {
            let balance = on(rules, features, 250, &domains);
            balance.newidle_dice(&SdBalance { newidle_ratio, ..SdBalance::new(balance.sd(0, 0), 0) })
        };
        assert_eq!([0, 1023, 1024].map(|ratio| dice(FeatureSet::EMPTY, ratio)), [false; 3], "{name}");
        assert_eq!([0, 1023, 1024].map(|ratio| dice(random, ratio)), [true, true, !rules.newidle.rate], "{name}");
    }
}

/// `ratio = delta >> 22` with NI_RATE: 1 s is 238 * 2^22 ns and 4 s are 953 * 2^22 ns, on top of 256 successes, at most
/// 1024. A clock that went back counts as 0.
#[test]
fn ni_rate_makes_seldom_passes_sure() {
    let domains = machine();
    let ratio = |version, rate, elapsed_ms: i64| {
        let features = FeatureSet::EMPTY.with(Feature::NI_RANDOM, true).with(Feature::NI_RATE, rate);
        let balance = on(Preset::get(version).expect("a preset").balance, features, 250, &domains);
        let mut sd = SdBalance { newidle_call: 1023, ..balance.sd_state(0, 0, 0, 9_000_000_000) };
        let now = 9_000_000_000 + elapsed_ms * 1_000_000;
        balance.update_newidle_cost(&mut sd, 1, 0, 0, now as u64);
        // The next period begins here, in versions that measure it.
        let restarted = sd.newidle_stamp == now as u64;
        (sd.newidle_ratio, balance.newidle_dice(&sd), restarted)
    };
    for preset in Preset::all().iter().filter(|preset| preset.balance.newidle.rate) {
        let version = preset.name;
        assert_eq!(ratio(version, true, 1000), (256 + 238, true, true));
        assert_eq!(ratio(version, true, 4000), (1024, false, true));
        assert_eq!(ratio(version, true, -1000), (256, true, true));
        assert_eq!(ratio(version, false, 4000), (256, true, true));
    }
    assert_eq!(ratio("v6.12", true, 4000), (256, true, false));
}

/// `pulled_task` ends the loop in all versions. Otherwise 5.3 and 5.10 stop if `this_rq->nr_running > 0`, 5.15 to 6.8
/// also if `this_rq->ttwu_pending`, and 6.12 if the pass cleared `continue_balancing`.
#[test]
fn a_task_ends_the_search_and_what_else_does_depends_on_the_version() {
    let domains = machine();
    for (name, rules) in versions() {
        let stops = |pulled, goes_on, nr_running, pending| {
            by(rules, &domains).newidle_stops(pulled, goes_on, nr_running, pending)
        };
        assert!(stops(true, true, 0, false), "{name}");
        assert!(!stops(false, true, 0, false), "{name}");
        let by_task_wakeup_or_pass =
            [stops(false, true, 1, false), stops(false, true, 0, true), stops(false, false, 0, false)];
        let expected = match name {
            "v5.2" | "v5.3" | "v5.10" => [true, false, false],
            "v6.12" | "v6.18" | "v7.2" | "v7.3" => [false, false, true],
            _ => [true, true, false],
        };
        assert_eq!(by_task_wakeup_or_pass, expected, "{name}");
    }
}

/// `if (!pulled_task) domain_cost = (3 * sd->max_newidle_lb_cost) / 2`, and the maximum is
/// `min(cost, sysctl_sched_migration_cost + 200)` (155213a2aed4).
#[test]
fn passes_in_vain_raise_the_cost_up_to_the_migration_cost() {
    let domains = machine();
    let rules = Preset::get("v7.2").unwrap().balance;
    let costs = |features: FeatureSet, success: u32| {
        let balance = on(rules, features, 250, &domains);
        let mut sd = SdBalance { max_newidle_lb_cost: 100_000, ..SdBalance::new(balance.sd(0, 1), 1000) };
        let mut costs = Vec::new();
        for _ in 0..5 {
            balance.update_newidle_cost(&mut sd, 20_000, success, 1000, 0);
            costs.push(sd.max_newidle_lb_cost);
        }
        // A pass that takes longer than the maximum.
        balance.update_newidle_cost(&mut sd, 900_000, 1, 1000, 0);
        costs.push(sd.max_newidle_lb_cost);
        costs
    };
    let bump = FeatureSet::EMPTY.with(Feature::NI_COST_BUMP, true);
    assert_eq!(costs(FeatureSet::EMPTY, 0), [100_000, 100_000, 100_000, 100_000, 100_000, 900_000]);
    assert_eq!(costs(bump, 0), [150_000, 225_000, 337_500, 500_200, 500_200, 500_200]);
    // A pass that has pulled a task counts by its time.
    assert_eq!(costs(bump, 1), [100_000, 100_000, 100_000, 100_000, 100_000, 500_200]);
}

/// `this_rq->avg_idle < sysctl_sched_migration_cost`, beside the condition on the lowest domain's cost.
#[test]
fn the_migration_cost_holds_newly_idle_balance_back() {
    let domains = machine();
    let rules = Preset::get("v6.12").unwrap().balance;
    let begins = |features: FeatureSet, avg_idle: u64, cost: u64| {
        let balance = on(rules, features, 250, &domains);
        let lowest = SdBalance { max_newidle_lb_cost: cost, ..SdBalance::new(balance.sd(0, 0), 0) };
        balance.newidle_begins(avg_idle, &lowest, true)
    };
    let gate = FeatureSet::EMPTY.with(Feature::NI_MIGRATION_COST_GATE, true);
    for (avg_idle, cost, without, with) in [
        (MIGRATION_COST - 1, 30_000, true, false),
        (MIGRATION_COST, 30_000, true, true),
        (MIGRATION_COST, 700_000, false, false),
    ] {
        assert_eq!([begins(FeatureSet::EMPTY, avg_idle, cost), begins(gate, avg_idle, cost)], [without, with]);
    }
}
