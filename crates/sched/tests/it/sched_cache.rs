//! Cache-aware balancing: passes over machines of several LLCs, by hand, and what holds for any.

use crate::support::balance::{State, domains_of};
use proptest::prelude::*;
use wakelab_kernel::{Feature, Preset, SchedCacheRules};
use wakelab_sched::balance::{
    Balance, BalanceTunables, CacheGroup, CpuIdleType, LlcMig, LlcStats, MigrationType, Outcome, Plan, SchedCache,
    SdBalance, Why, plan_balance,
};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, Uniform};
use wakelab_sched::runqueue::TaskId;

const TUNABLES: BalanceTunables = BalanceTunables { migration_cost: 0, nr_migrate: 32, preemption: true, hz: 250 };

/// The defaults of 7.2 without SMT, so that an LLC is busy from 75%.
const CACHE: SchedCache = SchedCache {
    rules: SchedCacheRules::V7_2,
    aggr_tolerance: 1,
    epoch_period: 2,
    epoch_affinity_timeout: 5,
    overaggr_pct: 50,
    imb_pct: 20,
    smt_num_threads: 1,
    numa_balancing: true,
};

/// Two LLCs of four CPUs, 0 to 3 and 4 to 7.
fn two_llcs() -> SchedDomains {
    domains_of(&Uniform { llcs: 2, ..Uniform::new(4, 1) }.topology(), "v7.2")
}

fn balance(domains: &SchedDomains, cache: Option<SchedCache>) -> Balance<'_> {
    let preset = Preset::get("v7.2").unwrap();
    let balance = Balance::new(preset.balance, preset.features, TUNABLES, domains).unwrap();
    cache.map_or(balance, |cache| balance.with_sched_cache(cache))
}

/// A machine on which the LLCs have these utilisations, of 4096.
fn state(utils: [u64; 2]) -> State {
    let mut state = State::idle(8);
    state.cache.llc_of = (0..8).map(|cpu| cpu / 4 * 4).collect();
    state.cache.stats =
        [0, 4].into_iter().zip(utils).map(|(llc, util)| (llc, LlcStats { util, capacity: 4096 })).collect();
    state
}

/// A task of a process of eight threads prefers the LLC of a CPU.
fn prefers(state: &mut State, task: TaskId, cpu: Cpu) {
    let group = CacheGroup { cpu: Some(cpu), nr_threads: 8, nr_running_avg: 2, footprint: 0 };
    state.cache.tasks.insert(task, (Some(cpu / 4 * 4), group));
}

/// A pass of CPU 0 over both LLCs.
fn pass(state: &State, balance: &Balance<'_>, idle: CpuIdleType, failed: u32) -> Plan {
    let level = balance.nr_levels(0) - 1;
    let sd = SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(0, level), 0) };
    plan_balance(state, balance, 0, level, idle, &sd)
}

/// One task runs on CPU 4 and one waits there, all other CPUs are idle.
fn pair_on_4(utils: [u64; 2]) -> (State, TaskId, TaskId) {
    let mut state = state(utils);
    let waits = state.run(4, 1)[0];
    let runs = state.running(4).unwrap();
    let c = &mut state.cpus[4];
    (c.util, c.load, c.runnable) = (600, 2048, 1024);
    (state, runs, waits)
}

#[test]
fn a_group_with_tasks_that_prefer_this_llc_is_balanced_for_them() {
    let domains = two_llcs();
    let (mut state, _, waits) = pair_on_4([100, 600]);
    let on = balance(&domains, Some(CACHE));
    // Without a preference nothing is known of LLCs, and the pass is that of a kernel without it.
    let without = pass(&state, &balance(&domains, None), CpuIdleType::Idle, 0);
    let plan = pass(&state, &on, CpuIdleType::Idle, 0);
    assert_eq!((plan.imbalance, &plan.moves), (without.imbalance, &without.moves));
    prefers(&mut state, waits, 1);
    let plan = pass(&state, &on, CpuIdleType::Idle, 0);
    assert_eq!(plan.imbalance.unwrap().migration_type, MigrationType::LlcTask);
    assert_eq!(plan.imbalance.unwrap().amount, 1);
    assert_eq!(plan.moves.iter().map(|moved| moved.task).collect::<Vec<_>>(), [waits]);
    // The LLCs' statistics are written by all passes but newly idle ones.
    assert_eq!(plan.llc_stats.len(), 2);
    assert!(pass(&state, &on, CpuIdleType::NewlyIdle, 0).llc_stats.is_empty());
}

