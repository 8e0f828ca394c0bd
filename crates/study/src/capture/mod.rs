//! A recording, an import or a simulated run as a workload: tasks with programs that wake each other, for a timed
//! simulation under another policy, kernel or machine.
//!
//! All events are followed in the order of time (`timeline`): each task's work with the machine's costs taken off, the
//! wake-ups that it made, its waits and what ended them. `causes` tells a waker from a task that was interrupted.
//! `program` makes steps of that, `cycle` finds the rounds that tasks do again and again, `groups` those that belong
//! together, `replay` holds what they do against what was recorded, and `write` is the file.

mod causes;
mod conversations;
mod cpu_numbers;
mod cycle;
mod fidelity;
mod groups;
mod program;
mod replay;
mod rt_app;
mod speed;
mod streams;
mod task_groups;
mod timeline;
mod whatif;
mod write;

pub use fidelity::{Facts, Fidelity, FidelityRow, Likeness, Limits, PredictedRow, Prediction, fidelity, prediction};
pub use timeline::Losses;
pub use whatif::{RecordedSide, RunTimes, WhatIfError, experiment, recorded_side};

use crate::recordings::progress::{Progress, report_share};
use crate::recordings::sources::about;
use crate::recordings::time_ordered::TimeOrdered;
use cpu_numbers::CpuNumbers;
use fidelity::Seen;
use groups::Group;
use replay::{Activity, Replayed};
use std::path::Path;
use timeline::{Follower, Timelines};
use wakelab_events::ReadError;
use wakelab_events::stream::{
    CpuValue, CpuValues, Names, RunDescription, Source, Switch, Switches, TaskGroup, TaskGroups, TaskLife, TaskLives,
    TaskMoment, TaskMoments, TaskName, WakeCause, WakeCauses,
};
use wakelab_input::{cpulist_text, duration_text};
use wakelab_machine::Machine;

/// The most steps that are held of a recording.
const MOST_STEPS: usize = 16_000_000;
/// The most steps of all programs of a model that has no cycles.
const MOST_MODEL_STEPS: usize = 50_000;
/// The tick of a source whose kernel is not known, ns: HZ=250.
const TICK_NS: u64 = 4_000_000;

/// Options of a capture.
#[derive(Clone, Copy, Debug)]
pub struct CaptureOptions<'a> {
    /// The machine whose costs and speeds are taken off. Without one, work is time on a CPU.
    pub machine: Option<&'a Machine>,
    /// The start of the window, ns after the first event, or after the start of a simulated run. If left out: the first
    /// event, or when measuring began.
    pub from_ns: Option<u64>,
    /// The length of the window, ns; up to the end if left out.
    pub window_ns: Option<u64>,
    /// The recorded steps, once, in place of a model that goes on for ever.
    pub exact: bool,
}

/// A group of tasks that wake each other.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedGroup {
    /// The names of its tasks, without the numbers at their ends, each once.
    pub tasks: Vec<String>,
    /// The number of its tasks.
    pub nr_tasks: usize,
    /// How many groups like it there are.
    pub instances: u32,
    /// Whether its tasks do a round for ever; otherwise they do the steps of the window.
    pub cycles: bool,
    /// Whether it is of kernel threads alone.
    pub kernel: bool,
    /// Whether it is there once, whatever the load is: it is in other control groups than the instances.
    pub once: bool,
    /// The rates of its tasks, of all instances, in the recorded window.
    pub recorded: Rates,
    /// The rates of its tasks in the model.
    pub model: Rates,
}

/// The rates of tasks: wake-ups and CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// How often they are woken, timers and the ends of rounds included, per second.
    pub wakeups: f64,
    /// The part of the time that they run, of all CPUs that were seen, 0 to 1.
    pub busy: f64,
    /// The time that they do not sleep as such a part: they run, or wait for a CPU. It may be above 1.
    pub awake: f64,
}

impl Rates {
    fn of(of: &Activity, length_ns: u64, nr_cpus: usize) -> Self {
        let ns = length_ns.max(1) as f64;
        let part = |of: u64| of as f64 / (ns * nr_cpus.max(1) as f64);
        Rates { wakeups: of.wakeups as f64 * 1e9 / ns, busy: part(of.ran_ns), awake: part(of.awake_ns) }
    }

