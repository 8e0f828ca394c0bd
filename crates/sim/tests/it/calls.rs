//! Timers, yielding and nice values against timelines worked out by hand.

use crate::support::watched::{self, Run, watch};
use crate::support::{MS, Told, back, call, ns, on_one_cpu, simulate, workload};
use wakelab_events::sim::Event;
use wakelab_workload::{Call, Op, TimerMode};

/// Each of `times` is one of `ms`, or later by what ticks, a wake-up and a switch take.
fn assert_times(times: &[u64], ms: &[u64]) {
    assert_eq!(times.len(), ms.len(), "{times:?}");
    for (&time, &ms) in times.iter().zip(ms) {
        assert!((ms * MS..ms * MS + 300_000).contains(&time), "{times:?}");
    }
}

/// Works 3 ms, 3, 25, 3, 3, 3 and waits for a timer of 10 ms after each; a `Done` as each wait is over.
fn misses_one_period(mode: TimerMode) -> Vec<u64> {
    let timer = call(Call::Timer { timer: 0, period_ns: 10 * MS, mode });
    let round = |ms| [Op::Run(ns(ms * MS)), timer, Op::Done];
    on_one_cpu(vec![[3, 3, 25, 3, 3, 3].into_iter().flat_map(round).collect()], &[], 100 * MS).times(0)
}

#[test]
fn an_absolute_timer_catches_up_after_a_miss() {
    // Expires at 10, 20, 30, 40, 50, 60. Work ends at 3, 13, 45: past 30; at 48: past 40; at 51: past 50; at 54.
    assert_times(&misses_one_period(TimerMode::Absolute), &[10, 20, 45, 48, 51, 60]);
}

#[test]
fn a_relative_timer_starts_anew_after_a_miss() {
    // Expires at 10, 20, 30. Work ends at 45: past 30, so that the next is 55, then 65, 75.
    assert_times(&misses_one_period(TimerMode::Relative), &[10, 20, 45, 55, 65, 75]);
}

#[test]
fn timers_count_from_the_fork_of_their_task() {
    for mode in [TimerMode::Absolute, TimerMode::Relative] {
        assert_times(&expires_in_a_child(mode), &[17]);
    }
}

/// A child forked at 7 ms works 1 ms and waits for a timer of 10 ms.
fn expires_in_a_child(mode: TimerMode) -> Vec<u64> {
    let timer = call(Call::Timer { timer: 0, period_ns: 10 * MS, mode });
    let parent = vec![Op::Run(ns(7 * MS)), Op::Fork { program: 1 }, Op::Exit];
    let child = vec![Op::Run(ns(MS)), timer, Op::Done];
    let mut workload = workload(vec![parent, child], &[], Some(vec![0]));
    workload.tasks.truncate(1);
    let mut told = Told::default();
    simulate(("test-1c", "v6.1"), &workload, (1, 50 * MS), true, &mut told).expect("a run");
    told.times(1)
}

#[test]
fn running_for_a_time_ends_by_the_clock_and_not_by_work() {
    // Two tasks on one CPU: each has had about half of the 40 ms, in pieces of 32 us.
    let program = vec![call(Call::RunFor { ns: 40 * MS }), Op::Done, Op::Exit];
    let told = on_one_cpu(vec![program.clone(), program], &[], 100 * MS);
    for task in 0..2 {
        let [time] = told.times(task)[..] else { panic!("{told:?}") };
        assert!((40 * MS..45 * MS).contains(&time), "{told:?}");
    }
}

#[test]
fn spinning_for_a_time_ends_when_it_is_over() {
    let spin = |counts| [Op::Begin, Op::Run(ns(3_000)), call(Call::SpinFor { ns: 10 * MS, counts }), Op::Done];
    let program = [spin(true), spin(false)].concat();
    let alone = on_one_cpu(vec![program.clone()], &[], 100 * MS);
    let latencies =
        |told: &Told, task| -> Vec<u64> { told.done.iter().filter(|done| done.0 == task).map(|done| done.2).collect() };
    let [counted, beyond] = latencies(&alone, 0)[..] else { panic!("{alone:?}") };
    // The clock is read each microsecond at the end, and the work of ticks and of the start comes on top.
    assert!((10_003_000..10_020_000).contains(&counted), "{alone:?}");
    assert!((3_000..20_000).contains(&beyond), "{alone:?}");
    // Two that share a CPU wait for each other when their time is over.
    let two = on_one_cpu(vec![program.clone(), program], &[], 100 * MS);
    let latest = (0..2).map(|task| latencies(&two, task)[1]).max();
    assert!(latest.is_some_and(|latest| (MS..5 * MS).contains(&latest)), "{two:?}");
}

#[test]
fn who_may_no_longer_use_its_cpu_goes_on_at_another_at_once() {
    let to = |cpus| [call(Call::Affinity { cpus }), Op::Run(ns(MS)), Op::Done];
    let program = [to(Some(0)), to(Some(1)), to(None)].concat();
    let mut workload = workload(vec![program], &[], None);
    workload.cpu_sets = vec![vec![1], vec![0]];
    let mut told = Told::default();
    let out = simulate(("test-2c", "v6.1"), &workload, (1, 50 * MS), true, &mut told).expect("a run");
    assert_times(&told.times(0), &[1, 2, 3]);
    // A millisecond on CPU 1, then two on CPU 0.
    assert!((MS..MS + 100_000).contains(&out.cpus[1].work), "{out:?}");
    assert!((2 * MS..2 * MS + 100_000).contains(&out.cpus[0].work), "{out:?}");
}

