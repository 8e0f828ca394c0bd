//! What a scheduler is told of control groups (`scx_tg_*()`, `scx_cgroup_*()`, `scx_group_set_*()`).

use crate::support::*;
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::cgroup::{Bandwidth, TaskGroup};
use wakelab_scx_core::entity::Curr;
use wakelab_scx_core::ext::Ext;
use wakelab_scx_core::flags::SCX_DEQ_SCHED_CHANGE;
use wakelab_scx_core::ops::{Call, Op, TaskFields};

const P: TaskId = TaskId(0);
const GROUP_OPS: [Op; 8] = [
    Op::CgroupInit,
    Op::CgroupExit,
    Op::CgroupPrepMove,
    Op::CgroupMove,
    Op::CgroupCancelMove,
    Op::CgroupSetWeight,
    Op::CgroupSetBandwidth,
    Op::CgroupSetIdle,
];

/// 1 and 2 in the root, 3 and 4 in 1, and 5 in 3.
fn with_groups(ext: &mut Ext, ops: &mut Script) {
    for (name, parent) in [("a", 0), ("b", 0), ("c", 1), ("d", 1), ("e", 3)] {
        let number = ext.tg_reserve(TaskGroup::new(name, parent));
        ext.tg_online(ops, number).unwrap();
    }
}

fn cgroups(calls: &[Call]) -> Vec<u32> {
    let cgroup = |call: &Call| match *call {
        Call::CgroupInit { cgroup } | Call::CgroupExit { cgroup } => Some(cgroup),
        _ => None,
    };
    calls.iter().filter_map(cgroup).collect()
}

#[test]
fn groups_begin_before_those_in_them_and_end_after_them() {
    for rules in KERNELS {
        let (mut ext, mut ops) = (ext(rules, &[&GROUP_OPS[..], &[Op::Init]].concat(), 0), Script::idle());
        with_groups(&mut ext, &mut ops);
        assert_eq!(ops.calls, [], "no scheduler is asked before it is enabled");
        ext.init(&mut ops);
        let calls = std::mem::take(&mut ops.calls);
        assert_eq!((calls[0], cgroups(&calls)), (Call::Init, vec![0, 1, 3, 5, 4, 2]));
        // A group comes and goes.
        let last = ext.tg_reserve(TaskGroup::new("f", 2));
        assert!(!ext.cgroup_lives(last) && ops.calls.is_empty(), "it has its number alone");
        assert_eq!(ext.tg_online(&mut ops, last), Ok(()));
        ext.tg_offline(&mut ops, last);
        assert_eq!(ops.take(&GROUP_OPS), [Call::CgroupInit { cgroup: 6 }, Call::CgroupExit { cgroup: 6 }]);
    }
}

#[test]
fn a_group_that_the_scheduler_refuses_is_not_made() {
    let (mut ext, mut ops) = (ext(ExtRules::V7_2, &GROUP_OPS, 0), Script::idle());
    ext.init(&mut ops);
    ops.does(|_, _, _| -12);
    let number = ext.tg_reserve(TaskGroup::new("a", 0));
    assert_eq!(ext.tg_online(&mut ops, number), Err(-12));
    assert_eq!((ext.exit(), ext.cgroup_children(0).count()), (None, 0));
    // While it is being enabled the scheduler ends, and groups that are left are not told.
    let (mut ext, mut ops) = (self::ext(ExtRules::V7_2, &GROUP_OPS, 0), Script::idle());
    with_groups(&mut ext, &mut ops);
    ops.does(|_, _, call| if call == (Call::CgroupInit { cgroup: 3 }) { 5 } else { 0 });
    ext.init(&mut ops);
    assert_eq!((message(&ext), cgroups(&ops.calls)), ("ops.cgroup_init() failed (5)", vec![0, 1, 3]));
}

#[test]
fn tasks_of_an_autogroup_are_the_roots() {
    let (mut ext, mut ops) = (ext(ExtRules::V7_2, &GROUP_OPS, 0), Script::idle());
    let mut autogroup = TaskGroup::new("/autogroup-1", 0);
    autogroup.autogroup = true;
    let number = ext.tg_reserve(autogroup);
    ext.tg_online(&mut ops, number).unwrap();
    ext.init(&mut ops);
    assert_eq!((ops.take(&GROUP_OPS).len(), ext.tg_cgrp(number), ext.cgroup_lives(number)), (1, 0, false));
}

