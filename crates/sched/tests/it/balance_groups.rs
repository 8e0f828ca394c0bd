//! Which group is busiest and how much is pulled from it, worked out by hand from the kernel's formulas.

use crate::support::balance::{State, domains};
use wakelab_kernel::FeatureSet;
use wakelab_sched::balance::*;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, SdFlags, Topology, Uniform};

const TUNABLES: BalanceTunables =
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: true, hz: 1000 };

fn rules(rules: BalanceRules, domains: &SchedDomains) -> Balance<'_> {
    Balance::new(rules, FeatureSet::EMPTY, TUNABLES, domains).unwrap()
}

fn v6_1(domains: &SchedDomains) -> Balance<'_> {
    rules(BalanceRules::V6_1, domains)
}

/// A pass for a CPU over its domain at `level`, after `failed` failures.
fn pass(state: &State, balance: &Balance<'_>, cpu: Cpu, level: usize, idle: CpuIdleType, failed: u32) -> Plan {
    let sd = SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(cpu, level), 0) };
    plan_balance(state, balance, cpu, level, idle, &sd)
}

fn tasks(amount: i64) -> Option<Imbalance> {
    Some(Imbalance { migration_type: MigrationType::Task, amount })
}

fn load(amount: i64) -> Option<Imbalance> {
    Some(Imbalance { migration_type: MigrationType::Load, amount })
}

fn util(amount: i64) -> Option<Imbalance> {
    Some(Imbalance { migration_type: MigrationType::Util, amount })
}

/// One LLC of `cores` cores with two CPUs each: 0 and 1, 2 and 3... Level 0 is the core, level 1 the LLC.
fn smt(cores: u32) -> SchedDomains {
    domains(&Uniform::new(cores, 2).topology())
}

/// One LLC, no SMT. Level 0 is the LLC, whose groups are single CPUs.
fn plain(cpus: u32) -> SchedDomains {
    domains(&Uniform::new(cpus, 1).topology())
}

/// Two LLCs of two CPUs in one package: 0 and 1, 2 and 3. Level 1 is the package.
fn two_llcs() -> SchedDomains {
    domains(&Uniform { llcs: 2, ..Uniform::new(2, 1) }.topology())
}

/// A group of two CPUs in a domain of imbalance_pct 117.
#[test]
fn a_group_is_classified_by_its_tasks_its_utilisation_and_its_runnable_average() {
    use GroupType::*;
    let cases = [
        // (capacity, tasks, summed util, summed runnable)
        // Fewer tasks than CPUs: always spare capacity.
        (2048, 1, 2048, 9000, HasSpare),
        // Overloaded by util: 2048·100 = 204800 < util·117, that is from 1751 on.
        (2048, 3, 1750, 0, HasSpare),
        (2048, 3, 1751, 0, Overloaded),
        // Overloaded by runnable: 2048·117 = 239616 < runnable·100, that is from 2397 on.
        (2048, 3, 0, 2396, HasSpare),
        (2048, 3, 0, 2397, Overloaded),
        // As many tasks as CPUs cannot overload it, but fill it.
        (2048, 2, 1750, 2396, HasSpare),
        (2048, 2, 1751, 0, FullyBusy),
        (2048, 2, 0, 2397, FullyBusy),
        // Equal: 234·100·2 = 200·117·2 is no overload and leaves capacity, 117·200 = 234·100 leaves none.
        (400, 3, 0, 468, HasSpare),
        (400, 2, 0, 468, HasSpare),
        (468, 3, 400, 0, FullyBusy),
    ];
    let smt = smt(2);
    for (capacity, nr, util, runnable, expected) in cases {
        let mut state = State::idle(4);
        (0..nr).for_each(|_| _ = state.add(2));
        (state.cpus[2].util, state.cpus[3].util) = (util / 2, util - util / 2);
        state.cpus[3].runnable = runnable;
        (2..4).for_each(|cpu| state.cpus[cpu].capacity = capacity / 2);
        let balance = v6_1(&smt);
        let sd = SdBalance::new(balance.sd(0, 1), 0);
        let mut env = LbEnv::new(&state, &balance, 0, 1, CpuIdleType::NotIdle, &sd);
        let stats = update_sd_lb_stats(&mut env).busiest_stat;
        assert_eq!(stats.group_type, expected, "{nr} tasks on {capacity}, util {util}, runnable {runnable}");
        assert_eq!((stats.sum_nr_running, stats.group_util, stats.group_runnable), (nr, util, runnable));
    }
}

