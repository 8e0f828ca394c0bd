//! What makes runs, and the numbers of one.

use super::estimate::RunCost;
use super::run::{RunId, Why};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;
use wakelab_measure::{Measure, NeverRan, OpTime, RunStats};
use wakelab_sim::{Outcome, Setup};
use wakelab_workload::TIME;

/// Makes runs: the simulator, or a stand-in in tests.
pub trait Runner: Sync {
    /// Makes run `id` and passes what happens to `measure`, until the end or until `stop` is set.
    ///
    /// # Errors
    /// Fails as [`wakelab_sim::run`] does, or if a file of the run cannot be written.
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why>;

    /// Returns the numbers of run `id`, measured from `settle_ns` on; `None` if it was stopped.
    ///
    /// # Errors
    /// Fails as [`Runner::run`] does, or if nothing was measured that gives the workload's metric.
    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        let done = measured(id, setup, settle_ns, |measure| self.run(id, setup, measure, stop))?;
        Ok(done.map(|(stats, _)| stats))
    }

    /// The same with the CPU time that the run took, s, wherever it was made: for estimates, and for no result.
    ///
    /// # Errors
    /// As [`Runner::stats`].
    fn timed_stats(
        &self,
        id: &RunId,
        setup: &Setup<'_>,
        settle_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<(RunStats, f64)>, Why> {
        timed(|| self.stats(id, setup, settle_ns, stop))
    }

    /// What runs took that were made before, as far as that was noted.
    fn costs(&self) -> Vec<RunCost> {
        Vec::new()
    }

    /// Whether the numbers of this run are kept, so that it would not be made again.
    fn keeps(&self, _setup: &Setup<'_>, _settle_ns: u64, _regret: bool) -> bool {
        false
    }
}

/// Makes a run with `run`, and returns its numbers and its end, ns; `None` if it was stopped.
pub(crate) fn measured(
    id: &RunId,
    setup: &Setup<'_>,
    settle_ns: u64,
    run: impl FnOnce(&mut Measure) -> Result<Outcome, Why>,
) -> Result<Option<(RunStats, u64)>, Why> {
    let mut measure = Measure::new(id.seed, settle_ns, setup.until, setup.machine.topology.nr_cpus());
    if id.regret {
        measure = measure.with_regret();
    }
    let outcome = run(&mut measure)?;
    if outcome.stopped {
        return Ok(None);
    }
    if setup.workload.metric == TIME && !outcome.exited {
        return Err(Why::Unfinished(outcome.ended));
    }
    let never_ran = never_ran(&measure, &outcome);
    let mut stats = RunStats { never_ran, ..measure.finish(outcome.ended) };
    (stats.power, stats.scheduler) = (outcome.power, outcome.scheduler);
    let ops = outcome.scheduler_ops.into_iter();
    stats.scheduler_ops = ops.map(|(op, time)| OpTime { op: op.to_owned(), calls: time.calls, ns: time.ns }).collect();
    if stats.measured_ns == 0 {
        return Err(Why::Over { ended: outcome.ended, settle: settle_ns });
    }
    if stats.done == 0 {
        return Err(Why::Nothing(stats.measured_ns));
    }
    Ok(Some((stats, outcome.ended)))
}

/// Who never ran in the measured time.
fn never_ran(measure: &Measure, outcome: &Outcome) -> NeverRan {
    let waiting = outcome.waiting.iter().map(|(task, name)| (*task, name.as_str()));
    measure.never_ran(outcome.ended, outcome.nr_tasks, waiting)
}

/// Makes a run on this thread, and adds the CPU time that it took, s.
pub(crate) fn timed(run: impl FnOnce() -> Result<Option<RunStats>, Why>) -> Result<Option<(RunStats, f64)>, Why> {
    let thread_cpu_s = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let began = thread_cpu_s();
    Ok(run()?.map(|stats| (stats, thread_cpu_s() - began)))
}
