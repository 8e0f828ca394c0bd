//! What a placement costs, by the way it takes and the machine's size.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use wakelab_kernel::FeatureSet;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Wrap;
use wakelab_sched::domain::Numbering;
use wakelab_sched::select::{Cx, Select, select_task_rq_fair, update_idle_core, update_idle_cpu_scan};
use wakelab_testing::placements::{cases, machine, machines, step_by_step};

/// Placements per second.
fn placements(c: &mut Criterion) {
    for (name, domains) in machines() {
        for (way, at_once) in [("at once", true), ("step by step", false)] {
            let mut group = c.benchmark_group(format!("{name}, {way}"));
            group.throughput(Throughput::Elements(1));
            for case in cases(&domains) {
                let (rules, wakeup) = (case.rules(), case.wakeup());
                let mut select = Select::default();
                group.bench_function(case.name, |b| {
                    b.iter(|| {
                        let cx = Cx { rules: &rules, wakeup: black_box(&wakeup), view: black_box(&case.table) };
                        if at_once {
                            select_task_rq_fair(&mut select, cx, &mut ())
                        } else {
                            step_by_step(&mut select, cx, &mut ())
                        }
                    });
                });
            }
        }
    }
}

fn hints(c: &mut Criterion) {
    let domains = machine(1, 1, 56, Numbering::Split);
    let mut group = c.benchmark_group("hints");
    let mut case = cases(&domains).remove(0);
    case.table.idle = CpuMask::from_cpus(112, [7, 63]);
    group.bench_function("update_idle_core, core idle", |b| {
        b.iter(|| update_idle_core(&domains, FeatureSet::EMPTY, black_box(7), black_box(&case.table), |_| ()));
    });
    group.bench_function("update_idle_core, core busy", |b| {
        b.iter(|| update_idle_core(&domains, FeatureSet::EMPTY, black_box(8), black_box(&case.table), |_| ()));
    });
    group.bench_function("update_idle_cpu_scan", |b| {
        b.iter(|| update_idle_cpu_scan(black_box(60_000), black_box(112), black_box(117)));
    });
}

fn masks(c: &mut Criterion) {
    let mut group = c.benchmark_group("cpumask");
    for nr_cpus in [112, 1024] {
        let full = CpuMask::full(nr_cpus);
        let last = CpuMask::from_cpus(nr_cpus, [nr_cpus / 2 - 1]);
        group.bench_function(format!("iter_wrap, all of {nr_cpus}"), |b| {
            b.iter(|| black_box(&full).iter_wrap(black_box(nr_cpus / 2)).map(u64::from).sum::<u64>());
        });
        group.bench_function(format!("next_and, around {nr_cpus}"), |b| {
            b.iter(|| Wrap::new(black_box(nr_cpus / 2)).next_and(black_box(&full), black_box(&last)));
        });
        group.bench_function(format!("count_to, around {nr_cpus}"), |b| {
            b.iter(|| Wrap::new(black_box(nr_cpus / 2)).count_to(black_box(&full), black_box(None)));
        });
        group.bench_function(format!("set_and, {nr_cpus}"), |b| {
            let mut mask = CpuMask::new(nr_cpus);
            b.iter(|| black_box(&mut mask).set_and(black_box(&full), black_box(&last)));
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .without_plots();
    targets = placements, hints, masks
}
criterion_main!(benches);
