//! `scx_bpf_kick_cpu()`.

use crate::support::{KERNELS, message, pick, rescheds, run, settle, wake, with_tasks};
use wakelab_ext::flags::*;
use wakelab_ext::ops::{Call, Op, TaskFields};
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;

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
    let (mut ext, _) = with_tasks(ExtRules::V7_2, &[], 0, 0);
    ext.kick_cpu(1, SCX_KICK_IDLE | SCX_KICK_PREEMPT);
    assert_eq!(message(&ext), "PREEMPT/WAIT cannot be used with SCX_KICK_IDLE");
}
