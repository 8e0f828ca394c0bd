//! Whether a workload can run on a machine.

mod affinity;
mod forks;
mod locks;
mod resources;
mod step;
mod task;
mod timeless;

use crate::error::{About, WorkloadError};
use crate::{Op, Program, Task, Workload};
use std::collections::BTreeSet;

/// The most CPUs that a machine may have.
pub const NR_CPUS_MAX: u32 = 8192;

/// The most tasks that a workload may come to, those counted that it forks. It keeps a slip of the pen from taking all
/// memory.
pub const TASKS_MAX: u64 = 1_000_000;

/// What is wrong with a step of a program: its number, what, and what to do about it.
struct WrongStep {
    step: usize,
    what: String,
    hint: Option<&'static str>,
}

impl WrongStep {
    fn new(step: usize, what: impl Into<String>) -> Self {
        WrongStep { step, what: what.into(), hint: None }
    }

    fn in_program(self, program: &Program) -> WorkloadError {
        let about = About::Program(program.name.clone(), Some(self.step));
        WorkloadError::new(about, self.what).with_hint(self.hint.map(str::to_owned))
    }
}

impl Workload {
    /// Whether this workload can run on a machine of so many CPUs: there are tasks, all that is named exists, all
    /// numbers are in their ranges, and each affinity has CPUs that the machine has. Transactions begin before they are
    /// done; a mutex is unlocked by who holds it, and not held at the end; each resource is used as one thing, as many
    /// tasks have a barrier as meet there, and who waits for a condition is signalled by somebody. No program goes
    /// round for ever without time passing, forks come to an end, and so do all loops where the time until the end is
    /// the metric.
    ///
    /// # Errors
    /// The first thing that is wrong, with the task, program or resource it is about.
    pub fn validate(&self, nr_cpus: u32) -> Result<(), WorkloadError> {
        if self.tasks.is_empty() {
            return Err(WorkloadError::new(About::Whole, "the workload has no tasks; expected one or more"));
        }
        if let Some(channel) = self.channels.iter().find(|channel| channel.capacity == 0) {
            let what = "a channel that holds 0 messages; expected 1 or more";
            return Err(WorkloadError::new(About::Channel(channel.name.clone()), what));
        }
        for program in &self.programs {
            let check = step::check(program, self.programs.len())
                .and_then(|()| affinity::check(program, &self.cpu_sets, nr_cpus));
            check.map_err(|wrong| wrong.in_program(program))?;
        }
        for task in &self.tasks {
            let wrong = |what| WorkloadError::new(About::Task(task.name.clone()), what);
            task::check(self, task, nr_cpus).map_err(wrong)?;
        }
        for (index, program) in self.programs.iter().enumerate() {
            locks::check(program, &|mutex| self.resource_name(index, mutex))
                .map_err(|wrong| wrong.in_program(program))?;
        }
        resources::check(self)?;
        forks::check(self)?;
        self.ends()?;
        match timeless::step(&self.programs, &self.tasks) {
            None => Ok(()),
            Some((program, step)) => Err(WrongStep::new(step, TIMELESS).in_program(&self.programs[program])),
        }
    }

    /// Whether all tasks of a workload that is measured by the time until they have exited do so.
    fn ends(&self) -> Result<(), WorkloadError> {
        if self.metric != crate::TIME {
            return Ok(());
        }
        let runs: BTreeSet<usize> =
            self.tasks.iter().flat_map(|task| with_children(task.program as usize, &self.programs)).collect();
        for program in runs.into_iter().map(|program| &self.programs[program]) {
            let endless = |op: &Op| matches!(op, Op::Repeat { times: None, .. });
            if let Some(step) = program.ops.iter().position(endless) {
                return Err(WrongStep::new(step, ENDLESS).in_program(program));
            }
        }
        Ok(())
    }

    /// What the resource of that number is called where a program runs, which is where the first task runs it or forks
    /// it.
    fn resource_name(&self, program: usize, number: u32) -> String {
        let runs = |task: &&Task| with_children(task.program as usize, &self.programs).contains(&program);
        let resource = self.tasks.iter().find(runs).and_then(|task| task.channels.get(number as usize));
        let name = resource.and_then(|&index| self.channels.get(index as usize)).map(|channel| channel.name.clone());
        name.unwrap_or_else(|| format!("resource {number}"))
    }
}

const ENDLESS: &str =
    "goes on for ever, and the metric is the time until all tasks have exited; expected a number of times";

const TIMELESS: &str = "goes round for ever without time passing; expected work, a sleep, or a wait for somebody who \
                        takes time, in each round";

/// All forks: `(program, step, child)`.
fn forks(programs: &[Program]) -> impl Iterator<Item = (usize, usize, usize)> {
    programs.iter().enumerate().flat_map(|(program, p)| {
        p.ops.iter().enumerate().filter_map(move |(step, op)| match *op {
            Op::Fork { program: child } => Some((program, step, child as usize)),
            _ => None,
        })
    })
}

/// A program and those that it and its children fork.
pub(crate) fn with_children(program: usize, programs: &[Program]) -> BTreeSet<usize> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![program]);
    while let Some(program) = todo.pop() {
        if seen.insert(program) {
            let forked = programs[program].ops.iter().filter_map(|op| match *op {
                Op::Fork { program } => Some(program as usize),
                _ => None,
            });
            todo.extend(forked);
        }
    }
    seen
}
