//! Tasks join, change and leave; CPUs that forget them are found.

use crate::support::{KERNELS, PINNED, ext, message, pick, rescheds, run, wake, with_tasks};
use std::cell::RefCell;
use std::rc::Rc;
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::entity::Curr;
use wakelab_scx_core::ext::Joins;
use wakelab_scx_core::flags::*;
use wakelab_scx_core::ops::{Call, ExitKind, Op, Priorities, TaskFields};

const P: TaskId = TaskId(0);

#[test]
fn tasks_are_initialized_then_enabled_and_those_of_another_class_hear_of_their_affinity() {
    let of = [Op::InitTask, Op::Enable, Op::SetWeight, Op::SetCpumask, Op::Disable, Op::ExitTask];
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &of, 0, 0);
        ext.init_task(&mut ops, P, 0, 0, 335, true);
        let joined = [Call::InitTask { p: P, fork: true }, Call::Enable { p: P }, Call::SetWeight { p: P, weight: 33 }];
        assert_eq!((ops.take(&of), ops.slice(P)), (joined.to_vec(), SCX_SLICE_DFL));
        ext.prepare_task(&mut ops, P, 0, 0, 1024, false);
        assert_eq!(ops.take(&of), [Call::InitTask { p: P, fork: false }]);
        ext.enable_task(&mut ops, P, true);
        let enabled = [Call::Enable { p: P }, Call::SetWeight { p: P, weight: 100 }, Call::SetCpumask { p: P }];
        assert_eq!((ops.take(&of), ops.slice(P)), (enabled.to_vec(), u64::from(rules.enable_slice)));
        ops.set_dsq_vtime(P, 9);
        ext.exit_task(&mut ops, P);
        assert_eq!(ops.take(&of), [Call::Disable { p: P }, Call::ExitTask { p: P }]);
        let kept = if rules.disable_clears { (0, 0) } else { (u64::from(rules.enable_slice), 9) };
        assert_eq!((ops.slice(P), ops.dsq_vtime(P)), kept);
        ext.exit_task(&mut ops, P);
        ext.reweight_task(&mut ops, P, 15);
        assert_eq!(ops.take(&of), [], "it has gone");
        assert_eq!(ops.removed, [P], "once");
    }
}

#[test]
fn a_task_is_removed_whether_the_scheduler_has_exit_task_or_not() {
    for of in [&[][..], &[Op::ExitTask]] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, of, 0, 1);
        ext.exit_task(&mut ops, P);
        assert_eq!((ops.take(of).len(), &ops.removed[..]), (of.len(), &[P][..]));
    }
}

#[test]
fn exiting_tasks_go_to_the_local_queue_unless_they_were_dispatched_or_are_asked_for() {
    for (flags, asked) in [(0, 0), (SCX_OPS_ENQ_EXITING, 1)] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue, Op::SelectCpu], flags, 1);
        ext.exiting(&mut ops, 0, P, 0);
        wake(&mut ext, &mut ops, 0, 1);
        assert_eq!(ops.take(&[Op::Enqueue]).len(), asked);
        assert_eq!(ext.rqs[1].local_dsq.nr(), u32::from(asked == 0));
        ext.dequeue_task(&mut ops, 1, P, SCX_DEQ_SLEEP);
        ops.does(|ops, ext, call| {
            if let Call::SelectCpu { p, .. } = call {
                ext.dsq_insert(ops, p, SCX_DSQ_LOCAL, 5, None, 0);
            }
            3
        });
        assert_eq!(ext.select_task_rq(&mut ops, P, 1, SCX_WAKE_TTWU), 3);
        wake(&mut ext, &mut ops, 0, 3);
        assert_eq!((ext.rqs[3].local_dsq.nr(), ops.slice(P)), (1, 5));
        assert_eq!(ops.take(&[Op::Enqueue]), []);
    }
}

