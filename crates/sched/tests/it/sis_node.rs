//! SIS_NODE and its forms, in cases worked out by hand from the posting.

use crate::support::searched::Searched;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Level, Topology, Uniform};
use wakelab_sched::select::{Reason, WakeFlags, Wakee, Waker, Wakeup};

/// One node of six LLCs of four CPUs: 0-3, 4-7, .., 20-23.
fn six_llcs() -> Topology {
    Uniform { llcs: 6, ..Uniform::new(4, 1) }.topology()
}

fn six(switches: &str) -> Searched {
    Searched::new("v6.1", switches, &six_llcs(), Arch::X86)
}

#[test]
fn the_other_llcs_are_searched_in_the_order_of_the_ring() {
    let mut without = six("");
    without.idle(&[1, 13, 17]);
    assert_eq!(without.wakes(8, 8), (Reason::None, 8));
    let mut with = six("SIS_NODE");
    with.idle(&[1, 13, 17]);
    // From the LLC of 8-11 on: 12-15 comes first.
    assert_eq!(with.wakes(8, 8), (Reason::Scan, 13));
    // Around: after 20-23 comes 0-3.
    with.idle(&[1, 6]);
    assert_eq!(with.wakes(8, 8), (Reason::Scan, 1));
    // An idle CPU of the own LLC is taken first.
    with.idle(&[10, 13]);
    assert_eq!(with.wakes(8, 8), (Reason::Scan, 10));
}

#[test]
fn the_first_cpu_of_another_llc_is_probed_last() {
    let mut world = six("SIS_NODE");
    world.idle(&[12, 15]);
    assert_eq!(world.wakes(8, 8), (Reason::Scan, 15));
    world.idle(&[12]);
    assert_eq!(world.wakes(8, 8), (Reason::Scan, 12));
}

#[test]
fn each_llc_has_its_own_limit() {
    let mut world = six("SIS_NODE");
    world.idle(&[12, 15, 18]);
    // One CPU is scanned: 13. Then the next LLC.
    world.nr_idle_scan[12] = 1;
    assert_eq!(world.wakes(8, 8), (Reason::Scan, 18));
    // None is scanned in the own LLC, which does not keep the others from being searched.
    world.nr_idle_scan[8] = 0;
    world.nr_idle_scan[12] = 0;
    assert_eq!(world.wakes(8, 8), (Reason::Scan, 18));
    world.idle(&[]);
    // Nothing is found: the reason is that of the own LLC.
    assert_eq!(world.wakes(8, 8), (Reason::Overloaded, 8));
    let all = CpuMask::full(24);
    let wakeup = Wakeup { waker: Waker::new(8), wakee: Wakee::new(8, &all), flags: WakeFlags::TTWU };
    let count = world.place(&wakeup).count;
    // 16 to 23 and 0 to 7.
    assert_eq!((count.search, count.domain_search, count.scanned, count.failed), (1, 1, 1 + 16, 1));
}

#[test]
fn the_hints_of_other_llcs_are_read_and_cleared() {
    // LLCs of three cores: CPUs 0-5, 6-11, 12-17; siblings side by side.
    let topology = Uniform { llcs: 3, ..Uniform::new(3, 2) }.topology();
    let mut world = Searched::new("v6.1", "SIS_NODE", &topology, Arch::X86);
    [0, 6, 12].into_iter().for_each(|cpu| world.has_idle_cores.set(cpu));
    // No LLC has an idle core. An idle CPU that is passed ends the search all the same.
    world.idle(&[9]);
    assert_eq!(world.wakes(0, 0), (Reason::CoreCpu, 9));
    assert_eq!(world.cleared, [0, 6]);
    world.idle(&[14, 15]);
    assert_eq!(world.wakes(0, 0), (Reason::Core, 14));
    assert_eq!(world.cleared, [0, 6]);
    world.idle(&[]);
    assert_eq!(world.wakes(0, 0), (Reason::None, 0));
    assert_eq!(world.cleared, [0, 6, 12]);
}

