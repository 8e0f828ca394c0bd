//! The machines of published tables can be simulated under the kernels of their postings, and one seed gives one run.

use crate::support::{MS, Told, ns, simulate, workload};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Preset;
use wakelab_sim::{Mechanisms, Setup, check, run_dyn};
use wakelab_workload::{Load, Op, build};

/// Machine and kernel.
const TABLES: [(&str, &str); 8] = [
    ("amd-zen3-2s128c256t-nps1", "v5.19-rc2-tip"),
    ("amd-zen3-2s128c256t-nps2", "v5.19-rc2-tip"),
    ("amd-zen3-2s128c256t-nps4", "v5.19-rc2-tip"),
    ("intel-2s44c88t", "v5.2"),
    ("sparc-2s16c128t", "v5.2"),
    ("ampere-altra-2s160c", "v6.1"),
    ("intel-2s112c224t", "v5.19-rc1"),
    ("intel-1s56c112t", "v6.1"),
];

/// All events in one number, and how many wake-ups had a choice.
#[derive(Default)]
struct Heard {
    hash: DefaultHasher,
    chosen: u64,
}

impl Sink for Heard {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        time.hash(&mut self.hash);
        format!("{event:?}").hash(&mut self.hash);
        self.chosen += u64::from(matches!(event, Event::Wakeup { decision: Some(_), .. }));
    }
}

fn heard(machine: &str, kernel: &str, seed: u64) -> (u64, u64) {
    let machine = &wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    check(machine, kernel).unwrap_or_else(|e| panic!("{}: {e}", machine.name));
    let load = Load::parse_list("1").expect("a load")[0];
    let workload = &build("hackbench:process-pipe", load, machine.topology.nr_cpus(), &BTreeMap::new()).expect("it");
    let (features, mechanisms) = (kernel.features, Mechanisms::default());
    let setup = Setup {
        machine,
        kernel,
        features,
        workload,
        seed,
        until: 5 * MS,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut heard = Heard::default();
    run_dyn(&setup, &mut heard, &Default::default()).unwrap_or_else(|e| panic!("{}: {e}", machine.name));
    (heard.hash.finish(), heard.chosen)
}

#[test]
fn a_short_run_on_each_is_the_same_twice_and_another_with_another_seed() {
    for (machine, kernel) in TABLES {
        let first = heard(machine, kernel, 1);
        assert_eq!(heard(machine, kernel, 1), first, "{machine}");
        assert_ne!(heard(machine, kernel, 2).0, first.0, "{machine}");
        assert!(first.1 > 100, "{machine}: {} wake-ups", first.1);
    }
}

/// Machines of tables from 2021 to 2026, and the nearest presets of their kernels.
const LATER: [(&str, &[&str]); 20] = [
    ("kunpeng920-2s128c", &["v5.19-rc2-tip", "v6.1", "v6.12"]),
    ("intel-2s48c96t", &["v5.19-rc2-tip"]),
    ("intel-2s48c96t-snc", &["v5.19-rc2-tip"]),
    ("intel-4s96c192t", &["v5.10"]),
    ("intel-2s40c80t", &["v7.2"]),
    ("intel-2s32c64t", &["v7.2"]),
    ("intel-2s112c224t-8llc", &["v6.1"]),
    ("intel-2s60c120t-1node", &["v6.12", "v7.2"]),
    ("amd-zen3-2s64c128t", &["v7.2"]),
    ("amd-zen3-4n128c", &["v6.12"]),
    ("amd-genoa-4n128c", &["v7.2"]),
    ("intel-ivb-ep-2s20c40t", &["v6.1"]),
    ("intel-ivb-ep-2s24c48t", &["v6.1"]),
    ("intel-ivb-2c4t", &["v6.1"]),
    ("intel-kaby-lake-4c8t", &["v6.1"]),
    ("intel-coffee-lake-6c12t", &["v6.1"]),
    ("intel-comet-lake-10c20t", &["v6.1"]),
    ("spr-zijlstra", &["v7.2"]),
    ("meta-unstated", &["v6.12"]),
    ("ampere-unstated", &["v7.2"]),
];

#[test]
fn pairs_of_tasks_wake_each_other_on_each_of_the_later() {
    for (name, kernels) in LATER {
        let machine = &wakelab_machine::get(name).expect("a machine");
        for kernel in kernels {
            let kernel = Preset::get(kernel).expect("a preset");
            check(machine, kernel).unwrap_or_else(|e| panic!("{name}: {e}"));
            let (nr_cpus, options) = (machine.topology.nr_cpus(), BTreeMap::from([("ramp".to_owned(), MS)]));
            let workload = &build("netperf:TCP_RR", Load::Percent(50), nr_cpus, &options).expect("a workload");
            let (features, mechanisms) = (kernel.features, Mechanisms::default());
            let setup = Setup {
                machine,
                kernel,
                features,
                workload,
                seed: 1,
                until: 2 * MS,
                mechanisms,
                observer_cost: 0,
                pm: None,
                scheduler: None,
            };
            let mut heard = Heard::default();
            run_dyn(&setup, &mut heard, &Default::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(heard.chosen > 10 * u64::from(nr_cpus), "{name} {}: {} wake-ups", kernel.name, heard.chosen);
        }
    }
}

/// When tasks have done 10 ms of work each, on as many threads of one core, ns.
fn ten_ms_on_threads(machine: &str, threads: u32) -> u64 {
    let cpus = wakelab_machine::get(machine).expect("a machine").topology.cpus;
    let mut tasks = workload(vec![vec![Op::Run(ns(10 * MS))]; threads as usize], &[], None);
    let siblings = (0..).zip(&cpus).filter(|(_, cpu)| cpu.core == cpus[0].core);
    for (task, (cpu, _)) in tasks.tasks.iter_mut().zip(siblings) {
        task.affinity = Some(vec![cpu]);
    }
    let mut told = Told::default();
    simulate((machine, "v5.2"), &tasks, (1, 60 * MS), true, &mut told).expect("a run");
    told.exits.iter().map(|exit| exit.1).max().expect("an exit")
}

/// 40% for each of them; ticks and switches take less than a thirtieth.
#[test]
fn each_busy_thread_of_a_core_adds_to_the_slow_down() {
    for (machine, threads, expected) in [
        ("sparc-2s16c128t", 1, 10 * MS),
        ("sparc-2s16c128t", 2, 14 * MS),
        ("sparc-2s16c128t", 4, 22 * MS),
        ("sparc-2s16c128t", 8, 38 * MS),
        ("intel-2s44c88t", 2, 14 * MS),
    ] {
        let took = ten_ms_on_threads(machine, threads);
        assert!((expected..expected + expected / 30).contains(&took), "{machine}, {threads} threads: {took} ns");
    }
}
