//! CPUs of unequal capacities: what utilisation comes to on each, and where tasks are moved and placed.

use crate::support::MS;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::{CapacitySearch, Preset, Switches};
use wakelab_machine::Machine;
use wakelab_pm::governor::governor;
use wakelab_pm::idle::IDLE_GOVERNORS;
use wakelab_sched::balance::MigrationType;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::energy::compute_energy;
use wakelab_sched::select::{Reason, View};
use wakelab_sim::observe::{Snapshot, observe};
use wakelab_sim::{Mechanisms, PmSide, Setup, run_dyn};
use wakelab_workload::{Op, Program, Task, Work, Workload};

/// One CPU of each kind of a Pixel 6, little to big.
const KINDS: [Cpu; 3] = [0, 4, 6];

fn ns(ns: u64) -> Op {
    Op::Run(Work::uniform(ns, 0))
}

fn sleep(ns: u64) -> Op {
    Op::Sleep(Work::uniform(ns, 0))
}

/// Tasks that do these steps for ever, each where it may run.
fn tasks(of: Vec<(Vec<Op>, Option<Vec<Cpu>>)>) -> Workload {
    let mut workload =
        wakelab_workload::build("jankbench", wakelab_workload::Load::Instances(1), 8, &Default::default())
            .expect("a workload");
    let plain = workload.tasks[0].clone();
    (workload.tasks, workload.programs, workload.channels) = (Vec::new(), Vec::new(), Vec::new());
    for (n, (mut ops, affinity)) in (0..).zip(of) {
        ops.push(Op::Repeat { to: 0, times: None });
        workload.programs.push(Program { name: format!("program {n}"), ops });
        let task = Task { name: format!("task {n}"), program: n, channels: [].into(), affinity, ..plain.clone() };
        workload.tasks.push(task);
    }
    workload
}

fn setup<'a>(
    machine: &'a Machine,
    kernel: &str,
    switches: &str,
    workload: &'a Workload,
    governor_name: &str,
) -> Setup<'a> {
    let kernel = Preset::get(kernel).unwrap();
    Setup {
        machine,
        kernel,
        features: switches.parse::<Switches>().unwrap().on(kernel.features),
        workload,
        seed: 1,
        until: 0,
        mechanisms: Mechanisms { noise: false, cold_cache: false, ..Mechanisms::default() },
        observer_cost: 0,
        pm: governor(governor_name).ok().map(|about| PmSide::of(about, &IDLE_GOVERNORS[0])),
        scheduler: None,
    }
}

/// Runs and looks every millisecond up to `until` ms.
fn watch<S: Sink>(setup: &Setup<'_>, sink: &mut S, until: u64, mut look: impl FnMut(u64, &Snapshot<'_>, &S)) {
    let times = (1..=until).map(|ms| ms * MS);
    observe(setup, sink, times, |snapshot, sink| look(snapshot.now() / MS, snapshot, sink)).expect("a run");
}

fn pixel6() -> Machine {
    wakelab_machine::get("pixel6").unwrap()
}

/// A task's mean util_avg over the last 200 of 700 ms, pinned.
fn settled(cpu: Cpu, work: u64, period: u64, governor: &str) -> u64 {
    let machine = pixel6();
    let capacity = u64::from(machine.topology.cpus[cpu as usize].capacity);
    let asleep = period - work * 1024 / capacity;
    let workload = tasks(vec![(vec![ns(work), sleep(asleep)], Some(vec![cpu]))]);
    let mut sum = 0;
    watch(&setup(&machine, "v5.18-eas", "", &workload, governor), &mut (), 700, |ms, snapshot, ()| {
        let task = snapshot.tasks().next_back().expect("a task");
        sum += if ms > 500 { task.avg.util_avg } else { 0 };
    });
    sum / 200
}

#[test]
fn fixed_work_has_the_same_utilisation_on_little_mid_and_big_cpus() {
    // 0.8 ms of a big CPU's work in 10 ms is half of what a little one can do, with governor and without.
    for governor in ["performance", ""] {
        let util = KINDS.map(|cpu| settled(cpu, 800_000, 10 * MS, governor));
        assert!(util.iter().all(|util| (76..=96).contains(util)), "{governor}: {util:?}");
    }
}

/// Counts passes that found a misfit task.
#[derive(Default)]
struct Misfits(u32);