#[test]
fn the_affinity_counts_in_other_llcs_too() {
    let mut world = six("SIS_NODE");
    world.idle(&[13, 14]);
    let allowed = CpuMask::from_cpus(24, [8, 9, 14]);
    let wakeup = Wakeup { waker: Waker::new(8), wakee: Wakee::new(8, &allowed), flags: WakeFlags::TTWU };
    assert_eq!(world.place(&wakeup).cpu, 14);
}

#[test]
fn a_node_is_not_left() {
    // Two nodes of two LLCs of four CPUs.
    let topology = Uniform { packages: 2, nodes: 2, llcs: 2, ..Uniform::new(4, 1) }.topology();
    let mut world = Searched::new("v6.1", "SIS_NODE", &topology, Arch::X86);
    world.idle(&[9]);
    assert_eq!(world.wakes(0, 0), (Reason::None, 0));
    world.idle(&[5, 9]);
    assert_eq!(world.wakes(0, 0), (Reason::Scan, 5));
    // An LLC for each node: there is no other.
    let topology = Uniform { packages: 2, nodes: 2, ..Uniform::new(4, 1) }.topology();
    let mut world = Searched::new("v6.1", "SIS_NODE", &topology, Arch::X86);
    world.idle(&[5]);
    assert_eq!(world.wakes(0, 0), (Reason::None, 0));
}

#[test]
fn four_other_llcs_are_the_limit() {
    let (mut all, mut four) = (six("SIS_NODE"), six("SIS_NODE_LIMIT"));
    // The LLC of 4-7 is the fifth from that of 8-11.
    assert_eq!(all.idle(&[6]).wakes(8, 8), (Reason::Scan, 6));
    assert_eq!(four.idle(&[6]).wakes(8, 8), (Reason::None, 8));
    // The fourth.
    four.idle(&[2, 6]);
    assert_eq!(four.wakes(8, 8), (Reason::Scan, 2));
}

#[test]
fn a_pair_stays_in_its_llc() {
    let mut world = six("SIS_NODE_PAIR");
    world.idle(&[13]);
    let all = CpuMask::full(24);
    let mut place = |wakes_waker: bool, waker_flips: u32, wakee_flips: u32| {
        let waker = Waker { wakee_flips: waker_flips, ..Waker::new(8) };
        let wakee = Wakee { wakes_waker, wakee_flips, ..Wakee::new(8, &all) };
        world.place(&Wakeup { waker, wakee, flags: WakeFlags::TTWU }).cpu
    };
    assert_eq!(place(true, 0, 0), 8);
    assert_eq!([place(false, 0, 0), place(true, 1, 0), place(true, 0, 1)], [13; 3]);
    // An idle CPU of the own LLC is taken by a pair, too.
    world.idle(&[10, 13]);
    assert_eq!(world.wakes(8, 8).1, 10);
}

#[test]
fn with_topoext_two_neighbouring_llcs_are_a_domain() {
    let levels = |world: &Searched, cpu: Cpu| {
        let of = world.domains.domains[cpu as usize].iter();
        of.map(|sd| (sd.level, sd.span.iter().collect::<Vec<_>>())).collect::<Vec<_>>()
    };
    let mut world = six("SIS_NODE_TOPOEXT");
    assert_eq!(
        levels(&world, 9),
        [(Level::Mc, (8..12).collect()), (Level::Mmc, (8..16).collect()), (Level::Pkg, (0..24).collect::<Vec<Cpu>>()),]
    );
    assert_eq!(world.domains.sd_llc(9).unwrap().level, Level::Mc);
    // Only the neighbour is searched.
    world.idle(&[18]);
    assert_eq!(world.wakes(8, 8), (Reason::None, 8));
    world.idle(&[14, 18]);
    assert_eq!(world.wakes(8, 8), (Reason::Scan, 14));
    world.idle(&[10]);
    assert_eq!(world.wakes(12, 12), (Reason::Scan, 10));
    assert_eq!(six("SIS_NODE").domains.domains[9].len(), 2);
}
