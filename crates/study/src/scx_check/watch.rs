//! Who waited while a CPU was idle that could have run him, and how much CPU time who got.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_events::sim::{Event, NewTask, Sink};
use wakelab_sched::CpuMask;
use wakelab_sched::runqueue::{LoadWeight, Policy};
use wakelab_workload::{Changed, Op, Workload};

/// A task waited while a CPU that it may use was idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    /// Who.
    pub task: String,
    /// The CPU.
    pub cpu: u32,
    /// From when on both was so, ns.
    pub from: u64,
    /// For how long, ns.
    pub ns: u64,
}

/// Tasks that compute all the time, may use the same CPUs and have the same weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Peers {
    /// The CPUs, as a list.
    pub cpus: String,
    /// How many CPUs these are.
    pub nr_cpus: u32,
    /// Their nice value.
    pub nice: i8,
    /// Who, and how long each ran, ns; in the order of their creation.
    pub ran: Vec<(String, u64)>,
}

impl Peers {
    /// The weight of one, of 1024 for nice 0.
    pub fn weight(&self) -> u64 {
        u64::from(LoadWeight::of(Policy::Normal, self.nice).weight)
    }

    /// How long one ran on average, ns.
    pub fn mean(&self) -> u64 {
        self.ran.iter().map(|(_, ns)| ns).sum::<u64>() / self.ran.len().max(1) as u64
    }

    /// The one that ran for the shortest time and the one that ran for the longest.
    pub fn ends(&self) -> (&(String, u64), &(String, u64)) {
        let by = |task: &&(String, u64)| task.1;
        let ends = self.ran.iter().min_by_key(by).zip(self.ran.iter().max_by_key(by));
        ends.expect("a group has a task")
    }
}

#[derive(Debug)]
struct Task {
    name: String,
    cpus: CpuMask,
    nice: i8,
    /// It computes all the time.
    spins: bool,
    waits_since: Option<u64>,
    ran: u64,
}

#[derive(Clone, Debug)]
struct Cpu {
    offline: bool,
    idle_since: Option<u64>,
    curr: Option<(u32, u64)>,
}

/// Listens to a run.
#[derive(Debug)]
pub(super) struct Watch {
    /// The names of tasks that compute all the time.
    spinners: BTreeSet<String>,
    tasks: BTreeMap<u32, Task>,
    cpus: Vec<Cpu>,
    waiting: BTreeSet<u32>,
    longest: Option<Overlap>,
    now: u64,
    /// CPUs that go offline (`false`) and come online, and when, ns; the latest first.
    hotplugs: Vec<(u64, u32, bool)>,
}

/// Whether a program computes all the time.
fn computes(ops: &[Op]) -> bool {
    ops.iter().all(|op| match op {
        Op::Run(_) | Op::Begin | Op::Done => true,
        Op::Repeat { times, .. } => times.is_none(),
        _ => false,
    }) && ops.iter().any(|op| matches!(op, Op::Repeat { .. }))
}

impl Watch {
    /// One of a workload on so many CPUs.
    pub fn new(workload: &Workload, nr_cpus: u32) -> Self {
        let spins = |task: &&wakelab_workload::Task| {
            task.start_ns == 0 && !task.idle_policy && computes(&workload.programs[task.program as usize].ops)
        };
        let hotplugs = workload.changes.iter().rev().flat_map(|change| match &change.what {
            Changed::Offline { cpus } => cpus.iter().map(|&cpu| (change.at_ns, cpu, false)).collect(),
            Changed::Online { cpus } => cpus.iter().map(|&cpu| (change.at_ns, cpu, true)).collect(),
            _ => Vec::new(),
        });
        let hotplugs = hotplugs.collect();
        Watch {
            spinners: workload.tasks.iter().filter(spins).map(|task| task.name.clone()).collect(),
            tasks: BTreeMap::new(),
            cpus: vec![Cpu { offline: false, idle_since: Some(0), curr: None }; nr_cpus as usize],
            waiting: BTreeSet::new(),
            longest: None,
            now: 0,
            hotplugs,
        }
    }

    /// CPUs that are offline are not idle.
    fn hotplugs(&mut self, time: u64) {
        while let Some(&(at, cpu, online)) = self.hotplugs.last().filter(|&&(at, ..)| at <= time) {
            self.hotplugs.pop();
            self.leaves_idle(cpu, at);
            let of = &mut self.cpus[cpu as usize];
            of.offline = !online;
            of.idle_since = online.then_some(at);
        }
    }

    fn overlaps(&mut self, task: u32, cpu: u32, time: u64) {
        let Some(task) = self.tasks.get(&task) else { return };
        let both = task.waits_since.zip(self.cpus[cpu as usize].idle_since).filter(|_| task.cpus.test(cpu));
        let Some((waits, idle)) = both else { return };
        let from = waits.max(idle);
        let ns = time - from;
        if self.longest.as_ref().is_none_or(|longest| ns > longest.ns) {
            self.longest = Some(Overlap { task: task.name.clone(), cpu, from, ns });
        }
    }

    fn begins_to_wait(&mut self, task: u32, time: u64) {
        if let Some(known) = self.tasks.get_mut(&task) {
            known.waits_since.get_or_insert(time);
            self.waiting.insert(task);
        }
    }

