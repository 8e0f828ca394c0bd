//! Which events [`Measure`] counts, and which numbers follow from them.

use crate::support::{End, MS, done, idle_scan, migrate, wakeup};
use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_measure::{Bucket, Measure, RunStats};

/// Measures [100, 200) on 4 CPUs.
fn measured(events: &[(u64, Event)]) -> RunStats {
    let mut measure = Measure::new(7, 100, 200, 4);
    events.iter().for_each(|(time, event)| measure.event(*time, event));
    measure.finish(200)
}

#[test]
fn only_events_of_the_measured_time_count() {
    let all: Vec<(u64, Event)> = [99, 100, 199, 200]
        .into_iter()
        .flat_map(|time| [wakeup(End::Fast), done(10), migrate(), idle_scan(512, 1)].map(|event| (time, event)))
        .collect();
    let stats = measured(&all);
    assert_eq!((stats.wakeups, stats.done, stats.migrations, stats.search.sis_search), (2, 2, 2, 2));
    assert_eq!((stats.seed, stats.measured_ns), (7, 100));
    assert_eq!(stats.llc_util, Some(0.5));
}

#[test]
fn searches_of_the_background_count_but_its_wakeups_do_not() {
    let mut background = wakeup(End::Found(5));
    if let Event::Wakeup { workload, .. } = &mut background {
        *workload = false;
    }
    let stats = measured(&[(150, background), (150, wakeup(End::Failed))]);
    assert_eq!(stats.wakeups, 1);
    let search = stats.search;
    assert_eq!((search.sis_search, search.sis_domain_search, search.sis_scanned, search.sis_failed), (2, 2, 8, 1));
}

/// As rt-app logs them: slack is negative where the next period had begun.
#[test]
fn periods_have_slack_and_those_that_are_late_are_missed() {
    let period = |time, task, slack_ns| (time, Event::Period { task, thread: task - 3, slack_ns });
    let runs = |time, next| (time, Event::Switch { cpu: 0, prev: None, prev_sleeps: true, next: Some(next) });
    let mut woken = wakeup(End::Fast);
    if let Event::Wakeup { wakee, began, .. } = &mut woken {
        (*wakee, *began) = (4, 140);
    }
    let all = [
        period(99, 4, 1_000),
        period(120, 4, 30),
        period(130, 5, -20),
        (145, woken),
        runs(150, 4),
        period(160, 4, -10),
        period(200, 4, 1_000),
    ];
    let stats = measured(&all);
    let [one, other] = &stats.threads[..] else { panic!("{:?}", stats.threads) };
    assert_eq!((one.thread, one.periods, one.missed, one.slack_mean_ns, one.slack_min_ns), (1, 2, 1, 10.0, -10));
    assert_eq!((one.wakeup_latency.n, one.wakeup_latency.max), (1, 10));
    assert_eq!((other.thread, other.periods, other.missed, other.slack_min_ns), (2, 1, 1, -20));
    assert_eq!((other.wakeup_latency.n, stats.metric("missed_periods")), (0, 100.0 * (2.0 / 3.0)));
    assert_eq!(stats.metric("slack_mean"), 0.0);
}

#[test]
fn the_span_is_from_the_first_begin_to_the_end() {
    assert_eq!(measured(&[(150, done(10)), (160, done(45)), (199, done(50))]).span_ns, Some(200 - 115));
    assert_eq!(measured(&[(99, done(10))]).span_ns, None);
}

#[test]
fn a_wakeup_on_its_own_cpu_is_not_a_search() {
    let mut event = wakeup(End::Fast);
    if let Event::Wakeup { decision, queued, .. } = &mut event {
        (*decision, *queued) = (None, Queued::OnCpu);
    }
    let stats = measured(&[(150, event)]);
    assert_eq!((stats.wakeups, stats.wakeups_on_cpu, stats.search.sis_search), (1, 1, 0));
    assert_eq!(stats.cpu_ns_per_wakeup, 0.0);
}

