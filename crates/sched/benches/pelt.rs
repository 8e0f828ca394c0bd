//! What an update costs.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use wakelab_sched::pelt::{
    __update_load_avg_blocked_se, __update_load_avg_cfs_rq, __update_load_avg_se, CfsRqPelt, CfsRqState, EntityState,
    PeltRules, SchedAvg, UpdateFlags, update_load_avg,
};

const MS: u64 = 1_000_000;

/// A nice 0 task that runs.
const RUNNING: EntityState = EntityState { weight: 1024, on_rq: true, sched_delayed: false, curr: true };

/// Its run queue, with two more tasks.
const QUEUE: CfsRqState = CfsRqState { weight: 3 * 1024, h_nr_runnable: 3, curr: true };

fn pelt(c: &mut Criterion) {
    let mut group = c.benchmark_group("pelt");

    // One state that time passes for; gaps are chosen off the period's length.
    let mut bench = |name: &str, gap: u64, update: fn(u64, &mut SchedAvg) -> bool| {
        group.bench_function(name, |b| {
            let mut sa = SchedAvg { util_sum: 20_000_000, load_sum: 20_000, ..SchedAvg::default() };
            let mut now = 0;
            b.iter(|| {
                now += black_box(gap);
                black_box(update(now, &mut sa))
            });
        });
    };
    bench("se_running_100us", MS / 10, |now, sa| __update_load_avg_se(now, sa, &RUNNING));
    bench("se_running_4ms", 4 * MS, |now, sa| __update_load_avg_se(now, sa, &RUNNING));
    bench("se_blocked_50ms", 50 * MS, |now, sa| __update_load_avg_blocked_se(now, sa, 1024));
    bench("cfs_rq_100us", MS / 10, |now, sa| __update_load_avg_cfs_rq(now, sa, &QUEUE));
    bench("cfs_rq_4ms", 4 * MS, |now, sa| __update_load_avg_cfs_rq(now, sa, &QUEUE));

    group.bench_function("update_load_avg_4ms", |b| {
        let mut cfs_rq = CfsRqPelt::new(PeltRules::V7_3);
        let mut se = SchedAvg { load_avg: 1024, ..SchedAvg::default() };
        let mut now = 4 * MS;
        update_load_avg(&mut cfs_rq, &QUEUE, &mut se, &RUNNING, now, UpdateFlags::DO_ATTACH);
        b.iter(|| {
            now += black_box(4 * MS);
            black_box(update_load_avg(&mut cfs_rq, &QUEUE, &mut se, &RUNNING, now, UpdateFlags::empty()))
        });
    });
    group.finish();
}

criterion_group!(benches, pelt);
criterion_main!(benches);
