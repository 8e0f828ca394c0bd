//! What must hold for any input.

use crate::support::Table;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use wakelab_kernel::Preset;
use wakelab_pm::governor::Update;
use wakelab_pm::idle::{Asking, IDLE_GOVERNORS, IdleState, IdleStates, Woken};
use wakelab_pm::invariance::Counters;
use wakelab_pm::policy::{Driver, Limits, Policy};
use wakelab_pm::power::{Account, PowerState};
use wakelab_pm::schedutil::{CpuUtil, Sugov, SugovRules};
use wakelab_pm::turbo::Turbo;

/// Cases that fail are kept beside this file.
fn config() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { failure_persistence: Some(Box::new(beside)), ..ProptestConfig::default() }
}

fn driver() -> impl Strategy<Value = Driver> {
    let table = proptest::collection::btree_set(100_000_u32..5_000_000, 1..12)
        .prop_map(|set| Driver::table(set.into_iter().collect()).unwrap());
    let steps = (1_u32..20, 0_u32..30)
        .prop_map(|(low, more)| Driver::continuous(low * 100_000, (low + more) * 100_000, 100_000).unwrap());
    prop_oneof![table, steps]
}

fn limits() -> impl Strategy<Value = Limits> {
    (0_u32..6_000_000, 0_u32..6_000_000, 0_u32..6_000_000).prop_map(|(user_min, user_max, thermal_max)| Limits {
        user_min,
        user_max,
        thermal_max,
    })
}

fn rules() -> impl Strategy<Value = SugovRules> {
    let all = [SugovRules::V5_3, SugovRules::V5_10, SugovRules::V6_1, SugovRules::V6_12, SugovRules::V6_18];
    proptest::sample::select(all.to_vec())
}

/// What schedutil at its start makes of a utilisation.
fn first(rules: SugovRules, policy: &Policy, util_cfs: u64) -> u32 {
    let mut sugov = Sugov::new(rules, &[0], 1000, 4_000_000, false);
    let util = CpuUtil { capacity: 1024, util_cfs, ..CpuUtil::default() };
    let view = Table { util: [(0, util)].into(), idle_calls: 1, ..Table::default() };
    let at = Update { now: 5_000_000, cpu: 0, from: 0, iowait: false };
    let committed = sugov.update(&at, policy, &view).unwrap_or(0);
    policy.target(committed, wakelab_pm::policy::Relation::Low)
}