#[test]
fn the_statistics_that_a_pass_writes_are_those_of_the_groups() {
    let domains = two_llcs();
    let (state, ..) = pair_on_4([100, 600]);
    let plan = pass(&state, &balance(&domains, Some(CACHE)), CpuIdleType::Idle, 0);
    let expected = [(0, LlcStats { util: 0, capacity: 4096 }), (4, LlcStats { util: 600, capacity: 4096 })];
    assert_eq!(plan.llc_stats, expected);
}

#[test]
fn a_task_stays_in_its_llc_and_that_is_no_failure() {
    let domains = two_llcs();
    let (mut state, runs, waits) = pair_on_4([0, 600]);
    // Enough tasks for an imbalance of tasks.
    state.run(5, 1);
    prefers(&mut state, runs, 4);
    prefers(&mut state, waits, 5);
    for &task in &state.cpus[5].tasks.clone() {
        prefers(&mut state, task, 5);
    }
    let on = balance(&domains, Some(CACHE));
    let kept = pass(&state, &on, CpuIdleType::Idle, 0);
    assert!(kept.moves.is_empty() && kept.llc_pinned && !kept.active_balance, "{kept:?}");
    assert_eq!(kept.outcome, Outcome::Failed);
    let level = on.nr_levels(0) - 1;
    let mut sd = SdBalance::new(on.sd(0, level), 0);
    sd.tune(on.sd(0, level), CpuIdleType::Idle, &kept);
    assert_eq!(sd.nr_balance_failed, 0);
    // cache_nice_tries + 1 failures end it, and so does NO_SCHED_CACHE.
    assert_eq!(pass(&state, &on, CpuIdleType::Idle, 2).moves.len(), 1);
    assert_eq!(pass(&state, &balance(&domains, None), CpuIdleType::Idle, 0).moves.len(), 1);
    // As first posted, no number of failures does.
    let posted = balance(&domains, Some(SchedCache { rules: SchedCacheRules::POSTED_V1, ..CACHE }));
    assert!(pass(&state, &posted, CpuIdleType::Idle, 2).moves.is_empty());
}

#[test]
fn only_tasks_that_prefer_this_llc_move_in_a_pass_for_them() {
    let domains = two_llcs();
    let (mut state, _, first) = pair_on_4([100, 600]);
    let second = state.add(4);
    prefers(&mut state, second, 0);
    let plan = pass(&state, &balance(&domains, Some(CACHE)), CpuIdleType::Idle, 0);
    assert_eq!(plan.moves.iter().map(|moved| moved.task).collect::<Vec<_>>(), [second]);
    assert!(plan.skipped.contains(&first));
}

#[test]
fn a_lone_task_is_pushed_to_the_llc_that_it_prefers_and_not_out_of_it() {
    let domains = two_llcs();
    let on = balance(&domains, Some(CACHE));
    // A CPU of two hardware tasks has one fair one: nothing waits, so that only a push helps.
    let mut state = state([100, 600]);
    state.run(4, 0);
    state.run(5, 0);
    let (a, b) = (state.running(4).unwrap(), state.running(5).unwrap());
    prefers(&mut state, a, 0);
    let plan = pass(&state, &on, CpuIdleType::Idle, 0);
    assert!(plan.active_balance && plan.active_llc, "{plan:?}");
    assert_eq!(plan.busiest, Some(4));
    prefers(&mut state, a, 4);
    prefers(&mut state, b, 4);
    for failed in 0..6 {
        let plan = pass(&state, &on, CpuIdleType::Idle, failed);
        assert!(!plan.active_balance, "after {failed}: {plan:?}");
    }
}

