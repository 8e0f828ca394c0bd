//! Programs that go round at one instant for ever are refused, and those that wait for time are not.

use wakelab_workload::{Channel, Op, Program, Task, Work, Workload, synthetic};

const AGAIN: Op = Op::Repeat { to: 0, times: None };
const SOME: Op = Op::Run(Work::uniform(1, 0));
const NONE: Op = Op::Run(Work::uniform(0, 0));

fn send(channel: u32) -> Op {
    Op::Send { channel, sync: false }
}

fn recv(channel: u32) -> Op {
    Op::Recv { channel }
}

/// A task for each program, all with the same four channels.
fn tasks_of(programs: &[&[Op]]) -> Workload {
    let name = |i: usize| format!("p{i}");
    let programs: Vec<Program> =
        programs.iter().enumerate().map(|(i, ops)| Program { name: name(i), ops: ops.to_vec() }).collect();
    let task = |i: usize| Task { name: name(i), program: i as u32, channels: [0, 1, 2, 3].into(), ..task() };
    let channels = (0..4).map(|i| Channel::new(format!("c{i}"), 8)).collect();
    let tasks = (0..programs.len()).map(task).collect();
    Workload { programs, channels, tasks, ..synthetic::ping_pong(1) }
}

fn task() -> Task {
    synthetic::ping_pong(1).tasks[0].clone()
}

fn step(programs: &[&[Op]]) -> Option<String> {
    let error = tasks_of(programs).validate(1).err()?.to_string();
    let (place, what) = error.split_once(": ").unwrap();
    assert!(what.starts_with("loops for ever without time passing; expected work, a sleep, or a wait"), "{error}");
    Some(place.to_owned())
}

#[test]
fn a_round_with_no_work_is_refused() {
    assert_eq!(step(&[&[NONE, AGAIN]]), Some("program p0, step 1".to_owned()));
    assert_eq!(step(&[&[SOME, Op::Begin, Op::Repeat { to: 1, times: None }]]), Some("program p0, step 2".to_owned()));
    assert_eq!(step(&[&[SOME, AGAIN]]), None);
    assert_eq!(step(&[&[NONE, Op::Repeat { to: 0, times: Some(5) }]]), None);
}

#[test]
fn messages_take_time_only_if_who_is_at_the_other_end_does() {
    assert_eq!(step(&[&[send(0), recv(0), AGAIN]]), Some("program p0, step 2".to_owned()));
    assert_eq!(step(&[&[send(0), recv(1), AGAIN], &[recv(0), send(1), AGAIN]]), Some("program p0, step 2".to_owned()));
    assert_eq!(step(&[&[send(0), recv(1), AGAIN], &[recv(0), SOME, send(1), AGAIN]]), None);
    // A relay and a sender wait for the one who works, at whatever distance.
    assert_eq!(step(&[&[send(0), AGAIN], &[recv(0), send(1), AGAIN], &[recv(1), SOME, AGAIN]]), None);
    // Who works elsewhere does not help.
    assert_eq!(step(&[&[send(0), recv(0), AGAIN], &[SOME, AGAIN]]), Some("program p0, step 2".to_owned()));
    // Nobody sends: that is a deadlock, which ends.
    assert_eq!(step(&[&[recv(0), AGAIN]]), None);
}

#[test]
fn channels_are_told_apart_by_task() {
    let mut workload = tasks_of(&[&[send(0), recv(0), AGAIN], &[recv(0), SOME, send(0), AGAIN]]);
    assert!(workload.validate(1).is_err());
    workload.tasks[1].channels = [1, 0].into();
    assert!(workload.validate(1).is_err());
    workload.programs[0].ops[1] = recv(1);
    workload.tasks[0].channels = [0, 1].into();
    workload.programs[1].ops = vec![recv(1), SOME, send(0), AGAIN];
    assert_eq!(workload.validate(1), Ok(()));
}

#[test]
fn forks_and_waits_take_the_time_of_their_children() {
    let fork = Op::Fork { program: 1 };
    assert_eq!(step(&[&[fork, Op::Wait, AGAIN], &[SOME]]), None);
    assert_eq!(step(&[&[fork, Op::Wait, AGAIN], &[NONE]]), Some("program p0, step 2".to_owned()));
    let once = [fork, Op::Wait, Op::Repeat { to: 1, times: None }];
    assert_eq!(step(&[&once, &[SOME]]), Some("program p0, step 2".to_owned()));
}
