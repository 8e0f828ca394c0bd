//! Balancing for idle CPUs whose tick is stopped, worked out by hand from the kernel's functions.

use crate::support::balance::{State, domains};
use wakelab_kernel::FeatureSet;
use wakelab_sched::balance::*;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, Uniform};

const TUNABLES: BalanceTunables =
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: true, hz: 1000 };

fn by(rules: BalanceRules, domains: &SchedDomains) -> Balance<'_> {
    Balance::new(rules, FeatureSet::EMPTY, TUNABLES, domains).unwrap()
}

/// Two LLCs of four CPUs, 0-3 and 4-7.
fn two_llcs() -> SchedDomains {
    domains(&Uniform { llcs: 2, ..Uniform::new(4, 1) }.topology())
}

/// One LLC of four cores with two CPUs each.
fn smt() -> SchedDomains {
    domains(&Uniform::new(4, 2).topology())
}

/// All CPUs but those of `busy` have stopped their tick at jiffy 100.
fn idle_but(balance: &Balance<'_>, nr_cpus: u32, busy: &[Cpu]) -> Nohz {
    let mut nohz = Nohz::new(balance, 100);
    (0..nr_cpus).filter(|cpu| !busy.contains(cpu)).for_each(|cpu| nohz.enter_idle(balance, cpu));
    nohz
}

/// What a kick that is due, by CPU 0 with two tasks, is for.
const ALL: NohzFlags = NohzFlags::KICK_MASK;

#[test]
fn the_busy_cpus_of_an_llc_are_those_that_have_not_stopped_their_tick() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = Nohz::new(&balance, 0);
    assert_eq!([0, 4].map(|cpu| nohz.nr_busy_cpus(&balance, cpu)), [Some(4), Some(4)]);
    for cpu in [5, 5, 7] {
        nohz.enter_idle(&balance, cpu);
    }
    assert_eq!([0, 4].map(|cpu| nohz.nr_busy_cpus(&balance, cpu)), [Some(4), Some(2)]);
    for cpu in [5, 5, 0] {
        nohz.exit_idle(&balance, cpu);
    }
    assert_eq!([3, 6].map(|cpu| nohz.nr_busy_cpus(&balance, cpu)), [Some(4), Some(3)]);
    assert_eq!(nohz.idle_cpus_mask.iter().collect::<Vec<_>>(), [7]);
}

#[test]
fn a_queue_of_two_tasks_kicks_the_first_idle_cpu_once_a_jiffy() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = idle_but(&balance, 8, &[0, 1]);
    let mut state = State::idle(8);
    state.run(0, 1);
    state.ttwu_pending(2);
    let kick = nohz.balancer_kick(&state, &balance, 0, 200).unwrap();
    assert_eq!(kick, Kick { cpu: 3, flags: ALL, ipi: true });
    assert_eq!((nohz.next_balance, nohz.flags(3)), (201, ALL));
    // Within the jiffy another tick kicks for averages only, and the interrupt is on its way.
    let again = nohz.balancer_kick(&state, &balance, 0, 200).unwrap();
    assert_eq!(again, Kick { cpu: 3, flags: NohzFlags::STATS_KICK | NohzFlags::NEXT_KICK, ipi: false });
    assert_eq!(nohz.kicked(&state, 3), Some(ALL));
    assert_eq!(nohz.flags(3), NohzFlags::empty());
}

impl State {
    fn ttwu_pending(&mut self, cpu: Cpu) {
        self.cpus[cpu as usize].ttwu_pending = true;
    }
}