    /// Whether a model with these rates is off from what was recorded by more than 30%, and by more than a few wake-ups
    /// or a point: in how often tasks are woken, unless CPUs are so busy that who preempts whom decides that, or in how
    /// long they run. What runs longer than it was recorded may have been ready all that time, and the other way round:
    /// who of them runs is a matter of weights and quotas.
    pub fn is_off(&self, recorded: &Rates, saturated: bool) -> bool {
        let wakeups = (self.wakeups.min(recorded.wakeups), self.wakeups.max(recorded.wakeups));
        let woken = !saturated && wakeups.1 - wakeups.0 > 10.0 && wakeups.1 > 1.3 * wakeups.0;
        let more = |busy: f64, awake: f64| busy > 1.3 * awake + 0.01;
        woken || more(self.busy, recorded.awake) || more(recorded.busy, self.awake)
    }
}

/// The model against the recording: what all tasks did, and what they do without a scheduler, on as many CPUs and with
/// the waits that they had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Check {
    /// In the window.
    pub recorded: Rates,
    /// In the model.
    pub model: Rates,
    /// For how long the model was followed, ns.
    pub length_ns: u64,
}

/// A control group of a captured workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedTaskGroup {
    /// Its name in the workload: its path.
    pub name: String,
    /// The group's last recorded state.
    pub group: TaskGroup,
    /// The number of its captured tasks, without those of groups in it.
    pub nr_tasks: usize,
}

/// A captured workload.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The workload as a file of docs/workloads.md.
    pub toml: String,
    /// The same as a file of rt-app, for a model: see docs/your-workload.md. `None` for the recorded steps, whose
    /// sleeps end at times that rt-app has no word for, and if tasks fork and wait for their children in every round.
    pub rt_app: Option<String>,
    /// The load that stands for what was recorded.
    pub load: u32,
    /// The groups, those with the most tasks first.
    pub groups: Vec<CapturedGroup>,
    /// The control groups of its tasks, those above before those in them; none if all are in the root.
    pub task_groups: Vec<CapturedTaskGroup>,
    /// The window, ns: its start in the source's time, and its length.
    pub window_ns: (u64, u64),
    /// Whether all of the window is there, or it was cut because there were too many steps.
    pub complete: bool,
    /// How much of the window, from its begin, is in what groups do again and again, ns, if more steps did not fit.
    pub repeated_ns: Option<u64>,
    /// The things that could not be followed.
    pub losses: Losses,
    /// The number of wake-ups in the window.
    pub wakeups: u64,
    /// The number of transactions in the window; 0 if the source has none.
    pub transactions: u64,
    /// The part of the window in which CPUs ran a task, of all that were seen.
    pub busy: f64,
    /// The model against the recording.
    pub check: Check,
    seen: Seen,
}

impl Captured {
    /// The groups whose model does more or less than was recorded.
    pub fn off(&self) -> impl Iterator<Item = &CapturedGroup> {
        self.groups.iter().filter(|group| group.model.is_off(&group.recorded, self.is_saturated()))
    }

    /// Whether the model as a whole does more or less than was recorded.
    pub fn is_off(&self) -> bool {
        self.check.model.is_off(&self.check.recorded, self.is_saturated())
    }

    fn is_saturated(&self) -> bool {
        self.busy >= replay::SATURATED
    }
}

/// Why nothing was captured.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CaptureError {
    /// The source cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is nothing in the window.
    #[error("{path}: {what}\n  hint: {hint}")]
    Nothing {
        /// The source.
        path: String,
        /// What is missing.
        what: &'static str,
        /// The next step.
        hint: &'static str,
    },
    /// The recording has a CPU that the machine lacks.
    #[error(
        "{path}: the recording has CPU {cpu}, {machine} has {cpus}\n  hint: name the machine that was recorded with \
         --machine; `wakelab machine import` on it writes its file"
    )]
    Machine {
        /// The source.
        path: String,
        /// The kernel's number of that CPU.
        cpu: u32,
        /// The machine.
        machine: String,
        /// The CPUs that the machine has, in words.
        cpus: String,
    },
    /// No workload can be made of it.
    #[error("{path}: the window cannot be made into a workload: {what}\n  hint: {hint}")]
    Invalid {
        /// The source.
        path: String,
        /// What is wrong with the workload.
        what: String,
        /// The next step.
        hint: &'static str,
    },
}

