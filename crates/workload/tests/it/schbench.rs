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
    assert_eq!(threads(&at("workers", 64, &[])), (2, Some(64)));
    assert_eq!(threads(&at("workers", 64, &[("message_threads", 1)])), (1, Some(64)));
}

#[test]
fn each_message_thread_has_a_list_of_its_own() {
    let workload = at("normal", 3, &[]);
    let lists: Vec<_> = workload.tasks.iter().map(|task| task.channels.to_vec()).collect();
    assert_eq!(lists, [[0], [1], [2]]);
    assert_eq!(workload.channels.len(), 3);
}

const fn spin(us: u64, counts: bool) -> Op {
    Op::Call(Call::SpinFor { ns: us * 1000, counts })
}

/// What a message thread and a worker do again and again.
fn rounds(options: &[(&str, u64)]) -> [Vec<Op>; 2] {
    let options = [&[("cputime", 5), ("message_cputime", 6), ("jitter", 0)], options].concat();
    let workload = at("normal", 1, &options);
    let [message, worker] = [0, 1].map(|program| workload.programs[program].ops.clone());
    // Without the forks.
    [message[3..].to_vec(), worker]
}

/// `run_msg_thread()`, `worker_thread()` and `add_lat()` of 2eef44790a4e.
#[test]
fn a_worker_asks_and_spins_and_is_done_by_what_that_took_longer() {
    let run = |ns| Op::Run(Work::uniform(ns, 0));
    let serve = Op::Call(Call::Serve { list: 0, each: Work::uniform(350, 0) });
    let [message, worker] = rounds(&[("sleeptime", 8)]);
    let asks = [run(350), Op::Call(Call::Ask { list: 0 }), run(300)];
    assert_eq!(worker, [&asks[..], &[spin(5, false), Op::Done, Op::Repeat { to: 0, times: None }]].concat());
    // 8 us and up to a quarter more.
    let sleep = Op::Sleep(Work::uniform(9_000, 11));
    let again = Op::Repeat { to: 3, times: None };
    assert_eq!(message, [Op::Call(Call::Await { list: 0 }), run(300), spin(6, true), sleep, serve, again]);
    // It neither waits nor sleeps.
    let [message, _] = rounds(&[("sleeptime", 0)]);
    assert_eq!(message, [run(300), spin(6, true), Op::Sleep(Work::uniform(0, 11)), serve, again]);
}

/// The same of 0eda8062ee9b and of dd2adced5e7a.
#[test]
fn before_2021_a_worker_spins_first_and_before_2020_only_workers_spin() {
    let [message_2020, worker] = rounds(&[("version", 2020)]);
    let [message_2016, same] = rounds(&[("version", 2016), ("sleeptime", 0)]);
    assert_eq!(worker, same);
    assert_eq!((worker[0], worker[4]), (spin(5, true), Op::Done));
    assert!(message_2020.contains(&spin(6, true)));
    assert_eq!((message_2016.len(), message_2016[0]), (4, Op::Call(Call::Await { list: 0 })));
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
    let nothing = [("sleeptime", 0), ("cputime", 0), ("message_cputime", 0)];
    assert_eq!(at("normal", 2, &nothing).validate(112), Ok(()));
    // A message thread that looks at its list in no time would do so for ever.
    let options = [&nothing[..], &[("wait", 0), ("jitter", 0)]].concat();
    let options = options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let error = build("schbench:normal", Load::Instances(2), 112, &options).unwrap_err();
    assert!(error.to_string().contains("time"), "{error}");
}

/// schbench as it is since 2023.
mod requests {
    use super::at;
    use std::collections::BTreeMap;
    use wakelab_workload::{Call, Load, Op, TimerMode, Work, Workload, build};

    fn run(ns: u64) -> Op {
        Op::Run(Work::uniform(ns, 0))
    }

    fn worker(workload: &Workload) -> &[Op] {
        &workload.programs[1].ops
    }

    const AGAIN: Op = Op::Repeat { to: 0, times: None };

