//! sequential-tasks: a script that starts the next short task when the last has ended.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::metric::LATENCY_MEAN;
use crate::model::{params, sequential};
use crate::{Op, Program, Task, Work};

const CASES: [Case; 2] = [
    case("any", "the script and its tasks on any CPU"),
    case("pinned", "the same on one CPU: the reference of the published table, under the performance governor"),
];

const fn case(name: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric: LATENCY_MEAN, unit: "us", higher_is_better: false }
}

/// The CPU of the pinned case.
const CPU: ParamDef = ParamDef {
    name: "cpu",
    unit: "",
    value: 0,
    low: 0,
    high: 8191,
    max: 8191,
    origin: "assumed: taskset; the posting does not say which CPU",
};

/// sequential-tasks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequentialTasks;

impl SequentialTasks {
    fn pinned(case: &Case) -> bool {
        case.name == CASES[1].name
    }
}

impl Benchmark for SequentialTasks {
    fn name(&self) -> &'static str {
        "sequential-tasks"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "A shell script that starts a short task, waits until it has ended, and starts the next. The load is a rate: \
         the work of a task is what is left of a second over the rate when the shell's and the process's own doing is \
         taken off, at nominal frequency. So one CPU is busy at any rate, and the higher it is, the shorter the \
         tasks, and the more often another CPU is chosen, by the slow path, at a fork and at an exec.\n\n\
         The metric is the mean time of a task, from its fork until the shell has gone on. The ratio of two is the \
         ratio of the times that the script takes."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        let own = Self::pinned(case).then_some(CPU);
        sequential::PARAMS
            .into_iter()
            .chain([ParamDef { value: 5, low: 0, high: 25, ..params::JITTER }])
            .chain(own)
            .collect()
    }

    fn has_default_case(&self) -> bool {
        true
    }

    fn load_is_rate(&self) -> bool {
        true
    }

    fn load_label(&self, _: &Case, rate: u32) -> String {
        format!("{rate}/s")
    }

    fn nr_tasks(&self, _: &Case, _: u32, _: &Values) -> u64 {
        2
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // 40 tasks at 10 a second.
        ShortestRun { settle_ns: 1_000_000_000, time_ns: 4_000_000_000 }
    }

    fn build(&self, case: &Case, rate: u32, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let work = (1_000_000_000 / u64::from(rate)).saturating_sub(sequential::overhead(values));
        let mut script = vec![Op::Begin];
        script.extend(sequential::start(&[1], jitter_pct, values));
        script.extend([Op::Done, Op::Repeat { to: 0, times: None }]);
        let affinity = Self::pinned(case).then(|| vec![values.get("cpu") as u32]);
        TaskSet {
            programs: vec![
                Program { name: "script".to_owned(), ops: script },
                sequential::command("task", Work::uniform(work, jitter_pct), values),
            ],
            channels: vec![],
            tasks: vec![Task { affinity, ..Task::plain("script".to_owned(), 0, vec![], 0) }],
        }
    }
}
