//! Forks come to an end, and so does the number of tasks.

use wakelab_workload::{Op, Program, Task, Work, Workload, synthetic};

const SOME: Op = Op::Run(Work::uniform(1, 0));

fn fork(program: u32) -> Op {
    Op::Fork { program }
}

fn times(to: u32, times: u32) -> Op {
    Op::Repeat { to, times: Some(times) }
}

fn ever(to: u32) -> Op {
    Op::Repeat { to, times: None }
}

/// What is said of a task that runs the first of these programs.
fn says(programs: &[&[Op]]) -> Option<String> {
    let program = |(i, ops): (usize, &&[Op])| Program { name: format!("p{i}"), ops: ops.to_vec() };
    let workload = Workload {
        programs: programs.iter().enumerate().map(program).collect(),
        channels: vec![],
        tasks: vec![Task { channels: [].into(), program: 0, ..synthetic::ping_pong(1).tasks[0].clone() }],
        ..synthetic::ping_pong(1)
    };
    workload.validate(1).err().map(|error| error.to_string())
}

fn bomb(programs: &[&[Op]], place: &str) -> bool {
    says(programs).is_some_and(|error| error.starts_with(place) && error.contains("tasks without end\n  hint: "))
}

#[test]
fn programs_that_fork_each_other_never_end_with_or_without_work() {
    assert!(bomb(&[&[fork(1)], &[fork(0)]], "program p0, step 0: forks p1"));
    assert!(bomb(&[&[fork(1)], &[SOME, fork(0)]], "program p0, step 0: forks p1"));
    assert!(bomb(&[&[SOME, fork(0)]], "program p0, step 1: forks p0"));
    assert!(bomb(&[&[fork(1), Op::Wait], &[SOME, fork(2)], &[fork(1)]], "program p1, step 1: forks p2"));
}

#[test]
fn an_endless_loop_waits_for_what_it_forks() {
    assert!(bomb(&[&[fork(1), SOME, ever(0)], &[SOME]], "program p0, step 0: forks p1 in an endless loop"));
    assert!(bomb(&[&[fork(1), Op::Wait, fork(1), SOME, ever(2)], &[SOME]], "program p0, step 2: forks p1"));
    assert_eq!(says(&[&[fork(1), SOME, Op::Wait, ever(0)], &[SOME]]), None);
    assert_eq!(says(&[&[Op::Wait, SOME, fork(1), ever(0)], &[SOME]]), None);
    assert_eq!(says(&[&[fork(1), SOME, ever(1)], &[SOME]]), None);
}

#[test]
fn waiting_for_a_child_is_not_waiting_for_its_children() {
    assert!(bomb(&[&[fork(1), SOME, Op::Wait, ever(0)], &[fork(2)], &[SOME]], "program p0, step 0: forks p1"));
    assert!(bomb(
        &[&[fork(1), SOME, Op::Wait, ever(0)], &[Op::Wait, fork(2)], &[SOME]],
        "program p0, step 0: forks p1"
    ));
    assert_eq!(says(&[&[fork(1), SOME, Op::Wait, ever(0)], &[fork(2), Op::Wait], &[SOME]]), None);
}

#[test]
fn a_chain_of_forks_that_ends_is_no_bomb() {
    assert_eq!(says(&[&[fork(1)], &[SOME, fork(2)], &[SOME, fork(3)], &[SOME]]), None);
}

#[test]
fn more_tasks_at_once_than_memory_holds_are_refused() {
    let too_many = |programs: &[&[Op]]| {
        says(programs).is_some_and(|error| error.contains("forks p") && error.contains(": there can be "))
    };
    assert_eq!(says(&[&[fork(1), times(0, 999_999)], &[SOME]]), None);
    assert!(too_many(&[&[fork(1), times(0, 1_000_000)], &[SOME]]));
    assert!(too_many(&[&[fork(1), times(0, 1_000), times(0, 1_000)], &[SOME]]));
    assert!(too_many(&[&[fork(1), times(0, 1_000)], &[fork(2), times(0, 1_000)], &[SOME]]));
    // What is waited for in the loop does not add up.
    assert_eq!(says(&[&[fork(1), Op::Wait, times(0, 1_000_000)], &[SOME]]), None);
    assert_eq!(
        says(&[&[fork(1), times(0, u32::MAX), times(0, u32::MAX), times(0, u32::MAX)], &[SOME]]).unwrap(),
        format!(
            "program p0, step 0: forks p1: there can be {} tasks at once; expected at most 1000000\n  hint: put a \
             \"wait\" into a loop that forks, so that its tasks do not pile up",
            u64::MAX
        )
    );
}
