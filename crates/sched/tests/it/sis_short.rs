//! SIS_SHORT_V6 and SIS_CURRENT, in cases worked out by hand from the postings.

use crate::support::searched::Searched;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sched::select::{Affine, Decision, Reason, WakeFlags, Wakee, Waker, Wakeup};

/// Eight cores below one cache: the minimum granularity is 3 ms.
fn eight(switches: &str) -> Searched {
    Searched::new("v6.1", switches, &Uniform::new(8, 1).topology(), Arch::X86)
}

/// An eighth of 3 ms and of 500 us, ns: not short.
const GRANULARITY: u64 = 375_000;
const MIGRATION_COST: u64 = 62_500;

/// A wake-up on `cpu` of a task that slept on `prev`: run times of waker and wakee, ns, and their flips.
#[derive(Clone, Copy)]
struct Pair {
    cpu: Cpu,
    prev: Cpu,
    dur_avg: [u64; 2],
    flips: [u32; 2],
    wakes_waker: bool,
}

const SHORT: Pair = Pair { cpu: 0, prev: 4, dur_avg: [1000; 2], flips: [0; 2], wakes_waker: true };

fn place(world: &mut Searched, pair: Pair) -> Decision {
    let all = CpuMask::full(world.domains.nr_cpus);
    world.dur_avg[pair.cpu as usize] = pair.dur_avg[0];
    let waker = Waker { wakee_flips: pair.flips[0], h_load: 1024, ..Waker::new(pair.cpu) };
    let wakee = Wakee {
        dur_avg: pair.dur_avg[1],
        wakee_flips: pair.flips[1],
        wakes_waker: pair.wakes_waker,
        h_load: 1024,
        ..Wakee::new(pair.prev, &all)
    };
    world.place(&Wakeup { waker, wakee, flags: WakeFlags::TTWU })
}

#[test]
fn v6_pulls_to_a_short_waker_that_is_alone() {
    let affine = |switches: &str, prepare: fn(&mut Searched), pair: Pair| {
        let mut world = eight(switches);
        prepare(&mut world);
        let decision = place(&mut world, pair);
        (decision.affine.rule, decision.target)
    };
    let nothing = |_: &mut Searched| {};
    // The loads leave it at the previous CPU, which is as loaded.
    assert_eq!(affine("", nothing, SHORT), (Affine::Prev, 4));
    assert_eq!(affine("SIS_SHORT_V6", nothing, SHORT), (Affine::Short, 0));
    // The wakee is not asked.
    assert_eq!(affine("SIS_SHORT_V6", nothing, Pair { dur_avg: [1000, 0], ..SHORT }), (Affine::Short, 0));
    // Strictly less than the granularity; v3 takes as much, too.
    assert_eq!(affine("SIS_SHORT_V6", nothing, Pair { dur_avg: [GRANULARITY, 1000], ..SHORT }).1, 4);
    assert_eq!(affine("SIS_SHORT", nothing, Pair { dur_avg: [GRANULARITY, 1000], ..SHORT }).1, 0);
    assert_eq!(affine("SIS_SHORT_V6", nothing, Pair { dur_avg: [GRANULARITY - 1, 1000], ..SHORT }).1, 0);
    // A task whose time is not known, or that wakes several.
    assert_eq!(affine("SIS_SHORT_V6", nothing, Pair { dur_avg: [0, 1000], ..SHORT }).1, 4);
    assert_eq!(affine("SIS_SHORT_V6", nothing, Pair { flips: [1, 0], ..SHORT }).1, 4);
    assert_eq!(affine("SIS_SHORT", nothing, Pair { flips: [1, 0], ..SHORT }).1, 0);
    // Somebody else waits on the waker's CPU; the previous CPU is idle, which comes before.
    assert_eq!(affine("SIS_SHORT_V6", |world| world.nr_running[0] = 2, SHORT).1, 4);
    let idle = |world: &mut Searched| {
        world.idle(&[4]);
    };
    assert_eq!(affine("SIS_SHORT_V6", idle, SHORT), (Affine::PrevIdle, 4));
}

