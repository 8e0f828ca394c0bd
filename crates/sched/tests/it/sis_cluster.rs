//! The postings of SIS_CLUSTER and NO_SIS_CLUSTER, in cases worked out by hand.

use crate::support::searched::Searched;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sched::select::{Cx, Decision, Reason, Select, WakeFlags, Wakee, Waker, Wakeup};

/// Three clusters of four CPUs below one cache, as on Kunpeng 920: 0-3, 4-7, 8-11.
fn world(kernel: &str, switches: &str) -> Searched {
    let topology = Uniform { cluster_cores: Some(4), ..Uniform::new(12, 1) }.topology();
    Searched::new(kernel, switches, &topology, Arch::Arm64)
}

const POSTED: [&str; 5] = ["SIS_CLUSTER_V5", "SIS_CLUSTER_V7", "SIS_CLUSTER_V8", "SIS_CLUSTER_V9", "SIS_CLUSTER_V10"];

/// A sync wake-up on 5, which is alone there: that is the target.
fn search(world: &mut Searched, prev: Cpu, recent: Option<Cpu>) -> Decision {
    let all = CpuMask::full(12);
    let wakee = Wakee { recent_used_cpu: recent, h_load: 0, ..Wakee::new(prev, &all) };
    let wakeup = Wakeup { waker: Waker::new(5), wakee, flags: WakeFlags::TTWU | WakeFlags::SYNC };
    let decision = world.place(&wakeup);
    assert_eq!(decision.target, 5);
    decision
}

fn found(world: &mut Searched, prev: Cpu, recent: Option<Cpu>) -> (Reason, Cpu) {
    let decision = search(world, prev, recent);
    (decision.reason, decision.cpu)
}

#[test]
fn the_cluster_is_scanned_first() {
    // From 6 on, 8 comes first; in the cluster 4.
    let mut without = world("v6.1", "");
    assert_eq!(found(without.idle(&[4, 8]), 5, None), (Reason::Scan, 8));
    for switches in POSTED {
        let mut with = world("v6.1", switches);
        assert_eq!(found(with.idle(&[4, 8]), 5, None), (Reason::Scan, 4), "{switches}");
        // 6, 7, 4, 5; then 8.
        let decision = search(with.idle(&[8]), 5, None);
        assert_eq!((decision.cpu, decision.count.scanned), (8, 1 + 5), "{switches}");
    }
    // The merged form, and its switch.
    assert_eq!(found(world("v6.12", "").idle(&[4, 8]), 5, None), (Reason::Scan, 4));
    assert_eq!(found(world("v6.12", "NO_SIS_CLUSTER").idle(&[4, 8]), 5, None), (Reason::Scan, 8));
}

#[test]
fn v5_scans_in_ascending_order() {
    for switches in POSTED {
        let expected = if switches == "SIS_CLUSTER_V5" { 4 } else { 7 };
        assert_eq!(found(world("v6.1", switches).idle(&[4, 7]), 5, None).1, expected, "{switches}");
    }
}

#[test]
fn v5_scans_no_cluster_with_smt() {
    let topology = Uniform { cluster_cores: Some(2), ..Uniform::new(6, 2) }.topology();
    for (switches, expected) in [("", 8), ("SIS_CLUSTER_V5", 8), ("SIS_CLUSTER_V7", 4)] {
        let mut world = Searched::new("v6.1", switches, &topology, Arch::Arm64);
        world.idle(&[4, 8]);
        let all = CpuMask::full(12);
        let wakeup = Wakeup { waker: Waker::new(6), wakee: Wakee::new(6, &all), flags: WakeFlags::TTWU };
        assert_eq!(world.place(&wakeup).cpu, expected, "{switches}");
    }
}

#[test]
fn the_limit_goes_on_after_the_cluster() {
    for switches in POSTED {
        let mut world = world("v6.1", switches);
        world.idle(&[10]);
        // Four CPUs of the cluster, then 8 and 9.
        world.nr_idle_scan[0] = 6;
        assert_eq!(found(&mut world, 5, None), (Reason::Limit, 5), "{switches}");
        world.nr_idle_scan[0] = 7;
        assert_eq!(found(&mut world, 5, None), (Reason::Scan, 10), "{switches}");
        // It ends the search in the cluster.
        world.idle(&[7]).nr_idle_scan[0] = 1;
        assert_eq!(found(&mut world, 5, None), (Reason::Limit, 5), "{switches}");
        world.nr_idle_scan[0] = 0;
        assert_eq!(found(&mut world, 5, None), (Reason::Overloaded, 5), "{switches}");
    }
}

#[test]
fn a_previous_cpu_outside_of_the_cluster_waits_or_is_forgotten() {
    let with = |switches: &str, idle: &[Cpu], limit: i32| {
        let mut world = world("v6.1", switches);
        world.idle(idle).nr_idle_scan[0] = limit;
        found(&mut world, 1, Some(9))
    };
    // Without: prev is idle and shares the LLC.
    assert_eq!(with("", &[1, 4], 12), (Reason::Prev, 1));
    for switches in POSTED {
        // The cluster comes before it.
        assert_eq!(with(switches, &[1, 4], 12), (Reason::Scan, 4), "{switches}");
        // The limit ends the scan in the cluster.
        let keeps = ["SIS_CLUSTER_V8", "SIS_CLUSTER_V9"].contains(&switches);
        let [prev, recent, both] = [&[1][..], &[9], &[1, 9]].map(|idle| with(switches, idle, 3));
        if keeps {
            assert_eq!([prev, recent, both], [(Reason::PrevFar, 1), (Reason::RecentFar, 9), (Reason::PrevFar, 1)]);
        } else {
            assert_eq!([prev, recent, both], [(Reason::Limit, 5); 3], "{switches}");
        }
        // In the cluster prev is taken at once.
        let mut near = world("v6.1", switches);
        assert_eq!(found(near.idle(&[7, 4]), 7, None), (Reason::Prev, 7), "{switches}");
    }
}

#[test]
fn v9_looks_again_whether_the_previous_cpu_is_idle() {
    for (switches, expected) in [("SIS_CLUSTER_V8", (Reason::PrevFar, 1)), ("SIS_CLUSTER_V9", (Reason::RecentFar, 9))] {
        let mut world = world("v6.1", switches);
        world.idle(&[1, 9]).nr_idle_scan[0] = 3;
        world.nr_running[1] = 0;
        let all = CpuMask::full(12);
        let wakee = Wakee { recent_used_cpu: Some(9), ..Wakee::new(1, &all) };
        let wakeup = Wakeup { waker: Waker::new(5), wakee, flags: WakeFlags::TTWU | WakeFlags::SYNC };
        let mut select = Select::default();
        let mut decision = select.start(&world.rules(), &wakeup, &mut ());
        // The previous CPU becomes busy while the cluster is scanned.
        for probes in 0.. {
            if let Some(decision) = decision {
                assert_eq!((decision.reason, decision.cpu), expected, "{switches}");
                break;
            }
            if probes == 5 {
                world.idle(&[9]);
            }
            decision = select.probe(Cx { rules: &world.rules(), wakeup: &wakeup, view: &world }, &mut ());
        }
    }
}

#[test]
fn without_clusters_nothing_changes() {
    for switches in POSTED {
        let mut world = Searched::new("v6.1", switches, &Uniform::new(12, 1).topology(), Arch::Arm64);
        assert_eq!(found(world.idle(&[1, 4]), 1, None), (Reason::Prev, 1), "{switches}");
    }
}
