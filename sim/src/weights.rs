//! A run queue weighs what its tasks weigh, also when these change their nice values and policies.

use crate::engine::Sim;
use crate::model::{Model, domains};
use crate::task::State;
use crate::{Mechanisms, Setup};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Call, Op, Work, Workload};

/// A task that works, changes its weight, sleeps and yields, for ever.
fn changes(calls: &[Call], work: u64, sleep: u64) -> Vec<Op> {
    let work = Op::Run(Work { ns: work, jitter_pct: 20 });
    let mut ops: Vec<Op> = calls.iter().flat_map(|&call| [work, Op::Call(call)]).collect();
    ops.extend([work, Op::Sleep(Work { ns: sleep, jitter_pct: 20 }), Op::Repeat { to: 0, times: None }]);
    ops
}

fn setup<'a>(machine: &'a Machine, kernel: &str, workload: &'a Workload, seed: u64) -> Setup<'a> {
    let kernel = Preset::get(kernel).unwrap();
    Setup {
        machine,
        kernel,
        features: kernel.features,
        workload,
        seed,
        until: 0,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
    }
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![(-20i8..20).prop_map(Call::Nice), any::<bool>().prop_map(Call::IdlePolicy), Just(Call::Yield)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_run_queue_weighs_what_its_tasks_weigh(
        machine in prop::sample::select(vec!["test-1c", "test-2c", "test-8c", "test-2llc"]),
        kernel in prop::sample::select(vec!["v5.3", "v5.10", "v6.1", "v6.12", "v7.2", "v7.3"]),
        tasks in prop::collection::vec(
            (prop::collection::vec(call(), 0..6), 1_000u64..3_000_000, 0u64..2_000_000), 1..10),
        seed in any::<u64>(),
    ) {
        let machine = wakelab_machine::get(machine).unwrap();
        let workload = of_programs(tasks.iter().map(|(calls, work, sleep)| changes(calls, *work, *sleep)).collect(), &[]);
        let setup = setup(&machine, kernel, &workload, seed);
        let domains = domains(setup.machine, setup.kernel).unwrap();
        let model = Model::new(&setup, &domains).unwrap();
        let mut sink = ();
        let mut sim = Sim::new(&model, &setup, &mut sink);
        for step in 1..=30u64 {
            sim.advance(step * 1_370_000, &AtomicBool::new(false)).unwrap();
            for (cpu, c) in (0..).zip(&sim.sys.cpus) {
                let queued = |id: &TaskId| sim.sys.es[*id].on_rq && sim.sys.tasks[id.0 as usize].cpu == cpu;
                let all: Vec<TaskId> = (0..sim.sys.tasks.len() as u32).map(TaskId).filter(queued).collect();
                let all: Vec<TaskId> =
                    all.into_iter().filter(|id| sim.sys.tasks[id.0 as usize].state != State::Dead).collect();
                let weight: u64 = all.iter().map(|&id| u64::from(sim.sys.es[id].load.weight)).sum();
                prop_assert_eq!(c.weight, weight, "CPU {}", cpu);
                let idle = all.iter().filter(|&&id| sim.sys.es[id].is_idle()).count();
                prop_assert_eq!(c.nr_running as usize, all.len(), "CPU {}", cpu);
                prop_assert_eq!(c.rq.nr_idle() as usize, idle, "CPU {}", cpu);
                prop_assert_eq!(c.rq.validate(&sim.sys.es), Ok(()));
            }
        }
    }
}

#[test]
fn the_load_of_a_run_queue_changes_with_the_weight_at_once() {
    let work = |ms: u64| Op::Run(Work { ns: ms * 1_000_000, jitter_pct: 0 });
    let machine = wakelab_machine::get("test-1c").unwrap();
    for (calls, weight) in [
        (vec![Call::Nice(5)], 335),
        (vec![Call::Nice(-5)], 3121),
        (vec![Call::IdlePolicy(true)], 3),
        (vec![Call::IdlePolicy(true), Call::Nice(3), Call::IdlePolicy(false)], 526),
    ] {
        let mut ops = vec![work(400)];
        ops.extend(calls.iter().map(|&call| Op::Call(call)));
        ops.push(work(400));
        let workload = of_programs(vec![ops], &[]);
        let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
        let setup = Setup { mechanisms, ..setup(&machine, "v6.1", &workload, 1) };
        let domains = domains(setup.machine, setup.kernel).unwrap();
        let model = Model::new(&setup, &domains).unwrap();
        let mut sink = ();
        let mut sim = Sim::new(&model, &setup, &mut sink);
        // 400 ms of work end a little later, by what ticks take: at 405 ms a change that took effect by time alone would
        // have gone a tenth of its way.
        let mut load_at = |ms: u64| {
            sim.advance(ms * 1_000_000, &AtomicBool::new(false)).unwrap();
            sim.sys.cpus[0].pelt.avg.load_avg
        };
        assert!((1000..1025).contains(&load_at(399)));
        let load = load_at(405);
        assert!(load.abs_diff(weight) <= weight / 40 + 20, "{calls:?}: {load}, expected {weight}");
    }
}
