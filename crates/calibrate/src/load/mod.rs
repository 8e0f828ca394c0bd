//! Loads: threads of one process that wake each other in well-known ways and count what they do. The scheduler places
//! them, unless they are told their CPUs.
//!
//! The simulated twin of each, of the same shape, is in `wakelab-study` (`verify/shapes.rs`).

mod forks;
mod groups;
mod messages;
mod tally;
mod tcp;
mod timers;
pub(crate) mod work;

use crate::cpus::pin;
use crate::sys::Usage;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tally::Tally;
use wakelab_sched::cpumask::Cpu;

pub use forks::CHILD_NS;
pub use groups::{FDS, SIZE};
pub use messages::{REQUEST_NS, WORKERS};
pub use timers::{SLEEP_NS, TIMER_NS};

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Pairs that send a byte to and fro over TCP on the loopback device, as netperf's TCP_RR.
    Tcp,
    /// Groups of [`FDS`] senders and as many receivers, each sender writing to every receiver through a pipe, as
    /// hackbench.
    Pipes,
    /// The same through Unix sockets.
    Sockets,
    /// Message threads with [`WORKERS`] workers each, woken through futexes, as schbench.
    Messages,
    /// Tasks that sleep for [`SLEEP_NS`] and compute for [`TIMER_NS`].
    Timers,
    /// Chains of processes: each forks one that computes for [`CHILD_NS`], and waits for it.
    Forks,
}

impl Kind {
    /// All kinds, in the order of tables.
    pub const ALL: [Kind; 6] = [Kind::Tcp, Kind::Pipes, Kind::Sockets, Kind::Messages, Kind::Timers, Kind::Forks];

    /// Its name, as flags and machine files have it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Tcp => "tcp",
            Kind::Pipes => "pipes",
            Kind::Sockets => "sockets",
            Kind::Messages => "messages",
            Kind::Timers => "timers",
            Kind::Forks => "forks",
        }
    }

    /// The unit of its throughput, per second.
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Tcp => "trans/s",
            Kind::Pipes | Kind::Sockets => "messages/s",
            Kind::Messages => "requests/s",
            Kind::Timers => "wakeups/s",
            Kind::Forks => "forks/s",
        }
    }

    /// The name of one instance.
    pub fn instance(self) -> &'static str {
        match self {
            Kind::Tcp => "pair",
            Kind::Pipes | Kind::Sockets => "group",
            Kind::Messages => "message thread",
            Kind::Timers => "task",
            Kind::Forks => "chain",
        }
    }

    /// The meaning of its latency.
    pub fn latency(self) -> &'static str {
        match self {
            Kind::Tcp => "a request and its response",
            Kind::Pipes | Kind::Sockets => "a receiver's read",
            Kind::Messages => "from the time that the message thread takes to the worker running",
            Kind::Timers => "from the timer's expiry to the task running",
            Kind::Forks => "a fork, its process, and the wait for it",
        }
    }
}

/// A load to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// Its kind.
    pub kind: Kind,
    /// How many instances, 1 or more.
    pub instances: u32,
    /// The CPUs that all of it may use, by their numbers in the kernel; empty for those that the process may use.
    pub cpus: Vec<Cpu>,
    /// The time before anything is counted, ns.
    pub settle_ns: u64,
    /// The time that counts, ns.
    pub time_ns: u64,
    /// How often each task that counts does its operation, after which it ends; in place of the times. A receiver of a
    /// group does so for each sender.
    pub count: Option<u64>,
}

/// The results of a load in the time that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Operations.
    pub done: u64,
    /// The time that counts as it was, s.
    pub seconds: f64,
    /// The latency of operations. `None` if none was done.
    pub latency: Option<Latency>,
    /// Switches away from tasks that slept or exited.
    pub voluntary: u64,
    /// Switches away from tasks that could go on.
    pub involuntary: u64,
    /// Migrations (`/proc/self/task/*/sched`), without those of forked processes. `None` if that cannot be read.
    pub migrations: Option<u64>,
    /// CPU time, s.
    pub cpu_s: f64,
}

impl Report {
    /// Operations a second.
    pub fn throughput(&self) -> f64 {
        self.done as f64 / self.seconds
    }
}

/// Percentiles of latencies, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// How many.
    pub n: u64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
}

/// A task of a load, before it runs.
type Task = Box<dyn FnOnce(&Tally) -> io::Result<()> + Send>;

/// The rounds of a task: so many, or for ever. A task that goes on for ever ends with the process.
fn rounds(count: Option<u64>) -> impl Iterator<Item = u64> {
    0..count.unwrap_or(u64::MAX)
}