#[test]
fn v6_stays_in_a_loaded_llc() {
    let mut world = eight("SIS_SHORT_V6");
    world.idle(&[6]);
    let stays = |world: &mut Searched, pair: Pair| {
        let decision = place(world, pair);
        assert_eq!(decision.target, pair.cpu);
        (decision.reason, decision.cpu)
    };
    let own = Pair { prev: 0, ..SHORT };
    // 5 × nr < 3 × 8: nr, one more than the number, is at most 4.
    world.nr_idle_scan[0] = 4;
    assert_eq!(stays(&mut world, own), (Reason::Limit, 0));
    world.idle(&[3]);
    assert_eq!(stays(&mut world, own), (Reason::Scan, 3));
    world.nr_idle_scan[0] = 3;
    assert_eq!(stays(&mut world, own), (Reason::Short, 0));
    // Both have to be short, and to wake one task only.
    for pair in [
        Pair { dur_avg: [1000, GRANULARITY], ..own },
        Pair { dur_avg: [GRANULARITY, 1000], ..own },
        Pair { dur_avg: [1000, 0], ..own },
        Pair { flips: [1, 0], ..own },
        Pair { flips: [0, 1], ..own },
    ] {
        assert_eq!(stays(&mut world, pair), (Reason::Scan, 3));
    }
    // The target has no other task.
    world.nr_running[0] = 2;
    assert_eq!(stays(&mut world, own), (Reason::Scan, 3));
    world.nr_running[0] = 1;
    // SIS_UTIL at 0 comes before.
    world.nr_idle_scan[0] = 0;
    assert_eq!(stays(&mut world, own), (Reason::Overloaded, 0));
    // The rule belongs to SIS_UTIL's block.
    let mut without = eight("SIS_SHORT_V6,NO_SIS_UTIL");
    without.idle(&[3]).nr_idle_scan[0] = 3;
    assert_eq!(stays(&mut without, own), (Reason::Scan, 3));
}

#[test]
fn v6_stays_only_where_the_target_is_the_waking_cpu() {
    // The waker's time is not short, so that wake_affine() leaves the target at 4, where a short task runs.
    let mut world = eight("SIS_SHORT_V6");
    world.idle(&[3]);
    (world.nr_idle_scan[0], world.dur_avg[4]) = (8, 1000);
    let pair = Pair { dur_avg: [GRANULARITY, 1000], ..SHORT };
    let decision = place(&mut world, pair);
    assert_eq!((decision.target, decision.reason, decision.cpu), (4, Reason::Scan, 3));
}

#[test]
fn an_idle_core_keeps_v6_from_staying() {
    let mut world = Searched::new("v6.1", "SIS_SHORT_V6", &Uniform::new(8, 2).topology(), Arch::X86);
    world.idle(&[6, 7]).nr_idle_scan[0] = 3;
    let own = Pair { prev: 0, ..SHORT };
    assert_eq!(place(&mut world, own).reason, Reason::Short);
    world.has_idle_cores.set(0);
    assert_eq!(place(&mut world, own).reason, Reason::Core);
}

#[test]
fn current_stacks_a_short_pair_though_all_is_idle() {
    let place = |switches: &str, prepare: fn(&mut Searched), pair: Pair| {
        let mut world = eight(switches);
        world.idle(&[1, 2, 3, 4, 5, 6, 7]);
        prepare(&mut world);
        let decision = place(&mut world, pair);
        (decision.reason, decision.cpu)
    };
    let nothing = |_: &mut Searched| {};
    assert_eq!(place("", nothing, SHORT), (Reason::Target, 4));
    assert_eq!(place("SIS_CURRENT", nothing, SHORT), (Reason::CurrentCpu, 0));
    let prev = (Reason::Target, 4);
    assert_eq!(place("SIS_CURRENT", |world| world.nr_running[0] = 2, SHORT), prev);
    for pair in [
        Pair { dur_avg: [MIGRATION_COST, 1000], ..SHORT },
        Pair { dur_avg: [1000, MIGRATION_COST], ..SHORT },
        Pair { dur_avg: [0, 1000], ..SHORT },
        Pair { dur_avg: [1000, 0], ..SHORT },
        Pair { flips: [1, 0], ..SHORT },
        Pair { flips: [0, 1], ..SHORT },
        Pair { wakes_waker: false, ..SHORT },
    ] {
        assert_eq!(place("SIS_CURRENT", nothing, pair), prev);
    }
    let just = Pair { dur_avg: [MIGRATION_COST - 1; 2], ..SHORT };
    assert_eq!(place("SIS_CURRENT", nothing, just), (Reason::CurrentCpu, 0));
}

#[test]
fn current_asks_the_affinity_and_wake_ups_only() {
    let mut world = eight("SIS_CURRENT");
    world.dur_avg[0] = 1000;
    let allowed = CpuMask::from_cpus(8, 1..8);
    let wakee = Wakee { dur_avg: 1000, wakes_waker: true, ..Wakee::new(4, &allowed) };
    let wakeup = Wakeup { waker: Waker::new(0), wakee, flags: WakeFlags::TTWU };
    assert_ne!(world.place(&wakeup).cpu, 0);
    let all = CpuMask::full(8);
    let wakee = Wakee { cpus_ptr: &all, ..wakee };
    assert_eq!(world.place(&Wakeup { wakee, ..wakeup }).reason, Reason::CurrentCpu);
    assert_eq!(world.place(&Wakeup { wakee, flags: WakeFlags::FORK, ..wakeup }).reason, Reason::Slow);
}