/// The operations that hear of a task on a run queue.
const STATES: [Op; 7] =
    [Op::Enqueue, Op::Dequeue, Op::Runnable, Op::Running, Op::Stopping, Op::Quiescent, Op::SetCpumask];

#[test]
fn a_task_that_exits_is_taken_off_its_run_queue_and_put_back() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &STATES, 0, 1);
        run(&mut ext, &mut ops, 0, 2);
        ext.exiting(&mut ops, 2, P, 5_000);
        // DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK
        let (enq_flags, change) = (14, if rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 });
        let expected = [
            Call::Stopping { p: P, runnable: false },
            Call::Quiescent { p: P, deq_flags: enq_flags | change },
            Call::Runnable { p: P, enq_flags },
            Call::Running { p: P },
        ];
        assert_eq!(ops.take(&STATES), expected);
        // It goes on, and is asked to reschedule (sched_move_task()).
        assert_eq!((ext.rqs[2].curr, rescheds(&mut ext)), (Curr::Ext(P), vec![2]));
        assert_eq!((ext.rqs[2].nr_running, ext.rqs[2].local_dsq.nr()), (1, 0));
        assert_eq!(ops.slice(P), SCX_SLICE_DFL - 5_000);
        assert_eq!(pick(&mut ext, &mut ops, 2), Some(0));
    }
}

#[test]
fn a_task_hears_of_its_affinity_off_its_run_queue() {
    for rules in KERNELS {
        let change = if rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 };
        // DEQUEUE_SAVE | DEQUEUE_NOCLOCK
        let (enq_flags, deq_flags) = (10, 10 | change);
        let (mut ext, mut ops) = with_tasks(rules, &STATES, 0, 1);
        run(&mut ext, &mut ops, 0, 2);
        ext.setaffinity(&mut ops, 2, P, PINNED + 2, 0);
        let expected = [
            Call::Stopping { p: P, runnable: false },
            Call::Quiescent { p: P, deq_flags },
            Call::SetCpumask { p: P },
            Call::Runnable { p: P, enq_flags },
            Call::Running { p: P },
        ];
        assert_eq!((ops.take(&STATES), rescheds(&mut ext)), (expected.into(), vec![]));
        // One that the scheduler holds is taken from it, and given back.
        let (mut ext, mut ops) = with_tasks(rules, &STATES, 0, 1);
        wake(&mut ext, &mut ops, 0, 2);
        ops.calls.clear();
        ext.setaffinity(&mut ops, 2, P, PINNED, 0);
        let expected = [
            Call::Dequeue { p: P, deq_flags },
            Call::Quiescent { p: P, deq_flags },
            Call::SetCpumask { p: P },
            Call::Runnable { p: P, enq_flags },
            Call::Enqueue { p: P, enq_flags },
        ];
        assert_eq!(ops.take(&STATES), expected);
        assert_eq!(ext.cpus_ptr(P).weight(), 1);
    }
}

/// `enqueue_task()` and `dequeue_task()` leave `sched_info` alone where a task comes back at once (DEQUEUE_SAVE).
#[test]
fn a_change_is_no_wait_and_no_arrival() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &STATES, 0, 2);
        ext.now = 1_000;
        run(&mut ext, &mut ops, 0, 2);
        wake(&mut ext, &mut ops, 1, 0);
        let before = [0, 1].map(|p| ext.task(TaskId(p)).sched_info);
        assert_eq!((before[0].last_arrival, before[1].last_queued), (1_000, Some(1_000)));
        ops.does(move |_, ext, _| {
            assert_eq!([0, 1].map(|p| ext.task(TaskId(p)).sched_info), before);
            0
        });
        ext.now = 5_000;
        ext.setaffinity(&mut ops, 2, P, PINNED + 2, 4_000);
        ext.setaffinity(&mut ops, 0, TaskId(1), PINNED, 4_000);
        assert_eq!([0, 1].map(|p| ext.task(TaskId(p)).sched_info), before);
    }
}