#[test]
fn a_cpu_with_a_wake_up_on_its_way_is_not_idle() {
    let smt = smt(2);
    let mut state = State::idle(4);
    state.cpus[1].ttwu_pending = true;
    state.cpus[0].other = 1;
    state.add(3);
    let balance = v6_1(&smt);
    let sd = SdBalance::new(balance.sd(2, 1), 0);
    let mut env = LbEnv::new(&state, &balance, 2, 1, CpuIdleType::Idle, &sd);
    let sds = update_sd_lb_stats(&mut env);
    assert_eq!((sds.local_stat.idle_cpus, sds.busiest_stat.idle_cpus), (1, u32::MAX), "nothing fair to take there");
    state.add(0);
    let mut env = LbEnv::new(&state, &balance, 2, 1, CpuIdleType::Idle, &sd);
    let stats = update_sd_lb_stats(&mut env).busiest_stat;
    assert_eq!((stats.idle_cpus, stats.sum_nr_running, stats.sum_h_nr_running), (0, 2, 1));
}

#[test]
fn utilisation_counts_its_estimate_and_stops_at_the_cpus_capacity() {
    let smt = smt(2);
    let mut state = State::idle(4);
    (state.cpus[0].util, state.cpus[0].util_est) = (100, 300);
    (state.cpus[1].util, state.cpus[1].util_est) = (200, 150);
    state.cpus[2].util = 1500;
    // 300 + 200 + 1024 + 0
    assert_eq!(pass(&state, &v6_1(&smt), 0, 1, CpuIdleType::Idle, 0).sum_util, Some(1524));
    state.util_est = false;
    assert_eq!(pass(&state, &v6_1(&smt), 0, 1, CpuIdleType::Idle, 0).sum_util, Some(1324));
}

/// A core runs one task and has one waiting, another is idle: the domain below prefers siblings, and
/// 2 tasks > 0 + 1. Half of the difference is moved: (2 - 0) >> 1 = 1.
#[test]
fn an_idle_core_pulls_the_waiting_task_of_a_core_with_two() {
    let smt = smt(2);
    let mut state = State::idle(4);
    let waiting = state.run(0, 1);
    for idle in [CpuIdleType::Idle, CpuIdleType::NewlyIdle] {
        let plan = pass(&state, &v6_1(&smt), 2, 1, idle, 0);
        assert_eq!((plan.busiest, plan.imbalance, plan.outcome), (Some(0), tasks(1), Outcome::Moved));
        assert_eq!(plan.moves.as_slice(), [Move { task: waiting[0], dst_cpu: 2, batch: 0 }]);
        assert_eq!(plan.nr_rqs, 4);
    }
}

/// 2 tasks > 1 + 1 does not hold, and one idle CPU against none is no imbalance.
#[test]
fn a_core_with_one_task_leaves_a_core_with_two_alone() {
    let smt = smt(2);
    let mut state = State::idle(4);
    state.run(0, 0);
    state.run(1, 0);
    state.run(3, 0);
    let plan = pass(&state, &v6_1(&smt), 2, 1, CpuIdleType::Idle, 0);
    assert_eq!(plan.outcome, Outcome::Balanced(Why::NoBusiestGroup));
}

/// SMT siblings: groups of one CPU, with no domain below. 2 - 0 tasks, halved.
#[test]
fn a_sibling_pulls_a_waiting_task_and_not_the_only_one() {
    let smt = smt(2);
    let mut state = State::idle(4);
    state.run(0, 0);
    let alone = pass(&state, &v6_1(&smt), 1, 0, CpuIdleType::NewlyIdle, 0);
    assert_eq!(alone.outcome, Outcome::Balanced(Why::NoBusiestGroup), "busiest has nothing that waits");
    let mut state = State::idle(4);
    state.run(0, 1);
    let plan = pass(&state, &v6_1(&smt), 1, 0, CpuIdleType::NewlyIdle, 0);
    // CPU 0 is overloaded: 2 tasks, and 1024·100 < 1024·110.
    assert_eq!((plan.imbalance, plan.moves.len(), plan.nr_rqs), (tasks(1), 1, 2));
}

