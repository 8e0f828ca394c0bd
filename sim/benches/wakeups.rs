//! How many wake-ups are simulated in a second, on one core, with nobody listening: `cargo bench -p wakelab-sim`.
//!
//! Times of one run are comparable with each other only. Every run begins with a machine at rest.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::collections::BTreeMap;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::{Preset, Switches};
use wakelab_sim::{Mechanisms, Outcome, Setup, run};
use wakelab_workload::{Load, Work, Workload, build, synthetic};

fn simulate(machine: &str, switches: &str, workload: &Workload, mechanisms: Mechanisms, until: u64) -> Outcome {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get("v5.19-rc1").expect("a preset");
    let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
    let setup = Setup { machine: &machine, kernel, features, workload, seed: 1, until, mechanisms, observer_cost: 0 };
    run(&setup, &mut (), &AtomicBool::new(false)).expect("a run")
}

/// 224 pairs on 112 CPUs. In 20 ms all are started; without a ramp SIS_UTIL stacks them from the start.
fn netperf(c: &mut Criterion) {
    let ramp = BTreeMap::from([("ramp".to_owned(), 20_000_000)]);
    let workload = build("netperf:TCP_RR", Load::Instances(224), 112, &ramp).expect("a workload");
    let stacked = Mechanisms { ramp: false, ..Mechanisms::default() };
    let mut group = c.benchmark_group("netperf, 224 pairs, 112 CPUs");
    group.sample_size(10);
    for (name, switches, mechanisms) in
        [("migrating", "SIS_PROP", Mechanisms::default()), ("stacked", "NO_SIS_PROP,SIS_UTIL", stacked)]
    {
        let run = || simulate("intel-1s56c112t", switches, &workload, mechanisms, 40_000_000);
        group.throughput(Throughput::Elements(run().wakeups));
        group.bench_function(name, |b| b.iter(run));
    }
    group.finish();
}

/// Two tasks for each CPU, 50 us of work and 50 us of sleep.
fn run_sleep(c: &mut Criterion) {
    let mut group = c.benchmark_group("2 tasks a CPU, 50 us / 50 us");
    group.sample_size(10);
    let half = Work { ns: 50_000, jitter_pct: 20 };
    for (machine, cpus) in [("test-8c", 8), ("intel-1s56c112t", 112), ("bench-1024", 1024), ("bench-4096", 4096)] {
        let workload = synthetic::run_sleep(2 * cpus, half, half);
        let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
        let until = 4_000_000_000 / u64::from(cpus);
        let run = || simulate(machine, "", &workload, mechanisms, until.clamp(10_000_000, 40_000_000));
        group.throughput(Throughput::Elements(run().wakeups));
        group.bench_function(BenchmarkId::from_parameter(cpus), |b| b.iter(run));
    }
    group.finish();
}

/// A bare event queue: push and pop on a binary heap that holds as many events as there are CPUs.
fn queue(c: &mut Criterion) {
    let mut group = c.benchmark_group("bare queue, push and pop");
    for events in [112u64, 4096] {
        let mut heap: BinaryHeap<_> = (0..events).map(|n| std::cmp::Reverse((n * 7919 % 10_000, n))).collect();
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::from_parameter(events), |b| {
            b.iter(|| {
                let std::cmp::Reverse((time, n)) = heap.pop().expect("it is never empty");
                heap.push(std::cmp::Reverse((time + 5000 + n * 31 % 4000, n)));
                black_box(time)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, netperf, run_sleep, queue);
criterion_main!(benches);
