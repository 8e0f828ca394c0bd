//! Deadline tasks: what they reserve they get, and no more; who comes first; what the kernel refuses. And changes of
//! policy between the classes.

use crate::support::heard::{Heard, on};
use crate::support::{MS, back, call, ns, workload};
use proptest::prelude::*;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, RtBandwidthForm, Switches};
use wakelab_sim::{Mechanisms, Setup, SimError, run_dyn};
use wakelab_workload::{Call, Deadline, Op, Realtime, Workload};

const S: u64 = 1_000 * MS;

fn hog() -> Vec<Op> {
    vec![Op::Run(ns(MS)), back(0, 0)]
}

fn dl(runtime: u64, deadline: u64, period: u64) -> Realtime {
    Realtime::Deadline(Deadline {
        runtime_ns: runtime * MS / 10,
        deadline_ns: deadline * MS / 10,
        period_ns: period * MS / 10,
    })
}

fn with(programs: Vec<Vec<Op>>, policies: &[Realtime]) -> Workload {
    let mut workload = workload(programs, &[], None);
    for (task, &policy) in workload.tasks.iter_mut().zip(policies) {
        task.realtime = Some(policy);
    }
    workload
}

fn heard(kernel: &str, switches: &str, workload: &Workload, until: u64) -> Heard {
    let mut heard = Heard::default();
    on("test-1c", kernel, switches, workload, until, &mut heard);
    heard.ran.resize(workload.tasks.len(), 0);
    if let (Some(last), since) = heard.since {
        heard.ran[last as usize] += until - since;
    }
    heard
}

fn shares(kernel: &str, switches: &str, workload: &Workload) -> Vec<f64> {
    heard(kernel, switches, workload, 20 * S).ran.iter().map(|&ran| ran as f64 / (20 * MS) as f64 / 10.0).collect()
}

fn refusal(machine: &str, kernel: &str, workload: &Workload) -> Option<String> {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let features = "".parse::<Switches>().expect("switches").on(kernel.features);
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    let until = 100 * MS;
    let setup = Setup {
        machine: &machine,
        kernel,
        features,
        workload,
        seed: 1,
        until,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    match run_dyn(&setup, &mut (), &Default::default()) {
        Err(SimError::Workload(what)) => Some(what),
        Err(other) => panic!("{other}"),
        Ok(_) => None,
    }
}

/// A task that always wants to run gets its runtime of each period. Ticks find out late that it is used up, and what
/// was too much is taken off the next.
#[test]
fn a_hog_gets_what_it_reserves_and_no_more() {
    for kernel in Preset::names() {
        for (runtime, deadline, period, share) in [(300, 1000, 1000, 30.0), (50, 100, 1000, 5.0), (7, 100, 100, 7.0)] {
            let shares = shares(kernel, "", &with(vec![hog(), hog()], &[dl(runtime, deadline, period)]));
            assert!((shares[0] - share).abs() < 0.5, "{kernel}: {runtime}/{period}: {shares:?}");
            assert!(shares[0] + shares[1] > 98.0, "{kernel}: {shares:?}");
        }
    }
}

/// HRTICK_DL, on in 7.2, ends a task's runtime by a timer; without it the next tick does.
#[test]
fn a_runtime_ends_by_the_hrtick_or_at_a_tick() {
    let longest = |switches: &str| {
        let heard = heard("v7.2", switches, &with(vec![hog(), hog()], &[dl(101, 1000, 1000)]), 5 * S);
        heard.stints.iter().filter(|stint| stint.0 == 0).map(|stint| stint.2).max().expect("it ran")
    };
    let (by_timer, by_tick) = (longest(""), longest("NO_HRTICK_DL"));
    assert!((10_000_000..10_300_000).contains(&by_timer), "{by_timer}");
    assert!((11_000_000..14_200_000).contains(&by_tick), "{by_tick}");
}

#[test]
fn the_earlier_deadline_runs_first() {
    // Every 10 ms work of 1 ms, beside 45% of longer deadlines and a FIFO hog.
    let short = vec![Op::Run(ns(MS)), Op::Sleep(ns(9 * MS)), back(0, 0)];
    let policies = [dl(20, 100, 100), dl(450, 1000, 1000), Realtime::Fifo(99)];
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let heard = heard(kernel, "", &with(vec![short.clone(), hog(), hog()], &policies), 10 * S);
        let waits = crate::support::heard::waits(&heard, 0, false);
        assert!(waits.len() > 800 && *waits.last().unwrap() < 60_000, "{kernel}: {} {:?}", waits.len(), waits.last());
        let pct = |task: usize| heard.ran[task] as f64 / (100 * MS) as f64;
        assert!((pct(1) - 45.0).abs() < 0.6, "{kernel}: {}", pct(1));
    }
}

