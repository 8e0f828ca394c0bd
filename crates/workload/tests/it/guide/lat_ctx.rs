//! lat_ctx of lmbench: processes that pass a token around a ring of pipes.

use crate::{Benchmark, Case, Channel, Op, ParamDef, Program, Task, TaskSet, Values, Work};

const CASES: [Case; 1] = [Case {
    name: "ring",
    doc: "processes that pass a token of a byte around a ring of pipes",
    metric: "throughput",
    unit: "rounds/s",
    higher_is_better: true,
}];

/// What a process does with the token.
const WORK: ParamDef = ParamDef {
    name: "work",
    unit: "ns",
    value: 1_000,
    low: 500,
    high: 3_000,
    max: ParamDef::MAX_NS,
    origin: "assumed: read() and write() of a byte; lat_ctx -s 0 does nothing else",
};

/// lat_ctx.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LatCtx;

impl Benchmark for LatCtx {
    fn name(&self) -> &'static str {
        "lat_ctx"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N processes in a ring of pipes, which pass a token around.\n\n\
         lat_ctx prints the time of a context switch. The model counts rounds of the token, each of N switches."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        vec![WORK]
    }

    fn load_label(&self, _: &Case, processes: u32) -> String {
        format!("{processes} processes")
    }

    fn nr_tasks(&self, _: &Case, processes: u32, _: &Values) -> u64 {
        u64::from(processes)
    }

    fn build(&self, _: &Case, processes: u32, values: &Values) -> TaskSet {
        // A task's own numbers of its channels: the pipe that it reads, and the pipe of the next process.
        const READ: u32 = 0;
        const WRITE: u32 = 1;
        let work = Op::Run(Work::uniform(values.get("work"), 0));
        // pipe_write() hints that the writer is about to sleep.
        let (receive, send) = (Op::Recv { channel: READ }, Op::Send { channel: WRITE, sync: true });
        let again = Op::Repeat { to: 0, times: None };
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let channels = |i: u32| vec![i, (i + 1) % processes];
        TaskSet {
            programs: vec![
                program("first", vec![Op::Begin, work, send, receive, Op::Done, again]),
                program("other", vec![receive, work, send, again]),
            ],
            channels: (0..processes).map(|i| Channel::new(format!("pipe {i}"), 1)).collect(),
            tasks: (0..processes)
                .map(|i| Task::plain(format!("process {i}"), u32::from(i > 0), channels(i), 0))
                .collect(),
        }
    }
}
