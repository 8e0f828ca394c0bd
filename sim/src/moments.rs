//! What the system looks like at a moment in the middle of things.

use crate::cpu::Doing;
use crate::engine::Sim;
use crate::model::{Model, domains};
use crate::{Mechanisms, Setup};
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_sched::cpumask::Cpu;
use wakelab_workload::{Channel, Load, Op, Program, Task, Work, Workload, build};

/// Keeps all events.
#[derive(Default)]
struct Kept(Vec<(u64, Event)>);

impl Sink for Kept {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.0.push((time, *event));
    }
}

/// What is run.
struct Run<'a> {
    machine: &'a str,
    kernel: &'a str,
    switches: &'a str,
    workload: &'a Workload,
    pending_until_enqueued: Option<bool>,
}

impl<'a> Run<'a> {
    /// On 8 CPUs of v5.19-rc1, as it is.
    fn usual(workload: &'a Workload) -> Self {
        Run { machine: "test-8c", kernel: "v5.19-rc1", switches: "", workload, pending_until_enqueued: None }
    }
}

/// Looks at the system every 20 ns of `until` ns (or every microsecond, if that is long), and gives the events.
fn watch(run: &Run<'_>, until: u64, mut look: impl FnMut(&Sim<'_, '_, Kept>)) -> Vec<(u64, Event)> {
    let machine = wakelab_machine::get(run.machine).unwrap();
    let mut kernel = Preset::get(run.kernel).unwrap().clone();
    kernel.code.pending_until_enqueued = run.pending_until_enqueued.unwrap_or(kernel.code.pending_until_enqueued);
    let setup = Setup {
        machine: &machine,
        kernel: &kernel,
        features: run.switches.parse::<Switches>().unwrap().on(kernel.features),
        workload: run.workload,
        seed: 1,
        until,
        mechanisms: Mechanisms { noise: false, ..Mechanisms::default() },
        observer_cost: 0,
        pm: None,
    };
    let domains = domains(setup.machine, setup.kernel).unwrap();
    let model = Model::new(&setup, &domains).unwrap();
    let mut sink = Kept::default();
    let mut sim = Sim::new(&model, &setup, &mut sink);
    for time in (0..until).step_by(if until > 10_000_000 { 1000 } else { 20 }) {
        sim.advance(time, &AtomicBool::new(false)).unwrap();
        look(&sim);
    }
    sink.0
}

fn netperf(machine: &str, pairs: u32) -> Workload {
    let nr_cpus = wakelab_machine::get(machine).unwrap().topology.nr_cpus();
    let options = [("ramp".to_owned(), 100_000)].into();
    build("netperf:TCP_RR", Load::Instances(pairs), nr_cpus, &options).unwrap()
}

fn workload(programs: Vec<Vec<Op>>, tasks: Vec<(u32, Vec<u32>, Vec<u32>, bool)>) -> Workload {
    let mut workload = netperf("test-1c", 1);
    workload.programs = (0..).zip(programs).map(|(n, ops)| Program { name: format!("program {n}"), ops }).collect();
    workload.channels = (0..4).map(|n| Channel { name: format!("channel {n}"), capacity: 2 }).collect();
    let task = |(program, channels, cpus, idle_policy)| Task {
        name: "task".into(),
        program,
        channels,
        start_ns: 0,
        nice: 0,
        idle_policy,
        slice_ns: 0,
        affinity: Some(cpus),
    };
    workload.tasks = tasks.into_iter().map(task).collect();
    workload
}

fn ns(ns: u64) -> Work {
    Work { ns, jitter_pct: 0 }
}

#[test]
fn a_cpu_that_switches_to_idle_looks_idle_already() {
    let workload = netperf("test-8c", 2);
    let run = Run::usual(&workload);
    let mut seen = 0;
    watch(&run, 2_000_000, |sim| {
        for (cpu, c) in (0..).zip(&sim.sys.cpus) {
            if matches!(c.doing, Doing::Switch(_)) && c.curr.is_none() && c.nr_running == 0 {
                assert!(sim.sys.idle.test(cpu), "CPU {cpu} at {}", sim.sys.now);
                seen += 1;
            }
        }
    });
    assert!(seen > 0);
}

/// How often a CPU that enqueues its wakelist with nothing else to run looked idle, and how often it was seen.
fn idle_while_flushing(pending_until_enqueued: bool) -> (u32, u32) {
    let workload = netperf("test-2llc", 6);
    let run = Run {
        machine: "test-2llc",
        kernel: "v6.1",
        pending_until_enqueued: Some(pending_until_enqueued),
        ..Run::usual(&workload)
    };
    let (mut idle, mut seen) = (0, 0);
    watch(&run, 3_000_000, |sim| {
        for (cpu, c) in (0..).zip(&sim.sys.cpus) {
            if c.doing == Doing::WakelistFlush && c.curr_idle && c.wakelist.is_empty() && c.nr_running == 0 {
                assert!(c.lock_free >= sim.sys.now, "it has the lock");
                seen += 1;
                idle += u32::from(sim.sys.idle.test(cpu));
            }
        }
    });
    (idle, seen)
}

