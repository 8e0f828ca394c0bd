//! Workloads: the list, and one of them step by step.

use crate::VERSION;
use crate::numbers::duration;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_input::cpulist_text;
use wakelab_workload::{
    Call, ChannelCosts, Description, Kind, Op, Program, Realtime, Task, TimerMode, Work, Workload, benchmarks,
};

/// All benchmarks with their cases, a line each.
pub fn list_text() -> String {
    let mut list = table(&["workload", "metric", "unit", "better", "what it is"], 5);
    for benchmark in benchmarks() {
        for case in benchmark.cases() {
            let name = format!("{}:{}", benchmark.name(), case.name);
            list.add_row([&name, case.metric, case.unit, better(case.higher_is_better), case.doc]);
        }
        if benchmark.name() == "jankbench" {
            list.add_row(["jankbench", "all of these", "", "", "all results of one run"]);
        }
    }
    table_text(&list)
        + "\n`wakelab workload show NAME` shows one step by step; NAME may also be the path of a .toml file or of \
            rt-app's .json.\n"
}

/// The same as JSON.
pub fn list_json() -> Value {
    let cases = benchmarks().iter().flat_map(|benchmark| benchmark.cases().iter().map(move |case| (benchmark, case)));
    let workloads: Vec<Value> = cases
        .map(|(benchmark, case)| {
            json!({
                "name": format!("{}:{}", benchmark.name(), case.name), "benchmark": benchmark.name(), "case": case.name,
                "metric": case.metric, "unit": case.unit, "better": better(case.higher_is_better), "doc": case.doc,
            })
        })
        .collect();
    json!({"wakelab": VERSION, "workloads": workloads})
}

fn better(higher: bool) -> &'static str {
    if higher { "higher" } else { "lower" }
}

/// One instance of a workload, step by step.
pub fn show_text(description: &Description) -> String {
    let workload = &description.workload;
    let mut text = format!("{}:{}\n\n", workload.benchmark, workload.case);
    for doc in [&description.case_doc, &description.doc].into_iter().filter(|doc| !doc.is_empty()) {
        let _ = writeln!(text, "{}\n", doc);
    }
    let _ = writeln!(
        text,
        "metric  {} in {}, {} is better",
        workload.metric,
        workload.unit,
        better(workload.higher_is_better)
    );
    let _ = writeln!(text, "shown   one instance; work is at full capacity and nominal frequency");

    for program in &workload.programs {
        let _ = writeln!(text, "\nProgram {}\n", program.name);
        for (step, op) in program.ops.iter().enumerate() {
            let _ = writeln!(text, "{step:>4}  {}", step_text(workload, program, op));
        }
    }
    if !workload.channels.is_empty() {
        let costly = workload.channels.iter().any(|channel| channel.costs != ChannelCosts::default());
        let mut columns = vec!["channel", "kind", "messages, tasks that meet, count, items"];
        columns.extend(costly.then_some(["own lines %", "message lines %", "waited"]).into_iter().flatten());
        let mut channels = table(&columns, 2);
        let kinds = workload.kinds().unwrap_or_default();
        for (channel, kind) in workload.channels.iter().zip(kinds) {
            let mut line = vec![channel.name.clone(), kind.name().to_owned(), channel.capacity.to_string()];
            if costly && kind == Kind::Channel {
                let ChannelCosts { own_lines_pct, message_lines_pct, waited_ns } = channel.costs;
                line.extend([own_lines_pct.to_string(), message_lines_pct.to_string(), duration(waited_ns)]);
            }
            channels.add_row(line);
        }
        let _ = write!(text, "\nChannels\n\n{}", table_text(&channels));
    }
    let mut tasks = table(&["task", "program", "start", "nice", "policy", "CPUs"], 6);
    for task in &workload.tasks {
        tasks.add_row(task_line(workload, task));
    }
    let _ = write!(text, "\nTasks\n\n{}", table_text(&tasks));
    if !workload.params.is_empty() {
        let mut params = table(&["number", "value", "unit", "range", "origin"], 5);
        for param in &workload.params {
            let range = format!("{} to {}", param.low, param.high);
            params.add_row([&param.name, &param.value.to_string(), &param.unit, &range, &param.origin]);
        }
        let _ = write!(text, "\nNumbers of the model\n\n{}", table_text(&params));
    }
    text
}

/// One instance of a workload as JSON.
pub fn show_json(description: &Description) -> Value {
    let workload = &description.workload;
    json!({
        "wakelab": VERSION,
        "workload": {
            "name": format!("{}:{}", workload.benchmark, workload.case),
            "doc": description.doc,
            "case_doc": description.case_doc,
            "metric": workload.metric,
            "unit": workload.unit,
            "better": better(workload.higher_is_better),
            "programs": workload.programs,
            "channels": workload.channels,
            "tasks": workload.tasks,
            "cpu_sets": workload.cpu_sets,
            "params": workload.params,
        },
    })
}

