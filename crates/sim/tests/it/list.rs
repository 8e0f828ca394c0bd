//! Lists of tasks that wait to be answered: who is woken when, and from when a latency counts.

use crate::support::{Told, back, call, ns, on_one_cpu, simulate, workload};
use wakelab_workload::{Call, Load, Op, build};

const US: u64 = 1_000;
const ASK: Op = call(Call::Ask { list: 0 });
const AWAIT: Op = call(Call::Await { list: 0 });

fn serve(each: u64) -> Op {
    call(Call::Serve { list: 0, each: ns(each) })
}

/// Workers that ask once each, so many ns after the start, and a server that answers all in one round.
fn one_round(asks: &[u64], each: u64) -> Told {
    let server = vec![AWAIT, Op::Sleep(ns(500 * US)), serve(each)];
    let worker = |&ns_: &u64| vec![Op::Sleep(ns(ns_)), ASK, Op::Done];
    let programs = std::iter::once(server).chain(asks.iter().map(worker)).collect();
    on_one_cpu(programs, &[("list", 1)], 10_000 * US)
}

#[test]
fn the_last_that_came_is_woken_first_and_all_count_from_one_moment() {
    // 300 us a wake-up: on one CPU, a woken task runs before the server goes on, since it has slept.
    let told = one_round(&[10 * US, 20 * US, 30 * US], 300 * US);
    let order: Vec<usize> = told.done.iter().map(|done| done.0).collect();
    assert_eq!(order, [3, 2, 1]);
    let begun: Vec<u64> = told.done.iter().map(|&(_, at, latency)| at - latency).collect();
    assert_eq!(begun, [begun[0]; 3]);
    assert!(begun[0] >= 510 * US, "{begun:?}");
    let latencies: Vec<u64> = told.done.iter().map(|done| done.2).collect();
    assert!(latencies.iter().zip(1..).all(|(&latency, n)| latency >= n * 300 * US), "{latencies:?}");
}

#[test]
fn who_asks_after_the_list_was_taken_waits_for_the_next_round() {
    let server = vec![AWAIT, Op::Sleep(ns(100 * US)), serve(0), back(0, 2)];
    let worker = |at: u64| vec![Op::Sleep(ns(at)), ASK, Op::Done];
    let told = on_one_cpu(vec![server, worker(10 * US), worker(400 * US)], &[("list", 1)], 10_000 * US);
    let times = [told.times(1)[0], told.times(2)[0]];
    assert!(times[0] >= 110 * US && times[0] < 200 * US, "{times:?}");
    assert!(times[1] >= 500 * US, "{times:?}");
    assert_eq!(told.exits.len(), 3);
}

#[test]
fn a_server_that_finds_nobody_serves_at_once_and_sleeps_until_somebody_asks() {
    let server = vec![serve(50 * US), Op::Begin, AWAIT, Op::Done, serve(0)];
    let told = on_one_cpu(vec![server, vec![Op::Sleep(ns(1_000 * US)), ASK]], &[("list", 1)], 10_000 * US);
    let [(0, at, waited)] = told.done[..] else { panic!("one transaction: {:?}", told.done) };
    assert!(waited >= 900 * US && at >= 1_000 * US, "{at} {waited}");
}

#[test]
fn who_is_never_answered_is_told_in_the_report_of_the_deadlock() {
    let workload = workload(vec![vec![ASK, Op::Done]], &[("list", 1)], None);
    let error = simulate(("test-1c", "v6.1"), &workload, (1, 10_000 * US), true, &mut Told::default()).unwrap_err();
    assert!(error.to_string().contains("an answer on list"), "{error}");
}

#[test]
fn schbench_is_the_same_each_time_and_its_workers_ask_once_a_round() {
    let workload = build("schbench:normal", Load::Instances(2), 8, &[("threads".to_owned(), 3)].into()).unwrap();
    let run = |seed| {
        let mut told = Told::default();
        simulate(("test-8c", "v6.1"), &workload, (seed, 1_000_000 * US), false, &mut told).unwrap();
        told
    };
    let told = run(1);
    assert_eq!(told, run(1));
    assert_ne!(told, run(2));
    // A round is 90 to 98 ms: 10 or 11 for each of 6 workers.
    assert!((6 * 10..=6 * 11).contains(&told.done.len()), "{}", told.done.len());
}

#[test]
fn tbench_is_the_same_each_time() {
    let workload = build("tbench:loopback", Load::Instances(8), 8, &Default::default()).unwrap();
    let run = |seed| {
        let mut told = Told::default();
        simulate(("test-8c", "v5.19-rc1"), &workload, (seed, 20_000 * US), false, &mut told).unwrap();
        told
    };
    let told = run(1);
    assert_eq!(told, run(1));
    assert!(told.done.len() > 1_000, "{}", told.done.len());
}
