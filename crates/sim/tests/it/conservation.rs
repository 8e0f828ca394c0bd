//! What must hold in any run: time is conserved, tasks are in one place, affinities are kept, and one seed is one run.

use proptest::prelude::*;
use std::sync::atomic::AtomicBool;
use wakelab_events::Digest;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sim::{Mechanisms, Outcome, Setup, SimError, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Channel, Op, Realtime, Task, Work, Workload};

fn workload(programs: Vec<Vec<Op>>, channels: u32, tasks: Vec<(u32, Vec<u32>, Option<Vec<u32>>)>) -> Workload {
    let mut workload = of_programs(programs, &[]);
    workload.channels = (0..channels).map(|n| Channel::new(format!("channel {n}"), 2)).collect();
    workload.tasks = (0..)
        .zip(tasks)
        .map(|(n, (program, channels, affinity))| Task {
            name: format!("task {n}"),
            program,
            channels: channels.into(),
            start_ns: 50_000 * n,
            nice: 0,
            idle_policy: false,
            slice_ns: [0, 300_000, 20_000_000][n as usize % 3],
            affinity,
            process: (n % 3 == 0).then_some(0),
            footprint: 0,
            uclamp_min: None,
            uclamp_max: None,
            realtime: None,
            parent: None,
            group: 0,
        })
        .collect();
    workload
}

/// Pairs that send messages to and fro, sleepers, and tasks that only compute.
fn mixed(pairs: u32, sleepers: u32, spinners: u32, affinity: Option<Vec<u32>>) -> Workload {
    let work = |ns| Work::uniform(ns, 20);
    let programs = vec![
        vec![
            Op::Begin,
            Op::Run(work(1500)),
            Op::Softirq(work(500)),
            Op::Send { channel: 0, sync: true },
            Op::Recv { channel: 1 },
            Op::Done,
            Op::Repeat { to: 0, times: None },
        ],
        vec![
            Op::Recv { channel: 0 },
            Op::Run(work(2500)),
            Op::Send { channel: 1, sync: true },
            Op::Repeat { to: 0, times: None },
        ],
        vec![Op::Run(work(40_000)), Op::Sleep(work(60_000)), Op::Repeat { to: 0, times: None }],
        vec![Op::Run(work(300_000)), Op::Repeat { to: 0, times: None }],
    ];
    let mut tasks = Vec::new();
    for pair in 0..pairs {
        let channels = vec![2 * pair, 2 * pair + 1];
        tasks.extend([(1, channels.clone(), affinity.clone()), (0, channels, None)]);
    }
    tasks.extend((0..sleepers).map(|_| (2, Vec::new(), affinity.clone())));
    tasks.extend((0..spinners).map(|_| (3, Vec::new(), None)));
    workload(programs, 2 * pairs, tasks)
}

fn simulate<S: Sink>(
    machine: &Machine,
    kernel: &str,
    switches: &str,
    workload: &Workload,
    seed: u64,
    until: u64,
    sink: &mut S,
) -> Result<Outcome, SimError> {
    let kernel = Preset::get(kernel).expect("a preset");
    let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
    let setup = Setup {
        machine,
        kernel,
        features,
        workload,
        seed,
        until,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    run_dyn(&setup, sink, &AtomicBool::new(false))
}

/// Follows every task and complains at the first that is somewhere it cannot be.
#[derive(Default)]
struct Follow {
    time: u64,
    /// By task: the CPU that it runs on.
    running: Vec<Option<u32>>,
    /// By task: how often it was woken or forked, less how often it was enqueued.
    due: Vec<i32>,
    /// By CPU: who runs.
    curr: Vec<Option<u32>>,
    wakeups: u64,
    /// The first of the workload's tasks, which have numbers in their order.
    first: Option<u32>,
    affinity: Vec<Option<Vec<u32>>>,
    events: u64,
}

impl Follow {
    fn slot<T: Default + Clone>(of: &mut Vec<T>, at: u32) -> &mut T {
        if of.len() <= at as usize {
            of.resize(at as usize + 1, T::default());
        }
        &mut of[at as usize]
    }

    fn allowed(&self, task: u32, cpu: u32) {
        let number = self.first.and_then(|first| task.checked_sub(first));
        if let Some(Some(cpus)) = number.and_then(|number| self.affinity.get(number as usize)) {
            assert!(cpus.contains(&cpu), "task {task} on CPU {cpu}, allowed {cpus:?}");
        }
    }
}

impl Sink for Follow {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        assert!(time >= self.time, "time goes back from {} to {time}", self.time);
        self.time = time;
        self.events += 1;
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
                *Self::slot(&mut self.due, task) += 1;
            }
            Event::Wakeup { wakee, cpu, .. } => {
                self.wakeups += 1;
                self.allowed(wakee, cpu);
                let due = Self::slot(&mut self.due, wakee);
                *due += 1;
                assert_eq!(*due, 1, "task {wakee} is woken twice at {time}");
            }
            Event::Enqueue { cpu, task } => {
                self.allowed(task, cpu);
                let due = Self::slot(&mut self.due, task);
                *due -= 1;
                assert_eq!(*due, 0, "task {task} is enqueued without a wake-up at {time}");
            }
            Event::Switch { cpu, prev, next, .. } => {
                if let Some(prev) = prev {
                    assert_eq!(Self::slot(&mut self.running, prev).take(), Some(cpu), "{prev} leaves {cpu} at {time}");
                    assert_eq!(Self::slot(&mut self.curr, cpu).take(), Some(prev));
                }
                if let Some(next) = next {
                    self.allowed(next, cpu);
                    assert_eq!(*Self::slot(&mut self.due, next), 0, "task {next} runs and is not queued at {time}");
                    let before = Self::slot(&mut self.running, next).replace(cpu);
                    assert_eq!(before, None, "task {next} runs on two CPUs at {time}");
                    assert_eq!(Self::slot(&mut self.curr, cpu).replace(next), None, "CPU {cpu} at {time}");
                }
            }
            Event::Migrate { task, from, to } => {
                self.allowed(task, to);
                if *Self::slot(&mut self.running, task) == Some(from) {
                    // Pushed off by the stopper.
                    *Self::slot(&mut self.running, task) = None;
                    *Self::slot(&mut self.curr, from) = None;
                }
            }
            _ => {}
        }
    }
}

