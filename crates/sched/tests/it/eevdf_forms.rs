//! The differences between the versions of EEVDF, one test each.

use crate::support::runqueue::eevdf::{MS, PARAMS, Queue};
use wakelab_sched::runqueue::{
    DequeueFlags, EevdfParams, EevdfRules, EnqueueFlags, Entity, Hrtick, IN_TASK, Policy, Preempted, Prev, Resched,
    TaskId, load_weight,
};
use wakelab_sched::select::WakeFlags;

const ALL: [EevdfRules; 3] = [EevdfRules::V6_12, EevdfRules::V7_2, EevdfRules::V7_3];

/// A task of nice 0 with the slice `long` runs; one with the slice `short` waits.
fn two(params: EevdfParams, rules: EevdfRules, long: u64, short: u64) -> (Queue, TaskId, TaskId) {
    let mut queue = Queue::new(params, rules);
    let long = queue.join(0, long);
    let short = queue.join(0, short);
    queue.schedule(Prev::Runs);
    // Until it is the turn of the long one.
    while queue.rq.curr() != Some(long) {
        let _ = queue.pass(100_000);
        queue.schedule(Prev::Runs);
    }
    (queue, long, short)
}

/// With RUN_TO_PARITY a request of 20 ms runs to its deadline in 6.12. 7.2 protects it for the shortest slice, 7.3
/// while it is eligible.
#[test]
fn eevdf_protection_ends_as_in_the_version() {
    for (rules, protected) in ALL.into_iter().zip([20 * MS, MS, 0]) {
        let (queue, long, short) = two(PARAMS, rules, 20 * MS, MS);
        let e = &queue.es[long];
        let until = match rules.slice_protection {
            wakelab_kernel::SliceProtection::UntilIneligible => queue.es[short].vruntime + 1,
            _ => e.vruntime + protected,
        };
        let expected = if rules == EevdfRules::V6_12 { e.deadline } else { until };
        assert_eq!(e.vprot, expected, "{rules:?}");
        assert!(queue.rq.protect_slice(&queue.es, long));
    }
}

/// Without RUN_TO_PARITY, 7.2 protects for the unscaled base slice.
#[test]
fn eevdf_without_run_to_parity_the_base_slice_is_protected_since_7_2() {
    let params = EevdfParams { run_to_parity: false, preempt_short: false, ..PARAMS };
    for rules in [EevdfRules::V7_2, EevdfRules::V7_3] {
        let (queue, long, _) = two(params, rules, 20 * MS, MS);
        assert_eq!(queue.es[long].vprot, queue.es[long].vruntime + 700_000, "{rules:?}");
    }
}

/// Since 7.2 the next update_curr() of a task that has lost its protection requests a reschedule, even if it is
/// eligible.
#[test]
fn eevdf_charge_after_the_protection_reschedules_since_7_2() {
    for (rules, expected) in ALL.into_iter().zip([Resched::No, Resched::Lazy, Resched::Lazy]) {
        let (mut queue, ..) = two(PARAMS, rules, 20 * MS, MS);
        assert_eq!(queue.pass(2 * MS), expected, "{rules:?}");
    }
}

#[test]
fn eevdf_lag_is_clamped_by_own_or_longest_slice() {
    for (rules, limit) in ALL.into_iter().zip([6 * MS, 11 * MS, 11 * MS]) {
        let mut queue = Queue::new(PARAMS, rules);
        let hog = queue.join(0, 0);
        queue.schedule(Prev::Runs);
        queue.join(0, 10 * MS);
        let _ = queue.pass(100 * MS);
        let _ = queue.rq.dequeue_task(&mut queue.es, queue.now, hog, DequeueFlags::SAVE);
        assert_eq!(queue.es[hog].vlag, -(limit as i64), "{rules:?}");
    }
}

