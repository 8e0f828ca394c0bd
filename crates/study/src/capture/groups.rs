//! Groups of tasks that wake each other, and whether they are many of the same.

use super::conversations::completed;
use super::cycle::{self, pooled};
use super::program::{CapturedOp, CapturedProgram, Repeats, Sleeps, of_window, steps, take_time};
use super::replay::{self, Activity};
use super::streams;
use super::timeline::{Step, TaskNr, Timeline, Timelines, family};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// The part of the window that a task computes at least if it is taken to compute for ever.
const LEAST_OF_HOG: f64 = 0.25;
/// The most steps of a task in a model without cycles: a program has up to four times as many, and a file allows it
/// 10,000.
const MOST_OF_TASK: usize = 2_400;
/// The part of the groups that must be alike to be taken for instances of one.
const LEAST_ALIKE: f64 = 0.9;

/// Programs by task.
type Programs = BTreeMap<TaskNr, CapturedProgram>;

/// Tasks that wake each other, directly or through others, with their programs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) programs: Programs,
    /// Whether all tasks do a round for ever; otherwise they do the steps of the window.
    pub(super) cycles: bool,
    /// How many groups it stands for.
    pub(super) instances: u32,
    /// Whether it is of kernel threads alone.
    pub(super) kernel: bool,
    /// Whether it is there once, whatever the load is.
    pub(super) once: bool,
    /// The tasks that read the mailbox of another, as they do for whoever of them comes.
    pub(super) shared: Shared,
    /// How many messages that woke nobody were taken for granted.
    pub(super) implied: u64,
    /// What was recorded of its tasks, and of those of all groups that it stands for.
    pub(super) recorded: Activity,
}

/// The mailbox that a task reads, if that is not its own.
pub(super) type Shared = BTreeMap<TaskNr, TaskNr>;

impl Group {
    /// A group whose tasks do their rounds for ever, each with a mailbox of its own.
    pub(super) fn of(lines: &Timelines, programs: Programs) -> Self {
        let kernel = programs.keys().all(|&task| lines.tasks[task as usize].attributes.kernel_thread);
        let recorded = Activity::recorded(lines, programs.keys().copied());
        Group { programs, cycles: true, instances: 1, kernel, once: false, shared: Shared::new(), implied: 0, recorded }
    }

    /// Whether each instance has its own tasks of it.
    pub(super) fn per_instance(&self) -> bool {
        !self.kernel && !self.once
    }

    /// The task whose mailbox this one reads.
    pub(super) fn mailbox(&self, task: TaskNr) -> TaskNr {
        self.shared.get(&task).copied().unwrap_or(task)
    }

    /// The tasks with a mailbox: those that read one, and those to which others send.
    pub(super) fn with_mailbox(&self) -> FxHashSet<TaskNr> {
        let mut found = FxHashSet::default();
        for (&task, program) in &self.programs {
            found.extend(program.ops().filter_map(|op| match op {
                CapturedOp::Receive => Some(self.mailbox(task)),
                CapturedOp::Send { to, .. } => Some(*to),
                _ => None,
            }));
        }
        found
    }

    /// Whether its tasks count transactions or rounds.
    pub(super) fn counts(&self) -> bool {
        self.programs.values().flat_map(CapturedProgram::ops).any(|op| *op == CapturedOp::Done)
    }

    /// The tasks that others of the group fork.
    pub(super) fn forked(&self) -> FxHashSet<TaskNr> {
        let child = |op: &CapturedOp| if let CapturedOp::Fork(child) = op { Some(*child) } else { None };
        self.programs.values().flat_map(CapturedProgram::ops).filter_map(child).collect()
    }
}

/// The groups of all tasks that did anything, each a model that goes on for ever: cycles where tasks have them that
/// take the time that was recorded, or else the steps up to the time at which all programs together have `most_steps`.
/// Also returns that time, ns; it is later than all if there are not so many.
pub(super) fn models(lines: &Timelines, most_steps: usize, marks: bool) -> (Vec<Group>, u64) {
    let regular = |tasks: Vec<TaskNr>| {
        let found = regular(lines, &tasks, marks);
        (tasks, found)
    };
    let mut found: Vec<(Vec<TaskNr>, Option<Group>)> = members(lines).into_iter().map(regular).collect();
    let cycles: Vec<&Group> = found.iter().filter_map(|(_, group)| group.as_ref()).collect();
    let does = replay::replay(lines, &cycles, lines.to_ns - lines.from_ns);
    let too_fast: Vec<bool> =
        does.of.iter().zip(&cycles).map(|(of, group)| does.is_too_fast(of, &group.recorded)).collect();
    let kept = found.iter_mut().filter_map(|(_, group)| group.is_some().then_some(group));
    // Rounds that take less time than they took are not what the group does: its window is.
    kept.zip(too_fast).filter(|(_, too_fast)| *too_fast).for_each(|(group, _)| *group = None);
    let irregular = found.iter().filter(|(_, group)| group.is_none()).flat_map(|(tasks, _)| tasks);
    let to_ns = cut(lines, irregular, most_steps);
    let groups = found.into_iter().map(|(tasks, group)| group.unwrap_or_else(|| window(lines, &tasks, to_ns, marks)));
    (merged(lines, groups.filter(|group| !group.programs.is_empty()).collect()), to_ns)
}