impl Sink for Misfits {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Balance { imbalance: Some(imbalance), .. } = event {
            self.0 += u32::from(imbalance.migration_type == MigrationType::Misfit);
        }
    }
}

#[test]
fn a_task_that_is_too_much_for_a_little_cpu_is_moved_to_a_larger_one() {
    for preset in Preset::all().iter().filter(|preset| preset.code.capacity_search != CapacitySearch::WakeCap) {
        let (kernel, machine) = (preset.name, pixel6());
        // It may use a little CPU and a big one, and works without a pause: no wake-up moves it. Another keeps the big
        // one busy when it starts.
        let worker = (vec![sleep(10 * MS), ns(500 * MS)], Some(vec![1, 6]));
        let other = (vec![ns(30 * MS), sleep(1000 * MS)], Some(vec![6]));
        let workload = tasks(vec![other, worker]);
        let by_allowed = preset.balance.misfit_by_allowed;
        let (mut little, mut moved, mut sink) = (0, None, Misfits::default());
        watch(&setup(&machine, kernel, "", &workload, "schedutil"), &mut sink, 600, |ms, snapshot, _| {
            let cpu = snapshot.tasks().next_back().expect("a task").cpu;
            little += u32::from(ms > 12 && cpu == 1);
            moved = moved.or((ms > 12 && little > 0 && cpu == 6).then_some(ms));
            // Before max_allowed_capacity a task that is too much for the largest CPU is a misfit there, too.
            assert!(!by_allowed || snapshot.cpu(6).misfit_task_load == 0, "{kernel}: there is no larger CPU");
        });
        assert!(little > 0, "{kernel}: it has not been on the little CPU");
        assert!(moved.is_some(), "{kernel}: it stays");
        assert!(sink.0 > 0, "{kernel}: moved at {moved:?} ms, and not as a misfit");
    }
}

/// Counts wake-ups by why they went where they did.
#[derive(Default)]
struct Reasons {
    energy: u32,
    other: u32,
}

impl Sink for Reasons {
    const ON: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Wakeup { decision: Some(decision), .. } = event {
            match decision.reason {
                Reason::Energy => self.energy += 1,
                _ => self.other += 1,
            }
        }
    }
}

fn small() -> (Vec<Op>, Option<Vec<Cpu>>) {
    (vec![ns(100_000), sleep(7 * MS)], None)
}

#[test]
fn an_overutilized_cpu_switches_placement_by_energy_off_and_balancing_switches_it_on_again() {
    let machine = pixel6();
    // For 300 ms a task wants all of a mid CPU, and may use no other.
    let hog = (vec![sleep(300 * MS), ns(150 * MS), sleep(9000 * MS)], Some(vec![4]));
    let steady = (vec![ns(500_000), sleep(7 * MS)], None);
    let workload = tasks(vec![small(), small(), steady, hog]);
    let mut reasons = Reasons::default();
    let (mut over, mut counted) = (Vec::new(), Vec::new());
    watch(&setup(&machine, "v5.18-eas", "", &workload, "schedutil"), &mut reasons, 3000, |ms, snapshot, reasons| {
        over.push(snapshot.overutilized());
        if ms % 100 == 0 {
            counted.push((reasons.energy, reasons.other));
        }
    });
    // New tasks begin with half of the room that there is, which may be too much for a little CPU.
    assert!(over[150..300].iter().all(|over| !over), "nothing is too much before the hog");
    assert!(over[420..560].iter().all(|&over| over), "the hog is too much for a mid CPU");
    // The flag falls with a pass over all CPUs, for which a tick has to find somebody busy.
    assert!(over[2900..].iter().all(|over| !over), "it sleeps");
    let between = |from: usize, to: usize| (counted[to].0 - counted[from].0, counted[to].1 - counted[from].1);
    assert!(between(1, 2).0 > 10 && between(1, 2).1 == 0, "{counted:?}");
    assert!(between(3, 4).0 == 0 && between(3, 4).1 > 10, "{counted:?}");
}

/// Holds each choice by energy against what it costs on each CPU that it fits, computed without the kernel's short
/// cuts.
#[derive(Default)]
struct ExhaustiveEnergy {
    /// By waking CPU, for its choice that began last: what it costs on each CPU that the wakee fits.
    costs: BTreeMap<Cpu, Vec<(Cpu, u64)>>,
    checked: u32,
}

