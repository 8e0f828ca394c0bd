//! Looks for stalls, faults, errors and unfairness of a scheduler of sched_ext: workloads that are drawn at random, and
//! of each kind of what is found the smallest that shows it.
//!
//! ```text
//! seed, number ─▶ load: a workload as TOML ─▶ run under a watchdog with a short timeout ─▶ findings
//!                    ▲                          │ watch: waits beside idle CPUs, CPU time
//!                    └── simpler ones ◀─────────┘ order: operations in order
//! ```
//!
//! The first workloads are always the same: a hog that is alone, one that is bound to a CPU, a CPU that stays idle. All
//! others are drawn. A workload is drawn from the seed and its number, and what is simulated is what was read from its
//! text. So it does not depend on how many run at a time, and the file that is written is the run that failed.
//!
//! The watchdog's timeout is far shorter than the 30 s of a kernel, or than what the scheduler asks for. A wait that is
//! found so is a stall if it lasts in a longer run with a longer timeout, too, or else only a long wait, which is
//! counted. Unfairness is looked at in a longer run likewise.
//!
//! CPUs go offline and come back in some workloads of a scheduler that has operations for it. One that has none is
//! ended by the core then, which is no finding.

mod load;
mod order;
mod watch;

use crate::runs::fence::worker::serve;
use crate::runs::fence::{Asked, Fence, caught};
use crate::runs::jobs::run_jobs;
use load::{FIXED, Load};
use order::Watched;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_events::Digest;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scx_core::ops::{ExitKind, Op, Scheduler};
use wakelab_sim::{Mechanisms, Setup, SimError, run_dyn, run_seed};
use wakelab_workload::{Workload, from_toml};
use watch::{Peers, Watch};

/// How long a workload runs, ns.
pub const TIME_NS: u64 = 500_000_000;
/// The watchdog's timeout then, ms.
pub const TIMEOUT_MS: u32 = 200;
/// How long it runs if something has to be looked at more closely, ns.
pub const LONG_NS: u64 = 4_000_000_000;
/// The watchdog's timeout then, ms.
pub const LONG_TIMEOUT_MS: u32 = 2_000;
/// A task may wait for so long while a CPU that it may use is idle, ns.
pub const IDLE_NS: u64 = 10_000_000;
/// Tasks that compute all the time, with the same CPUs and the same weight, may differ by so much of their mean, %.
pub const UNFAIR_PCT: u64 = 30;
/// And by so much besides: what two slices of 20 ms are that end at ticks, ns.
pub const UNFAIR_NS: u64 = 50_000_000;
/// So many runs at most look for a smaller workload of one kind.
const SHRINK_RUNS: u32 = 400;

/// A kind of what can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// A program did what it may not, or its run took the process with it that made it.
    Fault,
    /// The core ended the scheduler, or it reported an error or its end itself.
    Error,
    /// A task does not run.
    Stall,
    /// The core called an operation out of order.
    Order,
    /// A task waits while a CPU that it may use is idle.
    Idle,
    /// Tasks that are alike have unequal CPU time.
    Unfair,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] = [Kind::Fault, Kind::Error, Kind::Stall, Kind::Order, Kind::Idle, Kind::Unfair];

    /// The word for it, and the name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fault => "fault",
            Kind::Error => "error",
            Kind::Stall => "stall",
            Kind::Order => "order",
            Kind::Idle => "idle",
            Kind::Unfair => "unfair",
        }
    }
}

/// A check of a scheduler: its subject and settings.
pub struct Check<'a> {
    /// The scheduler.
    pub scheduler: &'a dyn Scheduler,
    /// The machines, of which each workload has one; at least one.
    pub machines: &'a [Machine],
    /// The kernel.
    pub kernel: &'static Preset,
    /// The seed of all that is drawn.
    pub seed: u64,
    /// Runs at a time; 0 for as many as there are cores.
    pub jobs: usize,
    /// Ends it early.
    pub stop: &'a AtomicBool,
    /// Where runs are made.
    pub fence: &'a Fence,
    /// Is told of each workload that is done: how many are.
    pub done: &'a (dyn Fn(usize) + Sync),
}

/// Something that was found in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// A description of the finding, over several lines.
    pub what: String,
    /// What stays of it in another workload.
    key: String,
}

