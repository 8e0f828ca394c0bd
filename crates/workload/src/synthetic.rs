//! Small workloads for tests and measurements of the simulator itself. They are no benchmark's model.

use crate::{Channel, Op, Program, Task, Work, Workload};

/// Builds tasks that run and sleep in turn, all from the start. A transaction is one round.
pub fn run_sleep(tasks: u32, run: Work, sleep: Work) -> Workload {
    let ops = vec![Op::Begin, Op::Run(run), Op::Done, Op::Sleep(sleep), Op::Repeat { to: 0, times: None }];
    let program = Program { name: "run_sleep".to_owned(), ops };
    let tasks = (0..tasks).map(|i| task(format!("run_sleep {i}"), 0, vec![])).collect();
    workload("run_sleep", vec![program], vec![], tasks)
}

/// Builds a task for each program, all from the start; `resources` are the names and capacities of channels, which
/// each task has in this order.
pub fn of_programs(programs: Vec<Vec<Op>>, resources: &[(&str, u32)]) -> Workload {
    let channels: Vec<u32> = (0..resources.len() as u32).collect();
    let tasks = (0..programs.len() as u32).map(|n| task(format!("task {n}"), n, channels.clone())).collect();
    let channel = |&(name, capacity): &(&str, u32)| Channel::new(name, capacity);
    let programs =
        (0..).zip(programs).map(|(n, ops): (u32, _)| Program { name: format!("program {n}"), ops }).collect();
    workload("programs", programs, resources.iter().map(channel).collect(), tasks)
}

/// Builds pairs of tasks that pass a message to and fro, with 1 us of work on each side. A transaction is one round.
pub fn ping_pong(pairs: u32) -> Workload {
    let run = Op::Run(Work::uniform(1_000, 0));
    let send = |channel| Op::Send { channel, sync: false };
    let again = Op::Repeat { to: 0, times: None };
    let ping = vec![Op::Begin, run, send(0), Op::Recv { channel: 1 }, Op::Done, again];
    let pong = vec![Op::Recv { channel: 0 }, run, send(1), again];
    let programs = [("pong", pong), ("ping", ping)].map(|(name, ops)| Program { name: name.to_owned(), ops }).into();
    let channel = |name: &str, pair: u32| Channel::new(format!("{name} {pair}"), 1);
    let channels = (0..pairs).flat_map(|pair| [channel("there", pair), channel("back", pair)]).collect();
    let mine = |pair| vec![2 * pair, 2 * pair + 1];
    let tasks = (0..pairs)
        .flat_map(|pair| [task(format!("pong {pair}"), 0, mine(pair)), task(format!("ping {pair}"), 1, mine(pair))])
        .collect();
    workload("ping_pong", programs, channels, tasks)
}

/// Builds one task that forks `children` children (at least one), each of which runs 10 us and exits, waits for all,
/// and starts again. A transaction is one round.
pub fn fork_exit(children: u32) -> Workload {
    let child = vec![Op::Run(Work::uniform(10_000, 0)), Op::Exit];
    let parent = [Op::Begin]
        .into_iter()
        .chain([Op::Fork { program: 0 }, Op::Repeat { to: 1, times: Some(children.max(1)) }])
        .chain([Op::Wait, Op::Done, Op::Repeat { to: 0, times: None }])
        .collect();
    let programs = [("child", child), ("parent", parent)].map(|(name, ops)| Program { name: name.to_owned(), ops });
    workload("fork_exit", programs.into(), vec![], vec![task("parent".to_owned(), 1, vec![])])
}

fn task(name: String, program: u32, channels: Vec<u32>) -> Task {
    Task::plain(name, program, channels, 0)
}

fn workload(case: &str, programs: Vec<Program>, channels: Vec<Channel>, tasks: Vec<Task>) -> Workload {
    Workload {
        benchmark: "synthetic".to_owned(),
        case: case.to_owned(),
        load: format!("{} tasks", tasks.len()),
        metric: "rounds".to_owned(),
        unit: "rounds/s".to_owned(),
        higher_is_better: true,
        programs,
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
