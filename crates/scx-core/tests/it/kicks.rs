//! `scx_bpf_kick_cpu()`.

use crate::support::{KERNELS, message, pick, rescheds, run, settle, wake, with_tasks};
use wakelab_kernel::ExtRules;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::{Ext, Request};
use wakelab_scx_core::flags::*;
use wakelab_scx_core::ops::{Call, Op, TaskFields};

#[test]
fn a_kick_acts_when_the_cpu_that_asks_for_it_is_done() {
    for rules in KERNELS {
        for (flags, busy, resched, slice) in [
            (0, false, true, SCX_SLICE_DFL),
            (0, true, true, SCX_SLICE_DFL),
            (SCX_KICK_IDLE, false, true, SCX_SLICE_DFL),
            (SCX_KICK_IDLE, true, false, SCX_SLICE_DFL),
            (SCX_KICK_PREEMPT, false, true, SCX_SLICE_DFL),
            (SCX_KICK_PREEMPT, true, true, 0),
        ] {
            let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 1);
            if busy {
                run(&mut ext, &mut ops, 0, 2);
            }
            ext.this_cpu = 1;
            ext.kick_cpu(2, flags);
            assert_eq!(rescheds(&mut ext), []);
            settle(&mut ext, &mut ops);
            assert_eq!(rescheds(&mut ext).contains(&2), resched, "{flags} {busy}");
            assert_eq!(ops.slice(TaskId(0)), slice);
        }
    }
}

#[test]
fn kicks_add_up() {
    for kicks in [[SCX_KICK_PREEMPT, 0], [0, SCX_KICK_PREEMPT], [SCX_KICK_IDLE, SCX_KICK_PREEMPT]] {
        let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 1);
        run(&mut ext, &mut ops, 0, 2);
        kicks.into_iter().for_each(|flags| ext.kick_cpu(2, flags));
        settle(&mut ext, &mut ops);
        assert_eq!((rescheds(&mut ext), ops.slice(TaskId(0))), (vec![2], 0), "{kicks:?}");
    }
    // Those for idle CPUs come last, whatever their numbers.
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 0);
    [(3, 0), (1, SCX_KICK_IDLE), (2, 0)].into_iter().for_each(|(cpu, flags)| ext.kick_cpu(cpu, flags));
    settle(&mut ext, &mut ops);
    assert_eq!(rescheds(&mut ext), [2, 3, 1]);
}

#[test]
fn an_operation_under_the_cpus_own_lock_cannot_tell_that_it_will_not_idle() {
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue, Op::Dispatch], SCX_OPS_ENQ_LAST, 1);
        run(&mut ext, &mut ops, 0, 0);
        ops.set_slice(TaskId(0), 0);
        ops.does(|_, ext, call| {
            // The CPU still has its task, and goes idle.
            if let Call::Enqueue { .. } = call {
                ext.kick_cpu(0, SCX_KICK_IDLE);
            }
            0
        });
        assert_eq!(pick(&mut ext, &mut ops, 0), None);
        assert_eq!(rescheds(&mut ext), [0]);
        // A wakee's CPU that has a task is not asked, when it comes to that.
        let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 2);
        run(&mut ext, &mut ops, 0, 2);
        ops.does(|_, ext, _| {
            ext.kick_cpu(2, SCX_KICK_IDLE);
            0
        });
        wake(&mut ext, &mut ops, 1, 2);
        assert_eq!(rescheds(&mut ext), []);
    }
}

#[test]
fn idle_kicks_have_no_other_flags() {
    for other in [SCX_KICK_PREEMPT, SCX_KICK_WAIT] {
        let (mut ext, _) = with_tasks(ExtRules::V7_2, &[], 0, 0);
        ext.kick_cpu(1, SCX_KICK_IDLE | other);
        assert_eq!(message(&ext), "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE");
    }
}

/// Whether each CPU that waits may be asked again.
fn synced(ext: &mut Ext) -> Vec<Cpu> {
    let of = |request| if let Request::KickSynced(cpu) = request { Some(cpu) } else { None };
    ext.take_requests().into_iter().filter_map(of).collect()
}

#[test]
fn a_kick_to_wait_for_waits_after_the_next_pick_until_the_other_has_picked() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 2);
    run(&mut ext, &mut ops, 0, 2);
    ext.this_cpu = 1;
    ext.kick_cpu(2, SCX_KICK_WAIT);
    settle(&mut ext, &mut ops);
    // The CPU itself schedules first (kick_cpus_irq_workfn()).
    assert_eq!(rescheds(&mut ext), [2, 1]);
    assert!(!ext.kick_waits(1));
    pick(&mut ext, &mut ops, 1);
    assert!(ext.kick_waits(1) && !ext.kick_waits_in_irq(1));
    ext.take_requests();
    // The other goes on with its task: that is a pass, too.
    assert_eq!(pick(&mut ext, &mut ops, 2), Some(0));
    assert_eq!(synced(&mut ext), [1]);
    assert!(!ext.kick_waits(1) && !ext.kick_waits(1));
    // A pass between the kick and the place where it would wait is enough.
    (ext.this_cpu, ext.current) = (1, None);
    ext.kick_cpu(2, SCX_KICK_WAIT);
    settle(&mut ext, &mut ops);
    for cpu in [2, 1] {
        pick(&mut ext, &mut ops, cpu);
    }
    assert!(!ext.kick_waits(1));
}

