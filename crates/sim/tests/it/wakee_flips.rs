//! `wakee_flips`: who has them, and from whom.

use crate::support::{MS, back, ns};
use std::collections::BTreeMap;
use wakelab_events::Digest;
use wakelab_events::sim::{Event, NewTask, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::{Machine, Noise};
use wakelab_sim::observe::{Snapshot, observe};
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Load, Op, Workload, build};

/// Eight CPUs, with so many daemons.
fn machine(daemons: u64) -> Machine {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    Machine { noise: Noise { kworker_period_ns: 60 * MS, kworker_run_ns: 4000, daemons }, ..machine }
}

/// Calls `look` at each of `times`, or runs to the last of them.
fn look(
    (machine, switches): (&Machine, &str),
    workload: &Workload,
    times: &[u64],
    sink: &mut impl Sink,
    mut look: impl FnMut(&Snapshot<'_>),
) {
    let kernel = Preset::get("v6.1").expect("a preset");
    let features = kernel.switched(&switches.parse::<Switches>().expect("switches")).expect("features");
    let (mechanisms, until) = (Mechanisms::default(), times[times.len() - 1]);
    let setup = Setup {
        machine,
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
    observe(&setup, sink, times.iter().copied(), |snapshot, _| look(snapshot)).expect("a run");
}

fn pairs(pairs: u32) -> Workload {
    let params = BTreeMap::from([("ramp".to_owned(), 1_000_000)]);
    build("netperf:TCP_RR", Load::Instances(pairs), 8, &params).expect("a workload")
}

/// The share of the tasks of pairs that have no flips, after some seconds.
fn without_flips(daemons: u64, switches: &str) -> f64 {
    let times: Vec<u64> = (0..10).map(|step| (2500 + 100 * step) * MS).collect();
    let (mut without, mut all) = (0.0, 0.0);
    look((&machine(daemons), switches), &pairs(4), &times, &mut (), |snapshot| {
        // Those of the workload come last, and of these the two that fork the pairs and sleep.
        let tasks: Vec<u32> = snapshot.tasks().map(|task| task.wakee_flips).collect();
        let of_pairs = &tasks[tasks.len() - 10..tasks.len() - 2];
        without += of_pairs.iter().filter(|&&flips| flips == 0).count() as f64;
        all += of_pairs.len() as f64;
    });
    without / all
}

/// Half as many pairs as CPUs in a guest of 6.1 with eight (`data/recordings/6.1-A-pp_half`): 0.5% of the wakers, and
/// of the wakees, have none. A netperf pair has no sleeps of its own, so all its flips come from others.
#[test]
fn an_interrupt_leaves_flips_on_whom_it_interrupts() {
    assert_eq!(without_flips(0, "SIS_CURRENT"), 1.0);
    let few = without_flips(10, "SIS_CURRENT");
    assert!(few < 0.1, "{few}");
}

/// Who woke the kthread of RCU.
#[derive(Default)]
struct Kthread {
    id: Option<u32>,
    woken: u32,
    by_task: u32,
}

impl Sink for Kthread {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        if task.name.starts_with("rcu_sched") {
            self.id = Some(task.task);
        }
    }

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Wakeup { wakee, waker, .. } = *event
            && Some(wakee) == self.id
        {
            self.woken += 1;
            self.by_task += u32::from(waker.is_some());
        }
    }
}

/// In a guest of 6.1 with four CPUs, two pairs and nine loops like the monitors of a harness, the kthread was woken
/// 107 times a second.
#[test]
fn grace_periods_wake_the_kthread_on_busy_cpus() {
    let heard = |daemons| {
        let mut heard = Kthread::default();
        look((&machine(daemons), "SIS_CURRENT"), &pairs(4), &[2000 * MS], &mut heard, |_| ());
        heard
    };
    let kthread = heard(10);
    assert!((140..300).contains(&kthread.woken), "{} in 2 s", kthread.woken);
    assert!(kthread.by_task * 3 > kthread.woken, "{} of {}", kthread.by_task, kthread.woken);
    assert_eq!(heard(0).id, None);
}

#[test]
fn who_asks_for_no_flips_has_no_daemons() {
    let digest = |daemons, switches: &str| {
        let (machine, mut digest) = (machine(daemons), Digest::default());
        let kernel = Preset::get("v6.1").expect("a preset");
        let features = kernel.switched(&switches.parse::<Switches>().expect("switches")).expect("features");
        let workload = pairs(2);
        let setup = Setup {
            machine: &machine,
            kernel,
            features,
            workload: &workload,
            seed: 1,
            until: 300 * MS,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: None,
            scheduler: None,
        };
        run_dyn(&setup, &mut digest, &Default::default()).expect("a run");
        digest.finish()
    };
    assert_eq!(digest(0, ""), digest(10, ""));
    assert_ne!(digest(0, "SIS_NODE_PAIR"), digest(10, "SIS_NODE_PAIR"));
}

/// A child is a copy of its parent (`dup_task_struct()`), and nothing resets its flips.
#[test]
fn a_child_has_the_flips_of_its_parent() {
    let send = |channel| Op::Send { channel, sync: false };
    let waits = |channel| vec![Op::Recv { channel }, back(0, 0)];
    let parent = vec![
        Op::Sleep(ns(MS)),
        Op::Run(ns(1000)),
        send(0),
        Op::Sleep(ns(MS)),
        send(1),
        Op::Sleep(ns(MS)),
        send(0),
        Op::Fork { program: 3 },
        Op::Run(ns(100 * MS)),
        back(8, 0),
    ];
    let child = vec![Op::Run(ns(100 * MS)), back(0, 0)];
    let mut workload = of_programs(vec![waits(0), waits(1), parent, child], &[("first", 1), ("second", 1)]);
    workload.tasks.truncate(3);
    let mut flips = Vec::new();
    look((&machine(0), ""), &workload, &[20 * MS], &mut (), |snapshot| {
        flips = snapshot.tasks().map(|task| task.wakee_flips).collect();
    });
    // The first wake-up of a run halves what came before it, which is nothing.
    assert_eq!(flips[flips.len() - 2..], [3, 3]);
}
