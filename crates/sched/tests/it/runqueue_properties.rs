//! The run queues compared with a slow implementation of the same definition, on random operations; and the guarantees
//! of the two classes.
//!
//! **Virtual time.** CFS's `min_vruntime` never goes back.
//!
//! EEVDF's V is an average, which may go back. With W the sum of the weights, a task of weight w
//!
//! - that runs moves V forward, by its run time over W; so does one that yields (V is rounded down, and rounding is
//!   monotonic);
//! - that joins with lag l moves V by -l w/W: not at all if it is new or was delayed (`DELAY_ZERO`), and back if it
//!   is owed time;
//! - that leaves with lag l moves V by l w/(W - w): forward if it is eligible. With `DELAY_DEQUEUE` a task that
//!   sleeps leaves only when it is eligible, or is the last one.
//!
//! So ticks, forks, yields, schedules, sleeps under `DELAY_DEQUEUE` and wake-ups of delayed tasks never move V back;
//! other wake-ups, exits, migrations and changes of weight or slice may. (Since 7.2 wake-ups of delayed tasks may too:
//! a debt beyond the limit is forgiven.)

use crate::runqueue_reference::fast::Fast;
use crate::runqueue_reference::slow_cfs::SlowCfs;
use crate::runqueue_reference::slow_eevdf::SlowEevdf;
use crate::runqueue_reference::system::{Op, QUEUES, QueueState, System, TaskState};
use proptest::prelude::*;
use wakelab_sched::runqueue::{CfsParams, CfsRules, EevdfParams, EevdfRules, FairRules, Policy, Prev};

/// The random numbers from which an operation is chosen, and the time that passes before it.
#[derive(Clone, Debug)]
struct Choice {
    dt: u64,
    kind: u8,
    queue: usize,
    task: prop::sample::Index,
    policy: Policy,
    nice: i8,
    slice: u64,
    sync: bool,
}

fn choice() -> impl Strategy<Value = Choice> {
    let dt = prop_oneof![
        100 => 0..2_000u64,
        200 => 0..8_000_000u64,
        30 => 0..200_000_000u64,
        3 => 0..1u64 << 35,
        1 => 0..1u64 << 44,
    ];
    let policy = prop_oneof![6 => Just(Policy::Normal), 1 => Just(Policy::Batch), 2 => Just(Policy::Idle)];
    let nice = prop_oneof![3 => Just(0i8), 3 => -20..=19i8, 2 => -3..=3i8];
    let slice = prop_oneof![3 => Just(0u64), 2 => 100_000..=100_000_000u64, 2 => 100_000..6_000_000u64];
    let index = any::<prop::sample::Index>();
    (dt, any::<u8>(), 0..QUEUES, index, policy, nice, slice, any::<bool>()).prop_map(
        |(dt, kind, queue, task, policy, nice, slice, sync)| Choice {
            dt,
            kind,
            queue,
            task,
            policy,
            nice,
            slice,
            sync,
        },
    )
}

/// Whether virtual time `a` is before `b`.
fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// The start of virtual time: the kernel's, shortly before it wraps, and shortly before its sign changes.
fn start() -> impl Strategy<Value = u64> {
    let shortly_before = |wrap: u64| (1..1u64 << 34).prop_map(move |d| wrap.wrapping_sub(d));
    prop_oneof![Just(-(1i64 << 20) as u64), shortly_before(0), shortly_before(1 << 63)]
}

/// The operation of a choice in this state; `None` if it is not possible.
fn op(choice: &Choice, queues: &[QueueState], tasks: &[TaskState], gone: &[bool]) -> Option<Op> {
    let &Choice { queue, policy, nice, slice, sync, .. } = choice;
    let chosen = |may: &dyn Fn(usize) -> bool| {
        let candidates: Vec<usize> = (0..tasks.len()).filter(|&task| !gone[task] && may(task)).collect();
        (!candidates.is_empty()).then(|| candidates[choice.task.index(candidates.len())])
    };
    let runs = |task: usize| queues.iter().any(|queue| queue.curr == Some(task));
    match choice.kind {
        0..30 if gone.iter().filter(|&&gone| !gone).count() < 24 => Some(Op::Fork { queue, policy, nice, slice }),
        0..90 => chosen(&|task| !tasks[task].on_rq || tasks[task].delayed).map(|task| Op::Wake { task, queue, sync }),
        90..120 => Some(Op::Tick { queue }),
        120..130 => Some(Op::Update { queue }),
        130..170 => Some(Op::Schedule { queue, prev: Prev::Runs }),
        170..200 => Some(Op::Schedule { queue, prev: Prev::Sleeps }),
        200..203 => Some(Op::Schedule { queue, prev: Prev::Exits }),
        203..215 => Some(Op::Yield { queue }),
        215..230 => chosen(&|_| true).map(|task| Op::Nice { task, nice }),
        230..240 => chosen(&|_| true).map(|task| Op::Slice { task, slice }),
        240.. => chosen(&|task| tasks[task].on_rq && !runs(task)).map(|task| Op::Migrate { task, queue }),
    }
}