#[test]
fn a_busy_llc_takes_no_more_tasks() {
    let domains = two_llcs();
    let on = balance(&domains, Some(CACHE));
    // 75% of 4096 are 3072; the destination is written by the pass itself, from what its CPUs have.
    let planned = |busy: u64| {
        let (mut state, _, waits) = pair_on_4([0, 600]);
        prefers(&mut state, waits, 1);
        for cpu in 1..4 {
            state.cpus[cpu as usize].util = busy;
        }
        pass(&state, &on, CpuIdleType::Idle, 0).imbalance.map(|imbalance| imbalance.migration_type)
    };
    assert_eq!(planned(1000), Some(MigrationType::LlcTask));
    assert_ne!(planned(1024), Some(MigrationType::LlcTask));
}

#[test]
fn a_process_that_is_too_large_loses_its_preference() {
    let domains = two_llcs();
    let (mut state, runs, waits) = pair_on_4([0, 600]);
    state.run(5, 1);
    let large = CacheGroup { cpu: Some(4), nr_threads: 8, nr_running_avg: 2, footprint: 33 << 20 };
    for task in [runs, waits].into_iter().chain(state.cpus[5].tasks.clone()) {
        state.cache.tasks.insert(task, (Some(4), large));
    }
    let with = |aggr_tolerance, numa_balancing| {
        let cache = SchedCache { aggr_tolerance, numa_balancing, ..CACHE };
        let plan = pass(&state, &balance(&domains, Some(cache)), CpuIdleType::Idle, 0);
        (plan.moves.len(), plan.llc_dropped.len())
    };
    assert_eq!(with(1, true), (1, 1), "the LLC has 32 MiB");
    assert_eq!(with(2, true), (0, 0), "257 times as much will do");
    assert_eq!(with(1, false), (0, 0), "its size is not known");
    assert_eq!(with(0, true), (1, 1));
}

#[test]
fn kernels_have_the_form_that_they_have() {
    let form = |kernel: &str, on: &[Feature]| {
        let preset = Preset::get(kernel).unwrap();
        let features = on.iter().fold(preset.features, |features, &on| features.with(on, true));
        SchedCacheRules::of(&preset.balance, features)
    };
    assert_eq!(
        [form("v6.12", &[]), form("v7.2", &[]), form("v7.3", &[])],
        [None, Some(SchedCacheRules::V7_2), Some(SchedCacheRules::V7_2)]
    );
    assert_eq!(form("v6.12", &[Feature::SCHED_CACHE]), Some(SchedCacheRules::V7_2));
    assert_eq!(form("v6.12", &[Feature::SCHED_CACHE_LB]), Some(SchedCacheRules::RFC_V4));
    assert_eq!(form("v7.2", &[Feature::SCHED_CACHE_V1]), Some(SchedCacheRules::POSTED_V1));
    // One LLC of all CPUs leaves nothing to choose; one in each of two nodes does.
    assert!(!SchedCache::is_present(&domains_of(&Uniform::new(8, 2).topology(), "v7.2")));
    assert!(SchedCache::is_present(&two_llcs()));
    let nodes = Uniform { packages: 2, nodes: 2, ..Uniform::new(4, 1) };
    assert!(SchedCache::is_present(&domains_of(&nodes.topology(), "v7.2")));
}

/// LLCs at 30%, 40%, 50% and 60%, with a threshold of 50%, by the code. The matrices in the comment above
/// `enum llc_mig` are other at 50% and where one is 20% above the other.
#[test]
fn two_llcs_are_compared_by_threshold_and_difference() {
    let cache = SchedCache { smt_num_threads: 2, ..CACHE };
    let at = |pct: u64| Some(LlcStats { util: 100 * pct, capacity: 10_000 });
    let row = |src, to_pref| {
        let letter = |dst| match cache.can_migrate_llc(at(src), at(dst), 0, to_pref) {
            LlcMig::Forbid => 'N',
            LlcMig::Llc => 'Y',
            LlcMig::Unrestricted => 'G',
        };
        [30, 40, 50, 60].map(letter).iter().collect::<String>()
    };
    assert_eq!([30, 40, 50, 60].map(|src| row(src, true)), ["YYNN", "YYNN", "YYGG", "YYGG"]);
    assert_eq!([30, 40, 50, 60].map(|src| row(src, false)), ["NNNN", "NNNN", "YYGG", "YYGG"]);
}

