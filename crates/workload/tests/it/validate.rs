//! What cannot run is refused, with what it is about.

use wakelab_workload::{Call, Channel, Op, Program, Work, Workload, synthetic};

const WORK: Work = Work::uniform(50_000, 10);

fn says(change: impl FnOnce(&mut Workload)) -> String {
    let mut workload = synthetic::ping_pong(2);
    assert_eq!(workload.validate(4), Ok(()));
    change(&mut workload);
    workload.validate(4).unwrap_err().to_string()
}

#[test]
fn the_synthetic_workloads_are_right_on_any_machine() {
    for workload in [
        synthetic::run_sleep(1, WORK, WORK),
        synthetic::run_sleep(300, WORK, WORK),
        synthetic::ping_pong(7),
        synthetic::fork_exit(1),
        synthetic::fork_exit(64),
    ] {
        assert_eq!(workload.validate(1), Ok(()), "{}", workload.case);
        assert!(workload.programs.iter().any(|program| program.ops.contains(&Op::Done)), "{}", workload.case);
    }
    assert_eq!(synthetic::run_sleep(300, WORK, WORK).tasks.len(), 300);
    assert_eq!(synthetic::ping_pong(7).channels.len(), 14);
}

#[test]
fn a_wrong_task_is_named() {
    assert_eq!(says(|w| w.tasks.clear()), "the workload has no tasks; expected one or more");
    assert_eq!(
        says(|w| w.tasks[3].program = 2),
        "task ping 1: it runs program 2, but there are only 2, counted from 0"
    );
    assert_eq!(
        says(|w| w.tasks[0].channels = [0, 4].into()),
        "task pong 0: it has channel 4, but there are only 4, counted from 0"
    );
    assert_eq!(
        says(|w| w.tasks[0].channels = [0].into()),
        "task pong 0: program pong uses 2 channels, but the task has 1"
    );
    assert_eq!(says(|w| w.tasks[1].nice = 20), "task ping 0: nice is 20; expected -20 to 19");
    let affinity = |cpus: &[u32]| says(|w| w.tasks[2].affinity = Some(cpus.to_vec()));
    assert_eq!(affinity(&[]), "task pong 1: its affinity has no CPUs; expected one or more");
    assert_eq!(affinity(&[1, 4]), "task pong 1: its affinity has CPU 4; the machine has CPUs 0 to 3");
    assert_eq!(affinity(&[1, 1]), "task pong 1: the CPUs of its affinity are not in ascending order");
}

#[test]
fn a_wrong_channel_or_step_is_named() {
    assert_eq!(
        says(|w| w.channels[1].capacity = 0),
        "channel back 0: the channel holds 0 messages; expected 1 or more"
    );
    let step = |op| says(|w| w.programs[1].ops[1] = op);
    assert_eq!(
        step(Op::Fork { program: 9 }),
        "program ping, step 1: forks program 9, but there are only 2, counted from 0"
    );
    assert_eq!(
        step(Op::Repeat { to: 1, times: Some(2) }),
        "program ping, step 1: goes back to step 1; expected an earlier step"
    );
    assert_eq!(step(Op::Repeat { to: 0, times: Some(0) }), "program ping, step 1: repeats 0 times; expected 1 or more");
    assert_eq!(step(Op::Sleep(Work::uniform(1, 101))), "program ping, step 1: the jitter is 101%; expected 0 to 100");
}

#[test]
fn what_kworkers_cannot_do_is_refused() {
    let queue = |program| Op::Call(Call::QueueWork { workqueue: 0, program });
    assert_eq!(
        says(|w| w.programs[1].ops[1] = queue(9)),
        "program ping, step 1: queues program 9, but there are only 2, counted from 0"
    );
    let says = |ops: Vec<Op>| {
        says(|w| {
            w.channels.push(Channel::new("work", 1));
            w.programs.push(Program { name: "work".to_owned(), ops });
            w.programs[1].ops.insert(1, Op::Call(Call::QueueWork { workqueue: 2, program: 2 }));
            w.tasks.iter_mut().for_each(|task| task.channels = [0, 1, 4].into());
        })
    };
    let run = Op::Run(WORK);
    assert_eq!(
        says(vec![run, Op::Repeat { to: 0, times: None }]),
        "program work, step 1: repeats for ever in a kworker; expected a limited number of times"
    );
    assert_eq!(
        says(vec![Op::Fork { program: 0 }]),
        "program work, step 0: forks or waits for children in a kworker, which cannot; remove it"
    );
    assert_eq!(
        says(vec![run, Op::Call(Call::Exec)]),
        "program work, step 1: changes how a kworker is scheduled; remove it from the work of kworkers"
    );
    for step in [Call::Nice(1), Call::Slice { ns: 1 }, Call::Uclamp { min: None, max: Some(1) }] {
        assert!(says(vec![Op::Call(step)]).contains("changes how a kworker is scheduled"), "{step:?}");
    }
    assert!(says(vec![Op::Call(Call::Barrier { barrier: 2 })]).contains("expected no barrier, list or timer"));
    assert_eq!(
        says(vec![run, Op::Call(Call::QueueWork { workqueue: 2, program: 2 })]),
        "program work, step 1: queues work, which leads back to this program: the work never ends; expected work that \
         ends"
    );
    // What it uses, the task has to have.
    assert_eq!(
        says(vec![Op::Call(Call::Down { semaphore: 3 })]),
        "task ping 0: program ping uses 4 channels, but the task has 3"
    );
}

#[test]
fn a_forked_childs_channels_are_its_parents_to_have() {
    let says = says(|w| {
        w.programs[0].ops[1] = Op::Fork { program: 1 };
        w.programs[1].ops[1] = Op::Recv { channel: 2 };
    });
    assert_eq!(says, "task pong 0: program pong uses 3 channels, but the task has 2");
}

#[test]
fn a_transaction_begins_before_it_is_done() {
    assert_eq!(
        says(|w| w.programs[1].ops[0] = Op::Recv { channel: 1 }),
        "program ping, step 4: is \"done\", but there is no \"begin\"; expected one before it"
    );
    assert_eq!(
        says(|w| w.programs[1].ops.swap(0, 4)),
        "program ping, step 0: is \"done\", but the first \"begin\" is step 4; expected one before it"
    );
}
