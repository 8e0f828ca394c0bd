//! Threads that work by periods: how long before its next period a thread is done, as rt-app logs it.

use crate::latency::{Latency, Waits};
use serde::{Deserialize, Serialize};

/// The periods of a thread within the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadPeriods {
    /// Its number among the tasks of the workload; tasks that were forked follow those that began with it.
    pub thread: u32,
    /// The periods whose work was done.
    pub periods: u64,
    /// Those of them whose work was done after the next period had begun.
    pub missed: u64,
    /// The mean time between the end of the work and the begin of the next period, ns (`slack` of rt-app's log); of a
    /// missed period it is negative.
    pub slack_mean_ns: f64,
    /// The least of them, ns.
    pub slack_min_ns: i64,
    /// From the start of the thread's wake-ups to the switch to it, ns (`wu_lat` of rt-app's log).
    pub wakeup_latency: Latency,
}

/// The periods of all threads, by task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Periods {
    /// Empty until a thread waits for a periodic timer.
    threads: Vec<Option<Box<Thread>>>,
}

#[derive(Clone, Debug)]
struct Thread {
    thread: u32,
    periods: u64,
    missed: u64,
    slack_sum_ns: i128,
    slack_min_ns: i64,
    waits: Waits,
}

impl Periods {
    /// Takes the end of a period's work.
    pub(crate) fn done(&mut self, task: u32, thread: u32, slack_ns: i64) {
        let task = task as usize;
        if task >= self.threads.len() {
            self.threads.resize(task + 1, None);
        }
        let new = || {
            Box::new(Thread {
                thread,
                periods: 0,
                missed: 0,
                slack_sum_ns: 0,
                slack_min_ns: i64::MAX,
                waits: Waits::new(2),
            })
        };
        let thread = self.threads[task].get_or_insert_with(new);
        thread.periods += 1;
        thread.missed += u64::from(slack_ns < 0);
        thread.slack_sum_ns += i128::from(slack_ns);
        thread.slack_min_ns = thread.slack_min_ns.min(slack_ns);
    }

    /// Takes the latency of a wake-up, if the task is a thread with periods.
    #[inline]
    pub(crate) fn woke(&mut self, task: u32, ns: u64) {
        if let Some(Some(thread)) = self.threads.get_mut(task as usize) {
            thread.waits.record(ns);
        }
    }

    /// The threads with periods, in the order of their numbers.
    pub(crate) fn finish(self) -> Vec<ThreadPeriods> {
        let of_thread = |thread: Box<Thread>| ThreadPeriods {
            thread: thread.thread,
            periods: thread.periods,
            missed: thread.missed,
            slack_mean_ns: thread.slack_sum_ns as f64 / thread.periods as f64,
            slack_min_ns: thread.slack_min_ns,
            wakeup_latency: thread.waits.latency(),
        };
        self.threads.into_iter().flatten().map(of_thread).collect()
    }
}