#[test]
fn nobody_waits_for_itself_for_an_idle_cpu_or_a_class_above() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 2);
    run(&mut ext, &mut ops, 0, 1);
    ext.preempted_by_class(&mut ops, 3, SCX_CPU_PREEMPT_RT);
    ext.take_requests();
    ext.this_cpu = 1;
    (1..4).for_each(|cpu| ext.kick_cpu(cpu, SCX_KICK_WAIT));
    settle(&mut ext, &mut ops);
    assert_eq!(rescheds(&mut ext), [1, 2, 1]);
    pick(&mut ext, &mut ops, 1);
    assert!(!ext.kick_waits(1));
}

#[test]
fn cpus_in_a_circle_do_not_wait_for_ever() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, 3);
    (0..3).for_each(|cpu| run(&mut ext, &mut ops, cpu, cpu));
    // All pick, and kick from ops.enqueue() on the way, so that each has its snapshot before any waits.
    for cpu in 0..3 {
        ext.this_cpu = cpu;
        ext.kick_cpu((cpu + 1) % 3, SCX_KICK_WAIT);
        settle(&mut ext, &mut ops);
        pick(&mut ext, &mut ops, cpu);
    }
    // The first two have picked since they were kicked by nobody yet; CPU 0 was kicked after its pick.
    assert!(ext.kick_waits(2));
    ext.this_cpu = 0;
    ext.kick_cpu(2, SCX_KICK_WAIT);
    settle(&mut ext, &mut ops);
    ext.take_requests();
    pick(&mut ext, &mut ops, 0);
    assert_eq!(synced(&mut ext), [2]);
    // CPU 2 still waited when it was kicked, and advances as it waits.
    assert!(!ext.kick_waits(0) && !ext.kick_waits(2));
}

/// 6.18 waits for what 7.2 waits for, in the interrupt, and leaves CPUs of classes above alone.
#[test]
fn in_6_18_the_interrupt_waits_for_a_pick() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V6_18, &[Op::Enqueue], 0, 2);
    run(&mut ext, &mut ops, 0, 2);
    ext.preempted_by_class(&mut ops, 3, SCX_CPU_PREEMPT_RT);
    ext.take_requests();
    ext.this_cpu = 1;
    (0..4).for_each(|cpu| ext.kick_cpu(cpu, SCX_KICK_WAIT));
    settle(&mut ext, &mut ops);
    assert_eq!(rescheds(&mut ext), [0, 1, 2]);
    assert!(ext.kick_waits(1) && ext.kick_waits_in_irq(1));
    // Its task goes on, which is a pass.
    assert_eq!(pick(&mut ext, &mut ops, 2), Some(0));
    assert_eq!(synced(&mut ext), [1]);
    assert!(!ext.kick_waits(1));
    // A class above takes the CPU (put_prev_task_scx()).
    ext.this_cpu = 1;
    ext.kick_cpu(2, SCX_KICK_WAIT);
    settle(&mut ext, &mut ops);
    assert!(ext.kick_waits(1));
    ext.preempted_by_class(&mut ops, 2, SCX_CPU_PREEMPT_RT);
    assert!(!ext.kick_waits(1));
}

#[test]
fn in_6_12_the_interrupt_waits_for_any_cpu_to_leave_the_class() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V6_12, &[Op::Enqueue], 0, 2);
    run(&mut ext, &mut ops, 0, 2);
    ext.this_cpu = 1;
    [1, 2, 3].into_iter().for_each(|cpu| ext.kick_cpu(cpu, SCX_KICK_WAIT));
    settle(&mut ext, &mut ops);
    assert!(ext.kick_waits(1) && ext.kick_waits_in_irq(1));
    // Its task goes on: no switch_class().
    assert_eq!(pick(&mut ext, &mut ops, 2), Some(0));
    assert!(ext.kick_waits(1));
    ext.dequeue_task(&mut ops, 2, TaskId(0), SCX_DEQ_SLEEP);
    assert_eq!(pick(&mut ext, &mut ops, 2), None);
    assert_eq!(synced(&mut ext), [1]);
    // The idle CPU has not left the class either.
    assert!(ext.kick_waits(1));
    run(&mut ext, &mut ops, 1, 3);
    ext.preempted_by_class(&mut ops, 3, SCX_CPU_PREEMPT_RT);
    assert!(!ext.kick_waits(1));
}
