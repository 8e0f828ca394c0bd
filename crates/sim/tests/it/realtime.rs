//! Realtime tasks: who runs first, what is left for fair tasks, and where those go.

use crate::support::heard::{Heard, on};
use crate::support::{MS, back, ns, workload};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, RtBandwidthForm};
use wakelab_workload::{Op, Realtime, Workload};

fn hog() -> Vec<Op> {
    vec![Op::Run(ns(MS)), back(0, 0)]
}

/// Tasks on these CPUs, the first of which have these policies.
fn with(programs: Vec<Vec<Op>>, policies: &[Realtime], cpus: Option<Vec<u32>>) -> Workload {
    let mut workload = workload(programs, &[], cpus);
    for (task, &policy) in workload.tasks.iter_mut().zip(policies) {
        task.realtime = Some(policy);
    }
    workload
}

/// How much of CPU 0 each task had, %, in 20 s after the first.
fn shares(kernel: &str, switches: &str, workload: &Workload) -> Vec<f64> {
    let mut heard = Heard::default();
    on("test-1c", kernel, switches, workload, 20_000 * MS, &mut heard);
    heard.ran.resize(workload.tasks.len(), 0);
    let (last, since) = heard.since;
    if let Some(last) = last {
        heard.ran[last as usize] += 20_000 * MS - since;
    }
    heard.ran.iter().map(|&ran| ran as f64 / (200 * MS) as f64).collect()
}

/// `sched_rt_runtime_us` of 950 ms in 1 s up to 6.11; a fair server of 50 ms in 1 s since. Both are looked at in ticks.
#[test]
fn a_fifo_hog_leaves_fair_tasks_a_twentieth() {
    for kernel in Preset::names() {
        let shares = shares(kernel, "", &with(vec![hog(), hog()], &[Realtime::Fifo(50)], None));
        assert!((4.5..=5.6).contains(&shares[1]), "{kernel}: {shares:?}");
        assert!(shares[0] + shares[1] > 99.0, "{kernel}: {shares:?}");
    }
}

/// Without a fair task to serve, throttling leaves the CPU idle, and the fair server does nothing.
#[test]
fn only_throttling_leaves_the_cpu_idle() {
    for kernel in ["v5.10", "v6.1", "v6.8", "v6.12", "v7.3"] {
        let shares = shares(kernel, "", &with(vec![hog()], &[Realtime::Fifo(1)], None));
        let form = Preset::get(kernel).expect("a preset").core.rt_bandwidth;
        let most = if form == RtBandwidthForm::Throttling { 95.6 } else { 100.0 };
        assert!((most - 1.1..=most).contains(&shares[0]), "{kernel}: {shares:?}");
    }
}

#[test]
fn tunables_move_the_share() {
    let share = |kernel: &str, name: &str, value: &str| {
        let setting = wakelab_kernel::Setting::new(name, value).expect("a setting");
        let kernel = Preset::get(kernel).expect("a preset").with_settings([setting]).expect("it fits");
        let machine = wakelab_machine::get("test-1c").expect("a machine");
        let workload = with(vec![hog(), hog()], &[Realtime::Fifo(50)], None);
        let setup = wakelab_sim::Setup {
            machine: &machine,
            kernel: &kernel,
            features: kernel.features,
            workload: &workload,
            seed: 1,
            until: 10_000 * MS,
            mechanisms: wakelab_sim::Mechanisms { noise: false, ..Default::default() },
            observer_cost: 0,
            pm: None,
            scheduler: None,
        };
        let mut heard = Heard::default();
        wakelab_sim::run_dyn(&setup, &mut heard, &Default::default()).expect("a run");
        heard.ran.resize(2, 0);
        if let (Some(last), since) = heard.since {
            heard.ran[last as usize] += 10_000 * MS - since;
        }
        heard.ran[1] as f64 / (100 * MS) as f64
    };
    let throttled = share("v6.1", "sched_rt_runtime_us", "700000");
    assert!((28.0..=31.0).contains(&throttled), "{throttled}");
    assert_eq!(share("v6.1", "sched_rt_runtime_us", "1000000"), 0.0);
    let served = share("v6.12", "fair_server_runtime", "200000000");
    assert!((18.0..=22.0).contains(&served), "{served}");
    assert_eq!(share("v6.12", "fair_server_runtime", "0"), 0.0);
}

/// RT_RUNTIME_SHARE: a CPU borrows what the other does not need, until its realtime tasks may always run.
#[test]
fn a_cpu_borrows_realtime_bandwidth() {
    for (kernel, switches, most) in [("v6.1", "", 95.6), ("v6.1", "RT_RUNTIME_SHARE", 100.0), ("v5.3", "", 100.0)] {
        let mut places = Places::default();
        let workload = with(vec![hog(), hog()], &[Realtime::Fifo(50)], Some(vec![0]));
        on("test-2c", kernel, switches, &workload, 20_000 * MS, &mut places);
        let fair = places.of_task(1) as f64 / (200 * MS) as f64;
        let least = 100.0 - most;
        assert!((least..least + 1.2).contains(&fair), "{kernel} {switches}: {fair}");
    }
}

/// A fair task that gets its time without the server, because realtime tasks sleep, is not served before them.
#[test]
fn the_fair_server_does_not_act_where_nobody_starves() {
    let half = vec![Op::Begin, Op::Run(ns(4 * MS)), Op::Done, Op::Sleep(ns(4 * MS)), back(0, 0)];
    for kernel in ["v6.12", "v6.18", "v7.2", "v7.3"] {
        let mut told = crate::support::Told::default();
        let workload = with(vec![half.clone(), hog()], &[Realtime::Fifo(50)], None);
        on("test-1c", kernel, "", &workload, 5_000 * MS, &mut told);
        let worst = told.done.iter().filter(|done| done.0 == 0).map(|done| done.2).max().expect("work");
        assert!(worst < 4 * MS + 200_000, "{kernel}: {worst}");
    }
}

