//! What keeps CPUs from deep sleep, and what leaving it takes.

use crate::support::MS;
use crate::support::power::{outcome, periodic, setup, side};
use wakelab_machine::Machine;
use wakelab_pm::power::PowerStats;
use wakelab_sim::observe::observe;
use wakelab_sim::{Mechanisms, PmSide, run_dyn};
use wakelab_workload::{Call, Op, Program, Task, Work, Workload};

fn sandy_bridge() -> Machine {
    wakelab_machine::get("i7-2600k").unwrap()
}

fn power(machine: &Machine, kernel: &str, workload: &Workload) -> PowerStats {
    let pm = PmSide { measured_from: 100 * MS, ..side("performance") };
    let mut setup = setup(machine, kernel, workload, Some(pm));
    setup.mechanisms = Mechanisms { smt: false, ..setup.mechanisms };
    outcome(&setup).power.unwrap()
}

/// Tasks of their own on CPUs of their own.
fn together(tasks: &[(Workload, u32)]) -> Workload {
    let mut all = tasks[0].0.clone();
    (all.programs, all.tasks) = (Vec::new(), Vec::new());
    for (n, (workload, cpu)) in (0..).zip(tasks) {
        all.programs.push(workload.programs[0].clone());
        all.tasks.push(Task { program: n, affinity: Some(vec![*cpu]), ..workload.tasks[0].clone() });
    }
    all
}

#[test]
fn callbacks_keep_the_tick_of_a_cpu_that_is_idle() {
    // Each 30 ms a short task comes and goes.
    let work = |ns| Work::uniform(ns, 0);
    let mut workload = periodic(MS / 10, 30 * MS);
    workload.programs[0].ops =
        vec![Op::Fork { program: 1 }, Op::Wait, Op::Sleep(work(30 * MS)), Op::Repeat { to: 0, times: None }];
    workload.programs.push(Program { name: "child".into(), ops: vec![Op::Run(work(MS / 10)), Op::Exit] });
    let forking = power(&sandy_bridge(), "v5.3", &workload).cpus[0].interrupts;
    let sleeping = power(&sandy_bridge(), "v5.3", &periodic(MS / 10, 30 * MS)).cpus[0].interrupts;
    // Two rounds of 4 to 10 ms at 1000 Hz after each, for 10 times in 300 ms.
    assert!(forking > sleeping + 80, "{forking} interrupts where tasks come and go, {sleeping} where one sleeps");
}

#[test]
fn a_core_that_is_woken_each_millisecond_is_demoted_and_one_that_sleeps_longer_is_not() {
    let mut plain = sandy_bridge();
    plain.demotion = None;
    let of_core = |machine: &Machine, workload: &Workload| {
        let power = power(machine, "v5.10", workload);
        power.domains.iter().find(|domain| domain.name == "core 0").unwrap().energy_nj
    };
    let often = periodic(MS / 100, MS);
    let (demoted, asked) = (of_core(&sandy_bridge(), &often), of_core(&plain, &often));
    // C1 takes 2.2 W, C7 0.03 W: 0.3 s of the one is 660 mJ.
    assert!(demoted > asked + 500_000_000, "{demoted} nJ demoted, {asked} nJ as asked for");
    let seldom = periodic(MS / 100, 10 * MS);
    assert_eq!(of_core(&sandy_bridge(), &seldom), of_core(&plain, &seldom));
}

#[test]
fn a_demoted_core_counts_as_active_to_turbo() {
    let mut plain = sandy_bridge();
    plain.demotion = None;
    let workload = together(&[(periodic(100 * MS, MS / 10), 0), (periodic(MS / 100, MS), 1)]);
    let khz = |machine: &Machine| {
        let power = power(machine, "v5.10", &workload);
        let cpu = &power.cpus[0];
        3_400_000.0 * cpu.aperf as f64 / cpu.mperf as f64
    };
    let (demoted, asked) = (khz(&sandy_bridge()), khz(&plain));
    assert!((demoted - 3_700_000.0).abs() < 10_000.0 && asked > 3_780_000.0, "{demoted}, {asked} kHz");
}

