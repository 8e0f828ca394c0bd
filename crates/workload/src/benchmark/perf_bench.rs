//! `perf bench sched`: messaging, which is hackbench with its numbers fixed, and pipe.

use crate::benchmark::{Benchmark, Case, Measures, ParamDef, TaskSet, Values};
use crate::model::groups::{Are, Groups, Through};
use crate::model::params;
use crate::model::ping_pong::{PARAMS, Pairs};

const CASES: [Case; 3] = [
    case("sched-messaging", "messages/s", "groups of processes that send each other messages through Unix sockets"),
    case("sched-messaging-thread", "messages/s", "the same with threads (-t)"),
    case("sched-pipe", "ops/s", "pairs of processes that pass four bytes to and fro through pipes"),
];

const fn case(name: &'static str, unit: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric: "throughput", unit, higher_is_better: true }
}

/// `DATASIZE` of sched-messaging.c.
const SIZE: u64 = 100;

/// perf bench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerfBench;

/// The groups of a case; `None` for pairs.
fn groups(case: &Case) -> Option<Groups> {
    let are = match case.name {
        "sched-messaging" => Are::Processes,
        "sched-messaging-thread" => Are::Threads,
        _ => return None,
    };
    Some(Groups { are, through: Through::Sockets })
}

impl Benchmark for PerfBench {
    fn name(&self) -> &'static str {
        "perf-bench"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "perf bench sched messaging (-g N, 20 senders and 20 receivers a group) and perf bench sched pipe, N of them \
         at once.\n\n\
         perf prints the time that a number of loops takes. Without loops the model goes on for ever and counts what \
         is done in the measured time."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        match groups(case) {
            Some(groups) => groups.params("sched-messaging.c, where it is fixed", None),
            None => PARAMS.into_iter().chain([params::LOOPS]).collect(),
        }
    }

    fn load_label(&self, _: &Case, instances: u32) -> String {
        if instances == 1 { "1 instance".to_owned() } else { format!("{instances} instances") }
    }

    fn nr_tasks(&self, case: &Case, instances: u32, values: &Values) -> u64 {
        groups(case).map_or(2 * u64::from(instances), |_| Groups::nr_tasks(instances, values))
    }

    fn measures(&self, case: &Case, values: &Values) -> Measures {
        Measures::of_loops(case, values)
    }

    fn build(&self, case: &Case, instances: u32, values: &Values) -> TaskSet {
        match groups(case) {
            Some(groups) => groups.build(instances, SIZE, values),
            None => {
                let loops = values.get("loops") as u32;
                Pairs { pairs: instances, together: false, loops, pinned: None }.build(values)
            }
        }
    }
}
