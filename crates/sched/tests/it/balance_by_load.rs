//! Balancing by load alone (5.2, 5.3): sums against a second implementation, and passes worked out by hand.

use crate::support::balance::{NOW, State, domains_of};
use proptest::prelude::*;
use wakelab_kernel::FeatureSet;
use wakelab_sched::CpuMask;
use wakelab_sched::balance::*;
use wakelab_sched::domain::{SchedDomains, Uniform};

const TUNABLES: BalanceTunables =
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: false, hz: 1000 };

fn by(rules: BalanceRules, domains: &SchedDomains) -> Balance<'_> {
    Balance::new(rules, FeatureSet::EMPTY, TUNABLES, domains).unwrap()
}

fn pass(state: &State, rules: BalanceRules, domains: &SchedDomains, cpu: u32, idle: CpuIdleType, failed: u32) -> Plan {
    let balance = by(rules, domains);
    let level = balance.nr_levels(cpu) - 1;
    let sd = SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(cpu, level), 0) };
    plan_balance(state, &balance, cpu, level, idle, &sd)
}

fn cores(cores: u32) -> SchedDomains {
    domains_of(&Uniform::new(cores, 1).topology(), "v5.3")
}

/// The sums' decision, straight down in wide integers: (kind, average load, load per task, whether it counts as full).
fn reference(params: &LbParamsV5_3, groups: &[SgLbStatsV5_3]) -> Option<(usize, u64)> {
    let wide = u128::from;
    let pct = wide(u64::from(params.imbalance_pct));
    let room = |g: &SgLbStatsV5_3| {
        g.sum_nr_running < g.group_weight || wide(g.group_capacity) * 100 > wide(g.group_util) * pct
    };
    let avg = |g: &SgLbStatsV5_3| wide(g.group_load) * 1024 / wide(g.group_capacity);
    let each = |g: &SgLbStatsV5_3| wide(g.group_load) / wide(u64::from(g.sum_nr_running.max(1)));
    let full_alone = |g: &SgLbStatsV5_3| {
        g.sum_nr_running > g.group_weight && wide(g.group_capacity) * 100 < wide(g.group_util) * pct
    };
    let rank = |full: bool, g: &SgLbStatsV5_3| if full { 2 } else { u32::from(g.imbalanced) };
    let own = groups.iter().position(|g| g.local).unwrap();
    let local = &groups[own];
    let mut best: Option<(usize, bool)> = None;
    for (at, group) in groups.iter().enumerate().filter(|(at, _)| *at != own) {
        let siblings = params.prefer_sibling && at > own && room(local);
        let full = full_alone(group) || (siblings && group.sum_nr_running > local.sum_nr_running + 1);
        let key = |(at, full): (usize, bool)| (rank(full, &groups[at]), avg(&groups[at]));
        if key((at, full)) > best.map_or((0, 0), key) {
            best = Some((at, full));
        }
    }
    let (at, full) = best?;
    let busiest = &groups[at];
    if busiest.sum_nr_running == 0 {
        return None;
    }
    let kind = rank(full, busiest);
    let total: u128 = groups.iter().map(|g| wide(g.group_load)).sum();
    let mean = 1024 * total / groups.iter().map(|g| wide(g.group_capacity)).sum::<u128>();
    let (theirs, ours) = (avg(busiest), avg(local));
    let forced = kind == 1 || (params.idle != CpuIdleType::NotIdle && room(local) && full);
    let enough = match params.idle {
        CpuIdleType::Idle => kind == 2 || local.idle_cpus > busiest.idle_cpus + 1,
        _ => 100 * theirs > pct * ours,
    };
    if !forced && (ours >= theirs || ours >= mean || !enough) {
        return None;
    }
    let task = if kind == 1 { each(busiest).min(mean) } else { each(busiest) };
    let (cap_theirs, cap_ours) = (wide(busiest.group_capacity), wide(local.group_capacity));
    let mut amount = 0;
    if theirs > mean && ours < mean {
        let mut pull = theirs - mean;
        let tasks = wide(u64::from(busiest.sum_nr_running)) * 1024;
        if kind == 2 && full_alone(local) && tasks > cap_theirs {
            pull = pull.min((tasks - cap_theirs) * 1024 / cap_theirs);
        }
        amount = (pull * cap_theirs).min((mean - ours) * cap_ours) / 1024;
    }
    if amount == 0 || amount < task {
        let own_task = if local.sum_nr_running == 0 { 0 } else { each(local) };
        let times = if local.sum_nr_running != 0 && task > own_task { 1 } else { 2 };
        let one = task * 1024 / cap_theirs;
        let used = |cap: u128, task: u128, load: u128| cap * task.min(load);
        let now = (used(cap_theirs, task, theirs) + used(cap_ours, own_task, ours)) / 1024;
        let added = if theirs * cap_theirs < task * 1024 { theirs * cap_theirs } else { task * 1024 } / cap_ours;
        let left = if theirs > one { used(cap_theirs, task, theirs - one) } else { 0 };
        if theirs + one >= ours + times * one || (left + used(cap_ours, own_task, ours + added)) / 1024 > now {
            amount = task;
        }
    }
    (amount != 0).then_some((at, amount as u64))
}

