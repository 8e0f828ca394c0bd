//! How much CPU time runs will take: what `--dry-run` says.
//!
//! A run's time follows its steps: the system calls of its tasks that send, wait or sleep, and the ticks of its CPUs.
//! `formula()` estimates their number from the programs, the CPUs and the simulated time, and takes a constant for
//! each. It is within a factor of 3 or so of most loads, as nobody knows before how often tasks wait for each other, or
//! what a scheduler's programs do. So the cache notes the time of each run that it keeps ([`RunCost`]), and an estimate
//! takes the runs that are most like the one to be made: it scales the formula by how far that was off for those.

use std::collections::VecDeque;
use wakelab_sim::Setup;
use wakelab_workload::{Call, Op, Program, Workload};

/// The description of a run, and the CPU time that it took on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCost {
    /// The scheduler of sched_ext by its name; empty for the fair class.
    pub scheduler: String,
    /// The benchmark and case: `netperf:TCP_RR`.
    pub workload: String,
    /// The CPUs of the machine.
    pub cpus: u32,
    /// The tasks of the workload.
    pub tasks: u32,
    /// The estimate of `formula()`, s.
    pub formula_s: f64,
    /// The CPU time that it took, s.
    pub cpu_s: f64,
}

/// Estimates from the runs that are known.
#[derive(Clone, Debug, Default)]
pub struct Estimator {
    known: Vec<RunCost>,
}

/// The simulation of a step of a task under the fair class, s.
const FAIR_STEP_S: f64 = 0.55e-6;
/// The same where a scheduler of sched_ext runs: its programs are interpreted.
const SCX_STEP_S: f64 = 7e-6;
/// The simulation of a tick of a CPU with what balances there, s.
const TICK_S: f64 = 3e-6;
/// What the kernel itself takes for a step, ns of simulated time.
const KERNEL_NS: f64 = 1_500.0;
/// A run that is this far from a known one says little of it: a factor of 20 in CPUs or tasks.
const FAR: f64 = 3.0;
/// How far another workload is, as a distance.
const OTHER_WORKLOAD: f64 = 1.5;
/// So many of the nearest runs are taken.
const NEAREST: usize = 3;

impl Estimator {
    /// An estimator that knows these runs.
    pub fn new(known: Vec<RunCost>) -> Self {
        Estimator { known }
    }

    /// About how much CPU time a run takes, s. A run whose end is that of its tasks is taken for one of `usual_ns`.
    pub fn cpu_s(&self, setup: &Setup<'_>, usual_ns: u64) -> f64 {
        let like = like(setup, usual_ns);
        like.formula_s * self.correction(&like)
    }

    /// By what the formula is to be multiplied for a run like this: the geometric mean over the nearest runs of the
    /// same scheduler, each drawn to 1 by its distance.
    fn correction(&self, like: &RunCost) -> f64 {
        let same = self.known.iter().filter(|one| one.scheduler == like.scheduler);
        let mut near: Vec<(f64, f64)> = same
            .filter(|one| one.formula_s > 0.0 && one.cpu_s > 0.0)
            .map(|one| (distance(one, like), (one.cpu_s / one.formula_s).ln()))
            .filter(|(distance, _)| *distance < FAR)
            .collect();
        // A stable sort: of runs that are as near, those that were made last come first.
        near.reverse();
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        near.truncate(NEAREST);
        let weights: f64 = near.iter().map(|(distance, _)| weight(*distance)).sum();
        let logs: f64 = near.iter().map(|(distance, log)| weight(*distance) * log).sum();
        if near.is_empty() { 1.0 } else { (logs / weights).exp() }
    }
}

fn weight(distance: f64) -> f64 {
    1.0 / (0.1 + distance).powi(2)
}

fn distance(a: &RunCost, b: &RunCost) -> f64 {
    let log = |a: u32, b: u32| (f64::from(a.max(1)) / f64::from(b.max(1))).ln().abs();
    let workload = if a.workload == b.workload { 0.0 } else { OTHER_WORKLOAD };
    log(a.cpus, b.cpus) + log(a.tasks, b.tasks) + workload
}

