//! CPUs that go offline and come online (`sched_cpu_deactivate()`, `rq_offline_scx()`, `handle_hotplug()`,
//! `sched_cpu_activate()`).

use crate::support::*;
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::entity::{Curr, Dsq};
use wakelab_scx_core::ext::Request;
use wakelab_scx_core::flags::{
    SCX_DEQ_SCHED_CHANGE, SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_ON, SCX_ECODE_ACT_RESTART, SCX_ECODE_RSN_HOTPLUG, SCX_SLICE_DFL,
};
use wakelab_scx_core::ops::{Call, ExitKind, Op};

const P: TaskId = TaskId(0);
const Q: TaskId = TaskId(1);
const HOTPLUG: [Op; 2] = [Op::CpuOnline, Op::CpuOffline];

#[test]
fn a_scheduler_without_the_operations_ends_to_be_loaded_again() {
    for rules in KERNELS {
        for online in [false, true] {
            let (mut ext, mut ops) = with_tasks(rules, &[if online { Op::CpuOffline } else { Op::CpuOnline }], 0, 0);
            ext.cpu_deactivate(&mut ops, 1);
            ext.balance_push(&mut ops, 1, 0);
            if online {
                assert_eq!(ext.exit(), None);
                ext.cpu_activate(&mut ops, 1);
            }
            let exit = ext.exit().unwrap();
            assert_eq!((exit.kind, exit.code), (ExitKind::UnregKern, SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG));
            let going = if online { "online" } else { "offline" };
            assert_eq!(exit.message, format!("cpu 1 going {going}, exiting scheduler"));
        }
    }
}

/// A task that waits in a queue of the scheduler joins the local queue of the CPU, without the scheduler; then each is
/// picked, stopped, and enqueued on another CPU.
#[test]
fn tasks_of_an_offline_cpu_are_enqueued_on_another() {
    const OPS: [Op; 9] = [
        Op::CpuOnline,
        Op::CpuOffline,
        Op::Enqueue,
        Op::Dequeue,
        Op::Runnable,
        Op::Running,
        Op::Stopping,
        Op::Quiescent,
        Op::Dispatch,
    ];
    for rules in KERNELS.into_iter().filter(|rules| rules.offline_requeues) {
        let (mut ext, mut ops) = with_tasks(rules, &OPS, 0, 2);
        run(&mut ext, &mut ops, 0, 2);
        wake(&mut ext, &mut ops, 1, 2);
        assert_eq!(ext.rqs[2].nr_running, 2);
        ops.calls.clear();
        ext.cpu_deactivate(&mut ops, 2);
        let change = if rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 };
        let expected = [
            Call::Dequeue { p: Q, deq_flags: 0xe | change },
            Call::Quiescent { p: Q, deq_flags: 0xe | change },
            // It is enqueued on an offline CPU, of which the scheduler is not asked.
            Call::Runnable { p: Q, enq_flags: 0xe },
            Call::CpuOffline { cpu: 2 },
            Call::Stopping { p: P, runnable: true },
        ];
        assert_eq!(ops.take(&OPS), expected);
        ext.balance_push(&mut ops, 2, 0);
        let migrated = u64::from(rules.enq_migrated);
        // The running task was put back with its slice, before the other.
        let each = [P, Q].map(|p| {
            [Call::Running { p }, Call::Stopping { p, runnable: true }, Call::Enqueue { p, enq_flags: migrated }]
        });
        assert_eq!(ops.take(&OPS), each.concat());
        assert_eq!([P, Q].map(|p| ext.task(p).cpu), [0; 2], "CPU 0 is the first that they may use");
        assert_eq!((ext.rqs[2].curr, ext.rqs[2].nr_running, ext.rqs[0].nr_running), (Curr::Idle, 0, 2));
        let moved = ext.take_requests().into_iter().filter(|of| matches!(of, Request::Moved { from: 2, to: 0, .. }));
        assert_eq!((moved.count(), ext.online().weight()), (2, 3));
        // It calls no ops.dispatch() any more, and takes nothing from others.
        assert_eq!(pick(&mut ext, &mut ops, 2), None);
        assert_eq!(ops.take(&[Op::Dispatch]), []);
        ext.cpu_activate(&mut ops, 2);
        assert_eq!((ops.take(&HOTPLUG), ext.online().weight()), (vec![Call::CpuOnline { cpu: 2 }], 4));
        assert_eq!(pick(&mut ext, &mut ops, 2), None);
        assert_eq!(ops.take(&[Op::Dispatch]), [Call::Dispatch { cpu: 2, prev: None }]);
    }
}

