//! From queues to CPUs: direct dispatch, the dispatch buffer, what a CPU runs next, and who hears of it.

use crate::support::{KERNELS, PINNED, Script, message, pick, rescheds, run, settle, wake, with_tasks};
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::entity::{Curr, Dsq};
use wakelab_scx_core::ext::{Ext, LineCost, Request};
use wakelab_scx_core::flags::*;
use wakelab_scx_core::ops::{Call, Op, TaskFields};

const P: TaskId = TaskId(0);
const Q: TaskId = TaskId(1);
const USER: u64 = 7;

#[test]
fn a_wakee_for_another_cpus_local_queue_gets_there_at_the_end_of_the_wake_up() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 1);
        ops.does(|ops, ext, call| {
            let Call::Enqueue { p, .. } = call else { return 0 };
            ext.dsq_insert(ops, p, SCX_DSQ_LOCAL_ON | 3, SCX_SLICE_DFL, None, 0);
            0
        });
        // The waker is on CPU 1, and the run queue that of CPU 2.
        ext.this_cpu = 1;
        ext.enqueue_task(&mut ops, 2, P, SCX_ENQ_WAKEUP);
        assert!(ext.task(P).dsq.is_none() && ext.has_deferred(1));
        settle(&mut ext, &mut ops);
        assert_eq!(ext.task(P).dsq.map(|(dsq, _)| dsq), Some(Dsq::Local(3)));
        let requests = ext.take_requests();
        assert_eq!(requests[0], Request::Moved { task: P, from: 2, to: 3 });
        assert!(requests.contains(&Request::Resched(3)));
        assert_eq!((ext.rqs[2].nr_running, ext.rqs[3].nr_running), (0, 1));
        assert!(!ext.has_deferred(1));
    }
}

#[test]
fn a_task_that_sleeps_before_it_gets_there_is_forgotten() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 1);
    ops.does(|ops, ext, call| {
        let Call::Enqueue { p, .. } = call else { return 0 };
        ext.dsq_insert(ops, p, SCX_DSQ_LOCAL_ON | 3, SCX_SLICE_DFL, None, 0);
        0
    });
    ext.enqueue_task(&mut ops, 2, P, SCX_ENQ_WAKEUP);
    ext.dequeue_task(&mut ops, 2, P, SCX_DEQ_SLEEP);
    settle(&mut ext, &mut ops);
    assert!(ext.task(P).dsq.is_none() && ext.rqs[3].local_dsq.is_empty());
    assert_eq!(ext.task(P).ddsp_dsq_id, SCX_DSQ_INVALID);
}

/// The flags of all `ops.dequeue()` since the last time.
fn dequeues(ops: &mut crate::support::Script) -> Vec<u64> {
    let flags = |call| if let Call::Dequeue { deq_flags, .. } = call { deq_flags } else { unreachable!() };
    ops.take(&[Op::Dequeue]).into_iter().map(flags).collect()
}

