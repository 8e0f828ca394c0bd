//! Delayed dequeue: a task that sleeps with a debt stays queued, and keeps its place when it wakes.

use crate::support::runqueue::eevdf::{MS, PARAMS, Queue};
use wakelab_sched::runqueue::{EevdfParams, EevdfRules, EnqueueFlags, Entity, Policy, Prev, Resched, TaskId};
use wakelab_sched::select::WakeFlags;

const ALL: [EevdfRules; 3] = [EevdfRules::V6_12, EevdfRules::V7_2, EevdfRules::V7_3];

/// V - vruntime.
fn vlag(queue: &Queue, task: TaskId) -> i64 {
    queue.rq.avg_vruntime(&queue.es).wrapping_sub(queue.es[task].vruntime) as i64
}

/// Wakes a task whose dequeue is delayed. It may preempt.
fn wake(queue: &mut Queue, task: TaskId) {
    let _ = queue.rq.requeue_delayed_entity(&mut queue.es, queue.now, task);
    let _ = queue.preempt(task, WakeFlags::TTWU);
}

/// Two hogs, and a task that has run for 2 ms, which is 1.33 ms more than its third, and sleeps.
fn delayed(params: EevdfParams, rules: EevdfRules) -> (Queue, [TaskId; 3]) {
    let mut queue = Queue::new(params, rules);
    let sleeper = queue.join(0, 0);
    queue.schedule(Prev::Runs);
    let hogs = [queue.join(0, 0), queue.join(0, 0)];
    let _ = queue.pass(2 * MS);
    let switch = queue.schedule(Prev::Sleeps);
    assert!(hogs.contains(&switch.next.unwrap()) && switch.reaped.is_empty());
    assert_eq!((queue.rq.nr_queued(), queue.rq.nr_delayed()), (3, 1));
    assert!(queue.es[sleeper].sched_delayed && queue.es[sleeper].on_rq);
    (queue, [sleeper, hogs[0], hogs[1]])
}

#[test]
fn eevdf_task_woken_with_a_debt_keeps_its_place() {
    for rules in ALL {
        let (mut queue, [sleeper, ..]) = delayed(PARAMS, rules);
        let place = (queue.es[sleeper].vruntime, queue.es[sleeper].deadline);
        let _ = queue.pass(MS);
        assert!(vlag(&queue, sleeper) < 0, "its debt is not paid");
        wake(&mut queue, sleeper);
        assert_eq!((queue.es[sleeper].vruntime, queue.es[sleeper].deadline), place, "{rules:?}");
        assert!(!queue.es[sleeper].sched_delayed);
        assert_eq!((queue.rq.nr_queued(), queue.rq.nr_delayed()), (3, 0));
    }
}

/// 9 ms later V is after the sleeper's vruntime, so it would be owed time although it could not run. With DELAY_ZERO it
/// is not: it begins a new request at V.
#[test]
fn eevdf_task_woken_after_its_debt_gains_nothing() {
    for rules in ALL {
        let (mut queue, [sleeper, ..]) = delayed(PARAMS, rules);
        let _ = queue.pass(9 * MS);
        assert!(vlag(&queue, sleeper) > 0);
        wake(&mut queue, sleeper);
        assert_eq!(vlag(&queue, sleeper), 0, "{rules:?}");
        assert_eq!(queue.es[sleeper].deadline, queue.es[sleeper].vruntime + 3 * MS);
    }
}

#[test]
fn eevdf_without_delay_zero_a_woken_task_keeps_its_gain() {
    for rules in ALL {
        let params = EevdfParams { delay_zero: false, ..PARAMS };
        let (mut queue, [sleeper, ..]) = delayed(params, rules);
        let _ = queue.pass(9 * MS);
        let gained = vlag(&queue, sleeper);
        wake(&mut queue, sleeper);
        // Lag is limited to two slices in 6.12, and to the longest slice and a tick since.
        let limit = if rules == EevdfRules::V6_12 { gained } else { 4 * MS as i64 };
        assert_eq!(vlag(&queue, sleeper), gained.min(limit), "{rules:?}");
    }
}

/// The state of [`delayed`] after both hogs have had 9 ms, so the sleeper has the earliest deadline and would be
/// picked.
fn due(rules: EevdfRules) -> (Queue, [TaskId; 3]) {
    let (mut queue, tasks) = delayed(PARAMS, rules);
    let _ = queue.pass(9 * MS);
    assert!(queue.schedule(Prev::Runs).reaped.is_empty(), "the other hog has an earlier deadline");
    let _ = queue.pass(9 * MS);
    (queue, tasks)
}

#[test]
fn eevdf_delayed_task_that_is_picked_leaves_and_is_reported() {
    for rules in ALL {
        let (mut queue, [sleeper, ..]) = due(rules);
        let switch = queue.schedule(Prev::Runs);
        assert_eq!(switch.reaped.as_slice(), [sleeper], "{rules:?}");
        assert!(!queue.es[sleeper].on_rq && !queue.es[sleeper].sched_delayed);
        assert_eq!(queue.es[sleeper].vlag, 0, "DELAY_ZERO");
        assert_eq!((queue.rq.nr_queued(), queue.rq.nr_delayed()), (2, 0));
    }
}

/// Since 7.2 a wake-up compares by a pick, which takes delayed tasks off the queue. 6.12 does not change the queue.
#[test]
fn eevdf_wake_up_reaps_since_7_2() {
    for rules in ALL {
        let (mut queue, [sleeper, ..]) = due(rules);
        let new = queue.join(0, MS);
        let preempted = queue.preempt(new, WakeFlags::TTWU);
        let expected: &[TaskId] = if rules == EevdfRules::V6_12 { &[] } else { &[sleeper] };
        assert_eq!(preempted.reaped.as_slice(), expected, "{rules:?}");
    }
}

/// Since 7.2 the wake-up of a delayed task charges the running one, which has had its slice: that requests a
/// reschedule.
#[test]
fn eevdf_wake_up_of_a_delayed_task_charges_since_7_2() {
    for rules in ALL {
        let (mut queue, [sleeper, ..]) = delayed(PARAMS, rules);
        queue.now += 4 * MS;
        let resched = queue.rq.requeue_delayed_entity(&mut queue.es, queue.now, sleeper);
        let expected = if rules == EevdfRules::V6_12 { Resched::No } else { Resched::Lazy };
        assert_eq!(resched, expected, "{rules:?}");
    }
}

/// A delayed task's debt only shrinks: tasks that join with positive lag move V back, but do not increase the debt.
#[test]
fn eevdf_debt_of_a_delayed_task_does_not_grow_since_7_2() {
    for rules in ALL {
        let (mut queue, [sleeper, ..]) = delayed(PARAMS, rules);
        let debt = vlag(&queue, sleeper);
        // V goes back by the lag of the new task.
        let owed = queue.es.push(Entity::new(Policy::Normal, -10, 0));
        queue.es[owed].vlag = MS as i64;
        let _ = queue.rq.enqueue_task(&mut queue.es, queue.now, owed, EnqueueFlags::WAKEUP);
        assert!(vlag(&queue, sleeper) < debt);
        wake(&mut queue, sleeper);
        let kept = vlag(&queue, sleeper) >= debt - 1;
        assert_eq!(kept, rules != EevdfRules::V6_12, "{rules:?}: {} of {debt}", vlag(&queue, sleeper));
    }
}
