//! When a CPU is seen as idle, and what it notes of its idle time.

use crate::support::ns;
use crate::support::watched::{Run, netperf, watch, workload};
use wakelab_events::sim::Event;
use wakelab_kernel::Preset;
use wakelab_sched::cpumask::Cpu;
use wakelab_sim::observe::Doing;
use wakelab_workload::Op;

#[test]
fn a_cpu_that_switches_to_idle_is_seen_as_idle_already() {
    let workload = netperf("test-8c", 2);
    let mut seen = 0;
    watch(&Run::on_8_cpus(&workload), 2_000_000, |snapshot| {
        for c in snapshot.cpus() {
            if matches!(c.doing, Doing::Switch(_)) && c.curr.is_none() && c.nr_running == 0 {
                assert!(c.available_idle, "CPU {} at {}", c.cpu, snapshot.now());
                seen += 1;
            }
        }
    });
    assert!(seen > 0);
}

/// How often a CPU that enqueues its wakelist and has nothing else to run was seen as idle, and how often it was looked
/// at.
fn idle_while_flushing(pending_until_enqueued: bool) -> (u32, u32) {
    let workload = netperf("test-2llc", 6);
    let run = Run {
        machine: "test-2llc",
        kernel: "v6.1",
        pending_until_enqueued: Some(pending_until_enqueued),
        ..Run::on_8_cpus(&workload)
    };
    let (mut idle, mut seen) = (0, 0);
    watch(&run, 3_000_000, |snapshot| {
        for c in snapshot.cpus() {
            if c.doing == Doing::WakelistFlush && c.curr_idle && c.wakelist == 0 && c.nr_running == 0 {
                assert!(c.lock_free >= snapshot.now(), "it has the lock");
                seen += 1;
                idle += u32::from(c.available_idle);
            }
        }
    });
    (idle, seen)
}

#[test]
fn a_wakelist_is_pending_until_it_is_enqueued_since_6_2_and_until_it_is_taken_before() {
    let (idle, seen) = idle_while_flushing(false);
    assert!(seen > 0);
    // Except while the next task is already on its way to the list.
    assert!(idle * 100 > seen * 99, "{idle} of {seen}");
    let (idle, seen) = idle_while_flushing(true);
    assert!(seen > 0);
    assert_eq!(idle, 0);
}

#[test]
fn a_woken_cpu_leaves_idle_while_the_waker_has_the_lock() {
    let workload = netperf("test-8c", 2);
    let mut seen = 0;
    watch(&Run::on_8_cpus(&workload), 2_000_000, |snapshot| {
        for c in snapshot.cpus() {
            if let Doing::EnqueueEnd(waking) = c.doing {
                seen += u32::from(snapshot.cpu(waking.dest).doing == Doing::IdleExit);
            }
        }
    });
    assert!(seen > 0);
}

#[test]
fn a_tick_in_idle_that_balances_takes_the_time_of_its_passes() {
    // CPU 0 runs a task for a millisecond. Its next tick finds it idle, and stops.
    let workload =
        workload(vec![vec![Op::Run(ns(1_000_000)), Op::Sleep(ns(60_000_000))]], vec![(0, vec![], vec![0], false)]);
    let tick = Preset::get("v5.19-rc1").expect("a preset").hz.tick_ns();
    let events = watch(&Run::on_8_cpus(&workload), 40_000_000, |_| {});
    let costs = &wakelab_machine::get("test-8c").expect("a machine").costs;
    let pass = |weight| costs.balance.value + costs.balance_cpu.value * weight;
    // Of its domains, those of SMT (2 CPUs) and MC (8 CPUs), at least the first is due.
    let least = costs.idle_exit.value + costs.idle_entry.value + pass(2);
    // The sibling's tick comes at the same moment, and each of the two slows the other.
    let most = 2 * (least + pass(8));
    let of_cpu_0: Vec<_> = events
        .iter()
        .filter_map(|&(time, event)| match event {
            Event::Idle { cpu: 0, entered } => Some((time, entered)),
            _ => None,
        })
        .collect();
    let passes: Vec<_> = of_cpu_0
        .windows(2)
        .filter(|pair| !pair[0].1 && pair[0].0 != 0 && pair[0].0 % tick == 0)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect();
    assert_eq!(passes.len(), 1, "{of_cpu_0:?}");
    assert!((least..=most).contains(&passes[0]), "{passes:?} of {least} to {most}");
}