/// The findings of one run, or of the runs of one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// The findings, at most one of each kind.
    pub findings: Vec<Finding>,
    /// A task waited for longer than [`TIMEOUT_MS`], and ran later.
    pub long_wait: bool,
    /// Of pairs of groups with different weights that share their CPUs: the logarithms of their ratio by weight, and of
    /// that of their CPU time.
    pub weights: Vec<(f64, f64)>,
}

/// The smallest workload that was found to fail in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The finding that it shows.
    pub finding: Finding,
    /// The numbers of the workloads that fail so.
    pub numbers: Vec<u32>,
    /// The name of the machine that it runs on.
    pub machine: String,
    /// How many tasks it has at first.
    pub tasks: u32,
    /// How many were tried to get there.
    pub tried: u32,
    /// It, as a file.
    pub toml: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// How many workloads were run.
    pub workloads: u32,
    /// Of each kind of finding the smallest workload, in the order of [`Kind::ALL`].
    pub smallest: Vec<Smallest>,
    /// How many workloads had a task that waited for longer than [`TIMEOUT_MS`] and ran later.
    pub long_waits: u32,
    /// The median power of the weight by which CPU time goes, and of how many pairs of groups: 1 by weight, 0 equal.
    pub by_weight: Option<(f64, usize)>,
    /// Whether all workloads were run, and all findings made small.
    pub complete: bool,
}

/// What is run.
#[derive(Clone, Copy)]
struct Subject<'a> {
    /// The number of its machine.
    machine: usize,
    workload: &'a Workload,
    /// The text that the workload was read from: a worker cannot read again what came through a pipe.
    toml: &'a str,
}

/// A run that a worker of the fence is asked for, as in [`Check::once_here`].
#[derive(Debug, Serialize, Deserialize)]
struct Question {
    machine: usize,
    toml: String,
    until: u64,
    timeout_ms: u32,
}

/// What was found in a run, and who of the tasks that are alike ran how long; `None` if it was stopped.
type Found = Option<(Seen, Vec<Peers>)>;

/// A message without what differs between workloads: numbers, and the names of tasks, as in `spins 0[12]`.
fn key_of(message: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in message.lines().next().unwrap_or_default().split(' ') {
        if word.ends_with(']') {
            words.pop();
        }
        words.push(if word.chars().any(|c| c.is_ascii_digit()) { "#" } else { word });
    }
    words.join(" ")
}