#[test]
fn dequeue_is_called_when_custody_ends_and_before_7_1_only_for_what_is_on_no_queue() {
    for rules in KERNELS {
        let custody = rules.dequeue_on_custody;
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::Dequeue, Op::Dispatch, Op::Quiescent], 0, 1);
        ext.create_dsq(USER);
        let to = |dsq: Option<u64>| {
            move |ops: &mut Script, ext: &mut Ext, call| {
                match call {
                    Call::Enqueue { p, .. } => {
                        dsq.into_iter().for_each(|dsq| {
                            ext.dsq_insert(ops, p, dsq, SCX_SLICE_DFL, None, 0);
                        });
                    }
                    Call::Dispatch { .. } if dsq.is_none() => {
                        ext.dsq_insert(ops, P, SCX_DSQ_LOCAL, SCX_SLICE_DFL, None, 0);
                    }
                    Call::Dispatch { .. } => {
                        ext.dsq_move_to_local(ops, USER, 0);
                    }
                    _ => {}
                }
                0
            }
        };
        // Dispatched at once: it was never the scheduler's.
        for dsq in [SCX_DSQ_LOCAL, SCX_DSQ_GLOBAL] {
            ops.does(to(Some(dsq)));
            wake(&mut ext, &mut ops, 0, 0);
            ext.dequeue_task(&mut ops, 0, P, SCX_DEQ_SLEEP);
            assert_eq!(dequeues(&mut ops), []);
        }
        // In the scheduler's own hands, or on a queue of it: it sleeps, changes, or is dispatched.
        for dsq in [None, Some(USER)] {
            ops.does(to(dsq));
            let told = custody || dsq.is_none();
            wake(&mut ext, &mut ops, 0, 0);
            assert_eq!(dequeues(&mut ops), []);
            ext.dequeue_task(&mut ops, 0, P, SCX_DEQ_SLEEP);
            assert_eq!(dequeues(&mut ops), if told { vec![SCX_DEQ_SLEEP] } else { vec![] });
            wake(&mut ext, &mut ops, 0, 0);
            ext.dequeue_task(&mut ops, 0, P, 2);
            let change = if custody { 2 | SCX_DEQ_SCHED_CHANGE } else { 2 };
            assert!(ops.calls.contains(&Call::Quiescent { p: P, deq_flags: change }));
            assert_eq!(dequeues(&mut ops), if told { vec![change] } else { vec![] });
            // CPU 1 takes it: the call is of the CPU to which it went.
            wake(&mut ext, &mut ops, 0, 0);
            assert_eq!(pick(&mut ext, &mut ops, 1), Some(0));
            assert_eq!(dequeues(&mut ops), if custody { vec![0] } else { vec![] });
            ext.dequeue_task(&mut ops, 1, P, SCX_DEQ_SLEEP);
            assert_eq!(pick(&mut ext, &mut ops, 1), None);
            assert_eq!(dequeues(&mut ops), []);
            ext.set_task_cpu(P, 0);
        }
    }
}

#[test]
fn the_last_task_goes_on_unless_the_scheduler_takes_it_back() {
    for rules in KERNELS {
        for flags in [0, SCX_OPS_ENQ_LAST] {
            let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::Dispatch, Op::Stopping], flags, 1);
            run(&mut ext, &mut ops, 0, 0);
            ops.set_slice(P, 0);
            ops.does(|ops, ext, call| {
                let Call::Enqueue { p, enq_flags } = call else { return 0 };
                ext.dsq_insert(ops, p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, None, enq_flags);
                0
            });
            let picked = pick(&mut ext, &mut ops, 0);
            let calls = ops.take(&[Op::Enqueue, Op::Stopping]);
            if flags == 0 {
                assert_eq!((picked, ops.slice(P), calls.len()), (Some(0), SCX_SLICE_DFL, 0));
                assert_eq!(ext.stats.dispatch_keep_last, 1);
                continue;
            }
            assert_eq!(picked, None);
            let last = Call::Enqueue { p: P, enq_flags: SCX_ENQ_LAST };
            assert_eq!(calls, [Call::Stopping { p: P, runnable: true }, last]);
            assert_eq!(ext.task(P).dsq.map(|(dsq, _)| dsq), Some(Dsq::Local(0)));
            let again = ext.take_requests().contains(&Request::ReschedNext(0));
            assert_eq!(again, rules.enq_last_resched);
        }
    }
}

