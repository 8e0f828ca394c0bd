//! Schedulers that let a CPU or the time stand still end with a message, and honest ones that do the same for a while
//! go on.

use crate::support::{Done, MS, simulate_on, spinners};
use std::sync::atomic::AtomicBool;
use wakelab_kernel::Preset;
use wakelab_machine::{Costs, Machine, ScxCosts};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::{Mechanisms, Outcome, Setup, SimError, run_dyn};
use wakelab_workload::Workload;

const OBJECT: &[u8] = include_bytes!("../data/hangs.bpf.o");

/// The kernels whose forms of a kick and of a pick differ.
const KERNELS: [&str; 3] = ["v6.12", "v6.18", "v7.2"];

fn scheduler(mode: i128) -> BpfScheduler {
    let mut scheduler = BpfScheduler::new("hangs", OBJECT, "hangs").unwrap();
    scheduler.set("mode", mode);
    scheduler
}

fn error(result: Result<Outcome, SimError>) -> String {
    result.map_or_else(|error| error.to_string(), |outcome| format!("it goes on until {}", outcome.ended))
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    outcome.scheduler.iter().find(|(of, _)| of == name).map_or(0, |(_, count)| *count)
}

/// A machine on which nothing takes time.
fn timeless() -> Machine {
    let mut machine = wakelab_machine::get("test-2c").unwrap();
    for name in Costs::NAMES {
        machine.costs.get_mut(name).unwrap().value = 0;
    }
    for name in ScxCosts::NAMES {
        machine.scx_costs.get_mut(name).unwrap().value = 0;
    }
    machine
}

fn simulate_timeless(mode: i128, load: &Workload) -> Result<Outcome, SimError> {
    let (scheduler, kernel) = (scheduler(mode), Preset::get("v7.2").unwrap());
    let setup = Setup {
        machine: &timeless(),
        kernel,
        features: kernel.features,
        workload: load,
        seed: 1,
        until: 100 * MS,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: Some(&scheduler),
    };
    run_dyn(&setup, &mut Done::default(), &AtomicBool::new(false))
}

#[test]
fn a_cpu_that_kicks_itself_in_each_dispatch_hangs() {
    for (kernel, mode) in KERNELS.into_iter().flat_map(|kernel| [(kernel, 1), (kernel, 2)]) {
        for machine in ["test-1c", "test-8c"] {
            if machine == "test-1c" && mode == 2 {
                // It has no neighbour, and no CPU of that number may be kicked.
                continue;
            }
            let error = error(simulate_on(kernel, &scheduler(mode), machine, &spinners(&[0; 9]), 3_000 * MS).0);
            assert!(error.starts_with("scheduler hangs has ended: fault of its program at "), "{kernel}: {error}");
            assert!(error.contains("has gone through __schedule() 100001 times since "), "{kernel}: {error}");
            assert!(error.contains("ops.dispatch() on CPU "), "{kernel}: {error}");
            assert!(error.contains(" kicks it (scx_bpf_kick_cpu) each time"), "{kernel}: {error}");
        }
    }
}

#[test]
fn a_cpu_that_kicks_itself_once_goes_on_and_its_tasks_run() {
    for kernel in KERNELS {
        let (outcome, done) = simulate_on(kernel, &scheduler(3), "test-2c", &spinners(&[0; 4]), 1_000 * MS);
        let outcome = outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        assert!(counter(&outcome, "nr_dispatched") > 20, "{kernel}: {outcome:?}");
        // Two running and two waiting tasks can come to turns in which it is always the same one that is preempted.
        assert!(done.0.len() >= 3 && done.0.values().sum::<u32>() > 1_900, "{kernel}: {done:?}");
    }
}

#[test]
fn a_timer_that_starts_itself_anew_at_once_is_a_lockup_of_its_cpu() {
    let error = error(simulate_on("v7.2", &scheduler(4), "test-2c", &spinners(&[0; 4]), 3_000 * MS).0);
    assert!(error.contains("only runs the functions of its timers: 100001 have expired since "), "{error}");
    assert!(error.contains("fault of its program at 0.") && error.contains("bpf_timer_start()"), "{error}");
}

/// `ktime_add_safe()`: a time that does not fit is never, not one in the past.
#[test]
fn a_timer_of_the_longest_time_never_expires() {
    let outcome = simulate_on("v7.2", &scheduler(5), "test-2c", &spinners(&[0; 4]), 100 * MS).0.unwrap();
    assert_eq!(counter(&outcome, "nr_fired"), 0, "{outcome:?}");
}

#[test]
fn a_timer_that_is_started_again_and_again_expires_once_and_takes_no_memory() {
    let outcome = simulate_on("v7.2", &scheduler(6), "test-2c", &spinners(&[0; 4]), 100 * MS).0.unwrap();
    assert!((1..50).contains(&counter(&outcome, "nr_fired")), "{outcome:?}");
    // What was started anew is no event.
    assert!(outcome.events < 20_000, "{outcome:?}");
}

#[test]
fn where_nothing_takes_time_the_moment_has_an_end() {
    for (mode, said) in [(1, "__schedule() 100001 times"), (2, "__schedule() 100001 times"), (4, "100001 have expired")]
    {
        let error = error(simulate_timeless(mode, &spinners(&[0; 4])));
        assert!(error.starts_with("scheduler hangs has ended: fault of its program at "), "{mode}: {error}");
        assert!(error.contains(said), "{mode}: {error}");
    }
    let outcome = simulate_timeless(0, &spinners(&[0; 4])).unwrap();
    assert_eq!(outcome.ended, 100 * MS, "one that behaves goes on");
}