/// The error that the machine lacks a CPU.
fn lacks(source: &Source, machine: &Machine, cpu: u32) -> CaptureError {
    let cpus = match (&machine.cpu_ids, machine.topology.nr_cpus()) {
        (Some(ids), _) => format!("CPUs {}", cpulist_text(ids)),
        (None, 1) => "one CPU".to_owned(),
        (None, nr) => format!("{nr} CPUs"),
    };
    CaptureError::Machine { path: shown(source), cpu, machine: machine.name.clone(), cpus }
}

/// Makes a workload of a source.
///
/// # Errors
/// Fails if it cannot be read, or has no switches, if nothing happens in the window, if the machine lacks a CPU of the
/// recording, or if what happens makes no workload that is valid.
pub fn capture(
    source: &Source,
    options: &CaptureOptions<'_>,
    progress: &dyn Progress,
) -> Result<Captured, CaptureError> {
    let about = about(source)?;
    let mut lines = follow(source, &about, options, progress)?;
    let mut control = TaskGroups::of(source, lines.to_ns)?;
    if let Some(numbers) = CpuNumbers::of(options.machine, about.recorded) {
        numbers.renumber_groups(&mut control);
    }
    task_groups::assign(&mut lines, &control);
    causes::settle(&mut lines);
    causes::add_replies(&mut lines);
    let of = |lines: &Timelines| match (options.exact, lines.transactions == 0) {
        (true, marks) => (groups::exact(lines, marks), u64::MAX),
        (false, marks) => groups::models(lines, MOST_MODEL_STEPS, marks),
    };
    let transactions = lines.transactions;
    let (mut groups, mut repeated_to) = of(&lines);
    if transactions > 0 && !groups.iter().any(Group::counts) {
        // The transactions of the window are of none of the rounds, so that rounds are what is counted.
        lines.transactions = 0;
        (groups, repeated_to) = of(&lines);
    }
    groups::add_done(&mut groups);
    if !groups.iter().any(|group| !group.kernel) {
        let what = "no user task runs in the window";
        return Err(nothing(source, what, "choose another window with --from and --window"));
    }
    let control = task_groups::captured(&lines, &groups, &control);
    let nr_cpus = lines.busy_ns.len().max(1) as f64;
    let length = lines.to_ns - lines.from_ns;
    let replayed = replay::replay(&lines, &groups.iter().collect::<Vec<_>>(), length);
    let toml = write::to_toml(&lines, &groups, &control, &head(source, &about, options, &lines));
    let load = groups.iter().map(|group| group.instances).max().unwrap_or(1);
    valid(source, &toml, load)?;
    Ok(Captured {
        toml,
        rt_app: if options.exact { None } else { rt_app::to_json(&lines, &groups) },
        load,
        groups: summary(&lines, &groups, &replayed),
        task_groups: control.captured,
        window_ns: (lines.from_ns, length),
        complete: lines.complete,
        repeated_ns: (repeated_to < lines.to_ns && groups.iter().any(|group| !group.cycles))
            .then(|| repeated_to.saturating_sub(lines.from_ns)),
        losses: Losses {
            implied_replies: lines.losses.implied_replies + groups.iter().map(|group| group.implied).sum::<u64>(),
            ..lines.losses
        },
        wakeups: lines.counts.wakeups,
        transactions,
        seen: Seen::of(&lines, options.machine),
        check: check(&lines, &groups, &replayed),
        busy: lines.busy_ns.iter().sum::<u64>() as f64 / (length.max(1) as f64 * nr_cpus),
    })
}

fn shown(source: &Source) -> String {
    wakelab_input::printable(&source.path().to_string_lossy()).into_owned()
}

/// Refuses what a comparison would refuse, before anything is written.
fn valid(source: &Source, toml: &str, load: u32) -> Result<(), CaptureError> {
    let Err(error) = wakelab_workload::from_toml(toml, Path::new("captured.toml"), load) else { return Ok(()) };
    // Nobody has the file that the error names.
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let what = first.split_once(": ").map_or(first, |(_, what)| what).to_owned();
    let hint = "choose a shorter --window, or another one with --from";
    Err(CaptureError::Invalid { path: shown(source), what, hint })
}

fn nothing(source: &Source, what: &'static str, hint: &'static str) -> CaptureError {
    CaptureError::Nothing { path: shown(source), what, hint }
}

enum Happens {
    Name(TaskName),
    Enqueue(TaskMoment),
    Life(TaskLife),
    Wake(WakeCause),
    Switch(Switch),
    Idle(CpuValue),
    Frequency(CpuValue),
    Done(TaskMoment),
}