#[test]
fn a_slice_that_dispatch_refills_comes_before_what_it_dispatched() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::Dispatch], 0, 2);
        run(&mut ext, &mut ops, 0, 0);
        wake(&mut ext, &mut ops, 1, 0);
        ops.set_slice(P, 0);
        ops.does(|ops, ext, call| {
            if let Call::Dispatch { prev, .. } = call {
                assert_eq!(prev, Some(P));
                ext.dsq_insert(ops, Q, SCX_DSQ_LOCAL, 5, None, 0);
                ops.set_slice(P, 9);
            }
            0
        });
        assert_eq!((pick(&mut ext, &mut ops, 0), ops.slice(P)), (Some(0), 9));
        assert_eq!(ext.rqs[0].local_dsq.first(), Some(Q));
        // A CPU that is preempted keeps its task at the head of its local queue, and ops.enqueue() is not called.
        ops.take(&[]);
        ext.preempted_by_class(&mut ops, 0, 0);
        assert_eq!(ext.rqs[0].local_dsq.iter().collect::<Vec<_>>(), [P, Q]);
        assert_eq!(ops.take(&[Op::Enqueue]), []);
    }
}

#[test]
fn a_dispatch_of_a_task_that_was_enqueued_anew_since_is_void() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue, Op::Dispatch], 0, 1);
    wake(&mut ext, &mut ops, 0, 0);
    let mut first = true;
    ops.does(move |ops, ext, call| {
        if let Call::Dispatch { .. } = call
            && std::mem::take(&mut first)
        {
            ext.dsq_insert(ops, P, SCX_DSQ_LOCAL, 5, None, 0);
            // As another CPU might, meanwhile.
            ext.dequeue_task(ops, 0, P, 0);
            ext.enqueue_task(ops, 0, P, 0);
        }
        0
    });
    assert_eq!(pick(&mut ext, &mut ops, 0), None);
    // It looks again, as the buffer was not empty.
    assert_eq!(ops.take(&[Op::Dispatch]).len(), 2);
    assert!(ext.task(P).dsq.is_none());
}

#[test]
fn dispatch_is_called_32_times_at_most_and_the_cpu_then_starts_anew() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::Dispatch], 0, 1);
        ops.does(|ops, ext, call| {
            if let Call::Dispatch { .. } = call {
                ext.dsq_insert(ops, P, SCX_DSQ_LOCAL, 5, None, 0);
            }
            0
        });
        assert_eq!(pick(&mut ext, &mut ops, 0), None);
        assert_eq!(ops.take(&[Op::Dispatch]).len(), 32);
        assert_eq!(rescheds(&mut ext), [0]);
    }
}

#[test]
fn a_cpu_takes_the_first_task_that_may_run_there() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[], 0, 0);
        for (p, mask) in [(0, PINNED + 3), (1, 0), (2, 0)] {
            ext.init_task(&mut ops, TaskId(p), if mask == 0 { 0 } else { 3 }, mask, 1024, true);
            wake(&mut ext, &mut ops, p, if mask == 0 { 0 } else { 3 });
        }
        assert_eq!(pick(&mut ext, &mut ops, 1), Some(1));
        assert_eq!(pick(&mut ext, &mut ops, 3), Some(0));
        assert_eq!(pick(&mut ext, &mut ops, 0), Some(2));
        assert_eq!(ext.stats.remote, 1);
    }
}

#[test]
fn a_task_that_moves_loses_high_flags_before_7_2() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::Dispatch], 0, 2);
        run(&mut ext, &mut ops, 0, 3);
        ops.does(|ops, ext, call| {
            let Call::Enqueue { p, .. } = call else { return 0 };
            ext.dsq_insert(ops, p, SCX_DSQ_LOCAL_ON | 3, SCX_SLICE_DFL, None, SCX_ENQ_PREEMPT);
            0
        });
        wake(&mut ext, &mut ops, 1, 0);
        let preempts = !rules.enq_flags_truncated;
        assert_eq!((ops.slice(P) == 0, rescheds(&mut ext).contains(&3)), (preempts, preempts));
    }
}

#[test]
fn an_operation_sees_the_previous_task_on_the_cpu_until_the_switch() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Running, Op::Stopping, Op::UpdateIdle], 0, 2);
        run(&mut ext, &mut ops, 0, 0);
        wake(&mut ext, &mut ops, 1, 0);
        ops.set_slice(P, 0);
        ops.does(|_, ext, _| {
            assert_eq!(ext.rqs[0].curr, Curr::Ext(P));
            0
        });
        assert_eq!(pick(&mut ext, &mut ops, 0), Some(1));
        assert_eq!(ops.take(&[Op::Running, Op::Stopping]).len(), 2);
    }
}