/// Runs a load.
///
/// With [`Spec::count`] all threads have ended when it returns. Else they go on: the process must exit.
///
/// # Errors
/// Fails if the system refuses a thread, a socket or a CPU, or if a task fails: the error says which.
pub fn run(spec: &Spec) -> io::Result<Report> {
    if !spec.cpus.is_empty() {
        pin(&spec.cpus)?;
    }
    let tasks = tasks(spec)?;
    let tallies: Vec<Arc<Tally>> = tasks.iter().map(|_| Arc::default()).collect();
    let (ended, ends) = channel();
    let began = (Instant::now(), Usage::now()?, migrations());
    for (task, tally) in tasks.into_iter().zip(&tallies) {
        let (tally, ended) = (Arc::clone(tally), ended.clone());
        start(task, tally, ended)?;
    }
    drop(ended);
    match spec.count {
        Some(_) => {
            while let Ok(result) = ends.recv() {
                result?;
            }
            Ok(report(&tallies, began.0, began.1, began.2)?)
        }
        None => {
            wait(&ends, spec.settle_ns)?;
            tallies.iter().for_each(|tally| tally.clear());
            let began = (Instant::now(), Usage::now()?, migrations());
            wait(&ends, spec.time_ns)?;
            report(&tallies, began.0, began.1, began.2)
        }
    }
}

fn start(task: Task, tally: Arc<Tally>, ended: Sender<io::Result<()>>) -> io::Result<()> {
    let body = move || {
        let result = task(&tally);
        // Nobody listens any more if another task has failed.
        let _ = ended.send(result);
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(body).map(drop)
}

/// Lets the load run for a time. A task that ends in it has failed.
fn wait(ends: &Receiver<io::Result<()>>, ns: u64) -> io::Result<()> {
    match ends.recv_timeout(Duration::from_nanos(ns)) {
        Ok(result) => result.and(Err(io::Error::other("a task ended before the load did"))),
        Err(_) => Ok(()),
    }
}

fn report(tallies: &[Arc<Tally>], began: Instant, before: Usage, moved: Option<u64>) -> io::Result<Report> {
    let (seconds, after) = (began.elapsed().as_secs_f64(), Usage::now()?);
    let now_moved = migrations();
    let (done, latency) = Tally::sum(tallies);
    Ok(Report {
        done,
        seconds,
        latency,
        voluntary: after.voluntary - before.voluntary,
        involuntary: after.involuntary - before.involuntary,
        migrations: now_moved.zip(moved).map(|(now, before)| now.saturating_sub(before)),
        cpu_s: after.cpu_s - before.cpu_s,
    })
}

fn tasks(spec: &Spec) -> io::Result<Vec<Task>> {
    let mut all = Vec::new();
    for _ in 0..spec.instances {
        all.extend(match spec.kind {
            Kind::Tcp => tcp::pair(spec.count)?,
            Kind::Pipes => groups::through_pipes(spec.count)?,
            Kind::Sockets => groups::through_sockets(spec.count)?,
            Kind::Messages => messages::thread_with_workers(spec.count),
            Kind::Timers => timers::task(spec.count),
            Kind::Forks => forks::chain(spec.count),
        });
    }
    Ok(all)
}

/// How often the threads of this process were moved. `None` if the kernel does not say (CONFIG_SCHED_DEBUG).
fn migrations() -> Option<u64> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let of = |path: std::path::PathBuf| nr_migrations(&fs::read_to_string(path).ok()?);
    threads.map(|thread| of(thread.ok()?.path().join("sched"))).sum()
}

fn nr_migrations(sched: &str) -> Option<u64> {
    let line = sched.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(kind: Kind, instances: u32, count: u64) -> Report {
        let spec = Spec { kind, instances, cpus: vec![], settle_ns: 0, time_ns: 0, count: Some(count) };
        run(&spec).unwrap_or_else(|e| panic!("{kind:?}: {e}"))
    }

    #[test]
    fn each_load_does_its_count_of_operations_and_ends() {
        let fds = u64::from(FDS);
        // What tasks of an instance count, and how often.
        let of = |kind| match kind {
            Kind::Tcp | Kind::Timers | Kind::Forks => 1,
            Kind::Pipes | Kind::Sockets => fds * fds,
            Kind::Messages => u64::from(WORKERS),
        };
        for kind in Kind::ALL {
            for (instances, count) in [(1, 1), (2, 5)] {
                let report = counted(kind, instances, count);
                assert_eq!(report.done, u64::from(instances) * count * of(kind), "{kind:?}");
                let latency = report.latency.unwrap_or_else(|| panic!("{kind:?} has no latency"));
                assert_eq!(latency.n, report.done, "{kind:?}");
                assert!(latency.p50 <= latency.p99 && report.seconds > 0.0, "{kind:?}: {report:?}");
            }
        }
    }

    #[test]
    fn migrations_are_read_of_the_kernels_text() {
        let text = "cat (1, #threads: 1)\n---\nse.nr_migrations                             :                   17\n";
        assert_eq!(nr_migrations(text), Some(17));
        assert_eq!(nr_migrations("0 0 1\n"), None);
    }

    #[test]
    fn a_spec_is_read_back() {
        let spec =
            Spec { kind: Kind::Tcp, instances: 3, cpus: vec![0, 2], settle_ns: 5, time_ns: 7, count: Some(u64::MAX) };
        let text = serde_json::to_string(&spec).expect("JSON");
        assert_eq!(serde_json::from_str::<Spec>(&text).expect("a spec"), spec);
    }
}
