//! Cores of two CPUs on machines of unequal capacities, whose LLCs do not have all capacities.

use crate::support::MS;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::View;
use wakelab_sim::{Mechanisms, Setup, run};
use wakelab_workload::{Op, Program, Task, Work, Workload};

/// Four cores of two CPUs in two LLCs, whose capacities differ by about 5%, as firmware that exposes small differences
/// of frequency has them.
fn machine() -> Machine {
    let mut machine = wakelab_machine::get("test-8c").expect("a machine");
    for cpu in &mut machine.topology.cpus {
        let core = cpu.core;
        (cpu.llc, cpu.capacity) = (core / 2, [1024, 1024, 976, 990][core as usize]);
    }
    machine
}

/// By CPU: the other of its core.
fn siblings(machine: &Machine) -> Vec<Cpu> {
    let cpus = &machine.topology.cpus;
    let other = |cpu: usize| (0..cpus.len()).find(|&n| n != cpu && cpus[n].core == cpus[cpu].core).expect("a sibling");
    (0..cpus.len()).map(|cpu| other(cpu) as Cpu).collect()
}

/// Five tasks that work for this long, ns, and sleep for half as long again, more or less.
fn tasks(work: u64) -> Workload {
    let mut workload =
        wakelab_workload::build("jankbench", wakelab_workload::Load::Instances(1), 8, &BTreeMap::new()).unwrap();
    let plain = workload.tasks[0].clone();
    let ops = vec![
        Op::Run(Work::uniform(work, 60)),
        Op::Sleep(Work::uniform(3 * work / 2, 60)),
        Op::Repeat { to: 0, times: None },
    ];
    workload.programs = vec![Program { name: "worker".to_owned(), ops }];
    let task = |n| Task { name: format!("worker {n}"), program: 0, channels: Arc::default(), ..plain.clone() };
    (workload.tasks, workload.channels) = ((0..5).map(task).collect(), Vec::new());
    workload
}

/// How wake-ups meet cores.
struct Meets {
    siblings: Vec<Cpu>,
    /// By waking CPU: whether some core was idle as a whole when the choice began.
    core_idle: BTreeMap<Cpu, bool>,
    /// Choices that are not enqueued yet, by wakee.
    on_the_way: BTreeMap<u32, Cpu>,
    wakeups: u32,
    /// Whose CPU had a busy sibling, though a core was idle.
    half_idle: u32,
    /// Whose sibling another wake-up had chosen and was on its way to, though a core was idle.
    both_of_a_core: u32,
    busy: Vec<bool>,
}

impl Meets {
    fn new(machine: &Machine) -> Self {
        let siblings = siblings(machine);
        let (core_idle, on_the_way) = (BTreeMap::new(), BTreeMap::new());
        let busy = vec![false; siblings.len()];
        Meets { siblings, core_idle, on_the_way, wakeups: 0, half_idle: 0, both_of_a_core: 0, busy }
    }
}

impl Sink for Meets {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        match event {
            Event::Available { cpu, available, .. } => self.busy[*cpu as usize] = !available,
            Event::Wakeup { waker_cpu, wakee, cpu, decision: Some(_), .. } => {
                let sibling = self.siblings[*cpu as usize];
                self.wakeups += 1;
                let half_idle = !self.busy[*cpu as usize] && self.busy[sibling as usize];
                self.half_idle += u32::from(half_idle && self.core_idle[waker_cpu]);
                let chosen = self.on_the_way.values().any(|chosen| *chosen == sibling);
                self.both_of_a_core += u32::from(chosen && self.core_idle[waker_cpu]);
                self.on_the_way.insert(*wakee, *cpu);
            }
            Event::Enqueue { task, .. } => {
                self.on_the_way.remove(task);
            }
            _ => {}
        }
    }

    fn inputs<V: View>(&mut self, _: u64, inputs: &wakelab_events::sim::Inputs<'_, V>) {
        let idle = |cpu: Cpu| inputs.view.available_idle_cpu(cpu);
        let core = |cpu: Cpu| idle(cpu) && idle(self.siblings[cpu as usize]);
        let some = (0..self.siblings.len() as Cpu).any(core);
        self.core_idle.insert(inputs.wakeup.waker.cpu, some);
    }
}

fn meets(kernel: &str, switches: &str, workload: &Workload) -> Meets {
    let (machine, kernel) = (machine(), Preset::get(kernel).unwrap());
    let mut sink = Meets::new(&machine);
    let setup = Setup {
        machine: &machine,
        kernel,
        features: switches.parse::<Switches>().unwrap().on(kernel.features),
        workload,
        seed: 1,
        until: 1000 * MS,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    run(&setup, &mut sink, &AtomicBool::new(false)).expect("a run");
    sink
}

#[test]
fn since_7_2_a_wakee_gets_an_idle_core_while_there_is_one() {
    let workload = tasks(MS);
    let half_idle = |kernel, switches| {
        let Meets { half_idle, wakeups, .. } = meets(kernel, switches, &workload);
        assert!(wakeups > 1500, "{kernel}: {wakeups}");
        1000 * half_idle / wakeups
    };
    let before = [half_idle("v6.12", ""), half_idle("v7.2", "NO_ASYM_SMT"), half_idle("v7.3", "NO_ASYM_SMT")];
    let since = [half_idle("v7.2", ""), half_idle("v7.3", "")];
    assert!(before.iter().all(|share| *share > 100), "{before:?}, then {since:?}");
    assert!(since.iter().all(|share| *share < 30), "{before:?}, then {since:?}");
}

#[test]
fn wake_ups_at_about_one_moment_take_both_cpus_of_an_idle_core() {
    // Short stretches, so that choices often meet: each sees the core idle before the other's wakee is enqueued.
    let both = meets("v7.2", "", &tasks(50_000)).both_of_a_core;
    assert!(both > 3, "{both}");
}
