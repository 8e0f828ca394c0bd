//! A run queue's averages are the sums of its tasks' averages.
//!
//! A run queue's utilisation is not added up from its tasks: it is an average of its own, which tasks join and leave
//! with what they have (`attach_entity_load_avg()`, `remove_entity_load_avg()`). That the two agree shows that every
//! task was enqueued, dequeued, moved and aged where the fair class does it.

use proptest::prelude::*;
use std::collections::BTreeMap;
use wakelab_kernel::Preset;
use wakelab_sched::pelt::{
    __update_load_avg_blocked_se, __update_load_avg_se, EntityState, PeltRules, SchedAvg, SumRule,
    update_cfs_rq_load_avg,
};
use wakelab_sim::observe::{CpuSnapshot, Snapshot, TaskSnapshot, observe};
use wakelab_sim::{Mechanisms, Setup};
use wakelab_workload::{Load, build};

/// Joining and leaving rounds to whole units, and the kernel bounds sums from below (`PELT_MIN_DIVIDER`).
const ROUNDING: u64 = 40;

/// Each task of the CPU is rounded when it joins and when it leaves.
const ROUNDING_OF_A_TASK: u64 = 2;

/// An average is taken when a period of 1024 us ends, and each task and queue ends its periods at its own updates: what
/// a task on the queue can gain in one, `1024 * (1 - y)`; one that has just left it likewise.
const PERIOD: u64 = 22;

/// What a nice-0 task's load can gain or lose in a period, and rounding.
const LOAD_PERIOD: u64 = 24;

/// The averages of a task, aged to now as its run queue would.
fn aged(task: &TaskSnapshot, c: &CpuSnapshot) -> SchedAvg {
    let (mut avg, weight) = (task.avg, task.weight);
    if task.on_rq {
        let curr = c.queue.curr && c.curr == Some(task.id);
        let state = EntityState { weight, on_rq: true, sched_delayed: task.sched_delayed, curr };
        __update_load_avg_se(c.clock_task, &mut avg, &state);
    } else {
        __update_load_avg_blocked_se(c.clock_task, &mut avg, weight);
    }
    avg
}

/// Checks one CPU. `pinned`: every task may use one CPU only; `loses`: sums lose what a period has gained.
fn check(c: &CpuSnapshot, tasks: &[TaskSnapshot], pinned: bool, loses: bool) -> Result<(), TestCaseError> {
    let mut pelt = c.pelt;
    update_cfs_rq_load_avg(c.clock_task, &mut pelt, &c.queue);
    let here: Vec<&TaskSnapshot> = tasks.iter().filter(|task| task.cpu == c.cpu).collect();
    let limit = ROUNDING + ROUNDING_OF_A_TASK * here.len() as u64 + PERIOD * (1 + u64::from(c.nr_running));
    // A task that has left a run queue and not joined another belongs to none.
    let attached = here.iter().filter(|task| task.avg.last_update_time != 0 && task.alive);
    let averages: Vec<SchedAvg> = attached.map(|task| aged(task, c)).collect();
    let sum = |of: fn(&SchedAvg) -> u64| (of(&pelt.avg), averages.iter().map(of).sum::<u64>());
    for (name, (queue, tasks)) in [("util", sum(|avg| avg.util_avg)), ("runnable", sum(|avg| avg.runnable_avg))] {
        // A task that leaves takes its last average with it and not what it has gained since. A queue that tasks join
        // and leave every few microseconds keeps more than it should, in the kernel too.
        let holds = match pinned {
            true => queue.abs_diff(tasks) <= limit,
            false if loses => tasks <= queue + limit + tasks / 4,
            false => tasks <= queue + limit,
        };
        prop_assert!(holds, "CPU {}, {name}: run queue {queue}, its tasks {tasks}", c.cpu);
    }
    // The load of the queued tasks, which 5.3 keeps.
    let queued = c.cfs_tasks.iter().map(|id| &tasks[id.0 as usize]);
    let tasks: u64 = queued.map(|task| aged(task, c).load_avg).sum();
    let (queue, tasks) = (pelt.runnable_load.avg, if pelt.rules.runnable_load { tasks } else { 0 });
    let limit = LOAD_PERIOD * (1 + u64::from(c.nr_running));
    prop_assert!(queue.abs_diff(tasks) <= limit, "CPU {}: load {queue}, its tasks {tasks}", c.cpu);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_run_queue_has_what_its_tasks_have(
        machine in prop::sample::select(vec!["test-1c", "test-2c", "test-8c", "test-2llc", "test-2s"]),
        kernel in prop::sample::select(Preset::names()),
        instances in 1u32..20,
        pinned in any::<bool>(),
        // 5.10 and 5.15 set a sum from its average when a task leaves, and with it lose what has been gained in the
        // period that is not over: if tasks leave in every period, there is no bound. Their tasks are counted
        // with the sums of 5.18 too, which lose nothing, and then within the limits of all.
        exact_sums in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let machine = wakelab_machine::get(machine).expect("a machine");
        let nr_cpus = machine.topology.nr_cpus();
        let mut kernel = Preset::get(kernel).expect("a preset").clone();
        let resyncs = |kernel: &Preset| matches!(kernel.pelt.sums, SumRule::Resync | SumRule::ResyncLoad);
        if exact_sums && resyncs(&kernel) {
            kernel.pelt.sums = PeltRules::V5_18.sums;
        }
        let loses = resyncs(&kernel);
        let options = BTreeMap::from([("ramp".to_owned(), 5_000_000)]);
        let mut workload =
            build("netperf:TCP_RR", Load::Instances(instances), nr_cpus, &options).expect("a workload");
        for (cpu, task) in (0..nr_cpus).cycle().zip(&mut workload.tasks).filter(|_| pinned) {
            task.affinity = Some(vec![cpu]);
        }
        let setup = Setup {
            machine: &machine,
            kernel: &kernel,
            features: kernel.features,
            workload: &workload,
            seed,
            until: 0,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: None, scheduler: None,
        };
        let mut result = Ok(());
        let look = |snapshot: &Snapshot<'_>| {
            let tasks: Vec<TaskSnapshot> = snapshot.tasks().collect();
            snapshot.cpus().try_for_each(|c| check(&c, &tasks, pinned, loses))
        };
        observe(&setup, &mut (), (1..=20).map(|step| step * 7_300_000), |snapshot, ()| {
            if result.is_ok() {
                result = look(snapshot);
            }
        })
        .expect("a run");
        result?;
    }
}