/// `sched_move_task()`: the task leaves as one of its old group and comes back as one of the new one.
#[test]
fn a_task_moves_between_prep_move_and_its_return() {
    const OPS: [Op; 9] = [
        Op::CgroupPrepMove,
        Op::CgroupMove,
        Op::CgroupCancelMove,
        Op::Runnable,
        Op::Running,
        Op::Stopping,
        Op::Quiescent,
        Op::Enqueue,
        Op::Dequeue,
    ];
    for rules in KERNELS {
        let (mut ext, mut ops) = with_tasks(rules, &OPS, 0, 1);
        with_groups(&mut ext, &mut ops);
        ext.init(&mut ops);
        run(&mut ext, &mut ops, 0, 2);
        let slice = ops.slice(P);
        assert_eq!(ext.cgroup_can_attach(&mut ops, &[P], 3), 0);
        assert_eq!(ops.take(&OPS), [Call::CgroupPrepMove { p: P, from: 0, to: 3 }]);
        // In which group the task is when an operation is called.
        ops.does(|_, ext, call| {
            let leaves = matches!(call, Call::Stopping { .. } | Call::Quiescent { .. });
            assert_eq!(ext.task(P).group, if leaves { 0 } else { 3 }, "{call:?}");
            0
        });
        assert!(ext.sched_move_task(&mut ops, P, 3, 0), "a running task's CPU reschedules");
        let change = if rules.dequeue_on_custody { SCX_DEQ_SCHED_CHANGE } else { 0 };
        let expected = [
            Call::Stopping { p: P, runnable: false },
            Call::Quiescent { p: P, deq_flags: 0xe | change },
            Call::CgroupMove { p: P, from: 0, to: 3 },
            Call::Runnable { p: P, enq_flags: 0xe },
            // It goes on: the scheduler does not get it.
            Call::Running { p: P },
        ];
        assert_eq!(ops.take(&OPS), expected);
        assert_eq!((ext.rqs[2].curr, ext.rqs[2].nr_running, ext.rqs[2].local_dsq.nr()), (Curr::Ext(P), 1, 0));
        assert_eq!(ops.slice(P), slice, "its slice goes on, too");
        ops.does(|_, _, _| 0);
        ext.cgroup_can_attach(&mut ops, &[P], 3);
        assert_eq!(ops.take(&OPS), [], "it is there already");
    }
}

#[test]
fn a_waiting_and_a_sleeping_task_move() {
    let ops_of = [Op::CgroupPrepMove, Op::CgroupMove, Op::Runnable, Op::Quiescent, Op::Enqueue, Op::Dequeue];
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &ops_of, 0, 2);
    with_groups(&mut ext, &mut ops);
    ext.init(&mut ops);
    wake(&mut ext, &mut ops, 0, 1);
    ops.calls.clear();
    let both = [P, TaskId(1)];
    assert_eq!(ext.cgroup_can_attach(&mut ops, &both, 2), 0);
    both.iter().for_each(|&p| {
        ext.sched_move_task(&mut ops, p, 2, 0);
    });
    let deq_flags = 0xe | SCX_DEQ_SCHED_CHANGE;
    let expected = [
        Call::CgroupPrepMove { p: P, from: 0, to: 2 },
        Call::CgroupPrepMove { p: TaskId(1), from: 0, to: 2 },
        Call::Dequeue { p: P, deq_flags },
        Call::Quiescent { p: P, deq_flags },
        Call::CgroupMove { p: P, from: 0, to: 2 },
        Call::Runnable { p: P, enq_flags: 0xe },
        Call::Enqueue { p: P, enq_flags: 0xe },
        Call::CgroupMove { p: TaskId(1), from: 0, to: 2 },
    ];
    assert_eq!(ops.take(&ops_of), expected);
}

#[test]
fn a_move_that_the_scheduler_refuses_is_cancelled_for_all() {
    let (mut ext, mut ops) = with_tasks(ExtRules::V7_2, &GROUP_OPS, 0, 3);
    with_groups(&mut ext, &mut ops);
    ext.init(&mut ops);
    ops.calls.clear();
    let tasks = [TaskId(0), TaskId(1), TaskId(2)];
    ops.does(|_, _, call| {
        if call.op() == Op::CgroupPrepMove && call == (Call::CgroupPrepMove { p: TaskId(1), from: 0, to: 4 }) {
            -16
        } else {
            0
        }
    });
    assert_eq!(ext.cgroup_can_attach(&mut ops, &tasks, 4), -16);
    let expected = [
        Call::CgroupPrepMove { p: TaskId(0), from: 0, to: 4 },
        Call::CgroupPrepMove { p: TaskId(1), from: 0, to: 4 },
        Call::CgroupCancelMove { p: TaskId(0), from: 0, to: 4 },
    ];
    assert_eq!((ops.take(&GROUP_OPS), ext.exit()), (expected.to_vec(), None));
    // What no error can be ends the scheduler.
    ops.does(|_, _, _| 7);
    assert_eq!(ext.cgroup_can_attach(&mut ops, &tasks, 4), -71);
    assert_eq!(message(&ext), "ops.cgroup_prep_move() returned an invalid errno 7");
}

