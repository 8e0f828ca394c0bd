//! SIS_CACHE, in cases worked out by hand from the posting.

use crate::support::searched::Searched;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sched::select::policy::{CacheHotTimeout, Hook, HookTask, SisCache};
use wakelab_sched::select::{Decision, Reason, WakeFlags, Wakee, Waker, Wakeup};

const KERNEL: &str = "v6.12";

/// Eight cores below one cache.
fn eight() -> Searched {
    Searched::new(KERNEL, "SIS_CACHE", &Uniform::new(8, 1).topology(), Arch::X86)
}

/// Four cores of two CPUs, side by side.
fn cores() -> Searched {
    let mut world = Searched::new(KERNEL, "SIS_CACHE", &Uniform::new(4, 2).topology(), Arch::X86);
    world.has_idle_cores.set(0);
    world
}

const SLEEPER: HookTask =
    HookTask { task: 1, sleep: true, idle_policy: false, sum_exec_runtime: 0, sis_rsv_avg: 10_000 };

/// Tasks that sleep for 10 us leave these CPUs now.
fn make_hot(world: &mut Searched, cpus: &[Cpu]) {
    for &cpu in cpus {
        assert_eq!(world.nr_running[cpu as usize], 0);
        world.hook(Hook::Dequeue(SLEEPER), cpu);
    }
}

fn search(world: &mut Searched) -> Decision {
    let all = CpuMask::full(8);
    world.place(&Wakeup { waker: Waker::new(0), wakee: Wakee::new(0, &all), flags: WakeFlags::TTWU })
}

fn found(world: &mut Searched) -> (Reason, Cpu) {
    let decision = search(world);
    (decision.reason, decision.cpu)
}

#[test]
fn a_short_sleeper_reserves_the_cpu_that_it_leaves_idle() {
    let timeout = |world: &Searched, cpu: Cpu| *world.policies.cpu::<SisCache>(cpu);
    let mut world = eight();
    world.idle(&[3]);
    let now = world.now;
    // Somebody else is still there; it is moved; it has never slept shortly.
    world.hook(Hook::Dequeue(SLEEPER), 2);
    world.hook(Hook::Dequeue(HookTask { sleep: false, ..SLEEPER }), 3);
    world.hook(Hook::Dequeue(HookTask { sis_rsv_avg: 0, ..SLEEPER }), 3);
    assert_eq!([2, 3].map(|cpu| timeout(&world, cpu)), [CacheHotTimeout(0); 2]);
    world.hook(Hook::Dequeue(SLEEPER), 3);
    assert_eq!(timeout(&world, 3), CacheHotTimeout(now + 10_000));
    // It never moves back.
    world.hook(Hook::Dequeue(HookTask { sis_rsv_avg: 5_000, ..SLEEPER }), 3);
    assert_eq!(timeout(&world, 3), CacheHotTimeout(now + 10_000));
}

#[test]
fn a_hot_cpu_is_passed_over_for_as_long_as_it_is_hot() {
    let mut world = eight();
    world.idle(&[2, 5]);
    assert_eq!(found(&mut world), (Reason::Scan, 2));
    make_hot(&mut world, &[2]);
    assert_eq!(found(&mut world), (Reason::Scan, 5));
    world.now += 10_000;
    assert_eq!(found(&mut world), (Reason::Scan, 2));
    // The time of each probe counts: the first is at 50 ns, that of 2 at 100 ns.
    world.now -= 100;
    assert_eq!(found(&mut world), (Reason::Scan, 2));
    world.now -= 1;
    assert_eq!(found(&mut world), (Reason::Scan, 5));
}

#[test]
fn the_first_hot_cpu_is_taken_where_nothing_else_is() {
    let mut world = eight();
    world.idle(&[2, 5]);
    make_hot(&mut world, &[2, 5]);
    let decision = search(&mut world);
    assert_eq!((decision.reason, decision.cpu, decision.count.scanned, decision.count.failed), (Reason::Scan, 2, 9, 0));
    // The limit loses it.
    world.nr_idle_scan[0] = 4;
    assert_eq!(found(&mut world), (Reason::Limit, 0));
}

#[test]
fn the_fast_paths_do_not_ask() {
    let mut world = eight();
    world.idle(&[2, 5]);
    make_hot(&mut world, &[2, 5]);
    assert_eq!(world.wakes(0, 2), (Reason::Target, 2));
    let all = CpuMask::full(8);
    let wakee = Wakee { recent_used_cpu: Some(5), ..Wakee::new(0, &all) };
    let decision = world.place(&Wakeup { waker: Waker::new(0), wakee, flags: WakeFlags::TTWU });
    assert_eq!((decision.reason, decision.cpu), (Reason::Recent, 5));
    // A sibling of prev.
    let mut world = cores();
    world.idle(&[1]).has_idle_cores.clear(0);
    make_hot(&mut world, &[1]);
    assert_eq!(found(&mut world), (Reason::Smt, 1));
}

#[test]
fn a_core_is_passed_over_if_the_cpu_by_which_the_walk_came_is_hot() {
    let mut world = cores();
    world.idle(&[4, 5, 6, 7]);
    assert_eq!(found(&mut world), (Reason::Core, 4));
    // The walk comes to 5, whose core is idle as well, and which is not hot.
    make_hot(&mut world, &[4]);
    assert_eq!(found(&mut world), (Reason::Core, 5));
    make_hot(&mut world, &[5]);
    assert_eq!(found(&mut world), (Reason::Core, 6));
    assert!(world.cleared.is_empty());
    // All cores are hot: the first idle CPU, hot or not, and the hint is cleared.
    make_hot(&mut world, &[6, 7]);
    assert_eq!(found(&mut world), (Reason::CoreCpu, 4));
    assert_eq!(world.cleared, [0]);
}
