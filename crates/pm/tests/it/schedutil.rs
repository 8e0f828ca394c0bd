//! schedutil's decisions, by worked examples.

use crate::support::Table;
use wakelab_pm::governor::Update;
use wakelab_pm::policy::{Driver, Limits, Policy};
use wakelab_pm::schedutil::{CpuUtil, Headroom, Sugov, SugovRules};
use wakelab_sched::energy::{RqUtil, uclamp_rq_util_with};
use wakelab_sched::select::Uclamp;

const MS: u64 = 1_000_000;
const ALL: [SugovRules; 6] =
    [SugovRules::V5_3, SugovRules::V5_10, SugovRules::V5_18, SugovRules::V6_1, SugovRules::V6_12, SugovRules::V6_18];

fn cpu_util(util_cfs: u64) -> CpuUtil {
    CpuUtil { capacity: 1024, util_cfs, ..CpuUtil::default() }
}

fn view(util: u64, idle_calls: u64) -> Table {
    Table { util: [(0, cpu_util(util)), (1, cpu_util(0))].into(), idle_calls, ..Table::default() }
}

fn at(now: u64) -> Update {
    Update { now, cpu: 0, from: 0, iowait: false }
}

/// 1 to 4 GHz, invariant or at a present frequency.
fn policy(invariant: bool, cur: u32) -> Policy {
    let mut policy = Policy::new(vec![0], Driver::continuous(1_000_000, 4_096_000, 1_000).unwrap()).unwrap();
    policy.invariant = invariant;
    policy.changed_to(cur);
    policy
}

fn sugov(rules: SugovRules, cpus: &[u32]) -> Sugov {
    Sugov::new(rules, cpus, 1000, 4 * MS, false)
}

#[test]
fn invariant_utilisation_asks_of_the_highest_and_other_of_the_present_frequency() {
    for rules in ALL {
        let mut invariant = sugov(rules, &[0]);
        assert_eq!(
            invariant.update(&at(5 * MS), &policy(true, 1_000_000), &view(512, 1)),
            Some(2_560_000),
            "{rules:?}"
        );
        // Since 6.8 the margin is on the present frequency as well as on the utilisation.
        let expected = if rules.headroom == Headroom::InPerf { 1_562_500 } else { 1_250_000 };
        let mut not = sugov(rules, &[0]);
        assert_eq!(not.update(&at(5 * MS), &policy(false, 2_000_000), &view(512, 1)), Some(expected), "{rules:?}");
    }
}

#[test]
fn the_rate_limit_holds_until_it_has_passed_or_limits_change() {
    for rules in ALL {
        let mut sugov = sugov(rules, &[0]);
        let mut policy = policy(true, 1_000_000);
        sugov.update(&at(5 * MS), &policy, &view(100, 1));
        assert_eq!(sugov.update(&at(5 * MS + 999_999), &policy, &view(800, 2)), None, "{rules:?}");
        assert_eq!(sugov.update(&at(6 * MS), &policy, &view(800, 3)), Some(4_000_000), "{rules:?}");
        policy.set_limits(&Limits { user_max: 3_000_000, ..Limits::NONE });
        sugov.policy.limits_changed = true;
        assert_eq!(sugov.update(&at(6 * MS + 1), &policy, &view(800, 4)), Some(3_000_000), "{rules:?}");
    }
}

#[test]
fn a_busy_cpu_does_not_slow_down() {
    for rules in ALL {
        let mut sugov = sugov(rules, &[0]);
        let policy = policy(true, 1_000_000);
        sugov.update(&at(5 * MS), &policy, &view(800, 7));
        assert_eq!(sugov.update(&at(7 * MS), &policy, &view(400, 7)), None, "{rules:?}");
        assert_eq!(sugov.update(&at(9 * MS), &policy, &view(400, 8)), Some(2_000_000), "{rules:?}");
    }
}

/// A busy CPU whose limit falls: what is committed then.
fn committed_under_a_lower_limit(rules: SugovRules) -> u32 {
    let mut sugov = sugov(rules, &[0]);
    let mut policy = policy(true, 1_000_000);
    sugov.update(&at(5 * MS), &policy, &view(800, 7));
    policy.set_limits(&Limits { thermal_max: 3_000_000, ..Limits::NONE });
    sugov.policy.limits_changed = true;
    sugov.update(&at(7 * MS), &policy, &view(800, 7));
    sugov.policy.next_freq
}

#[test]
fn a_busy_cpu_holds_its_frequency_against_a_lower_limit_in_5_10_alone() {
    let committed = ALL.map(committed_under_a_lower_limit);
    assert_eq!(committed, [3_000_000, 4_000_000, 4_000_000, 3_000_000, 3_000_000, 3_000_000]);
}

#[test]
fn a_capped_run_queue_slows_down_though_busy_since_5_18() {
    let slows = |rules| {
        let mut sugov = sugov(rules, &[0]);
        let policy = policy(true, 1_000_000);
        sugov.update(&at(5 * MS), &policy, &view(800, 7));
        sugov.update(&at(7 * MS), &policy, &Table { capped: true, ..view(400, 7) }).is_some()
    };
    assert_eq!(ALL.map(slows), [false, false, true, true, true, true]);
}

#[test]
fn a_maximum_clamp_bounds_the_headroom_since_6_12() {
    let clamped = |rules| {
        let mut util = cpu_util(800);
        util.uclamp = Uclamp { used: true, min: 0, max: 512 };
        let view = Table { util: [(0, util)].into(), ..Table::default() };
        sugov(rules, &[0]).update(&at(5 * MS), &policy(true, 1_000_000), &view)
    };
    assert_eq!(clamped(SugovRules::V6_1), Some(2_560_000), "headroom on top of the clamp");
    assert_eq!(clamped(SugovRules::V6_12), Some(2_048_000));
}