#[test]
fn a_cpu_says_that_it_is_busy_before_its_task_runs() {
    for rules in KERNELS {
        let ops_of = [Op::Running, Op::Stopping, Op::UpdateIdle, Op::Quiescent];
        let (mut ext, mut ops) = with_tasks(rules, &ops_of, SCX_OPS_KEEP_BUILTIN_IDLE, 1);
        let masks_first = rules.idle_masks_first;
        ops.does(move |_, ext, call| {
            if let Call::UpdateIdle { cpu, idle } = call {
                assert_eq!(ext.idle.masks(0).0.test(cpu), if masks_first { idle } else { !idle });
            }
            0
        });
        wake(&mut ext, &mut ops, 0, 0);
        assert_eq!(pick(&mut ext, &mut ops, 0), Some(0));
        assert_eq!(ops.take(&ops_of), [Call::UpdateIdle { cpu: 0, idle: false }, Call::Running { p: P }]);
        ext.dequeue_task(&mut ops, 0, P, SCX_DEQ_SLEEP);
        assert_eq!(pick(&mut ext, &mut ops, 0), None);
        let quiescent = Call::Quiescent { p: P, deq_flags: SCX_DEQ_SLEEP };
        let stopping = Call::Stopping { p: P, runnable: false };
        assert_eq!(ops.take(&ops_of), [stopping, quiescent, Call::UpdateIdle { cpu: 0, idle: true }]);
        // Idle to idle only refreshes the masks.
        ext.idle.test_and_clear(0);
        assert_eq!(pick(&mut ext, &mut ops, 0), None);
        assert!(ext.idle.masks(0).0.test(0));
        assert_eq!(ops.take(&ops_of), []);
    }
}

#[test]
fn classes_above_are_told_of_once_and_only_if_they_preempt() {
    for rules in KERNELS {
        let of = [Op::CpuAcquire, Op::CpuRelease];
        let (mut ext, mut ops) = with_tasks(rules, &of, 0, 1);
        ext.preempted_by_class(&mut ops, 0, 0);
        assert_eq!(ops.take(&of), [], "the CPU was idle");
        assert_eq!(pick(&mut ext, &mut ops, 0), None);
        run(&mut ext, &mut ops, 0, 0);
        ext.preempted_by_class(&mut ops, 0, 1);
        ext.preempted_by_class(&mut ops, 0, 1);
        assert_eq!(ops.take(&of), [Call::CpuRelease { cpu: 0, reason: 1 }]);
        assert_eq!(pick(&mut ext, &mut ops, 0), Some(0));
        assert_eq!(ops.take(&of), [Call::CpuAcquire { cpu: 0 }]);
    }
}

