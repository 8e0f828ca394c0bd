//! Schedulers end with the kernel's messages.

use crate::support::{KERNELS, PINNED, message, pick, wake, with_tasks};
use wakelab_kernel::{ExtRules, ExtSelectCpuKfunc};
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::{Ext, Request};
use wakelab_scx_core::flags::*;
use wakelab_scx_core::idle::IdleError;
use wakelab_scx_core::ops::{Call, Op};

const P: TaskId = TaskId(0);
const USER: u64 = 7;

/// How a scheduler ends whose `ops.enqueue()` inserts a task of CPU 0.
fn inserts(rules: ExtRules, dsq: u64, vtime: Option<u64>, flags: u64) -> String {
    let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 0);
    ext.name_task(P, "spin");
    ext.init_task(&mut ops, P, 0, PINNED, 1024, true);
    ext.create_dsq(USER);
    ops.does(move |ops, ext, call| {
        let Call::Enqueue { p, .. } = call else { return 0 };
        ext.dsq_insert(ops, p, dsq, SCX_SLICE_DFL, vtime, flags);
        0
    });
    wake(&mut ext, &mut ops, 0, 0);
    message(&ext).to_owned()
}

#[test]
fn of_insertions() {
    for rules in KERNELS {
        let of = if rules.old_messages { " for spin[1]" } else { "" };
        assert_eq!(inserts(rules, 9, None, 0), format!("non-existent DSQ 0x9{of}"));
        let on = inserts(rules, SCX_DSQ_LOCAL_ON | 9, None, 0);
        assert_eq!(on, "invalid CPU 9 in SCX_DSQ_LOCAL_ON dispatch verdict");
        let on = inserts(rules, SCX_DSQ_LOCAL_ON | 1, None, 0);
        assert_eq!(on, "SCX_DSQ_LOCAL[_ON] target CPU 1 not allowed for spin[1]");
        assert_eq!(inserts(rules, SCX_DSQ_LOCAL, Some(3), 0), "cannot use vtime ordering for built-in DSQs");
        assert_eq!(inserts(rules, USER, None, 1 << 57), "invalid enq_flags 0x200000000000000");
        let immed = inserts(rules, USER, None, SCX_ENQ_IMMED);
        let knows = rules == ExtRules::V7_2;
        assert_eq!(immed, if knows { "SCX_ENQ_IMMED on a non-local DSQ 0x7" } else { "" });
        assert_eq!(inserts(rules, USER, Some(3), 0), "");
    }
}

#[test]
fn of_tasks_that_are_dispatched_twice_or_for_another() {
    for (second, expected) in [(0, "spin[1] already direct-dispatched"), (1, "task[2] already direct-dispatched")] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 2);
        ext.name_task(P, "spin");
        ops.does(move |ops, ext, _| {
            [0, second].into_iter().for_each(|p| {
                ext.dsq_insert(ops, TaskId(p), SCX_DSQ_GLOBAL, 5, None, 0);
            });
            0
        });
        wake(&mut ext, &mut ops, 0, 0);
        assert_eq!(message(&ext), expected);
    }
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 2);
    ops.does(|ops, ext, _| i64::from(ext.dsq_insert(ops, TaskId(1), SCX_DSQ_GLOBAL, 5, None, 0)));
    wake(&mut ext, &mut ops, 0, 0);
    assert_eq!(message(&ext), "scheduling for task[1] but trying to direct-dispatch task[2]");
}

#[test]
fn of_queues_with_two_orders_and_of_queues_in_use() {
    for (orders, expected) in [
        ([None, Some(3)], "DSQ ID 0x0000000000000007 already had FIFO-enqueued tasks"),
        ([Some(3), None], "DSQ ID 0x0000000000000007 already had PRIQ-enqueued tasks"),
        ([None, None], "attempting to destroy in-use dsq 0x0000000000000007 (nr=2)"),
    ] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 2);
        ext.create_dsq(USER);
        ops.does(move |ops, ext, call| {
            let Call::Enqueue { p, .. } = call else { return 0 };
            ext.dsq_insert(ops, p, USER, 5, orders[p.0 as usize], 0);
            0
        });
        wake(&mut ext, &mut ops, 0, 0);
        wake(&mut ext, &mut ops, 1, 0);
        ext.destroy_dsq(USER);
        ext.destroy_dsq(8);
        assert_eq!(message(&ext), expected);
        assert!(ext.task(TaskId(1)).dsq.is_some(), "it is on some queue");
    }
}

