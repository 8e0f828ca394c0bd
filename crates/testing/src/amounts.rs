//! Amounts that must add up in the events of a run: the time of every CPU, quotas, reservations, work, and CPUs that
//! are offline.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use wakelab_workload::{Call, Changed, Op, Realtime, Workload};

/// How long a limit on run time may be late on each CPU, ns: a few ticks of 100 a second, as a group is throttled at a
/// tick and on the way to user space. What runs over is taken from what comes next, so that this does not grow.
const LATE: i64 = 40_000_000;
/// How soon a CPU that goes offline has stopped its last task, ns.
const OFFLINE_WITHIN: i64 = 5_000_000;

/// What a run may do, by its workload. Without a workload of its own there are no limits.
#[derive(Debug, Default)]
pub struct Limits {
    /// By name, without the number behind it.
    tasks: HashMap<String, TaskLimits>,
    /// By number, from 1.
    groups: Vec<GroupLimits>,
    /// A CPU that is offline, and from when to when, ns.
    offline: Vec<(i64, i64, i64)>,
    /// Some task may be throttled.
    throttles: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct TaskLimits {
    /// A deadline task that stays one: its runtime and its period, ns.
    deadline: Option<(i64, i64)>,
    /// It stays in the fair class.
    fair: bool,
    /// The least work of a transaction, ns at full speed.
    work: i64,
    /// Its control group.
    group: u32,
    /// It may be throttled: by a quota, or by a reservation or realtime policy that it has or takes.
    throttled: bool,
}

#[derive(Clone, Copy, Debug)]
struct GroupLimits {
    parent: u32,
    /// Quota, period and burst, ns.
    max: Option<(i64, i64, i64)>,
}

impl Limits {
    /// Those of a workload.
    pub fn of(workload: &Workload) -> Self {
        let mut limits = Limits::default();
        // Where tasks move between groups, or quotas change, no quota is known here.
        let quotas_hold =
            !workload.changes.iter().any(|change| matches!(change.what, Changed::Max { .. } | Changed::Move { .. }));
        for change in &workload.changes {
            let Changed::Offline { cpus } = &change.what else { continue };
            let until = workload.changes.iter().find(|later| {
                later.at_ns >= change.at_ns && matches!(&later.what, Changed::Online { cpus: on } if on == cpus)
            });
            let until = until.map_or(i64::MAX, |until| until.at_ns as i64);
            let from = change.at_ns as i64 + OFFLINE_WITHIN;
            limits.offline.extend(cpus.iter().map(|&cpu| (i64::from(cpu), from, until)));
        }
        for group in &workload.groups {
            let max = group.max.filter(|_| quotas_hold);
            let max = max.map(|max| (max.quota as i64, max.period as i64, max.burst as i64));
            limits.groups.push(GroupLimits { parent: group.parent, max });
        }
        for task in &workload.tasks {
            let ops = &workload.programs[task.program as usize].ops;
            let sets = |op: &Op| matches!(op, Op::Call(Call::Realtime(_) | Call::IdlePolicy(_)));
            let stays = !ops.iter().any(sets);
            let deadline = match task.realtime {
                Some(Realtime::Deadline(of)) if stays => Some((of.runtime_ns as i64, of.period_ns as i64)),
                _ => None,
            };
            let fair = stays && task.realtime.is_none();
            let has_quota = |group: u32| workload.groups[group as usize - 1].max.is_some();
            let throttled = !fair || !quotas_hold || limits.path(task.group).any(has_quota);
            limits.throttles |= throttled;
            let limits_of_task =
                TaskLimits { deadline, fair, work: least_work(ops, workload), group: task.group, throttled };
            limits.tasks.insert(base(&task.name).to_owned(), limits_of_task);
        }
        limits
    }

    /// Whether a task may wait while its CPU idles: a task that was forked may be in the group of any other.
    pub fn may_be_throttled(&self, name: &str) -> bool {
        self.tasks.get(base(name)).map_or(self.throttles, |task| task.throttled)
    }

    fn task(&self, name: &str) -> TaskLimits {
        self.tasks.get(base(name)).copied().unwrap_or_default()
    }