#[test]
fn settings_are_told_when_they_change() {
    let half = Bandwidth { period_us: 100_000, quota_us: 50_000, burst_us: 0 };
    for rules in KERNELS {
        let (mut ext, mut ops) = (ext(rules, &GROUP_OPS, 0), Script::idle());
        with_groups(&mut ext, &mut ops);
        // Before it is enabled.
        ext.group_set_weight(&mut ops, 1, 50);
        ext.init(&mut ops);
        ops.calls.clear();
        for weight in [50, 200, 200] {
            ext.group_set_weight(&mut ops, 1, weight);
        }
        for bandwidth in [Bandwidth::default(), half, half] {
            ext.group_set_bandwidth(&mut ops, 2, bandwidth);
        }
        ext.group_set_idle(&mut ops, 3, true);
        let calls = ops.take(&GROUP_OPS);
        let weight = Call::CgroupSetWeight { cgroup: 1, weight: 200 };
        let [bandwidth, idle] =
            [Call::CgroupSetBandwidth { cgroup: 2, bandwidth: half }, Call::CgroupSetIdle { cgroup: 3, idle: true }];
        let told = [Some(weight), rules.cgroup_max.then_some(bandwidth), rules.cgroup_idle.then_some(idle)];
        assert_eq!(calls, told.into_iter().flatten().collect::<Vec<Call>>());
        assert_eq!((ext.group(1).weight, ext.group(2).bandwidth, ext.group(3).idle), (200, half, true));
    }
}

/// 6.12's log has what a scheduler does not declare, later ones nothing: there it is what the scheduler cannot know.
#[test]
fn settings_that_a_scheduler_does_not_implement_are_named() {
    const SCX_OPS_HAS_CGROUP_WEIGHT: u64 = 1 << 16;
    let group = TaskGroup::new("a", 0);
    let all = TaskGroup { idle: true, bandwidth: Bandwidth { quota_us: 1_000, ..Default::default() }, ..group.clone() };
    let missing = |rules, ops: &[Op], flags, groups: &[TaskGroup]| {
        let lines = ext(rules, ops, flags).declared().cgroup_warn_missing(&rules, groups);
        let file = |line: &String| {
            let line = line.strip_prefix("sched_ext: \"script\" does not implement cgroup cpu.").unwrap();
            line.split_once(':').unwrap().0.to_owned()
        };
        lines.iter().map(file).collect::<Vec<String>>()
    };
    let all = std::slice::from_ref(&all);
    for rules in KERNELS {
        assert_eq!(missing(rules, &[], 0, &[]), [""; 0]);
        assert_eq!(missing(rules, &[], 0, std::slice::from_ref(&group)), ["weight"]);
        assert_eq!(missing(rules, &[], 0, all), ["weight", "max", "idle"]);
        let autogroup = TaskGroup { autogroup: true, ..group.clone() };
        assert_eq!(missing(rules, &[], 0, &[autogroup]), [""; 0]);
    }
    assert_eq!(missing(ExtRules::V6_12, &GROUP_OPS, 0, all), ["weight", "max", "idle"]);
    assert_eq!(missing(ExtRules::V6_12, &[], SCX_OPS_HAS_CGROUP_WEIGHT, all), ["max", "idle"]);
    assert_eq!(missing(ExtRules::V6_18, &[], SCX_OPS_HAS_CGROUP_WEIGHT, all), ["weight", "max", "idle"]);
    assert_eq!(missing(ExtRules::V6_18, &GROUP_OPS, 0, all), [""; 0]);
    assert_eq!(missing(ExtRules::V7_2, &GROUP_OPS, 0, all), [""; 0]);
    assert_eq!(missing(ExtRules::V7_2, &[Op::CgroupInit], 0, all), ["max", "idle"]);
}