#[test]
fn claimed_choices_are_counted() {
    let mut event = wakeup(End::Found(3));
    if let Event::Wakeup { claimed, .. } = &mut event {
        *claimed = true;
    }
    assert_eq!(measured(&[(150, event), (160, wakeup(End::Fast))]).wakeups_claimed, 1);
}

#[test]
fn a_scan_lasts_to_its_last_probe_and_not_to_the_choice() {
    let mut event = wakeup(End::Found(3));
    if let Event::Wakeup { scan_began, scan_ended, .. } = &mut event {
        (*scan_began, *scan_ended) = (Some(123), Some(130));
    }
    let stats = measured(&[(150, event), (160, wakeup(End::Fast))]);
    assert_eq!(stats.select_idle_cpu_ns, [Bucket { from: 4, below: 8, count: 1 }]);
}

#[test]
fn cpu_time_is_shared_among_searches() {
    let stats = measured(&[(150, wakeup(End::Fast)), (151, wakeup(End::Fast))]);
    assert_eq!(stats.cpu_ns_per_wakeup, 4.0 * 100.0 / 2.0);
}

/// Wakes a task at `began` on its way to CPU 0, and switches CPU 0 to it at `runs`.
fn woken(wakee: u32, woken_at: u64, runs: u64, of_workload: bool) -> [(u64, Event); 2] {
    let mut event = wakeup(End::Fast);
    if let Event::Wakeup { wakee: task, began, workload, .. } = &mut event {
        (*task, *began, *workload) = (wakee, woken_at, of_workload);
    }
    [(woken_at, event), (runs, Event::Switch { cpu: 0, prev: None, prev_sleeps: true, next: Some(wakee) })]
}

#[test]
fn a_wakeup_lasts_from_its_begin_to_the_switch_to_the_wakee() {
    let mut events = woken(5, 110, 117, true).to_vec();
    // A switch without a wake-up before it, as after a preemption, ends none.
    events.push((130, Event::Switch { cpu: 1, prev: None, prev_sleeps: true, next: Some(5) }));
    events.extend(woken(2, 140, 143, true));
    events.extend(woken(3, 150, 190, false));
    events.extend(woken(4, 195, 205, true));
    let stats = measured(&events);
    let latency = stats.wakeup_latency;
    assert_eq!((latency.n, latency.p50, latency.max, latency.mean), (2, 3, 7, 5.0));
    // CPU 0 never goes idle again after 117, nor CPU 1 after 130.
    assert_eq!(stats.busy_ns_per_wakeup, Some((83.0 + 70.0) / 3.0));
    assert_eq!(measured(&[]).busy_ns_per_wakeup, None);
}

#[test]
fn latencies_have_three_digits_and_their_mean_is_exact() {
    let events: Vec<(u64, Event)> = (1..=1000).map(|n| (150, done(n * 1000))).collect();
    let latency = measured(&events).latency;
    assert_eq!((latency.n, latency.mean, latency.max), (1000, 500_500.0, 1_000_000));
    for permille in [500, 750, 900, 950, 990, 995, 999] {
        let (value, expected) = (latency.at(permille).unwrap(), u64::from(permille) * 1000);
        assert!(value.abs_diff(expected) * 1000 <= expected, "{value} for {expected}");
    }
}

#[test]
fn no_percentile_is_above_the_longest() {
    let latency = measured(&[(150, done(1_000_001))]).latency;
    assert_eq!((latency.p50, latency.p99, latency.max), (1_000_001, 1_000_001, 1_000_001));
}

#[test]
fn a_frame_misses_if_it_takes_longer_than_16_ms() {
    let events: Vec<_> = [1, 15_999_999, 16_000_000, 16_000_001, 40_000_000].map(|ns| (150, done(ns))).into();
    assert_eq!(measured(&events).latency.missed_16ms, 2);
}

#[test]
fn without_a_transaction_there_is_no_latency() {
    assert_eq!(measured(&[]).latency, wakelab_measure::Latency::default());
    assert_eq!(measured(&[]).llc_util, None);
}

