//! Exec: the slow path looks for a CPU again.

use crate::support::{MS, back, call, ns, workload};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{FindGroup, Preset};
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Call, Load, Op, Workload, build};

/// Where execs went: from, to.
#[derive(Debug, Default)]
struct Execs(Vec<(u32, u32)>);

impl Sink for Execs {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Placed { waker: Some(waker), task, prev_cpu, cpu, workload: true, .. } = *event
            && waker == task
        {
            self.0.push((prev_cpu, cpu));
        }
    }
}

fn simulate(kernel: &str, workload: &Workload, sink: &mut impl Sink) {
    let machine = &wakelab_machine::get("test-8c").expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    let features = kernel.features;
    let setup = Setup {
        machine,
        kernel,
        features,
        workload,
        seed: 1,
        until: 400 * MS,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    run_dyn(&setup, sink, &Default::default()).expect("a run");
}

/// A task that begins on CPU 0, beside one that is pinned there, may then run anywhere, and execs after a while.
fn beside_a_hog(execs: bool) -> Workload {
    let mut program = vec![Op::Run(ns(40 * MS)), call(Call::Affinity { cpus: None })];
    program.extend(execs.then_some(call(Call::Exec)));
    program.extend([Op::Run(ns(2 * MS)), Op::Done]);
    let hog = vec![Op::Run(ns(MS)), back(0, 300), Op::Done];
    workload(vec![hog, program], &[], Some(vec![0]))
}

#[test]
fn a_task_that_execs_on_a_busy_cpu_goes_to_an_idle_core() {
    for preset in Preset::all() {
        let kernel = preset.name;
        let mut execs = Execs::default();
        simulate(kernel, &beside_a_hog(true), &mut execs);
        let [(0, to)] = execs.0[..] else { panic!("{kernel}: one exec from CPU 0: {:?}", execs.0) };
        match preset.code.find_group {
            // The most spare capacity of one CPU stands for a core. The hog's sibling has as much as any CPU of other
            // cores, and a tie keeps the task on its core.
            FindGroup::Loads => assert_eq!(to, 1, "{kernel}"),
            FindGroup::GroupTypes => assert!(to > 1, "{kernel}: CPU {to} is of the hog's core"),
        }
    }
}

#[test]
fn a_task_that_may_use_one_cpu_only_stays_there() {
    let mut execs = Execs::default();
    let program = vec![Op::Run(ns(MS)), call(Call::Exec), Op::Run(ns(MS)), Op::Done];
    simulate("v6.1", &workload(vec![program.clone(), program], &[], Some(vec![3])), &mut execs);
    assert_eq!(execs.0, []);
}

#[test]
fn without_an_exec_nothing_is_placed_but_forks() {
    let mut execs = Execs::default();
    simulate("v6.1", &beside_a_hog(false), &mut execs);
    assert_eq!(execs.0, []);
}

/// What a run did.
#[derive(Debug, Default)]
struct Counts {
    done: u64,
    forks: u64,
    execs: u64,
    busy: std::collections::BTreeSet<u32>,
}

impl Sink for Counts {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        match *event {
            Event::Done { .. } => self.done += 1,
            Event::Fork { workload: true, .. } => self.forks += 1,
            Event::Placed { waker: Some(waker), task, .. } if waker == task => self.execs += 1,
            Event::Switch { cpu, next: Some(_), .. } => {
                self.busy.insert(cpu);
            }
            _ => {}
        }
    }
}

fn counts(name: &str, load: Load) -> Counts {
    let mut counts = Counts::default();
    simulate("v5.3", &build(name, load, 8, &Default::default()).expect("a workload"), &mut counts);
    counts
}

#[test]
fn sequential_tasks_start_at_their_rate_and_exec_each() {
    // 400 ms at 100 a second.
    let any = counts("sequential-tasks", Load::PerSecond(100));
    assert!((30..=40).contains(&any.done), "{any:?}");
    assert!(any.forks - 1 <= any.done + 1 && any.execs >= any.done && any.execs < any.forks, "{any:?}");
    assert!(any.busy.len() >= 2, "{any:?}");
    let pinned = counts("sequential-tasks:pinned", Load::PerSecond(100));
    assert!((30..=40).contains(&pinned.done) && pinned.execs == 0, "{pinned:?}");
    assert_eq!(pinned.busy.into_iter().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_suite_a_build_and_an_app_go_on() {
    let suite = counts("gitsource", Load::Instances(1));
    assert!(suite.done >= 10 && suite.forks > 12 * suite.done, "{suite:?}");
    let build = counts("kernbench", Load::Instances(4));
    assert!(build.forks > 4, "{build:?}");
    // The first gap is a second.
    let mut app = Counts::default();
    let workload = wakelab_workload::build("jankbench", Load::Instances(1), 8, &[("gap".to_owned(), 20)].into());
    simulate("v5.3", &workload.expect("a workload"), &mut app);
    assert!(app.done >= 10, "{app:?}");
}
