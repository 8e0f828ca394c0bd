//! SIS_SINGLE_PASS on 5.10, in cases worked out by hand from the posting. The LLCs have four cores of two CPUs, side by
//! side.

use crate::support::searched::Searched;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sched::select::{Decision, Reason, WakeFlags, Wakee, Waker, Wakeup};

fn world(switches: &str) -> Searched {
    Searched::new("v5.10", switches, &Uniform::new(4, 2).topology(), Arch::X86)
}

/// Both ways, around CPU 2.
fn both(idle: &[Cpu], hint: bool) -> [Decision; 2] {
    ["", "SIS_SINGLE_PASS"].map(|switches| {
        let mut world = world(switches);
        world.idle(idle).has_idle_cores.assign(0, hint);
        let all = CpuMask::full(8);
        world.place(&Wakeup { waker: Waker::new(2), wakee: Wakee::new(2, &all), flags: WakeFlags::TTWU })
    })
}

fn ends(decisions: [Decision; 2]) -> [(Reason, Cpu); 2] {
    decisions.map(|decision| (decision.reason, decision.cpu))
}

#[test]
fn the_scan_for_a_core_takes_an_idle_cpu_on_its_way() {
    // The base scans again for a CPU, from the target on.
    assert_eq!(ends(both(&[5], true)), [(Reason::Scan, 5), (Reason::CoreCpu, 5)]);
    let [three, one] = both(&[5], true);
    // A busy CPU ends its core, 2 4 6 0, then 2 3 4 5. Against 2 3, 4 5, and with 5 kept 6 0.
    assert_eq!([three, one].map(|decision| decision.count.scanned), [1 + 4 + 4, 1 + 6]);
    // A core is found by both.
    assert_eq!(ends(both(&[6, 7], true)), [(Reason::Core, 6); 2]);
}

#[test]
fn the_siblings_of_the_target_are_not_looked_at() {
    // The scan from 3 on comes to 3, 4 and 5, if SIS_PROP allows no more.
    let mut ends = Vec::new();
    for switches in ["", "SIS_SINGLE_PASS"] {
        let mut world = world(switches);
        world.idle(&[2]);
        let all = CpuMask::full(8);
        let wakeup = Wakeup { waker: Waker::new(3), wakee: Wakee::new(3, &all), flags: WakeFlags::TTWU };
        world.avg_idle = 0;
        let decision = world.place(&wakeup);
        ends.push((decision.reason, decision.cpu));
    }
    assert_eq!(ends, [(Reason::Smt, 2), (Reason::Limit, 3)]);
}

#[test]
fn a_scan_for_a_core_costs_nothing() {
    let costs = |hint: bool| both(&[], hint).map(|decision| decision.effects.scan_cost.is_some());
    assert_eq!(costs(false), [true, true]);
    assert_eq!(costs(true), [true, false]);
}

#[test]
fn the_hint_that_is_cleared_is_the_waking_cpus() {
    // Two LLCs: 0-7 and 8-15. The waker is in the second, the target in the first.
    for (switches, cleared) in [("", 2), ("SIS_SINGLE_PASS", 10)] {
        let topology = Uniform { llcs: 2, ..Uniform::new(4, 2) }.topology();
        let mut world = Searched::new("v5.10", switches, &topology, Arch::X86);
        world.has_idle_cores.set(0);
        // wake_affine() leaves the wakee in its LLC.
        world.nr_running[10] = 3;
        let all = CpuMask::full(16);
        let waker = Waker { wakee_flips: 0, ..Waker::new(10) };
        let decision = world.place(&Wakeup { waker, wakee: Wakee::new(2, &all), flags: WakeFlags::TTWU });
        assert_eq!((decision.target, decision.effects.clear_idle_cores), (2, Some(cleared)), "{switches}");
    }
}

#[test]
fn later_versions_search_in_one_scan_already() {
    for switches in ["", "SIS_SINGLE_PASS"] {
        let mut world = Searched::new("v6.1", switches, &Uniform::new(4, 2).topology(), Arch::X86);
        // The sibling of prev is looked at.
        assert_eq!(world.idle(&[3, 5]).wakes(2, 2), (Reason::Smt, 3));
    }
}