/// Runs both implementations and compares everything after every operation. `guarantee` returns whether an operation,
/// from the queue before it and after it, keeps the guarantees. `stop` ends the sequence.
fn compare<S: System>(
    choices: &[Choice],
    mut fast: Fast,
    mut slow: S,
    guarantee: impl Fn(Op, &[TaskState], &QueueState, &QueueState) -> bool,
    stop: impl Fn(&S) -> bool,
) -> Result<(), TestCaseError> {
    let mut now = 1_000_000_000;
    let mut gone = Vec::new();
    for choice in choices {
        now += choice.dt;
        let (queues, tasks) = (fast.queues(), fast.tasks());
        gone.resize(tasks.len(), false);
        let Some(op) = op(choice, &queues, &tasks, &gone) else { continue };
        if let Op::Schedule { queue, prev: Prev::Exits } = op {
            queues[queue].curr.into_iter().for_each(|task| gone[task] = true);
        }
        fast.apply(now, op);
        slow.apply(now, op);
        let (after, expected) = (fast.queues(), slow.queues());
        if stop(&slow) {
            return Ok(());
        }
        prop_assert_eq!(&after, &expected, "{:?} at {}", op, now);
        prop_assert_eq!(fast.tasks().len(), slow.tasks().len());
        for (task, (fast, slow)) in fast.tasks().iter().zip(slow.tasks()).enumerate() {
            prop_assert_eq!(fast, &slow, "task {} after {:?}", task, op);
        }
        prop_assert_eq!(fast.validate(), Ok(()), "{:?}", op);
        each_task_is_on_its_queue(&after, &fast.tasks())?;
        for (before, after) in queues.iter().zip(&after) {
            prop_assert!(guarantee(op, &tasks, before, after), "{:?}: {:?} to {:?}", op, before, after);
        }
    }
    Ok(())
}

/// Asserts that every queued task is on its queue once, and that no other task is on a queue.
fn each_task_is_on_its_queue(queues: &[QueueState], tasks: &[TaskState]) -> Result<(), TestCaseError> {
    for (task, state) in tasks.iter().enumerate() {
        let on = |queue: &QueueState| queue.waiting.iter().chain(&queue.curr).filter(|&&other| other == task).count();
        let expected = |queue| usize::from(state.on_rq && state.queue == queue);
        for (queue, found) in queues.iter().map(on).enumerate() {
            prop_assert_eq!(found, expected(queue), "task {} on queue {}", task, queue);
        }
    }
    Ok(())
}

fn eevdf_params() -> impl Strategy<Value = EevdfParams> {
    let on = || prop::bool::weighted(0.85);
    let switches = (on(), on(), on(), on(), on(), on(), on(), on());
    let buddies = (prop::bool::weighted(0.3), prop::bool::weighted(0.9));
    let cost = prop_oneof![Just(0u64), Just(500_000)];
    let times = (700_000..4_000_000u64, 1_000_000..=10_000_000u64, cost, 0..3_000_000u64);
    (times, switches, buddies).prop_map(|(times, on, (next_buddy, pick_buddy))| EevdfParams {
        base_slice_ns: times.0,
        tick_ns: times.1,
        place_lag: on.0,
        place_deadline_initial: on.1,
        place_rel_deadline: on.2,
        run_to_parity: on.3,
        preempt_short: on.4,
        delay_dequeue: on.5,
        delay_zero: on.6,
        wakeup_preemption: on.7,
        hrtick: false,
        next_buddy,
        pick_buddy,
        paranoid_avg: false,
        migration_cost_ns: times.2,
        normalized_base_slice_ns: times.3,
        resched_ineligible: false,
    })
}