#[test]
fn of_the_dispatch_buffer() {
    let ends = |does: fn(&mut crate::support::Script, &mut Ext)| {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Dispatch], 0, 1);
        ops.does(move |ops, ext, _| {
            does(ops, ext);
            0
        });
        pick(&mut ext, &mut ops, 0);
        message(&ext).to_owned()
    };
    let overflow = ends(|ops, ext| {
        assert_eq!(ext.dispatch_nr_slots(), 32);
        (0..33).for_each(|_| {
            ext.dsq_insert(ops, P, SCX_DSQ_LOCAL, 5, None, 0);
        });
    });
    assert_eq!(overflow, "dispatch buffer overflow");
    let underflow = ends(|ops, ext| {
        ext.dsq_insert(ops, P, SCX_DSQ_LOCAL, 5, None, 0);
        ext.dispatch_cancel();
        assert!(ext.exit().is_none());
        ext.dispatch_cancel();
    });
    assert_eq!(underflow, "dispatch buffer underflow");
    let invalid = ends(|ops, ext| assert!(!ext.dsq_move_to_local(ops, SCX_DSQ_GLOBAL, 0)));
    assert_eq!(invalid, "invalid DSQ ID 0x8000000000000001");
}

#[test]
fn of_questions() {
    for rules in KERNELS {
        let (mut ext, _) = with_tasks(rules, &[], 0, 0);
        assert_eq!((ext.dsq_nr_queued(9), ext.dsq_nr_queued(SCX_DSQ_GLOBAL)), (-2, -2));
        assert_eq!(ext.dsq_nr_queued(SCX_DSQ_LOCAL_ON | 3), 0);
        assert_eq!(message(&ext), "");
        assert_eq!(ext.dsq_nr_queued(SCX_DSQ_LOCAL_ON | 4), -2);
        assert_eq!(message(&ext), "invalid CPU 4");
        let (mut ext, _) = with_tasks(rules, &[], 0, 0);
        assert_eq!(ext.dsq_peek(SCX_DSQ_LOCAL), None);
        assert_eq!(message(&ext), "peek disallowed on builtin DSQ 0x8000000000000002");
        let (mut ext, _) = with_tasks(rules, &[], 0, 0);
        assert_eq!(ext.dsq_peek(9), None);
        assert_eq!(message(&ext), "peek on non-existent DSQ 0x9");
    }
}

#[test]
fn of_performance_targets() {
    let set = |rules, rq, cpu, perf| {
        let (mut ext, _) = with_tasks(rules, &[], 0, 0);
        ext.locked_rq = rq;
        ext.cpuperf_set(cpu, perf);
        let targets: Vec<u32> = ext.rqs.iter().map(|rq| rq.cpuperf_target).collect();
        (message(&ext).to_owned(), targets, ext.take_requests())
    };
    for rules in KERNELS {
        let (error, targets, requests) = set(rules, None, 2, 300);
        assert_eq!((error.as_str(), targets), ("", vec![1024, 1024, 300, 1024]));
        assert_eq!(requests, [Request::CpuPerf(2)]);
        assert_eq!(set(rules, None, 2, 1025).0, "Invalid cpuperf target 1025 for CPU 2");
        assert_eq!(set(rules, None, 4, 1).0, "invalid CPU 4");
        assert_eq!(set(rules, Some(2), 2, 1).0, "");
        // 6.12 lets an operation set that of any CPU.
        let other = if rules.cpuperf_of_locked { "Invalid target CPU 2" } else { "" };
        assert_eq!(set(rules, Some(1), 2, 1).0, other);
    }
}

#[test]
fn queues_are_created_once_and_not_among_the_cores() {
    let (mut ext, _) = with_tasks(ExtRules::V7_2, &[], 0, 0);
    assert_eq!((ext.create_dsq(1), ext.create_dsq(1), ext.create_dsq(SCX_DSQ_GLOBAL)), (0, -17, -22));
    assert_eq!([(2, -2), (3, -1), (4, 0), (5, 1)].map(|(id, node)| ext.create_dsq_on_node(id, node)), [-22, 0, 0, -22]);
    ext.destroy_dsq(1);
    assert_eq!(ext.create_dsq(1), 0);
}

