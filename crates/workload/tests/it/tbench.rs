//! The model of tbench: who talks to whom, when they begin, and what a request costs.

use std::collections::BTreeMap;
use wakelab_workload::{Call, Load, Op, Work, Workload, build};

fn at(clients: u32, options: &[(&str, u64)]) -> Workload {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    build("tbench:loopback", Load::Instances(clients), 112, &options).unwrap()
}

fn runs(workload: &Workload, program: usize) -> Vec<u64> {
    let run = |op: &Op| if let Op::Run(work) = op { Some(work.ns) } else { None };
    workload.programs[program].ops.iter().filter_map(run).collect()
}

#[test]
fn each_client_has_a_server_of_its_own_and_all_begin_at_one_barrier() {
    let workload = at(3, &[("start", 1_000)]);
    assert_eq!(workload.load, "3 threads");
    let names: Vec<&str> = workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["server 0", "client 0", "server 1", "client 1", "server 2", "client 2", "tbench", "tbench_srv"]);
    for pair in workload.tasks[..6].chunks(2) {
        assert_eq!(pair[0].channels, pair[1].channels);
        // tbench_srv forks the servers, tbench the clients.
        assert_eq!([pair[0].parent, pair[1].parent], [Some(7), Some(6)]);
    }
    assert_eq!([6, 7].map(|task: usize| workload.tasks[task].parent), [None, None]);
    let starts: Vec<u64> = workload.tasks.iter().map(|task| task.start_ns).collect();
    assert_eq!(starts, [1_000, 1_000, 2_000, 2_000, 3_000, 3_000, 0, 0]);
    assert_eq!(workload.programs[2].ops[0], Op::Sleep(Work::uniform(4_000, 0)));
    let meets = |program: usize| {
        let barrier = |op: &Op| matches!(op.call(), Some(Call::Barrier { .. }));
        workload.programs[program].ops.iter().filter(|op| barrier(op)).count()
    };
    assert_eq!([0, 1, 2, 3].map(meets), [0, 1, 1, 0]);
    assert_eq!(workload.channels[6].capacity, 4);
}

#[test]
fn a_server_takes_what_its_client_sends_and_answers_in_step_with_it() {
    let workload = at(1, &[]);
    let count = |program: usize, is: fn(&Op) -> bool| workload.programs[program].ops.iter().filter(|op| is(op)).count();
    for program in [0, 1] {
        assert_eq!(count(program, |op| matches!(op, Op::Send { sync: true, .. })), 30);
        assert_eq!(count(program, |op| matches!(op, Op::Recv { .. })), 30);
        let sends = workload.programs[program].ops.windows(2).filter(|ops| matches!(ops[1], Op::Send { .. }));
        assert!(sends.into_iter().all(|ops| matches!(ops[0], Op::Softirq(_))));
    }
    assert_eq!(count(1, |op| *op == Op::Done), 29);
    // The connection is made once; the round begins after it.
    let last = |program: usize| *workload.programs[program].ops.last().unwrap();
    assert_eq!([last(0), last(1)], [Op::Repeat { to: 5, times: None }, Op::Repeat { to: 6, times: None }]);
}

#[test]
fn both_sides_copy_each_byte_once_and_small_requests_cost_what_netperfs_do() {
    let free = at(1, &[("copy", 0)]);
    let netperf = build("netperf:TCP_RR", Load::Instances(1), 112, &BTreeMap::new()).unwrap();
    let value = |name: &str| netperf.params.iter().find(|param| param.name == name).unwrap().value;
    assert_eq!(runs(&free, 0)[..2], [value("receive") + 300, value("send")]);
    let copies = |program: usize, bytes| -> u64 {
        let dear = at(1, &[("copy", 1000), ("bytes", bytes)]);
        runs(&dear, program).iter().sum::<u64>() - runs(&free, program).iter().sum::<u64>()
    };
    // At 1 ns a byte, 10 requests carry 8000 more in the mean than with none; each side copies them.
    assert_eq!(copies(0, 8_000) - copies(0, 0), 80_000);
    assert_eq!(copies(1, 8_000) - copies(1, 0), 80_000);
    assert_eq!(copies(0, 0), copies(1, 0));
}

#[test]
fn a_client_reads_its_load_file_between_requests() {
    let [with, without] = [at(1, &[]), at(1, &[("parse", 0)])].map(|workload| runs(&workload, 1).iter().sum::<u64>());
    assert_eq!(with - without, 29 * 700);
}
