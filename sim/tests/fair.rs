//! What the run queues of the versions do in simulated time: shares, wake-ups of delayed tasks, lazy requests, hrticks,
//! slices.

mod support;

use support::{back, call, ns, workload};
use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_sim::{Mechanisms, Setup, run};
use wakelab_workload::{Call, Op, Workload};

const MS: u64 = 1_000_000;

/// Runs on a machine of one CPU, quietly, with a preset's features and these switches.
fn on_one_cpu(kernel: &str, switches: &str, workload: &Workload, until: u64, sink: &mut impl Sink) {
    on("test-1c", kernel, switches, workload, until, sink);
}

fn on(machine: &str, kernel: &str, switches: &str, workload: &Workload, until: u64, sink: &mut impl Sink) {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
    let mechanisms = Mechanisms { noise: false, cold_cache: false, ..Mechanisms::default() };
    let setup = Setup { machine: &machine, kernel, features, workload, seed: 1, until, mechanisms, observer_cost: 0 };
    run(&setup, sink, &Default::default()).expect("a run");
}

/// Of CPU 0: how long each task had it, when it changed hands, and what wake-ups there were.
#[derive(Default)]
struct Heard {
    first: Option<u32>,
    since: (Option<u32>, u64),
    ran: Vec<u64>,
    /// When a task lost the CPU to another, and how long it had had it, ns.
    stints: Vec<(u32, u64, u64)>,
    /// Wakee, when, how it came to its queue, and whether a choice was made.
    wakeups: Vec<(u32, u64, Queued, bool)>,
    /// When a task got the CPU.
    got: Vec<(u32, u64)>,
}

impl Sink for Heard {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
            }
            Event::Switch { cpu: 0, next, .. } => {
                let first = self.first.expect("a fork");
                if let (Some(task), since) = self.since {
                    self.stints.push((task, time, time - since));
                    self.ran.resize(self.ran.len().max(task as usize + 1), 0);
                    self.ran[task as usize] += time - since;
                }
                let next = next.map(|task| task - first);
                self.since = (next, time);
                self.got.extend(next.map(|task| (task, time)));
            }
            Event::Wakeup { wakee, queued, decision, .. } => {
                let first = self.first.expect("a fork");
                self.wakeups.push((wakee - first, time, queued, decision.is_some()));
            }
            _ => {}
        }
    }
}

fn hog(nice: i8) -> Vec<Op> {
    vec![call(Call::Nice(nice)), Op::Run(ns(MS)), back(1, 0)]
}

const ALL: [&str; 8] = ["v5.10", "v5.18", "v5.19-rc1", "v5.19-rc2-tip", "v6.1", "v6.12", "v7.2", "v7.3"];

