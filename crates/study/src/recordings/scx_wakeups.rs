//! Wake-ups under a scheduler of sched_ext, explained: which operation put the task where, behind whom, and which CPU
//! took it.

use super::explain::Filter;
use super::progress::Progress;
use super::scx_waits::{ScxWaits, WaitStep, route};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use wakelab_events::ReadError;
use wakelab_events::stream::{RunDescription, ScxSteps, TaskNames, WAKEUPS, Wakes};
use wakelab_sched::cpumask::Cpu;

/// A wake-up and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScxWakeup {
    /// The number of the row in `wakeups`, from 1.
    pub row: u64,
    /// When it began, ns.
    pub t_ns: u64,
    /// The waking CPU.
    pub waker_cpu: Cpu,
    /// The waking task: pid and name.
    pub waker: (i64, Arc<str>),
    /// The task that is woken.
    pub wakee: (i64, Arc<str>),
    /// Where it ran last.
    pub prev_cpu: Option<Cpu>,
    /// Its steps, up to the one in which it was picked; not that one if the run ended before.
    pub steps: Vec<WaitStep>,
    /// The names of the tasks that were before it on queues.
    pub names: BTreeMap<i64, Arc<str>>,
}

impl ScxWakeup {
    /// When it was picked to run, ns, and the CPU; `None` if the run ended before.
    pub fn picked(&self) -> Option<(u64, Cpu)> {
        let last = self.steps.last().filter(|step| step.step == wakelab_events::sim::ScxStep::Picked)?;
        Some((last.t_ns, last.cpu))
    }

    /// Its route ([`route`]).
    pub fn route(&self) -> String {
        route(&self.steps)
    }
}

/// Whether the wake-ups of a file are those of a run under a scheduler of sched_ext.
pub fn is_scx(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == WAKEUPS) && file.parent().is_some_and(ScxSteps::has)
}

/// Reads the wake-ups of a run in their order, until `each` returns false. Returns whether all were read.
///
/// # Errors
/// Fails if a file of the run cannot be read to its end.
pub fn scx_wakeups(
    file: &Path,
    filter: &Filter,
    progress: &dyn Progress,
    mut each: impl FnMut(&RunDescription, &ScxWakeup) -> bool,
) -> Result<bool, ReadError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let about = RunDescription::of(file)?;
    let (mut wakes, mut names) = (Wakes::simulated(folder), TaskNames::simulated(folder));
    let Some(mut waits) = ScxWaits::of(folder) else { return Ok(true) };
    // Wake-ups that have begun, in their order; those whose tasks were picked wait for earlier ones.
    let mut open: VecDeque<(ScxWakeup, bool)> = VecDeque::new();
    let (mut row, mut read) = (0, 0);
    let mut next = wakes.next_wake()?;
    loop {
        // The steps up to the next wake-up, or all.
        let until = next.as_ref().map(|wake| wake.decided_ns);
        while let Some(time) = waits.next_time()?.filter(|&time| until.is_none_or(|until| time < until)) {
            waits.advance_to(time)?;
            names.advance_to(time)?;
            finish(&mut open, &mut waits, &names);
            while open.front().is_some_and(|(_, done)| *done) {
                let (wakeup, _) = open.pop_front().expect("it was looked at");
                if !each(&about, &wakeup) {
                    return Ok(false);
                }
            }
        }
        let Some(wake) = next else { break };
        row += 1;
        read += 1;
        if read == super::progress::ROWS_PER_REPORT {
            progress.rows(std::mem::take(&mut read));
        }
        names.advance_to(wake.decided_ns)?;
        let wakeup = ScxWakeup {
            row,
            t_ns: wake.t_ns,
            waker_cpu: wake.waker_cpu,
            waker: (wake.waker_pid, names.shared_name(wake.waker_pid)),
            wakee: (wake.wakee_pid, names.shared_name(wake.wakee_pid)),
            prev_cpu: wake.prev_cpu,
            steps: Vec::new(),
            names: BTreeMap::new(),
        };
        let tasks = [&wakeup.waker, &wakeup.wakee].map(|(pid, comm)| (*pid, &**comm));
        if filter.takes_wakeup(row, wakeup.t_ns, tasks[0], tasks[1]) {
            open.push_back((wakeup, false));
        }
        next = wakes.next_wake()?;
    }
    progress.rows(read);
    for (wakeup, _) in open {
        if !each(&about, &wakeup) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives wake-ups whose tasks were picked their steps.
fn finish(open: &mut VecDeque<(ScxWakeup, bool)>, waits: &mut ScxWaits, names: &TaskNames) {
    for (pid, steps) in waits.take_picked() {
        // The wait is that of a wake-up before it, or of none.
        let of_it = |(wakeup, done): &&mut (ScxWakeup, bool)| !done && wakeup.wakee.0 == pid;
        let Some((wakeup, done)) = open.iter_mut().find(of_it) else { continue };
        if steps.last().is_some_and(|last| last.t_ns < wakeup.t_ns) {
            continue;
        }
        let behind = steps.iter().flat_map(|step| &step.behind);
        wakeup.names = behind.map(|&pid| (pid, names.shared_name(pid))).collect();
        (wakeup.steps, *done) = (steps, true);
    }
}

/// How often waits took each route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// By route: the wake-ups whose tasks were picked, and how long they waited in all, ns.
    pub picked: BTreeMap<String, (u64, u64)>,
    /// The wake-ups whose tasks were not picked before the run ended.
    pub open: u64,
}

impl Routes {
    /// Adds a wake-up.
    pub fn add(&mut self, wakeup: &ScxWakeup) {
        match wakeup.picked() {
            Some((at, _)) => {
                let (n, ns) = self.picked.entry(wakeup.route()).or_default();
                (*n, *ns) = (*n + 1, *ns + at.saturating_sub(wakeup.t_ns));
            }
            None => self.open += 1,
        }
    }
}
