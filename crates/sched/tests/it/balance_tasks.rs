//! Which tasks are moved, worked out by hand.

use crate::support::balance::{NOW, State, after_many_failures, domains};
use wakelab_kernel::{Feature, FeatureSet};
use wakelab_sched::CpuMask;
use wakelab_sched::balance::*;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, Uniform};
use wakelab_sched::runqueue::TaskId;

const TUNABLES: BalanceTunables =
    BalanceTunables { migration_cost: 500_000, nr_migrate: 32, preemption: false, hz: 1000 };

/// Two LLCs of two cores with two CPUs: the LLC of 0 to 3 is level 1 (cache_nice_tries 1), the package level 2.
fn machine() -> SchedDomains {
    domains(&Uniform { llcs: 2, ..Uniform::new(2, 2) }.topology())
}

struct Pass {
    tunables: BalanceTunables,
    features: FeatureSet,
    level: usize,
    idle: CpuIdleType,
    failed: u32,
}

/// CPU 2 pulls in its LLC.
const PASS: Pass =
    Pass { tunables: TUNABLES, features: FeatureSet::EMPTY, level: 1, idle: CpuIdleType::Idle, failed: 0 };

impl Pass {
    fn plan(&self, state: &State, cpu: Cpu) -> Plan {
        let domains = machine();
        let balance = Balance::new(BalanceRules::V6_1, self.features, self.tunables, &domains).unwrap();
        let sd = SdBalance { nr_balance_failed: self.failed, ..SdBalance::new(balance.sd(cpu, self.level), 0) };
        plan_balance(state, &balance, cpu, self.level, self.idle, &sd)
    }
}

fn moved(plan: &Plan) -> Vec<TaskId> {
    plan.moves.iter().map(|moved| moved.task).collect()
}

fn only(cpus: &[Cpu]) -> CpuMask {
    CpuMask::from_cpus(8, cpus.iter().copied())
}

/// Six tasks there, none here: three are wanted. An idle CPU pulls them from the tail, and they are attached the other
/// way round.
#[test]
fn tasks_are_taken_from_the_tail_and_attached_in_reverse() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 5);
    let plan = PASS.plan(&state, 2);
    assert_eq!(moved(&plan), waiting[..3]);
    let attached: Vec<_> = plan.attach_order().map(|moved| moved.task).collect();
    assert_eq!(attached, [waiting[2], waiting[1], waiting[0]]);
}

#[test]
fn a_newly_idle_pass_of_a_preemptible_kernel_takes_one() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 5);
    let newly = Pass { idle: CpuIdleType::NewlyIdle, ..PASS };
    assert_eq!(moved(&newly.plan(&state, 2)), waiting[..3]);
    let preemption = Pass { tunables: BalanceTunables { preemption: true, ..TUNABLES }, ..newly };
    assert_eq!(moved(&preemption.plan(&state, 2)), waiting[..1]);
    assert_eq!(moved(&Pass { tunables: preemption.tunables, ..PASS }.plan(&state, 2)), waiting[..3]);
}

/// Those that ran less than migration_cost ago stay, and go to the head of the list.
#[test]
fn hot_tasks_are_passed_over_until_more_passes_fail_than_cache_nice_tries() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 3);
    state.task(waiting[0]).exec_start = NOW - 499_999;
    state.task(waiting[1]).exec_start = NOW - 500_000;
    let plan = PASS.plan(&state, 2);
    assert_eq!((moved(&plan), plan.skipped.as_slice()), (waiting[1..].to_vec(), &waiting[..1]));
    assert_eq!(moved(&Pass { failed: 1, ..PASS }.plan(&state, 2)), waiting[1..]);
    assert_eq!(moved(&Pass { failed: 2, ..PASS }.plan(&state, 2)), waiting[..2]);
    // SCHED_IDLE tasks have no cache worth keeping.
    state.task(waiting[0]).idle_policy = true;
    assert_eq!(moved(&PASS.plan(&state, 2)), waiting[..2]);
}

/// A clock may be a little behind another's: the difference is signed.
#[test]
fn a_task_that_starts_in_the_future_is_hot_and_migration_cost_has_two_special_values() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 1);
    state.task(waiting[0]).exec_start = NOW + 1;
    assert!(PASS.plan(&state, 2).moves.is_empty());
    let cost = |migration_cost| Pass { tunables: BalanceTunables { migration_cost, ..TUNABLES }, ..PASS };
    assert_eq!(cost(0).plan(&state, 2).moves.len(), 1);
    state.task(waiting[0]).exec_start = 0;
    assert_eq!(cost(u32::MAX - 1).plan(&state, 2).moves.len(), 1);
    assert!(cost(u32::MAX).plan(&state, 2).moves.is_empty());
}

