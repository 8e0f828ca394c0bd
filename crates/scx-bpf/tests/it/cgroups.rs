//! Control groups under the kernel's `scx_flatcg`, which shares CPU time by their weights, and under schedulers that
//! take no notice of them.

use crate::selftests::after;
use crate::support::{MS, simulate, spinners};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_workload::{Change, Changed, CpuMax, Group, Op, Program, Task, Work, Workload};

const FLATCG: &[u8] = include_bytes!("../data/scx_flatcg.bpf.o");
const SIMPLE: &[u8] = include_bytes!("../../../bpf/tests/data/scx_simple.bpf.o");

const GROUPS: &[u8] = include_bytes!("../data/groups.bpf.o");

fn flatcg() -> BpfScheduler {
    BpfScheduler::new("scx_flatcg", FLATCG, "flatcg").unwrap()
}

/// A scheduler that holds what it sees of groups against what the kernel functions say.
fn checks() -> BpfScheduler {
    BpfScheduler::new("groups", GROUPS, "groups").unwrap()
}

/// Groups by their parents and weights, and how many spinning tasks are in each.
fn groups(of: &[(u32, u32, usize)]) -> Workload {
    let in_group = (1..).zip(of).flat_map(|(number, &(.., tasks))| vec![number; tasks]);
    let in_group: Vec<u32> = in_group.collect();
    let mut load = spinners(&vec![0; in_group.len()]);
    load.tasks.iter_mut().zip(in_group).for_each(|(task, group)| task.group = group);
    let group = |(n, &(parent, weight, _)): (usize, &(u32, u32, usize))| Group {
        name: format!("group-{n}"),
        parent,
        weight,
        ..Group::default()
    };
    load.groups = of.iter().enumerate().map(group).collect();
    load
}

/// The part of the CPU time that each group has had.
fn shares(scheduler: &BpfScheduler, machine: &str, load: &Workload, ms: u64) -> Vec<f64> {
    let (outcome, done) = simulate(scheduler, machine, load, ms * MS);
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let first = *done.0.keys().next().unwrap();
    let mut of_group = vec![0; load.groups.len() + 1];
    for (task, done) in &done.0 {
        of_group[load.tasks[(task - first) as usize].group as usize] += done;
    }
    let all: u32 = of_group.iter().sum();
    of_group[1..].iter().map(|&done| f64::from(done) / f64::from(all)).collect()
}

/// The example of scx_flatcg.bpf.c: D (200) competes with A (100), in which are B (100) and C (100). Group 1 is A.
#[test]
fn flatcg_compounds_the_weights_of_nested_groups() {
    let expected = [0.0, 2.0 / 3.0, 1.0 / 6.0, 1.0 / 6.0];
    for (machine, tasks) in [("test-1c", [2, 2, 2]), ("test-2c", [3, 2, 4])] {
        let [d, b, c] = tasks;
        let load = groups(&[(0, 100, 0), (0, 200, d), (1, 100, b), (1, 100, c)]);
        let shares = shares(&flatcg(), machine, &load, 6_000);
        assert!(shares.iter().zip(expected).all(|(is, want)| (is - want).abs() < 0.01), "{machine}: {shares:?}");
    }
}

#[test]
fn flatcg_gives_what_idle_groups_leave_to_those_beside_them() {
    // C has no task: its half of A's third is B's. Three levels down, the weight of the last is of no consequence.
    let load = groups(&[(0, 100, 0), (0, 200, 3), (1, 100, 0), (1, 100, 0), (3, 1, 3)]);
    let shares = shares(&flatcg(), "test-1c", &load, 6_000);
    let expected = [0.0, 2.0 / 3.0, 0.0, 0.0, 1.0 / 3.0];
    assert!(shares.iter().zip(expected).all(|(is, want)| (is - want).abs() < 0.01), "{shares:?}");
}

/// `ops.dispatch()` runs before the task whose slice is over is enqueued again: its group has no task then, and another
/// one's turn comes. So a group of one task has half of a CPU at most, whatever its weight is.
#[test]
fn flatcg_lets_a_task_that_is_alone_in_its_group_pause_after_each_slice() {
    let shares = shares(&flatcg(), "test-1c", &groups(&[(0, 400, 1), (0, 100, 1)]), 4_000);
    assert!((shares[0] - 0.5).abs() < 0.01, "{shares:?}");
}

