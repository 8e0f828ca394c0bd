//! What a run queue sums up is what its tasks have.
//!
//! A run queue's utilisation is not added up from its tasks: it is an average of its own, which tasks join and leave
//! with what they have (`attach_entity_load_avg()`, `remove_entity_load_avg()`). That the two agree shows that every
//! task was put on, taken off, moved and aged where the fair class does it.

use crate::engine::Sim;
use crate::model::{Model, domains};
use crate::task::State;
use crate::{Mechanisms, Setup};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{
    __update_load_avg_blocked_se, __update_load_avg_se, EntityState, PeltRules, SchedAvg, SumRule,
    update_cfs_rq_load_avg,
};
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::{Load, build};

/// Joining and leaving rounds to whole units, and the kernel bounds sums from below (`PELT_MIN_DIVIDER`).
const ROUNDING: u64 = 40;

/// Each task of the CPU is rounded for itself when it joins and when it leaves.
const ROUNDING_OF_A_TASK: u64 = 2;

/// An average is taken when a period of 1024 us ends, and each task and queue ends its periods at its own updates: what
/// a task on the queue can gain in one, `1024 * (1 - y)`; one that has just left it likewise.
const PERIOD: u64 = 22;

/// The averages of a task, aged to now as its run queue would.
fn aged(sim: &Sim<'_, '_, ()>, id: TaskId, now: u64) -> SchedAvg {
    let (task, entity) = (&sim.sys.tasks[id.0 as usize], &sim.sys.es[id]);
    let mut avg = task.avg;
    let weight = u64::from(entity.load.weight);
    if entity.on_rq {
        let curr = sim.sys.cpus[task.cpu as usize].rq.curr() == Some(id);
        __update_load_avg_se(
            now,
            &mut avg,
            &EntityState { weight, on_rq: true, sched_delayed: entity.sched_delayed, curr },
        );
    } else {
        __update_load_avg_blocked_se(now, &mut avg, weight);
    }
    avg
}

/// Utilisation and runnable average of the CPU, by its run queue and by its tasks.
fn sums(sim: &Sim<'_, '_, ()>, cpu: Cpu) -> [(u64, u64); 2] {
    let now = sim.sys.clock_task(cpu);
    let queue = sim.sys.queue(cpu);
    let mut pelt = sim.sys.cpus[cpu as usize].pelt;
    update_cfs_rq_load_avg(now, &mut pelt, &queue);
    let mut tasks = [0; 2];
    for (id, task) in (0..).zip(&sim.sys.tasks) {
        // A task that has left a run queue and not come to another belongs to none.
        let attached = task.avg.last_update_time != 0 && !matches!(task.state, State::New | State::Dead);
        if attached && task.cpu == cpu {
            let avg = aged(sim, TaskId(id), now);
            tasks[0] += avg.util_avg;
            tasks[1] += avg.runnable_avg;
        }
    }
    [(pelt.avg.util_avg, tasks[0]), (pelt.avg.runnable_avg, tasks[1])]
}

/// What a nice-0 task's load can gain or lose in a period, and rounding.
const LOAD_PERIOD: u64 = 24;

/// The load of the queued tasks, by the run queue (5.3) and by the tasks; both 0 where the version does not keep it.
fn runnable_load(sim: &Sim<'_, '_, ()>, cpu: Cpu) -> (u64, u64) {
    let now = sim.sys.clock_task(cpu);
    let mut pelt = sim.sys.cpus[cpu as usize].pelt;
    update_cfs_rq_load_avg(now, &mut pelt, &sim.sys.queue(cpu));
    let tasks: u64 = sim.sys.cpus[cpu as usize].cfs_tasks.iter().map(|id| aged(sim, id, now).load_avg).sum();
    (pelt.runnable_load.avg, if pelt.rules.runnable_load { tasks } else { 0 })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_run_queue_has_what_its_tasks_have(
        machine in prop::sample::select(vec!["test-1c", "test-2c", "test-8c", "test-2llc", "test-2s"]),
        kernel in prop::sample::select(vec!["v5.3", "v5.10", "v5.18", "v5.19-rc1", "v5.19-rc2-tip", "v6.1", "v6.12", "v7.2", "v7.3"]),
        instances in 1u32..20,
        pinned in any::<bool>(),
        // 5.10 sets a sum from its average when a task leaves, and with it loses what has been gained in the period
        // that is not over: where tasks leave in every period, there is no telling how much. Its tasks are counted with
        // the sums of 5.18 too, which lose nothing, and then within the limits of all.
        kept in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let machine = wakelab_machine::get(machine).unwrap();
        let kernel = Preset::get(kernel).unwrap();
        let options = BTreeMap::from([("ramp".to_owned(), 5_000_000)]);
        let mut workload = build("netperf:TCP_RR", Load::Instances(instances), machine.topology.nr_cpus(), &options).unwrap();
        let nr_cpus = machine.topology.nr_cpus();
        for (cpu, task) in (0..nr_cpus).cycle().zip(&mut workload.tasks).filter(|_| pinned) {
            task.affinity = Some(vec![cpu]);
        }
        let setup = Setup {
            machine: &machine,
            kernel,
            features: kernel.features,
            workload: &workload,
            seed,
            until: 0,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: None,
        };
        let domains = domains(setup.machine, setup.kernel).unwrap();
        let mut model = Model::new(&setup, &domains).unwrap();
        if kept && model.pelt.sums == SumRule::Resync {
            model.pelt.sums = PeltRules::V5_18.sums;
        }
        let loses = model.pelt.sums == SumRule::Resync;
        let mut sink = ();
        let mut sim = Sim::new(&model, &setup, &mut sink);
        for step in 1..=20u64 {
            sim.advance(step * 7_300_000, &AtomicBool::new(false)).unwrap();
            for cpu in 0..model.nr_cpus() {
                let here = sim.sys.tasks.iter().filter(|task| task.cpu == cpu).count() as u64;
                let nr_running = u64::from(sim.sys.cpus[cpu as usize].nr_running);
                let limit = ROUNDING + ROUNDING_OF_A_TASK * here + PERIOD * (1 + nr_running);
                let [util, runnable] = sums(&sim, cpu);
                for (name, (queue, tasks)) in [("util", util), ("runnable", runnable)] {
                    // A task that leaves takes its last average with it and not what it has gained since. A queue that
                    // tasks come to and leave every few microseconds keeps more than it should, in the kernel too.
                    let holds = match pinned {
                        true => queue.abs_diff(tasks) <= limit,
                        false if loses => tasks <= queue + limit + tasks / 4,
                        false => tasks <= queue + limit,
                    };
                    prop_assert!(holds, "CPU {cpu}, step {step}, {name}: run queue {queue}, its tasks {tasks}");
                }
                let (queue, tasks) = runnable_load(&sim, cpu);
                let limit = LOAD_PERIOD * (1 + u64::from(sim.sys.cpus[cpu as usize].nr_running));
                prop_assert!(queue.abs_diff(tasks) <= limit, "CPU {cpu}, step {step}: load {queue}, its tasks {tasks}");
            }
        }
    }
}