#[test]
fn a_run_that_ended_early_was_measured_to_its_end() {
    assert_eq!(Measure::new(0, 100, 200, 1).finish(130).measured_ns, 30);
    assert_eq!(Measure::new(0, 100, 200, 1).finish(50).measured_ns, 0);
    assert_eq!(Measure::new(0, 100, 200, 1).finish(300 * MS).measured_ns, 100);
}

#[test]
fn utilisation_is_of_all_cpus_of_all_balances() {
    let stats = measured(&[(110, idle_scan(1024, 2)), (120, idle_scan(2048, 2))]);
    assert_eq!(stats.llc_util, Some(0.75));
}

/// CPU 0 runs [90, 150), CPU 1 [160, 170) and [180, 210), CPU 2 never, CPU 3 from before the measured time to after it.
/// A switch from task to task is not idle time.
#[test]
fn idle_time_is_that_between_switches_within_the_measured_time() {
    let switch = |cpu, prev, next| Event::Switch { cpu, prev, prev_sleeps: true, next };
    let events = [
        (50, switch(3, None, Some(9))),
        (90, switch(0, None, Some(1))),
        (150, switch(0, Some(1), None)),
        (160, switch(1, None, Some(1))),
        (165, switch(1, Some(1), Some(2))),
        (170, switch(1, Some(2), None)),
        (180, switch(1, None, Some(1))),
        (190, switch(3, Some(9), Some(8))),
    ];
    // 50 + (60 + 10) + 100 + 0 of 400.
    assert_eq!(measured(&events).idle_pct, 100.0 * 220.0 / 400.0);
    // A run that ended earlier.
    assert_eq!(Measure::new(7, 100, 200, 4).finish(150).idle_pct, 100.0);
    assert_eq!(Measure::new(7, 100, 200, 4).finish(100).idle_pct, 0.0);
}

/// A CPU whose task is moved away while it runs switches from nobody. If it has nothing else to run it is idle from
/// then on, as after any switch to idle; what it does before that switch, as the stopper, is busy time.
#[test]
fn a_cpu_whose_task_was_moved_away_idles_from_its_switch_on() {
    let switch = |cpu, prev, next| Event::Switch { cpu, prev, prev_sleeps: false, next };
    let moves = |task, from, to| Event::Migrate { task, from, to };
    let events = [
        (50, switch(0, None, Some(1))),
        (120, moves(1, 0, 1)),
        (125, switch(0, None, None)),
        (125, switch(1, None, Some(1))),
        (160, switch(0, None, Some(2))),
        (165, moves(2, 0, 2)),
        (170, switch(0, None, Some(3))),
        // A CPU that was asked to schedule and finds nothing stays idle.
        (180, switch(2, None, None)),
    ];
    // CPU 0 idles for 35 ns, CPU 1 for 25, the others for all of 100.
    assert_eq!(measured(&events).idle_pct, 100.0 * 260.0 / 400.0);
}

/// Tasks that wait for a CPU all the time, from 100 to 200 ns.
#[test]
fn tasks_that_get_no_cpu_in_the_measured_time_are_counted() {
    let switch = |prev, prev_sleeps, next| Event::Switch { cpu: 0, prev, prev_sleeps, next };
    let queued = |task| Event::Enqueue { cpu: 0, task };
    let events = [
        (10, queued(1)),
        (20, switch(None, false, Some(1))),
        // It is preempted before the measured time, and has no other turn.
        (60, switch(Some(1), false, Some(2))),
        (70, queued(3)),
        // Task 4 runs from before that time into it, and is moved to where it waits.
        (80, Event::Switch { cpu: 1, prev: None, prev_sleeps: false, next: Some(4) }),
        (90, switch(Some(2), false, Some(7))),
        (110, switch(Some(7), false, Some(2))),
        (130, Event::Migrate { task: 4, from: 1, to: 0 }),
        // Task 5 is forked in it, and has waited for half of it; task 6 has not; task 7 has run before.
        (140, queued(5)),
        (160, queued(6)),
    ];
    let mut measure = Measure::new(7, 100, 200, 4);
    events.iter().for_each(|(time, event)| measure.event(*time, event));
    let names: Vec<String> = (0..8).map(|task| format!("t{task}")).collect();
    let waiting = |tasks: &'static [u32]| tasks.iter().map(|&task| (task, names[task as usize].as_str()));
    let never_ran = measure.never_ran(200, 9, waiting(&[1, 3, 4, 5, 6, 7]));
    assert_eq!((never_ran.count, never_ran.of), (3, 9));
    assert_eq!(never_ran.names, ["t1", "t3", "t5"]);
    // Task 3 sleeps by now; and nothing is measured before the settle time is over.
    assert_eq!(measure.never_ran(200, 9, waiting(&[1])).names, ["t1"]);
    assert_eq!(measure.never_ran(90, 9, waiting(&[1, 3])).count, 0);
}