/// The statistics that scx_flatcg.c prints are counted: groups become active and inactive, and each time a CPU takes
/// another group it has one. With HZ=250 a slice is 24 ms long.
#[test]
fn flatcg_counts_what_its_loader_prints() {
    let load = groups(&[(0, 100, 2), (0, 200, 2)]);
    let outcome = simulate(&flatcg(), "test-1c", &load, 1_000 * MS).0.unwrap();
    let count = |name: &str| outcome.scheduler.iter().find(|(of, _)| of == name).map(|&(_, count)| count);
    // FCG_STAT_ACT, FCG_STAT_DEACT, FCG_STAT_PNC_NEXT, FCG_STAT_PNC_FAIL, FCG_STAT_BAD_REMOVAL
    let [act, deact, next, fail, bad] = [0, 1, 15, 19, 20].map(|stat| count(&format!("stats[{stat}]")).unwrap());
    // A group whose first task begins before its second is there has none for a moment.
    assert!(act - deact == 2 && (40..=44).contains(&next), "{:?}", outcome.scheduler);
    assert_eq!((fail, bad), (0, 0));
}

#[test]
fn a_scheduler_without_groups_shares_by_tasks() {
    let load = groups(&[(0, 100, 0), (0, 1_000, 3), (1, 100, 2), (1, 100, 4)]);
    let simple = BpfScheduler::new("scx_simple", SIMPLE, "simple").unwrap();
    let shares = shares(&simple, "test-2c", &load, 3_000);
    let expected = [0.0, 3.0 / 9.0, 2.0 / 9.0, 4.0 / 9.0];
    assert!(shares.iter().zip(expected).all(|(is, want)| (is - want).abs() < 0.01), "{shares:?}");
}

/// `scx_cgroup_init()` goes through the groups before those in them, and `scx_init_task()` has each task's.
#[test]
fn a_scheduler_is_told_of_each_group_with_its_settings() {
    let mut load = groups(&[(0, 50, 1), (0, 300, 2), (1, 100, 3), (3, 7, 1), (1, 100, 0)]);
    load.groups[2].max = Some(CpuMax { quota: 20 * MS, period: 50 * MS, burst: 0 });
    for (group, name) in load.groups.iter_mut().zip(["a", "b", "a/c", "a/c/d", "a/e"]) {
        group.name = name.to_owned();
    }
    let names = &[
        "nr_inits",
        "nr_exits",
        "ids[0]",
        "ids[1]",
        "ids[2]",
        "ids[3]",
        "ids[4]",
        "ids[5]",
        "levels[0]",
        "levels[1]",
        "levels[2]",
        "levels[3]",
        "levels[4]",
        "levels[5]",
        "weights[0]",
        "weights[1]",
        "weights[3]",
        "weights[5]",
        "quotas[0]",
        "quotas[2]",
        "names[0]",
        "names[3]",
        "tasks_at[0]",
        "tasks_at[1]",
        "tasks_at[2]",
        "tasks_at[3]",
        "pre",
        "post",
        "up",
        "children",
    ];
    let told = after(checks(), "test-8c", &load, 100, names);
    let list = |name: &str, of: &[u32]| of.iter().map(|at| told[format!("{name}[{at}]").as_str()]).collect::<Vec<_>>();
    assert_eq!((told["nr_inits"], told["nr_exits"]), (6, 0));
    // Ids are those of the root, 1, and of groups in the order in which they were made.
    assert_eq!(list("ids", &[0, 1, 2, 3, 4, 5]), [1, 2, 4, 5, 6, 3]);
    assert_eq!(list("levels", &[0, 1, 2, 3, 4, 5]), [0, 1, 2, 3, 2, 1]);
    assert_eq!(list("weights", &[0, 1, 3, 5]), [100, 50, 7, 300]);
    assert_eq!(list("quotas", &[0, 2]), [u64::MAX, 20_000]);
    assert_eq!(list("names", &[0, 3]), [0, u64::from(b'd')]);
    assert_eq!(list("tasks_at", &[1, 2, 3]), [3, 3, 1]);
    assert_eq!([told["pre"], told["post"], told["children"]], [124_563, 546_231, 23]);
    // The group of the last id is a/e.
    assert_eq!(told["up"], 621);
}