/// What a run is like, with no time yet.
pub(crate) fn like(setup: &Setup<'_>, usual_ns: u64) -> RunCost {
    let Workload { benchmark, case, tasks, .. } = setup.workload;
    RunCost {
        scheduler: setup.scheduler.map_or_else(String::new, |scheduler| scheduler.name().to_owned()),
        workload: format!("{benchmark}:{case}"),
        cpus: setup.machine.topology.nr_cpus(),
        tasks: tasks.len() as u32,
        formula_s: formula(setup, usual_ns),
        cpu_s: 0.0,
    }
}

/// About how much CPU time a run takes if no run is known, s.
fn formula(setup: &Setup<'_>, usual_ns: u64) -> f64 {
    let simulated_s = setup.until.min(usual_ns) as f64 / 1e9;
    let cpus = f64::from(setup.machine.topology.nr_cpus());
    let step_s = if setup.scheduler.is_some() { SCX_STEP_S } else { FAIR_STEP_S };
    let ticks = cpus * f64::from(setup.kernel.hz.value);
    simulated_s * (steps_per_s(setup.workload, cpus) * step_s + ticks * TICK_S)
}

/// How many steps the tasks take in a second, if none waits for another but for a CPU.
fn steps_per_s(workload: &Workload, cpus: f64) -> f64 {
    let cycles: Vec<Cycle> = workload.programs.iter().map(|program| Cycle::of(workload, program)).collect();
    let (mut steps, mut busy) = (0.0, 0.0);
    for task in &workload.tasks {
        let Some(cycle) = cycles.get(task.program as usize) else { continue };
        let per_s = 1e9 / (cycle.busy_ns() + cycle.sleep_ns).max(1_000.0);
        steps += per_s * cycle.steps;
        busy += per_s * cycle.busy_ns() / 1e9;
    }
    if busy > cpus { steps * cpus / busy } else { steps }
}

/// One round of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cycle {
    /// The steps that send, wait or sleep.
    steps: f64,
    /// The work, ns.
    run_ns: f64,
    /// The time asleep, ns.
    sleep_ns: f64,
}

impl Cycle {
    /// A program that goes round for ever is what it goes round; what is repeated counts as often.
    fn of(workload: &Workload, program: &Program) -> Self {
        let mut cycle = Cycle::default();
        let mean = |work: &wakelab_workload::Work| {
            let of = work.distribution.and_then(|number| workload.distributions.get(number.get() as usize - 1));
            of.map_or(work.ns, |distribution| distribution.mean()) as f64
        };
        let times = times(&program.ops);
        for (op, times) in program.ops.iter().zip(times) {
            match op {
                Op::Run(work) | Op::Softirq(work) => cycle.run_ns += times * mean(work),
                Op::Sleep(work) => {
                    cycle.sleep_ns += times * mean(work);
                    cycle.steps += times;
                }
                Op::Send { .. } | Op::Recv { .. } | Op::Fork { .. } | Op::Wait => cycle.steps += times,
                Op::Call(Call::RunCpuLocked(work)) => cycle.run_ns += times * mean(work),
                Op::Call(Call::Io(work)) => {
                    cycle.sleep_ns += times * mean(work);
                    cycle.steps += times;
                }
                Op::Call(Call::Timer { period_ns, .. }) => {
                    cycle.sleep_ns += times * *period_ns as f64;
                    cycle.steps += times;
                }
                Op::Call(_) => cycle.steps += times,
                Op::Exit | Op::Repeat { .. } | Op::Begin | Op::Done => {}
            }
        }
        cycle
    }

    fn busy_ns(&self) -> f64 {
        self.run_ns + self.steps * KERNEL_NS
    }
}

/// How often each step is done in a round.
fn times(ops: &[Op]) -> Vec<f64> {
    let mut times = vec![1.0; ops.len()];
    for (at, op) in ops.iter().enumerate() {
        let Op::Repeat { to, times: often } = op else { continue };
        let inside = (*to as usize).min(at)..at;
        match often {
            Some(often) => times[inside].iter_mut().for_each(|times| *times *= f64::from(*often)),
            // What comes before and after an endless loop is done once in a run.
            None => {
                times[..inside.start].fill(0.0);
                times[at..].fill(0.0);
            }
        }
    }
    times
}

/// The most runs that are noted; those that were made last stay.
const NOTED_MAX: usize = 4096;

/// Reads the lines that [`line`] wrote. Lines that are none of them are left out.
pub(crate) fn read_lines(text: &str) -> Vec<RunCost> {
    let mut all: VecDeque<RunCost> = VecDeque::new();
    for line in text.lines() {
        all.extend(read_line(line));
        if all.len() > NOTED_MAX {
            all.pop_front();
        }
    }
    all.into()
}