/// The rest of a request takes 1024/335 of the virtual time at the weight 335 that it takes at 1024.
#[test]
fn eevdf_new_weight_rescales_the_deadline_since_7_2() {
    for rules in ALL {
        let (mut queue, long, _) = two(PARAMS, rules, 20 * MS, 20 * MS);
        let left = queue.es[long].deadline - queue.es[long].vruntime;
        let _ = queue.rq.set_user_nice(&mut queue.es, queue.now, long, 5, false);
        let now_left = queue.es[long].deadline - queue.es[long].vruntime;
        let expected = if rules == EevdfRules::V6_12 { left } else { left * 1024 / 335 };
        assert_eq!(now_left, expected, "{rules:?}");
    }
}

/// A task that was only changed keeps its protection since 7.2; 6.12 renews it.
#[test]
fn eevdf_change_does_not_renew_the_protection_since_7_2() {
    for rules in ALL {
        let (mut queue, long, _) = two(PARAMS, rules, 20 * MS, MS);
        let protected = queue.es[long].vprot;
        let _ = queue.pass(500_000);
        let _ = queue.rq.set_custom_slice(&mut queue.es, queue.now, long, 30 * MS);
        let renewed = queue.es[long].vprot != protected;
        let deadline_moved = queue.es[long].deadline == queue.es[long].vprot;
        assert_eq!((renewed || deadline_moved, queue.rq.curr()), (rules == EevdfRules::V6_12, Some(long)), "{rules:?}");
    }
}

/// The task with the shorter slice joins with the later deadline, so it is not picked. 7.3 nevertheless ends the
/// protection, because the task is eligible, and makes it the next buddy.
#[test]
fn eevdf_short_slice_that_is_eligible_is_next_in_7_3() {
    for rules in [EevdfRules::V7_2, EevdfRules::V7_3] {
        let mut queue = Queue::new(PARAMS, rules);
        let curr = queue.join(0, 4 * MS);
        queue.schedule(Prev::Runs);
        let _ = queue.pass(1_900_000);
        let first = queue.join(-20, 100 * MS);
        let short = queue.join(0, 3_900_000);
        let preempted = queue.preempt(short, WakeFlags::TTWU);
        assert!(queue.rq.entity_eligible(&queue.es, short));
        let marks = rules == EevdfRules::V7_3;
        assert_eq!(queue.rq.next().is_some(), marks, "{rules:?}, {curr:?} {first:?} {short:?}");
        assert_eq!(preempted.resched.asked(), marks, "{rules:?}");
        if marks {
            assert_eq!(queue.schedule(Prev::Runs).next, Some(short));
            assert_eq!(queue.rq.next(), None, "it has been picked");
        }
    }
}

/// A task that joins and does not preempt shortens the protection to its slice.
#[test]
fn eevdf_join_shortens_the_protection_since_7_2() {
    let params = EevdfParams { preempt_short: false, ..PARAMS };
    for rules in ALL {
        let mut queue = Queue::new(params, rules);
        let curr = queue.join(0, 20 * MS);
        queue.schedule(Prev::Runs);
        let before = queue.es[curr].vprot;
        let short = queue.join(0, MS);
        let Preempted { resched, .. } = queue.preempt(short, WakeFlags::TTWU);
        assert_eq!(resched, Resched::No, "{rules:?}: it is protected");
        let expected = if rules == EevdfRules::V6_12 { before } else { queue.es[curr].vruntime + MS };
        assert_eq!(queue.es[curr].vprot, expected, "{rules:?}");
    }
}

/// 7.3 computes the inverse weight from the weight: 2^32/820 is 5237764.9, which the table rounds up.
#[test]
fn eevdf_inverse_weight_is_rounded_down_in_7_3() {
    let ran = 3 * MS - 1;
    for (rules, inverse) in ALL.into_iter().zip([5_237_765u64, 5_237_765, 5_237_764]) {
        let mut queue = Queue::new(PARAMS, rules);
        let task = queue.join(1, 100 * MS);
        queue.schedule(Prev::Runs);
        let before = queue.es[task].vruntime;
        let _ = queue.pass(ran);
        let load = load_weight::LoadWeight { weight: 820, inv_weight: inverse as u32 };
        assert_eq!(queue.es[task].vruntime - before, load_weight::calc_delta_fair(ran, load), "{rules:?}");
    }
    let by = |inv_weight| load_weight::calc_delta_fair(100 * MS, load_weight::LoadWeight { weight: 820, inv_weight });
    assert_ne!(by(5_237_765), by(5_237_764), "the two differ");
}

