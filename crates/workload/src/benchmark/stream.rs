//! STREAM: an OpenMP team of threads that go through arrays. What it measures, memory bandwidth, is not modelled.

use crate::benchmark::{Benchmark, Case, ParamDef, TaskSet, Values};
use crate::model::params;
use crate::{Call, Channel, Op, Program, Task, Work};

const CASES: [Case; 1] = [Case {
    name: "Triad",
    doc: "threads that compute and meet at the end of each loop (OMP_NUM_THREADS); memory bandwidth is not modelled",
    metric: "throughput",
    unit: "loops/s",
    higher_is_better: true,
}];

const LOOP: ParamDef = ParamDef {
    origin: "assumed: a thread's part of a pass over the arrays; it is computing here, which no other thread slows \
             down",
    ..params::call("loop", 10_000_000, 1_000_000, 100_000_000)
};

/// STREAM.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream;

/// The resource of all.
const BARRIER: u32 = 0;

impl Benchmark for Stream {
    fn name(&self) -> &'static str {
        "stream"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "A team of N threads, of which the first starts the others: each computes its part of a loop, and all meet at \
         its end.\n\n\
         The memory bandwidth that STREAM measures is not modelled: what the model shows is where the threads are \
         put, and whether one has to wait for a CPU. Published rows of STREAM are not simulated. That waiting threads \
         spin for a while (OMP_WAIT_POLICY) is left out."
    }

    fn params(&self, _: &Case) -> Vec<ParamDef> {
        vec![LOOP, params::JITTER, params::CLONE]
    }

    fn load_label(&self, _: &Case, threads: u32) -> String {
        if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") }
    }

    fn nr_tasks(&self, _: &Case, threads: u32, _: &Values) -> u64 {
        u64::from(threads)
    }

    fn build(&self, _: &Case, threads: u32, values: &Values) -> TaskSet {
        let part = Op::Run(Work::uniform(values.get("loop"), values.get("jitter") as u32));
        let meet = Op::Call(Call::Barrier { barrier: BARRIER });
        let again = Op::Repeat { to: 0, times: None };
        let program = |name: &str, ops| Program { name: name.to_owned(), ops };
        let task = |i: u32| {
            let (name, program) = if i == 0 { ("main".to_owned(), 0) } else { (format!("thread {i}"), 1) };
            Task::plain(name, program, vec![BARRIER], u64::from(i) * values.get("start"))
        };
        TaskSet {
            programs: vec![
                program("main", vec![Op::Begin, part, meet, Op::Done, again]),
                program("thread", vec![part, meet, again]),
            ],
            channels: vec![Channel::new("end of loop", threads)],
            tasks: (0..threads).map(task).collect(),
        }
    }
}