/// `do_set_cpus_allowed()` of a task that runs or waits, its sleep, and `do_task_dead()`.
#[test]
fn a_task_is_not_asleep_while_it_is_changed() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &STATES, 0, 2);
        let seen = Rc::new(RefCell::new(Vec::new()));
        let states = Rc::clone(&seen);
        ops.does(move |_, ext, call| {
            if let Call::Stopping { p, .. } | Call::Dequeue { p, .. } | Call::Quiescent { p, .. } = call {
                states.borrow_mut().push(ext.task(p).state);
            } else if let Call::SetCpumask { p } = call {
                assert_eq!(ext.task(p).state, TASK_RUNNING);
            }
            0
        });
        wake(&mut ext, &mut ops, 1, 2);
        ext.setaffinity(&mut ops, 2, TaskId(1), PINNED + 2, 0);
        run(&mut ext, &mut ops, 0, 1);
        ext.setaffinity(&mut ops, 1, P, PINNED + 1, 0);
        assert_eq!(seen.take(), [TASK_RUNNING; 4]);
        ext.dequeue_task(&mut ops, 1, P, SCX_DEQ_SLEEP);
        assert_eq!((seen.take(), ext.task(P).state), (vec![TASK_INTERRUPTIBLE; 2], TASK_INTERRUPTIBLE));
        assert_eq!(pick(&mut ext, &mut ops, 1), None);
        run(&mut ext, &mut ops, 0, 1);
        ext.exiting(&mut ops, 1, P, 0);
        assert_eq!((seen.take(), ext.task(P).state), (vec![TASK_RUNNING; 2], TASK_RUNNING));
        ext.dequeue_task(&mut ops, 1, P, SCX_DEQ_SLEEP);
        assert_eq!((seen.take(), ext.task(P).state), (vec![TASK_DEAD; 2], TASK_DEAD));
    }
}

#[test]
fn a_task_hears_of_its_nice_value_off_its_run_queue() {
    for rules in KERNELS {
        let with = [&STATES[..], &[Op::SetWeight]].concat();
        let (mut ext, mut ops) = with_tasks(rules, &with, 0, 1);
        run(&mut ext, &mut ops, 0, 2);
        let nicer = Priorities { prio: 125, static_prio: 125, ..Priorities::NORMAL };
        ext.set_user_nice(&mut ops, 2, P, nicer, 335, 5_000);
        // DEQUEUE_SAVE | DEQUEUE_NOCLOCK
        let (enq_flags, change) = (10, if rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 });
        let expected = [
            Call::Stopping { p: P, runnable: false },
            Call::Quiescent { p: P, deq_flags: enq_flags | change },
            Call::SetWeight { p: P, weight: 33 },
            Call::Runnable { p: P, enq_flags },
            Call::Running { p: P },
        ];
        assert_eq!((ops.take(&with), rescheds(&mut ext)), (expected.into(), vec![]));
        assert_eq!((ops.slice(P), ops.priorities), (SCX_SLICE_DFL - 5_000, vec![(P, nicer)]));
    }
}

