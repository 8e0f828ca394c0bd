//! The control groups of captured tasks, as `[[group]]`s of the workload.

use super::CapturedTaskGroup;
use super::groups::Group;
use super::timeline::{Step, TaskNr, Timeline, Timelines};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;
use wakelab_events::stream::{ROOT_GROUP, TaskGroups};
use wakelab_input::{cpulist_text, toml_text as quoted};
use wakelab_sched::cpumask::Cpu;

/// The largest `cpu.weight` (`CGROUP_WEIGHT_MAX`); `cpu.shares` of cgroup v1 may be larger.
const WEIGHT_MAX: u32 = 10_000;
/// The longest name that is a path, bytes; a workload allows 255.
const NAME_MAX: usize = 220;
/// `SCHED_CAPACITY_SCALE`, a maximum that clamps nothing.
const NO_CLAMP: u32 = 1024;

/// Gives each task of the fair class its control group.
///
/// A child that was moved to another group than its parent's is no longer forked by it, because in a workload children
/// are in the group of the task that forks them: it begins when it was forked.
pub(super) fn assign(lines: &mut Timelines, control: &TaskGroups) {
    if control.groups.is_empty() {
        return;
    }
    for line in lines.tasks.iter_mut().filter(|line| !line.noise && is_fair(line)) {
        line.task_group = control.of_task(line.pid);
    }
    let group: Vec<u64> = lines.tasks.iter().map(|line| line.task_group).collect();
    let elsewhere = |parent: TaskNr, child: TaskNr| group[parent as usize] != group[child as usize];
    for (line, task) in lines.tasks.iter_mut().zip(0..) {
        if line.forked_by().is_some_and(|parent| elsewhere(parent, task)) {
            line.parent = None;
        }
        line.steps.retain(|timed| !matches!(timed.step, Step::Fork(child) if elsewhere(task, child)));
    }
}

/// `SCHED_NORMAL`, `SCHED_BATCH` and `SCHED_IDLE`: the groups of other classes are not modelled.
fn is_fair(line: &Timeline) -> bool {
    matches!(line.attributes.policy, 0 | 3 | 5)
}

/// The control groups of a captured workload.
pub(super) struct Control {
    /// Those above before those in them.
    pub(super) captured: Vec<CapturedTaskGroup>,
    /// By the number of a group: its place in `captured`.
    places: FxHashMap<u64, usize>,
    /// By place: the CPUs that its tasks may use, ascending; `None` for all.
    cpus: Vec<Option<Vec<Cpu>>>,
}

/// The control groups that captured tasks are in, and those above them.
pub(super) fn captured(lines: &Timelines, groups: &[Group], control: &TaskGroups) -> Control {
    // By depth and number, so that those above come first; with the number of tasks.
    let mut used: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    let instances = |group: &Group| if group.per_instance() { group.instances as usize } else { 1 };
    let tasks = groups.iter().flat_map(|group| group.programs.keys().map(move |&task| (task, instances(group))));
    for (task, instances) in tasks {
        let mut above = Vec::new();
        let mut at = lines.tasks[task as usize].task_group;
        while let Some(group) = control.groups.get(&at) {
            above.push(at);
            at = group.parent;
        }
        for (depth, &group) in above.iter().rev().enumerate() {
            *used.entry((depth, group)).or_default() += if depth + 1 == above.len() { instances } else { 0 };
        }
    }
    let mut found = Control { captured: Vec::new(), places: FxHashMap::default(), cpus: Vec::new() };
    for ((_, number), nr_tasks) in used {
        let group = control.groups[&number].clone();
        let twice = found.captured.iter().any(|known| known.name == group.path);
        let name = match twice || group.path.len() > NAME_MAX || group.path.is_empty() {
            true => format!("{} {number}", shortened(&group.path)),
            false => group.path.clone(),
        };
        let above = found.place(group.parent).and_then(|place| found.cpus[place].clone());
        let within = |cpus: &Vec<Cpu>| match &above {
            Some(above) => cpus.iter().copied().filter(|cpu| above.contains(cpu)).collect(),
            None => cpus.clone(),
        };
        let own: Option<Vec<Cpu>> = group.cpus.as_ref().map(within);
        let own = own.filter(|cpus| !cpus.is_empty() && cpus.len() < lines.busy_ns.len());
        found.cpus.push(own.or(above));
        found.places.insert(number, found.captured.len());
        found.captured.push(CapturedTaskGroup { name, group, nr_tasks });
    }
    found
}

/// The end of a path that is too long for a name.
fn shortened(path: &str) -> &str {
    let mut at = path.len().saturating_sub(NAME_MAX);
    while !path.is_char_boundary(at) {
        at += 1;
    }
    &path[at..]
}

impl Control {
    fn place(&self, number: u64) -> Option<usize> {
        self.places.get(&number).copied().filter(|_| number != ROOT_GROUP)
    }

    /// The name of a task's control group, quoted; `None` for the root.
    pub(super) fn name_of(&self, line: &Timeline) -> Option<String> {
        Some(quoted(&self.captured[self.place(line.task_group)?].name))
    }

