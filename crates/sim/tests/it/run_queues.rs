//! A run queue holds what its tasks have: their weights, and what they leave behind when they exit.

use crate::support::ns;
use crate::support::watched::{self, Run, watch};
use proptest::prelude::*;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sim::observe::observe;
use wakelab_sim::{Mechanisms, Setup};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Call, Op, Work, Workload};

/// A task that works, changes its weight, sleeps and yields, for ever.
fn changes(calls: &[Call], work: u64, sleep: u64) -> Vec<Op> {
    let work = Op::Run(Work::uniform(work, 20));
    let mut ops: Vec<Op> = calls.iter().flat_map(|&call| [work, Op::Call(call)]).collect();
    ops.extend([work, Op::Sleep(Work::uniform(sleep, 20)), Op::Repeat { to: 0, times: None }]);
    ops
}

fn setup<'a>(machine: &'a Machine, kernel: &'a Preset, workload: &'a Workload, seed: u64) -> Setup<'a> {
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
        scheduler: None,
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
        kernel in prop::sample::select(Preset::all()),
        tasks in prop::collection::vec(
            (prop::collection::vec(call(), 0..6), 1_000u64..3_000_000, 0u64..2_000_000), 1..10),
        seed in any::<u64>(),
    ) {
        let machine = wakelab_machine::get(machine).expect("a machine");
        let programs = tasks.iter().map(|(calls, work, sleep)| changes(calls, *work, *sleep)).collect();
        let workload = of_programs(programs, &[]);
        let mut failed = Ok(());
        let check = |snapshot: &wakelab_sim::observe::Snapshot<'_>| {
            let tasks: Vec<_> = snapshot.tasks().filter(|task| task.alive && task.on_rq).collect();
            for c in snapshot.cpus() {
                let queued = || tasks.iter().filter(|task| task.cpu == c.cpu);
                prop_assert_eq!(c.weight, queued().map(|task| task.weight).sum::<u64>(), "CPU {}", c.cpu);
                prop_assert_eq!(c.nr_running as usize, queued().count(), "CPU {}", c.cpu);
                let idle = queued().filter(|task| task.idle_policy).count();
                prop_assert_eq!(c.nr_idle as usize, idle, "CPU {}", c.cpu);
                prop_assert_eq!(snapshot.validate_run_queue(c.cpu), Ok(()));
            }
            Ok(())
        };
        let times = (1..=30).map(|step| step * 1_370_000);
        observe(&setup(&machine, kernel, &workload, seed), &mut (), times, |snapshot, ()| {
            if failed.is_ok() {
                failed = check(snapshot);
            }
        })
        .expect("a run");
        failed?;
    }
}

#[test]
fn the_load_of_a_run_queue_changes_with_the_weight_at_once() {
    let work = |ms: u64| Op::Run(ns(ms * 1_000_000));
    let machine = wakelab_machine::get("test-1c").expect("a machine");
    let kernel = Preset::get("v6.1").expect("a preset");
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
        let setup = Setup { mechanisms, ..setup(&machine, kernel, &workload, 1) };
        // 400 ms of work end a little later, by what ticks take: at 405 ms a change that took effect by time alone
        // would have gone a tenth of its way.
        let mut loads = Vec::new();
        let times = [399, 405].map(|ms| ms * 1_000_000);
        observe(&setup, &mut (), times, |snapshot, ()| loads.push(snapshot.cpu(0).pelt.avg.load_avg)).expect("a run");
        assert!((1000..1025).contains(&loads[0]));
        let load = loads[1];
        assert!(load.abs_diff(weight) <= weight / 40 + 20, "{calls:?}: {load}, expected {weight}");
    }
}

#[test]
fn the_utilisation_of_exited_tasks_leaves_their_run_queue() {
    // A child runs 200 ms and exits: of its 1024 or so nothing is left 2 ms later.
    let parent = vec![Op::Fork { program: 1 }, Op::Wait, Op::Run(ns(2_000_000)), Op::Exit];
    let child = vec![Op::Run(ns(200_000_000)), Op::Exit];
    let workload = watched::workload(vec![parent, child], vec![(0, vec![], vec![0], false)]);
    let run = Run { machine: "test-1c", ..Run::on_8_cpus(&workload) };
    let mut last = None;
    watch(&run, 203_500_000, |snapshot| {
        if snapshot.now() > 202_000_000 {
            last = Some(snapshot.cpu(0).pelt.avg.util_avg);
        }
    });
    assert!(last.expect("a look") < 120, "{last:?}");
}
