//! dbench on XFS, simulated, against a posting: the base side's MB/s, and what NEXT_BUDDY adds.

use std::sync::atomic::AtomicBool;
use wakelab_study::compare::compare;
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::runners::Simulator;

/// The posting of NEXT_BUDDY, v3 (`data/published/t08-next-buddy-v3-intel-2s80t`): MB/s of the base side, and the
/// change in %.
fn published(clients: &str) -> (f64, f64) {
    let table = include_str!("../../../../data/published/t08-next-buddy-v3-intel-2s80t/rows.csv");
    let row = table.lines().find(|line| line.starts_with(&format!("dbench4,throughput,{clients},"))).expect("a row");
    let column = |at| row.split(',').nth(at).expect("a column").parse().expect("a number");
    (column(3), column(7))
}

/// A load file moves so many MB with so many requests.
const MB_A_REQUEST: f64 = 19.12 / 3573.0;

/// Clients wait for semaphores that are handed over to kworkers, which wait behind the client on their CPU. The hold
/// times were fitted to the base side with 48 clients alone.
#[test]
fn next_buddy_lets_kworkers_run_that_clients_wait_for() {
    let (machine, kernel) = ("intel-2s40c80t", "v6.18");
    let base = "PREEMPT_VOLUNTARY,NO_NEXT_BUDDY,NO_NI_RANDOM,NI_COST_BUMP";
    let with = "PREEMPT_VOLUNTARY,NEXT_BUDDY,NEXT_BUDDY_POSTED,NO_NI_RANDOM,NI_COST_BUMP";
    let mut spec =
        Spec::of_two_sides(machine, kernel, "dbench:fileio", Some("1,4,12,30,48,79,160"), base, with).unwrap();
    spec.settle_ns = Given::by_flag("--settle", 200_000_000);
    spec.time_ns = Given::by_flag("--time", 500_000_000);
    spec.repeats = Given::by_flag("--repeat", 1);
    let experiment = spec.resolve_two_sides().expect("a sound experiment");
    for row in compare(&Simulator, &experiment, 0, &(), &AtomicBool::new(false)).expect("runs that end").rows {
        let clients = row.load.split(' ').next().unwrap();
        let (throughput, change) = published(clients);
        let (base, with) = (row.base.mean * MB_A_REQUEST, row.with.mean * MB_A_REQUEST);
        // A few clients are too slow: what a request takes was fitted to an older machine.
        let least = if throughput < 5000.0 { 0.55 } else { 0.75 };
        assert!(
            (least..1.33).contains(&(base / throughput)),
            "{clients} clients: {base:.0} MB/s, published {throughput}"
        );
        let simulated = 100.0 * (with / base - 1.0);
        // Published, nothing changes up to 12 clients (-3.0% to +1.4%), and +13% to +41% with more.
        match change < 5.0 {
            true => assert!(simulated.abs() < 5.0, "{clients} clients: {simulated:+.1}%, published {change:+.1}%"),
            false => assert!(simulated > 8.0, "{clients} clients: {simulated:+.1}%, published {change:+.1}%"),
        }
    }
}