/// `__sched_setscheduler()` of the running task to SCHED_FIFO, and back.
#[test]
fn a_task_leaves_the_class_for_another_and_comes_back_as_it_runs() {
    let fifo = Priorities { policy: 1, prio: 49, static_prio: 120 };
    for rules in KERNELS {
        let with = [&STATES[..], &[Op::Enable, Op::Disable, Op::SetWeight, Op::CpuRelease, Op::CpuAcquire]].concat();
        let (mut ext, mut ops) = with_tasks(rules, &with, 0, 2);
        run(&mut ext, &mut ops, 0, 2);
        ops.set_dsq_vtime(P, 9);
        let before = ops.slice(P);
        ext.switched_from(&mut ops, 2, P, fifo, 5_000);
        // DEQUEUE_SAVE | DEQUEUE_MOVE | DEQUEUE_NOCLOCK, and in 7.2 DEQUEUE_CLASS
        let flags = if rules.dequeue_on_custody { 0x4e } else { 0xe };
        let change = if rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 };
        let left = [
            Call::Stopping { p: P, runnable: false },
            Call::Quiescent { p: P, deq_flags: flags | change },
            Call::Disable { p: P },
        ];
        assert_eq!(ops.take(&with), left, "the scheduler is not told that it has lost the CPU");
        let kept = if rules.dequeue_on_custody { (0, 0) } else { (before - 5_000, 9) };
        assert_eq!((ops.slice(P), ops.dsq_vtime(P)), kept);
        assert_eq!((ext.rqs[2].curr, ext.rqs[2].above, ext.rqs[2].nr_running), (Curr::Above, Some(P), 0));
        assert_eq!((ops.priorities.as_slice(), ext.task(P).sum_exec_runtime), (&[(P, fifo)][..], 5_000));

        let joins = Joins { priorities: Priorities::NORMAL, weight: 335, mask: PINNED + 2, sum_exec_runtime: 7_000 };
        ext.switching_to(&mut ops, 2, P, joins, 9_000);
        let joined = [
            Call::Enable { p: P },
            Call::SetWeight { p: P, weight: 33 },
            Call::SetCpumask { p: P },
            Call::Runnable { p: P, enq_flags: flags },
            Call::Running { p: P },
        ];
        assert_eq!((ops.take(&with), ops.priorities.last()), (joined.into(), Some(&(P, Priorities::NORMAL))));
        assert_eq!((ops.slice(P), ops.dsq_vtime(P)), kept, "no slice is given before the next pick");
        assert_eq!((ext.rqs[2].curr, ext.rqs[2].nr_running, ext.cpus_ptr(P).weight()), (Curr::Ext(P), 1, 1));
        ext.update_curr(&mut ops, 2, 10_000);
        assert_eq!(ext.task(P).sum_exec_runtime, 8_000);
    }
}

#[test]
fn the_stopper_takes_a_task_to_another_cpu() {
    for rules in KERNELS {
        let with = [&STATES[..], &[Op::CpuRelease, Op::CpuAcquire]].concat();
        let (mut ext, mut ops) = with_tasks(rules, &with, 0, 2);
        run(&mut ext, &mut ops, 0, 2);
        ext.preempted_by_class(&mut ops, 2, SCX_CPU_PREEMPT_STOP);
        ext.move_queued_task(&mut ops, P, 0);
        let expected = [
            Call::Stopping { p: P, runnable: true },
            Call::CpuRelease { cpu: 2, reason: SCX_CPU_PREEMPT_STOP },
            Call::Enqueue { p: P, enq_flags: u64::from(rules.enq_migrated) },
        ];
        // The core had it in the local queue, so that no operation hears of its leave.
        assert_eq!(ops.take(&with), expected);
        assert_eq!((ext.task(P).cpu, ext.rqs[2].nr_running, ext.rqs[0].nr_running), (0, 0, 1));
        assert_eq!(ext.rqs[2].local_dsq.nr(), 0);
        assert_eq!(pick(&mut ext, &mut ops, 2), None);
        assert_eq!(ops.take(&with), [Call::CpuAcquire { cpu: 2 }]);
    }
}

#[test]
fn without_select_cpu_an_idle_cpus_local_queue_takes_the_wakee() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 1);
        ops.set_slice(P, 3);
        let cpu = ext.select_task_rq(&mut ops, P, 2, SCX_WAKE_TTWU);
        assert_eq!((cpu, ops.slice(P)), (2, SCX_SLICE_DFL));
        wake(&mut ext, &mut ops, 0, cpu);
        assert_eq!((ext.rqs[2].local_dsq.nr(), ops.take(&[Op::Enqueue]).len()), (1, 0));
        ext.dequeue_task(&mut ops, cpu, P, SCX_DEQ_SLEEP);
        (0..4).for_each(|cpu| {
            ext.idle.test_and_clear(cpu);
        });
        assert_eq!(ext.select_task_rq(&mut ops, P, 2, SCX_WAKE_TTWU), 2);
        wake(&mut ext, &mut ops, 0, 2);
        assert_eq!(ops.take(&[Op::Enqueue]).len(), 1);
    }
}

