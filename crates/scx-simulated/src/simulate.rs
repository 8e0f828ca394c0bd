//! The same load under the same object, simulated on the guest's machine.

use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use wakelab_events::sim::{Event, NewTask, Sink};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scx_core::ext::{Declared, Ext, ExtStats};
use wakelab_scx_core::listened::{CallListener, Listened};
use wakelab_scx_core::ops::{Host, Ops, Scheduler};
use wakelab_scx_loads::Load;
use wakelab_scx_loads::doings::{Doing, Quantities, Queued, What, Who, quantities};
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::Workload;

/// A scheduler whose core's counts can be read when the run is over.
#[derive(Debug)]
struct Counted<'a> {
    scheduler: &'a dyn Scheduler,
    stats: Arc<Mutex<ExtStats>>,
}

impl Scheduler for Counted<'_> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn load(&self, host: &Host<'_>) -> std::result::Result<(Declared, Box<dyn Ops>), String> {
        let (declared, ops) = self.scheduler.load(host)?;
        Ok((declared, Box::new(Listened::new(ops, Counts(Arc::clone(&self.stats))))))
    }

    fn identity(&self) -> &str {
        self.scheduler.identity()
    }
}

/// Keeps the core's counts.
struct Counts(Arc<Mutex<ExtStats>>);

impl CallListener for Counts {
    fn called(&mut self, ext: &Ext, _: &mut dyn Ops) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = ext.stats;
    }
}

/// Keeps what tasks of the load do.
#[derive(Default)]
struct Doings {
    doings: Vec<Doing>,
    /// By the simulator's number: the task of the load, which counts up.
    of: BTreeMap<u32, u32>,
    begun: u32,
}

impl Doings {
    fn who(&self, id: u32) -> Option<Who> {
        Some(Who { id, of: *self.of.get(&id)? })
    }
}

impl Sink for Doings {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        let doing = match *event {
            Event::Wakeup { wakee, began, cpu, .. } => {
                self.who(wakee).map(|who| Doing { at: began, cpu, what: What::Waking(who) })
            }
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                let [prev, next] = [prev, next].map(|id| self.who(id?));
                let ours = prev.is_some() || next.is_some();
                ours.then_some(Doing { at: time, cpu, what: What::Switch { prev, sleeps: prev_sleeps, next } })
            }
            _ => None,
        };
        self.doings.extend(doing);
    }

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        if !task.workload {
            return;
        }
        let of = match task.parent.and_then(|parent| self.of.get(&parent)) {
            Some(&of) => of,
            None => {
                self.begun += 1;
                self.begun - 1
            }
        };
        self.of.insert(task.task, of);
    }
}

/// Runs a load under a scheduler.
///
/// # Errors
/// Fails if the run does: what is not modelled, or how the scheduler ended.
pub fn simulate(
    scheduler: &dyn Scheduler,
    machine: &Machine,
    kernel: &Preset,
    load: &Load,
    workload: &Workload,
    seed: u64,
) -> Result<Quantities> {
    let counted = Counted { scheduler, stats: Arc::default() };
    let setup = Setup {
        machine,
        kernel,
        features: kernel.features,
        workload,
        seed,
        until: load.time,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: Some(&counted),
    };
    let mut doings = Doings::default();
    run_dyn(&setup, &mut doings, &AtomicBool::new(false)).map_err(|error| anyhow!("{error}"))?;
    let stats = *counted.stats.lock().unwrap_or_else(PoisonError::into_inner);
    let queued = Queued {
        local: stats.local,
        global: stats.global,
        user: stats.user,
        direct: stats.direct,
        remote: stats.remote,
    };
    Ok(quantities(&doings.doings, &queued, &workload.tasks, load.time, load.name == "order"))
}