    fn ends_waiting(&mut self, task: u32, time: u64) {
        if self.waiting.remove(&task) {
            let idle: Vec<u32> =
                (0..self.cpus.len() as u32).filter(|&cpu| self.cpus[cpu as usize].idle_since.is_some()).collect();
            idle.into_iter().for_each(|cpu| self.overlaps(task, cpu, time));
            self.tasks.get_mut(&task).expect("it waits").waits_since = None;
        }
    }

    /// A CPU has run its task up to now.
    fn stops(&mut self, cpu: u32, time: u64) {
        if let Some((ran, since)) = self.cpus[cpu as usize].curr.take()
            && let Some(ran) = self.tasks.get_mut(&ran)
        {
            ran.ran += time - since;
        }
    }

    fn leaves_idle(&mut self, cpu: u32, time: u64) {
        if self.cpus[cpu as usize].idle_since.is_some() {
            let waiting: Vec<u32> = self.waiting.iter().copied().collect();
            waiting.into_iter().for_each(|task| self.overlaps(task, cpu, time));
            self.cpus[cpu as usize].idle_since = None;
        }
    }

    /// The longest time in which a task waited while a CPU that it may use was idle, of a run that ended at `end`, ns.
    pub fn longest_overlap(&mut self, end: u64) -> Option<Overlap> {
        let end = end.max(self.now);
        self.hotplugs(end);
        for cpu in 0..self.cpus.len() as u32 {
            let waiting: Vec<u32> = self.waiting.iter().copied().collect();
            waiting.into_iter().for_each(|task| self.overlaps(task, cpu, end));
        }
        self.longest.clone()
    }

    /// Tasks that compute all the time, by what they may expect to have in common.
    pub fn peers(&self, end: u64) -> Vec<Peers> {
        let mut peers: Vec<Peers> = Vec::new();
        for (number, task) in self.tasks.iter().filter(|(_, task)| task.spins) {
            let runs = self.cpus.iter().find_map(|cpu| cpu.curr.filter(|(curr, _)| curr == number));
            let ran = task.ran + runs.map_or(0, |(_, since)| end.saturating_sub(since));
            let cpus = task.cpus.to_string();
            let ran = (task.name.clone(), ran);
            match peers.iter_mut().find(|of| of.cpus == cpus && of.nice == task.nice) {
                Some(of) => of.ran.push(ran),
                None => peers.push(Peers { cpus, nr_cpus: task.cpus.weight(), nice: task.nice, ran: vec![ran] }),
            }
        }
        peers
    }
}

impl Sink for Watch {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        let spins = task.workload && task.parent.is_none() && self.spinners.contains(task.name);
        let (name, cpus, nice) = (task.name.to_owned(), task.affinity.clone(), task.nice);
        self.tasks.insert(task.task, Task { name, cpus, nice, spins, waits_since: None, ran: 0 });
    }

    fn event(&mut self, time: u64, event: &Event) {
        self.hotplugs(time);
        self.now = time;
        match *event {
            Event::Enqueue { task, .. } => self.begins_to_wait(task, time),
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                self.stops(cpu, time);
                if let Some(prev) = prev.filter(|_| !prev_sleeps) {
                    self.begins_to_wait(prev, time);
                }
                match next {
                    Some(next) => {
                        self.ends_waiting(next, time);
                        self.leaves_idle(cpu, time);
                        self.cpus[cpu as usize].curr = Some((next, time));
                    }
                    None if self.cpus[cpu as usize].offline => {}
                    None => _ = self.cpus[cpu as usize].idle_since.get_or_insert(time),
                }
            }
            // A task that is moved while it runs has lost its CPU with that.
            Event::Migrate { task, from, .. }
                if self.cpus[from as usize].curr.is_some_and(|(curr, _)| curr == task) =>
            {
                self.stops(from, time);
                self.begins_to_wait(task, time);
            }
            Event::Exit { task } => {
                self.ends_waiting(task, time);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_workload::Work;
    use wakelab_workload::synthetic::run_sleep;

    #[test]
    fn the_longest_time_in_which_a_task_waits_beside_an_idle_cpu() {
        let workload = run_sleep(1, Work::uniform(1, 0), Work::uniform(1, 0));
        let mut watch = Watch::new(&workload, 2);
        let affinities = [CpuMask::full(2), CpuMask::from_cpus(2, [0])];
        for (number, affinity) in (0..).zip(&affinities) {
            let name = &format!("t{number}");
            let (parent, workload, nice, idle_policy, group) = (None, true, 0, false, 0);
            watch.task(0, &NewTask { task: number, name, parent, workload, nice, idle_policy, affinity, group });
        }
        let switch = |prev, next| Event::Switch { cpu: 0, prev, prev_sleeps: false, next };
        watch.event(10, &Event::Enqueue { cpu: 0, task: 1 });
        watch.event(15, &switch(None, Some(1)));
        // CPU 1 is idle all the time, and task 1 may not use it.
        watch.event(20, &switch(Some(1), Some(1)));
        assert_eq!(watch.longest_overlap(20), Some(Overlap { task: "t1".to_owned(), cpu: 0, from: 10, ns: 5 }));
        watch.event(30, &Event::Enqueue { cpu: 0, task: 0 });
        let overlap = watch.longest_overlap(100).unwrap();
        assert_eq!((overlap.task.as_str(), overlap.cpu, overlap.from, overlap.ns), ("t0", 1, 30, 70));
    }
}