/// Of four CPUs in 100 ns, one is busy all the time and one for 60 ns.
#[test]
fn waits_for_locks_are_a_share_of_the_time_that_is_not_idle() {
    let switch = |cpu, prev, next| Event::Switch { cpu, prev, prev_sleeps: true, next };
    let wait = |ns| Event::LockWait { rq: 0, ns };
    let events = [
        (50, switch(3, None, Some(9))),
        (90, switch(0, None, Some(1))),
        (95, wait(1000)),
        (110, wait(12)),
        (120, wait(4)),
        (160, switch(0, Some(1), None)),
    ];
    assert_eq!(measured(&events).rq_lock_pct, 100.0 * 16.0 / 160.0);
    assert_eq!(measured(&[]).rq_lock_pct, 0.0);
}

#[test]
fn a_switch_from_a_task_that_can_still_run_is_involuntary() {
    let switch = |prev, prev_sleeps| Event::Switch { cpu: 0, prev, prev_sleeps, next: Some(7) };
    let events = [
        (99, switch(Some(1), false)),
        (110, switch(Some(1), false)),
        (120, switch(Some(2), true)),
        (130, switch(Some(3), true)),
        (140, switch(None, false)),
    ];
    let stats = measured(&events);
    assert_eq!((stats.switches_voluntary, stats.switches_involuntary), (2, 1));
}

/// What ran in the measured time, from 100 to 200 ns, and whether `nr_idle_scan` was below the CPUs of its LLC then.
#[test]
fn activity_is_that_of_the_measured_time() {
    let scan = |nr| Event::IdleScan { llc: 0, sum_util: 0, weight: 8, nr_idle_scan: Some(nr) };
    let queued = |task| Event::Enqueue { cpu: 0, task };
    let switch = |prev, next| Event::Switch { cpu: 0, prev, prev_sleeps: true, next };
    let fork = Event::Fork { task: 9, workload: true };
    // A task joins a CPU that runs one; the next finds it idle.
    let queues = [(110, queued(1)), (120, switch(None, Some(1))), (130, queued(2)), (140, switch(Some(1), None))];
    let all = [(20, queued(7)), (30, switch(None, None)), (50, scan(3)), (90, fork), (95, wakeup(End::Failed))];
    let all: Vec<(u64, Event)> = all.into_iter().chain(queues).chain([(150, queued(3)), (160, fork)]).collect();
    let activity = measured(&all).activity;
    assert_eq!((activity.decisions, activity.forks, activity.queued_behind), (0, 1, 1));
    assert_eq!((activity.idle_scans, activity.idle_scans_before, activity.idle_scans_below), (0, 1, 1));
    let full = measured(&[(50, scan(3)), (60, scan(8)), (150, scan(8))]).activity;
    assert_eq!((full.idle_scans, full.idle_scans_before, full.idle_scans_below), (1, 2, 0));
    let woken = measured(&[(150, wakeup(End::Failed)), (160, wakeup(End::Fast)), (250, wakeup(End::Fast))]).activity;
    assert_eq!((woken.decisions, woken.reasons.iter().sum::<u64>()), (2, 2));
}