#[test]
fn one_task_kicks_if_another_cpu_of_the_llc_is_busy_or_its_own_is_reduced() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let kick = |busy: &[Cpu], capacity| {
        let mut nohz = idle_but(&balance, 8, busy);
        (nohz.has_blocked, nohz.needs_update) = (false, false);
        let mut state = State::idle(8);
        state.run(0, 0);
        state.cpus[0].capacity = capacity;
        nohz.balancer_kick(&state, &balance, 0, 200).map(|kick| kick.flags)
    };
    let balances = Some(NohzFlags::STATS_KICK | NohzFlags::BALANCE_KICK);
    assert_eq!(kick(&[0], 1024), None);
    assert_eq!(kick(&[0, 3], 1024), balances);
    assert_eq!(kick(&[0, 4], 1024), None, "a busy CPU of another LLC");
    // imbalance_pct of the LLC is 117: 875·117 = 102375 < 1024·100 = 102400 < 876·117.
    assert_eq!([kick(&[0], 876), kick(&[0], 875)], [None, balances]);
}

#[test]
fn nobody_is_kicked_while_no_tick_is_stopped_nor_by_an_idle_cpu_nor_before_it_is_due() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut state = State::idle(8);
    let mut nohz = idle_but(&balance, 8, &[0, 1]);
    assert_eq!(nohz.balancer_kick(&state, &balance, 0, 200), None, "it is idle");
    state.run(0, 1);
    let mut all_tick = Nohz::new(&balance, 100);
    assert_eq!(all_tick.balancer_kick(&state, &balance, 0, 200), None);
    (nohz.next_balance, nohz.needs_update, nohz.next_blocked) = (201, false, 200);
    assert_eq!(nohz.balancer_kick(&state, &balance, 0, 200), None);
    assert_eq!(nohz.balancer_kick(&state, &balance, 0, 201).unwrap().flags.bits(), 3);
}

#[test]
fn a_busy_cpus_first_tick_takes_it_out() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = idle_but(&balance, 8, &[]);
    let mut state = State::idle(8);
    state.run(0, 0);
    let _ = nohz.balancer_kick(&state, &balance, 0, 100);
    assert_eq!((nohz.idle_cpus_mask.test(0), nohz.nr_busy_cpus(&balance, 0)), (false, Some(1)));
}

#[test]
fn only_7_3_has_an_idle_core_balance_before_an_idle_sibling() {
    let domains = smt();
    let mut state = State::idle(8);
    state.run(0, 1);
    state.run(2, 0);
    let ilb = |rules, busy_too: &[Cpu]| {
        let mut state = state.clone();
        busy_too.iter().for_each(|&cpu| _ = state.run(cpu, 0));
        let balance = by(rules, &domains);
        idle_but(&balance, 8, &[0]).find_new_ilb(&state, &balance, 0)
    };
    assert_eq!(ilb(BalanceRules::V7_2, &[]), Some(1));
    assert_eq!(ilb(BalanceRules::V7_3, &[]), Some(4));
    assert_eq!(ilb(BalanceRules::V7_3, &[5, 7]), Some(1), "no core is idle");
    assert_eq!(ilb(BalanceRules::V7_3, &[1, 3, 4, 5, 6, 7]), None);
}

/// Walks to the end; by CPU visited whether its averages were to be aged. Each run queue is due `100 + cpu` jiffies
/// later.
fn walk(nohz: &mut Nohz, balance: &Balance<'_>, state: &State, this_cpu: Cpu, flags: NohzFlags) -> Vec<(Cpu, bool)> {
    let mut visits = Vec::new();
    let mut walk = NohzIdleBalance::new(nohz, balance, this_cpu, flags, 300);
    while let Some(visit) = walk.next(nohz, state, 300) {
        assert_eq!(visit.balance, flags.contains(NohzFlags::BALANCE_KICK));
        if visit.update_averages {
            nohz.averages_updated(visit.cpu, 300, visit.cpu == 5);
        }
        walk.visited(nohz, visit, 400 + u64::from(visit.cpu));
        visits.push((visit.cpu, visit.update_averages));
    }
    walk.finish(nohz, balance);
    visits
}

