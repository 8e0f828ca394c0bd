//! When CPUs balance, and what a pass over an LLC reports.

use crate::support::watched::{Run, netperf, watch};
use wakelab_events::sim::Event;
use wakelab_sim::observe::Doing;

#[test]
fn the_utilisation_of_an_llc_is_reported_with_sis_util_off_too() {
    let workload = netperf("test-8c", 8);
    for (switches, on) in [("NO_SIS_UTIL", false), ("SIS_UTIL", true)] {
        let run = Run { switches, ..Run::on_8_cpus(&workload) };
        let mut scans = 0;
        for (_, event) in watch(&run, 400_000_000, |_| {}) {
            if let Event::IdleScan { nr_idle_scan, .. } = event {
                assert_eq!(nr_idle_scan.is_some(), on);
                scans += 1;
            }
        }
        assert!(scans > 0, "{switches}");
    }
}

#[test]
fn going_idle_brings_the_next_balance_forward() {
    let workload = netperf("test-8c", 5);
    let mut seen = 0;
    watch(&Run::on_8_cpus(&workload), 300_000_000, |snapshot| {
        for c in snapshot.cpus().filter(|c| matches!(c.doing, Doing::Switch(_)) && c.curr.is_none()) {
            // Each domain's next balance by its idle interval, of which the latest is 16 ms: 8 CPUs, doubled.
            let last = c.last_balance.iter().max().expect("a domain");
            assert!(c.next_balance <= snapshot.jiffies().max(last + 16));
            seen += 1;
        }
    });
    assert!(seen > 0);
}

#[test]
fn the_last_balances_lie_as_far_back_as_busy_cpus_leave_them() {
    let workload = netperf("intel-1s56c112t", 1);
    let run = Run { machine: "intel-1s56c112t", ..Run::on_8_cpus(&workload) };
    watch(&run, 20, |snapshot| {
        let back = snapshot.cpus().map(|c| snapshot.jiffies() - c.last_balance[1]).max();
        // 28 jiffies idle, 16 times that busy.
        assert!(back.expect("a CPU") > 300, "{back:?}");
    });
}