impl Check<'_> {
    /// Draws `budget` workloads, runs each, and makes small what fails.
    ///
    /// # Errors
    /// Fails if a workload cannot be simulated on one of the machines, or if the scheduler cannot be loaded there.
    pub fn check(&self, budget: u32) -> Result<Checked, SimError> {
        let (nr_cpus, hotplug) = (self.nr_cpus(), self.hotplug()?);
        let seen = run_jobs(budget as usize, self.jobs, self.stop, |number, finished| {
            let load = Load::draw(self.seed, number as u32, &nr_cpus, hotplug);
            let seen = self.look_at(&load, None)?;
            (self.done)(finished.next());
            Ok(seen)
        })?;
        let mut checked = Checked { complete: true, ..Checked::default() };
        let mut by_kind: BTreeMap<(Kind, String), (Finding, Vec<u32>)> = BTreeMap::new();
        let mut powers = Vec::new();
        for (number, seen) in (0..).zip(&seen) {
            let Some(seen) = seen else {
                checked.complete = false;
                continue;
            };
            checked.workloads += 1;
            checked.long_waits += u32::from(seen.long_wait);
            powers.extend(seen.weights.iter().map(|(weight, time)| time / weight));
            for finding in &seen.findings {
                let id = (finding.kind, finding.key.clone());
                by_kind.entry(id).or_insert_with(|| (finding.clone(), Vec::new())).1.push(number);
            }
        }
        powers.sort_by(f64::total_cmp);
        checked.by_weight = powers.get(powers.len() / 2).map(|&median| (median, powers.len()));
        let failed: Vec<(Finding, Vec<u32>)> = by_kind.into_values().collect();
        let smallest = run_jobs(failed.len(), self.jobs, self.stop, |at, _| {
            let (finding, numbers) = &failed[at];
            self.smallest(finding, numbers, hotplug).map(Some)
        })?;
        for smallest in smallest {
            match smallest {
                Some((smallest, whole)) => {
                    checked.complete &= whole;
                    checked.smallest.push(smallest);
                }
                None => checked.complete = false,
            }
        }
        Ok(checked)
    }

    /// Checks one workload on the first machine. `toml` is the text that it was read from, at one instance.
    ///
    /// # Errors
    /// As [`Check::check`].
    pub fn check_workload(&self, workload: &Workload, toml: &str) -> Result<Option<Seen>, SimError> {
        self.runs(Subject { machine: 0, workload, toml }, None)
    }

    /// In a worker of the fence: makes the runs that it is asked for, and does not return. To be called before a
    /// workload is read.
    pub fn serve(&self) {
        serve(|Question { machine, toml, until, timeout_ms }| -> Result<Found, String> {
            let workload = &read_toml(&toml).map_err(|error| error.to_string())?;
            self.once_here(Subject { machine, workload, toml: &toml }, until, timeout_ms).map_err(|e| e.to_string())
        });
    }

    /// A digest of every event of each of the first `count` workloads, and how many events these were: equal where
    /// nothing depends on how many run at a time, on the build, or on chance.
    ///
    /// # Errors
    /// As [`Check::check`].
    pub fn digests(&self, count: u32) -> Result<Vec<(u64, u64)>, SimError> {
        let (nr_cpus, hotplug) = (self.nr_cpus(), self.hotplug()?);
        let digests = run_jobs(count as usize, self.jobs, self.stop, |number, _| {
            let load = Load::draw(self.seed, number as u32, &nr_cpus, hotplug);
            let workload = read(&load)?;
            let scheduler = Watched::new(self.scheduler, TIMEOUT_MS);
            let mut digest = Digest::default();
            let setup = self.setup(&self.machines[load.machine], &workload, &scheduler, TIME_NS / 10);
            run_dyn(&setup, &mut digest, self.stop)?;
            Ok(Some(digest.finish()))
        })?;
        Ok(digests.into_iter().flatten().collect())
    }

    /// Whether the scheduler goes on if CPUs come and go.
    fn hotplug(&self) -> Result<bool, SimError> {
        let (declared, _) = wakelab_sim::check_scheduler(&self.machines[0], self.kernel, self.scheduler)?;
        Ok(declared.ops.has(Op::CpuOnline) && declared.ops.has(Op::CpuOffline))
    }

    fn nr_cpus(&self) -> Vec<u32> {
        self.machines.iter().map(|machine| machine.topology.nr_cpus()).collect()
    }

    /// Looks for a smaller workload that fails as the first of these numbers does. Returns it with whether the search
    /// came to its end.
    fn smallest(&self, finding: &Finding, numbers: &[u32], hotplug: bool) -> Result<(Smallest, bool), SimError> {
        let nr_cpus = self.nr_cpus();
        let mut load = Load::draw(self.seed, numbers[0], &nr_cpus, hotplug);
        let (mut finding, mut tried, mut whole) = (finding.clone(), 0, true);
        'smaller: loop {
            for simpler in load.simpler(&nr_cpus) {
                if tried == SHRINK_RUNS {
                    break 'smaller;
                }
                if self.stop.load(Ordering::Relaxed) {
                    whole = false;
                    break 'smaller;
                }
                tried += 1;
                // A scheduler that cannot be loaded on another machine fails in another way.
                let Ok(Some(seen)) = self.look_at(&simpler, Some(finding.kind)) else { continue };
                let same = |other: &&Finding| other.kind == finding.kind && other.key == finding.key;
                if let Some(found) = seen.findings.iter().find(same) {
                    (load, finding) = (simpler, found.clone());
                    continue 'smaller;
                }
            }
            break;
        }
        let machine = self.machines[load.machine].name.clone();
        let about = [
            format!("The smallest workload that was found: {} under {}", finding.kind.name(), self.scheduler.name()),
            match numbers[0] {
                fixed @ 0..FIXED => {
                    format!("on {machine}, {}. Made from number {fixed}, which is always the same.", self.kernel.name)
                }
                number => {
                    format!("on {machine}, {}. Drawn with seed {}, as number {number}.", self.kernel.name, self.seed)
                }
            },
        ];
        let toml = load.to_toml(&about);
        let tasks = load.tasks();
        Ok((Smallest { finding, numbers: numbers.to_vec(), machine, tasks, tried, toml }, whole))
    }

    /// Runs what was drawn; `None` if it was stopped.
    fn look_at(&self, load: &Load, only: Option<Kind>) -> Result<Option<Seen>, SimError> {
        let toml = load.to_toml(&[]);
        self.runs(Subject { machine: load.machine, workload: &read_toml(&toml)?, toml: &toml }, only)
    }

    /// Runs a workload, and again for longer if something has to be looked at more closely; with `only`, for what is of
    /// that kind.
    fn runs(&self, subject: Subject<'_>, only: Option<Kind>) -> Result<Option<Seen>, SimError> {
        if matches!(only, Some(Kind::Stall | Kind::Unfair)) {
            return self.longer(subject);
        }
        let Some((mut seen, peers)) = self.once(subject, TIME_NS, TIMEOUT_MS)? else { return Ok(None) };
        let stalls = seen.findings.iter().any(|finding| finding.kind == Kind::Stall);
        if !stalls && unfair(&peers).is_none() {
            seen.weights = weights(&peers);
            return Ok(Some(seen));
        }
        seen.findings.retain(|finding| finding.kind != Kind::Stall);
        let Some(longer) = self.longer(subject)? else { return Ok(None) };
        for finding in longer.findings {
            if seen.findings.iter().all(|known| known.kind != finding.kind) {
                seen.findings.push(finding);
            }
        }
        seen.long_wait = stalls && seen.findings.iter().all(|finding| finding.kind != Kind::Stall);
        seen.weights = longer.weights;
        Ok(Some(seen))
    }

    fn longer(&self, subject: Subject<'_>) -> Result<Option<Seen>, SimError> {
        let Some((mut seen, peers)) = self.once(subject, LONG_NS, LONG_TIMEOUT_MS)? else { return Ok(None) };
        seen.findings.extend(unfair(&peers));
        seen.weights = weights(&peers);
        Ok(Some(seen))
    }

    fn setup<'s>(
        &self,
        machine: &'s Machine,
        workload: &'s Workload,
        scheduler: &'s Watched<'_>,
        until: u64,
    ) -> Setup<'s> {
        Setup {
            machine,
            kernel: self.kernel,
            features: self.kernel.features,
            workload,
            seed: run_seed(self.seed, &workload.load, 0),
            until,
            mechanisms: Mechanisms::default(),
            observer_cost: 0,
            pm: None,
            scheduler: Some(scheduler),
        }
    }

    /// One run, behind the fence.
    fn once(&self, subject: Subject<'_>, until: u64, timeout_ms: u32) -> Result<Found, SimError> {
        let question = Question { machine: subject.machine, toml: subject.toml.to_owned(), until, timeout_ms };
        match self.fence.ask(&question, self.stop) {
            Asked::Answer(answer) => {
                let answer: Result<Found, String> = answer;
                answer.map_err(SimError::Workload)
            }
            Asked::Died(how) => {
                let what = format!("the process that ran it has ended ({how})");
                Ok(fault(what))
            }
            Asked::Stopped => Ok(None),
            Asked::Nobody => self.once_here(subject, until, timeout_ms),
        }
    }

    /// One run in this process. One that panics is a fault.
    fn once_here(&self, subject: Subject<'_>, until: u64, timeout_ms: u32) -> Result<Found, SimError> {
        let machine = &self.machines[subject.machine];
        caught(|| self.once_uncaught(machine, subject.workload, until, timeout_ms)).unwrap_or_else(|panic| {
            let what = format!("the run panicked, which is a bug in wakelab ({panic})");
            Ok(fault(what))
        })
    }

    fn once_uncaught(
        &self,
        machine: &Machine,
        workload: &Workload,
        until: u64,
        timeout_ms: u32,
    ) -> Result<Found, SimError> {
        let scheduler = Watched::new(self.scheduler, timeout_ms);
        let setup = self.setup(machine, workload, &scheduler, until);
        let mut watch = Watch::new(workload, machine.topology.nr_cpus());
        let mut seen = Seen::default();
        let mut peers = Vec::new();
        match run_dyn(&setup, &mut watch, self.stop) {
            Ok(outcome) if outcome.stopped => return Ok(None),
            Ok(outcome) => {
                if let Some(overlap) = watch.longest_overlap(outcome.ended).filter(|overlap| overlap.ns > IDLE_NS) {
                    let what = format!(
                        "{} waits from {:.3} ms on for {:.3} ms while CPU {} is idle, which it may use",
                        overlap.task,
                        overlap.from as f64 / 1e6,
                        overlap.ns as f64 / 1e6,
                        overlap.cpu
                    );
                    seen.findings.push(Finding { kind: Kind::Idle, what, key: String::new() });
                }
                peers = watch.peers(outcome.ended);
            }
            Err(SimError::SchedulerEnded { exit, .. }) => {
                let kind = match exit.kind {
                    ExitKind::Stall => Kind::Stall,
                    ExitKind::Fault => Kind::Fault,
                    ExitKind::Error | ExitKind::ErrorBpf | ExitKind::UnregBpf | ExitKind::UnregKern => Kind::Error,
                };
                let key = if kind == Kind::Stall { String::new() } else { key_of(&exit.message) };
                seen.findings.push(Finding { kind, what: exit.to_string(), key });
            }
            Err(error) => return Err(error),
        }
        if let Some(what) = scheduler.wrong() {
            seen.findings.push(Finding { kind: Kind::Order, key: key_of(&what), what });
        }
        Ok(Some((seen, peers)))
    }
}

