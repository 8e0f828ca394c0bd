//! will-it-scale's context_switch1: pairs of processes that write a byte to each other through two pipes.

use crate::benchmark::{Benchmark, Case, ParamDef, TaskSet, Values};
use crate::model::ping_pong::{PARAMS, Pairs};

const CASES: [Case; 2] = [
    case("context_switch1", "pairs that pass a byte to and fro through pipes, on any CPU (-n)"),
    case("context_switch1-pinned", "the same, both processes of a pair on one CPU (-m)"),
];

const fn case(name: &'static str, doc: &'static str) -> Case {
    Case { name, doc, metric: "throughput", unit: "rounds/s", higher_is_better: true }
}

/// The CPUs that pinned pairs are put on in turn.
const CPUS: ParamDef = ParamDef {
    name: "cpus",
    unit: "",
    value: 0,
    low: 0,
    high: 8192,
    max: 8192,
    origin: "pair i is on CPU i modulo this; 0: on CPU i. Numbers are the machine's, where will-it-scale goes core by \
             core",
};

/// will-it-scale.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WillItScale;

impl WillItScale {
    fn pinned(case: &Case) -> bool {
        case.name == CASES[1].name
    }
}

impl Benchmark for WillItScale {
    fn name(&self) -> &'static str {
        "will-it-scale"
    }

    fn cases(&self) -> &'static [Case] {
        &CASES
    }

    fn doc(&self) -> &'static str {
        "N instances: each forks a child and passes a byte to it and back, for ever.\n\n\
         The instances are forked one after another and wait for the last; then all begin. A child has the CPUs of its \
         parent. will-it-scale counts two iterations for each round."
    }

    fn params(&self, case: &Case) -> Vec<ParamDef> {
        PARAMS.into_iter().chain(Self::pinned(case).then_some(CPUS)).collect()
    }

    fn load_label(&self, _: &Case, instances: u32) -> String {
        if instances == 1 { "1 instance".to_owned() } else { format!("{instances} instances") }
    }

    fn nr_tasks(&self, _: &Case, instances: u32, _: &Values) -> u64 {
        1 + 2 * u64::from(instances)
    }

    fn build(&self, case: &Case, instances: u32, values: &Values) -> TaskSet {
        let pinned = Self::pinned(case).then(|| values.get("cpus") as u32);
        Pairs { pairs: instances, together: true, loops: 0, pinned }.build(values)
    }
}
