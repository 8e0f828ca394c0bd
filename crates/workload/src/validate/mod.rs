//! Whether a workload can run on a machine.

mod endless;
mod forks;
mod program;
mod resources;

use crate::error::{About, WorkloadError};
use crate::{Call, Changed, Op, Program, Realtime, Task, Workload};
pub(crate) use forks::reached;
use forks::{Families, families};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The most CPUs that a machine may have.
pub const NR_CPUS_MAX: u32 = 8192;

/// The most tasks that a workload may have, including those that it forks. The limit keeps a typing error from taking
/// all memory.
pub const TASKS_MAX: u64 = 1_000_000;

/// An error in a step of a program: its number, what is wrong, and the next step.
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
    /// Checks that this workload can run on a machine of `nr_cpus` CPUs: there are tasks, everything that is named
    /// exists, all numbers are in their ranges, and each affinity has CPUs of the machine. Transactions begin before
    /// they are done; a mutex is unlocked by the task that holds it, and not held at the end; each resource is used as
    /// one kind, as many tasks use a barrier as meet there, and each condition that is waited for is signalled. What
    /// kworkers do ends, and there are not too many of them. No program loops for ever without time passing, forks end,
    /// and so do all loops if the metric is the time until the end.
    ///
    /// # Errors
    /// The first thing that is wrong, with the task, program or resource.
    pub fn validate(&self, nr_cpus: u32) -> Result<(), WorkloadError> {
        if self.tasks.is_empty() {
            return Err(WorkloadError::new(About::Whole, "the workload has no tasks; expected one or more"));
        }
        for program in &self.programs {
            let check = program::check_steps(program, self.programs.len())
                .and_then(|()| check_sets(program, &self.cpu_sets, nr_cpus));
            check.map_err(|wrong| wrong.in_program(program))?;
        }
        program::check_work(&self.programs)?;
        let unknown = |task: &&Task| task.program as usize >= self.programs.len();
        if let Some(task) = self.tasks.iter().find(unknown) {
            let what =
                format!("it runs program {}, but there are only {}, counted from 0", task.program, self.programs.len());
            return Err(WorkloadError::new(About::Task(task.name.clone()), what));
        }
        let families = families(&self.programs, &self.tasks)?;
        let needed = resources_needed(&self.programs, &families);
        let mut before: &[u32] = &[];
        for task in &self.tasks {
            let wrong = |what| WorkloadError::new(About::Task(task.name.clone()), what);
            // Tasks share their channels, of which there may be as many as tasks.
            if !std::ptr::eq(before, &*task.channels) {
                check_channels(task, self.channels.len()).map_err(wrong)?;
                before = &task.channels;
            }
            check_task(self, task, needed[&(task.program as usize)], nr_cpus).map_err(wrong)?;
        }
        self.check_realtime(&families)?;
        self.check_interrupts(nr_cpus)?;
        self.check_changes(nr_cpus)?;
        for (index, program) in self.programs.iter().enumerate() {
            program::check_locks(program, &|mutex| self.resource_name(index, mutex))
                .map_err(|wrong| wrong.in_program(program))?;
        }
        resources::check(self, &families, nr_cpus)?;
        endless::check_forks(self)?;
        self.ends()?;
        match endless::timeless_step(&self.programs, &self.tasks, &families) {
            None => Ok(()),
            Some((program, step)) => Err(WrongStep::new(step, TIMELESS).in_program(&self.programs[program])),
        }
    }

    /// Checks the policies of tasks above the fair class. A task that stays there, with those that it forks, cannot
    /// change what only fair tasks have; one that stays a deadline task cannot fork.
    fn check_realtime(&self, families: &Families) -> Result<(), WorkloadError> {
        for task in &self.tasks {
            let Some(realtime) = task.realtime else { continue };
            check_policy(realtime).map_err(|what| WorkloadError::new(About::Task(task.name.clone()), what))?;
            let family = &families[&(task.program as usize)];
            let changes = |op: &Op| matches!(op, Op::Call(Call::IdlePolicy(_) | Call::Realtime(_)));
            if family.iter().any(|&program| self.programs[program].ops.iter().any(changes)) {
                continue;
            }
            let deadline = matches!(realtime, Realtime::Deadline(_));
            for &program in family {
                let ops = &self.programs[program].ops;
                let fair = |op: &Op| matches!(op, Op::Call(Call::Nice(_) | Call::Slice { .. }));
                if let Some(step) = ops.iter().position(fair) {
                    let what = "a realtime task has no nice value or slice; expected a program without them, or a \
                                change of policy before them";
                    return Err(WrongStep::new(step, what).in_program(&self.programs[program]));
                }
                if let Some(step) = ops.iter().position(|op| deadline && matches!(op, Op::Fork { .. })) {
                    let what = "a task of SCHED_DEADLINE cannot fork (EAGAIN); expected a program without forks, or a \
                                change of policy before them";
                    return Err(WrongStep::new(step, what).in_program(&self.programs[program]));
                }
            }
        }
        Ok(())
    }

    /// Checks the changes during the run: CPUs, groups and tasks exist, and only online CPUs go offline.
    fn check_changes(&self, nr_cpus: u32) -> Result<(), WorkloadError> {
        let mut offline = BTreeSet::new();
        let mut there = self.groups_at_start();
        for (number, group) in (1..).zip(&self.groups) {
            if there[number] && there.get(group.parent as usize) == Some(&false) {
                let (name, parent) = (&group.name, &self.groups[group.parent as usize - 1].name);
                let what = format!("{name} is made before its parent {parent}; make it after that");
                return Err(WorkloadError::new(About::Whole, what));
            }
        }
        for change in &self.changes {
            let at = Duration::from_nanos(change.at_ns);
            let wrong = |what| WorkloadError::new(About::Whole, format!("the change at {at:?}: {what}"));
            let group = match &change.what {
                Changed::Offline { cpus } | Changed::Online { cpus } => {
                    let goes = matches!(change.what, Changed::Offline { .. });
                    for &cpu in cpus {
                        if cpu >= nr_cpus {
                            let last = nr_cpus.saturating_sub(1);
                            return Err(wrong(format!("there is no CPU {cpu}; the machine has CPUs 0 to {last}")));
                        }
                        if cpu == 0 {
                            return Err(wrong("CPU 0 cannot go offline; expected CPUs from 1 on".to_owned()));
                        }
                        if !(if goes { offline.insert(cpu) } else { offline.remove(&cpu) }) {
                            let is = if goes { "offline" } else { "online" };
                            return Err(wrong(format!("CPU {cpu} is already {is}; expected another CPU")));
                        }
                    }
                    continue;
                }
                Changed::Weight { group, .. } | Changed::Idle { group, .. } | Changed::Max { group, .. } => {
                    if *group == 0 {
                        return Err(wrong("the root group has no settings; expected another group".to_owned()));
                    }
                    *group
                }
                &Changed::Make { group } | &Changed::Remove { group } => {
                    let made = matches!(change.what, Changed::Make { .. });
                    self.check_group_change(group, made, change.at_ns, &mut there).map_err(wrong)?;
                    continue;
                }
                Changed::Move { tasks, group } => {
                    if let Some(task) = tasks.iter().find(|&&task| task as usize >= self.tasks.len()) {
                        return Err(wrong(format!(
                            "task {task} moves, but there are only {}, counted from 0",
                            self.tasks.len()
                        )));
                    }
                    let cpuset = |group: u32| Some(self.groups.get(group.checked_sub(1)? as usize)?.cpus.as_ref());
                    let other =
                        |&&task: &&u32| cpuset(self.tasks[task as usize].group).flatten() != cpuset(*group).flatten();
                    if let Some(task) = tasks.iter().find(other) {
                        let name = &self.tasks[*task as usize].name;
                        let what = format!("{name} moves to a group with other `cpus`, which is not modelled");
                        return Err(wrong(what + "; expected a group with the same `cpus`"));
                    }
                    *group
                }
            };
            if group as usize > self.groups.len() {
                return Err(wrong(format!("group {group}, of {}", self.groups.len())));
            }
            if !there[group as usize] {
                let name = &self.groups[group as usize - 1].name;
                return Err(wrong(format!("the group {name} does not exist at that time; expected one that does")));
            }
        }
        Ok(())
    }

    /// By number, the root included: whether a group is there when the run begins. One that is made later is not.
    pub fn groups_at_start(&self) -> Vec<bool> {
        let mut there = vec![true; self.groups.len() + 1];
        for change in &self.changes {
            if let Changed::Make { group } = change.what
                && let Some(there) = there.get_mut(group as usize)
            {
                *there = false;
            }
        }
        there
    }

    /// Checks that a group is made when it is not there, and after the group that it is in, or is removed when it is,
    /// and after the groups in it; and that tasks start in it while it is there. Whether they are gone when it is
    /// removed, the run shows.
    fn check_group_change(&self, group: u32, made: bool, at_ns: u64, there: &mut [bool]) -> Result<(), String> {
        let Some(of) = (group as usize).checked_sub(1).and_then(|at| self.groups.get(at)) else {
            return Err(format!("group {group}, of {}", self.groups.len()));
        };
        let name = &of.name;
        if there[group as usize] == made {
            return Err(match made {
                true => format!("{name} is made twice; expected a separate [[group]] for each"),
                false => format!("the group {name} does not exist at that time; expected one that does"),
            });
        }
        if made && there.get(of.parent as usize) == Some(&false) {
            let parent = &self.groups[of.parent as usize - 1].name;
            return Err(format!("{name} is made in {parent}, which does not exist at that time; make that one first"));
        }
        let child = (1..).zip(&self.groups).find(|&(number, child)| child.parent == group && there[number]);
        if let Some((_, child)) = child.filter(|_| !made) {
            return Err(format!("{name} is removed while {} is still in it; remove that one first", child.name));
        }
        let started =
            |task: &&Task| task.group == group && if made { task.start_ns <= at_ns } else { task.start_ns >= at_ns };
        if let Some(task) = self.tasks.iter().find(started) {
            let task = &task.name;
            return Err(match made {
                true => format!("task {task} starts in {name} before the group is made; let it start later"),
                false => format!("task {task} starts in {name} after the group is removed; let it start earlier"),
            });
        }
        there[group as usize] = made;
        Ok(())
    }

    /// Checks the interrupts: their CPUs are there, and those of one CPU leave it some time.
    fn check_interrupts(&self, nr_cpus: u32) -> Result<(), WorkloadError> {
        let mut taken: BTreeMap<u32, u64> = BTreeMap::new();
        for interrupt in &self.interrupts {
            let wrong = |what| Err(WorkloadError::new(About::Whole, format!("interrupt {}: {what}", interrupt.name)));
            if let Err(what) = interrupt.cpus.as_ref().map_or(Ok(()), |cpus| check_cpus(cpus, nr_cpus)) {
                return wrong(what);
            }
            let per_mille = (interrupt.time_ns + interrupt.softirq_ns) * 1000 / interrupt.period.ns.max(1);
            // What those of all CPUs take counts everywhere.
            let cpus = interrupt.cpus.clone().unwrap_or_else(|| vec![u32::MAX]);
            cpus.into_iter().for_each(|cpu| *taken.entry(cpu).or_default() += per_mille);
            let everywhere = taken.get(&u32::MAX).copied().unwrap_or(0);
            let worst = taken.iter().filter(|(cpu, _)| **cpu != u32::MAX).map(|(_, taken)| *taken).max().unwrap_or(0);
            if everywhere + worst >= 1000 {
                return wrong(
                    "together with the ones before it, interrupts take all the time of a CPU; expected less".to_owned(),
                );
            }
        }
        Ok(())
    }

    /// Checks that all tasks exit if the metric is the time until they have exited.
    fn ends(&self) -> Result<(), WorkloadError> {
        if self.metric != crate::TIME {
            return Ok(());
        }
        let runs = reached(&self.programs, self.tasks.iter().map(|task| task.program as usize));
        for (program, _) in self.programs.iter().zip(runs).filter(|(_, runs)| *runs) {
            let endless = |op: &Op| matches!(op, Op::Repeat { times: None, .. });
            if let Some(step) = program.ops.iter().position(endless) {
                return Err(WrongStep::new(step, ENDLESS).in_program(program));
            }
        }
        Ok(())
    }

    /// The name of a resource of a program, in the first task that runs or forks the program.
    fn resource_name(&self, program: usize, number: u32) -> String {
        let families = families(&self.programs, &self.tasks).unwrap_or_default();
        let runs = |task: &&Task| {
            families.get(&(task.program as usize)).is_some_and(|family| family.binary_search(&program).is_ok())
        };
        let resource = self.tasks.iter().find(runs).and_then(|task| task.channels.get(number as usize));
        let name = resource.and_then(|&index| self.channels.get(index as usize)).map(|channel| channel.name.clone());
        name.unwrap_or_else(|| format!("resource {number}"))
    }
}