/// What was drawn, as it is read from its text.
fn read(load: &Load) -> Result<Workload, SimError> {
    read_toml(&load.to_toml(&[]))
}

fn read_toml(toml: &str) -> Result<Workload, SimError> {
    from_toml(toml, Path::new("drawn.toml"), 1).map_err(|error| SimError::Workload(error.to_string()))
}

/// A run of which nothing is seen but a fault.
fn fault(what: String) -> Found {
    let fault = Finding { kind: Kind::Fault, key: key_of(&what), what };
    Some((Seen { findings: vec![fault], ..Seen::default() }, Vec::new()))
}

/// Tasks that are alike, of which one ran much longer than another.
fn unfair(peers: &[Peers]) -> Option<Finding> {
    let much = |of: &&Peers| {
        let (least, most) = of.ends();
        most.1 - least.1 > of.mean() * UNFAIR_PCT / 100 + UNFAIR_NS
    };
    let of = peers.iter().find(much)?;
    let (least, most) = of.ends();
    let ms = |ns: u64| ns as f64 / 1e6;
    let what = format!(
        "{} of nice {} compute all the time on CPUs {}: {} runs for {:.1} ms, and {} for {:.1} ms; {:.1} ms on average",
        of.ran.len(),
        of.nice,
        of.cpus,
        least.0,
        ms(least.1),
        most.0,
        ms(most.1),
        ms(of.mean())
    );
    Some(Finding { kind: Kind::Unfair, what, key: String::new() })
}