#[test]
fn the_cpu_of_a_shared_policy_that_asks_for_most_decides() {
    for rules in ALL {
        let mut shared =
            Policy::new(vec![0, 1], Driver::table(vec![1_000_000, 2_000_000, 4_096_000]).unwrap()).unwrap();
        shared.invariant = true;
        let mut sugov = sugov(rules, &[0, 1]);
        let mut view = view(100, 0);
        view.util.insert(1, cpu_util(300));
        assert_eq!(sugov.update(&at(5 * MS), &shared, &view), Some(2_000_000), "{rules:?}: 1.5 GHz, resolved upwards");
        let other = Update { cpu: 9, ..at(9 * MS) };
        assert_eq!(sugov.update(&other, &shared, &view), None, "{rules:?}: no CPU of the policy");
    }
}

#[test]
fn an_update_from_outside_the_policy_waits_unless_the_driver_can() {
    let mut policy = policy(true, 1_000_000);
    let mut sugov = sugov(SugovRules::V6_1, &[0]);
    let remote = Update { from: 5, ..at(5 * MS) };
    assert_eq!(sugov.update(&remote, &policy, &view(800, 1)), None);
    policy.dvfs_possible_from_any_cpu = true;
    assert_eq!(sugov.update(&remote, &policy, &view(800, 1)), Some(4_000_000));
}

#[test]
fn tasks_that_come_back_from_io_double_their_boost_each_time() {
    for rules in ALL {
        let mut sugov = sugov(rules, &[0]);
        let policy = policy(true, 1_000_000);
        let boosted = |sugov: &mut Sugov, now| {
            let at = Update { iowait: true, ..at(now) };
            sugov.update(&at, &policy, &view(10, now));
            sugov.policy.next_freq
        };
        let got = [5, 7, 9, 11].map(|ms| boosted(&mut sugov, ms * MS));
        // 128, 256, 512 and 1024 of 1024, with headroom; no less than 1 GHz and no more than there is.
        let [_, _, _, last] = got;
        assert_eq!(got[..3], [1_000_000, 1_280_000, 2_560_000], "{rules:?}");
        assert_eq!(last, 4_096_000, "{rules:?}");
    }
}

#[test]
fn a_driver_that_is_told_performance_gets_the_bounds_with_it() {
    let mut sugov = sugov(SugovRules::V6_18, &[0]);
    let view = Table { bw_dl: 0, ..view(512, 1) };
    let perf = sugov.update_single_perf(&at(5 * MS), &policy(true, 1_000_000), &view).unwrap();
    assert_eq!((perf.min, perf.target, perf.max, perf.capacity), (0, 640, 1024, 1024));
}

#[test]
fn clamps_that_contradict_give_the_minimum_and_a_leftover_of_an_idle_queue_does_not_count() {
    let clamps = |min, max, idle| RqUtil { uclamp_min: min, uclamp_max: max, uclamp_idle: idle, ..RqUtil::default() };
    assert_eq!(uclamp_rq_util_with(&clamps(600, 300, false), 100, true, None), 600);
    let task = Some(Uclamp { used: true, min: 0, max: 200 });
    assert_eq!(uclamp_rq_util_with(&clamps(0, 900, true), 500, true, task), 200);
    assert_eq!(uclamp_rq_util_with(&clamps(0, 900, false), 500, true, task), 500);
    assert_eq!(uclamp_rq_util_with(&clamps(0, 900, true), 5000, false, task), 5000);
}

/// 6.6.87 computes the frequency anew under changed limits only if the driver asks to hear of them (8e461a1cb43d): the
/// same utilisation gives the committed one.
#[test]
fn changed_limits_wait_for_another_utilisation_in_6_6() {
    for (rules, asks, committed) in [
        (SugovRules::V6_1, false, 3_000_000),
        (SugovRules::V6_6, false, 4_000_000),
        (SugovRules::V6_6, true, 3_000_000),
        (SugovRules::V6_8, false, 3_000_000),
    ] {
        let mut sugov = Sugov::new(rules, &[0], 1000, 4 * MS, asks);
        let mut policy = policy(true, 1_000_000);
        sugov.update(&at(5 * MS), &policy, &view(800, 1));
        policy.set_limits(&Limits { thermal_max: 3_000_000, ..Limits::NONE });
        sugov.policy.limits_changed = true;
        sugov.update(&at(7 * MS), &policy, &view(800, 2));
        assert_eq!(sugov.policy.next_freq, committed, "{rules:?}");
    }
}

/// `sg_policy->need_freq_update = cpufreq_driver_test_flags(CPUFREQ_NEED_UPDATE_LIMITS)` at the commit (5.15.y, 6.8): a
/// driver that asks to hear of limits hears of the same frequency again and again, and any driver once after
/// its limits have changed.
#[test]
fn an_unchanged_frequency_is_told_in_5_15_and_6_8() {
    for (rules, stays) in [
        (SugovRules::V5_10, false),
        (SugovRules::V5_15, true),
        (SugovRules::V6_1, false),
        (SugovRules::V6_8, true),
        (SugovRules::V6_12, false),
    ] {
        let told = |asks: bool, limits_change: bool| {
            let mut sugov = Sugov::new(rules, &[0], 1000, 4 * MS, asks);
            let policy = policy(true, 1_000_000);
            sugov.update(&at(5 * MS), &policy, &view(800, 1));
            sugov.policy.limits_changed = limits_change;
            sugov.update(&at(7 * MS), &policy, &view(800, 2)).is_some()
        };
        assert_eq!((told(true, false), told(false, false)), (stays, false), "{rules:?}");
        assert_eq!((told(true, true), told(false, true)), (true, stays), "{rules:?}");
    }
}