/// Four CPUs, of which the LLC's busiest has the most tasks.
#[test]
fn the_queue_with_most_tasks_of_the_group_is_taken() {
    let smt = smt(2);
    let mut state = State::idle(4);
    state.run(0, 1);
    state.run(1, 2);
    let plan = pass(&state, &v6_1(&smt), 2, 1, CpuIdleType::Idle, 0);
    // (5 - 0) >> 1 = 2 tasks; after the first, CPU 1 still has two, after the second only the running one.
    assert_eq!((plan.busiest, plan.imbalance, plan.moves.len()), (Some(1), tasks(2), 2));
}

/// Local has 2048 a CPU, busiest L; the pull begins where 100·L > 117·2048 = 239616, that is from L = 2397 on.
/// Then the domain's average is (2048 + 2397)·1024 / 2048 = 2222, and
/// min((2397 - 2222)·1024, (2222 - 2048)·1024) / 1024 = 174.
#[test]
fn overloaded_groups_are_evened_out_by_load_beyond_imbalance_pct() {
    let plain = plain(2);
    let mut state = State::idle(2);
    state.run(0, 1);
    state.run(1, 2);
    state.cpus[1].load = 2396;
    let at = |state: &State, failed| pass(state, &v6_1(&plain), 0, 0, CpuIdleType::NotIdle, failed);
    assert_eq!(at(&state, 0).outcome, Outcome::Balanced(Why::NoBusiestGroup));
    state.cpus[1].load = 2397;
    let plan = at(&state, 0);
    assert_eq!((plan.imbalance, plan.outcome), (load(174), Outcome::Failed), "a task is 1024");
    // 100·2340 = 117·2000 is not enough.
    (state.cpus[0].load, state.cpus[1].load) = (2000, 2340);
    assert_eq!(at(&state, 0).imbalance, None);
    state.cpus[1].load = 2341;
    assert!(at(&state, 0).imbalance.is_some());
    (state.cpus[0].load, state.cpus[1].load) = (2048, 2397);
    // 1024 >> 2 = 256 > 174 and 1024 >> 3 = 128 <= 174.
    assert_eq!(at(&state, 2).outcome, Outcome::Failed);
    assert_eq!(at(&state, 3).moves.len(), 1);
}

/// The other LLC is overloaded. Local: 2048 of capacity, 600 used.
#[test]
fn between_llcs_spare_capacity_is_filled_with_utilisation() {
    let llcs = two_llcs();
    let mut state = State::idle(4);
    state.run(2, 1);
    state.run(3, 1);
    state.run(1, 0);
    state.cpus[1].util = 600;
    let plan = pass(&state, &v6_1(&llcs), 0, 1, CpuIdleType::Idle, 0);
    assert_eq!((plan.busiest, plan.imbalance, plan.moves.len()), (Some(2), util(1448), 1));
    // Blocked utilisation leaves nothing: an idle CPU takes a task all the same, a busy one does not.
    (state.cpus[0].util, state.cpus[1].util) = (1024, 1024);
    assert_eq!(pass(&state, &v6_1(&llcs), 0, 1, CpuIdleType::Idle, 0).imbalance, tasks(1));
    let busy = pass(&state, &v6_1(&llcs), 0, 1, CpuIdleType::NotIdle, 0);
    assert_eq!(busy.outcome, Outcome::Balanced(Why::NoBusiestGroup));
}

/// util_est 512 against 500 to fill: 6.1 shifts it by the failures, June 2022 did not.
#[test]
fn failures_relax_utilisation_in_6_1_only() {
    let llcs = two_llcs();
    let mut state = State::idle(4);
    state.run(2, 1);
    state.run(3, 1);
    (state.cpus[0].util, state.cpus[1].util) = (1024, 524);
    let moved = |form, failed| pass(&state, &rules(form, &llcs), 0, 1, CpuIdleType::Idle, failed).moves.len();
    assert_eq!(pass(&state, &v6_1(&llcs), 0, 1, CpuIdleType::Idle, 0).imbalance, util(500));
    assert_eq!([moved(BalanceRules::V6_1, 0), moved(BalanceRules::V6_1, 1)], [0, 1]);
    assert_eq!([moved(BalanceRules::V5_19_RC2_TIP, 0), moved(BalanceRules::V5_19_RC2_TIP, 1)], [0, 0]);
}

