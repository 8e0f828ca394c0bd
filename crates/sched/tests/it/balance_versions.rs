//! Where the versions' balancing differs, worked out by hand from the kernels' functions.

use crate::support::balance::{NOW, State, domains_of};
use wakelab_kernel::{Feature, FeatureSet};
use wakelab_sched::CpuMask;
use wakelab_sched::balance::*;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, SdFlags, Uniform};

const TUNABLES: BalanceTunables =
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: true, hz: 1000 };
const FEATURES: FeatureSet =
    FeatureSet::EMPTY.with(Feature::NI_RANDOM, true).with(Feature::NI_RATE, true).with(Feature::PLACE_LAG, true);

fn by(rules: BalanceRules, domains: &SchedDomains) -> Balance<'_> {
    Balance::new(rules, FEATURES, TUNABLES, domains).unwrap()
}

fn pass(state: &State, balance: &Balance<'_>, cpu: Cpu, level: usize, idle: CpuIdleType, failed: u32) -> Plan {
    let sd = SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(cpu, level), 0) };
    plan_balance(state, balance, cpu, level, idle, &sd)
}

/// One LLC of `cores` cores with two CPUs each; level 0 is the core.
fn smt(cores: u32) -> SchedDomains {
    domains_of(&Uniform::new(cores, 2).topology(), "v6.12")
}

/// Two nodes of four CPUs; level 1 spans both.
fn two_nodes() -> SchedDomains {
    domains_of(&Uniform { packages: 2, nodes: 2, ..Uniform::new(4, 1) }.topology(), "v7.2")
}

#[test]
fn since_6_12_a_cpu_of_an_idle_core_pulls_before_an_idle_sibling() {
    let domains = domains_of(&Uniform { llcs: 2, ..Uniform::new(2, 2) }.topology(), "v6.12");
    let mut state = State::idle(8);
    state.run(0, 0);
    let pulls = |rules, cpu| {
        let balance = by(rules, &domains);
        let sd = SdBalance::new(balance.sd(cpu, 2), 0);
        should_we_balance(&LbEnv::new(&state, &balance, cpu, 2, CpuIdleType::Idle, &sd))
    };
    assert_eq!([1, 2].map(|cpu| pulls(BalanceRules::V6_1, cpu)), [true, false]);
    assert_eq!([1, 2].map(|cpu| pulls(BalanceRules::V6_12, cpu)), [false, true]);
}

#[test]
fn since_6_12_two_tasks_on_one_core_are_a_type_of_their_own() {
    let domains = smt(2);
    let mut state = State::idle(4);
    state.run(2, 0);
    state.run(3, 0);
    let group = |rules, idle| {
        let balance = by(rules, &domains);
        let sd = SdBalance::new(balance.sd(0, 1), 0);
        update_sd_lb_stats(&mut LbEnv::new(&state, &balance, 0, 1, idle, &sd)).busiest_stat.group_type
    };
    assert_eq!(group(BalanceRules::V6_1, CpuIdleType::Idle), GroupType::FullyBusy);
    assert_eq!(group(BalanceRules::V6_12, CpuIdleType::Idle), GroupType::SmtBalance);
    assert_eq!(group(BalanceRules::V6_12, CpuIdleType::NotIdle), GroupType::FullyBusy);
}

#[test]
fn since_7_2_delayed_tasks_do_not_count_and_move_only_with_load() {
    let domains = smt(2);
    let mut state = State::idle(4);
    let waiting = state.run(2, 2);
    waiting.iter().for_each(|&task| state.task(task).delayed = true);
    let counted = |rules| {
        let balance = by(rules, &domains);
        let sd = SdBalance::new(balance.sd(2, 1), 0);
        let stats = update_sd_lb_stats(&mut LbEnv::new(&state, &balance, 2, 1, CpuIdleType::NotIdle, &sd)).local_stat;
        (stats.sum_h_nr_running, stats.sum_nr_running)
    };
    assert_eq!([counted(BalanceRules::V6_12), counted(BalanceRules::V7_2)], [(3, 3), (1, 3)]);
    let moved = |rules| pass(&state, &by(rules, &domains), 0, 1, CpuIdleType::NewlyIdle, 0).moves.len();
    assert_eq!([moved(BalanceRules::V6_12), moved(BalanceRules::V7_2)], [1, 0]);
}

#[test]
fn since_7_2_an_ineligible_task_waits_for_a_failed_pass_unless_it_is_alone_there() {
    let domains = domains_of(&Uniform::new(2, 1).topology(), "v7.2");
    let moves = |rules, eligible, failed, dst_tasks| {
        let mut state = State::idle(2);
        for task in state.run(1, 5) {
            state.task(task).eligible = eligible;
        }
        (0..dst_tasks).for_each(|_| _ = state.run(0, 0));
        let idle = if dst_tasks == 0 { CpuIdleType::Idle } else { CpuIdleType::NotIdle };
        pass(&state, &by(rules, &domains), 0, 0, idle, failed).moves.len()
    };
    let (v6_12, v7_2) = (BalanceRules::V6_12, BalanceRules::V7_2);
    assert!(moves(v6_12, false, 0, 1) > 0 && moves(v7_2, true, 0, 1) > 0);
    assert_eq!(moves(v7_2, false, 0, 1), 0);
    assert!(moves(v7_2, false, 1, 1) > 0 && moves(v7_2, false, 0, 0) > 0);
}