#[test]
fn the_more_urgent_task_has_the_cpu() {
    for kernel in ["v6.1", "v7.2"] {
        let policies = [Realtime::Fifo(10), Realtime::Rr(11), Realtime::Fifo(9)];
        let shares = shares(kernel, "", &with(vec![hog(), hog(), hog()], &policies, None));
        assert!(shares[1] > 94.0 && shares[0] == 0.0 && shares[2] == 0.0, "{kernel}: {shares:?}");
    }
}

/// SCHED_RR takes turns of 100 ms, in ticks; SCHED_FIFO of the same priority does not.
#[test]
fn round_robin_takes_turns() {
    for kernel in ["v5.10", "v6.1", "v7.2"] {
        let mut heard = Heard::default();
        let workload = with(vec![hog(), hog()], &[Realtime::Rr(5), Realtime::Rr(5)], None);
        on("test-1c", kernel, "", &workload, 900 * MS, &mut heard);
        let stints: Vec<u64> = heard.stints.iter().map(|stint| stint.2).collect();
        assert!(stints.len() >= 7, "{kernel}: {stints:?}");
        assert!(stints[1..].iter().all(|stint| stint.abs_diff(100 * MS) < MS), "{kernel}: {stints:?}");
        let fifo = shares(kernel, "", &with(vec![hog(), hog()], &[Realtime::Fifo(5), Realtime::Fifo(5)], None));
        assert!(fifo[0] > 94.0 && fifo[1] == 0.0, "{kernel}: {fifo:?}");
    }
}

/// By task: on which CPUs it ran, and for how long.
#[derive(Default)]
struct Places {
    first: Option<u32>,
    since: Vec<Option<(u32, u64)>>,
    ran: std::collections::BTreeMap<(u32, u32), u64>,
    migrations: u32,
}

impl Sink for Places {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
            }
            Event::Switch { cpu, next, .. } => {
                self.since.resize(self.since.len().max(cpu as usize + 1), None);
                let first = self.first.expect("a fork");
                if let Some((task, since)) = self.since[cpu as usize].take() {
                    *self.ran.entry((task, cpu)).or_default() += time - since;
                }
                self.since[cpu as usize] = next.map(|task| (task - first, time));
            }
            Event::Migrate { .. } => self.migrations += 1,
            _ => {}
        }
    }
}

impl Places {
    fn of_task(&self, task: u32) -> u64 {
        self.ran.iter().filter(|((of, _), _)| *of == task).map(|(_, ran)| ran).sum()
    }

    fn on_cpu(&self, tasks: impl Fn(u32) -> bool, cpu: u32) -> u64 {
        self.ran.iter().filter(|((task, on), _)| tasks(*task) && *on == cpu).map(|(_, ran)| ran).sum()
    }
}

/// As many realtime tasks as CPUs, which wake at random: each runs at once, because those that wait are pushed, or
/// pulled, to CPUs that run fair tasks.
#[test]
fn realtime_tasks_are_pushed_and_pulled_to_less_urgent_cpus() {
    for (kernel, switches) in [("v5.10", ""), ("v6.1", ""), ("v6.1", "NO_RT_PUSH_IPI"), ("v7.2", "")] {
        let periodic = vec![
            Op::Begin,
            Op::Sleep(wakelab_workload::Work::uniform(2 * MS, 50)),
            Op::Run(ns(MS)),
            Op::Done,
            back(0, 0),
        ];
        let programs = (0..8).map(|_| periodic.clone()).chain((0..8).map(|_| hog())).collect();
        let policies: Vec<_> = (1..=8).map(Realtime::Fifo).collect();
        let workload = with(programs, &policies, None);
        let mut told = crate::support::Told::default();
        on("test-8c", kernel, switches, &workload, 1_000 * MS, &mut told);
        for task in 0..8 {
            let late = told.done.iter().filter(|done| done.0 == task).map(|done| done.2).max().expect("work");
            // Sleep, work beside a busy SMT sibling, and the way through the kernel; another task's work is not in it.
            assert!(late < 3 * MS + 1_400_000 + 200_000, "{kernel} {switches}: task {task} took {late}");
        }
    }
}

/// A realtime task takes 60% of CPU 0. Fair tasks that could be anywhere use that CPU less than the other: placement
/// and balancing see what is left of it.
#[test]
fn fair_tasks_avoid_a_cpu_with_realtime_pressure() {
    for kernel in ["v5.10", "v5.15", "v6.1", "v6.6", "v6.12", "v6.18", "v7.2", "v7.3"] {
        let pressure = vec![Op::Run(ns(6 * MS)), Op::Sleep(ns(4 * MS)), back(0, 0)];
        let fair = vec![Op::Run(ns(700_000)), Op::Sleep(ns(900_000)), back(0, 0)];
        let programs = std::iter::once(pressure).chain((0..3).map(|_| fair.clone())).collect();
        let mut workload = with(programs, &[Realtime::Fifo(50)], None);
        workload.tasks[0].affinity = Some(vec![0]);
        let mut places = Places::default();
        on("test-2c", kernel, "", &workload, 3_000 * MS, &mut places);
        let (here, there) = (places.on_cpu(|task| task != 0, 0), places.on_cpu(|task| task != 0, 1));
        assert!(here * 3 < there * 2, "{kernel}: {here} and {there}");
        assert!(places.of_task(0) > 1_700 * MS, "{kernel}");
    }
}
