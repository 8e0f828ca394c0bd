//! What a pick, an enqueue and a wake-up cost, by the number of tasks.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use wakelab_sched::runqueue::{
    CfsParams, CfsRq, CfsRules, DequeueFlags, EevdfParams, EevdfRq, EevdfRules, EnqueueFlags, Entities, Entity, FairRq,
    Policy, Prev, TaskId, Tick,
};
use wakelab_sched::select::WakeFlags;

const TASKS: [u32; 3] = [1, 10, 1000];
const V0: u64 = -(1i64 << 20) as u64;

fn eevdf() -> FairRq {
    let params = EevdfParams {
        base_slice_ns: 2_800_000,
        tick_ns: 1_000_000,
        place_lag: true,
        place_deadline_initial: true,
        place_rel_deadline: true,
        run_to_parity: false,
        preempt_short: true,
        delay_dequeue: true,
        delay_zero: true,
        wakeup_preemption: true,
        hrtick: false,
        next_buddy: false,
        pick_buddy: true,
        paranoid_avg: false,
        migration_cost_ns: 500_000,
        normalized_base_slice_ns: 700_000,
        resched_ineligible: false,
    };
    FairRq::Eevdf(EevdfRq::new(params, EevdfRules::V6_12, V0))
}

fn cfs() -> FairRq {
    let params = CfsParams {
        latency_ns: 24_000_000,
        min_granularity_ns: 3_000_000,
        idle_min_granularity_ns: 750_000,
        wakeup_granularity_ns: 4_000_000,
        nr_latency: 8,
        gentle_fair_sleepers: true,
        start_debit: true,
        wakeup_preemption: true,
        alt_period: true,
        base_slice: true,
        next_marker: true,
        last_buddy: true,
        next_buddy: false,
        hrtick: false,
        double_tick: false,
    };
    FairRq::Cfs(CfsRq::new(params, CfsRules::V6_1, V0))
}

/// A queue that has run for a while: `tasks` tasks of mixed weights and slices, one of them running.
struct Busy {
    rq: FairRq,
    es: Entities,
    now: u64,
}

impl Busy {
    fn new(rq: FairRq, tasks: u32) -> Self {
        let mut busy = Busy { rq, es: Entities::new(), now: 1_000_000_000 };
        for i in 0..tasks {
            let slice = if i % 3 == 0 { 0 } else { 1_000_000 + u64::from(i * 7919 % 5_000_000) };
            let task = busy.es.push(Entity::new(Policy::Normal, (i % 7) as i8 - 3, slice));
            let _ = busy.rq.task_fork(&mut busy.es, busy.now, task);
            let _ = busy.rq.enqueue_task(&mut busy.es, busy.now, task, EnqueueFlags::INITIAL);
            busy.run();
        }
        for _ in 0..4 * tasks {
            busy.run();
        }
        busy
    }

    /// Some run time, a tick and a schedule.
    fn run(&mut self) -> Option<TaskId> {
        self.now += 777_777;
        let _ = self.rq.tick(&mut self.es, self.now, Tick::default());
        self.rq.schedule(&mut self.es, self.now, Prev::Runs).next
    }

    /// A task that waits leaves and comes back, as under the load balancer.
    fn requeue(&mut self) -> bool {
        let Some(task) = self.rq.waiting(&self.es).next() else { return false };
        let _ = self.rq.dequeue_task(&mut self.es, self.now, task, DequeueFlags::empty());
        self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::empty()).asked()
    }

    /// The running task sleeps, the next one is picked; after a while the sleeper wakes and is checked for preemption.
    fn sleep_and_wake(&mut self) -> bool {
        let Some(task) = self.rq.curr() else { return false };
        self.now += 50_000;
        self.rq.schedule(&mut self.es, self.now, Prev::Sleeps);
        self.now += 50_000;
        let resched = self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::WAKEUP).asked();
        let preempted = self.rq.wakeup_preempt(&mut self.es, self.now, task, WakeFlags::empty(), resched);
        let resched = preempted.resched.asked();
        if self.rq.curr().is_none() || resched {
            self.rq.schedule(&mut self.es, self.now, Prev::Runs);
        }
        resched
    }
}

fn pick(c: &mut Criterion) {
    let mut group = c.benchmark_group("pick_eevdf");
    for tasks in TASKS {
        let busy = Busy::new(eevdf(), tasks);
        let FairRq::Eevdf(rq) = &busy.rq else { unreachable!() };
        group.bench_function(tasks.to_string(), |b| b.iter(|| black_box(rq).pick_eevdf(black_box(&busy.es))));
    }
}

fn operations(c: &mut Criterion) {
    for (class, rq) in [("eevdf", eevdf as fn() -> FairRq), ("cfs", cfs as fn() -> FairRq)] {
        let mut bench = |name: &str, sizes: &[u32], op: fn(&mut Busy)| {
            let mut group = c.benchmark_group(format!("{class} {name}"));
            for &tasks in sizes {
                let mut busy = Busy::new(rq(), tasks);
                group.bench_function(tasks.to_string(), |b| b.iter(|| op(black_box(&mut busy))));
            }
        };
        bench("tick+schedule", &TASKS, |busy| _ = black_box(busy.run()));
        bench("sleep+wake", &TASKS, |busy| _ = black_box(busy.sleep_and_wake()));
        bench("dequeue+enqueue", &[10, 1000], |busy| _ = black_box(busy.requeue()));
        enqueue_pick(c, class, rq);
    }
}

/// One more task is enqueued and the pick made.
fn enqueue_pick(c: &mut Criterion, class: &str, rq: fn() -> FairRq) {
    let mut group = c.benchmark_group(format!("{class} enqueue+schedule"));
    for tasks in TASKS {
        let mut busy = Busy::new(rq(), tasks);
        let newcomer = busy.es.push(Entity::new(Policy::Normal, 0, 0));
        group.bench_function(tasks.to_string(), |b| {
            b.iter_batched_ref(
                || (busy.rq.clone(), busy.es.clone()),
                |(rq, es)| {
                    let _ = rq.enqueue_task(es, busy.now, newcomer, EnqueueFlags::WAKEUP);
                    rq.schedule(es, busy.now, Prev::Runs)
                },
                BatchSize::SmallInput,
            );
        });
    }
}

criterion_group!(benches, pick, operations);
criterion_main!(benches);