/// Averages: local 3000 (fully busy), busiest 4000, third 0; domain 7000·1024 / 3072 = 2333. Local is above that: 6.1
/// pulls nothing. Before, 2333 - 3000 wraps and only (4000 - 2333) = 1667 is left.
#[test]
fn a_full_group_above_the_average_pulls_only_before_the_check_was_added() {
    let plain = plain(3);
    let mut state = State::idle(3);
    state.run(0, 0);
    state.run(1, 1);
    (state.cpus[0].load, state.cpus[1].load) = (3000, 4000);
    state.cpus[2].ttwu_pending = true;
    let plan = |form| pass(&state, &rules(form, &plain), 0, 0, CpuIdleType::NotIdle, 0);
    assert_eq!(plan(BalanceRules::V6_1).outcome, Outcome::Balanced(Why::NoBusiestGroup));
    assert_eq!(plan(BalanceRules::V5_18).imbalance, load(1667));
}

/// Two nodes of two CPUs; imb_numa_nr is 1 here. Local is empty: 0 + 1 <= 1, so a difference of up to two is allowed.
/// 6.1 compares the whole difference, 5.18 its half.
#[test]
fn a_numa_imbalance_is_allowed_for_before_halving_since_june_2022() {
    let nodes = domains(&Uniform { packages: 2, nodes: 2, ..Uniform::new(2, 1) }.topology());
    let level = nodes.domains[0].len() - 1;
    assert_eq!(nodes.domains[0][level].imb_numa_nr, 1);
    // Four tasks over there, 4 - 0; no group is overloaded, as their averages are small.
    let mut state = State::idle(4);
    for cpu in [2, 3] {
        state.run(cpu, 1);
        (state.cpus[cpu as usize].util, state.cpus[cpu as usize].runnable) = (100, 100);
    }
    let plan = |form| pass(&state, &rules(form, &nodes), 0, level, CpuIdleType::Idle, 0).imbalance;
    // 4 > 2, then 4 >> 1.
    assert_eq!(plan(BalanceRules::V6_1), tasks(2));
    // 4 >> 1 = 2, and that is tolerated.
    assert_eq!(plan(BalanceRules::V5_18), None);
}

/// CPU 2 has lost capacity: 800·117 = 93600 < 102400, so its only task is worth moving to an idle CPU, by load.
#[test]
fn a_task_on_reduced_capacity_is_pulled_since_6_1() {
    let plain = plain(3);
    let mut state = State::idle(3);
    state.run(2, 0);
    (state.cpus[2].capacity, state.cpus[2].load) = (800, 900);
    let plan = |form, idle| pass(&state, &rules(form, &plain), 0, 0, idle, 0);
    let found = plan(BalanceRules::V6_1, CpuIdleType::Idle);
    // It runs, so it is pushed: 800·117 < 1024·100.
    assert_eq!((found.imbalance, found.outcome, found.active_balance), (load(900), Outcome::Failed, true));
    assert_eq!(plan(BalanceRules::V5_18, CpuIdleType::Idle).imbalance, None);
    assert_eq!(plan(BalanceRules::V6_1, CpuIdleType::NotIdle).imbalance, None);
}

/// Of two such CPUs in groups of their own, the last of equals is taken; else the one with more load.
#[test]
fn of_two_tasks_on_reduced_capacity_the_larger_is_pulled() {
    let plain = plain(3);
    let mut state = State::idle(3);
    for cpu in [1, 2] {
        state.run(cpu, 0);
        (state.cpus[cpu as usize].capacity, state.cpus[cpu as usize].load) = (800, 900);
    }
    let busiest = |state: &State| pass(state, &v6_1(&plain), 0, 0, CpuIdleType::Idle, 0).busiest;
    assert_eq!(busiest(&state), Some(2));
    state.cpus[1].load = 901;
    assert_eq!(busiest(&state), Some(1));
}

/// Local 10, busiest 14; average 24·1024 / 2048 = 12, so 2 are to be moved. Tasks without load count 1.
#[test]
fn a_task_without_load_takes_1_off_the_imbalance() {
    let plain = plain(2);
    let mut state = State::idle(2);
    state.run(0, 1);
    for task in state.run(1, 5) {
        state.task(task).h_load = 0;
    }
    (state.cpus[0].load, state.cpus[1].load) = (10, 14);
    let plan = pass(&state, &v6_1(&plain), 0, 0, CpuIdleType::NotIdle, 0);
    assert_eq!((plan.imbalance, plan.moves.len()), (load(2), 2));
}