fn tables(source: &Source) -> Result<TimeOrdered<'static, Happens>, CaptureError> {
    let mut tables = TimeOrdered::empty();
    let (mut wakes, mut switches, mut idle, mut frequencies) = match source {
        Source::Csv(_) => {
            return Err(nothing(source, "no switches", "decisions in CSV do not say when tasks ran; record again"));
        }
        Source::Recorded(tables) if tables.switches.is_empty() => {
            let hint = "record without --decisions-only, or name the whole folder of the recording";
            return Err(nothing(source, "no switches beside the decisions", hint));
        }
        Source::Recorded(of) => {
            let mut names = Names::new(of.names.clone());
            tables.add(move || Ok(names.next_name()?.map(|named| (named.t_ns, Happens::Name(named)))));
            let mut undecided = WakeCauses::undecided(of);
            tables.add(move || Ok(undecided.next_wake()?.map(|wake| (wake.decided_ns, Happens::Wake(wake)))));
            (
                WakeCauses::recorded(of),
                Switches::new(of.switches.clone()),
                CpuValues::idle_states(of),
                CpuValues::frequencies(of),
            )
        }
        Source::Simulated(folder) => {
            let mut enqueues = TaskMoments::enqueues(folder);
            let (mut lives, mut done) = (TaskLives::simulated(folder), TaskMoments::transactions(folder));
            tables.add(move || Ok(lives.next_life()?.map(|life| (life.t_ns, Happens::Life(life)))));
            tables.add(move || Ok(enqueues.next_moment()?.map(|queued| (queued.t_ns, Happens::Enqueue(queued)))));
            tables.add(move || Ok(done.next_moment()?.map(|done| (done.t_ns, Happens::Done(done)))));
            (
                WakeCauses::simulated(folder),
                Switches::simulated(folder),
                CpuValues::simulated_idle(folder),
                CpuValues::simulated_frequencies(folder),
            )
        }
    };
    let share = std::rc::Rc::clone(&tables.share);
    tables.add(move || {
        let wake = wakes.next_wake()?;
        share.set(wakes.progress());
        Ok(wake.map(|wake| (wake.decided_ns, Happens::Wake(wake))))
    });
    tables.add(move || Ok(switches.next_switch()?.map(|switch| (switch.t_ns, Happens::Switch(switch)))));
    tables.add(move || Ok(idle.next_value()?.map(|value| (value.t_ns, Happens::Idle(value)))));
    tables.add(move || Ok(frequencies.next_value()?.map(|value| (value.t_ns, Happens::Frequency(value)))));
    Ok(tables)
}

fn follow(
    source: &Source,
    about: &RunDescription,
    options: &CaptureOptions<'_>,
    progress: &dyn Progress,
) -> Result<Timelines, CaptureError> {
    let mut tables = tables(source)?;
    let Some(first) = tables.next()? else {
        return Err(nothing(source, "no events", "was the recorder stopped before its first row?"));
    };
    let begin = about.measured.map_or(first.0, |(from, _)| options.from_ns.map_or(from, |_| 0));
    let from = begin.saturating_add(options.from_ns.unwrap_or(0));
    let to = options.window_ns.map_or(u64::MAX, |window| from.saturating_add(window));
    let tick_ns =
        wakelab_kernel::Preset::get(&about.kernel).map_or(TICK_NS, |kernel| 1_000_000_000 / u64::from(kernel.hz.value));
    let mut follower = Follower::new(options.machine, tick_ns, !about.recorded, from, MOST_STEPS);
    let numbers = options.machine.zip(CpuNumbers::of(options.machine, about.recorded));
    let files = source.wakeups();
    let (mut next, mut count, mut complete) = (Some(first), 0u32, true);
    while let Some((t_ns, mut event)) = next.filter(|(t_ns, _)| *t_ns < to) {
        if let Some((machine, numbers)) = &numbers {
            numbers.renumber(&mut event).map_err(|cpu| lacks(source, machine, cpu))?;
        }
        follower.advance_to(t_ns);
        match event {
            Happens::Name(named) => follower.name(&named),
            Happens::Enqueue(enqueue) => follower.enqueued(&enqueue),
            Happens::Life(life) => follower.life(&life),
            Happens::Wake(wake) => follower.wake(&wake),
            Happens::Switch(switch) => follower.switch(&switch),
            Happens::Idle(value) => follower.idle(&value),
            Happens::Frequency(value) => follower.frequency(&value),
            Happens::Done(done) => follower.done(&done),
        }
        if follower.is_full() {
            complete = false;
            break;
        }
        count = count.wrapping_add(1);
        if count % 1024 == 0 {
            report_share(progress, &files, tables.share.get());
        }
        next = tables.next()?;
    }
    files.iter().for_each(|file| progress.file(file));
    if let (true, None, None, Some((_, end))) = (complete, options.from_ns, options.window_ns, about.measured) {
        // A simulated run lasts up to its end, whether or not anything happens there.
        follower.advance_to(end);
    }
    let lines = follower.finish(complete);
    if lines.to_ns <= lines.from_ns {
        let hint = "--from counts from the first event: choose an earlier time";
        return Err(nothing(source, "no events after --from", hint));
    }
    match options.machine {
        Some(machine) if lines.busy_ns.len() > machine.topology.nr_cpus() as usize => {
            Err(lacks(source, machine, lines.busy_ns.len() as u32 - 1))
        }
        _ => Ok(lines),
    }
}

