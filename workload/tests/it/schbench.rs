//! The model of schbench: its options, its threads, and its metric.

use std::collections::BTreeMap;
use wakelab_workload::{Call, Load, Op, Work, Workload, build};

fn at(case: &str, n: u32, options: &[(&str, u64)]) -> Workload {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    build(&format!("schbench:{case}"), Load::Instances(n), 112, &options).unwrap()
}

/// Message threads, and how many workers each forks.
fn threads(workload: &Workload) -> (usize, Option<u32>) {
    let workers = workload.programs[0].ops.iter().find_map(|op| match *op {
        Op::Repeat { to: 0, times } => times,
        _ => None,
    });
    (workload.tasks.len(), workers)
}

#[test]
fn the_load_is_the_message_threads_or_the_workers_as_tables_have_it() {
    let label = |case, n| at(case, n, &[]).load;
    assert_eq!([label("normal", 1), label("normal", 8), label("workers", 512)], ["1 mthread", "8 mthreads", "512"]);
    assert_eq!(threads(&at("normal", 4, &[])), (4, Some(28)));
    assert_eq!(threads(&at("normal", 4, &[("threads", 44)])), (4, Some(44)));
    assert_eq!(threads(&at("workers", 64, &[])), (1, Some(64)));
    assert_eq!(threads(&at("workers", 64, &[("message_threads", 2)])), (2, Some(64)));
}

#[test]
fn each_message_thread_has_a_list_of_its_own() {
    let workload = at("normal", 3, &[]);
    let lists: Vec<_> = workload.tasks.iter().map(|task| task.channels.to_vec()).collect();
    assert_eq!(lists, [[0], [1], [2]]);
    assert_eq!(workload.channels.len(), 3);
}

#[test]
fn a_worker_spins_asks_and_is_done_when_it_has_read_the_clock() {
    let workload = at("normal", 1, &[("cputime", 5), ("sleeptime", 8), ("jitter", 0)]);
    let run = |ns| Work { ns, jitter_pct: 0 };
    let expected = [
        Op::Call(Call::RunFor { ns: 5_000 }),
        Op::Run(run(350)),
        Op::Call(Call::Ask { list: 0 }),
        Op::Run(run(300)),
        Op::Done,
        Op::Repeat { to: 0, times: None },
    ];
    assert_eq!(workload.programs[1].ops, expected);
    // 8 us and up to a quarter more.
    let expected = [
        Op::Call(Call::Await { list: 0 }),
        Op::Sleep(Work { ns: 9_000, jitter_pct: 11 }),
        Op::Call(Call::Serve { list: 0, each: run(350) }),
    ];
    assert_eq!(workload.programs[0].ops[3..6], expected);
}

#[test]
fn less_latency_is_better_in_us() {
    for (case, metric) in [("normal", "latency_90pct"), ("workers", "latency_99pct")] {
        let workload = at(case, 1, &[]);
        assert_eq!((workload.metric.as_str(), workload.unit.as_str()), (metric, "us"));
        assert!(!workload.higher_is_better);
    }
}

#[test]
fn without_sleep_or_spin_it_still_takes_time() {
    let workload = at("normal", 2, &[("sleeptime", 0), ("cputime", 0)]);
    assert_eq!(workload.validate(112), Ok(()));
}