#[test]
fn the_watchdog_names_the_first_waiting_task_of_the_first_cpu() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 4);
    assert_eq!(ext.watchdog_interval(), 1_000_000_000);
    for (p, cpu, at) in [(0, 3, 1), (1, 2, 5), (2, 2, 6), (3, 2, 7)] {
        ext.now = at;
        ext.set_task_cpu(TaskId(p), cpu);
        wake(&mut ext, &mut ops, p, cpu);
    }
    // Task 1 is dequeued and enqueued, and is at the end of the list with the time when it began to wait.
    ext.dequeue_task(&mut ops, 2, TaskId(1), 0);
    ext.enqueue_task(&mut ops, 2, TaskId(1), 0);
    ext.name_task(TaskId(2), "spin");
    ext.now = 2_000_000_001;
    ext.check_for_timeouts();
    assert!(ext.exit().is_none());
    ext.now = 2_123_000_006;
    ext.check_for_timeouts();
    let exit = ext.exit().expect("a stall");
    assert_eq!((exit.kind, exit.cpu, exit.message.as_str()), (ExitKind::Stall, 2, "spin[3] failed to run for 2.123s"));
}

#[test]
fn running_tasks_do_not_wait() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[], 0, 1);
    wake(&mut ext, &mut ops, 0, 0);
    assert_eq!(pick(&mut ext, &mut ops, 0), Some(0));
    ext.now = 100_000_000_000;
    ext.check_for_timeouts();
    assert!(ext.exit().is_none());
}

#[test]
fn time_is_charged_up_to_the_slice_and_an_infinite_one_lasts() {
    for (slice, left) in [(10, 3), (7, 0), (5, 0), (SCX_SLICE_INF, SCX_SLICE_INF)] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[], 0, 1);
        wake(&mut ext, &mut ops, 0, 0);
        assert_eq!(pick(&mut ext, &mut ops, 0), Some(0));
        ops.set_slice(P, slice);
        ext.take_requests();
        ext.task_tick(&mut ops, 0, 7);
        assert_eq!((ops.slice(P), ext.task(P).sum_exec_runtime), (left, 7));
        assert_eq!(ext.take_requests().is_empty(), left != 0);
    }
}

#[test]
fn declarations_that_the_kernel_refuses() {
    let refuses = |rules, ops: &[Op], flags| {
        let ops = ops.to_vec();
        std::panic::catch_unwind(move || ext(rules, &ops, flags)).is_err()
    };
    assert!(refuses(ExtRules::V7_2, &[], SCX_OPS_ENQ_LAST));
    assert!(!refuses(ExtRules::V7_2, &[Op::Enqueue], SCX_OPS_ENQ_LAST));
    assert!(refuses(ExtRules::V6_12, &[], SCX_OPS_ENQ_MIGRATION_DISABLED), "a flag of 6.14");
    assert!(refuses(ExtRules::V7_2, &[Op::UpdateIdle], SCX_OPS_BUILTIN_IDLE_PER_NODE));
}

#[test]
fn pinned_tasks_get_their_cpu_if_it_is_idle() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 0);
    ext.init_task(&mut ops, P, 2, PINNED + 2, 1024, true);
    assert_eq!(ext.select_cpu_from_kfunc(P, 1, 0, None, 0), Err(wakelab_scx_core::idle::IdleError::Busy));
    assert_eq!(ext.select_cpu_from_kfunc(P, 2, 0, None, 0), Ok(2));
    assert_eq!(ext.select_cpu_from_kfunc(P, 2, 0, None, 0), Err(wakelab_scx_core::idle::IdleError::Busy));
    assert_eq!(message(&ext), "");
}