#[test]
fn a_task_that_has_to_run_at_once_and_cannot_comes_back() {
    for rules in KERNELS {
        let knows = u64::from(rules.ops_flags) & SCX_OPS_ALWAYS_ENQ_IMMED != 0;
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 3);
        ext.create_dsq(USER);
        let enqueue = |ops: &mut crate::support::Script| {
            ops.does(|ops, ext, call| {
                let Call::Enqueue { p, enq_flags } = call else { return 0 };
                if enq_flags & SCX_ENQ_REENQ != 0 {
                    assert_eq!(ext.task(p).reenq_reason, SCX_TASK_REENQ_IMMED);
                    ext.dsq_insert(ops, p, USER, SCX_SLICE_DFL, None, 0);
                } else {
                    ext.dsq_insert(ops, p, SCX_DSQ_LOCAL_ON | 1, SCX_SLICE_DFL, None, SCX_ENQ_IMMED);
                }
                0
            });
        };
        // The CPU is idle.
        enqueue(&mut ops);
        wake(&mut ext, &mut ops, 0, 1);
        assert_eq!(ext.rqs[1].local_dsq.nr(), 1);
        assert_eq!(pick(&mut ext, &mut ops, 1), Some(0));
        // It is busy.
        wake(&mut ext, &mut ops, 1, 0);
        assert_eq!(ext.dsq_nr_queued(USER), i64::from(knows));
        assert_eq!(ext.rqs[1].local_dsq.nr(), u32::from(!knows));
        assert_eq!(ext.rqs[1].nr_immed, 0);
        assert_eq!(message(&ext), "");
        // A higher class takes the CPU of one that runs: it does not wait there.
        let was = ext.task(P).immed;
        assert_eq!(was, knows);
        ops.does(|ops, ext, call| {
            if let Call::Enqueue { p, enq_flags } = call {
                assert_eq!((enq_flags, ext.task(p).reenq_reason), (SCX_ENQ_REENQ, SCX_TASK_REENQ_PREEMPTED));
                ext.dsq_insert(ops, p, USER, 0, None, 0);
            }
            0
        });
        ext.preempted_by_class(&mut ops, 1, 0);
        assert_eq!(ext.task(P).dsq.map(|(dsq, _)| dsq), Some(if knows { Dsq::User(USER) } else { Dsq::Local(1) }));
    }
}

#[test]
fn queues_are_given_back_when_the_scheduler_asks() {
    for dsq in [SCX_DSQ_LOCAL_ON | 1, USER] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue, Op::Dequeue], 0, 3);
        ext.create_dsq(USER);
        let seen = std::rc::Rc::new(std::cell::Cell::new(0));
        let count = seen.clone();
        ops.does(move |ops, ext, call| {
            let Call::Enqueue { p, enq_flags } = call else { return 0 };
            let again = enq_flags & SCX_ENQ_REENQ != 0;
            assert_eq!(ext.task(p).reenq_reason, if again { SCX_TASK_REENQ_KFUNC } else { 0 });
            count.set(count.get() + u32::from(again));
            ext.dsq_insert(ops, p, if again { SCX_DSQ_GLOBAL } else { dsq }, 5, None, 0);
            0
        });
        (0..3).for_each(|p| wake(&mut ext, &mut ops, p, 1));
        ext.dsq_reenq(dsq, 0);
        assert_eq!(seen.get(), 0, "soon, not now");
        settle(&mut ext, &mut ops);
        assert_eq!((seen.get(), ext.dsq_nr_queued(dsq)), (3, 0));
        // Those of the scheduler's queue leave its custody only now, and those of the local queue did so before.
        assert_eq!(dequeues(&mut ops).len(), if dsq == USER { 3 } else { 0 });
        assert_eq!(message(&ext), "");
    }
    for (dsq, flags, expected) in [
        (SCX_DSQ_GLOBAL, 0, "DSQ 0x8000000000000001 not allowed for reenq"),
        (9, 0, "non-existent DSQ 0x9"),
        (USER, 2, "invalid SCX_REENQ flags 0x2"),
        (SCX_DSQ_LOCAL_ON | 4, 0, "invalid CPU 4 in SCX_DSQ_LOCAL_ON dispatch verdict"),
    ] {
        let (mut ext, _) = with_tasks(ExtRules::V7_2, &[], 0, 0);
        ext.dsq_reenq(dsq, flags);
        assert_eq!(message(&ext), expected);
    }
}