/// By how much two groups of tasks that share busy CPUs differ: the logarithms of the ratio of their weights, and of
/// that of their CPU time.
fn weights(peers: &[Peers]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    for (at, a) in peers.iter().enumerate() {
        for b in &peers[at + 1..] {
            let busy = a.ran.len() + b.ran.len() >= 2 * a.nr_cpus as usize;
            if a.cpus == b.cpus && a.nice != b.nice && busy && a.mean() > 0 && b.mean() > 0 {
                let ratio = |a: u64, b: u64| (a as f64 / b as f64).ln();
                found.push((ratio(a.weight(), b.weight()), ratio(a.mean(), b.mean())));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_same_for_another_task() {
        assert_eq!(key_of("spins 0[12] already direct-dispatched\nmore"), "# already direct-dispatched");
        assert_eq!(key_of("invalid CPU 8 from ops.select_cpu()"), "invalid CPU # from ops.select_cpu()");
    }

    fn peers(nice: i8, ran: &[u64]) -> Peers {
        let ran = (0..).zip(ran).map(|(n, ns): (u32, _)| (format!("t{n}"), *ns)).collect();
        Peers { cpus: "0".to_owned(), nr_cpus: 1, nice, ran }
    }

    #[test]
    fn unfair_is_more_than_a_share_and_two_slices() {
        let ms = 1_000_000;
        assert_eq!(unfair(&[peers(0, &[1_000 * ms, 1_300 * ms])]), None);
        let found = unfair(&[peers(0, &[100 * ms, 1_900 * ms])]).unwrap();
        assert!(found.what.contains("t0 runs for 100.0 ms, and t1 for 1900.0 ms; 1000.0 ms on average"), "{found:?}");
    }

    #[test]
    fn the_power_of_the_weight_is_1_by_weight_and_0_where_all_are_equal() {
        let power = |a: &[u64], b: &[u64]| {
            let [(weight, time)] = weights(&[peers(0, a), peers(5, b)])[..] else { panic!("a pair") };
            time / weight
        };
        assert!((power(&[1_024_000], &[335_000]) - 1.0).abs() < 0.01);
        assert!(power(&[500], &[500]).abs() < 0.01);
        assert_eq!(weights(&[peers(0, &[5]), peers(0, &[5])]), []);
    }
}
