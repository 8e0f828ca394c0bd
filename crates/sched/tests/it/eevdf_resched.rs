//! How urgently a run queue requests a reschedule.

use crate::support::runqueue::eevdf::{MS, PARAMS, Queue};
use wakelab_sched::runqueue::{
    EevdfRules, EnqueueFlags, Entities, Entity, FairRq, FairRules, Policy, Prev, Resched, TaskId, Tick,
};
use wakelab_sched::select::WakeFlags;

/// A queue of 7.2, with preempt=lazy or without, on which one task runs.
fn running(lazy: bool) -> (FairRq, Entities, TaskId) {
    let rules = EevdfRules { lazy_preemption: lazy, ..EevdfRules::V7_2 };
    let (mut rq, mut es) = (FairRq::new(FairRules::Eevdf(PARAMS, rules), 0), Entities::new());
    let task = es.push(Entity::new(Policy::Normal, 0, 20 * MS));
    assert_eq!(rq.enqueue_task(&mut es, MS, task, EnqueueFlags::INITIAL), Resched::No);
    let preempted = rq.wakeup_preempt(&mut es, MS, task, WakeFlags::FORK, false);
    assert_eq!(preempted.resched, Resched::Now, "an idle CPU is always preempted at once");
    rq.schedule(&mut es, MS, Prev::Runs);
    (rq, es, task)
}

#[test]
fn eevdf_wake_up_requests_lazily_and_a_tick_makes_it_urgent() {
    for lazy in [false, true] {
        let (mut rq, mut es, _) = running(lazy);
        let short = es.push(Entity::new(Policy::Normal, 0, MS));
        let _ = rq.enqueue_task(&mut es, 2 * MS, short, EnqueueFlags::WAKEUP);
        let asked = rq.wakeup_preempt(&mut es, 2 * MS, short, WakeFlags::TTWU, false).resched;
        assert_eq!(asked, if lazy { Resched::Lazy } else { Resched::Now });
        assert_eq!(asked.is_now(), !lazy);
        let tick = rq.tick(&mut es, 2 * MS, Tick { lazy: asked == Resched::Lazy, ..Tick::default() });
        assert_eq!(tick, if lazy { Resched::Now } else { Resched::No });
    }
}

/// After `TIF_NEED_RESCHED_LAZY` the next wake-up is still checked for preemption, after `TIF_NEED_RESCHED` only in 7.3
/// with PREEMPT_SHORT.
#[test]
fn eevdf_check_is_skipped_only_if_an_urgent_request_is_pending() {
    for (rules, checks) in [(EevdfRules::V6_12, false), (EevdfRules::V7_2, false), (EevdfRules::V7_3, true)] {
        let mut queue = Queue::new(PARAMS, rules);
        queue.join(0, 20 * MS);
        queue.schedule(Prev::Runs);
        let _ = queue.pass(MS);
        let short = queue.join(0, MS);
        let mut ask = |pending| {
            queue.rq.wakeup_preempt(&mut queue.es, queue.now, short, WakeFlags::TTWU, pending).resched.asked()
        };
        assert_eq!(ask(true), checks, "{rules:?}");
        assert!(ask(false), "{rules:?}");
    }
}

#[test]
fn eevdf_hrtick_and_a_lower_priority_are_urgent() {
    let (mut rq, mut es, task) = running(true);
    let other = es.push(Entity::new(Policy::Normal, 0, 0));
    let _ = rq.enqueue_task(&mut es, 2 * MS, other, EnqueueFlags::INITIAL);
    assert_eq!(rq.hrtick_tick(&mut es, 3 * MS), Resched::Now);
    assert_eq!(rq.set_user_nice(&mut es, 3 * MS, task, 5, false).resched, Resched::Now);
}

#[test]
fn eevdf_idle_policy_yields_to_others_and_never_preempts() {
    for rules in [EevdfRules::V6_12, EevdfRules::V7_2, EevdfRules::V7_3] {
        let mut queue = Queue::new(PARAMS, rules);
        let idle = queue.es.push(Entity::new(Policy::Idle, 0, 0));
        let _ = queue.rq.enqueue_task(&mut queue.es, queue.now, idle, EnqueueFlags::INITIAL);
        queue.schedule(Prev::Runs);
        let normal = queue.join(0, 0);
        assert!(queue.preempt(normal, WakeFlags::TTWU).resched.asked(), "{rules:?}");
        assert!(!queue.rq.protect_slice(&queue.es, idle), "it has no protection left");
        queue.schedule(Prev::Runs);
        assert_eq!(queue.rq.curr(), Some(normal));
        let second = queue.es.push(Entity::new(Policy::Idle, 0, 100_000));
        let _ = queue.rq.enqueue_task(&mut queue.es, queue.now, second, EnqueueFlags::INITIAL);
        assert!(!queue.preempt(second, WakeFlags::TTWU).resched.asked(), "{rules:?}");
    }
}