#[test]
fn since_7_2_an_ineligible_task_is_not_pushed_beside_others_before_a_pass_has_failed() {
    let domains = domains_of(&Uniform::new(2, 1).topology(), "v7.2");
    let mut state = State::idle(2);
    let task = state.add(0);
    state.task(task).eligible = false;
    state.add(1);
    let pushed = |rules, failed| {
        let balance = by(rules, &domains);
        let states = [SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(1, 0), 0) }];
        active_load_balance_cpu_stop(&state, &balance, 0, 1, &states, false).map(|push| push.task)
    };
    assert_eq!(pushed(BalanceRules::V7_2, 0), None);
    assert_eq!(pushed(BalanceRules::V7_2, 1), Some(task));
    assert_eq!(pushed(BalanceRules::V6_12, 0), Some(task));
}

/// 5.10 has no LBF_ACTIVE_LB: its push would leave a cache-hot task, had the pass not raised the failures.
#[test]
fn in_5_10_a_push_asks_for_cache_heat() {
    let domains = domains_of(&Uniform::new(2, 1).topology(), "v6.1");
    let mut state = State::idle(2);
    let task = state.add(0);
    state.task(task).exec_start = NOW;
    let pushed = |rules, failed| {
        let balance = by(rules, &domains);
        let states = [SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(1, 0), 0) }];
        active_load_balance_cpu_stop(&state, &balance, 0, 1, &states, false).is_some()
    };
    assert_eq!([pushed(BalanceRules::V5_10, 1), pushed(BalanceRules::V5_10, 2)], [false, true]);
    assert!(pushed(BalanceRules::V5_18, 0));
}

#[test]
fn nodes_are_balanced_by_one_cpu_at_a_time_since_7_2_newly_idle_ones_too() {
    let domains = two_nodes();
    let mut state = State::idle(8);
    (4..8).for_each(|cpu| _ = state.run(cpu, 3));
    let old = by(BalanceRules::V6_12, &domains);
    let new = by(BalanceRules::V7_2, &domains);
    assert!(new.sd(0, 1).flags.contains(SdFlags::SERIALIZE | SdFlags::NUMA));
    let serialize = |balance: &Balance<'_>| {
        let mut sd = SdBalance::new(balance.sd(0, 1), 0);
        Rebalance::new(balance, 9000).visit(balance.sd(0, 1), &mut sd, 9000, false)
    };
    assert_eq!(serialize(&old), Visit::Due { serialize: true });
    assert_eq!(serialize(&new), Visit::Due { serialize: false });
    let newly = |balance: &Balance<'_>, state: &State| pass(state, balance, 0, 1, CpuIdleType::NewlyIdle, 3);
    assert!(newly(&new, &state).serialized && !newly(&old, &state).serialized);
    state.balance_running = true;
    assert_eq!(newly(&old, &state).outcome, Outcome::Moved);
    let plan = newly(&new, &state);
    assert_eq!((plan.outcome, plan.continue_balancing), (Outcome::Balanced(Why::Serialized), true));
    let mut sd = SdBalance { nr_balance_failed: 3, ..SdBalance::new(new.sd(0, 1), 0) };
    sd.tune(new.sd(0, 1), CpuIdleType::Idle, &plan);
    assert_eq!((sd.nr_balance_failed, sd.balance_interval), (0, 16), "as if there were balance");
}

/// A pair of tasks on one node, nothing on the other; a CPU per task would be even.
#[test]
fn a_pair_of_tasks_may_stay_on_its_node() {
    let domains = domains_of(&Uniform { packages: 2, nodes: 2, ..Uniform::new(8, 1) }.topology(), "v6.1");
    let imbalance = |rules, there: u32, here: u32| {
        let mut state = State::idle(16);
        (8..8 + there).for_each(|cpu| _ = state.run(cpu, 0));
        (1..1 + here).for_each(|cpu| _ = state.run(cpu, 0));
        pass(&state, &by(rules, &domains), 0, 1, CpuIdleType::Idle, 0).imbalance.map(|imbalance| imbalance.amount)
    };
    let (old, new) = (BalanceRules::V5_10, BalanceRules::V6_1);
    // imb_numa_nr of one LLC a node is an eighth of its CPUs, 1.
    assert_eq!(domains.domains[0][1].imb_numa_nr, 1);
    assert_eq!([imbalance(old, 2, 0), imbalance(new, 2, 0)], [None, None]);
    assert_eq!([imbalance(old, 4, 2), imbalance(new, 4, 2)], [Some(1), Some(1)]);
    assert_eq!([imbalance(old, 4, 0), imbalance(new, 4, 0)], [Some(2), Some(2)]);
}

