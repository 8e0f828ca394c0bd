//! Cache-aware balancing: processes of threads on machines of two LLCs.

use crate::support::{MS, back, workload};
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_sim::{Mechanisms, Setup, SimError, run_dyn};
use wakelab_workload::{Op, Work, Workload};

/// What is heard of a run: all of it as text, and how long the threads of each process ran in each LLC after a while.
#[derive(Default)]
struct Heard {
    text: Vec<String>,
    /// By CPU: since when its task runs, ns.
    runs: Vec<Option<(u32, u64)>>,
    first: Option<u32>,
    /// By process and LLC, ns.
    time: [[u64; 2]; 2],
}

/// From when on it counts.
const AFTER: u64 = 1_000 * MS;
const UNTIL: u64 = 3_000 * MS;
/// Threads of each of the two processes.
const THREADS: u32 = 3;

impl Sink for Heard {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        self.text.push(format!("{time} {event:?}"));
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
            }
            Event::Switch { cpu, next, .. } => {
                self.runs.resize(self.runs.len().max(cpu as usize + 1), None);
                let ran = std::mem::replace(&mut self.runs[cpu as usize], next.map(|next| (next, time)));
                if let (Some((task, since)), Some(first)) = (ran, self.first)
                    && time > AFTER
                    && task >= first
                {
                    self.time[((task - first) / THREADS) as usize][cpu as usize / 4] += time - since.max(AFTER);
                }
            }
            _ => {}
        }
    }
}

/// Two processes of threads that run and sleep for times of their own.
fn two_processes(run_us: u64, sleep_us: u64) -> Workload {
    let time = |us| Work::uniform(us * 1000, 40);
    let program = vec![Op::Begin, Op::Run(time(run_us)), Op::Done, Op::Sleep(time(sleep_us)), back(0, 0)];
    let mut all = workload(vec![program; 2 * THREADS as usize], &[], None);
    for (n, task) in (0..).zip(&mut all.tasks) {
        task.process = Some(n / THREADS);
    }
    all
}

fn hear(kernel: &str, switches: &str, workload: &Workload, seed: u64) -> Result<Heard, SimError> {
    let machine = wakelab_machine::get("test-2llc").expect("a machine");
    let switches: Switches = switches.parse().expect("switches");
    let kernel = Preset::get(kernel).expect("a preset").with_settings(switches.settings()).expect("settings");
    let features = kernel.switched(&switches).expect("features");
    let mechanisms = Mechanisms::default();
    let setup = Setup {
        machine: &machine,
        kernel: &kernel,
        features,
        workload,
        seed,
        until: UNTIL,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut heard = Heard::default();
    run_dyn(&setup, &mut heard, &AtomicBool::new(false))?;
    Ok(heard)
}

/// The least share of its time that a process spends in the LLC that has most of it, per cent.
fn together(heard: &Heard) -> u64 {
    let share = |of: &[u64; 2]| 100 * of[0].max(of[1]) / (of[0] + of[1]).max(1);
    heard.time.iter().map(share).min().expect("two processes")
}

#[test]
fn two_processes_of_threads_come_to_have_an_llc_each() {
    let workload = two_processes(3000, 2000);
    for seed in 1..4 {
        let (on, off) =
            (hear("v7.2", "", &workload, seed).unwrap(), hear("v7.2", "NO_SCHED_CACHE", &workload, seed).unwrap());
        println!("seed {seed}: on {:?} {}, off {:?} {}", on.time, together(&on), off.time, together(&off));
        assert!(together(&on) >= 90, "seed {seed}: {:?}", on.time);
        assert!(together(&off) < 80, "seed {seed}: {:?}", off.time);
        let llc = |process: usize| usize::from(on.time[process][1] > on.time[process][0]);
        assert_ne!(llc(0), llc(1), "seed {seed}: {:?}", on.time);
    }
}

#[test]
fn tolerance_0_is_the_same_as_off() {
    let workload = two_processes(3000, 2000);
    let off = hear("v7.2", "NO_SCHED_CACHE", &workload, 1).unwrap();
    assert!(hear("v7.2", "llc_aggr_tolerance=0", &workload, 1).unwrap().text == off.text);
    assert!(hear("v7.2", "", &workload, 1).unwrap().text != off.text);
}

#[test]
fn the_same_run_has_the_same_events() {
    let workload = two_processes(1500, 1000);
    for switches in ["", "SCHED_CACHE_V1"] {
        let heard = || hear("v7.3", switches, &workload, 7).unwrap().text;
        assert!(heard() == heard(), "{switches}");
    }
}

#[test]
fn without_threads_of_one_process_there_is_none_of_it() {
    let mut workload = two_processes(1500, 1000);
    for (n, task) in (0..).zip(&mut workload.tasks) {
        task.process = Some(n);
    }
    let of = |switches| hear("v7.2", switches, &workload, 1).unwrap().text;
    assert!(of("") == of("NO_SCHED_CACHE"), "processes of one thread");
    workload.tasks.iter_mut().for_each(|task| task.process = None);
    let of = |switches| hear("v7.2", switches, &workload, 1).unwrap().text;
    assert!(of("") == of("NO_SCHED_CACHE"), "no processes");
}

#[test]
fn a_process_of_too_many_threads_is_left_alone() {
    // All six threads of one process run nearly always, more than four fifths of an LLC of four CPUs.
    let mut workload = two_processes(9000, 1000);
    workload.tasks.iter_mut().for_each(|task| task.process = Some(0));
    let of = |switches| hear("v7.2", switches, &workload, 2).unwrap();
    let (on, off) = (of(""), of("NO_SCHED_CACHE"));
    let all = |heard: &Heard| {
        let sum = |llc: usize| heard.time[0][llc] + heard.time[1][llc];
        100 * sum(0).max(sum(1)) / (sum(0) + sum(1))
    };
    println!("{} {}", all(&on), all(&off));
    assert!(all(&on) < 65 && all(&off) < 65, "{} {}", all(&on), all(&off));
}

/// A footprint counts where NUMA balancing counts faults: on machines of several nodes. In the postings it is the
/// resident set.
#[test]
fn the_size_of_a_process_counts_where_the_kernel_knows_it() {
    let mut workload = two_processes(3000, 2000);
    let small = hear("v7.2", "SCHED_CACHE_V1", &workload, 1).unwrap().text;
    workload.tasks.iter_mut().for_each(|task| task.footprint = 4 << 20);
    assert!(
        hear("v7.2", "", &workload, 1).unwrap().text
            == hear("v7.2", "llc_aggr_tolerance=1", &workload, 1).unwrap().text
    );
    let off = hear("v7.2", "NO_SCHED_CACHE", &workload, 1).unwrap().text;
    assert!(hear("v7.2", "SCHED_CACHE_V1", &workload, 1).unwrap().text == off, "12 MiB in an LLC of 8");
    assert!(small != off);
    workload.tasks.iter_mut().for_each(|task| task.footprint = 2 << 20);
    assert!(hear("v7.2", "SCHED_CACHE_V1", &workload, 1).unwrap().text == small, "6 MiB");
}
