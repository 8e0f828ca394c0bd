//! The steps of a load's tasks under a scheduler, live and simulated, and the quantities that are compared.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A task: of the load's own tasks by their order in its file; those that they fork have numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// Its number: the pid, or the simulator's.
    pub id: u32,
    /// The task of the load that it is, or that it descends from.
    pub of: u32,
}

/// A kind of dispatch queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Of a CPU.
    Local,
    /// The core's global one.
    Global,
    /// The scheduler's.
    User,
}

/// The kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A task is woken.
    Waking(Who),
    /// A CPU switches.
    Switch {
        /// Who ran; `None` if it was none of the load.
        prev: Option<Who>,
        /// Whether it sleeps or exits.
        sleeps: bool,
        /// Who runs now; `None` if it is none of the load.
        next: Option<Who>,
    },
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    /// When, ns.
    pub at: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub what: What,
}

/// Counts of how often sched_ext's core queued tasks of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queued {
    /// Insertions into local queues, `dispatch_enqueue()` and `move_local_task_to_local_dsq()`.
    pub local: u64,
    /// Into the global queue.
    pub global: u64,
    /// Into the scheduler's queues.
    pub user: u64,
    /// Dispatches by `ops.select_cpu()` and `ops.enqueue()`.
    pub direct: u64,
    /// Moves to another CPU's run queue (`move_remote_task_to_local_dsq()`).
    pub remote: u64,
}

impl Queued {
    /// Counts an insertion.
    pub fn insert(&mut self, queue: Queue) {
        *match queue {
            Queue::Local => &mut self.local,
            Queue::Global => &mut self.global,
            Queue::User => &mut self.user,
        } += 1;
    }
}

/// The results of a load: numbers by their names, and the order in which tasks ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantities {
    /// By name. `scx-simulated table` has their units.
    pub numbers: BTreeMap<String, f64>,
    /// The most frequent order in which the woken tasks of a burst ran, and how many of all bursts had it; for the load
    /// `order`.
    pub order: Option<(String, u32, u32)>,
}

/// A task's state so far.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    ran: u64,
    running_since: Option<u64>,
    woken: Option<u64>,
    last_cpu: Option<u32>,
}

/// The bursts of the load `order`: this long nobody is woken between two.
const BURST_NS: u64 = 50_000_000;

/// Counts what happened in `time` ns from the first moment on. `bursts` says that the order is of interest.
pub fn quantities(
    doings: &[Doing],
    queued: &Queued,
    tasks: &[wakelab_workload::Task],
    time: u64,
    bursts: bool,
) -> Quantities {
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    let mut ran: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut stretches, mut waits) = (Vec::new(), Vec::new());
    let (mut migrations, mut wakeups, mut moved) = (0_u64, 0_u64, 0_u64);
    let mut orders: Vec<(u64, String)> = Vec::new();
    let begin = doings.first().map_or(0, |doing| doing.at);
    for doing in doings {
        match doing.what {
            What::Waking(who) => {
                let task = seen.entry(who.id).or_default();
                if task.running_since.is_none() {
                    task.woken = Some(doing.at);
                }
            }
            What::Switch { prev, sleeps, next } => {
                if let Some(who) = prev {
                    let task = seen.entry(who.id).or_default();
                    if let Some(since) = task.running_since.take() {
                        let stretch = doing.at - since;
                        task.ran += stretch;
                        *ran.entry(who.of).or_default() += stretch;
                        if !sleeps {
                            stretches.push(stretch);
                        }
                    }
                }
                if let Some(who) = next {
                    let task = seen.entry(who.id).or_default();
                    let moves = task.last_cpu.is_some_and(|cpu| cpu != doing.cpu);
                    migrations += u64::from(moves);
                    if let Some(woken) = task.woken.take() {
                        wakeups += 1;
                        moved += u64::from(moves);
                        waits.push(doing.at.saturating_sub(woken));
                        if let Some(number) = tasks[who.of as usize].name.strip_prefix("woken").filter(|_| bursts) {
                            // Tasks with a count are numbered: "woken4 0".
                            let number = number.split(' ').next().unwrap_or_default();
                            match orders.last_mut().filter(|(last, _)| woken < *last + BURST_NS) {
                                Some((last, order)) => {
                                    *last = woken.max(*last);
                                    order.push_str(number);
                                }
                                None => orders.push((woken, number.to_owned())),
                            }
                        }
                    }
                    (task.running_since, task.last_cpu) = (Some(doing.at), Some(doing.cpu));
                }
            }
        }
    }
    let end = begin + time;
    // Who runs at the end has run up to then.
    for (id, task) in &seen {
        if let (Some(since), Some(of)) = (task.running_since, of_task(doings, *id)) {
            *ran.entry(of).or_default() += end.saturating_sub(since);
        }
    }
    let mut numbers = BTreeMap::new();
    let all: u64 = ran.values().sum();
    let mut by_nice: BTreeMap<i8, Vec<f64>> = BTreeMap::new();
    for (at, task) in tasks.iter().enumerate() {
        let share = *ran.get(&(at as u32)).unwrap_or(&0) as f64 / all.max(1) as f64;
        by_nice.entry(task.nice).or_default().push(share);
    }
    if by_nice.len() > 1 {
        for (nice, shares) in &by_nice {
            numbers.insert(format!("share of nice {nice}"), 100.0 * shares.iter().sum::<f64>());
        }
        let spread = |shares: &Vec<f64>| {
            let most = shares.iter().copied().fold(0.0, f64::max);
            let least = shares.iter().copied().fold(1.0, f64::min);
            if least > 0.0 { most / least } else { 99.0 }
        };
        if by_nice.values().any(|shares| shares.len() > 1) {
            let widest = by_nice.values().map(spread).fold(1.0, f64::max);
            numbers.insert("most to least of equals".to_owned(), widest);
        }
    }
    let seconds = time as f64 / 1e9;
    numbers.insert("CPUs used".to_owned(), all as f64 / time.max(1) as f64);
    // In bursts the wait is the rest of a slice, which is the phase of the load.
    if !stretches.is_empty() && !bursts {
        numbers.insert("stretch until another runs, median".to_owned(), ms(percentile(&mut stretches, 50)));
        numbers.insert("switches from runnable tasks".to_owned(), stretches.len() as f64 / seconds);
    }
    if !waits.is_empty() && !bursts {
        for (name, pct) in [("wait, median", 50), ("wait, 90th percentile", 90), ("wait, longest", 100)] {
            numbers.insert(name.to_owned(), ms(percentile(&mut waits, pct)));
        }
        numbers.insert("wake-ups to another CPU".to_owned(), 100.0 * moved as f64 / wakeups as f64);
    }
    numbers.insert("migrations".to_owned(), migrations as f64 / seconds);
    let arrivals = queued.local.max(1) as f64;
    for (name, count) in [
        ("dispatched directly", queued.direct),
        ("through the scheduler's queues", queued.user),
        ("through the global queue", queued.global),
        ("moved between run queues", queued.remote),
    ] {
        numbers.insert(name.to_owned(), 100.0 * count as f64 / arrivals);
    }
    let mut counted: BTreeMap<&str, u32> = BTreeMap::new();
    // The last burst may be cut off.
    orders.pop();
    orders.iter().for_each(|(_, order)| *counted.entry(order).or_default() += 1);
    let most = counted.iter().max_by_key(|(_, count)| **count);
    let order = most.map(|(order, count)| ((*order).to_owned(), *count, orders.len() as u32));
    Quantities { numbers, order }
}