fn task_line(workload: &Workload, task: &Task) -> [String; 6] {
    let program = &workload.programs[task.program as usize].name;
    let policy = if task.idle_policy { "idle" } else { "normal" };
    let policy = match task.slice_ns {
        0 => policy.to_owned(),
        ns => format!("{policy}, slice {}", duration(ns)),
    };
    let cpus = task.affinity.as_ref().map_or_else(|| "all".to_owned(), |cpus| cpulist_text(cpus));
    [task.name.clone(), program.clone(), duration(task.start_ns), task.nice.to_string(), policy, cpus]
}

fn step_text(workload: &Workload, program: &Program, op: &Op) -> String {
    match *op {
        Op::Run(work) => format!("compute {}", amount(work)),
        Op::Softirq(work) => format!("softirq on this CPU, {}; what follows is in its context", amount(work)),
        Op::Sleep(work) => format!("sleep {}", amount(work)),
        Op::Send { channel, sync } => {
            let hint = if sync { ", with the sync hint" } else { "" };
            format!("send to {} and wake who waits there{hint}", channel_name(workload, program, channel))
        }
        Op::Recv { channel } => {
            format!("receive from {}, wait if there is nothing", channel_name(workload, program, channel))
        }
        Op::Fork { program } => format!("fork a child that runs {}", workload.programs[program as usize].name),
        Op::Wait => "wait until all children have exited".to_owned(),
        Op::Exit => "exit".to_owned(),
        Op::Repeat { to, times: None } => format!("go back to step {to}, for ever"),
        Op::Repeat { to, times: Some(times) } => format!("go back to step {to}, {times} times through in all"),
        Op::Begin => "a transaction begins".to_owned(),
        Op::Done => "the transaction is done: one more of the metric".to_owned(),
        Op::Call(call) => call_text(workload, call, &|number| channel_name(workload, program, number)),
    }
}

fn call_text(workload: &Workload, call: Call, name: &dyn Fn(u32) -> String) -> String {
    match call {
        Call::Lock { mutex } => format!("lock {}, wait if another has it", name(mutex)),
        Call::Unlock { mutex } => format!("unlock {} and wake the first who waits for it", name(mutex)),
        Call::CondWait { cond, mutex } => format!("unlock {}, wait for {}, lock again", name(mutex), name(cond)),
        Call::Signal { cond } => format!("wake the first who waits for {}", name(cond)),
        Call::Broadcast { cond } => format!("wake all who wait for {}", name(cond)),
        Call::Barrier { barrier } => format!("wait at {} until all have come", name(barrier)),
        Call::Down { semaphore } => format!("down {}, wait if its count is 0", name(semaphore)),
        Call::Up { semaphore } => {
            format!("up {}: hand it to the first who waits for it, and wake that one", name(semaphore))
        }
        Call::QueueWork { workqueue, program } => {
            let program = &workload.programs[program as usize].name;
            format!("queue {program} on {}, for the kworker of this CPU", name(workqueue))
        }
        Call::Ask { list } => format!("go to the head of {}, wake who awaits it, wait to be answered", name(list)),
        Call::Await { list } => format!("wait until somebody is on {}", name(list)),
        Call::Serve { list, each } => {
            let what = format!("take all off {}, whose transactions begin; wake one after another", name(list));
            format!("{what}, {} each", amount(each))
        }
        Call::RecvBatch { channel, room, all } => {
            let who = if all { "all" } else { "the first" };
            let what = format!("receive from {}, wait if there is nothing", name(channel));
            format!("{what}; wake {who} who wait to send once {room} places are free")
        }
        Call::SleepUntil { at_ns } => format!("sleep until {} of the run", duration(at_ns)),
        Call::Timer { timer, period_ns, mode } => {
            let from = match mode {
                TimerMode::Relative => "the last time",
                TimerMode::Absolute => "the start",
            };
            format!("sleep until timer {timer} expires, every {} from {from}", duration(period_ns))
        }
        Call::Spin { lock, hold } => format!("take {} in line, compute {} with it", name(lock), amount(hold)),
        Call::RunCpuLocked(work) => {
            format!("compute {} with the lock of this CPU, spin while it is taken", amount(work))
        }
        Call::Io(time) => format!("wait for I/O for {}", amount(time)),
        Call::Yield => "yield the CPU".to_owned(),
        Call::Nice(nice) => format!("set nice to {nice}"),
        Call::IdlePolicy(true) => "set the policy to idle".to_owned(),
        Call::IdlePolicy(false) => "set the policy to normal".to_owned(),
        Call::Realtime(Realtime::Fifo(priority)) => format!("set the policy to SCHED_FIFO, priority {priority}"),
        Call::Realtime(Realtime::Rr(priority)) => format!("set the policy to SCHED_RR, priority {priority}"),
        Call::Realtime(Realtime::Deadline(deadline)) => format!(
            "set the policy to SCHED_DEADLINE, {} within {} of every {}",
            duration(deadline.runtime_ns),
            duration(deadline.deadline_ns),
            duration(deadline.period_ns)
        ),
        Call::Slice { ns: 0 } => "ask for no slice but the kernel's".to_owned(),
        Call::Slice { ns } => format!("ask for slices of {}", duration(ns)),
        Call::Uclamp { min, max } => {
            let set = |what: &str, clamp: Option<u32>| clamp.map(|clamp| format!("{what} {clamp}"));
            let set: Vec<String> = [set("uclamp_min", min), set("uclamp_max", max)].into_iter().flatten().collect();
            format!("set {}", set.join(" and "))
        }
        Call::Affinity { cpus: None } => "allow all CPUs".to_owned(),
        Call::Affinity { cpus: Some(set) } => format!("allow CPUs {}", cpulist_text(&workload.cpu_sets[set as usize])),
        Call::Exec => "execve(): look for a CPU again".to_owned(),
        Call::RunFor { ns } | Call::SpinFor { ns, counts: true } => {
            format!("compute until {} have passed", duration(ns))
        }
        Call::SpinFor { ns, counts: false } => {
            format!("compute until {} have passed, which the transaction does not count", duration(ns))
        }
    }
}

