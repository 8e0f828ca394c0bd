//! What differs between run queues in simulated time: wake-ups of delayed tasks, lazy requests, hrticks, marks.

use crate::support::heard::{Heard, gives_slices, hog, kernels, on, on_one_cpu, short_among_long, tick, waits};
use crate::support::{MS, back, call, ns, workload};
use wakelab_events::sim::Queued;
use wakelab_kernel::{Class, FairClass, Feature, Preset};
use wakelab_workload::{Call, Op, TimerMode, Work, Workload};

/// A hog, and a task that works for longer than its share and then sleeps for a short while.
fn debtor() -> Workload {
    let sleeper = vec![Op::Run(ns(7 * MS)), Op::Sleep(ns(MS / 10)), back(0, 0)];
    workload(vec![hog(0), sleeper], &[], None)
}

#[test]
fn a_task_that_is_queued_still_is_woken_where_it_is() {
    let delays = |kernel: &&str| Preset::get(kernel).expect("a preset").lists(Feature::DELAY_DEQUEUE);
    for kernel in kernels(Class::Eevdf).filter(delays) {
        let mut heard = Heard::default();
        on_one_cpu(kernel, "", &debtor(), 1000 * MS, &mut heard);
        let delayed = || heard.wakeups.iter().filter(|wakeup| wakeup.2 == Queued::Delayed);
        assert!(delayed().count() > 10, "{kernel}: {} of {}", delayed().count(), heard.wakeups.len());
        assert!(delayed().all(|wakeup| wakeup.0 == 1 && !wakeup.3), "{kernel}");

        let mut heard = Heard::default();
        on_one_cpu(kernel, "NO_DELAY_DEQUEUE", &debtor(), 1000 * MS, &mut heard);
        assert!(heard.wakeups.iter().all(|wakeup| wakeup.2 != Queued::Delayed), "{kernel}");
    }
}

/// On CPU 0 a hog that enters the kernel every `call_every` ns and a task that is woken from CPU 1 now and then.
fn woken_from_afar(call_every: u64) -> Workload {
    let hog = vec![Op::Run(ns(call_every)), call(Call::Nice(0)), back(0, 0)];
    let woken = vec![Op::Recv { channel: 0 }, Op::Run(ns(20_000)), back(0, 0)];
    let waker = vec![Op::Sleep(ns(10_300_000)), Op::Send { channel: 0, sync: false }, back(0, 0)];
    let mut workload = workload(vec![hog, woken, waker], &[("messages", 4)], Some(vec![0]));
    workload.tasks[2].affinity = Some(vec![1]);
    workload
}

/// The middle one of how long the wake-ups of task 1 waited for CPU 0, ns.
fn median_wait(kernel: &str, workload: &Workload) -> u64 {
    let mut heard = Heard::default();
    on("test-2c", kernel, "", workload, 1000 * MS, &mut heard);
    let waits = waits(&heard, 1, false);
    assert!(waits.len() > 50, "{kernel}: {}", waits.len());
    waits[waits.len() / 2]
}

#[test]
fn a_lazy_request_waits_for_the_way_to_user_space_or_the_tick() {
    assert!(median_wait("v6.12", &woken_from_afar(MS)) < 50_000);
    let is_lazy = |preset: &&&Preset| matches!(preset.fair, FairClass::Eevdf(rules) if rules.lazy_preemption);
    for preset in Preset::all().iter().filter(is_lazy) {
        let (kernel, tick) = (preset.name, preset.hz.tick_ns());
        // A hog that computes for a second at a time is not interrupted before the tick.
        let tick_only = median_wait(kernel, &woken_from_afar(1000 * MS));
        assert!((tick / 8..=tick + 100_000).contains(&tick_only), "{kernel}: {tick_only}");
        let calls = median_wait(kernel, &woken_from_afar(40_000));
        assert!(calls < 100_000, "{kernel}: {calls}");
    }
}

/// Two hogs; how long their stints are.
fn stints(kernel: &str, switches: &str) -> Vec<u64> {
    let mut heard = Heard::default();
    let hogs = workload(vec![hog(0), hog(0)], &[], Some(vec![0]));
    on_one_cpu(kernel, switches, &hogs, 1000 * MS, &mut heard);
    heard.stints.iter().skip(10).map(|stint| stint.2).collect()
}

