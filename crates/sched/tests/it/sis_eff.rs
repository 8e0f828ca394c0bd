//! SIS_EFF_*, in cases worked out by hand from the posting. The LLC has four cores of two CPUs, side by side.

use crate::support::searched::Searched;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sched::select::policy::{Hook, SisEffBusy};
use wakelab_sched::select::{Decision, Reason, WakeFlags, Wakee, Waker, Wakeup, update_idle_core};

const LIMIT: &str = "SIS_UTIL,NO_SIS_PROP,SIS_EFF_CORE_LIMIT";
const BUSY: &str = "SIS_UTIL,NO_SIS_PROP,SIS_EFF_CORE_LIMIT,SIS_EFF_PENDING,SIS_EFF_BUSY";
const FILTER: &str = "SIS_UTIL,NO_SIS_PROP,SIS_EFF_CORE_LIMIT,SIS_EFF_PENDING,SIS_EFF_BUSY,SIS_EFF_FILTER";

fn world(switches: &str) -> Searched {
    Searched::new("v5.19-rc2-tip", switches, &Uniform::new(4, 2).topology(), Arch::X86)
}

/// A search around CPU 0, on which waker and wakee ran, and what is kept of it.
fn search(world: &mut Searched) -> Decision {
    let all = CpuMask::full(8);
    let wakeup = Wakeup { waker: Waker::new(0), wakee: Wakee::new(0, &all), flags: WakeFlags::TTWU };
    let decision = world.place(&wakeup);
    if !world.cleared.is_empty() {
        world.has_idle_cores.clear(0);
    }
    world.decided(&decision);
    decision
}

/// `set_next_task_idle()` of a CPU.
fn goes_idle(world: &mut Searched, cpu: Cpu) {
    let idle: Vec<Cpu> = world.idle.iter().chain([cpu]).collect();
    if update_idle_core(&world.domains, world.features, cpu, world, |_| {}) {
        world.has_idle_cores.set(0);
    }
    world.idle(&idle);
    world.hook(Hook::Idle, cpu);
}

fn ends(decision: Decision) -> (Reason, Cpu, u32) {
    (decision.reason, decision.cpu, decision.count.scanned - 1)
}

fn is_busy(world: &Searched) -> bool {
    world.policies.llc::<SisEffBusy>(0).is_busy
}

#[test]
fn an_idle_core_is_searched_for_though_the_llc_is_loaded() {
    for (switches, expected) in [
        ("SIS_UTIL,NO_SIS_PROP", (Reason::Overloaded, 0, 0)),
        // From CPU 1 on: its core, then cores 2, 4 and 6, two probes each.
        ("SIS_UTIL,NO_SIS_PROP,SIS_EFF_IDLE_CORE", (Reason::Core, 6, 8)),
        // At 0 two CPUs are come to: 1 and 2.
        (LIMIT, (Reason::Limit, 0, 4)),
    ] {
        let mut world = world(switches);
        world.idle(&[6, 7]).nr_idle_scan[0] = 0;
        world.has_idle_cores.set(0);
        assert_eq!(ends(search(&mut world)), expected, "{switches}");
        // The kernel returns before it clears the hint, or leaves the loop and clears it.
        assert_eq!(world.has_idle_cores.test(0), !switches.contains("CORE_LIMIT"), "{switches}");
    }
}

#[test]
fn the_limit_on_cores_takes_what_was_passed() {
    let mut world = world(LIMIT);
    // CPU 3 is idle, and its core is not.
    world.idle(&[3, 6, 7]).nr_idle_scan[0] = 0;
    world.has_idle_cores.set(0);
    assert_eq!(ends(search(&mut world)), (Reason::CoreCpu, 3, 4));
    // An idle core among the two is taken.
    world.idle(&[2, 3]);
    world.has_idle_cores.set(0);
    assert_eq!(ends(search(&mut world)), (Reason::Core, 2, 4));
    assert!(world.has_idle_cores.test(0));
    // Above 0 there is no limit for cores.
    world.idle(&[6, 7]).nr_idle_scan[0] = 1;
    assert_eq!(ends(search(&mut world)), (Reason::Core, 6, 8));
    // Without the hint, the number limits the scan for a CPU as ever: 0 and 1 are probed as those of prev's core, then
    // 1 again.
    world.has_idle_cores.clear(0);
    assert_eq!(ends(search(&mut world)), (Reason::Limit, 0, 3));
}

#[test]
fn a_cpu_to_which_a_wake_up_is_on_its_way_sets_no_hint() {
    for (switches, sets) in [(LIMIT, true), (BUSY, false)] {
        let mut world = world(switches);
        world.ttwu_pending.set(4);
        world.idle(&[5]);
        goes_idle(&mut world, 4);
        assert_eq!(world.has_idle_cores.test(0), sets, "{switches}");
        world.ttwu_pending.clear(4);
        goes_idle(&mut world, 4);
        assert!(world.has_idle_cores.test(0));
    }
}