fn amount(work: Work) -> String {
    let time = duration(work.ns);
    match work {
        Work { distribution: Some(_), .. } => format!("{time} on average, as recorded"),
        Work { jitter_pct: 0, .. } => time,
        Work { jitter_pct, .. } => format!("{time} ±{jitter_pct}%"),
    }
}

/// What a channel of a program is for the first task that runs it; programs that are only forked have their parents'.
fn channel_name(workload: &Workload, program: &Program, number: u32) -> String {
    let index = workload.programs.iter().position(|other| std::ptr::eq(other, program));
    let runs = workload.tasks.iter().find(|task| Some(task.program as usize) == index).or(workload.tasks.first());
    let channel = runs.and_then(|task| workload.channels.get(*task.channels.get(number as usize)? as usize));
    channel.map_or_else(|| format!("channel {number}"), |channel| channel.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_every_nanosecond() {
        let all = [(0, "0 ns"), (650, "650 ns"), (1_000, "1 us"), (1_200, "1,200 ns"), (100_000_000, "100 ms")];
        for (ns, text) in all {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn cpus_are_listed_as_taskset_takes_them() {
        assert_eq!(cpulist_text(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(cpulist_text(&[0, 2, 4]), "0,2,4");
    }

    #[test]
    fn the_list_has_every_case_of_every_benchmark() {
        let (text, json) = (list_text(), list_json());
        let names: Vec<&str> =
            json["workloads"].as_array().unwrap().iter().map(|w| w["name"].as_str().unwrap()).collect();
        assert_eq!(names[..3], ["netperf:TCP_RR", "netperf:UDP_RR", "hackbench:process-pipe"]);
        assert_eq!(names.len(), benchmarks().iter().map(|benchmark| benchmark.cases().len()).sum::<usize>());
        assert!(names.iter().all(|name| text.contains(name)), "{text}");
    }

    #[test]
    fn a_workload_is_shown_with_its_steps_channels_and_numbers() {
        let description = wakelab_workload::describe("netperf:TCP_RR").unwrap();
        let text = show_text(&description);
        for line in [
            "netperf:TCP_RR",
            "metric  throughput in trans/s, higher is better",
            "Program netserver",
            "   0  receive from request 0, wait if there is nothing",
            "   4  send to reply 0 and wake who waits there, with the sync hint",
            "   6  the transaction is done: one more of the metric",
            "   7  go back to step 0, for ever",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line:?} is not in\n{text}");
        }
        for param in &description.workload.params {
            let shown = text.lines().find(|line| line.starts_with(&format!("{} ", param.name))).unwrap();
            assert!(shown.contains(&format!("{} to {}", param.low, param.high)) && shown.ends_with(&param.origin));
        }
        let json = show_json(&description);
        assert_eq!(json["workload"]["programs"][0]["ops"][0], json!({"recv": {"channel": 0}}));
        assert_eq!(json["workload"]["params"].as_array().unwrap().len(), description.workload.params.len());
    }
}
