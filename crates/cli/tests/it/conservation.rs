//! Every task of a run is followed through its events. That the check can fail is shown with faults that are planted.

use crate::support::wakelab;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, Inputs, NewTask, Sink};
use wakelab_events::simulated::{EventFolder, RunInfo};
use wakelab_kernel::Preset;
use wakelab_sched::select::View;
use wakelab_sim::{Mechanisms, Setup, run};
use wakelab_testing::amounts::Limits;
use wakelab_testing::{conservation, random_experiment};
use wakelab_workload::{Load, build};

/// What is wrong in what is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// A wakee never comes to its queue.
    LostTask,
    /// A task that is enqueued is forgotten by its CPU, which idles.
    ForgottenTask,
    /// A CPU runs the task that another one runs.
    DoubleRun,
    /// An event has the time of an earlier one.
    WrongOrder,
    /// A task is put on a CPU that it may not use.
    Affinity,
    /// A task is woken and has exited.
    WokenAfterExit,
}

/// Hands events on, with one of them changed from 5 ms on.
struct Plant<S> {
    fault: Fault,
    planted: bool,
    /// The task that is dropped from now on.
    dropped: Option<u32>,
    running: BTreeMap<u32, u32>,
    /// The task that may use CPUs 0 and 1 only.
    confined: Option<u32>,
    to: S,
}

impl<S: Sink> Sink for Plant<S> {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        let (mut time, mut event) = (time, *event);
        if let Event::Switch { cpu, next, .. } = event {
            self.running.remove(&cpu);
            self.running.extend(next.map(|next| (cpu, next)));
        }
        let now = !self.planted && time > 5_000_000;
        match (self.fault, &mut event) {
            (Fault::LostTask, Event::Enqueue { task, .. }) if now => {
                (self.planted, self.dropped) = (true, Some(*task));
                return;
            }
            (Fault::ForgottenTask, Event::Switch { next, .. }) if now && next.is_some() => {
                (self.planted, self.dropped) = (true, *next);
                *next = None;
            }
            (Fault::DoubleRun, Event::Switch { cpu, next: Some(next), .. }) if now => {
                let other = self.running.iter().find(|(other, _)| *other != cpu);
                if let Some((_, running)) = other {
                    (*next, self.planted) = (*running, true);
                }
            }
            (Fault::WrongOrder, Event::Enqueue { .. }) if now => {
                time -= 4_000_000;
                self.planted = true;
            }
            (Fault::Affinity, Event::Enqueue { cpu, task }) if now && self.confined == Some(*task) => {
                *cpu = 7;
                self.planted = true;
            }
            (Fault::WokenAfterExit, Event::Wakeup { wakee, .. }) if now => {
                let wakee = *wakee;
                self.planted = true;
                self.to.event(time, &Event::Exit { task: wakee });
            }
            // What would follow does not happen either.
            (Fault::LostTask | Fault::ForgottenTask, event) => match event {
                Event::Enqueue { task, .. } | Event::Migrate { task, .. } if self.dropped == Some(*task) => return,
                Event::Wakeup { wakee, .. } if self.dropped == Some(*wakee) => return,
                Event::Switch { prev, next, .. } => {
                    *prev = prev.filter(|prev| self.dropped != Some(*prev));
                    *next = next.filter(|next| self.dropped != Some(*next));
                }
                _ => {}
            },
            _ => {}
        }
        self.to.event(time, &event);
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        if task.affinity.weight() == 2 {
            self.confined = Some(task.task);
        }
        self.to.task(time, task);
    }

    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        self.to.inputs(time, inputs);
    }
}

