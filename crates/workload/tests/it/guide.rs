//! The guide of benchmarks: its file is compiled here and builds sound workloads, and its line is as those of the
//! registry.

mod lat_ctx;

use crate::{Benchmark, Values, Workload};
use lat_ctx::LatCtx;
use std::collections::BTreeMap;

const GUIDE: &str = include_str!("../../../../docs/extending.md");

/// The text between the first fence of this kind in the section of benchmarks and its end.
fn block(kind: &str) -> &'static str {
    let section = GUIDE.split("\n## Add a benchmark\n").nth(1).expect("the section");
    let after = section.split(&format!("```{kind}\n")).nth(1).expect("a block");
    after.split("```").next().expect("its end")
}

#[test]
fn the_guide_has_the_file_that_is_compiled() {
    assert_eq!(block("rust"), include_str!("guide/lat_ctx.rs"));
}

#[test]
fn the_line_of_the_guide_is_as_those_of_the_registry() {
    let registry = include_str!("../../src/benchmark/mod.rs");
    let calls = registry.split("\nbenchmarks! {\n").nth(1).expect("the registry").split("\n}").next().expect("its end");
    let form = |line: &str| {
        let (module, benchmark) = line.trim().strip_suffix(',').and_then(|line| line.split_once(": ")).expect("a line");
        assert_eq!(benchmark.to_lowercase(), module.replace('_', ""), "{line}");
    };
    calls.lines().for_each(form);
    block("text").lines().for_each(form);
}

#[test]
fn the_benchmark_of_the_guide_is_sound() {
    for (benchmark, case) in [&LatCtx].into_iter().flat_map(|b| b.cases().iter().map(move |case| (b, case))) {
        for processes in [1, 2, 20] {
            let values = Values::new("lat_ctx:ring", &benchmark.params(case), &BTreeMap::new()).unwrap();
            let set = benchmark.build(case, processes, &values);
            assert_eq!(set.tasks.len() as u64, benchmark.nr_tasks(case, processes, &values));
            let workload = Workload {
                benchmark: benchmark.name().to_owned(),
                case: case.name.to_owned(),
                load: benchmark.load_label(case, processes),
                metric: case.metric.to_owned(),
                unit: case.unit.to_owned(),
                higher_is_better: case.higher_is_better,
                programs: set.programs,
                channels: set.channels,
                tasks: set.tasks,
                cpu_sets: vec![],
                distributions: vec![],
                params: values.into_params(),
                groups: vec![],
                interrupts: vec![],
                changes: vec![],
            };
            assert_eq!(workload.validate(4), Ok(()));
        }
    }
}