/// Counts something where nobody waits, so that there are no rounds, and the source has no transactions: messages, or,
/// without any, what each task does until it begins anew, or ends.
pub(super) fn add_done(groups: &mut [Group]) {
    if groups.iter().any(Group::counts) {
        return;
    }
    let sends = |op: &CapturedOp| matches!(op, CapturedOp::Send { .. });
    let messages = groups.iter().flat_map(|group| group.programs.values()).any(|program| program.ops().any(sends));
    for program in groups.iter_mut().flat_map(|group| group.programs.values_mut()) {
        let ops = if program.for_ever.is_empty() { &mut program.first } else { &mut program.for_ever };
        ops.retain(|op| *op != CapturedOp::Begin);
        let mut counted = vec![CapturedOp::Begin];
        for op in ops.drain(..) {
            let is_end = op == CapturedOp::EndOfRound && !messages;
            let is_sent = messages && sends(&op);
            counted.extend(is_end.then_some(CapturedOp::Done));
            counted.push(op);
            counted.extend(is_sent.then_some([CapturedOp::Done, CapturedOp::Begin]).into_iter().flatten());
        }
        if !messages && !counted.contains(&CapturedOp::Done) {
            counted.push(CapturedOp::Done);
        }
        *ops = counted;
    }
}

/// A group whose tasks do the steps of the window again and again.
fn window(lines: &Timelines, tasks: &[TaskNr], to_ns: u64, marks: bool) -> Group {
    let program = |&task: &TaskNr| (task, of_window(lines, task, to_ns, Repeats::ForEver, marks));
    let acts = |task: &&TaskNr| lines.tasks[**task as usize].acts_by(to_ns);
    let mut programs: Programs = tasks.iter().filter(acts).map(program).collect();
    pace(lines, to_ns, &mut programs);
    let together = programs.values().filter(|program| !program.for_ever.is_empty()).count() > 1;
    if !together {
        programs.values_mut().for_each(|program| program.for_ever.retain(|op| *op != CapturedOp::EndOfRound));
    }
    Group { cycles: false, ..Group::of(lines, programs) }
}

/// The groups of all tasks that did anything, each with the steps that were recorded, once.
pub(super) fn exact(lines: &Timelines, marks: bool) -> Vec<Group> {
    let group = |tasks: Vec<TaskNr>| {
        let program = |task| (task, of_window(lines, task, u64::MAX, Repeats::Once, marks));
        Group { cycles: false, ..Group::of(lines, tasks.into_iter().map(program).collect()) }
    };
    members(lines).into_iter().map(group).collect()
}

/// The tasks by group, each in the order of their numbers. Tasks that did nothing are in none.
fn members(lines: &Timelines) -> Vec<Vec<TaskNr>> {
    let mut leader: Vec<TaskNr> = (0..lines.tasks.len() as TaskNr).collect();
    fn find(leader: &mut [TaskNr], task: TaskNr) -> TaskNr {
        let mut at = task;
        while leader[at as usize] != at {
            leader[at as usize] = leader[leader[at as usize] as usize];
            at = leader[at as usize];
        }
        at
    }
    let forks = lines.tasks.iter().zip(0..).filter_map(|(line, task)| line.forked_by().map(|parent| (parent, task)));
    for (a, b) in lines.edges.keys().copied().chain(forks) {
        let (a, b) = (find(&mut leader, a), find(&mut leader, b));
        leader[a.max(b) as usize] = a.min(b);
    }
    let mut groups: BTreeMap<TaskNr, Vec<TaskNr>> = BTreeMap::new();
    for (line, task) in lines.tasks.iter().zip(0..) {
        if !line.noise && !line.steps.is_empty() {
            groups.entry(find(&mut leader, task)).or_default().push(task);
        }
    }
    groups.into_values().collect()
}