fn group() -> impl Strategy<Value = SgLbStatsV5_3> {
    (1u32..5, 0u32..12, 0u32..1100, 0u64..1400, 200u64..=1024, prop::bool::weighted(0.1)).prop_map(
        |(group_weight, tasks, load, util, capacity, imbalanced)| SgLbStatsV5_3 {
            group_load: u64::from(tasks * load),
            group_util: util * u64::from(group_weight),
            group_capacity: capacity * u64::from(group_weight),
            sum_nr_running: tasks,
            idle_cpus: group_weight.saturating_sub(tasks),
            group_weight,
            imbalanced,
            local: false,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn sums_decide_as_the_second_implementation(
        mut groups in prop::collection::vec(group(), 2..6),
        own in any::<prop::sample::Index>(),
        idle in prop::sample::select(vec![CpuIdleType::Idle, CpuIdleType::NotIdle, CpuIdleType::NewlyIdle]),
        (imbalance_pct, prefer_sibling) in (prop::sample::select(vec![110, 117, 125]), any::<bool>()),
    ) {
        let own = own.index(groups.len());
        groups[own].local = true;
        let params = LbParamsV5_3 { idle, imbalance_pct, prefer_sibling };
        prop_assert_eq!(find_busiest_group_v5_3(&params, &groups), reference(&params, &groups));
    }
}

/// CPU 0 has a task that runs and so many that wait; nothing else runs.
fn crowded(waiting: u32, nr_cpus: u32) -> State {
    let mut state = State::idle(nr_cpus);
    state.run(0, waiting);
    state
}

#[test]
fn an_idle_cpu_takes_nothing_from_a_cpu_that_is_not_used_up_yet() {
    let domains = cores(4);
    let mut state = crowded(1, 4);
    assert_eq!(pass(&state, BalanceRules::V5_3, &domains, 1, CpuIdleType::Idle, 0).moves.len(), 1);
    // 1024 / 1.17.
    state.cpus[0].util = 875;
    let plan = pass(&state, BalanceRules::V5_3, &domains, 1, CpuIdleType::Idle, 0);
    assert_eq!(plan.outcome, Outcome::Balanced(Why::NoBusiestGroup));
    assert_eq!(pass(&state, BalanceRules::V5_10, &domains, 1, CpuIdleType::Idle, 0).moves.len(), 1);
}

#[test]
fn tasks_of_up_to_twice_the_imbalance_move_at_once() {
    // 3 tasks on CPU 0 and 1 on CPU 1: 1024 above the average there, 1024 below it here.
    let domains = cores(2);
    let moved = |rules, load, failed| {
        let mut state = crowded(2, 2);
        state.run(1, 0);
        (state.cpus[0].load, state.cpus[1].load) = (3072, 1024);
        for task in &mut state.tasks {
            task.h_load = load;
        }
        pass(&state, rules, &domains, 1, CpuIdleType::NotIdle, failed).moves.len()
    };
    assert_eq!([2048, 2050].map(|load| moved(BalanceRules::V5_3, load, 0)), [1, 0]);
    assert_eq!(moved(BalanceRules::V5_3, 2050, 1), 0, "failures change nothing");
    assert_eq!([0, 1].map(|failed| moved(BalanceRules::V5_10, 2048, failed)), [0, 1]);
}

#[test]
fn a_task_is_hot_to_its_sibling_too() {
    let domains = domains_of(&Uniform::new(1, 2).topology(), "v5.3");
    let mut state = crowded(1, 2);
    for task in &mut state.tasks {
        task.exec_start = NOW - 100_000;
    }
    let moved = |rules| pass(&state, rules, &domains, 1, CpuIdleType::Idle, 0).moves.len();
    assert_eq!([moved(BalanceRules::V5_3), moved(BalanceRules::V5_10)], [0, 1]);
}

#[test]
fn a_kernel_thread_of_its_cpu_counts_as_pinned() {
    let domains = domains_of(&Uniform { llcs: 2, ..Uniform::new(2, 1) }.topology(), "v5.3");
    let mut state = State::idle(4);
    let waiting = state.run(0, 1);
    for task in &mut state.tasks {
        (task.kthread, task.cpus) = (true, CpuMask::from_cpus(4, [0]));
    }
    assert_eq!(waiting.len(), 1);
    let noted = |rules| {
        let balance = by(rules, &domains);
        let sd = SdBalance::new(balance.sd(1, 0), 0);
        plan_balance(&state, &balance, 1, 0, CpuIdleType::Idle, &sd).parent_imbalance
    };
    assert_eq!([noted(BalanceRules::V5_3), noted(BalanceRules::V5_10)], [Some(true), None]);
}

#[test]
fn a_pass_that_ends_in_balance_forgets_what_was_pinned() {
    // CPU 0's tasks are pinned; when it is out, nothing else is busy.
    let domains = domains_of(&Uniform { llcs: 2, ..Uniform::new(3, 1) }.topology(), "v5.3");
    let mut state = State::idle(6);
    state.run(0, 1);
    state.run(2, 0);
    for task in state.tasks.iter_mut().take(2) {
        task.cpus = CpuMask::from_cpus(6, [0]);
    }
    state.imbalanced.insert((1, 0));
    let forgets = |rules| {
        let balance = by(rules, &domains);
        let sd = SdBalance::new(balance.sd(1, 0), 0);
        let plan = plan_balance(&state, &balance, 1, 0, CpuIdleType::Idle, &sd);
        assert!(plan.all_pinned && plan.moves.is_empty(), "{plan:?}");
        plan.parent_imbalance
    };
    assert_eq!([forgets(BalanceRules::V5_3), forgets(BalanceRules::V5_10)], [Some(false), Some(true)]);
}

#[test]
fn a_busy_cpu_balances_32_times_as_rarely_and_one_with_idle_tasks_is_busy() {
    let domains = cores(8);
    let [old, new] = [BalanceRules::V5_3, BalanceRules::V5_10].map(|rules| by(rules, &domains));
    let state = SdBalance::new(old.sd(0, 0), 0);
    let intervals = |balance| [true, false].map(|busy| get_sd_balance_interval(balance, &state, busy));
    assert_eq!((intervals(&old), intervals(&new)), ([256, 8], [127, 8]));
    assert_eq!([old.cpu_busy(false, true), new.cpu_busy(false, true)], [true, false]);
    assert!(!old.cpu_busy(true, false) && old.cpu_busy(false, false));
}

#[test]
fn the_walk_goes_from_the_first_cpu_and_a_kick_delays_the_next() {
    let domains = cores(4);
    for (rules, order, next) in [(BalanceRules::V5_3, [1, 3, 2], 101), (BalanceRules::V5_10, [3, 1, 2], 201)] {
        let balance = by(rules, &domains);
        let mut nohz = Nohz::new(&balance, 100);
        (1..4).for_each(|cpu| nohz.enter_idle(&balance, cpu));
        let state = crowded(1, 4);
        assert!(nohz.balancer_kick(&state, &balance, 0, 200).is_some());
        assert_eq!(nohz.next_balance, next);
        let flags = NohzFlags::BALANCE_KICK | NohzFlags::STATS_KICK;
        let mut walk = NohzIdleBalance::new(&mut nohz, &balance, 2, flags, 200);
        let mut visited = Vec::new();
        while let Some(visit) = walk.next(&mut nohz, &state, 200) {
            visited.push(visit.cpu);
            // The walking CPU is due first; in 5.3 the others set the time nevertheless.
            walk.visited(&mut nohz, visit, if visit.cpu == 2 { 210 } else { 220 });
        }
        walk.finish(&mut nohz, &balance);
        assert_eq!((visited, nohz.next_balance), (order.to_vec(), if next == 101 { 220 } else { 210 }));
    }
}