    #[test]
    fn a_worker_asks_sleeps_and_multiplies_under_the_lock_of_its_cpu() {
        let workload = at("requests", 4, &[("jitter", 0)]);
        // 104 rows and columns: 5 times 104^3 at 0.9 ns.
        let work = Work::uniform(5 * 104_u64.pow(3) * 900 / 1000, 1);
        let ask = [run(350), Op::Call(Call::Ask { list: 0 }), run(300)];
        let request = [Op::Begin, Op::Sleep(Work::uniform(100_000, 0)), Op::Call(Call::RunCpuLocked(work))];
        assert_eq!(worker(&workload), [&ask[..], &request, &[Op::Done, AGAIN]].concat());
        let each = Work::uniform(350, 0);
        let serve = [Op::Call(Call::Await { list: 0 }), run(300), Op::Call(Call::Serve { list: 0, each }), AGAIN];
        assert_eq!(workload.programs[0].ops, serve);
        assert_eq!((workload.load.as_str(), workload.tasks.len(), workload.channels.len()), ("4", 5, 1));
        assert!(workload.tasks.iter().all(|task| task.process == Some(0) && task.affinity.is_none()));
    }

    #[test]
    fn options_take_out_locks_sleep_and_work() {
        let unlocked = at("requests", 1, &[("locking", 0)]);
        assert!(matches!(worker(&unlocked)[5], Op::Run(_)));
        // schbench -L -m 4 -M auto -t 256 -n 0 -s 0.
        let options = [("locking", 0), ("message_threads", 4), ("cpus", 112), ("operations", 0), ("sleep", 0)];
        let nothing = at("rps-50th", 256, &options);
        assert_eq!(nothing.tasks.len(), 4 * 257);
        assert_eq!(worker(&nothing)[3..], [Op::Begin, Op::Done, AGAIN]);
        assert_eq!(nothing.metric, "rate_50pct");
        for (n, thread) in nothing.tasks.chunks(257).enumerate() {
            assert_eq!(thread[0].affinity, Some(vec![n as u32]));
            assert!(thread[1..].iter().all(|worker| worker.affinity == Some((4..112).collect())));
            assert!(thread.iter().all(|task| *task.channels == [n as u32]));
        }
    }

    #[test]
    fn wake_ups_are_done_when_the_worker_runs_and_requests_when_they_are() {
        let wakeup = at("wakeup-99.9th", 1, &[]);
        assert_eq!(worker(&wakeup)[3], Op::Done);
        assert!(!worker(&wakeup).contains(&Op::Begin));
        assert_eq!((wakeup.metric.as_str(), wakeup.unit.as_str()), ("latency_99.9pct", "us"));
        assert_eq!(at("request-99th", 1, &[]).programs, at("requests", 1, &[]).programs);
    }

    #[test]
    fn a_rate_is_handed_out_at_the_begin_of_each_second_to_the_workers_in_turn() {
        let workload = at("requests", 3, &[("rps", 22), ("message_threads", 2), ("jitter", 0)]);
        let send = |channel| [run(350), Op::Send { channel, sync: false }];
        let second = Call::Timer { timer: 0, period_ns: 1_000_000_000, mode: TimerMode::Relative };
        let mut expected: Vec<Op> = [0, 1, 2].into_iter().flat_map(send).collect();
        expected.push(Op::Repeat { to: 0, times: Some(3) });
        expected.extend([0, 1].into_iter().flat_map(send));
        expected.extend([Op::Call(second), AGAIN]);
        assert_eq!(workload.programs[0].ops, expected);
        assert_eq!(workload.channels.len(), 6);
        let own: Vec<_> = workload.tasks.iter().map(|task| task.channels.to_vec()).collect();
        assert_eq!(own[..4], [vec![0, 1, 2], vec![0], vec![1], vec![2]]);
        assert_eq!(own[4], [3, 4, 5]);
        let rps = BTreeMap::from([("rps".to_owned(), 22)]);
        let error = build("schbench:wakeup-99th", Load::Instances(1), 112, &rps).unwrap_err();
        assert!(error.what.contains("has no parameter rps"), "{}", error.what);
    }
}