#[test]
fn an_hrtick_ends_a_slice_between_ticks() {
    for preset in Preset::all().iter().filter(|preset| preset.features.has(Feature::HRTICK)) {
        let kernel = preset.name;
        let slice = preset.tunables.scaled(1).base_slice.expect("a slice");
        let tick = u64::from(1_000_000_000 / preset.hz.value);
        let exact = |stints: &[u64]| stints.iter().filter(|stint| stint.abs_diff(slice) < 50_000).count();
        let with = stints(kernel, "");
        let without = stints(kernel, "NO_HRTICK");
        assert!(exact(&with) * 10 > with.len() * 9, "{kernel}: slice {slice}, {:?}", &with[..20]);
        let ticks = without.iter().filter(|stint| (*stint + tick / 8) % tick < tick / 4).count();
        assert!(ticks * 10 > without.len() * 9, "{kernel}: tick {tick}, {:?}", &without[..20]);
    }
}

/// Eight hogs on one CPU, and two tasks (8 and 9) that wake every half second, the second one 0.4 ms after the first,
/// which is before the next tick at any HZ.
fn one_after_the_other() -> Workload {
    let timer = call(Call::Timer { timer: 0, period_ns: 500 * MS, mode: TimerMode::Absolute });
    let wakes = vec![timer, Op::Run(ns(300_000)), back(0, 0)];
    let programs = [0; 8].map(hog).into_iter().chain([wakes.clone(), wakes]).collect();
    let mut workload = workload(programs, &[], Some(vec![0]));
    workload.tasks[8].start_ns = 100_000;
    workload.tasks[9].start_ns = 500_000;
    workload
}

/// The mean wait of a task's wake-ups, ns.
fn mean_wait(kernel: &str, switches: &str, workload: &Workload, task: u32) -> u64 {
    let mut heard = Heard::default();
    on("test-8c", kernel, switches, workload, 5000 * MS, &mut heard);
    let waits = waits(&heard, task, false);
    assert!(waits.len() > 20, "{kernel} {switches}: {}", waits.len());
    waits.iter().sum::<u64>() / waits.len() as u64
}

#[test]
fn next_buddy_gives_who_wakes_the_next_turn() {
    for kernel in kernels(Class::Cfs) {
        let order = |switches: &str| {
            let mut heard = Heard::default();
            let switches = format!("NO_WAKEUP_PREEMPTION,{switches}");
            on("test-8c", kernel, &switches, &one_after_the_other(), 5_400 * MS, &mut heard);
            let turns = heard.got.iter().filter(|got| got.1 > 400 * MS && got.0 >= 8).map(|got| got.0);
            turns.collect::<Vec<u32>>()
        };
        assert_eq!(order(""), [8, 9].repeat(10), "{kernel}");
        assert_eq!(order("NEXT_BUDDY"), [9, 8].repeat(10), "{kernel}");
    }
    // Who asks for a long slice has a late deadline; marked, it waits for the end of the slice that is protected, at
    // most.
    for kernel in kernels(Class::Eevdf).filter(|kernel| gives_slices(kernel)) {
        let waits = |switches: &str| waits(&short_among_long(kernel, switches, 0, 20 * MS), 4, false);
        let (without, with) = (waits(""), waits("NEXT_BUDDY"));
        let worst = |waits: &[u64]| *waits.last().expect("a wake-up");
        assert!(worst(&without) > tick(kernel) + MS, "{kernel}: {}", worst(&without));
        assert!(worst(&with) <= tick(kernel), "{kernel}: {}", worst(&with));
        assert_eq!(waits("NEXT_BUDDY,NO_PICK_BUDDY"), without, "{kernel}: marked, and not obeyed");
    }
}

/// While an hrtick is set, the tick of CFS leaves the running task alone: one that has slept and is far behind, but may
/// not preempt, waits for the end of the slice.
#[test]
fn double_tick_lets_the_tick_preempt_beside_an_hrtick() {
    let away = Work::uniform(60 * MS, 30);
    let sleeper = vec![Op::Run(ns(300_000)), Op::Sleep(away), back(0, 0)];
    let three = workload(vec![hog(0), hog(0), sleeper], &[], Some(vec![0]));
    for kernel in kernels(Class::Cfs) {
        let wait = |switches: &str| mean_wait(kernel, &format!("NO_WAKEUP_PREEMPTION,{switches}"), &three, 2);
        let (hrtick, both, ticks) = (wait("HRTICK"), wait("HRTICK,DOUBLE_TICK"), wait(""));
        println!("{kernel}: {hrtick}, {both}, {ticks}");
        assert!(both * 10 < hrtick * 9, "{kernel}: {both} in place of {hrtick}");
    }
}