/// The comment at the head of the file.
fn head(source: &Source, about: &RunDescription, options: &CaptureOptions<'_>, lines: &Timelines) -> Vec<String> {
    let name = |text: &str| wakelab_input::printable(text).into_owned();
    let from = name(&source.path().file_name().unwrap_or_default().to_string_lossy());
    let kind = if about.recorded { "recorded" } else { "simulated" };
    let window = duration_text(lines.to_ns - lines.from_ns);
    let costs = match options.machine {
        Some(machine) => format!("The costs of {} are taken off.", machine.name),
        None => "Work is time on a CPU, with the scheduler's costs in it.".to_owned(),
    };
    let form = match options.exact {
        true => "Every step once, as it was recorded.",
        false => "A model: groups of tasks that repeat their rounds for ever.",
    };
    let known =
        |before: &str, text: &str| if text.is_empty() { String::new() } else { format!(" {before} {}", name(text)) };
    vec![
        format!(
            "Captured from {from}: {window}, {kind}{}{}.",
            known("on", &about.machine),
            known("under", &about.kernel)
        ),
        form.to_owned(),
        costs,
    ]
}

/// What all groups did, and what they do in the model.
fn check(lines: &Timelines, groups: &[Group], replayed: &Replayed) -> Check {
    let nr_cpus = lines.busy_ns.len();
    let recorded = groups.iter().fold(Activity::default(), |sum, group| sum + group.recorded);
    let model = replayed.of.iter().fold(Activity::default(), |sum, of| sum + *of);
    Check {
        recorded: Rates::of(&recorded, lines.to_ns - lines.from_ns, nr_cpus),
        model: Rates::of(&model, replayed.length_ns, nr_cpus),
        length_ns: replayed.length_ns,
    }
}