/// A slice is clamped to 0.1 to 100 ms.
#[test]
fn eevdf_slice_is_clamped() {
    for rules in ALL {
        let mut queue = Queue::new(PARAMS, rules);
        let [low, high] = [1, 3_000 * MS].map(|slice| queue.join(0, slice));
        assert_eq!((queue.es[low].slice, queue.es[high].slice), (100_000, 100 * MS));
        let _ = queue.rq.set_custom_slice(&mut queue.es, queue.now, low, 101 * MS);
        assert_eq!((queue.es[low].slice, queue.es[low].custom_slice), (100 * MS, true));
        let _ = queue.rq.set_custom_slice(&mut queue.es, queue.now, low, 0);
        assert_eq!((queue.es[low].slice, queue.es[low].custom_slice), (3 * MS, false));
    }
}

/// 6.12 starts the hrtick for the rest of the slice. 7.2 starts it for the run time to the deadline, and longer under
/// interrupts.
#[test]
fn eevdf_hrtick_comes_at_the_end_of_the_slice_or_at_the_deadline() {
    for rules in ALL {
        let mut queue = Queue::new(EevdfParams { hrtick: true, ..PARAMS }, rules);
        let task = queue.join(5, 0);
        queue.schedule(Prev::Runs);
        assert_eq!(queue.rq.hrtick(&queue.es, 0), Hrtick::Off, "it is alone");
        queue.join(0, 0);
        let _ = queue.pass(MS);
        let left = queue.es[task].deadline - queue.es[task].vruntime;
        let expected = if rules.hrtick_at_deadline { left * 335 / 1024 } else { 2 * MS };
        assert_eq!(queue.rq.hrtick(&queue.es, 0), Hrtick::In(expected), "{rules:?}");
        let stretched = if rules.hrtick_at_deadline { expected * 2 } else { expected };
        assert_eq!(queue.rq.hrtick(&queue.es, 512), Hrtick::In(stretched));
        let _ = queue.pass(expected - 1);
        assert_eq!(queue.rq.hrtick(&queue.es, 0), Hrtick::In(10_000), "no shorter");
        if !rules.hrtick_at_deadline {
            // A deadline is renewed when it is reached, but a slice only at the next pick.
            let _ = queue.pass(2);
            assert_eq!(queue.rq.hrtick(&queue.es, 0), Hrtick::Over);
        }
    }
}

/// PARANOID_AVG: where the sum leaves 64 bits, weights lose bits, and V is still right. A task of weight 2^26.4 that
/// joins 2^36.6 ns ahead of one of the same weight is beyond 2^63.
#[test]
fn eevdf_paranoid_avg_keeps_v_where_the_sum_overflows() {
    for paranoid_avg in [false, true] {
        let mut queue = Queue::new(EevdfParams { paranoid_avg, ..PARAMS }, EevdfRules::V7_3);
        let curr = queue.join(-20, 0);
        queue.schedule(Prev::Runs);
        let ahead = queue.es.push(Entity::new(Policy::Normal, -20, 0));
        queue.es[ahead].vlag = -(3 << 34);
        let _ = queue.rq.enqueue_task(&mut queue.es, queue.now, ahead, EnqueueFlags::WAKEUP);
        assert_eq!(queue.es[ahead].vruntime - queue.es[curr].vruntime, 6 << 34, "twice its lag");
        let v = queue.rq.avg_vruntime(&queue.es).wrapping_sub(queue.es[curr].vruntime);
        assert_eq!(v == 3 << 34, paranoid_avg, "V is {v}");
        queue.rq.validate(&queue.es).unwrap();
    }
}

