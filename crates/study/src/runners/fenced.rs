//! The fence as a runner: which run a worker is to make, and its numbers.

use super::simulator::Simulator;
use crate::compare::Block;
use crate::compare::run::runs_of_repeat;
use crate::runs::fence::worker::{is_worker, serve};
use crate::runs::fence::{Asked, Fence, caught};
use crate::runs::{Key, Program, RunId, Runner, Why, timed};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};

/// A run, by what it is called, and by the hash of all its inputs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    pub(crate) machine: String,
    pub(crate) kernel: String,
    pub(crate) variant: String,
    pub(crate) workload: String,
    pub(crate) load: String,
    pub(crate) with: bool,
    pub(crate) repeat: u32,
    pub(crate) seed: u64,
    pub(crate) regret: bool,
    /// The number of the run in a sweep.
    pub(crate) number: Option<u64>,
    key: [u8; 32],
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and nearly all are numbers")]
pub(crate) enum Answer {
    /// Its numbers, and the CPU time that it took, s; `None` if it was stopped.
    Done(Option<(RunStats, f64)>),
    /// Why it failed.
    Failed(String),
    /// This worker has no such run.
    Unknown,
}

/// The key of a run. The program is the same on both sides of the fence.
fn key(setup: &Setup<'_>, settle_ns: u64) -> [u8; 32] {
    let key = Key::new(Program::named("fence"), setup, settle_ns);
    *key.bytes().first_chunk().expect("a hash has 32 bytes")
}

impl Question {
    fn new(id: &RunId, setup: &Setup<'_>, settle_ns: u64) -> Self {
        let RunId { machine, kernel, variant, workload, load, with, repeat, seed, regret, number } = id.clone();
        let kernel = kernel.to_owned();
        let key = key(setup, settle_ns);
        Question { machine, kernel, variant, workload, load, with, repeat, seed, regret, number, key }
    }

    /// Whether it is this run, by what that is called.
    fn names(&self, id: &RunId) -> bool {
        let names = (&id.machine, id.kernel, &id.variant, &id.workload, &id.load);
        let asked = (&self.machine, self.kernel.as_str(), &self.variant, &self.workload, &self.load);
        names == asked && (id.seed, id.regret) == (self.seed, self.regret)
    }
}

impl Runner for Fence {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        Simulator.run(id, setup, measure, stop)
    }

    fn stats(&self, id: &RunId, setup: &Setup<'_>, settle_ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
        Ok(self.timed_stats(id, setup, settle_ns, stop)?.map(|(stats, _)| stats))
    }

    fn timed_stats(
        &self,
        id: &RunId,
        setup: &Setup<'_>,
        settle_ns: u64,
        stop: &AtomicBool,
    ) -> Result<Option<(RunStats, f64)>, Why> {
        let here = || timed(|| Simulator.stats(id, setup, settle_ns, stop));
        if is_worker() {
            // This command does not say what it would run before it runs it. Nobody but the program itself does that.
            std::process::exit(1);
        }
        if setup.scheduler.is_none() || !self.has_workers() {
            return here();
        }
        match self.ask(&Question::new(id, setup, settle_ns), stop) {
            Asked::Answer(Answer::Done(stats)) => Ok(stats),
            Asked::Answer(Answer::Failed(why)) => Err(Why::Fenced(why)),
            Asked::Died(how) => Err(Why::Died(how)),
            Asked::Stopped => Ok(None),
            Asked::Answer(Answer::Unknown) | Asked::Nobody => here(),
        }
    }
}

/// Makes a run of one of these blocks.
pub(crate) fn answer<'b>(blocks: impl IntoIterator<Item = &'b Block>, question: &Question) -> Answer {
    let Question { with, repeat, number, .. } = *question;
    let mut all = blocks.into_iter().flat_map(|block| runs_of_repeat(block, with, repeat, number));
    let it =
        |(id, setup, settle_ns): &(RunId, Setup<'_>, u64)| question.names(id) && key(setup, *settle_ns) == question.key;
    let Some((id, setup, settle_ns)) = all.find(it) else { return Answer::Unknown };
    // Whoever stops the program ends its workers.
    let never = AtomicBool::new(false);
    match caught(|| timed(|| Simulator.stats(&id, &setup, settle_ns, &never))) {
        Ok(Ok(stats)) => Answer::Done(stats),
        Ok(Err(why)) => Answer::Failed(why.to_string()),
        Err(panic) => Answer::Failed(Why::Panicked(panic).to_string()),
    }
}

/// In a worker: makes the runs of these blocks that it is asked for, and does not return.
pub fn serve_runs<'b>(blocks: impl IntoIterator<Item = &'b Block>) {
    if is_worker() {
        let blocks: Vec<&Block> = blocks.into_iter().collect();
        serve(|question: Question| answer(blocks.iter().copied(), &question));
    }
}