const ENDLESS: &str =
    "repeats for ever, but the metric is the time until all tasks have exited; expected a limited number of times";

const TIMELESS: &str = "loops for ever without time passing; expected work, a sleep, or a wait for a task that takes \
                        time, in each round";

/// Returns all forks: `(program, step, child)`.
fn all_forks(programs: &[Program]) -> impl Iterator<Item = (usize, usize, usize)> {
    programs.iter().enumerate().flat_map(|(program, p)| {
        p.ops.iter().enumerate().filter_map(move |(step, op)| match *op {
            Op::Fork { program: child } => Some((program, step, child as usize)),
            _ => None,
        })
    })
}

/// Returns a program and those that it starts in other tasks, and those in theirs.
pub(crate) fn with_children(program: usize, programs: &[Program]) -> BTreeSet<usize> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![program]);
    while let Some(program) = todo.pop() {
        if seen.insert(program) {
            todo.extend(programs[program].ops.iter().filter_map(Op::starts).map(|program| program as usize));
        }
    }
    seen
}

/// Checks that a task has only channels that are there.
fn check_channels(task: &Task, channels: usize) -> Result<(), String> {
    match task.channels.iter().find(|&&channel| channel as usize >= channels) {
        None => Ok(()),
        Some(channel) => Err(format!("it has channel {channel}, but there are only {channels}, counted from 0")),
    }
}