/// What changes at so many milliseconds.
fn changes(of: &[(u64, Changed)]) -> Vec<Change> {
    of.iter().map(|(ms, what)| Change { at_ns: ms * MS, what: what.clone() }).collect()
}

/// `fcg_cgroup_set_weight()` does not count up `hweight_gen`: shares that are cached stay until some group becomes
/// active or idle. Here weights of 3:1 become 1:3 after half of the time, and a task that sleeps makes the difference.
#[test]
fn flatcg_follows_weights_that_change_once_a_group_becomes_active() {
    let mut load = groups(&[(0, 300, 2), (0, 100, 2)]);
    load.changes = changes(&[
        (2_000, Changed::Weight { group: 1, weight: 100 }),
        (2_000, Changed::Weight { group: 2, weight: 300 }),
    ]);
    let alone = shares(&flatcg(), "test-1c", &load, 4_000);
    assert!((alone[0] - 0.75).abs() < 0.01, "{alone:?}");
    let us = |us: u64| Work::uniform(us * 1_000, 0);
    let ops = vec![Op::Run(us(10)), Op::Sleep(us(100_000)), Op::Repeat { to: 0, times: None }];
    load.programs.push(Program { name: "sleeps".to_owned(), ops });
    let program = load.programs.len() as u32 - 1;
    load.groups.push(Group { name: "third".to_owned(), weight: 100, ..Group::default() });
    load.tasks.push(Task { program, group: 3, ..load.tasks[0].clone() });
    let beside = shares(&flatcg(), "test-1c", &load, 4_000);
    assert!((beside[0] - 0.5).abs() < 0.03, "{beside:?}");
}

/// Tasks that move take their group's share: two of three groups are left with tasks.
#[test]
fn flatcg_shares_by_where_tasks_are() {
    let mut load = groups(&[(0, 100, 2), (0, 100, 2), (0, 300, 2)]);
    load.changes = changes(&[(0, Changed::Move { tasks: vec![0, 1], group: 3 })]);
    let shares = shares(&flatcg(), "test-1c", &load, 3_000);
    // Group 3 has four tasks and three quarters of the time.
    let expected = [0.375, 0.25, 0.375];
    assert!(shares.iter().zip(expected).all(|(is, want)| (is - want).abs() < 0.015), "{shares:?}");
}

/// A load with a group of two tasks, and one of weight 300 that is made after 1 s: its two tasks start then, run for
/// 750 ms each, and exit.
fn job() -> Workload {
    let mut load = groups(&[(0, 100, 2), (0, 300, 2), (2, 100, 0)]);
    let piece = vec![Op::Run(Work::uniform(MS, 0)), Op::Done, Op::Repeat { to: 0, times: Some(749) }, Op::Exit];
    let program = load.programs.len() as u32;
    load.programs.push(Program { name: "piece".to_owned(), ops: piece });
    load.tasks[2..].iter_mut().for_each(|task| (task.program, task.start_ns) = (program, 1_001 * MS));
    load
}

#[test]
fn a_group_is_made_for_a_job_and_removed_after_it() {
    let mut load = job();
    // For 2 s the job has three quarters of the time, where the scheduler shares by weight, and for 3 s half without.
    let until = |removed: [u64; 2]| {
        changes(&[
            (1_000, Changed::Make { group: 2 }),
            (1_500, Changed::Make { group: 3 }),
            (removed[0], Changed::Remove { group: 3 }),
            (removed[1], Changed::Remove { group: 2 }),
        ])
    };
    load.changes = until([3_200, 3_500]);
    let shares = shares(&flatcg(), "test-1c", &load, 4_000);
    assert!((shares[0] - 0.625).abs() < 0.01 && (shares[1] - 0.375).abs() < 0.01, "{shares:?}");
    load.changes = until([4_200, 4_500]);
    let told = |ms| after(checks(), "test-1c", &load, ms, &["nr_inits", "nr_exits"]);
    for (ms, inits, exits) in [(900, 2, 0), (1_400, 3, 0), (4_100, 4, 0), (4_300, 4, 1), (4_600, 4, 2)] {
        let told = told(ms);
        assert_eq!((told["nr_inits"], told["nr_exits"]), (inits, exits), "{ms} ms");
    }
}

