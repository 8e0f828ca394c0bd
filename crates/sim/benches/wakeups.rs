//! How many wake-ups are simulated in a second, on one core, with nobody listening: `cargo bench -p wakelab-sim`.
//!
//! Times of one run are comparable with each other only.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::Instant;
use wakelab_events::sim::{Event, Sink};
use wakelab_testing::speed_runs::{self, MS};

fn netperf(c: &mut Criterion) {
    let mut group = c.benchmark_group("netperf, 224 pairs, 112 CPUs");
    group.sample_size(10);
    for (name, case) in speed_runs::netperf(20 * MS) {
        group.throughput(Throughput::Elements(case.run(40 * MS).wakeups));
        group.bench_function(name, |b| b.iter(|| case.run(40 * MS)));
    }
    group.finish();
}

fn run_sleep(c: &mut Criterion) {
    let mut group = c.benchmark_group("2 tasks a CPU, 50 us / 50 us");
    group.sample_size(10);
    for (machine, cpus) in [("test-8c", 8), ("intel-1s56c112t", 112), ("bench-1024", 1024), ("bench-4096", 4096)] {
        let case = speed_runs::run_sleep(machine, cpus);
        let until = (4000 * MS / u64::from(cpus)).clamp(10 * MS, 40 * MS);
        group.throughput(Throughput::Elements(case.run(until).wakeups));
        group.bench_function(BenchmarkId::from_parameter(cpus), |b| b.iter(|| case.run(until)));
    }
    group.finish();
}

/// Large machines once their tasks are spread over the CPUs: the time and the wake-ups from 20 ms on. The runs above
/// are for the most part forks, and the balancing that follows.
fn steady_state(c: &mut Criterion) {
    let mut group = c.benchmark_group("2 tasks a CPU, 50 us / 50 us, from 20 ms on");
    group.sample_size(10);
    for (machine, cpus, until) in [("bench-1024", 1024, 30 * MS), ("bench-4096", 4096, 23 * MS)] {
        let case = speed_runs::run_sleep(machine, cpus);
        let steady = || {
            let mut steady = Steady::default();
            case.run_with(until, &mut steady);
            steady
        };
        group.throughput(Throughput::Elements(steady().wakeups));
        group.bench_function(BenchmarkId::from_parameter(cpus), |b| {
            b.iter_custom(|times| (0..times).map(|_| steady().began.expect("events").elapsed()).sum());
        });
    }
    group.finish();
}

/// What happens from 20 ms on. It listens, which costs some per cent.
#[derive(Default)]
struct Steady {
    began: Option<Instant>,
    wakeups: u64,
}

impl Sink for Steady {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        if time >= 20 * MS {
            self.began.get_or_insert_with(Instant::now);
            self.wakeups += u64::from(matches!(event, Event::Wakeup { .. }));
        }
    }
}

/// 8 CPUs with one frequency and without idle states, and with them.
fn governed(c: &mut Criterion) {
    let mut group = c.benchmark_group("2 tasks a CPU, 50 us / 50 us, 8 CPUs, governor");
    group.sample_size(10);
    for (name, case) in speed_runs::governed() {
        group.throughput(Throughput::Elements(case.run(40 * MS).wakeups));
        group.bench_function(name, |b| b.iter(|| case.run(40 * MS)));
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

criterion_group!(benches, netperf, run_sleep, steady_state, governed, queue);
criterion_main!(benches);