/// Checks a task, whose program needs so many resources: its resources, nice value and CPUs, on a machine of so many
/// CPUs.
fn check_task(workload: &Workload, task: &Task, needs: usize, nr_cpus: u32) -> Result<(), String> {
    if needs > task.channels.len() {
        let program = &workload.programs[task.program as usize];
        return Err(format!(
            "program {} uses {needs} channels, but the task has {}",
            program.name,
            task.channels.len()
        ));
    }
    if !(-20..=19).contains(&task.nice) {
        return Err(format!("nice is {}; expected -20 to 19", task.nice));
    }
    check_uclamp(task.uclamp_min, task.uclamp_max)?;
    check_parent(workload, task)?;
    task.affinity.as_ref().map_or(Ok(()), |cpus| check_cpus(cpus, nr_cpus))
}

/// Checks a policy above the fair class.
fn check_policy(realtime: Realtime) -> Result<(), String> {
    match realtime {
        Realtime::Fifo(priority) | Realtime::Rr(priority) if !(1..=99).contains(&priority) => {
            Err(format!("the priority is {priority}; expected 1 to 99"))
        }
        Realtime::Fifo(_) | Realtime::Rr(_) => Ok(()),
        Realtime::Deadline(deadline) => deadline.check(),
    }
}

/// Checks that the task that forks this one is there when it does.
fn check_parent(workload: &Workload, task: &Task) -> Result<(), String> {
    let Some(index) = task.parent else { return Ok(()) };
    match workload.tasks.get(index as usize) {
        None => Err(format!("task {index} forks it, but there are only {}, counted from 0", workload.tasks.len())),
        Some(parent) if parent.parent.is_some() => Err(format!(
            "{} forks it, which is itself forked by a task; expected a task that the shell starts",
            parent.name
        )),
        Some(parent) if parent.start_ns > task.start_ns => Err(format!("{} forks it, but starts later", parent.name)),
        Some(_) => Ok(()),
    }
}

