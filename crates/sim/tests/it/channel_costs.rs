//! What using a channel costs: its own cache lines, those of its messages, and the wait in its queue.

use crate::support::{MS, Told, call, ns, simulate_with, workload};
use wakelab_sim::Mechanisms;
use wakelab_workload::{Call, ChannelCosts, Op, Workload};

/// Runs two tasks, each on a CPU of its own, without noise, and returns the latencies of each, ns.
fn latencies(mut workload: Workload, costs: ChannelCosts, mechanisms: Mechanisms) -> [Vec<u64>; 2] {
    workload.channels[0].costs = costs;
    for (task, cpu) in workload.tasks.iter_mut().zip(0..) {
        task.affinity = Some(vec![cpu]);
    }
    let mechanisms = Mechanisms { noise: false, ..mechanisms };
    let mut told = Told::default();
    simulate_with(mechanisms, ("test-2c", "v6.1"), &workload, (1, 50 * MS), &mut told).unwrap();
    [0, 1].map(|task| told.done.iter().filter(|done| done.0 == task).map(|done| done.2).collect())
}

const WORK: u64 = 1000;

fn at(ms: u64, step: Op) -> [Op; 5] {
    [call(Call::SleepUntil { at_ns: ms * MS }), Op::Begin, step, Op::Run(ns(WORK)), Op::Done]
}

const SEND: Op = Op::Send { channel: 0, sync: false };
const RECV: Op = Op::Recv { channel: 0 };

/// `cold_message` of the test machine, ns.
fn cold() -> u64 {
    wakelab_machine::get("test-2c").unwrap().costs.cold_message.value
}

const COSTS: ChannelCosts = ChannelCosts { own_lines_pct: 60, message_lines_pct: 25, waited_ns: 700 };

/// One writes twice, the other reads twice, and then the first writes once more: nobody waits.
fn without_waits() -> Workload {
    let one = [at(1, SEND), at(2, SEND), at(5, SEND)].concat();
    let other = [at(3, RECV), at(4, RECV)].concat();
    workload(vec![one, other], &[("pipe", 4)], None)
}

#[test]
fn the_channels_lines_follow_who_uses_it_and_a_messages_lines_its_writer() {
    let [own, message] = [cold() * 60 / 100, cold() * 25 / 100];
    let [writes, reads] = latencies(without_waits(), COSTS, Mechanisms::default());
    assert_eq!(writes, [WORK, WORK, WORK + own], "the last write comes after the other CPU's reads");
    assert_eq!(reads, [WORK + own + message, WORK + message], "the second read finds the channel in its cache");
}

#[test]
fn by_default_only_the_message_costs_anything() {
    let [writes, reads] = latencies(without_waits(), ChannelCosts::default(), Mechanisms::default());
    assert_eq!((writes, reads), (vec![WORK; 3], vec![WORK + cold(); 2]));
    // So it is with the mechanism switched off.
    let without = Mechanisms { channel_lines: false, ..Mechanisms::default() };
    assert_eq!(latencies(without_waits(), COSTS, without), [vec![WORK; 3], vec![WORK + cold(); 2]]);
}

/// Readers and writers that sleep in the call do more when they go on, in calls for one message and for a page.
#[test]
fn who_waited_does_more() {
    let programs = |one: Vec<Op>, other: Vec<Op>| workload(vec![one, other], &[("pipe", 1)], None);
    let batch = call(Call::RecvBatch { channel: 0, room: 1, all: false });
    let reader_waits = |recv| programs(at(5, SEND).to_vec(), at(1, recv).to_vec());
    let writer_waits = |recv| programs([at(1, SEND), at(2, SEND)].concat(), at(5, recv).to_vec());
    for recv in [RECV, batch] {
        for (workload, task) in [(reader_waits(recv), 1), (writer_waits(recv), 0)] {
            let last = |waited_ns| {
                let costs = ChannelCosts { waited_ns, ..ChannelCosts::default() };
                let latency = latencies(workload.clone(), costs, Mechanisms::default());
                *latency[task].last().expect("it is done")
            };
            assert_eq!(last(700), last(0) + 700, "{recv:?}, task {task}");
        }
    }
}
