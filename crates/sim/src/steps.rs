//! A run in steps: it goes on when its caller wants it to, and can be looked at in between.
//!
//! Steps do not change a run: what happens does not depend on where the caller has it pause. A run that borrows what it
//! is made of cannot own it, so that there are three parts, each of which outlives the next: the [`Setup`] with
//! [`domains`], [`Prepared`], and [`Steps`].

use crate::engine::Sim;
use crate::model::{self, Model};
use crate::observe::Snapshot;
use crate::{Outcome, Setup, SimError};
use std::fmt;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::Sink;
use wakelab_sched::domain::SchedDomains;

/// The scheduling domains of a setup.
///
/// # Errors
/// Where the machine is not modelled under this kernel.
pub fn domains(setup: &Setup<'_>) -> Result<SchedDomains, SimError> {
    model::domains(setup.machine, setup.kernel, setup.features)
}

/// The data of a run that does not change.
#[derive(Debug)]
pub struct Prepared<'a> {
    model: Model<'a>,
}

impl<'a> Prepared<'a> {
    /// Prepares a run of `setup`, whose [`domains`] these are.
    ///
    /// # Errors
    /// As [`run`](crate::run): where the kernel or the machine is not modelled, or the workload is at odds with them.
    pub fn new(setup: &Setup<'a>, domains: &'a SchedDomains) -> Result<Self, SimError> {
        Ok(Prepared { model: Model::new(setup, domains)? })
    }
}

/// A run that goes on step by step.
pub struct Steps<'m, 's, S> {
    sim: Sim<'m, 's, S>,
    until: u64,
}

impl<S> fmt::Debug for Steps<'_, '_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steps").field("now", &self.sim.sys.now).field("until", &self.until).finish_non_exhaustive()
    }
}

impl<'m, 's, S: Sink> Steps<'m, 's, S> {
    /// The beginning of a run of `setup`, of which `prepared` was made. It tells `sink` what happens.
    pub fn new(prepared: &'m Prepared<'m>, setup: &Setup<'_>, sink: &'s mut S) -> Self {
        Steps { sim: Sim::new(&prepared.model, setup, sink), until: setup.until }
    }

    /// Goes on up to `time`, ns from the start, or up to the end of the run if that comes first. Returns whether the
    /// run is over: it has come to `Setup::until`, or no task can go on.
    ///
    /// # Errors
    /// Where the workload does what no program may. The run cannot go on after that.
    pub fn advance(&mut self, time: u64) -> Result<bool, SimError> {
        self.sim.advance(time.min(self.until), &AtomicBool::new(false))?;
        Ok(self.sim.nr_unblocked == 0 || self.sim.sys.now >= self.until)
    }

    /// The system as it is now.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::of(&self.sim.sys)
    }

    /// Returns the sink that receives events.
    pub fn sink(&self) -> &S {
        self.sim.sink
    }

    /// The same, to take out what it was told.
    pub fn sink_mut(&mut self) -> &mut S {
        self.sim.sink
    }

    /// Ends the run where it is, and returns its outcome, which is that of [`run`](crate::run) if the run is over, and
    /// the sink, which now knows all.
    ///
    /// # Errors
    /// Where the workload has deadlocked.
    pub fn finish(mut self) -> Result<(Outcome, &'s mut S), SimError> {
        let stopped = self.sim.nr_unblocked != 0 && self.sim.sys.now < self.until;
        let outcome = self.sim.finish(stopped)?;
        Ok((outcome, self.sim.sink))
    }
}