impl Sink for ExhaustiveEnergy {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        if let Event::Wakeup { decision: Some(decision), prev_cpu, waker_cpu, .. } = event
            && decision.reason == Reason::Energy
        {
            let costs = &self.costs[waker_cpu];
            let least = costs.iter().map(|&(_, energy)| energy).min().unwrap();
            let chosen = costs.iter().find(|&&(cpu, _)| cpu == decision.cpu);
            // The kernel takes of each domain the CPU with most room, so that others of the domain may be as cheap.
            assert!(
                chosen.is_some_and(|&(_, energy)| energy == least) || decision.cpu == *prev_cpu,
                "{time}: {event:?}"
            );
            self.checked += 1;
        }
    }

    fn inputs<V: View>(&mut self, _: u64, inputs: &wakelab_events::sim::Inputs<'_, V>) {
        let (wakeup, view) = (inputs.wakeup, inputs.view);
        let task = wakeup.wakee.util_avg.max(wakeup.wakee.util_est);
        let rest = |cpu: Cpu| view.cpu_util_avg(cpu).max(view.cpu_util_est(cpu).unwrap_or(0));
        let fits = |cpu: Cpu| (rest(cpu) + task) * 1280 < view.capacity_of(cpu) * 1024;
        let all = (0..8).filter(|&cpu| wakeup.wakee.cpus_ptr.test(cpu) && fits(cpu));
        let pds = inputs.rules.energy.expect("an energy model");
        // What all CPUs would spend with the wakee there.
        let energy = |cpu: Cpu| -> u64 {
            let of = |pd: &wakelab_sched::energy::EmPerfDomain| {
                compute_energy(inputs.rules, wakeup, view, pd, pd.cpus.test(cpu).then_some(cpu))
            };
            pds.iter().map(of).sum()
        };
        let costs = all.map(|cpu| (cpu, energy(cpu))).collect();
        self.costs.insert(wakeup.waker.cpu, costs);
    }
}

#[test]
fn a_small_waking_task_goes_where_all_cpus_together_spend_least() {
    let machine = pixel6();
    let workload = tasks((0..6).map(|n| (vec![ns(60_000 + 40_000 * n), sleep(5 * MS + n * MS)], None)).collect());
    let setup = setup(&machine, "v5.18-eas", "", &workload, "schedutil");
    let mut energy = ExhaustiveEnergy::default();
    wakelab_sim::run(&Setup { until: 500 * MS, ..setup }, &mut energy, &AtomicBool::new(false)).expect("a run");
    assert!(energy.checked > 100, "{}", energy.checked);
}

/// By kind of CPU, the share of 20 s that its CPUs were busy, %.
fn busy(switches: &str, workload: &Workload) -> [f64; 3] {
    let machine = pixel6();
    let setup = Setup { until: 20_000 * MS, ..setup(&machine, "v5.18-eas", switches, workload, "schedutil") };
    let power = run_dyn(&setup, &mut (), &AtomicBool::new(false)).unwrap().power.unwrap();
    [0, 1, 2].map(|kind| {
        let (ns, opps) = (power.residency_ns(kind), power.kinds[kind as usize].opps_khz.len());
        100.0 * ns[..opps].iter().sum::<u64>() as f64 / ns.iter().sum::<u64>() as f64
    })
}

#[test]
fn each_site_of_runnable_boosting_has_an_effect_of_its_own() {
    let workload =
        wakelab_workload::build("jankbench", wakelab_workload::Load::Instances(1), 8, &BTreeMap::new()).unwrap();
    let sides = ["", "RUNNABLE_BOOST", "RUNNABLE_BOOST,NO_RUNNABLE_BOOST_EAS", "RUNNABLE_BOOST,NO_RUNNABLE_BOOST_FREQ"];
    let [none, all, no_eas, no_freq] = sides.map(|switches| busy(switches, &workload));
    // Without the site that energies go by, tasks stay on the little CPUs; with it, they leave them.
    assert!(all[0] < 0.9 * none[0] && no_eas[0] > 1.1 * all[0], "{none:?} {all:?} {no_eas:?}");
    // The frequency's site alone makes the same work shorter.
    let sum = |busy: [f64; 3]| 4.0 * busy[0] + 2.0 * busy[1] + 2.0 * busy[2];
    assert!(sum(no_eas) < sum(none), "{none:?} {no_eas:?}");
    assert!(no_freq != all && no_freq != none, "{no_freq:?}");
    assert_eq!(busy("RUNNABLE_BOOST_V1", &workload), no_eas, "version 1 has no such site");
}