#[test]
fn an_imbalanced_group_gives_one_task_whatever_the_sums_say() {
    let llcs = two_llcs();
    let mut state = State::idle(4);
    state.run(0, 0);
    state.run(1, 0);
    state.run(2, 1);
    (state.cpus[2].util, state.cpus[2].runnable) = (100, 100);
    let plan = |state: &State| pass(state, &v6_1(&llcs), 0, 1, CpuIdleType::NotIdle, 0);
    assert_eq!(plan(&state).imbalance, None);
    state.imbalanced.insert((1, 2));
    assert_eq!((plan(&state).imbalance, plan(&state).moves.len()), (tasks(1), 1));
}

#[test]
fn one_cpu_of_a_group_balances_for_it() {
    let smt = smt(2);
    let balance = v6_1(&smt);
    let ours = |state: &State, cpu, idle| {
        let sd = SdBalance::new(balance.sd(cpu, 1), 0);
        should_we_balance(&LbEnv::new(state, &balance, cpu, 1, idle, &sd))
    };
    use CpuIdleType::*;
    let mut state = State::idle(4);
    assert!(ours(&state, 2, Idle) && !ours(&state, 3, Idle), "the first idle one");
    state.run(2, 0);
    assert!(!ours(&state, 2, NotIdle) && ours(&state, 3, Idle), "another is idle");
    state.run(3, 0);
    assert!(ours(&state, 2, NotIdle) && !ours(&state, 3, NotIdle), "the first, as all are busy");
    state.cpus[1].ttwu_pending = true;
    assert!(ours(&state, 0, Idle) && ours(&state, 0, NewlyIdle));
    assert!(!ours(&state, 1, NewlyIdle), "a wake-up is on its way");
    let old = rules(BalanceRules::V5_18, &smt);
    let sd = SdBalance::new(old.sd(1, 1), 0);
    assert!(should_we_balance(&LbEnv::new(&state, &old, 1, 1, NewlyIdle, &sd)), "5.18 does not ask");
}

#[test]
fn overload_is_told_of_the_highest_domain_and_utilisation_of_the_llcs() {
    let llcs = two_llcs();
    let mut state = State::idle(4);
    let told = |state: &State, level, idle| {
        let plan = pass(state, &v6_1(&llcs), 0, level, idle, 0);
        (plan.overload, plan.sum_util.is_some())
    };
    assert_eq!(told(&state, 0, CpuIdleType::Idle), (None, true));
    assert_eq!(told(&state, 0, CpuIdleType::NewlyIdle), (None, false));
    assert_eq!(told(&state, 1, CpuIdleType::Idle), (Some(false), false));
    state.run(3, 1);
    assert_eq!(told(&state, 1, CpuIdleType::NewlyIdle), (Some(true), false));
    // Another CPU's turn: nothing is summed up.
    let plan = pass(&state, &v6_1(&llcs), 1, 1, CpuIdleType::Idle, 0);
    assert_eq!((plan.overload, plan.continue_balancing, plan.nr_rqs), (None, false, 0));
}

#[test]
fn machines_of_unequal_cpus_are_refused_where_that_is_not_modelled() {
    let mut domains = domains(&Topology::one_llc(&[1024, 1024, 512, 512]));
    fn refused(rules: BalanceRules, domains: &SchedDomains) -> Option<String> {
        Balance::new(rules, FeatureSet::EMPTY, TUNABLES, domains).map_err(|error| error.to_string()).err()
    }
    assert_eq!(refused(BalanceRules::V6_1, &domains), None);
    let text = refused(BalanceRules::V5_3, &domains).expect("5.3 goes by load");
    assert!(text.contains("SD_ASYM_CPUCAPACITY") && text.contains("not modelled"), "{text}");
    domains.domains.iter_mut().flatten().for_each(|sd| sd.flags |= SdFlags::ASYM_PACKING);
    let text = refused(BalanceRules::V6_1, &domains).expect("ITMT");
    assert!(text.contains("SD_ASYM_PACKING") && !text.contains("SD_ASYM_CPUCAPACITY"), "{text}");
}
