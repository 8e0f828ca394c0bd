//! Whether a workload can run on a machine.

use crate::error::{About, WorkloadError};
use crate::timeless::timeless_step;
use crate::{Op, Program, Task, Work, Workload};

/// The most CPUs that a machine may have.
pub const NR_CPUS_MAX: u32 = 8192;

impl Workload {
    /// Whether this workload can run on a machine of so many CPUs: there are tasks, all programs and channels that are
    /// named exist, all numbers are in their ranges, each affinity has CPUs and the machine has them, and no program goes
    /// round for ever without time passing.
    ///
    /// # Errors
    /// The first thing that is wrong, with the task, program or channel it is about.
    pub fn validate(&self, nr_cpus: u32) -> Result<(), WorkloadError> {
        if self.tasks.is_empty() {
            return Err(WorkloadError::new(About::Whole, "the workload has no tasks; expected one or more"));
        }
        if let Some(channel) = self.channels.iter().find(|channel| channel.capacity == 0) {
            let what = "a channel that holds 0 messages; expected 1 or more";
            return Err(WorkloadError::new(About::Channel(channel.name.clone()), what));
        }
        for program in &self.programs {
            for (step, op) in program.ops.iter().enumerate() {
                check_step(step, op, self.programs.len())
                    .map_err(|what| WorkloadError::new(About::Program(program.name.clone(), Some(step)), what))?;
            }
        }
        for task in &self.tasks {
            self.check_task(task, nr_cpus).map_err(|what| WorkloadError::new(About::Task(task.name.clone()), what))?;
        }
        match timeless_step(&self.programs, &self.tasks) {
            None => Ok(()),
            Some((program, step)) => {
                let about = About::Program(self.programs[program].name.clone(), Some(step));
                Err(WorkloadError::new(about, TIMELESS))
            }
        }
    }

    fn check_task(&self, task: &Task, nr_cpus: u32) -> Result<(), String> {
        let Some(program) = self.programs.get(task.program as usize) else {
            return Err(format!("it runs program {}, of {}", task.program, self.programs.len()));
        };
        if let Some(channel) = task.channels.iter().find(|&&channel| channel as usize >= self.channels.len()) {
            return Err(format!("it has channel {channel}, of {}", self.channels.len()));
        }
        let needs = channels_needed(&self.programs, program);
        if needs > task.channels.len() {
            return Err(format!(
                "program {} uses {needs} channels, the task has {}",
                program.name,
                task.channels.len()
            ));
        }
        if !(-20..=19).contains(&task.nice) {
            return Err(format!("nice is {}; expected -20 to 19", task.nice));
        }
        let Some(cpus) = &task.affinity else { return Ok(()) };
        if cpus.is_empty() {
            return Err("its affinity has no CPU; expected one or more".to_owned());
        }
        if !cpus.is_sorted_by(|a, b| a < b) {
            return Err("the CPUs of its affinity are not ascending".to_owned());
        }
        match cpus.iter().find(|&&cpu| cpu >= nr_cpus) {
            None => Ok(()),
            Some(cpu) => {
                Err(format!("its affinity has CPU {cpu}; the machine has CPUs 0 to {}", nr_cpus.saturating_sub(1)))
            }
        }
    }
}

/// What is said of a loop without time.
pub(crate) const TIMELESS: &str = "goes round for ever without time passing; expected work, a sleep, or a wait for somebody who \
                                   takes time, in each round";

fn check_step(step: usize, op: &Op, programs: usize) -> Result<(), String> {
    match *op {
        Op::Run(Work { jitter_pct, .. })
        | Op::Softirq(Work { jitter_pct, .. })
        | Op::Sleep(Work { jitter_pct, .. })
            if jitter_pct > 100 =>
        {
            Err(format!("a jitter of {jitter_pct}%; expected 0 to 100"))
        }
        Op::Fork { program } if program as usize >= programs => Err(format!("forks program {program}, of {programs}")),
        Op::Repeat { to, .. } if to as usize >= step => {
            Err(format!("goes back to step {to}; expected an earlier step"))
        }
        Op::Repeat { times: Some(0), .. } => Err("repeats 0 times; expected 1 or more".to_owned()),
        _ => Ok(()),
    }
}

/// How many channels a task of this program must have: its own, and its children's, which share them.
fn channels_needed(programs: &[Program], program: &Program) -> usize {
    let mut seen = vec![false; programs.len()];
    let mut todo = vec![program];
    let mut needs = 0;
    while let Some(program) = todo.pop() {
        for op in &program.ops {
            match *op {
                Op::Send { channel, .. } | Op::Recv { channel } => needs = needs.max(channel as usize + 1),
                Op::Fork { program } if !std::mem::replace(&mut seen[program as usize], true) => {
                    todo.push(&programs[program as usize]);
                }
                _ => {}
            }
        }
    }
    needs
}