fn of_task(doings: &[Doing], id: u32) -> Option<u32> {
    doings.iter().rev().find_map(|doing| match doing.what {
        What::Switch { next: Some(who), .. } if who.id == id => Some(who.of),
        _ => None,
    })
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The smallest value that this many % are not above.
fn percentile(values: &mut [u64], pct: usize) -> u64 {
    values.sort_unstable();
    values[(values.len() * pct).div_ceil(100).max(1) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_workload::Task;

    const MS: u64 = 1_000_000;

    fn switch(at: u64, cpu: u32, prev: Option<u32>, sleeps: bool, next: Option<u32>) -> Doing {
        let who = |id: u32| Who { id: 100 + id, of: id };
        Doing { at: at * MS, cpu, what: What::Switch { prev: prev.map(who), sleeps, next: next.map(who) } }
    }

    fn waking(at: u64, id: u32) -> Doing {
        Doing { at: at * MS, cpu: 0, what: What::Waking(Who { id: 100 + id, of: id }) }
    }

    #[test]
    fn shares_waits_and_migrations_of_a_run_that_is_written_out() {
        let mut tasks = [0, 1].map(|id| Task::plain(format!("woken{id}"), 0, Vec::new(), 0));
        tasks[1].nice = 5;
        let doings = [
            switch(0, 1, None, false, Some(0)),
            waking(10, 1),
            // The first is preempted after 20 ms; the second has waited for 10 and runs for 10; the first goes on
            // elsewhere up to the end.
            switch(20, 1, Some(0), false, Some(1)),
            switch(25, 0, None, false, Some(0)),
            switch(30, 1, Some(1), true, None),
        ];
        let queued = Queued { local: 4, user: 1, direct: 3, global: 0, remote: 1 };
        let found = quantities(&doings, &queued, &tasks, 50 * MS, false).numbers;
        let of = |name: &str| found[name];
        // 45 ms of the first, 10 of the second.
        assert!((of("share of nice 0") - 100.0 * 45.0 / 55.0).abs() < 1e-9);
        assert!((of("CPUs used") - 1.1).abs() < 1e-9);
        assert_eq!(of("wait, median"), 10.0);
        assert_eq!(of("stretch until another runs, median"), 20.0);
        assert_eq!((of("migrations"), of("wake-ups to another CPU")), (20.0, 0.0));
        assert_eq!((of("dispatched directly"), of("through the scheduler's queues")), (75.0, 25.0));
    }

    #[test]
    fn bursts_are_told_apart_and_the_last_does_not_count() {
        let tasks = [1, 2].map(|id| Task::plain(format!("woken{id}"), 0, Vec::new(), 0));
        let mut doings = Vec::new();
        for begin in [0, 250, 500] {
            doings.extend([waking(begin, 1), waking(begin + 1, 0)]);
            doings.extend([switch(begin + 20, 1, None, false, Some(1)), switch(begin + 22, 1, Some(1), true, Some(0))]);
            doings.push(switch(begin + 24, 1, Some(0), true, None));
        }
        let found = quantities(&doings, &Queued::default(), &tasks, 700 * MS, true);
        assert_eq!(found.order, Some(("21".to_owned(), 2, 2)));
    }
}