/// 6.18 leaves a task that waits where it is, until another CPU takes it.
#[test]
fn tasks_that_wait_outlive_their_cpu_in_6_18() {
    const OPS: [Op; 7] =
        [Op::CpuOnline, Op::CpuOffline, Op::Enqueue, Op::Dequeue, Op::Runnable, Op::Quiescent, Op::Dispatch];
    let (mut ext, mut ops) = with_tasks(ExtRules::V6_18, &OPS, 0, 2);
    run(&mut ext, &mut ops, 0, 2);
    wake(&mut ext, &mut ops, 1, 2);
    ops.calls.clear();
    ext.cpu_deactivate(&mut ops, 2);
    assert_eq!(ops.take(&OPS), [Call::CpuOffline { cpu: 2 }]);
    ext.balance_push(&mut ops, 2, 0);
    let enq_flags = u64::from(ExtRules::V6_18.enq_migrated);
    assert_eq!(ops.take(&OPS), [Call::Enqueue { p: P, enq_flags }], "what ran is moved");
    assert_eq!((ext.task(Q).cpu, ext.rqs[2].nr_running), (2, 1));
    ops.does(|ops, ext, call| {
        if let Call::Dispatch { .. } = call {
            ext.dsq_insert(ops, Q, SCX_DSQ_LOCAL, SCX_SLICE_DFL, None, 0);
        }
        0
    });
    assert_eq!(pick(&mut ext, &mut ops, 0), Some(1));
    assert_eq!((ext.task(Q).cpu, ext.rqs[2].nr_running, ext.exit()), (0, 0, None));
}

#[test]
fn a_task_that_is_bound_to_an_offline_cpu_may_use_all() {
    let ops_of = [HOTPLUG[0], HOTPLUG[1], Op::SetCpumask, Op::Enqueue];
    let (mut ext, mut ops) = (ext(ExtRules::V7_2, &ops_of, 0), Script::idle());
    ext.init_task(&mut ops, P, 3, PINNED + 3, 1024, true);
    run(&mut ext, &mut ops, 0, 3);
    ext.cpu_deactivate(&mut ops, 3);
    ext.balance_push(&mut ops, 3, 0);
    assert!(ext.take_requests().contains(&Request::AllCpus(P)));
    assert_eq!((ext.cpus_ptr(P).weight(), ext.task(P).cpu), (4, 0));
    assert_eq!(ops.take(&[Op::SetCpumask, Op::Enqueue]).len(), 2);
}

/// `task_can_run_on_remote_rq()`: a dispatch to the local queue of an offline CPU goes to the global queue, without an
/// error. Kicks of such a CPU are left out.
#[test]
fn what_goes_to_an_offline_cpu_goes_to_the_global_queue() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[HOTPLUG[0], HOTPLUG[1], Op::Enqueue], 0, 1);
        ext.cpu_deactivate(&mut ops, 1);
        ext.balance_push(&mut ops, 1, 0);
        ext.take_requests();
        ops.does(|ops, ext, call| {
            if let Call::Enqueue { p, .. } = call {
                ext.dsq_insert(ops, p, SCX_DSQ_LOCAL_ON | 1, SCX_SLICE_DFL, None, 0);
                ext.kick_cpu(1, 0);
            }
            0
        });
        wake(&mut ext, &mut ops, 0, 0);
        assert_eq!((ext.task(P).dsq.map(|(dsq, _)| dsq), ext.exit()), (Some(Dsq::Global(0)), None));
        assert!(!rescheds(&mut ext).contains(&1));
    }
}

/// A core whose other CPU is offline is idle as a whole if its only CPU is.
#[test]
fn cores_are_what_is_online_of_them() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &HOTPLUG, 0, 1);
    for cpu in 0..4 {
        ext.idle.update(cpu, false);
    }
    ext.cpu_deactivate(&mut ops, 3);
    ext.balance_push(&mut ops, 3, 0);
    [1, 2].into_iter().for_each(|cpu| ext.idle.update(cpu, true));
    // One of 1 and 2 was the sibling of 3. The other's sibling is CPU 0, which is busy.
    assert_eq!(ext.idle.masks(0).1.iter().filter(|&cpu| cpu != 3).count(), 1);
    // One that was offline before the scheduler was loaded does not count as idle.
    let (mut ext, _) = with_tasks(ExtRules::V7_2, &HOTPLUG, 0, 0);
    ext.begins_offline(2);
    assert_eq!((ext.idle.masks(0).0.weight(), ext.online().weight()), (3, 3));
}