/// A group whose tasks do their rounds for ever: as was recorded, or with the messages that woke nobody. Returns `None`
/// if there are no such rounds.
fn regular(lines: &Timelines, tasks: &[TaskNr], marks: bool) -> Option<Group> {
    let none = Shared::new();
    let plain = || cycles(lines, tasks, marks, &none).or_else(|| streams::of(lines, tasks, marks));
    if let Some(programs) = plain() {
        return Some(Group::of(lines, programs));
    }
    let completed = completed(lines, tasks);
    let (lines, implied) = completed.as_ref().map_or((lines, 0), |(lines, implied)| (lines, *implied));
    [Shared::new(), alike_wakees(lines, tasks)].into_iter().find_map(|shared| {
        let programs = cycles(lines, tasks, marks, &shared)?;
        Some(Group { shared, implied, ..Group::of(lines, programs) })
    })
}

/// Tasks that one other wakes, and nobody else, and that have names of one family: which of them it is that comes next
/// is no part of what the other does. They read one mailbox, that of the first.
fn alike_wakees(lines: &Timelines, tasks: &[TaskNr]) -> Shared {
    let mut shared = Shared::new();
    let mut first: BTreeMap<(TaskNr, &str), TaskNr> = BTreeMap::new();
    for &task in tasks {
        let line = &lines.tasks[task as usize];
        let mut by = line.steps.iter().filter_map(|timed| match timed.step {
            Step::Wait { by, .. } => by,
            _ => None,
        });
        let Some(waker) = by.next() else { continue };
        if by.all(|other| other == waker) {
            let mailbox = *first.entry((waker, family(&line.comm))).or_insert(task);
            shared.insert(task, mailbox);
        }
    }
    shared.retain(|task, mailbox| task != mailbox);
    shared
}

/// The cycles of a group's tasks. Returns `None` unless all have one and these fit together.
fn cycles(lines: &Timelines, tasks: &[TaskNr], marks: bool, shared: &Shared) -> Option<Programs> {
    let program = |&task: &TaskNr| {
        let line = &lines.tasks[task as usize];
        if line.forked_by().is_some() {
            return None;
        }
        let mut ops = steps(lines, line, u64::MAX, Sleeps::Periods, marks);
        for op in &mut ops {
            if let CapturedOp::Send { to, .. } = op {
                *to = shared.get(to).copied().unwrap_or(*to);
            }
        }
        // A task that computed for most of the window and never waited does so for ever.
        let ran = line.steps.iter().filter_map(|timed| match timed.step {
            Step::Run(ns) => Some(ns),
            _ => None,
        });
        let mostly = ran.sum::<f64>() >= LEAST_OF_HOG * (lines.to_ns - lines.from_ns) as f64;
        if mostly
            && line.asleep_since.is_none()
            && !ops.iter().any(CapturedOp::waits)
            && ops.iter().all(|op| !matches!(op, CapturedOp::Send { .. }))
        {
            take_time(&mut ops);
            return Some((task, CapturedProgram { first: Vec::new(), for_ever: ops }));
        }
        let mut program = cycle::of(&ops, &ends_of_waits(line))?;
        take_time(&mut program.for_ever);
        Some((task, program))
    };
    let programs: Programs = tasks.iter().map(program).collect::<Option<_>>()?;
    // Who is not sent anything by the others is not to wait for it.
    cycle::runs_for_ever(&programs, shared).then_some(programs)
}

/// When each of a task's waits ended, ns.
fn ends_of_waits(line: &Timeline) -> Vec<u64> {
    let waits = line.steps.iter().filter(|timed| matches!(timed.step, Step::Wait { .. }));
    waits.map(|timed| timed.t_ns).collect()
}

/// Lets no round be shorter than the window was, where the group is driven by timers and devices: it computes for less
/// than half of the window, and a part of it sleeps until one of them wakes it. Groups that only wait for each other do
/// their rounds as fast as they can.
fn pace(lines: &Timelines, to_ns: u64, programs: &mut Programs) {
    let length = to_ns.min(lines.to_ns).saturating_sub(lines.from_ns);
    let ops = || programs.values().flat_map(|program| &program.for_ever);
    let sleeps = ops().any(|op| matches!(op, CapturedOp::Sleep(_)));
    let runs: u64 = ops().map(|op| if let CapturedOp::Run(amount) = op { amount.mean() } else { 0 }).sum();
    if !sleeps || runs >= length / 2 {
        return;
    }
    if let Some(first) = programs.values_mut().find(|program| !program.for_ever.is_empty()) {
        let end = first.for_ever.iter().position(|op| *op == CapturedOp::EndOfRound).unwrap_or(first.for_ever.len());
        first.for_ever.insert(end, CapturedOp::Timer(length.max(1)));
    }
}