#[test]
fn shares_are_by_weight() {
    // sched_prio_to_weight[] of nice 0, 5 and 19.
    let weights = [1024.0, 335.0, 15.0];
    for kernel in ALL {
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

/// A hog, and a task that works for longer than its share and then sleeps for a short while.
fn debtor() -> Workload {
    let sleeper = vec![Op::Run(ns(7 * MS)), Op::Sleep(ns(MS / 10)), back(0, 0)];
    workload(vec![hog(0), sleeper], &[], None)
}

#[test]
fn a_task_that_is_queued_still_is_woken_where_it_is() {
    for kernel in ["v6.12", "v7.2", "v7.3"] {
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

/// How long the wake-ups of a task waited for CPU 0, ascending, ns; those of a task that was still queued, if `delayed`.
fn waits(heard: &Heard, task: u32, delayed: bool) -> Vec<u64> {
    let woken = heard.wakeups.iter().filter(|wakeup| wakeup.0 == task && (wakeup.2 == Queued::Delayed) == delayed);
    let got = |woken| heard.got.iter().find(|got| got.0 == task && got.1 > woken).map(|got| got.1 - woken);
    let mut waits: Vec<u64> = woken.filter_map(|wakeup| got(wakeup.1)).collect();
    waits.sort_unstable();
    waits
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
    for kernel in ["v7.2", "v7.3"] {
        let tick = u64::from(1_000_000_000 / Preset::get(kernel).expect("a preset").hz.value);
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
    for kernel in ["v7.2", "v7.3"] {
        let preset = Preset::get(kernel).expect("a preset");
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

const EEVDF: [&str; 3] = ["v6.12", "v7.2", "v7.3"];
/// The base slice of all three on 8 CPUs.
const BASE_SLICE: u64 = 2_800_000;

fn tick(kernel: &str) -> u64 {
    Preset::get(kernel).expect("a preset").hz.tick_ns()
}

/// On one CPU four hogs that ask for slices of `hogs`, and a task (number 4) that works for 0.3 ms every 17.3 ms or so, far
/// less than its share, and asks for slices of `slice`; 0: nobody asks.
fn short_among_long(kernel: &str, switches: &str, hogs: u64, slice: u64) -> Heard {
    let short = vec![Op::Run(ns(300_000)), Op::Sleep(ns(17_300_000)), back(0, 0)];
    let programs = [0; 4].map(hog).into_iter().chain([short]).collect();
    let mut workload = workload(programs, &[], Some(vec![0]));
    workload.tasks.iter_mut().for_each(|task| task.slice_ns = hogs);
    workload.tasks[4].slice_ns = slice;
    let mut heard = Heard::default();
    on("test-8c", kernel, switches, &workload, 10_000 * MS, &mut heard);
    heard
}

/// Stoica and Abdel-Wahab ("Earliest Eligible Virtual Deadline First", 1995): with requests of r at most and quanta of q,
/// -max(r, q) < lag < max(r, q) (theorem 1), and a request that is made at a time of lag >= 0 is served by its deadline
/// and a quantum (theorem 2). A task of weight w that waits gains lag at the rate w/W. So who wakes without debt has its
/// deadline r W/w away, and gets the CPU within
///
/// ```text
/// r W/w + q
/// ```
///
/// The long slices of others are not in it. q is for how long the running task is not looked at. PREEMPT_SHORT ends its
/// slice for who has a shorter one: that leaves a tick, for which a lazy request waits. Without that, or among equal
/// slices, it is the slice of the running task and a tick.
///
/// The theory has requests end when they are served. So does the hrtick since 7.2; else they go on to the next tick, and
/// each of the others, if its deadline is the earlier one, adds that once.
fn bound(kernel: &str, switches: &str, slice: u64, q: u64) -> u64 {
    let overrun = if kernel == "v6.12" || switches == "NO_HRTICK" { tick(kernel) } else { 0 };
    // Of the machine: switches, wake-ups, interrupts.
    let costs = 50_000;
    5 * slice + q + 4 * overrun + costs
}

#[test]
fn a_short_slice_waits_no_longer_than_its_bound_among_long_ones() {
    for (kernel, switches) in
        EEVDF.map(|kernel| (kernel, "")).into_iter().chain([("v7.2", "NO_HRTICK"), ("v7.3", "NO_HRTICK")])
    {
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
    for kernel in EEVDF {
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

/// `__setparam_fair()` clamps it to 0.1 to 100 ms, and CFS knows none.
#[test]
fn a_slice_is_clamped_and_cfs_ignores_it() {
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
        for kernel in EEVDF {
            let (most, more) = (stints(kernel, [100 * MS; 2], calls), stints(kernel, [900 * MS; 2], calls));
            assert!(most.iter().all(|stint| stint.abs_diff(100 * MS) <= tick(kernel) + MS), "{kernel}: {most:?}");
            assert_eq!(most, more, "{kernel}");
            assert_eq!(stints(kernel, [1; 2], calls), stints(kernel, [100_000; 2], calls), "{kernel}");
        }
        for kernel in ["v5.10", "v5.18", "v6.1"] {
            assert_eq!(stints(kernel, [100 * MS, MS], calls), stints(kernel, [0; 2], calls), "{kernel}");
        }
    }
}
