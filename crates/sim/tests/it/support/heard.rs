//! What run queues do on CPU 0: who had it, for how long, and how long wake-ups waited for it.

use super::{MS, back, call, ns, workload};
use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_kernel::{Class, FairClass, Preset, Switches};
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Call, Op, Workload};

/// The presets of a class, by name.
pub fn kernels(class: Class) -> impl Iterator<Item = &'static str> {
    Preset::all().iter().filter(move |preset| preset.class() == class).map(|preset| preset.name)
}

/// Whether a task can ask for a slice of its own.
pub fn gives_slices(kernel: &str) -> bool {
    let fair = Preset::get(kernel).expect("a preset").fair;
    matches!(fair, FairClass::Eevdf(rules) if rules.custom_slices)
}

/// The base slice on 8 CPUs of all presets with EEVDF that have 700 us in the source.
pub const BASE_SLICE: u64 = 2_800_000;

/// The tick of a kernel, ns.
pub fn tick(kernel: &str) -> u64 {
    Preset::get(kernel).expect("a preset").hz.tick_ns()
}

/// Runs on a machine of one CPU, quietly, with a preset's features and these switches.
pub fn on_one_cpu(kernel: &str, switches: &str, workload: &Workload, until: u64, sink: &mut impl Sink) {
    on("test-1c", kernel, switches, workload, until, sink);
}

/// The same on any machine.
pub fn on(machine: &str, kernel: &str, switches: &str, workload: &Workload, until: u64, sink: &mut impl Sink) {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
    let mechanisms = Mechanisms { noise: false, cold_cache: false, ..Mechanisms::default() };
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
    run_dyn(&setup, sink, &Default::default()).expect("a run");
}

/// Of CPU 0: how long each task had it, when it changed hands, and what wake-ups there were.
#[derive(Default)]
pub struct Heard {
    pub first: Option<u32>,
    pub since: (Option<u32>, u64),
    pub ran: Vec<u64>,
    /// When a task lost the CPU to another, and how long it had had it, ns.
    pub stints: Vec<(u32, u64, u64)>,
    /// Wakee, when, how it came to its queue, and whether a choice was made.
    pub wakeups: Vec<(u32, u64, Queued, bool)>,
    /// When a task got the CPU.
    pub got: Vec<(u32, u64)>,
}

impl Sink for Heard {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
            }
            Event::Switch { cpu: 0, next, .. } => {
                let first = self.first.expect("a fork");
                if let (Some(task), since) = self.since {
                    self.stints.push((task, time, time - since));
                    self.ran.resize(self.ran.len().max(task as usize + 1), 0);
                    self.ran[task as usize] += time - since;
                }
                let next = next.map(|task| task - first);
                self.since = (next, time);
                self.got.extend(next.map(|task| (task, time)));
            }
            Event::Wakeup { wakee, queued, decision, .. } => {
                let first = self.first.expect("a fork");
                self.wakeups.push((wakee - first, time, queued, decision.is_some()));
            }
            _ => {}
        }
    }
}

/// A task that computes for ever.
pub fn hog(nice: i8) -> Vec<Op> {
    vec![call(Call::Nice(nice)), Op::Run(ns(MS)), back(1, 0)]
}

/// How long the wake-ups of a task waited for CPU 0, ascending, ns; those of a task that was still queued, if
/// `delayed`.
pub fn waits(heard: &Heard, task: u32, delayed: bool) -> Vec<u64> {
    let woken = heard.wakeups.iter().filter(|wakeup| wakeup.0 == task && (wakeup.2 == Queued::Delayed) == delayed);
    let got = |woken| heard.got.iter().find(|got| got.0 == task && got.1 > woken).map(|got| got.1 - woken);
    let mut waits: Vec<u64> = woken.filter_map(|wakeup| got(wakeup.1)).collect();
    waits.sort_unstable();
    waits
}

/// On one CPU four hogs that ask for slices of `hogs`, and a task (number 4) that works for 0.3 ms every 17.3 ms or so,
/// far less than its share, and asks for slices of `slice`; 0: nobody asks.
pub fn short_among_long(kernel: &str, switches: &str, hogs: u64, slice: u64) -> Heard {
    let short = vec![Op::Run(ns(300_000)), Op::Sleep(ns(17_300_000)), back(0, 0)];
    let programs = [0; 4].map(hog).into_iter().chain([short]).collect();
    let mut workload = workload(programs, &[], Some(vec![0]));
    workload.tasks.iter_mut().for_each(|task| task.slice_ns = hogs);
    workload.tasks[4].slice_ns = slice;
    let mut heard = Heard::default();
    on("test-8c", kernel, switches, &workload, 10_000 * MS, &mut heard);
    heard
}
