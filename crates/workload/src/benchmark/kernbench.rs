//! kernbench: compiles a kernel, several files at a time.

use crate::benchmark::{Benchmark, Case, Measures, ParamDef, ShortestRun, TaskSet, Values};
use crate::model::params;
use crate::{Call, Op, Program, Task, Work};

const CASES: [Case; 2] = [
    case("make", "compiles with N jobs at a time (make -j N)"),
    case("make-idle", "the same with policy SCHED_IDLE (chrt -i 0), which all tasks inherit"),
];

const fn case(name: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric: "throughput", unit: "files/s", higher_is_better: true }
}

const fn cost(name: &'static str, value: u64, low: u64, high: u64, origin: &'static str) -> ParamDef {
    ParamDef { origin, ..params::call(name, value, low, high) }
}

const OWN: [ParamDef; 5] = [
    cost(
        "make",
        3_000_000,
        1_000_000,
        10_000_000,
        "assumed: make and the shell for each file: fork, vfork, fixdep, objtool",
    ),
    cost("driver", 2_000_000, 500_000, 5_000_000, "assumed: gcc, which starts cc1 and as one after another"),
    cost(
        "compile",
        350_000_000,
        100_000_000,
        800_000_000,
        "assumed: cc1 for a file of a small configuration (allnoconfig)",
    ),
    cost("assemble", 15_000_000, 5_000_000, 40_000_000, "assumed: as for its output"),
    ParamDef { value: 80, low: 50, high: 100, ..params::JITTER },
];

/// kernbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernbench;

impl Benchmark for Kernbench {
    fn name(&self) -> &'static str {
        "kernbench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "A kernel is compiled: each job of make -j N starts gcc, which starts cc1 and then as, each by fork and exec, \
         and takes the next file when that has ended. Files differ much in length. Reading, linking and waiting for \
         the last job of a directory are left out.\n\n\
         kernbench prints the time of a build. The model goes on for ever and counts files in the measured time; with \
         loops, each job compiles so many, and the time until all are done is the metric."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        OWN.into_iter().chain([params::LOOPS]).collect()
    }

    fn has_default_case(&self) -> bool {
        true
    }

    fn load_label(&self, _: &Case, jobs: u32) -> String {
        if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") }
    }

    fn nr_tasks(&self, _: &Case, jobs: u32, _: &Values) -> u64 {
        3 * u64::from(jobs)
    }

    fn measures(&self, case: &Case, values: &Values) -> Measures {
        Measures::of_loops(case, values)
    }

    fn shortest_run(&self, _: &Case) -> ShortestRun {
        // A file is 400 ms.
        ShortestRun { settle_ns: 1_000_000_000, time_ns: 10_000_000_000 }
    }

    fn build(&self, case: &Case, jobs: u32, values: &Values) -> TaskSet {
        let jitter_pct = values.get("jitter") as u32;
        let run = |name| Op::Run(Work::uniform(values.get(name), jitter_pct));
        let times = Some(values.get("loops") as u32).filter(|&loops| loops > 0);
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let exec = Op::Call(Call::Exec);
        let wait = |program| [Op::Fork { program }, Op::Wait];
        let [fork_gcc, wait_gcc] = wait(1);
        let job = vec![Op::Begin, run("make"), fork_gcc, wait_gcc, Op::Done, Op::Repeat { to: 0, times }];
        let mut gcc = vec![exec, run("driver")];
        gcc.extend(wait(2).into_iter().chain(wait(3)));
        // Jobs start as make gets to them, not all at one moment.
        let idle_policy = case.name == CASES[1].name;
        let task = |i: u32| Task {
            idle_policy,
            ..Task::plain(format!("job {i}"), 0, vec![], u64::from(i) * values.get("make"))
        };
        TaskSet {
            programs: vec![
                program("job", job),
                program("gcc", gcc),
                program("cc1", vec![exec, run("compile")]),
                program("as", vec![exec, run("assemble")]),
            ],
            channels: vec![],
            tasks: (0..jobs).map(task).collect(),
        }
    }
}