#[test]
fn an_llc_searched_in_vain_is_left_alone_until_a_cpu_goes_idle() {
    let mut without = world(LIMIT);
    assert_eq!(ends(search(&mut without)).0, Reason::None);
    without.idle(&[5]);
    assert_eq!(ends(search(&mut without)).0, Reason::Scan);

    let mut world = world(BUSY);
    assert_eq!(ends(search(&mut world)).0, Reason::None);
    assert!(is_busy(&world));
    // A CPU that has become idle in another way (a mask that is read late) is not looked for. The sibling of prev is.
    world.idle(&[5]);
    assert_eq!(ends(search(&mut world)), (Reason::Overloaded, 0, 2));
    world.idle(&[1, 5]);
    assert_eq!(ends(search(&mut world)), (Reason::Smt, 1, 2));
    // Any CPU that goes idle ends that.
    world.idle(&[]);
    goes_idle(&mut world, 6);
    assert!(!is_busy(&world) && !world.has_idle_cores.test(0));
    assert_eq!((search(&mut world).cpu, is_busy(&world)), (6, false));
    // A limit is a search in vain, too.
    world.nr_idle_scan[0] = 2;
    assert_eq!((search(&mut world).reason, is_busy(&world)), (Reason::Limit, true));
    // A wake-up on its way keeps the CPU from telling.
    world.ttwu_pending.set(5);
    goes_idle(&mut world, 5);
    assert!(is_busy(&world));
    // SIS_UTIL's refusal to search says nothing about the LLC.
    goes_idle(&mut world, 4);
    world.nr_idle_scan[0] = 0;
    world.has_idle_cores.clear(0);
    assert_eq!((search(&mut world).reason, is_busy(&world)), (Reason::Overloaded, false));
}

#[test]
fn a_search_in_vain_takes_back_a_hint_that_was_set_meanwhile() {
    let mut world = world(BUSY);
    let all = CpuMask::full(8);
    let wakeup = Wakeup { waker: Waker::new(0), wakee: Wakee::new(0, &all), flags: WakeFlags::TTWU };
    // The scan was for a CPU; the state is written over whatever it has become.
    let decision = world.place(&wakeup);
    assert_eq!((decision.reason, decision.effects.clear_idle_cores), (Reason::None, Some(0)));
}

#[test]
fn without_smt_the_state_is_not_used() {
    let mut world = Searched::new("v5.19-rc2-tip", FILTER, &Uniform::new(8, 1).topology(), Arch::X86);
    assert_eq!(ends(search(&mut world)).0, Reason::None);
    world.idle(&[5]);
    assert_eq!(ends(search(&mut world)), (Reason::Scan, 5, 5));
}

#[test]
fn the_filter_narrows_the_scan_after_it_was_reset() {
    let mut world = world(FILTER);
    // At first all CPUs are in: 0 and 1 as those of prev's core, then 1 to 5.
    world.idle(&[5]);
    assert_eq!(ends(search(&mut world)), (Reason::Scan, 5, 7));
    world.idle(&[]);
    assert_eq!(ends(search(&mut world)).0, Reason::None);
    assert!(world.policies.llc::<SisEffBusy>(0).icpus.is_empty());
    goes_idle(&mut world, 5);
    // Only 5 is in.
    assert_eq!(ends(search(&mut world)), (Reason::Scan, 5, 3));
    // It stays in when it is busy, and is probed for as long.
    world.idle(&[]);
    goes_idle(&mut world, 3);
    assert_eq!(ends(search(&mut world)), (Reason::Scan, 3, 3));
    world.idle(&[5]);
    assert_eq!(ends(search(&mut world)), (Reason::Scan, 5, 4));
    // The number counts only CPUs that are in.
    world.nr_idle_scan[0] = 2;
    assert_eq!(ends(search(&mut world)), (Reason::Scan, 5, 4));
}

#[test]
fn one_cpu_stands_for_its_core() {
    let in_filter = |world: &Searched| world.policies.llc::<SisEffBusy>(0).icpus.iter().collect::<Vec<_>>();
    let mut world = world(FILTER);
    search(&mut world);
    goes_idle(&mut world, 4);
    goes_idle(&mut world, 5);
    assert_eq!(in_filter(&world), [4]);
    // The core is idle now, and is found by 4.
    assert!(world.has_idle_cores.test(0));
    assert_eq!(ends(search(&mut world)), (Reason::Core, 4, 2));
    // 4 is busy: it does not count any more, and 5 is put in.
    world.idle(&[]);
    goes_idle(&mut world, 5);
    assert_eq!(in_filter(&world), [4, 5]);
    // It is in already.
    goes_idle(&mut world, 5);
    // A sibling that runs SCHED_IDLE tasks counts.
    let mut world = self::world(FILTER);
    search(&mut world);
    goes_idle(&mut world, 2);
    world.idle(&[]).sched_idle.set(2);
    goes_idle(&mut world, 3);
    assert_eq!(in_filter(&world), [2]);
}
