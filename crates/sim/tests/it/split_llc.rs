//! A package whose one LLC the kernel sees as several: costs are those of the hardware.

use std::collections::BTreeMap;
use wakelab_events::Digest;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Load, build};

/// The digest of all events of a run on `packages` of two LLCs, where lines of another LLC cost so much.
fn digest(packages: u32, split: bool, far_ns: u64) -> u64 {
    let cost = |name: &str| format!("[costs.{name}]\nns = {far_ns}\nrange = [0, 100000]\nassumed = \"for the test\"\n");
    let far: String = ["cold_task_far", "cold_message_far", "enqueue_far"].map(cost).concat();
    let text = format!(
        "name = \"m\"\ndescription = \"d\"\ncosts_of = \"intel-1s56c112t\"\n[topology]\npackages = {packages}\nllcs = \
         2\n cores = 2\nsplit_llc = {split}\n{far}"
    );
    let machine = Machine::from_toml(&text, "m.toml").expect("a machine");
    let kernel = Preset::get("v6.1").expect("a preset");
    let load = Load::parse_list("150%").expect("a load")[0];
    let workload = build("netperf:TCP_RR", load, machine.topology.nr_cpus(), &BTreeMap::new()).expect("a workload");
    let (features, mechanisms) = (kernel.features, Mechanisms::default());
    let setup = Setup {
        machine: &machine,
        kernel,
        features,
        workload: &workload,
        seed: 1,
        until: 20_000_000,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut digest = Digest::default();
    run_dyn(&setup, &mut digest, &Default::default()).expect("a run");
    digest.finish().0
}

#[test]
fn what_crosses_between_parts_of_an_llc_costs_what_it_does_within_one() {
    // No line comes from another LLC in one package, so that nothing reads what it would cost.
    assert_eq!(digest(1, true, 3000), digest(1, true, 30_000));
    assert_ne!(digest(1, false, 3000), digest(1, false, 30_000));
    assert_ne!(digest(1, false, 3000), digest(1, true, 3000));
    // Between packages it does.
    assert_ne!(digest(2, true, 3000), digest(2, true, 30_000));
}