/// `allow_numa_imbalance()` of 5.15: `dst_running < dst_weight >> 2`, the task that moves included. A pair may stay
/// while fewer than a quarter of the destination's CPUs would run.
#[test]
fn in_5_15_a_pair_of_tasks_may_stay_while_a_quarter_of_the_other_node_does_not_run() {
    let domains = domains_of(&Uniform { packages: 2, nodes: 2, ..Uniform::new(16, 1) }.topology(), "v5.15");
    let imbalance = |there: u32, here: u32| {
        let mut state = State::idle(32);
        (16..16 + there).for_each(|cpu| _ = state.run(cpu, 0));
        (1..1 + here).for_each(|cpu| _ = state.run(cpu, 0));
        let balance = by(BalanceRules::V5_15, &domains);
        pass(&state, &balance, 0, 1, CpuIdleType::Idle, 0).imbalance.map(|imbalance| imbalance.amount)
    };
    // 2 + 1 < 16 / 4, with a difference of 4 tasks: halved to 2, which is a pair.
    assert_eq!(imbalance(6, 2), None);
    // 3 + 1 is not.
    assert_eq!(imbalance(7, 3), Some(2));
    // Half of 6 tasks is more than a pair.
    assert_eq!(imbalance(8, 2), Some(3));
}

/// `env->loop > env->loop_max && !(env->flags & LBF_ALL_PINNED)` and `env.loop < busiest->nr_running` (6.8): past tasks
/// that may not go, a pass looks further than nr_migrate.
#[test]
fn in_6_8_a_pass_goes_on_while_all_tasks_are_pinned() {
    let domains = domains_of(&Uniform { llcs: 2, ..Uniform::new(2, 1) }.topology(), "v6.8");
    let mut state = State::idle(4);
    let waiting = state.run(2, 39);
    for &task in &waiting[..35] {
        state.task(task).cpus = CpuMask::from_cpus(4, [2, 3]);
    }
    let moves = |state: &State, rules| {
        let tunables = BalanceTunables { nr_migrate: 8, ..TUNABLES };
        let balance = Balance::new(rules, FEATURES, tunables, &domains).unwrap();
        pass(state, &balance, 0, 1, CpuIdleType::Idle, 0).moves.iter().map(|moved| moved.task).collect::<Vec<_>>()
    };
    assert_eq!(moves(&state, BalanceRules::V6_6), []);
    let moved = moves(&state, BalanceRules::V6_8);
    assert_eq!(moved.first(), Some(&waiting[35]), "{moved:?}");
    // Once one may go, the limit holds.
    assert_eq!(moved.len(), 1);
    state.task(waiting[3]).cpus = CpuMask::full(4);
    assert_eq!(moves(&state, BalanceRules::V6_8).len(), 1);
}

/// A busy CPU takes one of two tasks; the other may only go to its neighbour.
#[test]
fn in_5_10_a_second_round_takes_the_last_task_too() {
    let domains = domains_of(&Uniform { llcs: 2, ..Uniform::new(2, 1) }.topology(), "v6.1");
    let mut state = State::idle(4);
    [0, 1, 3].iter().for_each(|&cpu| _ = state.run(cpu, 0));
    let (free, pinned) = (state.add(2), state.add(2));
    state.task(pinned).cpus = CpuMask::from_cpus(4, [1, 2]);
    (state.cpus[2].util, state.cpus[2].load) = (1024, 8192);
    let moves = |rules| {
        let plan = pass(&state, &by(rules, &domains), 0, 1, CpuIdleType::NotIdle, 0);
        plan.moves.iter().map(|moved| (moved.task, moved.dst_cpu)).collect::<Vec<_>>()
    };
    assert_eq!(moves(BalanceRules::V5_10), [(free, 0), (pinned, 1)]);
    assert_eq!(moves(BalanceRules::V5_18), [(free, 0)]);
}

#[test]
fn of_two_cpus_with_equally_reduced_capacity_6_12_takes_the_first_and_6_1_the_last() {
    let domains = domains_of(&Uniform::new(3, 1).topology(), "v6.12");
    let mut state = State::idle(3);
    [1, 2].iter().for_each(|&cpu| _ = state.run(cpu, 0));
    [1, 2].iter().for_each(|&cpu: &usize| state.cpus[cpu].capacity = 500);
    let busiest = |rules| pass(&state, &by(rules, &domains), 0, 0, CpuIdleType::Idle, 0).busiest;
    assert_eq!([busiest(BalanceRules::V6_12), busiest(BalanceRules::V6_1)], [Some(1), Some(2)]);
}