/// The time, ns, up to which tasks have at most so many steps together, and each as many as a program may have.
fn cut<'a>(lines: &Timelines, tasks: impl Iterator<Item = &'a TaskNr>, most_steps: usize) -> u64 {
    let (mut times, mut latest) = (Vec::new(), u64::MAX);
    for &task in tasks {
        let steps = &lines.tasks[task as usize].steps;
        latest = steps.get(MOST_OF_TASK).map_or(latest, |timed| latest.min(timed.t_ns));
        times.extend(steps.iter().map(|timed| timed.t_ns));
    }
    if times.len() <= most_steps {
        return latest;
    }
    latest.min(*times.select_nth_unstable(most_steps).1)
}

/// What makes two groups alike: the steps of all tasks in cycles, with how they are scheduled, where tasks go by their
/// number in the group.
type Likeness = Vec<(String, i8, u8, Option<Vec<u32>>, u64, Vec<CapturedOp>)>;

fn likeness(lines: &Timelines, group: &Group) -> Likeness {
    let own: FxHashMap<TaskNr, TaskNr> = group.programs.keys().copied().zip(0..).collect();
    let local = |op: &CapturedOp| match op.shape() {
        CapturedOp::Send { to, sync } => CapturedOp::Send { to: own.get(&to).copied().unwrap_or(TaskNr::MAX), sync },
        other => other,
    };
    let task = |(&task, program): (&TaskNr, &CapturedProgram)| {
        let line = &lines.tasks[task as usize];
        let shapes = program.for_ever.iter().map(local).collect();
        let of = &line.attributes;
        (family(&line.comm).to_owned(), of.nice, of.policy, of.affinity.clone(), line.task_group, shapes)
    };
    group.programs.iter().map(task).collect()
}

/// Groups that are alike as instances of one, whose amounts of work are those of all.
///
/// Tasks of other control groups are no instances of it. Where those of several control groups are as many, an instance
/// has tasks in each of them; all others are there once.
fn merged(lines: &Timelines, groups: Vec<Group>) -> Vec<Group> {
    let (kernel, user): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(|group| group.kernel);
    let mut found: BTreeMap<Vec<u64>, Vec<&Group>> = BTreeMap::new();
    for group in &user {
        found.entry(task_groups(lines, group)).or_default().push(group);
    }
    let found: Vec<_> = found.into_values().map(|groups| (instances(lines, &groups), groups)).collect();
    let Some(most) = found.iter().filter_map(|(one, _)| Some(one.as_ref()?.instances)).max() else {
        return user.into_iter().chain(kernel).collect();
    };
    let chosen = found.into_iter().flat_map(|(one, groups)| match one {
        Some(one) if one.instances == most => vec![one],
        _ => groups.into_iter().map(|group| Group { once: true, ..group.clone() }).collect(),
    });
    chosen.chain(kernel).collect()
}

/// The control groups of a group's tasks, ascending.
fn task_groups(lines: &Timelines, group: &Group) -> Vec<u64> {
    let mut found: Vec<u64> = group.programs.keys().map(|&task| lines.tasks[task as usize].task_group).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// One group for all of these. Returns `None` unless most of them are alike.
fn instances(lines: &Timelines, user: &[&Group]) -> Option<Group> {
    let mut kinds: BTreeMap<Likeness, Vec<usize>> = BTreeMap::new();
    for (number, group) in user.iter().enumerate().filter(|(_, group)| group.cycles) {
        kinds.entry(likeness(lines, group)).or_default().push(number);
    }
    let most = kinds.values().max_by_key(|numbers| numbers.len());
    let alike = most.filter(|alike| alike.len() > 1 && alike.len() as f64 >= LEAST_ALIKE * user.len() as f64)?;
    let first = user[alike[0]];
    let programs = first.programs.iter().enumerate().map(|(at, (&task, program))| {
        let all: Vec<&[CapturedOp]> = alike
            .iter()
            .filter_map(|&number| user[number].programs.values().nth(at))
            .map(|one| &one.for_ever[..])
            .collect();
        (task, CapturedProgram { first: program.first.clone(), for_ever: pooled(&all) })
    });
    let recorded = user.iter().fold(Activity::default(), |sum, group| sum + group.recorded);
    Some(Group { programs: programs.collect(), instances: user.len() as u32, recorded, ..first.clone() })
}
