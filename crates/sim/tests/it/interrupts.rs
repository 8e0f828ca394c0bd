//! Interrupts of a workload: whose time theirs is, and what they and pressure leave of a CPU.

use crate::support::{MS, back, ns, workload};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_pm::governor::governor;
use wakelab_pm::idle::IDLE_GOVERNORS;
use wakelab_sim::{Caps, Mechanisms, PmSide, Setup, SimError, run_dyn};
use wakelab_workload::{Interrupt, Op, Work, Workload};

const S: u64 = 1_000 * MS;

/// Counts transactions, and how long CPU 0 had a task.
#[derive(Default)]
struct Counts {
    done: Vec<u64>,
    cpu0: (Option<u64>, u64),
}

impl Sink for Counts {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Done { task, .. } => {
                self.done.resize(self.done.len().max(task as usize + 1), 0);
                self.done[task as usize] += 1;
            }
            Event::Switch { cpu: 0, next, .. } => {
                if let Some(since) = std::mem::replace(&mut self.cpu0.0, next.map(|_| time)) {
                    self.cpu0.1 += time - since;
                }
            }
            _ => {}
        }
    }
}

fn busy(tasks: usize, cpus: Option<Vec<u32>>, interrupt_cpus: Vec<u32>, taken_pct: u64) -> Workload {
    let ops = vec![Op::Begin, Op::Run(ns(100_000)), Op::Done, back(0, 0)];
    let mut workload = workload(vec![ops; tasks], &[], cpus);
    workload.interrupts = vec![Interrupt {
        name: "nic".to_owned(),
        cpus: Some(interrupt_cpus),
        period: Work::uniform(100_000, 50),
        time_ns: 200 * taken_pct,
        softirq_ns: 800 * taken_pct,
    }];
    workload
}

fn counts(machine: &str, kernel: &str, switches: &str, workload: &Workload, pm: Option<PmSide>) -> Counts {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
    let mechanisms = Mechanisms { noise: false, cold_cache: false, ..Mechanisms::default() };
    let mut counts = Counts::default();
    let until = 2 * S;
    let setup = Setup {
        machine: &machine,
        kernel,
        features,
        workload,
        seed: 1,
        until,
        mechanisms,
        observer_cost: 0,
        pm,
        scheduler: None,
    };
    run_dyn(&setup, &mut counts, &Default::default()).expect("a run");
    counts
}

/// Interrupts take their time from whoever runs, whether it is accounted or not.
#[test]
fn interrupts_take_the_time_of_a_cpu() {
    for switches in ["", "IRQ_TIME_ACCOUNTING", "IRQ_TIME_ACCOUNTING,NO_NONTASK_CAPACITY"] {
        for kernel in ["v5.10", "v6.1", "v7.2"] {
            let done: u64 = counts("test-1c", kernel, switches, &busy(1, None, vec![0], 40), None).done.iter().sum();
            // Of 20,000 pieces of 100 us.
            assert!((11_700..12_100).contains(&done), "{kernel} {switches}: {done}");
        }
    }
}

/// With their time accounted, a CPU with interrupts has less capacity, so that balancing leaves it fewer tasks.
#[test]
fn accounted_interrupts_push_tasks_away() {
    for kernel in ["v6.1", "v6.12", "v7.2"] {
        let least = |switches: &str| {
            // While the sibling is busy they take 1.6 times as long.
            let done = counts("test-8c", kernel, switches, &busy(16, None, vec![0], 50), None).done;
            let first = done.len() - 16;
            let tasks = &done[first..];
            (*tasks.iter().min().expect("tasks") as f64) / (tasks.iter().sum::<u64>() as f64 / 16.0)
        };
        let (blind, told) = (least(""), least("IRQ_TIME_ACCOUNTING"));
        assert!(told > blind + 0.1, "{kernel}: the least any task has of the mean: {blind:.2}, {told:.2}");
    }
}

/// A heavy interrupt load of all CPUs does not stop a run, and gives the same bytes twice.
#[test]
fn the_same_input_gives_the_same_run() {
    let run = || counts("test-8c", "v7.2", "IRQ_TIME_ACCOUNTING", &busy(5, None, (0..8).collect(), 90), None).done;
    assert_eq!(run(), run());
}

fn side(change: impl Fn(&mut PmSide)) -> Option<PmSide> {
    let mut side = PmSide::of(governor("schedutil").expect("a governor"), &IDLE_GOVERNORS[0]);
    change(&mut side);
    Some(side)
}

/// Where the frequency of the largest CPU of Pixel 6 is limited, less is done.
#[test]
fn what_the_kernel_is_told_of_frequencies_reaches_the_capacities() {
    let machine = wakelab_machine::get("pixel6").expect("a machine");
    let last = machine.topology.nr_cpus() - 1;
    let capped = |hw: bool| {
        side(move |side| {
            let caps = if hw { &mut side.hw_pressure } else { &mut side.freq_caps };
            assert!(caps.add(last, last, 500_000));
        })
    };
    let done = |kernel: &str, pm| counts("pixel6", kernel, "", &busy(1, None, vec![0], 1), pm).done.iter().sum::<u64>();
    for kernel in ["v6.1", "v6.12", "v7.2"] {
        let free = done(kernel, side(|_| {}));
        let (freq, hw) = (done(kernel, capped(false)), done(kernel, capped(true)));
        assert!(freq < free && hw < free, "{kernel}: {free} {freq} {hw}");
    }
}

#[test]
fn what_cannot_be_capped_is_refused() {
    let refused = |machine: &str, kernel: &str, side: PmSide| {
        let machine = wakelab_machine::get(machine).expect("a machine");
        let kernel = Preset::get(kernel).expect("a preset");
        let workload = busy(1, None, vec![0], 1);
        let setup = Setup {
            machine: &machine,
            kernel,
            features: kernel.features,
            workload: &workload,
            seed: 1,
            until: MS,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: Some(side),
            scheduler: None,
        };
        match run_dyn(&setup, &mut (), &Default::default()) {
            Err(SimError::Machine(what) | SimError::Kernel(what)) => what,
            other => panic!("{other:?}"),
        }
    };
    let mut caps = Caps::default();
    assert!(caps.add(1000, 1000, 1_000_000));
    let many = side(|side| side.freq_caps = caps).unwrap();
    assert!(refused("pixel6", "v6.12", many).contains("freq_cap of CPU 1000; expected CPUs 0 to"));
    let mut all = Caps::default();
    assert!(all.add(0, Caps::LAST, 1_000_000));
    let told = side(|side| side.hw_pressure = all).unwrap();
    assert!(refused("i7-2600k", "v6.12", told).contains("expected thermal_cap"));
    let full = (0..=Caps::MAX as u32).map(|n| all.add(n, n, 1)).collect::<Vec<_>>();
    assert!(full.contains(&false));
}