#[test]
fn a_cpu_with_idle_policy_tasks_only_is_found_by_the_scan() {
    // CPUs 2 to 7 have hogs of SCHED_IDLE, CPUs 0 and 1 a normal one; two tasks that may run anywhere sleep and wake.
    let hog = vec![Op::Run(ns(1_000_000)), Op::Repeat { to: 0, times: None }];
    let sleeper = vec![Op::Run(ns(20_000)), Op::Sleep(ns(30_000)), Op::Repeat { to: 0, times: None }];
    let mut tasks: Vec<_> = (2..8).map(|cpu| (0, vec![], vec![cpu], true)).collect();
    tasks.extend([(0, vec![], vec![0], false), (0, vec![], vec![1], false)]);
    let sleepers = (0..2).map(|_| (1, vec![], (0..8).collect::<Vec<Cpu>>(), false));
    tasks.extend(sleepers);
    let workload = workload(vec![hog, sleeper], tasks);
    let mut seen = 0;
    let events = watch(&Run::on_8_cpus(&workload), 5_000_000, |snapshot| {
        for c in snapshot.cpus() {
            let only_idle_policy = c.nr_running != 0 && c.nr_running == c.nr_idle;
            assert_eq!(c.sched_idle, Some(only_idle_policy), "CPU {} at {}", c.cpu, snapshot.now());
            seen += u32::from(only_idle_policy);
        }
    });
    assert!(seen > 0);
    let wakeups: Vec<_> = events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Wakeup { decision: Some(decision), cpu, .. } => Some((decision.reason.is_failed_search(), *cpu)),
            _ => None,
        })
        .collect();
    assert!(wakeups.len() > 10, "{}", wakeups.len());
    assert!(wakeups.iter().all(|&(failed, cpu)| !failed && cpu > 1), "{wakeups:?}");
}

#[test]
fn avg_idle_is_updated_at_the_wake_up_or_since_7_2_at_the_switch() {
    let again = Op::Repeat { to: 0, times: None };
    let woken = vec![Op::Recv { channel: 0 }, Op::Run(ns(20_000)), again];
    let waker = vec![Op::Sleep(ns(120_000)), Op::Send { channel: 0, sync: false }, again];
    let tasks = vec![(0, vec![0], vec![0], false), (1, vec![0], vec![1], false)];
    let workload = workload(vec![woken, waker], tasks);
    for preset in Preset::all() {
        let (kernel, at_switch) = (preset.name, preset.code.avg_idle_at_switch);
        // Without the wakelist the waker enqueues the task itself, before the CPU is awake.
        let switches = "NO_TTWU_QUEUE";
        let run = Run { machine: "test-2c", kernel, switches, workload: &workload, pending_until_enqueued: None };
        let (mut before, mut updates, mut woken) = ((0, 2_000_000), 0, 0);
        watch(&run, 2_000_000, |snapshot| {
            let (c, now) = (snapshot.cpu(0), snapshot.now());
            // Before 7.2 idle time that ends with a fork is not counted.
            let forked = now < 100_000;
            // The CPU has a task, and its current task is the idle task still.
            let on_its_way = c.nr_running != 0 && c.curr_idle && !forked;
            woken += u32::from(on_its_way);
            assert!(!on_its_way || (c.idle_stamp != 0) == at_switch, "{kernel} at {now}");
            assert!(c.curr_idle || c.nr_running == 0 || c.idle_stamp == 0 || forked, "{kernel} at {now}");
            let after = (c.idle_stamp, c.avg_idle);
            if before.0 != 0 && after.0 == 0 && after.1 != before.1 {
                updates += 1;
                // update_avg(): an eighth of the difference. 120 us between wake-ups, less 20 us of work.
                let idle = (before.1 as i64 + 8 * (after.1 as i64 - before.1 as i64)) as u64;
                assert!((90_000..130_000).contains(&idle) || updates == 1, "{kernel}: {idle}");
            }
            before = after;
        });
        assert!(updates > 10 && woken > 10, "{kernel}: {updates}, {woken}");
    }
}