fn summary(lines: &Timelines, groups: &[Group], replayed: &Replayed) -> Vec<CapturedGroup> {
    let nr_cpus = lines.busy_ns.len();
    let group = |(group, does): (&Group, &Activity)| {
        let mut tasks: Vec<String> =
            group.programs.keys().map(|&task| timeline::family(&lines.tasks[task as usize].comm).to_owned()).collect();
        tasks.sort();
        tasks.dedup();
        CapturedGroup {
            tasks,
            nr_tasks: group.programs.len(),
            instances: group.instances,
            cycles: group.cycles,
            kernel: group.kernel,
            once: group.once,
            recorded: Rates::of(&group.recorded, lines.to_ns - lines.from_ns, nr_cpus),
            model: Rates::of(does, replayed.length_ns, nr_cpus),
        }
    };
    let mut all: Vec<CapturedGroup> = groups.iter().zip(&replayed.of).map(group).collect();
    all.sort_by_key(|group| std::cmp::Reverse(group.nr_tasks as u64 * u64::from(group.instances)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use oorandom::Rand32;
    use std::path::Path;
    use wakelab_events::stream::{TaskAttributes, TaskBegins, WakeContext};
    use wakelab_sched::select::WakeFlags;
    use wakelab_workload::{RtApp, from_toml};

    const CPUS: u32 = 4;
    const TASKS: u32 = 12;

    fn wake(random: &mut Rand32, t_ns: u64) -> WakeCause {
        let flags = [WakeFlags::TTWU, WakeFlags::TTWU | WakeFlags::SYNC, WakeFlags::FORK, WakeFlags::EXEC];
        let contexts = [WakeContext::Task, WakeContext::Hardirq, WakeContext::Interrupt, WakeContext::Unknown];
        let mut below = |n: u32| random.rand_range(0..n);
        WakeCause {
            t_ns: t_ns.saturating_sub(u64::from(below(500))),
            decided_ns: t_ns,
            waker_cpu: below(CPUS),
            waker_pid: (below(4) != 0).then(|| i64::from(below(TASKS))),
            waker_comm: String::new(),
            wakee_pid: i64::from(below(TASKS)),
            wakee_comm: ["", "a 1", "b\"2", "kworker/0:1"][below(4) as usize].to_owned(),
            dest_cpu: below(CPUS),
            prev_cpu: (below(3) != 0).then(|| below(CPUS)),
            flags: (below(5) != 0).then(|| flags[[0, 0, 0, 1, 1, 2, 3][below(7) as usize]]),
            context: contexts[below(4) as usize],
            by_wakelist: [None, Some(false), Some(true)][below(3) as usize],
            wakee: (below(2) != 0).then(|| TaskAttributes {
                nice: below(40) as i8 - 20,
                policy: [0, 5][below(2) as usize],
                affinity: (below(3) == 0).then(|| vec![below(2), 2 + below(2)]),
                kernel_thread: below(4) == 0,
            }),
        }
    }

    /// Follows random events, most of which contradict each other, as those of lossy traces do.
    fn random_lines(random: &mut Rand32, machine: Option<&Machine>) -> Timelines {
        let simulated = random.rand_range(0..2) == 0;
        let from_ns = u64::from(random.rand_range(0..40_000));
        let mut follower = Follower::new(machine, TICK_NS, simulated, from_ns, MOST_STEPS);
        let mut t_ns = 0;
        for _ in 0..random.rand_range(1..400) {
            t_ns += u64::from(random.rand_range(0..2_000));
            follower.advance_to(t_ns);
            let (cpu, pid) = (random.rand_range(0..CPUS), i64::from(random.rand_range(0..TASKS)));
            match random.rand_range(0..12) {
                0..4 => follower.wake(&wake(random, t_ns)),
                4..8 => follower.switch(&Switch {
                    t_ns,
                    cpu,
                    prev_pid: pid,
                    prev_sleeps: random.rand_range(0..3) != 0,
                    next_pid: i64::from(random.rand_range(0..TASKS)),
                    idles: random.rand_range(0..4) == 0,
                }),
                8 => follower.idle(&CpuValue { t_ns, cpu, value: (pid % 2 == 0).then_some(1) }),
                9 => follower.done(&TaskMoment { t_ns, pid }),
                10 => follower.enqueued(&TaskMoment { t_ns, pid }),
                _ => follower.life(&TaskLife {
                    t_ns,
                    pid,
                    begins: (pid % 3 != 0).then(|| TaskBegins {
                        parent_pid: (pid % 2 == 0).then_some((pid + 1) % i64::from(TASKS)),
                        comm: "c".to_owned(),
                        background: false,
                        attributes: TaskAttributes::default(),
                    }),
                }),
            }
        }
        let mut lines = follower.finish(true);
        causes::settle(&mut lines);
        causes::add_replies(&mut lines);
        lines
    }

    #[test]
    fn whatever_is_followed_becomes_a_workload_that_is_valid() {
        let machine = wakelab_machine::get("test-8c").expect("a machine");
        for seed in 0..400 {
            let mut random = Rand32::new(seed);
            let lines = random_lines(&mut random, (seed % 3 != 0).then_some(&machine));
            let marks = lines.transactions == 0;
            for exact in [false, true] {
                let groups = match exact {
                    true => groups::exact(&lines, marks),
                    false => groups::models(&lines, MOST_MODEL_STEPS, marks).0,
                };
                if groups.iter().all(|group| group.kernel) {
                    continue;
                }
                let control = task_groups::captured(&lines, &groups, &TaskGroups::default());
                let toml = write::to_toml(&lines, &groups, &control, &[]);
                if let Err(error) = from_toml(&toml, Path::new("captured.toml"), 1) {
                    panic!("seed {seed}, exact {exact}: {error}\n{toml}");
                }
                if let Some(rt_app) = rt_app::to_json(&lines, &groups).filter(|_| !exact)
                    && let Err(error) = RtApp::parse(Path::new("captured.json"), &rt_app, false)
                {
                    panic!("seed {seed}: {error}\n{rt_app}");
                }
            }
        }
    }
}