/// `if (in_task() && !entity_eligible(cfs_rq, se)) goto preempt_action RESCHED` (e837456fdca8): whatever the wakee, if
/// its slice is not shorter.
#[test]
fn eevdf_an_ineligible_waker_is_rescheduled_as_posted() {
    let rescheduled = |rules: EevdfRules, posted: bool, runs: u64, flags: WakeFlags| {
        let params = EevdfParams { resched_ineligible: posted, ..PARAMS };
        let (mut queue, long, _) = two(params, rules, 20 * MS, 20 * MS);
        let wakee = queue.join(0, 20 * MS);
        let _ = queue.pass(runs);
        let eligible = queue.rq.entity_eligible(&queue.es, long);
        (eligible, queue.preempt(wakee, flags).resched != Resched::No)
    };
    let task = WakeFlags::TTWU | IN_TASK;
    // It has run for longer than the others, and is protected for its slice. An interrupt's wake-up leaves it alone.
    assert_eq!(rescheduled(EevdfRules::V7_2, false, 2 * MS, task), (false, false));
    assert_eq!(rescheduled(EevdfRules::V7_2, true, 2 * MS, task), (false, true));
    assert_eq!(rescheduled(EevdfRules::V7_2, true, 2 * MS, WakeFlags::TTWU), (false, false));
    assert_eq!(rescheduled(EevdfRules::V7_3, true, 2 * MS, task), (false, true));
}

/// The first request of a new task is half as long since 6.12: before, the enqueue places it once more, as any task.
/// The parent is charged by `task_fork_fair()` up to 6.8.
#[test]
fn eevdf_a_new_task_is_enqueued_as_one_since_6_12() {
    for rules in [EevdfRules::V6_6, EevdfRules::V6_8, EevdfRules::V6_12, EevdfRules::V6_18] {
        let new = rules.initial_enqueue;
        assert_eq!(new, rules == EevdfRules::V6_12 || rules == EevdfRules::V6_18);
        // As FairRules::of() makes the parameters.
        let mut queue = Queue::new(EevdfParams { place_deadline_initial: new, ..PARAMS }, rules);
        let parent = queue.join(0, 0);
        queue.schedule(Prev::Runs);
        queue.now += MS;
        assert_eq!(queue.rq.task_fork(&mut queue.es, queue.now), Resched::No);
        assert_eq!(queue.es[parent].sum_exec_runtime, if new { 0 } else { MS });
        let child = queue.join(0, 0);
        let request = queue.es[child].deadline - queue.es[child].vruntime;
        assert_eq!(request, if new { 3 * MS / 2 } else { 3 * MS }, "{rules:?}");
    }
}

/// The features of 6.6 and 6.8 have PLACE_DEADLINE_INITIAL on, and the run queue does not act on it; NEXT_BUDDY lets
/// the pick take the buddy, which PICK_BUDDY does since.
#[test]
fn eevdf_parameters_follow_the_rules() {
    use wakelab_kernel::{Feature, Preset};
    use wakelab_sched::runqueue::FairRules;
    for (name, initial, picks) in [("v6.6", false, false), ("v6.8", false, false), ("v6.12", true, true)] {
        let preset = Preset::get(name).unwrap();
        let params = |next_buddy| {
            let features = preset.features.with(Feature::NEXT_BUDDY, next_buddy);
            match FairRules::of(preset, features, 1).unwrap() {
                FairRules::Eevdf(params, _) => (params.place_deadline_initial, params.pick_buddy, params.base_slice_ns),
                FairRules::Cfs(..) => unreachable!("{name} is EEVDF"),
            }
        };
        let slice = if picks { 700_000 } else { 750_000 };
        assert_eq!(params(false), (initial, picks, slice), "{name}");
        assert_eq!(params(true), (initial, true, slice), "{name}");
    }
}