fn read_line(line: &str) -> Option<RunCost> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    let (scheduler, workload) = (next()?.to_owned(), next()?.to_owned());
    let (cpus, tasks) = (next()?.parse().ok()?, next()?.parse().ok()?);
    let seconds = |cell: Option<&str>| cell?.parse::<f64>().ok().filter(|s| s.is_finite() && *s >= 0.0);
    let (formula_s, cpu_s) = (seconds(next())?, seconds(next())?);
    next().is_none().then_some(RunCost { scheduler, workload, cpus, tasks, formula_s, cpu_s })
}

/// A line of the file of costs.
pub(crate) fn line(cost: &RunCost) -> String {
    let text = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    let RunCost { scheduler, workload, cpus, tasks, formula_s, cpu_s } = cost;
    format!("{}\t{}\t{cpus}\t{tasks}\t{formula_s:.6}\t{cpu_s:.6}\n", text(scheduler), text(workload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(scheduler: &str, workload: &str, cpus: u32, tasks: u32, formula_s: f64, cpu_s: f64) -> RunCost {
        let (scheduler, workload) = (scheduler.to_owned(), workload.to_owned());
        RunCost { scheduler, workload, cpus, tasks, formula_s, cpu_s }
    }

    #[test]
    fn the_nearest_run_of_the_same_scheduler_corrects_the_formula() {
        let known = vec![
            cost("", "netperf:TCP_RR", 8, 16, 1.0, 2.0),
            cost("", "netperf:TCP_RR", 128, 256, 10.0, 50.0),
            cost("scx_lavd", "netperf:TCP_RR", 128, 256, 10.0, 400.0),
        ];
        let estimator = Estimator::new(known);
        let of =
            |scheduler, cpus, tasks| estimator.correction(&cost(scheduler, "netperf:TCP_RR", cpus, tasks, 1.0, 0.0));
        assert!((of("", 8, 16) - 2.0).abs() < 0.1, "{}", of("", 8, 16));
        assert!((of("", 128, 200) - 5.0).abs() < 0.3, "{}", of("", 128, 200));
        assert!((of("scx_lavd", 64, 128) - 40.0).abs() < 1e-9, "the only one of its scheduler");
        assert_eq!((of("scx_rusty", 128, 256), of("scx_lavd", 2, 2)), (1.0, 1.0), "none, or too far");
        // Half-way between two, the mean of logarithms.
        let between = of("", 32, 64);
        assert!((between - 10f64.sqrt()).abs() < 0.2, "{between}");
    }

    #[test]
    fn another_workload_counts_less_than_the_same_one() {
        let known =
            vec![cost("", "hackbench:process-pipe", 8, 16, 1.0, 8.0), cost("", "netperf:TCP_RR", 8, 16, 1.0, 2.0)];
        let of = Estimator::new(known).correction(&cost("", "netperf:TCP_RR", 8, 16, 1.0, 0.0));
        assert!((2.0..2.1).contains(&of), "{of}");
    }

    #[test]
    fn loops_count_as_often_as_they_are_made() {
        let run = Op::Run(wakelab_workload::Work::uniform(10, 0));
        let recv = Op::Recv { channel: 0 };
        // Once before; then for ever: three times in a loop, and once.
        let ops = [run, run, Op::Repeat { to: 1, times: Some(3) }, recv, Op::Repeat { to: 1, times: None }];
        assert_eq!(times(&ops)[..4], [0.0, 3.0, 1.0, 1.0]);
        assert_eq!(times(&[run, recv]), [1.0, 1.0]);
    }

    #[test]
    fn a_cost_is_read_as_it_was_written_and_nothing_else() {
        let one = cost("a\tb", "netperf:TCP_RR", 8, 16, 0.25, 1.5);
        let text = line(&one) + "x\ty\n\t\t8\t16\tNaN\t1\n" + &line(&cost("", "w", 1, 1, 1.0, 2.0));
        let read = read_lines(&text);
        assert_eq!(read, [cost("a b", "netperf:TCP_RR", 8, 16, 0.25, 1.5), cost("", "w", 1, 1, 1.0, 2.0)]);
        assert_eq!(read_lines(&text.repeat(NOTED_MAX)).len(), NOTED_MAX);
    }
}