/// Checks what is requested of `sched_setattr()` at once.
fn check_uclamp(min: Option<u32>, max: Option<u32>) -> Result<(), String> {
    match [min.unwrap_or(0), max.unwrap_or(1024)] {
        [min, max] if min.max(max) <= 1024 && min <= max => Ok(()),
        [min, max] => {
            Err(format!("its clamps are {min} and {max}; expected 0 to 1024, the minimum not above the maximum"))
        }
    }
}

/// By program that a task runs: how many resources the task must have, those of the program and those of its children,
/// which share them.
fn resources_needed(programs: &[Program], families: &Families) -> BTreeMap<usize, usize> {
    let own = |program: &Program| {
        program.ops.iter().flat_map(Op::resources).map(|(number, _)| number as usize + 1).max().unwrap_or(0)
    };
    let own: Vec<usize> = programs.iter().map(own).collect();
    let most = |family: &[usize]| family.iter().map(|&program| own[program]).max().unwrap_or(0);
    families.iter().map(|(&root, family)| (root, most(family))).collect()
}

/// Checks the sets of CPUs that a program's steps name, on a machine of so many CPUs.
fn check_sets(program: &Program, sets: &[Vec<u32>], nr_cpus: u32) -> Result<(), WrongStep> {
    for (step, op) in program.ops.iter().enumerate() {
        let Some(Call::Affinity { cpus: Some(set) }) = op.call() else { continue };
        let checked = match sets.get(set as usize) {
            None => Err(format!("names the set {set} of CPUs, but there are only {}, counted from 0", sets.len())),
            Some(cpus) => check_cpus(cpus, nr_cpus),
        };
        checked.map_err(|what| WrongStep::new(step, what))?;
    }
    Ok(())
}

/// Checks an affinity: not empty, ascending, CPUs of the machine.
fn check_cpus(cpus: &[u32], nr_cpus: u32) -> Result<(), String> {
    if cpus.is_empty() {
        return Err("its affinity has no CPUs; expected one or more".to_owned());
    }
    if !cpus.is_sorted_by(|a, b| a < b) {
        return Err("the CPUs of its affinity are not in ascending order".to_owned());
    }
    match cpus.iter().find(|&&cpu| cpu >= nr_cpus) {
        None => Ok(()),
        Some(cpu) => {
            Err(format!("its affinity has CPU {cpu}; the machine has CPUs 0 to {}", nr_cpus.saturating_sub(1)))
        }
    }
}