/// A tick of 250 Hz, ns.
const TICK_NS: u64 = 4_000_000;

const MACHINES: [&str; 5] = ["test-1c", "test-2c", "test-8c", "test-2llc", "test-2s"];
const SWITCHES: [&str; 9] = [
    "",
    "SIS_UTIL",
    "NO_SIS_PROP,NO_SIS_UTIL",
    "NO_TTWU_QUEUE",
    "NO_WA_WEIGHT",
    "NO_SIS_CORE",
    "HRTICK",
    "NO_RT_PUSH_IPI",
    "NEXT_BUDDY,NO_RUN_TO_PARITY",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn tasks_are_in_one_place_and_time_is_conserved(
        machine in prop::sample::select(&MACHINES),
        kernel in prop::sample::select(Preset::names()),
        switches in prop::sample::select(&SWITCHES),
        (pairs, sleepers, spinners) in (0u32..14, 0u32..20, 0u32..6),
        affinity in prop::option::weighted(0.3, prop::collection::vec(any::<prop::sample::Index>(), 1..4)),
        // Every so manieth task is a realtime task.
        realtime in prop::option::weighted(0.5, 1usize..5),
        seed: u32,
    ) {
        prop_assume!(pairs + sleepers + spinners > 0);
        let machine = wakelab_machine::get(machine).expect("a machine");
        let nr_cpus = machine.topology.nr_cpus();
        let affinity = affinity.map(|cpus| {
            let mut cpus: Vec<u32> = cpus.iter().map(|cpu| cpu.index(nr_cpus as usize) as u32).collect();
            cpus.sort_unstable();
            cpus.dedup();
            cpus
        });
        let mut workload = mixed(pairs, sleepers, spinners, affinity);
        for (n, task) in workload.tasks.iter_mut().enumerate().step_by(realtime.unwrap_or(usize::MAX)) {
            task.realtime = realtime.map(|_| match n % 4 {
                0 => Realtime::Rr(20),
                other => Realtime::Fifo(18 + other as u8),
            });
        }
        let mut follow = Follow {
            affinity: workload.tasks.iter().map(|task| task.affinity.clone()).collect(),
            ..Follow::default()
        };
        let until = 20_000_000;
        let out = simulate(&machine, kernel, switches, &workload, u64::from(seed), until, &mut follow).expect("a run");
        prop_assert_eq!(out.ended, until);
        for (cpu, time) in out.cpus.iter().enumerate() {
            prop_assert_eq!(time.work + time.overhead + time.idle, until, "CPU {}", cpu);
        }
        if spinners >= nr_cpus {
            // CPUs that always have something to compute idle only until all tasks have started: less than a tenth of
            // the time. A realtime task that wakes on a CPU with a fair spinner takes it, although another CPU is idle
            // (select_task_rq_rt() looks for another only where a realtime task runs): the spinner waits there for the
            // next tick, which kicks a balance.
            let idle: u64 = out.cpus.iter().map(|time| time.idle).sum();
            let tick = if realtime.is_some() { TICK_NS } else { 0 };
            prop_assert!(idle < until * u64::from(nr_cpus) / 10 + tick, "{} ns idle", idle);
        }
    }
}

#[test]
fn one_seed_is_one_run_and_another_is_another() {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let workload = mixed(9, 5, 1, None);
    let stream = |seed| {
        let mut stream = Digest::default();
        let out = simulate(&machine, "v5.19-rc1", "SIS_UTIL", &workload, seed, 30_000_000, &mut stream).expect("a run");
        (out, stream.finish())
    };
    let first = stream(1);
    let threads: Vec<_> =
        std::thread::scope(|scope| [1, 2].map(|seed| scope.spawn(move || stream(seed))).map(|run| run.join()).into());
    let [again, other] = [0, 1].map(|n| threads[n].as_ref().expect("a run").clone());
    assert_eq!(first, again);
    assert_ne!(first.1, other.1);
}

