//! gitsource: the test suite of git, a shell that starts about 400 short processes a second.

use crate::benchmark::{Benchmark, Case, ParamDef, ShortestRun, TaskSet, Values};
use crate::metric::LATENCY_MEAN;
use crate::model::{params, sequential};
use crate::{Op, Program, Task, Work};

const CASES: [Case; 1] = [Case {
    name: "suite",
    doc: "instances of the suite (1 in the published tables: the tests run one after another)",
    metric: LATENCY_MEAN,
    unit: "us",
    higher_is_better: false,
}];

/// The commands of a round: how often each, and whether with the next at the same time. Together 12 commands.
const SHORT: u32 = 6;
const MEDIUM: u32 = 3;
const PIPED: u32 = 1;
const LONG: u32 = 1;

const fn length(name: &'static str, value: u64, low: u64, high: u64) -> ParamDef {
    ParamDef { origin: MIX, ..params::call(name, value, low, high) }
}

const MIX: &str = "assumed: the mix, so that with what a process costs about 400 start a second, as the posting of \
     September 2019 counted (git's suite: rev-parse, test, sed and cat, some of them in pipes; add, commit and log; \
     now and then a clone or repack)";

const LENGTHS: [ParamDef; 3] = [
    length("short", 900_000, 300_000, 2_000_000),
    length("medium", 2_700_000, 1_000_000, 5_000_000),
    length("long", 9_000_000, 4_000_000, 20_000_000),
];

/// gitsource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gitsource;

impl Benchmark for Gitsource {
    fn name(&self) -> &'static str {
        "gitsource"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "git's own test suite (mmtests: gitsource): a shell that starts commands one after another, each a fork, an \
         exec and an exit through the slow path. A round is 6 short commands, 3 of medium length, 2 in a pipe that \
         run at the same time and 1 long one.\n\n\
         The metric is the mean time of a round. The ratio of two is the ratio of the suite's run times. What the \
         disk takes is left out."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        LENGTHS.into_iter().chain(sequential::PARAMS).chain([params::JITTER]).collect()
    }

    fn has_default_case(&self) -> bool {
        true
    }

    fn load_label(&self, _: &Case, instances: u32) -> String {
        if instances == 1 { "1 suite".to_owned() } else { format!("{instances} suites") }
    }

    fn nr_tasks(&self, _: &Case, instances: u32, _: &Values) -> u64 {
        3 * u64::from(instances)
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // A round is 30 ms.
        ShortestRun { settle_ns: 1_000_000_000, time_ns: 4_000_000_000 }
    }

    fn build(&self, _: &Case, instances: u32, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let mut shell = vec![Op::Begin];
        for (programs, times) in [(&[1][..], SHORT), (&[2], MEDIUM), (&[1, 2], PIPED), (&[3], LONG)] {
            let first = shell.len() as u32;
            shell.extend(sequential::start(programs, jitter_pct, values));
            shell.extend((times > 1).then_some(Op::Repeat { to: first, times: Some(times) }));
        }
        shell.extend([Op::Done, Op::Repeat { to: 0, times: None }]);
        let command = |name| sequential::command(name, Work::uniform(values.get(name), jitter_pct), values);
        let task = |i: u32| Task::plain(format!("shell {i}"), 0, vec![], 0);
        TaskSet {
            programs: vec![
                Program { name: "shell".to_owned(), ops: shell },
                command("short"),
                command("medium"),
                command("long"),
            ],
            channels: vec![],
            tasks: (0..instances).map(task).collect(),
        }
    }
}
