//! SIS_PARAM: the same as SIS_UTIL without a parameter, and what each parameter of the search does.

use crate::support::searched::Searched;
use wakelab_kernel::{Preset, Setting};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, Uniform};
use wakelab_sched::select::policy::Hook;
use wakelab_sched::select::{Decision, Reason, WakeFlags, Wakee, Waker, Wakeup};

/// Sixteen cores without SMT below one cache.
fn sixteen(switches: &str, settings: &[(&str, u64)]) -> Searched {
    let mut world = Searched::new("v6.12", switches, &Uniform::new(16, 1).topology(), Arch::X86);
    let settings = settings.iter().map(|&(name, value)| Setting::new(name, &value.to_string()).unwrap());
    world.kernel = Box::leak(Box::new(Preset::get("v6.12").unwrap().with_settings(settings).unwrap()));
    world
}

/// Task of run time `wakee_runs` ns that slept on CPU 0 and is woken there.
fn wake(world: &mut Searched, wakee_runs: u64) -> Decision {
    let all = CpuMask::full(world.domains.nr_cpus);
    let wakee = Wakee { dur_avg: wakee_runs, ..Wakee::new(0, &all) };
    let decision = world.place(&Wakeup { waker: Waker::new(0), wakee, flags: WakeFlags::TTWU });
    world.decided(&decision);
    decision
}

fn with_limit(nr_idle_scan: i32, settings: &[(&str, u64)]) -> Searched {
    let mut world = sixteen("SIS_PARAM", settings);
    world.nr_idle_scan = vec![nr_idle_scan; 16];
    world
}

/// How many CPUs a search has probed beyond its first checks.
fn scanned(decision: &Decision) -> u32 {
    decision.count.scanned - 1
}

/// 2,000 wake-ups in states that are drawn at random, with SMT and without, on kernels with each shape of the search.
#[test]
fn without_a_parameter_every_decision_is_that_of_sis_util() {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut reasons = std::collections::BTreeSet::new();
    for case in 0..2000 {
        let kernel = ["v6.1", "v6.12", "v7.2"][case % 3];
        let topology = Uniform::new(8, 1 + (case as u32 / 3) % 2).topology();
        let [mut ours, mut kernels] =
            ["SIS_UTIL,SIS_PARAM", "SIS_UTIL"].map(|switches| Searched::new(kernel, switches, &topology, Arch::X86));
        let nr = ours.domains.nr_cpus;
        let busy = random(101);
        let idle: Vec<Cpu> = (0..nr).filter(|_| random(100) >= busy).collect();
        let (limit, has_idle_cores) = (random(u64::from(nr) + 1) as i32, random(2) == 0);
        let runs: Vec<u64> = (0..nr).map(|_| random(40_000)).collect();
        let (cpu, prev, wakee_runs) = (random(nr.into()) as Cpu, random(nr.into()) as Cpu, random(40_000));
        let decide = |world: &mut Searched| {
            world.idle(&idle).nr_running[cpu as usize] = 1;
            world.nr_idle_scan = vec![limit; nr as usize];
            world.has_idle_cores = if has_idle_cores { CpuMask::full(nr) } else { CpuMask::new(nr) };
            world.dur_avg.clone_from(&runs);
            let all = CpuMask::full(nr);
            let wakee = Wakee { dur_avg: wakee_runs, ..Wakee::new(prev, &all) };
            let decision = world.place(&Wakeup { waker: Waker::new(cpu), wakee, flags: WakeFlags::TTWU });
            world.decided(&decision);
            decision
        };
        let (ours, kernels) = (decide(&mut ours), decide(&mut kernels));
        assert_eq!(ours, kernels, "case {case} on {kernel}");
        reasons.insert(ours.reason);
    }
    for reason in [Reason::Scan, Reason::Limit, Reason::Overloaded, Reason::None, Reason::CoreCpu, Reason::Core] {
        assert!(reasons.contains(&reason), "{reason} of {reasons:?}");
    }
}

#[test]
fn a_search_costs_no_more_than_a_share_of_what_the_wakee_runs_for() {
    let mut world = with_limit(12, &[("sis_param_run", 1000)]);
    assert_eq!(scanned(&wake(&mut world, 5_999)), 5);
    assert_eq!(scanned(&wake(&mut world, 12_000)), 12);
    assert_eq!(scanned(&wake(&mut world, 90_000)), 12, "SIS_UTIL's number is less");
    assert_eq!(scanned(&wake(&mut world, 0)), 12, "nobody knows how long it runs");
    let decision = wake(&mut world, 999);
    assert_eq!((decision.reason, scanned(&decision)), (Reason::Overloaded, 0));
}

#[test]
fn failed_searches_halve_the_number_until_one_succeeds_or_the_cpu_goes_idle() {
    let mut world = with_limit(12, &[("sis_param_failed", 3)]);
    let fails = |world: &mut Searched| scanned(&wake(world, 0));
    assert_eq!([(); 5].map(|()| fails(&mut world)), [12, 6, 3, 1, 1]);
    world.idle(&[1]);
    assert_eq!(wake(&mut world, 0).reason, Reason::Scan);
    world.idle(&[]);
    assert_eq!([(); 2].map(|()| fails(&mut world)), [12, 6]);
    world.hook(Hook::Idle, 0);
    assert_eq!(fails(&mut world), 12);
    // What fails around one CPU is nothing to the others.
    assert_eq!(fails(&mut world), 6);
    world.hook(Hook::Idle, 5);
    assert_eq!(fails(&mut world), 3);
    // Without the parameter nothing is counted.
    let mut world = with_limit(12, &[]);
    assert_eq!([(); 3].map(|()| fails(&mut world)), [12; 3]);
}

#[test]
fn two_short_tasks_share_the_target() {
    let reason = |settings: &[(&str, u64)], limit, runs: [u64; 2], nr_running| {
        let mut world = with_limit(limit, settings);
        world.idle(&[9]);
        (world.dur_avg[0], world.nr_running[0]) = (runs[0], nr_running);
        wake(&mut world, runs[1]).reason
    };
    let short = [("sis_param_short", 10_000)];
    assert_eq!(reason(&short, 16, [9_999, 9_999], 1), Reason::Short);
    for runs in [[10_000, 9_999], [9_999, 10_000], [0, 9_999], [9_999, 0]] {
        assert_eq!(reason(&short, 16, runs, 1), Reason::Scan, "{runs:?}");
    }
    assert_eq!(reason(&short, 16, [9_999, 9_999], 2), Reason::Scan, "the target has another task");
    assert_eq!(reason(&[], 16, [1, 1], 1), Reason::Scan);
    // Up to half of the LLC.
    let half = [("sis_param_short", 10_000), ("sis_param_short_scan", 50)];
    assert_eq!(reason(&half, 8, [9_999, 9_999], 1), Reason::Short);
    assert_eq!(reason(&half, 9, [9_999, 9_999], 1), Reason::Scan);
}
