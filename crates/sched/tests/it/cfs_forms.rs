//! The differences between the versions of CFS, one test each.

use wakelab_kernel::{FeatureSet, Preset, Tunables};
use wakelab_sched::runqueue::{
    CfsParams, CfsRq, CfsRules, EnqueueFlags, Entities, Entity, FairRules, NoTunable, Policy, Prev, TaskId,
};
use wakelab_sched::select::WakeFlags;

const MS: u64 = 1_000_000;
const ALL: [CfsRules; 3] = [CfsRules::V5_10, CfsRules::V5_18, CfsRules::V6_1];

const PARAMS: CfsParams = CfsParams {
    latency_ns: 24 * MS,
    min_granularity_ns: 3 * MS,
    idle_min_granularity_ns: 750_000,
    wakeup_granularity_ns: 4 * MS,
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

fn queue(rules: CfsRules) -> (CfsRq, Entities) {
    (CfsRq::new(PARAMS, rules, 0), Entities::new())
}

fn join(rq: &mut CfsRq, es: &mut Entities, now: u64, policy: Policy) -> TaskId {
    let task = es.push(Entity::new(policy, 0, 0));
    rq.task_fork(es, now, task);
    rq.enqueue_task(es, now, task, EnqueueFlags::INITIAL);
    task
}

#[test]
fn cfs_idle_policy_has_slices_and_credit_of_its_own_since_5_18() {
    for rules in ALL {
        let own = rules != CfsRules::V5_10;
        let (mut rq, mut es) = queue(rules);
        join(&mut rq, &mut es, MS, Policy::Normal);
        let idle = join(&mut rq, &mut es, MS, Policy::Idle);
        assert_eq!(rq.sched_slice(&es, idle), if own { 750_000 } else { 3 * MS }, "{rules:?}");
        rq.dequeue_task(&mut es, MS, idle, wakelab_sched::runqueue::DequeueFlags::SLEEP);
        rq.schedule(&mut es, MS, Prev::Runs);
        rq.update_curr(&mut es, 1000 * MS);
        es[idle].vruntime = 0;
        rq.enqueue_task(&mut es, 1000 * MS, idle, EnqueueFlags::WAKEUP);
        let credit = rq.min_vruntime() - es[idle].vruntime;
        assert_eq!(credit, if own { 1_500_000 } else { 12 * MS }, "{rules:?}");
    }
}

/// The virtual time of a light task passes fast: after a year of it, a sleeper's vruntime compares the wrong way round.
#[test]
fn cfs_long_sleep_does_not_invert_the_order_if_the_version_checks_it() {
    for rules in ALL {
        let (mut rq, mut es) = queue(rules);
        let sleeper = join(&mut rq, &mut es, MS, Policy::Normal);
        rq.schedule(&mut es, MS, Prev::Runs);
        rq.schedule(&mut es, 2 * MS, Prev::Sleeps);
        let light = join(&mut rq, &mut es, 2 * MS, Policy::Idle);
        rq.schedule(&mut es, 2 * MS, Prev::Runs);
        // 2^55 ns at 341 times the speed: between 2^63 and 2^64.
        let now = 2 * MS + (1 << 55);
        rq.update_curr(&mut es, now);
        assert!(es[light].vruntime > 1 << 63);
        rq.enqueue_task(&mut es, now, sleeper, EnqueueFlags::WAKEUP);
        let behind = rq.min_vruntime().wrapping_sub(es[sleeper].vruntime);
        assert_eq!(behind == 12 * MS, rules.long_sleeper, "{rules:?}: {behind}");
    }
}

/// A task yields and is picked again, because its vruntime is far before the others'. Up to 5.10 the pick clears the
/// skip buddy; since 5.14 it stays.
#[test]
fn cfs_skip_buddy_of_a_task_that_is_picked_again_stays_since_5_14() {
    for rules in ALL {
        let (mut rq, mut es) = queue(rules);
        let task = join(&mut rq, &mut es, MS, Policy::Normal);
        rq.schedule(&mut es, MS, Prev::Runs);
        // The second one is placed its slice of 12 ms later: too far for the skip buddy to be passed over.
        join(&mut rq, &mut es, 2 * MS, Policy::Normal);
        rq.yield_task(&mut es, 2 * MS);
        assert_eq!(rq.schedule(&mut es, 2 * MS, Prev::Runs).next, Some(task), "{rules:?}");
        assert_eq!(rq.skip().is_some(), rules != CfsRules::V5_10, "{rules:?}");
    }
}

#[test]
fn cfs_next_buddy_is_the_task_that_wakes_on_a_busy_queue() {
    for (tasks, flags, marked) in [(8, WakeFlags::TTWU, true), (7, WakeFlags::TTWU, false), (8, WakeFlags::FORK, false)]
    {
        let params = CfsParams { next_buddy: true, ..PARAMS };
        let (mut rq, mut es) = (CfsRq::new(params, CfsRules::V6_1, 0), Entities::new());
        let mut last = TaskId(0);
        for _ in 0..tasks {
            last = join(&mut rq, &mut es, MS, Policy::Normal);
            if rq.curr().is_none() {
                rq.schedule(&mut es, MS, Prev::Runs);
            }
        }
        // Even if a reschedule was requested already.
        let _ = rq.check_preempt_wakeup(&mut es, MS, last, flags, true);
        assert_eq!(rq.next(), marked.then_some(last), "{tasks} {flags:?}");
    }
}

#[test]
fn cfs_of_a_preset_has_the_form_of_its_version() {
    let form = |kernel: &str| {
        let preset = Preset::get(kernel).unwrap();
        match FairRules::of(preset, preset.features, 8).unwrap() {
            FairRules::Cfs(params, rules) => (rules, params),
            FairRules::Eevdf(..) => panic!("{kernel} is CFS"),
        }
    };
    assert_eq!(form("v6.1"), (CfsRules::V6_1, PARAMS));
    assert_eq!(form("v5.18").0, CfsRules::V5_18);
    assert_eq!(form("v5.19-rc1").0, CfsRules::V5_18);
    assert_eq!(form("v5.10").0, CfsRules::V5_10);
    assert_eq!(form("v5.2").0, CfsRules::V5_3);
}

#[test]
fn cfs_rules_of_a_preset_without_a_tunable_are_an_error() {
    let none = Preset { tunables: Tunables::NONE, ..Preset::get("v6.1").unwrap().clone() };
    let error = FairRules::of(&none, FeatureSet::of(&[]), 8).unwrap_err();
    assert_eq!(error, NoTunable { kernel: "v6.1", tunable: "min_granularity" });
    assert!(error.to_string().contains("v6.1") && error.to_string().contains("min_granularity"), "{error}");
}