/// A yield moves the deadline by a slice up to 6.8; later the rest of the request is given up.
#[test]
fn eevdf_a_yield_forfeits_since_6_12() {
    for rules in [EevdfRules::V6_6, EevdfRules::V6_8, EevdfRules::V6_12, EevdfRules::V6_18] {
        let (mut queue, long, _) = two(PARAMS, rules, 4 * MS, 4 * MS);
        let (vruntime, deadline) = (queue.es[long].vruntime, queue.es[long].deadline);
        queue.rq.yield_task(&mut queue.es, queue.now);
        let e = &queue.es[long];
        assert_eq!(e.deadline, deadline + 4 * MS, "{rules:?}");
        assert_eq!(e.vruntime, if rules.yield_forfeits { deadline } else { vruntime }, "{rules:?}");
    }
}

/// `if (cse_is_idle && !pse_is_idle) goto preempt`: 6.6 and 6.8 ask for a reschedule, and RUN_TO_PARITY lets the pick
/// take the protected task again. 6.12 cancels the protection. 6.8 asks even without WAKEUP_PREEMPTION.
#[test]
fn eevdf_an_idle_task_goes_for_another_since_6_12() {
    for (rules, goes, without) in [
        (EevdfRules::V6_6, false, false),
        (EevdfRules::V6_8, false, true),
        (EevdfRules::V6_12, true, false),
        (EevdfRules::V6_18, true, false),
    ] {
        let preempts = |wakeup_preemption| {
            let mut queue = Queue::new(EevdfParams { wakeup_preemption, ..PARAMS }, rules);
            let idle = queue.es.push(Entity::new(Policy::Idle, 0, 0));
            let _ = queue.rq.enqueue_task(&mut queue.es, queue.now, idle, EnqueueFlags::INITIAL);
            queue.schedule(Prev::Runs);
            let wakee = queue.join(0, 0);
            let asked = queue.preempt(wakee, WakeFlags::TTWU).resched != Resched::No;
            assert!(queue.rq.entity_eligible(&queue.es, idle), "{rules:?}");
            (asked, queue.schedule(Prev::Runs).next == Some(wakee))
        };
        assert_eq!(preempts(true), (true, goes), "{rules:?}");
        assert_eq!(preempts(false).0, without, "{rules:?}");
    }
}

/// 6.18 compares without the protection if the slice is shorter, and cuts the protection if that does not help; a task
/// with the same slice leaves it alone, and so does a buddy.
#[test]
fn eevdf_6_18_compares_where_7_2_picks() {
    let after = |rules, slice| {
        let mut queue = Queue::new(EevdfParams { next_buddy: true, ..PARAMS }, rules);
        let curr = queue.join(0, 20 * MS);
        queue.schedule(Prev::Runs);
        let _ = queue.pass(MS);
        let before = queue.es[curr].vprot;
        let wakee = queue.join(0, slice);
        let asked = queue.preempt(wakee, WakeFlags::TTWU).resched != Resched::No;
        (asked, queue.es[curr].vprot != before)
    };
    // The earlier deadline wins, and the protection is over.
    assert_eq!(after(EevdfRules::V6_18, MS), (true, true));
    // A request as long as that of the running task: protected, and left as it is.
    assert_eq!(after(EevdfRules::V6_18, 20 * MS), (false, false));
    assert_eq!(after(EevdfRules::V6_12, 20 * MS), (false, false));
    // In 7.2 the wakee is the next buddy, which a pick prefers to a protected task.
    assert!(after(EevdfRules::V7_2, 20 * MS).0);
}

/// `sched_setattr()` gives no slices before 6.12.
#[test]
fn eevdf_slices_of_their_own_since_6_12() {
    for rules in [EevdfRules::V6_6, EevdfRules::V6_8, EevdfRules::V6_12] {
        let mut queue = Queue::new(PARAMS, rules);
        let task = queue.join(0, 0);
        assert_eq!(queue.rq.changes_slice(&queue.es, task, MS), rules.custom_slices);
        let _ = queue.rq.set_custom_slice(&mut queue.es, queue.now, task, MS);
        assert_eq!(queue.es[task].slice, if rules.custom_slices { MS } else { 3 * MS }, "{rules:?}");
    }
}