fn cfs_params() -> impl Strategy<Value = CfsParams> {
    let on = || prop::bool::weighted(0.8);
    let switches = (on(), on(), on(), on(), on(), on(), prop::bool::weighted(0.3));
    (1..=4u64, 2..=8u32, switches).prop_map(|(factor, nr_latency, on)| CfsParams {
        latency_ns: 6_000_000 * factor,
        min_granularity_ns: 750_000 * factor,
        idle_min_granularity_ns: 750_000,
        wakeup_granularity_ns: 1_000_000 * factor,
        nr_latency,
        gentle_fair_sleepers: on.0,
        start_debit: on.1,
        wakeup_preemption: on.2,
        alt_period: true,
        base_slice: on.3,
        next_marker: on.4,
        last_buddy: on.5,
        next_buddy: on.6,
        hrtick: false,
        double_tick: false,
    })
}

/// The rules of a version of EEVDF, with preempt=lazy or without.
fn eevdf_rules() -> impl Strategy<Value = EevdfRules> {
    let version = prop_oneof![
        Just(EevdfRules::V6_6),
        Just(EevdfRules::V6_8),
        Just(EevdfRules::V6_12),
        Just(EevdfRules::V6_18),
        Just(EevdfRules::V7_2),
        Just(EevdfRules::V7_3),
    ];
    (version, any::<bool>())
        .prop_map(|(forms, lazy)| EevdfRules { lazy_preemption: lazy && forms.lazy_preemption, ..forms })
}

/// The rules of a version of CFS.
fn cfs_rules() -> impl Strategy<Value = CfsRules> {
    prop_oneof![Just(CfsRules::V5_10), Just(CfsRules::V5_15), Just(CfsRules::V5_18), Just(CfsRules::V6_1)]
}

/// Whether V must not go back in this operation.
fn v_must_not_go_back(params: EevdfParams, rules: EevdfRules, op: Op, tasks: &[TaskState]) -> bool {
    match op {
        Op::Fork { .. } | Op::Tick { .. } | Op::Update { .. } | Op::Yield { .. } => true,
        Op::Schedule { prev: Prev::Runs, .. } => true,
        Op::Schedule { prev: Prev::Sleeps, .. } => params.delay_dequeue,
        Op::Wake { task, .. } => tasks[task].on_rq && !rules.delayed_lag_kept,
        Op::Schedule { prev: Prev::Exits, .. } | Op::Nice { .. } | Op::Slice { .. } | Op::Migrate { .. } => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn eevdf_equals_the_slow_implementation(
        params in eevdf_params(),
        rules in eevdf_rules(),
        start in start(),
        choices in prop::collection::vec(choice(), 1..250),
    ) {
        let fast = Fast::of(FairRules::Eevdf(params, rules), start);
        let guarantee = |op, tasks: &[TaskState], a: &QueueState, b: &QueueState| {
            !v_must_not_go_back(params, rules, op, tasks) || !before(b.virtual_time, a.virtual_time)
        };
        // Beyond 64 bits the kernel's result is wrong, and there is nothing to compare with.
        compare(&choices, fast, SlowEevdf::new(params, rules, start), guarantee, |slow| slow.overflowed.get())?;
    }

    #[test]
    fn cfs_equals_the_slow_implementation(
        params in cfs_params(),
        rules in cfs_rules(),
        start in start(),
        mut choices in prop::collection::vec(choice(), 1..250),
        long_sleep in prop::option::of(any::<prop::sample::Index>()),
    ) {
        // At most one: after two of them the virtual times would be too far apart to be ordered.
        if let Some(at) = long_sleep {
            at.get_mut(&mut choices).dt += 1 << 53;
        }
        let fast = Fast::of(FairRules::Cfs(params, rules), start);
        let guarantee =
            |_, _: &[TaskState], a: &QueueState, b: &QueueState| !before(b.virtual_time, a.virtual_time);
        compare(&choices, fast, SlowCfs::new(params, rules, start), guarantee, |slow| !slow.ordered())?;
    }
}
