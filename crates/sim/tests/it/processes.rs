//! Threads of one process: a switch between two of them loads no other address space.

use crate::support::{MS, Told, back, call, ns, simulate, workload};
use std::collections::BTreeMap;
use wakelab_workload::{Call, Load, Op, Workload, build};

/// How often two tasks on one CPU have woken each other in 10 ms.
fn rounds(workload: &Workload) -> usize {
    let mut told = Told::default();
    simulate(("test-1c", "v6.1"), workload, (1, 10 * MS), true, &mut told).expect("a run");
    told.done.len()
}

/// Two tasks that pass a message to and fro: two switches a round, and no time idle.
fn pair() -> Workload {
    let (send, receive) = (|channel| Op::Send { channel, sync: true }, |channel| Op::Recv { channel });
    let ask = vec![Op::Begin, Op::Run(ns(500)), send(0), receive(1), Op::Done, back(0, 0)];
    let answer = vec![receive(0), Op::Run(ns(500)), send(1), back(0, 0)];
    workload(vec![ask, answer], &[("ask", 1), ("answer", 1)], Some(vec![0]))
}

#[test]
fn a_switch_between_threads_costs_what_loading_an_address_space_does_less() {
    let mut threads = pair();
    let processes = rounds(&threads);
    threads.tasks[0].process = Some(3);
    assert_eq!(rounds(&threads), processes, "the other is not of that process");
    threads.tasks[1].process = Some(4);
    assert_eq!(rounds(&threads), processes, "nor of another");
    threads.tasks[1].process = Some(3);
    let costs = wakelab_machine::get("test-1c").expect("a machine").costs;
    let saved = 2.0 * costs.switch_mm.value as f64;
    let round = |rounds: usize| 10.0 * MS as f64 / rounds as f64;
    let difference = round(processes) - round(rounds(&threads));
    assert!((difference - saved).abs() < 0.03 * saved, "{difference} ns a round less, expected {saved}");
}

/// A forked task is of its parent's process, until it becomes another program.
#[test]
fn forked_tasks_share_the_address_space_until_they_exec() {
    let turns = |exec: bool| {
        // Both run on one CPU in turns of a slice, each of which ends with a switch.
        let mut child = vec![Op::Run(ns(100)), call(Call::Yield), back(0, 0)];
        if exec {
            child.insert(0, call(Call::Exec));
            child[3] = back(1, 0);
        }
        let parent =
            vec![Op::Fork { program: 1 }, Op::Begin, Op::Run(ns(100)), Op::Done, call(Call::Yield), back(1, 0)];
        let mut all = workload(vec![parent, child], &[], Some(vec![0]));
        all.tasks.truncate(1);
        all.tasks[0].process = Some(0);
        rounds(&all)
    };
    assert!(turns(false) > turns(true), "{} and {} turns", turns(false), turns(true));
}

/// The benchmark's threads on one CPU, which is never idle, all else being equal: they start when the processes do.
/// Through a pipe that holds 640 messages there are too few switches to tell, so messages are pages.
#[test]
fn hackbench_does_more_with_threads_than_with_processes() {
    for kind in ["pipe", "sockets"] {
        let done = |case: &str| {
            let params = BTreeMap::from([("start".to_owned(), 15_000), ("size".to_owned(), 4096)]);
            let workload = build(&format!("hackbench:{case}-{kind}"), Load::Instances(1), 1, &params).expect("it");
            let mut told = Told::default();
            simulate(("test-1c", "v6.1"), &workload, (1, 100 * MS), false, &mut told).expect("a run");
            told.done.len()
        };
        let (processes, threads) = (done("process"), done("thread"));
        assert!(threads > processes, "{kind}: {threads} messages with threads, {processes} with processes");
    }
}
