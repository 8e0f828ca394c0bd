//! Runs a scheduler's object: `run_scheduler OBJECT [machine=NAME] [kernel=NAME] [ms=N] [variable=number...]`. It
//! prints what tasks have done, or what the scheduler lacks; how long CPUs were idle while others' tasks waited, and
//! how long a task waited at most; and the shares of busy tasks of two weights.

use std::sync::atomic::AtomicBool;
use std::time::Instant;
use wakelab_events::sim::{Event, NewTask, Sink};
use wakelab_kernel::Preset;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::synthetic::{ping_pong, run_sleep};
use wakelab_workload::{Work, Workload};

/// What it is like to wait.
#[derive(Default)]
struct Watch {
    nr_cpus: usize,
    busy: usize,
    at: u64,
    /// By task: since when it waits, and how long it has run.
    waits: Vec<Option<u64>>,
    since: Vec<u64>,
    ran: Vec<u64>,
    waiting: usize,
    /// CPU time that was idle while a task waited, and the longest stretch of it; the longest wait.
    wasted: u64,
    stretch: u64,
    longest_stretch: u64,
    longest_wait: u64,
    running: Vec<Option<u32>>,
    /// Tasks of the workload, and their nice values.
    tasks: Vec<(u32, i8)>,
}

impl Watch {
    fn new(nr_cpus: usize) -> Self {
        Watch { nr_cpus, running: vec![None; nr_cpus], ..Watch::default() }
    }

    fn passes(&mut self, time: u64) {
        let idle = self.nr_cpus - self.busy;
        let wastes = idle.min(self.waiting) as u64;
        self.wasted += wastes * (time - self.at);
        self.stretch = if wastes > 0 { self.stretch + time - self.at } else { 0 };
        self.longest_stretch = self.longest_stretch.max(self.stretch);
        self.at = time;
    }

    fn grow(&mut self, task: u32) -> usize {
        let at = task as usize;
        if self.waits.len() <= at {
            self.waits.resize(at + 1, None);
            self.since.resize(at + 1, 0);
            self.ran.resize(at + 1, 0);
        }
        at
    }

    fn waits(&mut self, time: u64, task: u32) {
        let at = self.grow(task);
        if self.waits[at].replace(time).is_none() {
            self.waiting += 1;
        }
    }
}

impl Sink for Watch {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        if task.workload {
            self.grow(task.task);
            self.tasks.push((task.task, task.nice));
        }
    }

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Enqueue { task, .. } => {
                self.passes(time);
                if !self.running.contains(&Some(task)) {
                    self.waits(time, task);
                }
            }
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                self.passes(time);
                if let Some(prev) = prev {
                    let at = self.grow(prev);
                    self.ran[at] += time - self.since[at];
                    self.busy -= 1;
                    if !prev_sleeps {
                        self.waits(time, prev);
                    }
                }
                if let Some(next) = next {
                    let at = self.grow(next);
                    self.since[at] = time;
                    self.busy += 1;
                    if let Some(from) = self.waits[at].take() {
                        self.waiting -= 1;
                        self.longest_wait = self.longest_wait.max(time - from);
                    }
                }
                self.running[cpu as usize] = next;
            }
            _ => {}
        }
    }
}

/// Four busy tasks a CPU, half of them of nice 5, which weigh a third.
fn busy(nr_cpus: u32) -> Workload {
    let mut workload = run_sleep(4 * nr_cpus, Work::uniform(3_000_000, 0), Work::uniform(1_000, 0));
    for task in workload.tasks.iter_mut().skip(1).step_by(2) {
        task.nice = 5;
    }
    workload
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("expected the path of an object")?;
    let mut scheduler = BpfScheduler::new(&path, &std::fs::read(&path)?, &path)?;
    let mut machine = "intel-kaby-lake-4c8t".to_owned();
    let mut kernel = "v7.2".to_owned();
    let mut ms = 200;
    for word in args {
        let (name, value) = word.split_once('=').ok_or("expected variable=number")?;
        match name {
            "machine" => machine = value.to_owned(),
            "kernel" => kernel = value.to_owned(),
            "ms" => ms = value.parse()?,
            _ => scheduler.set(name, value.parse()?),
        }
    }
    let machine = wakelab_machine::get(&machine)?;
    let kernel = Preset::get(&kernel)?;
    let nr_cpus = machine.topology.nr_cpus();
    let loads = [
        ("pairs", ping_pong(nr_cpus / 4)),
        ("2 tasks a CPU, 50/50 us", run_sleep(2 * nr_cpus, Work::uniform(50_000, 0), Work::uniform(50_000, 0))),
        ("4 busy tasks a CPU", busy(nr_cpus)),
    ];
    for (name, workload) in loads {
        let setup = Setup {
            machine: &machine,
            kernel,
            features: kernel.features,
            workload: &workload,
            seed: 1,
            until: ms * 1_000_000,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: None,
            scheduler: Some(&scheduler),
        };
        let began = Instant::now();
        let mut watch = Watch::new(nr_cpus as usize);
        match run_dyn(&setup, &mut watch, &AtomicBool::new(false)) {
            Ok(outcome) => {
                let seconds = began.elapsed().as_secs_f64();
                let idle: u64 = outcome.cpus.iter().map(|cpu| cpu.idle).sum();
                let wakeups = outcome.wakeups;
                let percent = idle * 100 / (outcome.ended * u64::from(nr_cpus));
                println!("{name}: {wakeups} wake-ups, idle {percent}%, {:.0} a second", wakeups as f64 / seconds);
                let wasted = watch.wasted as f64 * 100.0 / (outcome.ended * u64::from(nr_cpus)) as f64;
                println!(
                    "    idle while tasks waited: {wasted:.2}%, {} us in one go; longest wait {} us",
                    watch.longest_stretch / 1000,
                    watch.longest_wait / 1000
                );
                if workload.tasks.iter().any(|task| task.nice != 0) {
                    let ran = |nice: i8| {
                        let of = watch.tasks.iter().filter(|(_, own)| *own == nice);
                        let ran: Vec<u64> = of.map(|&(task, _)| watch.ran[task as usize] / 1_000_000).collect();
                        let (min, max) = (ran.iter().min().unwrap_or(&0), ran.iter().max().unwrap_or(&0));
                        (ran.iter().sum::<u64>() as f64 / ran.len() as f64, *min, *max)
                    };
                    println!("    nice 0 ran (ms: mean, least, most) {:?}, nice 5 {:?}", ran(0), ran(5));
                }
            }
            Err(error) => println!("{name}: {error}"),
        }
    }
    Ok(())
}