#[test]
fn a_wakelist_is_pending_until_its_end_since_6_2_and_before_up_to_its_beginning() {
    let (idle, seen) = idle_while_flushing(false);
    assert!(seen > 0);
    // But where the next task is on its way to the list already.
    assert!(idle * 100 > seen * 99, "{idle} of {seen}");
    let (idle, seen) = idle_while_flushing(true);
    assert!(seen > 0);
    assert_eq!(idle, 0);
}

#[test]
fn a_woken_cpu_leaves_idle_while_the_waker_has_the_lock() {
    let workload = netperf("test-8c", 2);
    let run = Run::usual(&workload);
    let mut seen = 0;
    watch(&run, 2_000_000, |sim| {
        for c in sim.sys.cpus.iter().filter(|c| c.doing == Doing::EnqueueEnd) {
            let dest = c.waking.map_or(0, |waking| waking.dest);
            seen += u32::from(sim.sys.cpus[dest as usize].doing == Doing::IdleExit);
        }
    });
    assert!(seen > 0);
}

#[test]
fn a_cpu_with_idle_policy_tasks_only_is_found_by_the_walk() {
    // CPUs 1 to 7 have hogs of SCHED_IDLE, CPUs 0 and 1 a normal one; a task sleeps and wakes there, and elsewhere if let.
    let hog = vec![Op::Run(ns(1_000_000)), Op::Repeat { to: 0, times: None }];
    let sleeper = vec![Op::Run(ns(20_000)), Op::Sleep(ns(30_000)), Op::Repeat { to: 0, times: None }];
    let mut tasks: Vec<_> = (2..8).map(|cpu| (0, vec![], vec![cpu], true)).collect();
    tasks.extend([(0, vec![], vec![0], false), (0, vec![], vec![1], false)]);
    let sleepers = (0..2).map(|_| (1, vec![], (0..8).collect::<Vec<Cpu>>(), false));
    tasks.extend(sleepers);
    let workload = workload(vec![hog, sleeper], tasks);
    let run = Run::usual(&workload);
    let mut masks = 0;
    let events = watch(&run, 5_000_000, |sim| {
        let mask = sim.sys.sched_idle.as_ref().unwrap();
        for (cpu, c) in (0..).zip(&sim.sys.cpus) {
            assert_eq!(mask.test(cpu), c.rq.sched_idle(), "CPU {cpu} at {}", sim.sys.now);
            masks += u32::from(mask.test(cpu));
        }
    });
    assert!(masks > 0);
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
fn the_utilisation_of_an_llc_is_told_with_sis_util_off_too() {
    let workload = netperf("test-8c", 8);
    for (switches, on) in [("NO_SIS_UTIL", false), ("SIS_UTIL", true)] {
        let run = Run { switches, ..Run::usual(&workload) };
        let mut scans = 0;
        for (_, event) in watch(&run, 400_000_000, |_| {}) {
            if let Event::IdleScan { nr_idle_scan, .. } = event {
                assert_eq!(nr_idle_scan.is_some(), on);
                scans += 1;
            }
        }
        assert!(scans > 0, "{switches}");
    }
}

#[test]
fn going_idle_brings_the_next_balance_forward() {
    let workload = netperf("test-8c", 5);
    let run = Run::usual(&workload);
    let mut seen = 0;
    watch(&run, 300_000_000, |sim| {
        for c in sim.sys.cpus.iter().filter(|c| matches!(c.doing, Doing::Switch(_)) && c.curr.is_none()) {
            // Each domain's next balance by its idle interval, of which the latest is 16 ms: 8 CPUs, doubled.
            assert!(c.next_balance <= sim.sys.jiffies.max(c.sd.iter().map(|sd| sd.last_balance).max().unwrap() + 16));
            seen += 1;
        }
    });
    assert!(seen > 0);
}

#[test]
fn a_transaction_that_is_interrupted_is_as_long_as_one_that_ends_its_stretch() {
    // `Wait` without children takes no time and ends the stretch; ticks and another task interrupt it.
    let after = |more: &[Op]| {
        let mut ops = vec![Op::Begin, Op::Run(ns(700_000)), Op::Done];
        ops.extend(more);
        ops.extend([Op::Run(ns(12_500_000)), Op::Wait, Op::Repeat { to: 0, times: None }]);
        let hog = vec![Op::Run(ns(1_000_000)), Op::Repeat { to: 0, times: None }];
        let workload = workload(vec![ops, hog], vec![(0, vec![], vec![0], false), (1, vec![], vec![0], false)]);
        let run = Run { machine: "test-1c", ..Run::usual(&workload) };
        let events = watch(&run, 300_000_000, |_| {});
        let latencies = events.iter().filter_map(|(_, event)| match event {
            Event::Done { latency, .. } => Some(*latency),
            _ => None,
        });
        latencies.collect::<Vec<_>>()
    };
    let (open, closed) = (after(&[]), after(&[Op::Wait]));
    assert!(open.len() > 5);
    assert!(open.iter().zip(&closed).all(|(a, b)| a.abs_diff(*b) <= 2), "{open:?} {closed:?}");
}

#[test]
fn what_exited_tasks_had_goes_off_their_run_queue() {
    // A child runs 200 ms and exits: of its 1024 or so nothing is left, though only 2 ms have gone by.
    let parent = vec![Op::Fork { program: 1 }, Op::Wait, Op::Run(ns(2_000_000)), Op::Exit];
    let child = vec![Op::Run(ns(200_000_000)), Op::Exit];
    let workload = workload(vec![parent, child], vec![(0, vec![], vec![0], false)]);
    let run = Run { machine: "test-1c", ..Run::usual(&workload) };
    let mut last = None;
    watch(&run, 203_500_000, |sim| {
        let c = &sim.sys.cpus[0];
        if sim.sys.now > 202_000_000 {
            last = Some(c.pelt.avg.util_avg);
        }
    });
    assert!(last.unwrap() < 120, "{last:?}");
}

#[test]
fn the_last_balances_lie_as_far_back_as_busy_cpus_leave_them() {
    let workload = netperf("intel-1s56c112t", 1);
    let run = Run { machine: "intel-1s56c112t", ..Run::usual(&workload) };
    watch(&run, 20, |sim| {
        let back = sim.sys.cpus.iter().map(|c| sim.sys.jiffies - c.sd[1].last_balance).max();
        // 28 jiffies idle, 16 times that busy.
        assert!(back.unwrap() > 300, "{back:?}");
    });
}

#[test]
fn idle_time_is_taken_note_of_at_the_wakeup_or_at_the_switch() {
    let work = |ns| Work { ns, jitter_pct: 0 };
    let again = Op::Repeat { to: 0, times: None };
    let woken = vec![Op::Recv { channel: 0 }, Op::Run(work(20_000)), again];
    let waker = vec![Op::Sleep(work(120_000)), Op::Send { channel: 0, sync: false }, again];
    let tasks = vec![(0, vec![0], vec![0], false), (1, vec![0], vec![1], false)];
    let from_afar = workload(vec![woken, waker], tasks);
    for (kernel, at_switch) in [("v5.10", false), ("v6.1", false), ("v6.12", false), ("v7.2", true), ("v7.3", true)] {
        // Without the wakelist the waker puts the task there, before the CPU is awake.
        let switches = "NO_TTWU_QUEUE";
        let run = Run { machine: "test-2c", kernel, switches, workload: &from_afar, pending_until_enqueued: None };
        // Whether the CPU has a task and still looks idle by its current one, the stamp, and the average.
        let (mut before, mut noted, mut woken) = ((0, 2_000_000), 0, 0);
        watch(&run, 2_000_000, |sim| {
            let c = &sim.sys.cpus[0];
            // Before 7.2 idle time that ends with a fork is not taken note of.
            let forked = sim.sys.now < 100_000;
            let on_its_way = c.nr_running != 0 && c.curr_idle && !forked;
            woken += u32::from(on_its_way);
            assert!(!on_its_way || (c.idle_stamp != 0) == at_switch, "{kernel} at {}", sim.sys.now);
            assert!(c.curr_idle || c.nr_running == 0 || c.idle_stamp == 0 || forked, "{kernel} at {}", sim.sys.now);
            let now = (c.idle_stamp, c.avg_idle);
            if before.0 != 0 && now.0 == 0 && now.1 != before.1 {
                noted += 1;
                // update_avg(): an eighth of the difference. 120 us between wake-ups, less 20 us of work.
                let idle = (before.1 as i64 + 8 * (now.1 as i64 - before.1 as i64)) as u64;
                assert!((90_000..130_000).contains(&idle) || noted == 1, "{kernel}: {idle}");
            }
            before = now;
        });
        assert!(noted > 10 && woken > 10, "{kernel}: {noted}, {woken}");
    }
}