#[test]
fn sleeping_until_a_time_that_is_past_takes_none() {
    let until = |ms| [call(Call::SleepUntil { at_ns: ms * MS }), Op::Done];
    let program = [Op::Run(ns(2 * MS))].into_iter().chain(until(1)).chain(until(5)).chain(until(5)).collect();
    assert_times(&on_one_cpu(vec![program], &[], 100 * MS).times(0), &[2, 5, 5]);
}

/// Who is done, in order, of two tasks that work 100 us at a time and may yield after it.
fn turns(yields: bool) -> Vec<usize> {
    let mut round = vec![Op::Run(ns(100_000)), Op::Done];
    round.extend(yields.then_some(call(Call::Yield)));
    round.push(back(0, 0));
    on_one_cpu(vec![round; 2], &[], 200 * MS).done.into_iter().map(|(task, ..)| task).collect()
}

#[test]
fn tasks_that_yield_take_turns_and_tasks_that_do_not_use_their_slices() {
    // CFS skips who yields as long as the other is not ahead by more than the wake-up granularity, 1 ms here at least.
    let same = |turns: &[usize]| turns.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let yielding = turns(true);
    assert!(yielding.len() > 1500, "{}", yielding.len());
    // The first may have run alone for a moment, and a tick may come as a task is about to yield.
    assert!(same(&yielding) * 10 < yielding.len(), "{} of {}", same(&yielding), yielding.len());
    // A slice is 1.5 ms at least: sysctl_sched_min_granularity for two CPUs, so that a switch comes each 15 rounds or
    // later.
    let not = turns(false);
    assert!(same(&not) * 10 > not.len() * 9, "{} of {}", same(&not), not.len());
}

#[test]
fn yielding_alone_takes_no_time() {
    let program = vec![Op::Run(ns(10_000)), call(Call::Yield), back(0, 1000), Op::Done];
    assert_times(&on_one_cpu(vec![program], &[], 100 * MS).times(0), &[10]);
}

#[test]
fn who_yields_for_ever_is_stopped_with_its_name() {
    let spin = vec![call(Call::Yield), back(0, 0)];
    let hog = vec![Op::Run(ns(MS)), back(0, 0)];
    let workload = workload(vec![spin, hog], &[], Some(vec![0]));
    let error = simulate(("test-1c", "v6.1"), &workload, (1, 100 * MS), true, &mut ()).expect_err("endless");
    assert!(error.to_string().starts_with("task task 0 "), "{error}");
}

/// How much of the work of two hogs on one CPU the first has done from 1 s to 5 s; it does this after 100 ms of work.
fn share(change: &[Call]) -> f64 {
    let hog = |calls: &[Call]| {
        let mut ops = vec![Op::Run(ns(10 * MS)), back(0, 10)];
        ops.extend(calls.iter().map(|&c| call(c)));
        let to = ops.len() as u32;
        ops.extend([Op::Run(ns(200_000)), Op::Done, back(to, 0)]);
        ops
    };
    let told = on_one_cpu(vec![hog(change), hog(&[])], &[], 5000 * MS);
    let of = |task| told.times(task).iter().filter(|&&time| time >= 1000 * MS).count() as f64;
    of(0) / (of(0) + of(1))
}

#[test]
fn a_change_of_nice_or_policy_changes_the_share_to_that_of_the_new_weight() {
    let shares = |change: &[Call], weight: f64| {
        let (share, due) = (share(change), weight / (weight + 1024.0));
        assert!((share - due).abs() < 0.01, "{change:?}: {share}, expected {due}");
    };
    shares(&[Call::Nice(5)], 335.0);
    shares(&[Call::Nice(-5)], 3121.0);
    shares(&[Call::IdlePolicy(true)], 3.0);
    shares(&[Call::IdlePolicy(true), Call::Nice(5), Call::IdlePolicy(false)], 335.0);
    shares(&[Call::Nice(19), Call::Nice(0)], 1024.0);
}

#[test]
fn a_transaction_that_is_interrupted_is_as_long_as_one_that_ends_its_stretch() {
    // `Wait` without children takes no time and ends the stretch; ticks and another task interrupt it.
    let latencies = |more: &[Op]| {
        let mut ops = vec![Op::Begin, Op::Run(ns(700_000)), Op::Done];
        ops.extend(more);
        ops.extend([Op::Run(ns(12_500_000)), Op::Wait, back(0, 0)]);
        let hog = vec![Op::Run(ns(MS)), back(0, 0)];
        let workload =
            watched::workload(vec![ops, hog], vec![(0, vec![], vec![0], false), (1, vec![], vec![0], false)]);
        let run = Run { machine: "test-1c", ..Run::on_8_cpus(&workload) };
        let events = watch(&run, 300 * MS, |_| {});
        let latencies = events.iter().filter_map(|(_, event)| match event {
            Event::Done { latency, .. } => Some(*latency),
            _ => None,
        });
        latencies.collect::<Vec<_>>()
    };
    let (open, closed) = (latencies(&[]), latencies(&[Op::Wait]));
    assert!(open.len() > 5);
    assert!(open.iter().zip(&closed).all(|(a, b)| a.abs_diff(*b) <= 2), "{open:?} {closed:?}");
}
