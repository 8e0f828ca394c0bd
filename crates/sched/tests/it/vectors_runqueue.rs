//! The run queues compared with the kernel's own code, step by step; and the number of rows that need each rule.

mod cfs;
mod eevdf;
mod replay;
mod table;

use crate::support::ablation::Ablation;
use cfs::Cfs;
use eevdf::Eevdf;
use replay::{Model, replay};
use table::Table;
use wakelab_sched::runqueue::{CfsParams, EevdfParams, LoadWeight, Policy};

#[test]
fn vectors_weights() {
    let table = Table::read("weights.csv");
    for row in table.rows() {
        let nice = row.int("nice");
        let load = LoadWeight::of(Policy::Normal, nice);
        let got = (load.weight, load.inv_weight);
        assert_eq!((row.int("weight"), row.int("inverse")), got, "weights.csv nice {nice}");
        assert_eq!(load, LoadWeight::of(Policy::Batch, nice));
    }
    let idle = LoadWeight { weight: 3, inv_weight: 1_431_655_765 };
    assert!((-20..=19).all(|nice| LoadWeight::of(Policy::Idle, nice) == idle));
}

#[test]
fn vectors_eevdf() {
    all_rows_equal::<Eevdf>();
}

#[test]
fn vectors_cfs() {
    all_rows_equal::<Cfs>();
}

fn all_rows_equal<M: Model>() {
    let outcome = replay::<M>(&|_| {});
    println!("{}: {} of {} rows equal", M::NAME, outcome.rows - outcome.differing, outcome.rows);
    if let Some(first) = outcome.first {
        panic!("{} of {} rows differ, {} more; first {first}", outcome.differing, outcome.rows, outcome.extra);
    }
}

/// The number of rows of a model's vectors, and of those that differ after `over` has changed every scenario's
/// parameters.
fn count_differing_rows<M: Model>(over: &dyn Fn(&mut M::Params)) -> (usize, usize) {
    let outcome = replay::<M>(over);
    (outcome.rows, outcome.differing)
}

/// A rule, and the change that switches it off.
type Rule<P> = (&'static str, fn(&mut P));

const EEVDF_RULES: [Rule<EevdfParams>; 10] = [
    ("PLACE_LAG", |p| p.place_lag = false),
    ("PLACE_DEADLINE_INITIAL", |p| p.place_deadline_initial = false),
    ("PLACE_REL_DEADLINE", |p| p.place_rel_deadline = false),
    ("RUN_TO_PARITY", |p| p.run_to_parity = false),
    ("PREEMPT_SHORT", |p| p.preempt_short = false),
    ("DELAY_DEQUEUE", |p| p.delay_dequeue = false),
    ("DELAY_ZERO", |p| p.delay_zero = false),
    ("WAKEUP_PREEMPTION", |p| p.wakeup_preemption = false),
    ("the lag is clamped (a tick of 2^40 ns)", |p| p.tick_ns = 1 << 40),
    ("the lag's clamp is a tick at least (a tick of 0)", |p| p.tick_ns = 0),
];

const CFS_RULES: [Rule<CfsParams>; 9] = [
    ("GENTLE_FAIR_SLEEPERS", |p| p.gentle_fair_sleepers = false),
    ("START_DEBIT", |p| p.start_debit = false),
    ("WAKEUP_PREEMPTION", |p| p.wakeup_preemption = false),
    ("BASE_SLICE", |p| p.base_slice = false),
    ("the next marker", |p| p.next_marker = false),
    ("the period grows with many tasks (as with few)", |p| p.nr_latency = u32::MAX),
    ("wakeup granularity (0)", |p| p.wakeup_granularity_ns = 0),
    ("minimal granularity (0)", |p| p.min_granularity_ns = 0),
    ("SCHED_IDLE has its own granularity (the others')", |p| p.idle_min_granularity_ns = p.min_granularity_ns),
];

#[test]
fn ablation_of_runqueue_vectors() {
    let mut table = Ablation::new("runqueue", &[]);
    ablate::<Eevdf>(&mut table, &EEVDF_RULES);
    ablate::<Cfs>(&mut table, &CFS_RULES);
    table.check();
}

fn ablate<M: Model>(table: &mut Ablation, rules: &[Rule<M::Params>]) {
    for (rule, off) in rules {
        let (rows, differing) = count_differing_rows::<M>(off);
        table.row(format!("runqueue/{}_*.csv", M::NAME), *rule, rows, differing);
    }
}
