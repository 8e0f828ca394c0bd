//! EEVDF is fair: shares follow weights, lag stays within its bound, and a short slice lowers latency.

use crate::support::runqueue::cpu::{Cpu, rules};
use crate::support::runqueue::shares::shares_are_fair;
use crate::support::runqueue::{presets_of, virtual_time};
use wakelab_kernel::{Class, Feature};
use wakelab_sched::runqueue::{FairRules, Policy, TaskId};

/// The base slice on 8 CPUs.
const BASE_SLICE: u64 = 2_800_000;
const MS: u64 = 1_000_000;

#[test]
fn eevdf_shares_of_hogs_follow_their_weights() {
    for kernel in presets_of(Class::Eevdf) {
        for tick in [MS, 4 * MS] {
            for hrtick in [false, true] {
                let name = format!("{kernel}, tick {tick} ns, hrtick {hrtick}");
                let rules = rules(kernel, &[(Feature::HRTICK, hrtick)]);
                shares_are_fair(&name, rules, tick, BASE_SLICE + tick);
            }
        }
    }
}

/// The service that a task is owed, in ns of run time.
fn lag(cpu: &Cpu, task: TaskId) -> i64 {
    let e = &cpu.es[task];
    let vlag = virtual_time(&cpu.rq, &cpu.es).wrapping_sub(e.vruntime) as i64;
    vlag * i64::from(e.load.weight) / 1024
}

/// Stoica and Abdel-Wahab ("Earliest Eligible Virtual Deadline First", 1995, theorem 1): with requests of r at most and
/// quanta of q at most, -r < lag < max(r, q) in a steady system. The kernel serves a request in one quantum, and ends
/// it at the next tick: a request is overrun by at most a tick, so lag stays within r and a tick in both directions.
#[test]
fn eevdf_lag_of_hogs_stays_within_a_slice_and_a_tick() {
    for kernel in presets_of(Class::Eevdf) {
        let mut cpu = Cpu::new(rules(kernel, &[(Feature::HRTICK, false)]), MS);
        let hogs = [(0, 0), (0, 0), (5, 0), (-5, 0), (0, 10 * MS), (0, MS)];
        let hogs = hogs.map(|(nice, slice)| cpu.fork(Policy::Normal, nice, slice));
        let bound = (10 * MS + MS) as i64;
        let mut largest = 0;
        // New tasks join without lag but with half a request, so the first round is not steady.
        cpu.run(cpu.now + 100 * MS);
        for _ in 0..3000 {
            cpu.step(cpu.now + MS);
            for hog in hogs {
                let lag = lag(&cpu, hog).abs();
                assert!(lag <= bound, "{kernel}: {hog:?} has lag {lag}");
                largest = largest.max(lag);
            }
        }
        assert!(largest > BASE_SLICE as i64 / 4, "{kernel}: the bound is tried: {largest}");
    }
}

/// Runs four hogs and a task that wakes every 17.3 ms for 0.3 ms of work. Returns the task's longest time from wake-up
/// to sleep, ns.
fn worst_response(kernel: &str, slice: u64, tick: u64) -> u64 {
    let mut cpu = Cpu::new(rules(kernel, &[(Feature::HRTICK, false)]), tick);
    for _ in 0..4 {
        cpu.fork(Policy::Normal, 0, 0);
    }
    let task = cpu.fork(Policy::Normal, 0, slice);
    let work = 300_000;
    let mut worst = 0;
    let mut wake = cpu.now;
    for round in 0..500 {
        let due = cpu.es[task].sum_exec_runtime + work;
        while cpu.ran(task) < due {
            let left = due - cpu.es[task].sum_exec_runtime;
            let until = if cpu.rq.curr() == Some(task) { cpu.now + left } else { cpu.now + 50_000 };
            cpu.step(until);
        }
        assert_eq!(cpu.rq.curr(), Some(task), "it was charged, so it runs");
        if round > 10 {
            worst = worst.max(cpu.now - wake);
        }
        cpu.sleep();
        wake += 17_300_000;
        wake = wake.max(cpu.now + MS);
        cpu.run(wake);
        cpu.wake(task);
    }
    worst
}

/// Stoica and Abdel-Wahab, theorem 2: a request of r that is made at a time of lag >= 0 is served by its deadline and a
/// quantum. With weight 1 of 5, the deadline is 5 r later. The quantum, which may just have begun, is a base slice and
/// a tick: only then is the running task checked, and a lazy request waits for a tick too.
#[test]
fn eevdf_short_slice_is_served_by_its_deadline_and_a_quantum() {
    for kernel in presets_of(Class::Eevdf) {
        for tick in [MS, 4 * MS] {
            let bound = |slice: u64| 5 * slice + BASE_SLICE + tick;
            let (short, base) = (worst_response(kernel, 500_000, tick), worst_response(kernel, 0, tick));
            println!("{kernel}, tick {tick}: {short} of {} ns, {base} of {} ns", bound(500_000), bound(BASE_SLICE));
            assert!(short <= bound(500_000), "{kernel}: {short}");
            assert!(base <= bound(BASE_SLICE), "{kernel}: {base}");
            assert!(short <= base, "{kernel}: a short slice does not cost latency: {short}, {base}");
        }
    }
}

#[test]
fn eevdf_of_a_preset_has_the_form_of_its_version() {
    let form_with = |kernel: &str, on: &[(Feature, bool)]| match rules(kernel, on) {
        FairRules::Eevdf(params, rules) => {
            (rules.wakeup_preempt, rules.lazy_preemption, params.hrtick, params.base_slice_ns)
        }
        FairRules::Cfs(..) => panic!("{kernel} is EEVDF"),
    };
    let form = |kernel: &str| form_with(kernel, &[]);
    use wakelab_sched::runqueue::WakeupPreempt::*;
    assert_eq!(form("v6.12"), (CancelThenLook, false, false, BASE_SLICE));
    assert_eq!(form("v6.18"), (CompareUnprotected, true, false, BASE_SLICE));
    assert_eq!(form_with("v6.18", &[(Feature::NEXT_BUDDY_POSTED, true)]).0, PickAsPosted);
    assert!(!form_with("v6.18", &[(Feature::PREEMPT_VOLUNTARY, true)]).1);
    assert_eq!(form("v7.2"), (Pick, true, true, BASE_SLICE));
    assert_eq!(form("v7.3"), (PickOrEligible, true, true, BASE_SLICE));
}