proptest! {
    /// A task that goes to its LLC is not at once told to go back, and none leaves it for one that is as busy.
    #[test]
    fn hysteresis_keeps_tasks_from_going_to_and_fro(
        src in 0u64..20_000, dst in 0u64..20_000, util in 0u64..1025, overaggr_pct in 0u32..101, imb_pct in 0u32..101,
    ) {
        let cache = SchedCache { overaggr_pct, imb_pct, ..CACHE };
        let llc = |util| Some(LlcStats { util, capacity: 16_384 });
        if cache.can_migrate_llc(llc(src), llc(dst), util, true) == LlcMig::Llc && src >= util {
            let back = cache.can_migrate_llc(llc(dst + util), llc(src - util), util, false);
            prop_assert_ne!(back, LlcMig::Llc);
        }
        prop_assert_ne!(cache.can_migrate_llc(llc(src), llc(src), 0, false), LlcMig::Llc);
    }

    /// Tolerance 0 leaves no process a preference, and more of it never takes one away.
    #[test]
    fn more_tolerance_allows_more(
        nr_threads in 0u32..10,
        nr_running_avg in 0u64..300,
        footprint in 0u64..1 << 36,
        size in 1u32..130,
        tolerance in 0u32..100,
    ) {
        let group = CacheGroup { cpu: Some(0), nr_threads, nr_running_avg, footprint };
        let with = |aggr_tolerance| SchedCache { aggr_tolerance, ..CACHE };
        let fits = |tolerance| {
            let cache = with(tolerance);
            !cache.invalid_llc_nr(&group, size) && !cache.exceed_llc_capacity(&group, Some(32 << 20))
        };
        prop_assert!(!fits(0));
        prop_assert!(!fits(tolerance) || fits(tolerance + 1));
        prop_assert_eq!(fits(100), nr_threads > 1);
    }

    /// A pass over sums of groups plans what one over CPUs does, with any preferences.
    #[test]
    fn sums_of_groups_change_nothing(
        tasks in prop::collection::vec((0u32..8, 0u32..3, 0u32..2), 0..20),
        utils in prop::collection::vec(0u64..1025, 8),
        idle in prop::sample::select(vec![CpuIdleType::Idle, CpuIdleType::NotIdle, CpuIdleType::NewlyIdle]),
        failed in 0u32..4,
        posted in any::<bool>(),
    ) {
        let domains = two_llcs();
        let rules = if posted { SchedCacheRules::POSTED_V1 } else { SchedCacheRules::V7_2 };
        let on = balance(&domains, Some(SchedCache { rules, ..CACHE }));
        let mut state = state([utils[0] * 4, utils[7] * 4]);
        for (cpu, llc, runs) in tasks {
            let task = state.add(cpu);
            state.task(task).on_cpu = runs == 1 && state.running(cpu).is_none();
            if llc < 2 {
                prefers(&mut state, task, llc * 4);
            }
            state.cpus[cpu as usize].load += 1024;
        }
        for (cpu, util) in utils.iter().enumerate() {
            state.cpus[cpu].util = if state.cpus[cpu].tasks.is_empty() { util / 4 } else { *util };
        }
        let sums = state.with_sums(&on, &domains);
        prop_assert_eq!(pass(&state, &on, idle, failed), pass(&sums, &on, idle, failed));
    }
}

#[test]
fn a_pass_within_an_llc_knows_nothing_of_it() {
    let domains = two_llcs();
    let (mut state, ..) = pair_on_4([100, 600]);
    let extra = state.run(1, 2);
    extra.iter().for_each(|&task| prefers(&mut state, task, 4));
    let sd = SdBalance::new(balance(&domains, None).sd(0, 0), 0);
    let plan = |cache| plan_balance(&state, &balance(&domains, cache), 0, 0, CpuIdleType::Idle, &sd);
    assert_eq!(plan(Some(CACHE)), plan(None));
    assert_ne!(plan(None).outcome, Outcome::Balanced(Why::NotOurs));
}