/// A fair hog that starves under a FIFO one has its server's 5%, and a deadline task its share before both.
#[test]
fn the_fair_server_and_deadline_tasks_have_their_shares() {
    for kernel in ["v6.12", "v6.18", "v7.2", "v7.3"] {
        let policies = [dl(300, 1000, 1000), Realtime::Fifo(50)];
        let shares = shares(kernel, "", &with(vec![hog(), hog(), hog()], &policies));
        assert!((shares[0] - 30.0).abs() < 0.6 && (4.3..6.0).contains(&shares[2]), "{kernel}: {shares:?}");
    }
}

/// `sched_rt_runtime_us` of 95% of each CPU, of which each fair server has 5%.
#[test]
fn what_is_too_much_is_refused() {
    let tasks = |n: usize, policy| with(vec![hog(); n], &vec![policy; n]);
    for kernel in Preset::names() {
        let form = Preset::get(kernel).expect("a preset").core.rt_bandwidth;
        let all = if form == RtBandwidthForm::Throttling { 949 } else { 899 };
        assert_eq!(refusal("test-8c", kernel, &tasks(8, dl(all, 1000, 1000))), None, "{kernel}");
        let what = refusal("test-8c", kernel, &tasks(8, dl(all + 2, 1000, 1000))).expect("too much");
        assert!(what.contains("(EBUSY)") && what.contains("SCHED_DEADLINE"), "{kernel}: {what}");
    }
    let mut pinned = tasks(1, dl(1, 10, 10));
    pinned.tasks[0].affinity = Some(vec![1, 2]);
    assert!(refusal("test-8c", "v6.1", &pinned).expect("EPERM").contains("it may not use all CPUs (EPERM)"));
    let mut moves = with(vec![vec![call(Call::Affinity { cpus: Some(0) }), Op::Run(ns(MS))]], &[dl(1, 10, 10)]);
    moves.cpu_sets = vec![vec![0]];
    assert!(refusal("test-8c", "v6.1", &moves).expect("EBUSY").contains("(EBUSY)"));
    let program = vec![call(Call::Realtime(dl(1, 10, 10))), Op::Fork { program: 0 }, Op::Run(ns(MS))];
    assert!(refusal("test-8c", "v6.1", &with(vec![program], &[])).expect("EAGAIN").contains("(EAGAIN)"));
    let program = vec![call(Call::Realtime(Realtime::Fifo(1))), call(Call::Nice(3)), Op::Run(ns(MS))];
    assert!(refusal("test-8c", "v6.1", &with(vec![program], &[])).expect("nice").contains("nice value or slice"));
}

/// Bandwidth is given back: one after another, tasks of 90% that end fit on one CPU.
#[test]
fn tasks_that_exit_give_their_bandwidth_back() {
    for kernel in ["v6.1", "v7.2"] {
        let mut workload = with(vec![vec![Op::Run(ns(MS))]; 5], &[dl(90, 100, 100); 5]);
        for (n, task) in workload.tasks.iter_mut().enumerate() {
            task.start_ns = n as u64 * 15 * MS;
        }
        assert_eq!(refusal("test-1c", kernel, &workload), None, "{kernel}");
        workload.tasks[1].start_ns = MS / 2;
        assert!(refusal("test-1c", kernel, &workload).is_some(), "{kernel}");
    }
}

/// How long each task had a CPU.
#[derive(Default)]
struct Ran(Vec<u64>, Vec<Option<(u32, u64)>>);

impl Sink for Ran {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        if let Event::Switch { cpu, next, .. } = *event {
            let cpu = cpu as usize;
            self.1.resize(self.1.len().max(cpu + 1), None);
            if let Some((task, since)) = std::mem::replace(&mut self.1[cpu], next.map(|task| (task, time))) {
                self.0.resize(self.0.len().max(task as usize + 1), 0);
                self.0[task as usize] += time - since;
            }
        }
    }
}