    /// A group and those above it.
    fn path(&self, group: u32) -> impl Iterator<Item = u32> {
        let above =
            |&group: &u32| self.groups.get(group as usize - 1).map(|of| of.parent).filter(|&parent| parent != 0);
        std::iter::successors(Some(group).filter(|&group| group != 0), above)
    }
}

/// A task's name without its number among those of one description.
fn base(name: &str) -> &str {
    match name.rsplit_once(' ') {
        Some((base, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

/// The least work between the begin of a transaction and its end, if its steps are done one after another, ns.
fn least_work(ops: &[Op], workload: &Workload) -> i64 {
    let within = |ops: &[Op]| {
        let begin = ops.iter().position(|op| matches!(op, Op::Begin))?;
        let length = ops[begin..].iter().position(|op| matches!(op, Op::Done))?;
        Some(begin..begin + length)
    };
    let Some(range) = within(ops) else { return 0 };
    let least = |op: &Op| match op {
        Op::Run(work) | Op::Softirq(work) => match work.distribution {
            Some(number) => {
                let values = &workload.distributions[number.get() as usize - 1].values;
                values.iter().copied().min().unwrap_or(0) as i64
            }
            None => (work.ns - work.ns * u64::from(work.jitter_pct) / 100) as i64,
        },
        _ => 0,
    };
    ops[range].iter().map(least).sum()
}

/// What a task has done so far.
#[derive(Clone, Debug, Default)]
struct Spent {
    name: String,
    limits: TaskLimits,
    /// For how long it has run, ns.
    ran: i64,
    done: i64,
}

/// What a CPU does, since when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Idles,
    Runs(i64),
    /// Its task was taken from it: it switches to the next.
    Pushes,
}

/// Adds up a run.
#[derive(Debug, Default)]
pub struct Amounts {
    limits: Limits,
    /// The measured part, ns.
    measured: (i64, i64),
    cpus: BTreeMap<i64, (Doing, i64)>,
    tasks: HashMap<i64, Spent>,
    /// By group: for how long its fair tasks have run, ns, and how many CPUs they have run on.
    groups: BTreeMap<u32, (i64, BTreeSet<i64>)>,
    /// The idle time of all CPUs, that in which they ran tasks, and that in which they ran the stopper, ns; and for how
    /// long tasks ran by their own account.
    idle: i64,
    runs: i64,
    pushes: i64,
    ran: i64,
    faults: Vec<String>,
}

impl Amounts {
    /// Those of a run of so many CPUs, all of which are idle at first.
    pub fn new(limits: Limits, nr_cpus: i64, measured: (i64, i64)) -> Self {
        let cpus = (0..nr_cpus).map(|cpu| (cpu, (Doing::Idles, 0))).collect();
        Amounts { limits, measured, cpus, ..Amounts::default() }
    }

    /// A task enters the run. Returns whether it may be throttled.
    pub fn begins(&mut self, pid: i64, name: &str) -> bool {
        let limits = self.limits.task(name);
        self.tasks.insert(pid, Spent { name: name.to_owned(), limits, ..Spent::default() });
        self.limits.may_be_throttled(name)
    }

    /// Whether all CPUs of a set, as 64-bit words, go offline: a task that may use no others has to go elsewhere
    /// (`select_fallback_rq()`).
    pub fn loses_affinity(&self, words: &[u64]) -> bool {
        let offline = |cpu: i64| self.limits.offline.iter().any(|&(of, ..)| of == cpu);
        let mut cpus = (0..64 * words.len()).filter(|cpu| words[cpu / 64] >> (cpu % 64) & 1 == 1);
        !self.limits.offline.is_empty() && cpus.all(|cpu| offline(cpu as i64))
    }

    /// A task has done a transaction.
    pub fn done(&mut self, pid: i64) {
        self.tasks.entry(pid).or_default().done += 1;
    }

    /// A CPU switches to a task, or to idle.
    pub fn switch(&mut self, now: i64, cpu: i64, next: Option<i64>) {
        self.goes_on(now, cpu, next.map_or(Doing::Idles, Doing::Runs));
        let offline = |&(of, from, until): &(i64, i64, i64)| of == cpu && (from..until).contains(&now);
        if let Some(next) = next.filter(|_| self.limits.offline.iter().any(offline)) {
            self.faults.push(format!("at {now} ns: CPU {cpu} is offline and runs task {next}"));
        }
    }

    /// A task is moved from a CPU, which may run it.
    pub fn migrate(&mut self, now: i64, cpu: i64, pid: i64) {
        if self.cpus.get(&cpu).is_some_and(|(doing, _)| *doing == Doing::Runs(pid)) {
            self.goes_on(now, cpu, Doing::Pushes);
        }
    }

    fn goes_on(&mut self, now: i64, cpu: i64, next: Doing) {
        let Some((doing, since)) = self.cpus.insert(cpu, (next, now)) else {
            self.faults.push(format!("at {now} ns: the machine has no CPU {cpu}"));
            return;
        };
        let measured = self.within(since, now);
        match doing {
            Doing::Idles => self.idle += measured,
            Doing::Pushes => self.pushes += measured,
            Doing::Runs(pid) => {
                self.runs += measured;
                self.charge(now, cpu, pid, now - since);
            }
        }
    }

    /// A task has had a CPU.
    pub fn had_cpu(&mut self, since: i64, now: i64) {
        self.ran += self.within(since, now);
    }

    fn within(&self, since: i64, now: i64) -> i64 {
        let (from, to) = self.measured;
        (now.min(to) - since.max(from)).max(0)
    }

    /// A task has run, which counts for its reservation and for the quotas of its groups.
    fn charge(&mut self, now: i64, cpu: i64, pid: i64, ns: i64) {
        let task = self.tasks.entry(pid).or_default();
        task.ran += ns;
        if let Some((runtime, period)) = task.limits.deadline
            && task.ran > runtime * (now / period + 2) + LATE
        {
            let (name, ran) = (&task.name, task.ran);
            self.faults.push(format!("at {now} ns: {name} has run for {ran} ns, with {runtime} in {period} reserved"));
        }
        let limits = task.limits;
        if !limits.fair {
            return;
        }
        for group in self.limits.path(limits.group) {
            let Some((quota, period, burst)) = self.limits.groups[group as usize - 1].max else { continue };
            let (ran, cpus) = self.groups.entry(group).or_default();
            *ran += ns;
            cpus.insert(cpu);
            let most = quota * (now / period + 2) + burst + LATE * cpus.len() as i64;
            if *ran > most {
                self.faults.push(format!("at {now} ns: group {group} has run for {ran} ns, and may for {most}"));
            }
        }
    }

    /// The run is over. Returns what does not add up, and the idle share of the measured time, %.
    pub fn end(mut self, end: i64) -> (Vec<String>, f64) {
        let cpus: Vec<(i64, Doing)> = self.cpus.iter().map(|(&cpu, &(doing, _))| (cpu, doing)).collect();
        for (cpu, doing) in cpus {
            self.goes_on(end, cpu, doing);
        }
        let (from, to) = self.measured;
        let all = (to.min(end) - from).max(0) * self.cpus.len() as i64;
        let (idle, runs, pushes) = (self.idle, self.runs, self.pushes);
        if idle + runs + pushes != all {
            self.faults.push(format!("CPUs idle for {idle} ns, run for {runs} and push for {pushes} of {all} ns"));
        }
        if self.ran != runs {
            self.faults.push(format!("tasks have run for {} ns, and CPUs ran tasks for {runs} ns", self.ran));
        }
        let mut tasks: Vec<&Spent> = self.tasks.values().collect();
        tasks.sort_by(|a, b| a.name.cmp(&b.name));
        for Spent { name, limits, ran, done } in tasks {
            // No CPU is faster than full speed.
            if done * limits.work > *ran {
                let what = format!("{name} has done {done} transactions of {} ns in {ran} ns", limits.work);
                self.faults.push(what);
            }
        }
        (self.faults, if all == 0 { 0.0 } else { 100.0 * self.idle as f64 / all as f64 })
    }
}