#[test]
fn the_walk_begins_behind_the_cpu_and_ends_with_it() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = idle_but(&balance, 8, &[0, 1]);
    let mut state = State::idle(8);
    state.run(6, 0);
    nohz.averages_updated(2, 250, false);
    let visits = walk(&mut nohz, &balance, &state, 4, ALL);
    // CPU 6 has a task, and has not had its first tick.
    assert_eq!(visits, [(5, true), (7, true), (2, false), (3, true), (4, true)]);
    assert!(nohz.has_blocked, "CPU 5 has something left");
    assert!(!nohz.needs_update);
    assert_eq!((nohz.next_balance, nohz.next_blocked), (402, 332));
}

#[test]
fn a_walk_for_averages_alone_moves_the_next_balance_too() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = idle_but(&balance, 8, &[0, 1, 5]);
    let visits = walk(&mut nohz, &balance, &State::idle(8), 7, NohzFlags::STATS_KICK);
    assert_eq!(visits.len(), 5);
    assert_eq!((nohz.next_balance, nohz.has_blocked, nohz.needs_update), (402, false, true));
    let visits = walk(&mut nohz, &balance, &State::idle(8), 7, NohzFlags::NEXT_KICK);
    assert!(visits.iter().all(|&(_, aged)| !aged));
    assert_eq!((nohz.next_blocked, nohz.needs_update), (332, false));
}

#[test]
fn a_walk_ends_once_its_cpu_has_work_and_leaves_the_rest_to_another() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = idle_but(&balance, 8, &[0]);
    (nohz.next_balance, nohz.next_blocked) = (50, 60);
    let mut state = State::idle(8);
    let mut walk = NohzIdleBalance::new(&mut nohz, &balance, 2, ALL, 300);
    let visit = walk.next(&mut nohz, &state, 300).unwrap();
    nohz.averages_updated(visit.cpu, 300, false);
    walk.visited(&mut nohz, visit, 310);
    assert!(!nohz.has_blocked && !nohz.needs_update);
    state.run(2, 0);
    assert_eq!([walk.next(&mut nohz, &state, 300), walk.next(&mut nohz, &state, 300)], [None, None]);
    walk.finish(&mut nohz, &balance);
    assert!(nohz.has_blocked && nohz.needs_update);
    assert_eq!((nohz.next_balance, nohz.next_blocked), (50, 60));
}

#[test]
fn a_cpu_that_found_no_work_ages_averages_before_it_sleeps_if_it_sleeps_long() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let begins = |avg_idle, jiffies, need_resched| {
        let mut nohz = idle_but(&balance, 8, &[0]);
        nohz.next_blocked = 200;
        nohz.newidle(&balance, 0, avg_idle, jiffies);
        nohz.run_idle(0, need_resched)
    };
    assert!(begins(500_000, 200, false));
    assert!(!begins(499_999, 200, false) && !begins(500_000, 199, false) && !begins(500_000, 200, true));
    // A kick that came meanwhile does it.
    let mut nohz = idle_but(&balance, 8, &[0]);
    let mut state = State::idle(8);
    state.run(0, 1);
    nohz.newidle(&balance, 1, 500_000, 200);
    assert_eq!(nohz.balancer_kick(&state, &balance, 0, 200).map(|kick| kick.cpu), Some(1));
    assert!(!nohz.run_idle(1, false));
}

#[test]
fn a_cpu_that_is_busy_when_the_interrupt_arrives_does_nothing() {
    let domains = two_llcs();
    let balance = by(BalanceRules::V6_1, &domains);
    let mut nohz = idle_but(&balance, 8, &[0]);
    let mut state = State::idle(8);
    state.run(0, 1);
    let kick = nohz.balancer_kick(&state, &balance, 0, 200).unwrap();
    state.run(kick.cpu, 0);
    assert_eq!((nohz.kicked(&state, kick.cpu), nohz.flags(kick.cpu)), (None, NohzFlags::empty()));
}

#[test]
fn in_5_10_a_cpu_that_goes_idle_does_not_ask_for_the_next_balance() {
    let domains = two_llcs();
    let [old, new] = [BalanceRules::V5_10, BalanceRules::V5_18].map(|rules| {
        let balance = by(rules, &domains);
        idle_but(&balance, 8, &[0]).needs_update
    });
    assert_eq!((old, new), (false, true));
}