#[test]
fn a_cpu_whose_sibling_is_busy_leaves_no_more_than_a_halt() {
    let mut machine = sandy_bridge();
    machine.demotion = None;
    let sleeper = periodic(MS / 10, MS * 6 / 10);
    let busy_ms = |others: &[(Workload, u32)]| {
        let tasks: Vec<_> = [(sleeper.clone(), 0)].into_iter().chain(others.iter().cloned()).collect();
        power(&machine, "v5.10", &together(&tasks)).cpus[0].mperf as f64 / 3.4e6
    };
    // Rounds of 0.702 ms, or of 0.809 ms where C7 has to be left.
    let (alone, beside) = (busy_ms(&[]), busy_ms(&[(periodic(100 * MS, MS / 1000), 4)]));
    let ratio = beside / alone;
    assert!((ratio - 0.809 / 0.702).abs() < 0.03, "{alone} ms busy alone, {beside} ms beside a busy sibling: {ratio}");
}

#[test]
fn schedutil_boosts_a_task_that_waits_for_io_and_not_one_that_sleeps() {
    let work = |ns| Work::uniform(ns, 0);
    let khz = |wait| {
        let mut workload = periodic(MS, MS);
        workload.programs[0].ops = vec![Op::Run(work(MS / 50)), wait, Op::Repeat { to: 0, times: None }];
        let pm = PmSide { measured_from: 100 * MS, ..side("schedutil") };
        outcome(&setup(&sandy_bridge(), "v6.1", &workload, Some(pm))).power.unwrap().busy_khz()
    };
    // Several wake-ups between two changes of the averages: any other update halves the boost.
    let (sleeps, waits) = (khz(Op::Sleep(work(MS / 10))), khz(Op::Call(Call::Io(work(MS / 10)))));
    assert!(sleeps + 500_000 < waits && waits > 3_500_000, "{sleeps} kHz asleep, {waits} kHz waiting for I/O");
}

#[test]
fn a_wait_for_io_is_a_sleep_where_nothing_is_governed() {
    let work = |ns| Work::uniform(ns, 30);
    let events = |wait| {
        let mut workload = periodic(MS, MS);
        workload.programs[0].ops = vec![Op::Run(work(MS / 10)), wait, Op::Repeat { to: 0, times: None }];
        let mut digest = wakelab_events::Digest::default();
        let never = std::sync::atomic::AtomicBool::new(false);
        run_dyn(&setup(&sandy_bridge(), "v6.12", &workload, None), &mut digest, &never).unwrap();
        digest.finish()
    };
    assert_eq!(events(Op::Sleep(work(MS))), events(Op::Call(Call::Io(work(MS)))));
}

#[test]
fn ondemand_takes_waits_for_io_for_work() {
    let work = |ns| Work::uniform(ns, 0);
    let khz = |wait| {
        let mut workload = periodic(MS, MS);
        workload.programs[0].ops = vec![Op::Run(work(MS / 5)), wait, Op::Repeat { to: 0, times: None }];
        let pm = PmSide { measured_from: 100 * MS, ..side("ondemand") };
        outcome(&setup(&sandy_bridge(), "v5.10", &workload, Some(pm))).power.unwrap().busy_khz()
    };
    let (sleeps, waits) = (khz(Op::Sleep(work(2 * MS))), khz(Op::Call(Call::Io(work(2 * MS)))));
    assert!(sleeps < 2_200_000 && waits > 3_600_000, "{sleeps} kHz asleep, {waits} kHz waiting for I/O");
}

#[test]
fn waits_for_io_of_delayed_tasks_that_are_moved_are_counted_where_they_began() {
    // Sleepers that are queued still are moved by balancing; a count that fell below 0 would panic.
    let work = |ns| Work::uniform(ns, 40);
    let mut workload = periodic(MS, MS);
    workload.programs[0].ops =
        vec![Op::Run(work(2 * MS)), Op::Call(Call::Io(work(MS))), Op::Repeat { to: 0, times: None }];
    workload.tasks = (0..24).map(|_| Task { affinity: None, ..workload.tasks[0].clone() }).collect();
    let machine = sandy_bridge();
    let setup = setup(&machine, "v6.12", &workload, Some(side("schedutil")));
    let times = (1..400).map(|ms| ms * MS);
    observe(&setup, &mut (), times, |snapshot, ()| {
        let counted: u32 = snapshot.cpus().map(|cpu| cpu.nr_iowait).sum();
        let wait = snapshot.tasks().filter(|task| task.in_iowait).count();
        assert_eq!(counted as usize, wait, "at {} ns", snapshot.now());
    })
    .expect("a run");
}