/// Siblings share their caches.
#[test]
fn nothing_is_hot_between_siblings() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 1);
    state.task(waiting[0]).exec_start = NOW;
    assert_eq!(moved(&Pass { level: 0, ..PASS }.plan(&state, 1)), waiting);
}

#[test]
fn a_buddy_is_hot_for_a_cpu_that_has_tasks() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 4);
    state.cpus[0].buddy = Some(waiting[0]);
    let hot_buddy = FeatureSet::EMPTY.with(Feature::CACHE_HOT_BUDDY, true);
    let busy = Pass { idle: CpuIdleType::NotIdle, features: hot_buddy, ..PASS };
    assert_eq!(moved(&Pass { features: hot_buddy, ..PASS }.plan(&state, 2))[0], waiting[0], "idle");
    state.run(2, 0);
    state.run(3, 0);
    // 5 - 2 tasks, halved.
    assert_eq!(moved(&busy.plan(&state, 2)), waiting[1..2]);
    assert_eq!(moved(&Pass { features: FeatureSet::EMPTY, ..busy }.plan(&state, 2)), waiting[..1]);
}

/// At most nr_migrate tasks are looked at. They go to the head in turn, so that the next pass sees others.
#[test]
fn a_pass_looks_at_no_more_than_nr_migrate_tasks() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 9);
    for &task in &waiting[..4] {
        state.task(task).exec_start = NOW;
    }
    let three = Pass { tunables: BalanceTunables { nr_migrate: 3, ..TUNABLES }, ..PASS };
    let plan = three.plan(&state, 2);
    assert_eq!((moved(&plan), plan.skipped.as_slice(), plan.outcome), (vec![], &waiting[..3], Outcome::Failed));
    let mut list = CfsTasks::new();
    state.cpus[0].tasks.iter().for_each(|&task| list.enqueue(task));
    plan.skipped.iter().for_each(|&task| list.move_to_head(task));
    state.cpus[0].tasks = list.iter().collect();
    // The fourth hot one, then two that may go.
    assert_eq!(moved(&three.plan(&state, 2)), waiting[4..6]);
}

/// With more than 32 the lock is let go of in between, and what was taken is attached. The break counts as a look: of
/// 40, 32 + 7 are left.
#[test]
fn tasks_come_in_batches_of_32() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 99);
    let forty = Pass { tunables: BalanceTunables { nr_migrate: 40, ..TUNABLES }, ..PASS };
    let plan = forty.plan(&state, 2);
    assert_eq!(moved(&plan), waiting[..39]);
    let batches = [0, 1].map(|batch| plan.moves.iter().filter(|moved| moved.batch == batch).count());
    assert_eq!(batches, [32, 7]);
    assert_eq!(plan.attach_order().next().unwrap().task, waiting[31]);
    // By the second batch the CPU has tasks, and a buddy is hot for it.
    let buddies = Pass { features: FeatureSet::EMPTY.with(Feature::CACHE_HOT_BUDDY, true), ..forty };
    state.cpus[0].buddy = Some(waiting[31]);
    assert_eq!(buddies.plan(&state, 2).moves.len(), 39);
    state.cpus[0].buddy = Some(waiting[32]);
    assert_eq!(buddies.plan(&state, 2).skipped.as_slice(), [waiting[32]]);
}

/// CPU 2 may not have them, its sibling may.
#[test]
fn pinned_tasks_go_to_another_cpu_of_the_group() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 3);
    for &task in &waiting {
        state.task(task).cpus = only(&[0, 3]);
    }
    let plan = PASS.plan(&state, 2);
    assert!(plan.moves.iter().all(|moved| moved.dst_cpu == 3));
    assert_eq!((moved(&plan), plan.outcome), (waiting[..2].to_vec(), Outcome::Moved));
    let newly = Pass { idle: CpuIdleType::NewlyIdle, ..PASS }.plan(&state, 2);
    assert!(newly.moves.is_empty(), "a newly idle CPU pulls for itself only");
}

