//! The loads as workload programs, of the same shape as those that run (`wakelab-calibrate`, `load/`).

use std::collections::BTreeMap;
use wakelab_calibrate::load::{CHILD_NS, FDS, Kind, REQUEST_NS, SIZE, SLEEP_NS, TIMER_NS, WORKERS};
use wakelab_workload::{Call, Channel, Load, Op, Program, Task, Work, Workload, build};

/// By how much work varies, %: uniform, as in the models of benchmarks.
const JITTER_PCT: u32 = 20;

/// Instances of a load, whose operations take so much work (ns) beside their wake-ups, switches, and what they compute
/// by design. The tasks are threads of one process, pinned to nothing.
///
/// # Panics
/// If there are more instances than a workload can have.
pub fn workload(kind: Kind, instances: u32, work: u64) -> Workload {
    let mut workload = match kind {
        // A transaction is two messages, whose parts are as netperf's model has them (1600, 700 and 900 ns).
        Kind::Tcp => {
            let part = |of: u64| (work * of / 6400).max(1);
            benchmark(
                "netperf:TCP_RR",
                instances,
                &[("send", part(1600)), ("softirq", part(700)), ("receive", part(900))],
            )
        }
        Kind::Pipes | Kind::Sockets => {
            let case = if kind == Kind::Pipes { "hackbench:thread-pipe" } else { "hackbench:thread-sockets" };
            // As write() and read() of a pipe that nobody shares are in the models (600 and 500 ns).
            let (write, read) = ((work * 6 / 11).max(1), (work * 5 / 11).max(1));
            let own = [("fds", u64::from(FDS)), ("size", SIZE as u64), ("write", write), ("read", read)];
            benchmark(case, instances, &own)
        }
        Kind::Messages => messages(instances, work),
        Kind::Timers => timers(instances, work),
        Kind::Forks => forks(instances, work),
    };
    for task in &mut workload.tasks {
        task.process = Some(0);
        task.start_ns = task.start_ns.min(1_000_000);
    }
    workload
}

fn benchmark(name: &str, instances: u32, options: &[(&str, u64)]) -> Workload {
    let options: BTreeMap<String, u64> = options.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    // How many CPUs there are only matters for loads that are a share of them.
    build(name, Load::Instances(instances), 1, &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Message threads and workers: a request is four calls and its work.
fn messages(threads: u32, work: u64) -> Workload {
    const LIST: u32 = 0;
    let call = work / 4;
    let message = vec![
        Op::Call(Call::Await { list: LIST }),
        run(call),
        Op::Call(Call::Serve { list: LIST, each: varying(call) }),
        again(),
    ];
    let worker = vec![run(call), Op::Call(Call::Ask { list: LIST }), run(call), Op::Done, fixed(REQUEST_NS), again()];
    let channels = (0..threads).map(|thread| Channel::new(format!("list {thread}"), 1)).collect();
    let mut tasks = Vec::new();
    for thread in 0..threads {
        tasks.push(Task::plain(format!("message {thread}"), 0, vec![thread], 0));
        tasks.extend((0..WORKERS).map(|worker| Task::plain(format!("worker {thread}.{worker}"), 1, vec![thread], 0)));
    }
    own(Kind::Messages, threads, [("message", message), ("worker", worker)].into(), channels, tasks)
}

/// A transaction is the sleep: what it takes beyond [`SLEEP_NS`] is the latency.
fn timers(count: u32, work: u64) -> Workload {
    let sleep = Op::Sleep(Work::uniform(SLEEP_NS, 0));
    let ops = vec![Op::Begin, sleep, Op::Done, fixed(TIMER_NS), run(work), again()];
    let tasks = (0..count).map(|task| Task::plain(format!("timer {task}"), 0, vec![], 0)).collect();
    own(Kind::Timers, count, vec![("timer", ops)], vec![], tasks)
}

/// Half of the work is the parent's, half the child's.
fn forks(chains: u32, work: u64) -> Workload {
    let parent = vec![Op::Begin, run(work / 2), Op::Fork { program: 1 }, Op::Wait, Op::Done, again()];
    let child = vec![run(work / 2), fixed(CHILD_NS), Op::Exit];
    let tasks = (0..chains).map(|chain| Task::plain(format!("chain {chain}"), 0, vec![], 0)).collect();
    own(Kind::Forks, chains, vec![("parent", parent), ("child", child)], vec![], tasks)
}

fn own(
    kind: Kind,
    instances: u32,
    programs: Vec<(&str, Vec<Op>)>,
    channels: Vec<Channel>,
    tasks: Vec<Task>,
) -> Workload {
    Workload {
        benchmark: "load".to_owned(),
        case: kind.name().to_owned(),
        load: instances.to_string(),
        metric: "throughput".to_owned(),
        unit: kind.unit().to_owned(),
        higher_is_better: true,
        programs: programs.into_iter().map(|(name, ops)| Program { name: name.to_owned(), ops }).collect(),
        channels,
        tasks,
        cpu_sets: vec![],
        distributions: vec![],
        params: vec![],
        groups: vec![],
        interrupts: vec![],
        changes: vec![],
    }
}

fn varying(ns: u64) -> Work {
    Work::uniform(ns.max(1), JITTER_PCT)
}

fn run(ns: u64) -> Op {
    Op::Run(varying(ns))
}

/// Work that is the same each time.
fn fixed(ns: u64) -> Op {
    Op::Run(Work::uniform(ns, 0))
}

fn again() -> Op {
    Op::Repeat { to: 0, times: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shapes_are_valid_and_of_one_process() {
        for kind in Kind::ALL {
            for instances in [1, 5] {
                for work in [0, 7_000] {
                    let workload = workload(kind, instances, work);
                    workload.validate(2).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
                    assert!(workload.tasks.iter().all(|task| task.process == Some(0) && task.affinity.is_none()));
                }
            }
        }
    }

    #[test]
    fn there_are_as_many_tasks_as_threads_of_the_load() {
        let tasks = |kind, instances| workload(kind, instances, 1_000).tasks.len() as u32;
        // The shell and netserver fork the pairs, and sleep.
        assert_eq!(tasks(Kind::Tcp, 3), 2 + 2 * 3);
        // The groups' main task waits for the end.
        assert_eq!(tasks(Kind::Pipes, 2), 1 + 2 * 2 * FDS);
        assert_eq!(tasks(Kind::Messages, 2), 2 * (1 + WORKERS));
        assert_eq!((tasks(Kind::Timers, 4), tasks(Kind::Forks, 4)), (4, 4));
    }
}
