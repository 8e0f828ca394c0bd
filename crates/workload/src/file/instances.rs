//! A file's instances: the workload that the file becomes at a load.

use super::header::Header;
use super::resource::ResourceDef;
use super::task::TaskDef;
use super::{PER_INSTANCE, WorkloadFile, barriers};
use crate::error::{About, WorkloadError};
use crate::validate::TASKS_MAX;
use crate::{Channel, Task, Workload};
use std::sync::Arc;

/// The processes by name, with their first numbers, and whether each instance has its own. One that has tasks with a
/// count is one for all instances.
struct Processes<'a>(Vec<(&'a str, u32, bool)>);

impl<'a> Processes<'a> {
    fn of(tasks: &'a [TaskDef], instances: u32) -> Self {
        let (mut all, mut next): (Vec<(&str, u32, bool)>, u32) = (Vec::new(), 0);
        for name in tasks.iter().filter_map(TaskDef::process) {
            if all.iter().all(|(known, ..)| *known != name) {
                let own = tasks.iter().filter(|def| def.process() == Some(name)).all(TaskDef::by_instance);
                all.push((name, next, own));
                next += if own { instances } else { 1 };
            }
        }
        Processes(all)
    }

    /// The number of the process of tasks in an instance.
    fn number(&self, def: &TaskDef, instance: u32) -> Option<u32> {
        let name = def.process()?;
        let found = self.0.iter().find(|(known, ..)| *known == name);
        found.map(|&(_, first, own)| if own { first + instance } else { first })
    }
}

impl WorkloadFile {
    /// Builds so many instances of the file.
    pub(crate) fn workload(&self, instances: u32) -> Result<Workload, WorkloadError> {
        if instances != 1 && !self.by_instance() {
            let what = format!(
                "the load is {instances} instances, but all tasks of {} have a fixed `count`; expected a load of 1",
                self.path().display()
            );
            return Err(WorkloadError::new(About::Load, what).with_hint(Some(PER_INSTANCE.to_owned())));
        }
        let tasks: u64 = self.tasks.iter().map(|def| def.nr_tasks(instances)).sum();
        if tasks > TASKS_MAX {
            let what = format!("{instances} instances make {tasks} tasks; expected at most {TASKS_MAX}");
            return Err(WorkloadError::new(About::Load, what));
        }
        Ok(self.build(instances, true))
    }

    /// Builds instances, with numbers behind the names if `numbered`, else with the names of the file.
    pub(super) fn build(&self, instances: u32, numbered: bool) -> Workload {
        let Header { benchmark, case, metric, unit, higher_is_better, load_label, ramp_ns } = self.header.clone();
        let mut channels = Vec::new();
        // Where each resource's copies begin: a shared one has one, the others one for each instance.
        let mut first = Vec::new();
        for def in &self.resources {
            first.push(channels.len() as u32);
            let name =
                |i: u32| if def.per_instance && numbered { format!("{} {i}", def.name) } else { def.name.clone() };
            let copies = if def.per_instance { instances } else { 1 };
            channels.extend((0..copies).map(|i| Channel {
                name: name(i),
                capacity: def.capacity.unwrap_or(1),
                costs: def.costs,
            }));
        }
        let of = |instance: u32| -> Arc<[u32]> {
            let copy = |(def, &first): (&ResourceDef, &u32)| if def.per_instance { first + instance } else { first };
            self.resources.iter().zip(&first).map(copy).collect()
        };
        let shared = of(0);
        let processes = Processes::of(&self.tasks, instances);
        let mut tasks: Vec<_> =
            self.tasks.iter().flat_map(|def| def.shared(&shared, processes.number(def, 0), numbered)).collect();
        for instance in 0..instances {
            let start_ns = ramp_ns * u64::from(instance) / u64::from(instances);
            let own = of(instance);
            let these =
                |def: &TaskDef| def.instance(instance, start_ns, &own, processes.number(def, instance), numbered);
            tasks.extend(self.tasks.iter().flat_map(these));
        }
        tasks.sort_by_key(|task| task.start_ns);
        self.count_participants(&mut channels, &tasks, &first);
        let load = match (self.by_instance(), tasks.len()) {
            (true, _) => format!("{instances} {load_label}"),
            (false, 1) => "1 task".to_owned(),
            (false, tasks) => format!("{tasks} tasks"),
        };
        let changes = self.changes.iter().map(|change| change.of(&tasks)).collect();
        Workload {
            benchmark,
            case,
            load,
            metric,
            unit,
            higher_is_better,
            programs: self.programs.clone(),
            channels,
            tasks,
            cpu_sets: vec![],
            distributions: self.distributions.clone(),
            params: vec![],
            groups: self.groups.clone(),
            interrupts: self.interrupts.clone(),
            changes,
        }
    }

    /// At a barrier that has no number of its own, all tasks meet that have it in their programs.
    fn count_participants(&self, channels: &mut [Channel], tasks: &[Task], first: &[u32]) {
        let open = |number: usize| self.resources[number].capacity.is_none();
        let all = |number: usize| {
            let end = first.get(number + 1).map_or(channels.len(), |&next| next as usize);
            first[number] as usize..end
        };
        let copies: Vec<usize> = (0..self.resources.len()).filter(|&number| open(number)).flat_map(all).collect();
        copies.iter().for_each(|&copy| channels[copy].capacity = 0);
        let meets: Vec<Vec<usize>> =
            self.programs.iter().map(|program| barriers(program).into_iter().filter(|&n| open(n)).collect()).collect();
        for task in tasks {
            for &number in &meets[task.program as usize] {
                channels[task.channels[number] as usize].capacity += 1;
            }
        }
        // One that nobody has is as good as any channel.
        copies.iter().for_each(|&copy| channels[copy].capacity = channels[copy].capacity.max(1));
    }
}