#[test]
fn a_group_that_cannot_be_removed_or_made_ends_the_run() {
    let mut load = job();
    load.changes = changes(&[(1_000, Changed::Make { group: 2 }), (2_000, Changed::Remove { group: 2 })]);
    let error = simulate(&checks(), "test-1c", &load, 4_000 * MS).0.unwrap_err().to_string();
    assert!(error.contains("control group group-1 is removed while task") && error.contains("(EBUSY)"), "{error}");
    // It keeps no more than 16, the root included.
    let mut load = groups(&[(0, 100, 1); 16]);
    load.changes = changes(&[(10, Changed::Make { group: 16 })]);
    load.tasks[15].start_ns = 11 * MS;
    let error = simulate(&checks(), "test-1c", &load, 20 * MS).0.unwrap_err().to_string();
    assert!(error.contains("ops.cgroup_init() prevents the control group group-15 from being made (-12)"), "{error}");
}

/// Each operation about a change of a group or of a task's group is called once, and finds the structs as they are
/// then. Tasks move that sleep, wait and run; one of them has exited, and one is not there yet.
#[test]
fn a_scheduler_is_told_of_what_changes() {
    let mut load = groups(&[(0, 100, 3), (0, 100, 1), (1, 100, 0)]);
    load.programs
        .push(Program { name: "exits".to_owned(), ops: vec![Op::Run(Work::uniform(MS, 0)), Op::Done, Op::Exit] });
    (load.tasks[1].program, load.tasks[2].start_ns) = (4, 500 * MS);
    load.tasks.swap(2, 3);
    let max = Some(CpuMax { quota: 10 * MS, period: 20 * MS, burst: 5 * MS });
    load.changes = changes(&[
        (20, Changed::Weight { group: 2, weight: 100 }),
        (20, Changed::Weight { group: 2, weight: 7 }),
        (20, Changed::Max { group: 1, max }),
        (20, Changed::Max { group: 1, max }),
        (20, Changed::Idle { group: 3, idle: true }),
        (30, Changed::Move { tasks: vec![0, 1, 2, 3], group: 3 }),
        (40, Changed::Move { tasks: vec![2], group: 0 }),
    ]);
    let names = &[
        "nr_weights",
        "new_weight",
        "nr_bandwidths",
        "new_period",
        "new_quota",
        "new_burst",
        "nr_idles",
        "new_idle",
        "nr_prep_moves",
        "nr_moves",
        "nr_cancel_moves",
        "moved_from",
        "moved_to",
    ];
    let told = after(checks(), "test-1c", &load, 100, names);
    let values = |names: &[&str]| names.iter().map(|name| told[name]).collect::<Vec<_>>();
    assert_eq!(values(&["nr_weights", "new_weight"]), [1, 7]);
    assert_eq!(values(&["nr_bandwidths", "new_period", "new_quota", "new_burst"]), [1, 20_000, 10_000, 5_000]);
    assert_eq!(values(&["nr_idles", "new_idle"]), [1, 1]);
    // Tasks 0 and 2 move once, and 2 once more; the others are not there.
    assert_eq!(values(&["nr_prep_moves", "nr_moves", "nr_cancel_moves"]), [3, 3, 0]);
    assert_eq!(values(&["moved_from", "moved_to"]), [4, 1]);
    // A scheduler may refuse, and the task stays where it is.
    let mut refuses = checks();
    refuses.set("prep_move_returns", -16);
    let told = after(refuses, "test-1c", &load, 100, &["nr_prep_moves", "nr_moves", "nr_cancel_moves"]);
    assert_eq!([told["nr_prep_moves"], told["nr_moves"], told["nr_cancel_moves"]], [3, 0, 0]);
}