/// CPU 2 has got a task by then, but what is hot for CPU 3 depends on CPU 3.
#[test]
fn another_destination_has_its_own_tasks() {
    let mut state = State::idle(8);
    let waiting = state.run(0, 3);
    state.task(waiting[1]).cpus = only(&[0, 3]);
    state.task(waiting[2]).exec_start = NOW;
    state.cpus[0].buddy = Some(waiting[1]);
    let features = FeatureSet::EMPTY.with(Feature::CACHE_HOT_BUDDY, true);
    let plan = Pass { features, ..PASS }.plan(&state, 2);
    let to: Vec<_> = plan.moves.iter().map(|moved| (moved.task, moved.dst_cpu)).collect();
    assert_eq!(to, [(waiting[0], 2), (waiting[1], 3)]);
}

/// All of CPU 0's tasks are pinned to it: it is taken out, and CPU 1 is the next busiest.
#[test]
fn a_queue_of_pinned_tasks_is_left_for_the_next_busiest() {
    let mut state = State::idle(8);
    let stay = state.run(0, 4);
    let go = state.run(1, 1);
    let running = *state.cpus[0].tasks.last().unwrap();
    for task in stay.into_iter().chain([running]) {
        state.task(task).cpus = only(&[0]);
    }
    let plan = PASS.plan(&state, 2);
    assert_eq!((plan.busiest, moved(&plan)), (Some(1), go));
    assert_eq!(plan.nr_rqs, 4 + 3);
    // The LLC's imbalance is noted for the package, at the first round.
    assert_eq!(plan.parent_imbalance, Some(true));
}

#[test]
fn balance_clears_the_parents_imbalance_unless_all_were_pinned() {
    let mut state = State::idle(8);
    state.imbalanced.insert((2, 0));
    let balanced = PASS.plan(&state, 2);
    assert_eq!((balanced.parent_imbalance, balanced.all_pinned), (Some(false), false));
    state.run(0, 1);
    for task in state.cpus[0].tasks.clone() {
        state.task(task).cpus = only(&[0]);
    }
    let pinned = PASS.plan(&state, 2);
    assert_eq!((pinned.outcome, pinned.all_pinned), (Outcome::Balanced(Why::NoBusiestGroup), true));
    assert_eq!(pinned.parent_imbalance, Some(true));
}

/// Two siblings run a task each, another core is idle: nothing waits. After cache_nice_tries + 2 failures and this one,
/// the running task is pushed.
#[test]
fn a_running_task_is_pushed_after_enough_failures() {
    let mut state = State::idle(8);
    state.run(0, 0);
    state.run(1, 0);
    let plan = |state: &State, failed| Pass { failed, ..PASS }.plan(state, 2);
    assert_eq!((plan(&state, 2).outcome, plan(&state, 2).active_balance), (Outcome::Failed, false));
    assert_eq!((plan(&state, 3).outcome, plan(&state, 3).active_balance), (Outcome::Failed, true));
    state.cpus[0].active_balance = true;
    assert!(!plan(&state, 3).active_balance, "it is being pushed already");
    state.cpus[0].active_balance = false;

    let domains = machine();
    let balance = Balance::new(BalanceRules::V6_1, FeatureSet::EMPTY, TUNABLES, &domains).unwrap();
    let running = state.cpus[0].tasks[0];
    let pushed = |state: &State, target| {
        active_load_balance_cpu_stop(state, &balance, 0, target, &after_many_failures(&balance, target), false)
    };
    assert_eq!(pushed(&state, 2), Some(ActiveBalance { task: running, level: 1 }));
    assert_eq!(pushed(&state, 5).unwrap().level, 2);
    state.task(running).cpus = only(&[0, 1]);
    assert_eq!(plan(&state, 3).outcome, Outcome::OnePinned);
    assert_eq!(pushed(&state, 2), None);
}

#[test]
fn a_queue_keeps_its_tasks_in_the_order_of_the_last_enqueue_or_pick() {
    let [a, b, c] = [0, 1, 2].map(TaskId);
    let mut list = CfsTasks::new();
    [a, b, c].into_iter().for_each(|task| list.enqueue(task));
    list.move_to_head(a);
    assert_eq!(list.iter().collect::<Vec<_>>(), [b, c, a]);
    list.move_to_head(a);
    list.dequeue(c);
    list.enqueue(c);
    assert_eq!(list.iter().collect::<Vec<_>>(), [b, a, c]);
}