/// Simulates eight pairs on eight CPUs with that fault; the faults that are found.
fn faults(fault: Fault) -> Vec<String> {
    let temporary = tempfile::tempdir().expect("a folder");
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let kernel = Preset::get("v6.1").expect("a preset");
    let mut workload = build("netperf:TCP_RR", Load::Percent(100), 8, &BTreeMap::new()).expect("a workload");
    workload.tasks[0].affinity = Some(vec![0, 1]);
    let until = 40_000_000;
    let folder = EventFolder::new(temporary.path()).expect("an empty folder");
    let info = RunInfo {
        machine: "test-8c",
        topology: &machine.topology,
        arch: machine.arch,
        reclaim_distance: None,
        kernel,
        features: kernel.features,
        variant: "",
        side: "base",
        workload: "netperf:TCP_RR",
        load: "8 threads",
        repeat: 1,
        seed: 1,
        settle_ns: 0,
        end_ns: until,
    };
    let to = folder.record(&info).expect("files");
    let mut plant = Plant { fault, planted: false, dropped: None, running: BTreeMap::new(), confined: None, to };
    let setup = Setup {
        machine: &machine,
        kernel,
        features: kernel.features,
        workload: &workload,
        seed: 1,
        until,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    run(&setup, &mut plant, &AtomicBool::new(false)).expect("a run");
    assert_eq!(plant.planted, fault != Fault::None, "{fault:?}");
    plant.to.finish().expect("it is written");
    let runs = conservation::runs(temporary.path()).expect("a run");
    assert_eq!(runs.len(), 1);
    let found = conservation::check(&runs[0], Limits::default()).expect("tables");
    assert!(found.rows > 10_000 && found.tasks > 8, "{found:?}");
    found.faults
}

#[test]
fn planted_faults_are_found() {
    assert_eq!(faults(Fault::None), Vec::<String>::new());
    for (fault, expected) in [
        (Fault::LostTask, "is on no queue"),
        (Fault::ForgottenTask, "goes idle, and task "),
        (Fault::DoubleRun, "while it is Running"),
        (Fault::WrongOrder, "the time is not between"),
        (Fault::Affinity, "which it may not use"),
        (Fault::WokenAfterExit, "is woken and has exited"),
    ] {
        let found = faults(fault);
        assert!(found.iter().any(|what| what.contains(expected)), "{fault:?}: {found:#?}");
    }
}

/// The side of the comparison that a folder of a run is of.
fn side(run: &Path) -> &'static str {
    if run.components().any(|part| part.as_os_str() == "side=base") { "base" } else { "with" }
}

/// What the tables say of idle time is what follows from the events: the mean of a side's runs, by side. A run that
/// ended early is not compared.
fn assert_idle_times_agree(stdout: &[u8], of_events: &BTreeMap<&str, Vec<f64>>, text: &str) {
    let json: serde_json::Value = serde_json::from_slice(stdout).expect("JSON");
    let Some(row) = json.pointer("/rows/0") else { return };
    for (side, of_runs) in of_events.iter().filter(|(_, of_runs)| !of_runs.is_empty()) {
        let Some(printed) = row.pointer(&format!("/{side}/idle_pct")).and_then(serde_json::Value::as_f64) else {
            panic!("no idle time of {side}\n{text}");
        };
        let mean = of_runs.iter().sum::<f64>() / of_runs.len() as f64;
        assert!((printed - mean).abs() < 1e-6, "{side}: {printed} % idle, and {mean} % by the events\n{text}");
    }
}

#[test]
fn every_task_of_random_experiments_is_followed() {
    let (mut rows, mut refused) = (0, 0);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for number in 1_000_000..1_000_016 {
        let temporary = tempfile::tempdir().expect("a folder");
        let files = random_experiment::files(number, root);
        let text = format!("{}\n{}", files.experiment, files.workload.as_deref().unwrap_or_default());
        fs::write(temporary.path().join("random.toml"), &files.experiment).expect("a file");
        let workload = files.workload.map(|workload| {
            let path = temporary.path().join(random_experiment::WORKLOAD_FILE);
            fs::write(&path, &workload).expect("a file");
            wakelab_workload::from_toml(&workload, &path, 1)
        });
        let output = wakelab(temporary.path(), &["run", "random.toml", "--format", "json", "--events", "ev"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0..=2)), "{text}\n{errors}");
        if !output.status.success() {
            assert!(errors.lines().any(|line| line.starts_with("error: ")), "{text}\n{errors}");
            refused += 1;
            continue;
        }
        let workload = workload.map(|workload| workload.expect("a workload that was run"));
        let runs = conservation::runs(&temporary.path().join("ev")).expect("runs");
        assert!(runs.len() >= 2, "{text}");
        let mut idle = BTreeMap::<&str, Vec<f64>>::new();
        for run in &runs {
            let limits = workload.as_ref().map_or_else(Limits::default, Limits::of);
            let found = conservation::check(run, limits).expect("tables");
            assert_eq!(found.faults, Vec::<String>::new(), "{text}");
            rows += found.rows;
            idle.entry(side(run)).or_default().extend(found.idle_pct);
        }
        assert_idle_times_agree(&output.stdout, &idle, &text);
    }
    assert!(rows > 50_000 && refused < 12, "{rows} rows, {refused} refused");
}