#[test]
fn the_local_queue_is_that_of_the_locked_run_queue() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Runnable], 0, 1);
        // No operation for it: the global queue, from where CPU 2 takes it.
        wake(&mut ext, &mut ops, 0, 2);
        ext.dequeue_task(&mut ops, 2, P, SCX_DEQ_SLEEP);
        ext.exiting(&mut ops, 2, P, 0);
        wake(&mut ext, &mut ops, 0, 2);
        assert_eq!(ext.rqs[2].local_dsq.nr(), 1);
        ext.init_task(&mut ops, TaskId(1), 2, 0, 1024, true);
        ext.this_cpu = 1;
        let expected = i64::from(rules.local_is_locked);
        ops.does(move |_, ext, call| {
            if let Call::Runnable { .. } = call {
                assert_eq!(ext.dsq_nr_queued(SCX_DSQ_LOCAL), expected);
            }
            0
        });
        wake(&mut ext, &mut ops, 1, 2);
    }
}

#[test]
fn of_operations_that_may_not_call_a_function() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Runnable], 0, 1);
        ops.does(|ops, ext, _| i64::from(ext.dsq_insert(ops, P, SCX_DSQ_LOCAL, 5, None, 0)));
        wake(&mut ext, &mut ops, 0, 0);
        let expected = match rules.old_messages {
            true => "kfunc with mask 0x6 called from an operation only allowing 0x10",
            false => "calling kernel function scx_bpf_dsq_insert is not allowed",
        };
        assert_eq!(message(&ext), expected);
        // The choice of an idle CPU: 6.12's is for ops.select_cpu() alone, 6.18's for any task, and 7.2's for tasks
        // that are locked.
        let form = rules.select_cpu_kfunc;
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 2);
        ext.set_task_cpu(TaskId(1), 3);
        ops.does(move |_, ext, _| {
            let own = ext.select_cpu_from_kfunc(P, 0, 0, None, 0);
            assert_eq!(own.is_ok(), form != ExtSelectCpuKfunc::SelectCpu);
            let other = ext.select_cpu_from_kfunc(TaskId(1), 0, 0, None, 0);
            if let Err(IdleError::Scx(message)) = other {
                ext.error(message);
            }
            0
        });
        wake(&mut ext, &mut ops, 0, 0);
        let expected = match form {
            ExtSelectCpuKfunc::SelectCpu => "kfunc with mask 0x8 called from an operation only allowing 0x4",
            ExtSelectCpuKfunc::Enqueue => "",
            ExtSelectCpuKfunc::LockedRq => "select_cpu kfunc called cross-task on task[2]",
        };
        assert_eq!(message(&ext), expected);
        // Where nothing is locked, and in an operation that places no task.
        let (mut ext, _) = with_tasks(rules, &[], 0, 1);
        assert_eq!(ext.select_cpu_from_kfunc(P, 0, 0, None, 0).is_ok(), form != ExtSelectCpuKfunc::SelectCpu);
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Running], 0, 1);
        ops.does(|_, ext, _| {
            let _ = ext.select_cpu_from_kfunc(P, 0, 0, None, 0);
            0
        });
        wake(&mut ext, &mut ops, 0, 0);
        pick(&mut ext, &mut ops, 0);
        let expected = match form {
            ExtSelectCpuKfunc::SelectCpu => "kfunc with mask 0x8 called from an operation only allowing 0x10",
            ExtSelectCpuKfunc::Enqueue => "kfunc with mask 0xc called from an operation only allowing 0x10",
            ExtSelectCpuKfunc::LockedRq => "",
        };
        assert_eq!(message(&ext), expected);
    }
}

#[test]
fn of_operations_that_fail() {
    for (op, result, expected) in [
        (Op::Init, -12, "ops.init() failed (-12)"),
        (Op::CgroupInit, -12, "ops.cgroup_init() failed (-12)"),
        (Op::Init, 1, "ops.init() returned an invalid errno 1"),
        (Op::Init, -4096, "ops.init() returned an invalid errno -4096"),
        (Op::InitTask, -1, "ops.init_task() failed (-1) for task[1]"),
        (Op::SelectCpu, 4, "invalid CPU 4 from ops.select_cpu()"),
        (Op::SelectCpu, -1, "invalid CPU -1 from ops.select_cpu()"),
    ] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[op], 0, 0);
        ops.does(move |_, _, _| result);
        ext.init(&mut ops);
        ext.init_task(&mut ops, P, 0, 0, 1024, false);
        ext.select_task_rq(&mut ops, P, 0, 0);
        assert_eq!(message(&ext), expected);
    }
}
