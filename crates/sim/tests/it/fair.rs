//! The fair class is fair in simulated time: shares by weight, and waits within the bound that slices promise.

use crate::support::heard::{BASE_SLICE, Heard, gives_slices, hog, kernels, on_one_cpu, short_among_long, tick, waits};
use crate::support::{MS, call, workload};
use wakelab_kernel::{Class, Feature, Preset};
use wakelab_workload::Call;

#[test]
fn shares_are_by_weight() {
    // sched_prio_to_weight[] of nice 0, 5 and 19.
    let weights = [1024.0, 335.0, 15.0];
    for kernel in Preset::names() {
        let mut heard = Heard::default();
        let hogs = workload([0, 5, 19].map(hog).into(), &[], Some(vec![0]));
        on_one_cpu(kernel, "", &hogs, 10_000 * MS, &mut heard);
        assert_eq!(heard.ran.len(), 3, "{kernel}");
        let total: u64 = heard.ran.iter().sum();
        for (ran, weight) in heard.ran.iter().zip(weights) {
            let share = *ran as f64 / total as f64;
            let fair = weight / weights.iter().sum::<f64>();
            assert!((share - fair).abs() < 0.01, "{kernel}: {:?}, {share} in place of {fair}", heard.ran);
        }
    }
}

fn has_hrtick(kernel: &str) -> bool {
    Preset::get(kernel).expect("a preset").features.has(Feature::HRTICK)
}

/// Stoica and Abdel-Wahab ("Earliest Eligible Virtual Deadline First", 1995): with requests of r at most and quanta of
/// q,
/// -max(r, q) < lag < max(r, q) (theorem 1), and a request that is made at a time of lag >= 0 is served by its deadline
/// and a quantum (theorem 2). A task of weight w that waits gains lag at the rate w/W. So who wakes without debt has
/// its deadline r W/w away, and gets the CPU within
///
/// ```text
/// r W/w + q
/// ```
///
/// The long slices of others are not in it. q is for how long the running task is not looked at. PREEMPT_SHORT ends its
/// slice for who has a shorter one: that leaves a tick, for which a lazy request waits. Without that, or among equal
/// slices, it is the slice of the running task and a tick.
///
/// The theory has requests end when they are served. So does the hrtick since 7.2; else they go on to the next tick,
/// and each of the others, if its deadline is the earlier one, adds that once.
fn bound(kernel: &str, switches: &str, slice: u64, q: u64) -> u64 {
    let overrun = if !has_hrtick(kernel) || switches == "NO_HRTICK" { tick(kernel) } else { 0 };
    // Of the machine: switches, wake-ups, interrupts.
    let costs = 50_000;
    5 * slice + q + 4 * overrun + costs
}

#[test]
fn a_short_slice_waits_no_longer_than_its_bound_among_long_ones() {
    let as_it_is = kernels(Class::Eevdf).map(|kernel| (kernel, ""));
    let without_hrtick = kernels(Class::Eevdf).filter(|kernel| has_hrtick(kernel)).map(|kernel| (kernel, "NO_HRTICK"));
    for (kernel, switches) in as_it_is.chain(without_hrtick) {
        let tick = tick(kernel);
        let worst = |hogs, slice| {
            let waits = waits(&short_among_long(kernel, switches, hogs, slice), 4, false);
            assert!(waits.len() > 300, "{kernel} {switches}: {}", waits.len());
            *waits.last().expect("a wake-up")
        };
        for slice in [100_000, 500_000, 1_500_000] {
            let (worst, bound) = (worst(20 * MS, slice), bound(kernel, switches, slice, tick));
            println!("{kernel} {switches}, slice {slice}: {worst} of {bound}");
            assert!(worst <= bound, "{kernel} {switches}, slice {slice}: {worst} of {bound}");
        }
        let (worst, bound) = (worst(0, 0), bound(kernel, switches, BASE_SLICE, BASE_SLICE + tick));
        println!("{kernel} {switches}, none: {worst} of {bound}");
        assert!(worst <= bound, "{kernel} {switches}, no slices: {worst} of {bound}");
    }
}

#[test]
fn a_short_slice_waits_less_than_an_equal_one() {
    let mean = |waits: Vec<u64>| waits.iter().sum::<u64>() / waits.len() as u64;
    for kernel in kernels(Class::Eevdf).filter(|kernel| gives_slices(kernel)) {
        let mean = |hogs, slice| mean(waits(&short_among_long(kernel, "", hogs, slice), 4, false));
        let short = mean(20 * MS, 500_000);
        for (what, equal) in [("nobody asks", mean(0, 0)), ("all ask for the same", mean(20 * MS, 20 * MS))] {
            assert!(short < equal, "{kernel}, {what}: {short} in place of {equal}");
        }
    }
}

/// What PREEMPT_SHORT is for: without it a long slice that has begun is served (RUN_TO_PARITY), and breaks the bound.
#[test]
fn a_long_slice_that_is_protected_breaks_the_bound_of_a_short_one() {
    let waits = waits(&short_among_long("v6.12", "NO_PREEMPT_SHORT", 60 * MS, 500_000), 4, false);
    let worst = *waits.last().expect("a wake-up");
    assert!(worst > bound("v6.12", "", 500_000, tick("v6.12")), "{worst}");
}

/// `__setparam_fair()` clamps it to 0.1 to 100 ms, and CFS knows none, nor does EEVDF before 6.12.
#[test]
fn a_slice_is_clamped_and_older_versions_ignore_it() {
    let stints = |kernel, slices: [u64; 2], calls: bool| {
        let hog = |slice: u64| if calls { [vec![call(Call::Slice { ns: slice })], hog(0)].concat() } else { hog(0) };
        let mut hogs = workload(vec![hog(slices[0]), hog(slices[1])], &[], Some(vec![0]));
        for (task, slice) in hogs.tasks.iter_mut().zip(slices).filter(|_| !calls) {
            task.slice_ns = slice;
        }
        let mut heard = Heard::default();
        on_one_cpu(kernel, "", &hogs, 3000 * MS, &mut heard);
        heard.stints.iter().skip(10).map(|stint| stint.2).collect::<Vec<_>>()
    };
    for calls in [false, true] {
        for kernel in kernels(Class::Eevdf).filter(|kernel| gives_slices(kernel)) {
            let (most, more) = (stints(kernel, [100 * MS; 2], calls), stints(kernel, [900 * MS; 2], calls));
            assert!(most.iter().all(|stint| stint.abs_diff(100 * MS) <= tick(kernel) + MS), "{kernel}: {most:?}");
            assert_eq!(most, more, "{kernel}");
            assert_eq!(stints(kernel, [1; 2], calls), stints(kernel, [100_000; 2], calls), "{kernel}");
        }
        let others = kernels(Class::Eevdf).filter(|kernel| !gives_slices(kernel));
        for kernel in kernels(Class::Cfs).chain(others) {
            assert_eq!(stints(kernel, [100 * MS, MS], calls), stints(kernel, [0; 2], calls), "{kernel}");
        }
    }
}