/// As many deadline hogs as CPUs, with fair hogs beside them: each gets its share, wherever it runs.
#[test]
fn deadline_tasks_find_cpus_of_their_own() {
    for kernel in ["v5.10", "v6.1", "v6.12", "v7.2"] {
        let workload = with(vec![hog(); 16], &[dl(50, 100, 100); 8]);
        let mut ran = Ran::default();
        on("test-8c", kernel, "", &workload, 10 * S, &mut ran);
        let first = ran.0.len() - 16;
        for task in 0..8 {
            let pct = ran.0[first + task] as f64 / (100 * MS) as f64;
            assert!((pct - 50.0).abs() < 2.0, "{kernel}: task {task} has {pct}%");
        }
    }
}

/// A task that changes its policy as it goes on is treated by the policy of the moment.
#[test]
fn a_change_of_policy_counts_from_then_on() {
    for kernel in Preset::names() {
        let steps = |policy: Call| vec![call(policy), Op::Run(ns(100 * MS)), call(Call::IdlePolicy(false))];
        // Beside a fair hog: 100 ms of FIFO take 100 ms, then 10 ms of fair work take 20.
        let fifo: Vec<Op> = steps(Call::Realtime(Realtime::Fifo(1)))
            .into_iter()
            .chain([Op::Begin, Op::Run(ns(40 * MS)), Op::Done, back(0, 0)])
            .collect();
        let heard = heard(kernel, "", &with(vec![fifo, hog()], &[]), 10 * S);
        let pct = heard.ran[0] as f64 / (100 * MS) as f64;
        // 140 of each 180 ms, less where throttling or the server holds it back.
        assert!((74.0..80.0).contains(&pct), "{kernel}: {pct}");
        let idle: Vec<Op> = steps(Call::Realtime(dl(300, 1000, 1000)))
            .into_iter()
            .chain([call(Call::IdlePolicy(true)), Op::Run(ns(5 * MS)), back(0, 0)])
            .collect();
        let heard = heard_of(kernel, idle);
        assert!(heard > 1.0, "{kernel}: {heard}");
    }
}

fn heard_of(kernel: &str, ops: Vec<Op>) -> f64 {
    let heard = heard(kernel, "", &with(vec![ops, hog()], &[]), 10 * S);
    heard.ran[0] as f64 / (100 * MS) as f64
}

fn policy() -> impl Strategy<Value = Call> {
    prop_oneof![
        (1u8..100).prop_map(|prio| Call::Realtime(Realtime::Fifo(prio))),
        (1u8..100).prop_map(|prio| Call::Realtime(Realtime::Rr(prio))),
        (1u64..20, 20u64..60, 60u64..200)
            .prop_map(|(runtime, deadline, period)| { Call::Realtime(dl(runtime, deadline, period)) }),
        any::<bool>().prop_map(Call::IdlePolicy),
    ]
}

fn step() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1u64..3_000_000).prop_map(|work| Op::Run(ns(work))),
        3 => (1u64..8_000_000).prop_map(|time| Op::Sleep(ns(time))),
        2 => policy().prop_map(Op::Call),
        1 => Just(Op::Call(Call::Yield)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Tasks of any policies that change them at any time: nothing panics, and the same input gives the same run.
    #[test]
    fn any_changes_of_policy_give_a_run(
        programs in prop::collection::vec(prop::collection::vec(step(), 1..12), 1..9),
        kernel in prop::sample::select(vec!["v5.3", "v5.10", "v6.1", "v6.12", "v7.2"]),
        machine in prop::sample::select(vec!["test-1c", "test-8c"]),
    ) {
        let programs = programs.into_iter().map(|mut ops| {
            ops.push(Op::Run(ns(50_000)));
            ops.push(back(0, 0));
            ops
        });
        let workload = with(programs.collect(), &[]);
        let outcomes = [0; 2].map(|_| {
            let mut ran = Ran::default();
            on(machine, kernel, "", &workload, 300 * MS, &mut ran);
            ran.0
        });
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
    }
}