#[test]
fn listening_changes_nothing() {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let workload = mixed(9, 5, 1, None);
    let heard = simulate(&machine, "v6.1", "", &workload, 3, 20_000_000, &mut Follow::default()).expect("a run");
    let unheard = simulate(&machine, "v6.1", "", &workload, 3, 20_000_000, &mut ()).expect("a run");
    assert_eq!(heard, unheard);
}

#[test]
fn a_deadlock_is_reported_with_who_waits_for_what() {
    let machine = wakelab_machine::get("test-2c").expect("a machine");
    let run = Op::Run(Work::uniform(1000, 0));
    let waits = |channel| vec![run, Op::Recv { channel }];
    let stuck = workload(vec![waits(0), waits(1)], 2, vec![(0, vec![0, 1], None), (1, vec![0, 1], None)]);
    let error = simulate(&machine, "v6.1", "", &stuck, 1, 1_000_000_000, &mut ()).expect_err("a deadlock");
    let SimError::Deadlock { at, waiting } = &error else { panic!("{error}") };
    assert!(*at < 1_000_000, "found at {at} ns");
    let texts: Vec<String> = waiting.iter().map(|w| format!("{} {} {}", w.task, w.step, w.what)).collect();
    assert_eq!(texts, ["task 0 1 a message in channel 0", "task 1 1 a message in channel 1"]);

    let full = vec![run, Op::Send { channel: 0, sync: false }, Op::Repeat { to: 0, times: None }];
    let error = simulate(&machine, "v6.1", "", &workload(vec![full], 1, vec![(0, vec![0], None)]), 1, 1 << 30, &mut ());
    let text = error.expect_err("a deadlock").to_string();
    assert!(text.contains("task 0 waits for room in channel 0 (step 1)"), "{text}");
}

#[test]
fn children_are_waited_for_and_the_run_ends_when_all_have_exited() {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let work = Op::Run(Work::uniform(200_000, 0));
    let parent = vec![
        Op::Fork { program: 1 },
        Op::Repeat { to: 0, times: Some(6) },
        Op::Wait,
        work,
        Op::Repeat { to: 0, times: Some(2) },
    ];
    let out = simulate(
        &machine,
        "v5.19-rc1",
        "",
        &workload(vec![parent, vec![work, Op::Exit]], 0, vec![(0, Vec::new(), None)]),
        1,
        1_000_000_000,
        &mut Follow::default(),
    )
    .expect("a run");
    assert!(out.exited && out.ended < 10_000_000, "{out:?}");
    // Twelve children and twice the parent; the SMT sibling makes work longer, never shorter.
    let done: u64 = out.cpus.iter().map(|time| time.work).sum();
    assert!(done >= 14 * 200_000, "{done}");
}

/// Who exits.
#[derive(Default)]
struct Exits(Vec<u32>);

impl Sink for Exits {
    const ON: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Exit { task } = *event {
            self.0.push(task);
        }
    }
}

#[test]
fn nobody_exits_twice() {
    // More parents than CPUs: children that wake them as they exit are preempted, and pulled by CPUs that go idle.
    let machine = wakelab_machine::get("test-2s").expect("a machine");
    let cpus = machine.topology.nr_cpus();
    let work = |ns| Op::Run(Work::uniform(ns, 50));
    let parent = vec![
        work(20_000),
        Op::Fork { program: 1 },
        Op::Fork { program: 1 },
        Op::Wait,
        Op::Repeat { to: 0, times: None },
    ];
    let programs = vec![parent, vec![work(60_000), Op::Exit]];
    let tasks = (0..2 * cpus).map(|_| (0, Vec::new(), None)).collect();
    let mut exits = Exits::default();
    simulate(&machine, "v6.1", "", &workload(programs, 0, tasks), 1, 300_000_000, &mut exits).expect("a run");
    let all = exits.0.len();
    assert!(all > 1000, "{all}");
    exits.0.sort_unstable();
    exits.0.dedup();
    assert_eq!(exits.0.len(), all);
}

#[test]
fn a_machine_whose_intervals_are_long_starts() {
    let machine = wakelab_machine::get("bench-4096").expect("a machine");
    let workload = mixed(1, 0, 0, None);
    simulate(&machine, "v5.18", "", &workload, 1, 10_000, &mut ()).expect("a run");
}

#[test]
fn an_affinity_beyond_the_machine_is_refused() {
    let machine = wakelab_machine::get("test-2c").expect("a machine");
    let error = simulate(&machine, "v6.1", "", &mixed(1, 0, 0, Some(vec![7])), 1, 1000, &mut ()).expect_err("no CPU 7");
    assert_eq!(error.to_string(), "task task 0 may use CPU 7, but the machine has CPUs 0 to 1");
}