    /// The CPUs that a task asks for, of those of its control group; `None` for all of these.
    pub(super) fn restricted<'a>(&self, line: &'a Timeline, nr_cpus: usize) -> Option<&'a [Cpu]> {
        let cpus = line.restricted_to(nr_cpus)?;
        match self.place(line.task_group).and_then(|place| self.cpus[place].as_deref()) {
            Some(cpuset) if cpuset == cpus || !cpus.iter().any(|cpu| cpuset.contains(cpu)) => None,
            _ => Some(cpus),
        }
    }

    /// The `[[group]]`s.
    pub(super) fn to_toml(&self) -> String {
        let mut text = String::new();
        for (at, CapturedTaskGroup { name, group, .. }) in self.captured.iter().enumerate() {
            let _ = writeln!(text, "\n[[group]]\nname = {}", quoted(name));
            let above = self.place(group.parent);
            if let Some(above) = above {
                let _ = writeln!(text, "parent = {}", quoted(&self.captured[above].name));
            }
            let _ = match group.idle {
                true => writeln!(text, "idle = true"),
                false => writeln!(text, "weight = {}", group.weight.clamp(1, WEIGHT_MAX)),
            };
            if let Some(max) = group.max {
                let _ = writeln!(text, "max = \"{} {}\"", length(max.quota_ns), length(max.period_ns));
                if max.burst_ns > 0 {
                    let _ = writeln!(text, "burst = \"{}\"", length(max.burst_ns));
                }
            }
            for (key, value, none) in [("uclamp_min", group.uclamp[0], 0), ("uclamp_max", group.uclamp[1], NO_CLAMP)] {
                if let Some(value) = value.filter(|&value| value != none) {
                    let _ = writeln!(text, "{key} = {value}");
                }
            }
            if let Some(cpus) = &self.cpus[at]
                && above.and_then(|above| self.cpus[above].as_ref()) != Some(cpus)
            {
                let _ = writeln!(text, "cpus = {}", quoted(&cpulist_text(cpus)));
            }
        }
        text
    }
}

/// A length of time without loss, in the largest unit that has it whole.
fn length(ns: u64) -> String {
    match ns {
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ if ns.is_multiple_of(1000) => format!("{}us", ns / 1000),
        _ => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::timeline::TimedStep;
    use wakelab_events::stream::{TaskAttributes, TaskGroup};

    fn control(groups: &[(u64, u64, &str)], members: &[(i64, u64)]) -> TaskGroups {
        let group = |&(number, parent, path): &(u64, u64, &str)| {
            let none = TaskGroup {
                parent,
                path: path.to_owned(),
                weight: 100,
                idle: false,
                max: None,
                uclamp: [None; 2],
                cpus: None,
            };
            (number, none)
        };
        TaskGroups { groups: groups.iter().map(group).collect(), members: members.iter().copied().collect() }
    }

    fn lines(policies: &[u8]) -> Timelines {
        let line = |(pid, &policy)| Timeline {
            pid,
            attributes: TaskAttributes { policy, ..TaskAttributes::default() },
            ..Timeline::default()
        };
        Timelines { tasks: (0..).zip(policies).map(line).collect(), busy_ns: vec![0; 8], ..Timelines::default() }
    }

    #[test]
    fn a_child_that_was_moved_is_not_forked_there() {
        let mut lines = lines(&[0, 0, 0]);
        for child in [1, 2] {
            (lines.tasks[child].began_ns, lines.tasks[child].parent) = (Some(5), Some(0));
        }
        let step = |step| TimedStep { t_ns: 5, step };
        lines.tasks[0].steps = vec![step(Step::Run(7.0)), step(Step::Fork(1)), step(Step::Fork(2))];
        assign(&mut lines, &control(&[(9, 0, "/a")], &[(2, 9)]));
        assert_eq!(lines.tasks[0].steps, [step(Step::Run(7.0)), step(Step::Fork(1))]);
        let tasks = &lines.tasks;
        assert_eq!((tasks[1].forked_by(), tasks[2].forked_by(), tasks[2].began_ns), (Some(0), None, Some(5)));
        assert_eq!((tasks[0].task_group, tasks[2].task_group), (0, 9));
    }

    #[test]
    fn realtime_tasks_are_in_no_group() {
        let mut lines = lines(&[0, 1, 2, 3, 5, 6]);
        let members: Vec<(i64, u64)> = (0..6).map(|pid| (pid, 9)).collect();
        assign(&mut lines, &control(&[(9, 0, "/a")], &members));
        let groups: Vec<u64> = lines.tasks.iter().map(|line| line.task_group).collect();
        assert_eq!(groups, [9, 0, 0, 9, 9, 0]);
    }

    #[test]
    fn names_are_paths_that_a_workload_accepts() {
        let long = format!("/{}ä{}", "x".repeat(300), "y".repeat(NAME_MAX - 1));
        assert_eq!(shortened(&long), "y".repeat(NAME_MAX - 1));
        let mut lines = lines(&[0, 0]);
        let groups = [(3, 0, "/same"), (4, 0, "/same"), (5, 4, &long)];
        let of = control(&groups, &[(0, 3), (1, 5)]);
        assign(&mut lines, &of);
        let programs = [0, 1].map(|task| (task, super::super::program::CapturedProgram::default())).into();
        let group = Group::of(&lines, programs);
        let found = captured(&lines, &[group], &of);
        let names: Vec<&str> = found.captured.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["/same", "/same 4", &format!("{} 5", shortened(&long))]);
        let text = found.to_toml();
        assert!(text.contains("parent = \"/same 4\"\nweight = 100\n"), "{text}");
        assert_eq!((length(1_500_000), length(2_000_000), length(7)), ("1500us".into(), "2ms".into(), "7ns".into()));
    }
}