#[test]
fn cpu_release_gives_the_local_queue_back_at_once() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::CpuRelease], 0, 3);
        run(&mut ext, &mut ops, 0, 0);
        let local = |ops: &mut crate::support::Script, ext: &mut wakelab_scx_core::ext::Ext, call| match call {
            Call::Enqueue { p, .. } => i64::from(ext.dsq_insert(ops, p, SCX_DSQ_LOCAL, 5, None, 0)),
            Call::CpuRelease { .. } => {
                assert_eq!(ext.reenqueue_local(ops), 2);
                0
            }
            _ => 0,
        };
        ops.does(local);
        wake(&mut ext, &mut ops, 1, 0);
        ops.take(&[]);
        // The preempted task, and the one that waited: calls within the call are written down, and do nothing.
        ext.preempted_by_class(&mut ops, 0, 0);
        let again = |p| Call::Enqueue { p: TaskId(p), enq_flags: SCX_ENQ_REENQ };
        assert_eq!(ops.take(&[Op::Enqueue]), [again(0), again(1)]);
        assert!(ext.rqs[0].local_dsq.is_empty());
        assert_eq!(ext.reenqueue_local(&mut ops), 0);
        assert!(!message(&ext).is_empty(), "it is for ops.cpu_release()");
    }
}

#[test]
fn a_task_that_goes_back_to_a_busy_cpu_for_ever_ends_the_scheduler() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], SCX_OPS_ALWAYS_ENQ_IMMED, 2);
    run(&mut ext, &mut ops, 0, 1);
    ops.does(|ops, ext, call| {
        let Call::Enqueue { p, .. } = call else { return 0 };
        i64::from(ext.dsq_insert(ops, p, SCX_DSQ_LOCAL, 5, None, 0))
    });
    wake(&mut ext, &mut ops, 1, 1);
    assert_eq!(message(&ext), "SCX_ENQ_REENQ on SCX_DSQ_LOCAL repeated 257 times");
}

#[test]
fn the_time_of_an_operation_is_without_that_of_operations_that_it_calls() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue, Op::Dequeue, Op::Dispatch, Op::Tick], 0, 2);
    ext.create_dsq(USER);
    ops.takes = |op| match op {
        Op::Dispatch => 100,
        Op::Dequeue => 7,
        _ => 20,
    };
    ops.does(|ops, ext, call| {
        match call {
            Call::Enqueue { p, enq_flags } => _ = ext.dsq_insert(ops, p, USER, SCX_SLICE_DFL, None, enq_flags),
            // Whom it moves leaves the scheduler's custody.
            Call::Dispatch { .. } => _ = ext.dsq_move_to_local(ops, USER, 0),
            _ => {}
        }
        0
    });
    for p in [0, 1] {
        wake(&mut ext, &mut ops, p, 0);
    }
    assert_eq!(pick(&mut ext, &mut ops, 0), Some(0));
    let times: Vec<(Op, u64, u64)> = ext.op_times().map(|(op, time)| (op, time.calls, time.ns)).collect();
    let expected = [(Op::Enqueue, 2, 40), (Op::Dequeue, 1, 7), (Op::Dispatch, 1, 100), (Op::Tick, 0, 0)];
    assert_eq!(times, expected);
    assert_eq!(ext.take_spent(), 147);
}

/// Each time that another CPU had the lock last, two lines come from there; who waits for the lock waits for that, too.
#[test]
fn the_lines_of_a_queue_come_from_the_cpu_that_had_it_last() {
    let (ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 6);
    let mut ext = ext.with_line_cost(LineCost::new(|from, to| 10 * u64::from(from.abs_diff(to))));
    ext.create_dsq(USER);
    ops.does(|ops, ext, call| {
        if let Call::Enqueue { p, enq_flags } = call {
            ext.dsq_insert(ops, p, USER, SCX_SLICE_DFL, None, enq_flags);
        }
        0
    });
    let mut spent = |now, cpu, p| {
        (ext.now, ext.this_cpu) = (now, cpu);
        wake(&mut ext, &mut ops, p, 0);
        ext.take_spent()
    };
    assert_eq!([spent(0, 0, 0), spent(0, 0, 1)], [0, 0], "nobody had it before, or the CPU itself");
    assert_eq!(spent(1000, 2, 2), 40, "from CPU 0");
    assert_eq!(spent(1010, 3, 3), 30 + 20, "CPU 2 has it for 30 ns more");
    assert_eq!(spent(2000, 3, 4), 0);
    assert_eq!(spent(2000, 0, 5), 60, "from CPU 3");
}