fn idle_states() -> impl Strategy<Value = IdleStates> {
    vec((0_u64..200, 0_u64..2_000, any::<bool>()), 0..6).prop_map(|steps| {
        let mut states = vec![IdleState::poll(1000)];
        for (exit, residency, disabled) in steps {
            let last = states.last().unwrap();
            let (exit_latency_ns, target_residency_ns) =
                (last.exit_latency_ns + exit * 1000, last.target_residency_ns + residency * 1000);
            let name = format!("C{}", states.len());
            states.push(IdleState {
                name,
                exit_latency_ns,
                target_residency_ns,
                power_uw: 1,
                polling: false,
                disabled,
            });
        }
        IdleStates::new(states).unwrap()
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn frequencies_stay_within_limits_and_rise_with_utilisation(
        (driver, limits, rules) in (driver(), limits(), rules()),
        (invariant, cur) in (any::<bool>(), 100_000_u32..5_000_000),
        (less, more) in (0_u64..1100, 0_u64..1100),
    ) {
        let mut policy = Policy::new(vec![0], driver).unwrap();
        policy.invariant = invariant;
        policy.changed_to(cur);
        policy.set_limits(&limits);
        let (low, high) = (first(rules, &policy, less.min(more)), first(rules, &policy, less.max(more)));
        prop_assert!(policy.min() <= low && high <= policy.max(), "{low}..{high} of \
            {}..{}", policy.min(), policy.max());
        prop_assert!(low <= high, "{low} above {high}");
    }

    #[test]
    fn limits_are_frequencies_that_there_are_and_keep_their_order(driver in driver(), limits in limits()) {
        let mut policy = Policy::new(vec![0], driver.clone()).unwrap();
        policy.set_limits(&limits);
        let (lowest, highest) = driver.range();
        prop_assert!(lowest <= policy.min() && policy.min() <= policy.max() && policy.max() <= highest);
        if let Driver::Table(table) = driver {
            prop_assert!(table.contains(&policy.min()) && table.contains(&policy.max()));
        }
    }

    #[test]
    fn more_active_cores_never_raise_the_limit(mut bins in vec(1_u32..5_000_000, 1..9)) {
        bins.sort_unstable_by(|a, b| b.cmp(a));
        let turbo = Turbo::new(bins, 1_000_000).unwrap();
        for active in 0..10 {
            prop_assert!(turbo.limit(active + 1) <= turbo.limit(active));
        }
    }

    #[test]
    fn counters_do_not_depend_on_how_time_is_cut(cuts in vec(0_u64..10_000_000, 1..20), khz in 1_u32..6_000_000) {
        let (mut whole, mut parts) = (Counters::new(3_400_001), Counters::new(3_400_001));
        whole.count(cuts.iter().sum(), Some(khz));
        for &ns in &cuts {
            parts.count(ns, Some(khz));
        }
        prop_assert_eq!(whole.values(), parts.values());
    }

    #[test]
    fn energy_is_the_sum_over_states_and_residencies_are_all_of_the_time(
        powers in vec(0_u64..100_000_000, 1..8),
        changes in vec((0_u64..1_000_000_000, any::<prop::sample::Index>()), 0..50),
    ) {
        let states: Vec<_> = powers.iter().map(|&power_uw| PowerState { name: String::new(), power_uw }).collect();
        let mut account = Account::new(states, 0, 0);
        let (mut now, mut by_change, mut current) = (0, 0_u128, 0);
        for (ns, state) in changes {
            by_change += u128::from(powers[current]) * u128::from(ns);
            now += ns;
            current = state.index(powers.len());
            account.enter(now, current);
        }
        prop_assert_eq!(account.total_fj(), by_change);
        prop_assert_eq!(account.residency_ns().iter().sum::<u64>(), now);
    }

    #[test]
    fn idle_governors_choose_an_enabled_state_and_never_stop_the_tick_to_poll(
        states in idle_states(),
        about in proptest::sample::select(IDLE_GOVERNORS),
        preset in proptest::sample::select(Preset::all()),
        history in vec((0_u64..100_000_000, 0_u64..100_000_000, any::<[bool; 3]>(), 0_u32..3), 1..60),
    ) {
        let made = (about.make)(&preset.cpuidle);
        prop_assume!(made.is_some());
        let mut governor = made.unwrap();
        let mut now = 0;
        for (timer, sleep, [tick_stopped, by_tick, poll_time_limit], nr_iowaiters) in history {
            let tick_ns = 4_000_000;
            let to_tick = if tick_stopped { timer } else { timer.min(now % tick_ns) };
            let asking = Asking {
                now,
                sleep_length_ns: timer as i64,
                delta_tick_ns: to_tick as i64,
                tick_stopped,
                tick_ns,
                latency_req_ns: i64::MAX,
                nr_iowaiters,
                cpu_util: sleep % 1025,
                capacity: 1 + timer % 1024,
            };
            let choice = governor.select(&states, &asking);
            let state = &states[choice.index];
            prop_assert!(!state.disabled, "{} {}: {}", about.name, preset.name, state.name);
            prop_assert!(tick_stopped || !state.polling || !choice.stop_tick, "{} {}", about.name, preset.name);
            let residency_ns = sleep.min(timer) + state.exit_latency_ns;
            now += residency_ns;
            let poll_time_limit = poll_time_limit && state.polling;
            governor.reflect(&Woken { now, index: choice.index, residency_ns, by_tick, poll_time_limit });
        }
    }
}
