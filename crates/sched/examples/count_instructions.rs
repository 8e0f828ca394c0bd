//! Named workloads for `cargo xtask bench instructions`, which counts what one operation of each costs.
//!
//! Everything that is to be counted happens in calls of [`measured`], one call for each workload; the names are printed
//! in that order, each with the number of operations. An argument chooses the workloads whose names contain it.

use std::hint::black_box;
use wakelab_kernel::FeatureSet;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::Numbering;
use wakelab_sched::pelt::{
    __update_load_avg_blocked_se, __update_load_avg_cfs_rq, __update_load_avg_se, CfsRqState, EntityState, SchedAvg,
};
use wakelab_sched::runqueue::{
    DequeueFlags, EevdfParams, EevdfRq, EevdfRules, EnqueueFlags, Entities, Entity, FairRq, Policy, Prev,
};
use wakelab_sched::select::{Cx, Select, select_task_rq_fair, update_idle_core, update_idle_cpu_scan};
use wakelab_testing::placements::{cases, machine, machines, step_by_step};

/// Operations of one workload: enough that a single first one, with its allocations, does not show.
const OPERATIONS: u32 = 2000;

/// What is counted.
#[inline(never)]
fn measured(operation: &mut dyn FnMut()) {
    for _ in 0..OPERATIONS {
        operation();
    }
}

fn count(name: &str, mut operation: impl FnMut()) {
    if std::env::args().nth(1).is_some_and(|part| !name.contains(&part)) {
        return;
    }
    // Buffers grow to their size before the counting begins.
    operation();
    measured(&mut operation);
    println!("{OPERATIONS}\t{name}");
}

fn main() {
    placements();
    hints();
    pelt();
    run_queue();
}

fn placements() {
    for (machine, domains) in machines() {
        for case in cases(&domains) {
            let (rules, wakeup) = (case.rules(), case.wakeup());
            let cx = Cx { rules: &rules, wakeup: &wakeup, view: &case.table };
            let mut select = Select::default();
            count(&format!("{machine}: {}", case.name), || {
                black_box(&select_task_rq_fair(&mut select, black_box(cx), &mut ()));
            });
            if case.name == "scan fails" || case.name == "core fails" {
                count(&format!("{machine}: {}, step by step", case.name), || {
                    black_box(&step_by_step(&mut select, black_box(cx), &mut ()));
                });
            }
        }
    }
}

fn hints() {
    let domains = machine(1, 1, 56, Numbering::Split);
    let mut case = cases(&domains).remove(0);
    case.table.idle = CpuMask::from_cpus(112, [7, 63]);
    count("update_idle_core", || {
        black_box(update_idle_core(&domains, FeatureSet::EMPTY, black_box(7), black_box(&case.table), |_| ()));
    });
    count("update_idle_cpu_scan", || {
        black_box(update_idle_cpu_scan(black_box(60_000), black_box(112), black_box(117)));
    });
}

fn pelt() {
    const MS: u64 = 1_000_000;
    let update = |name: &str, gap: u64, update: fn(u64, &mut SchedAvg) -> bool| {
        let mut sa = SchedAvg { util_sum: 20_000_000, load_sum: 20_000, ..SchedAvg::default() };
        let mut now = 0;
        count(name, || {
            now += black_box(gap);
            black_box(update(now, &mut sa));
        });
    };
    update("PELT: running task after 100 us", MS / 10, |now, sa| {
        __update_load_avg_se(now, sa, &EntityState { weight: 1024, on_rq: true, sched_delayed: false, curr: true })
    });
    update("PELT: blocked task after 50 ms", 50 * MS, |now, sa| __update_load_avg_blocked_se(now, sa, 1024));
    update("PELT: run queue after 4 ms", 4 * MS, |now, sa| {
        __update_load_avg_cfs_rq(now, sa, &CfsRqState { weight: 3 * 1024, h_nr_runnable: 3, curr: true })
    });
}

/// EEVDF's queue of some tasks: one waiting task is taken out and put back, then the next is picked.
fn run_queue() {
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
    for tasks in [1u32, 10, 1000] {
        let (mut rq, mut es, mut now) =
            (FairRq::Eevdf(EevdfRq::new(params, EevdfRules::V6_12, 0)), Entities::new(), 1_000_000_000);
        // One more task than waits: the one that runs.
        for i in 0..=tasks {
            let task = es.push(Entity::new(Policy::Normal, (i % 7) as i8 - 3, 1_000_000 + u64::from(i % 5) * 300_000));
            let _ = rq.task_fork(&mut es, now, task);
            let _ = rq.enqueue_task(&mut es, now, task, EnqueueFlags::INITIAL);
            now += 777_777;
            rq.schedule(&mut es, now, Prev::Runs);
        }
        count(&format!("run queue: requeue and pick, {tasks} waiting"), || {
            now += 777_777;
            let task = rq.waiting(&es).next().expect("tasks wait");
            let _ = rq.dequeue_task(&mut es, now, task, DequeueFlags::empty());
            let _ = rq.enqueue_task(&mut es, now, task, EnqueueFlags::empty());
            black_box(rq.schedule(&mut es, now, Prev::Runs));
        });
    }
}
