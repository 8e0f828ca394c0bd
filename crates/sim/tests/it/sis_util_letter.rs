//! The case of the SIS_UTIL letter in which no search happens though a CPU is idle: seven of eight CPUs are busy,
//! 87.5%.

use crate::support::{MS, back, call, ns, workload};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sched::balance::CpuIdleType;
use wakelab_sched::domain::Uniform;
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::{Call, Op, Work, Workload};

const US: u64 = 1_000;

/// By then `nr_idle_scan` is what the hogs make of it, ns.
const SETTLED: u64 = 200 * MS;

/// How long CPU 7's own task sleeps.
const SHORT: Work = Work::uniform(1500 * US, 25);

/// Hogs that are pinned to CPUs 0 to 6 (tasks 0 to 6), a task that may run anywhere and is woken on CPU 0 now and then
/// (7), and one on CPU 7 that makes it go idle every 1.2 to 2 ms (8).
fn letter() -> Workload {
    let hog = vec![Op::Run(ns(1000 * MS)), back(0, 0)];
    let pinned = |set| call(Call::Affinity { cpus: set });
    let woken = vec![
        pinned(Some(0)),
        Op::Run(ns(20 * US)),
        pinned(None),
        Op::Sleep(Work::uniform(20 * MS, 50)),
        Op::Run(ns(20 * MS)),
        back(0, 0),
    ];
    let short = vec![Op::Run(ns(50 * US)), Op::Sleep(SHORT), back(0, 0)];
    let mut programs = vec![hog; 7];
    programs.extend([woken, short]);
    let mut workload = workload(programs, &[], None);
    for (cpu, task) in (0..).zip(&mut workload.tasks).filter(|(cpu, _)| *cpu != 7) {
        task.affinity = Some(vec![if cpu == 8 { 7 } else { cpu }]);
    }
    workload.tasks[7].affinity = Some(vec![0]);
    workload.cpu_sets = vec![vec![0]];
    workload
}

/// What is heard of task 7, after the averages have settled.
#[derive(Default)]
struct Heard {
    first: Option<u32>,
    nr_idle_scan: Option<i32>,
    /// When it was woken on CPU 0 without a search, ns.
    woken: Option<u64>,
    last_pass: Option<CpuIdleType>,
    /// Its wake-ups while `nr_idle_scan` is 0: the CPU, and what `sis_scanned` counts.
    unsearched: Vec<(u32, u32)>,
    /// How long after such a wake-up CPU 7 pulled it, ns, and what for.
    pulled: Vec<(u64, CpuIdleType)>,
}

impl Heard {
    fn is_woken(&self, task: u32) -> bool {
        self.first.is_some_and(|first| task == first + 7)
    }
}

impl Sink for Heard {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
            }
            Event::IdleScan { nr_idle_scan, .. } if time > SETTLED => self.nr_idle_scan = nr_idle_scan,
            Event::Wakeup { wakee, decision: Some(decision), cpu, .. } if self.is_woken(wakee) => {
                self.woken = None;
                if self.nr_idle_scan == Some(0) {
                    self.woken = (cpu == 0).then_some(time);
                    self.unsearched.push((cpu, decision.count.scanned));
                }
            }
            Event::Balance { idle, .. } => self.last_pass = Some(idle),
            Event::Migrate { task, to: 7, .. } if self.is_woken(task) => {
                let pass = self.last_pass.expect("a pass");
                self.pulled.extend(self.woken.take().map(|woken| (time - woken, pass)));
            }
            _ => {}
        }
    }
}

fn heard(kernel: &Preset, switches: &str) -> Heard {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let machine = Machine { topology: Uniform::new(8, 1).topology(), ..machine };
    let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    let (workload, machine, until) = (&letter(), &machine, 10_000 * MS);
    let mut heard = Heard::default();
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
    run_dyn(&setup, &mut heard, &Default::default()).expect("a run");
    heard
}

#[test]
fn nobody_searches_and_the_idle_cpu_pulls() {
    // The letter's kernel, and later ones as they were before NI_RANDOM.
    let kernels = [
        ("v5.19-rc1", "SIS_UTIL,NO_SIS_PROP"),
        ("v6.1", "NO_NI_RANDOM"),
        ("v6.12", "NO_NI_RANDOM"),
        ("v7.2", "NO_NI_RANDOM"),
        ("v7.3", "NO_NI_RANDOM"),
    ];
    for (name, switches) in kernels {
        let kernel = Preset::get(name).expect("a preset");
        let heard = heard(kernel, switches);
        assert!(heard.unsearched.len() > 100, "{name}: {}", heard.unsearched.len());
        // The 1 is what every call of select_idle_sibling() counts.
        assert!(heard.unsearched.iter().all(|wakeup| wakeup.1 == 1), "{name}: {:?}", heard.unsearched);

        // It has the CPU for a slice, or for as long as its sleep is credited, up to a tick. Then it waits, is not
        // cache-hot after sysctl_sched_migration_cost, and CPU 7 looks when it goes idle next. That is before the hog's
        // slice is over.
        let tunables = kernel.tunables.scaled(8);
        let stint = tunables.base_slice.or(tunables.sched_latency.map(|latency| latency / 2)).expect("a tunable");
        let tick = 1_000_000_000 / u64::from(kernel.hz.value);
        let costs = 200 * US;
        let bound = stint + tick + tunables.migration_cost.expect("a tunable") + SHORT.ns * 5 / 4 + 50 * US + costs;
        let late = heard.pulled.iter().filter(|pull| pull.0 > bound);
        assert_eq!(late.count(), 0, "{name}: bound {bound}, {:?}", heard.pulled);
        let newidle = heard.pulled.iter().filter(|pull| pull.1 == CpuIdleType::NewlyIdle).count();
        assert!(newidle * 4 > heard.pulled.len() * 3, "{name}: {newidle} of {}", heard.pulled.len());
        assert!(heard.pulled.len() * 10 > heard.unsearched.len() * 6, "{name}: {}", heard.pulled.len());
    }
}
