//! A simulated run as a Perfetto trace, written while it runs.

use super::{Traced, llc_util_percent, searched};
use std::io::{self, Write};
use wakelab_events::sim::{Event, NewTask, Sink, Task};
use wakelab_perfetto::{Counter, Search, Trace};

/// Writes what it is told. The trace is the one that [`super::trace`] makes of the run's events.
pub struct Tracer<W> {
    trace: Trace<W>,
    traced: Traced,
    error: Option<io::Error>,
}

/// Of the idle task, and of the shell that starts the workload.
const NOBODY: i32 = 0;

fn pid(task: Option<Task>) -> i32 {
    task.map_or(NOBODY, |task| task as i32)
}

impl<W: Write> Tracer<W> {
    /// Begins the trace of a machine with so many CPUs.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(out: W, cpus: u32) -> io::Result<Self> {
        Ok(Tracer { trace: Trace::new(out, cpus)?, traced: Traced::default(), error: None })
    }

    /// The first error there was; it is not told again.
    pub fn error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first there was.
    pub fn finish(self) -> io::Result<(W, Traced)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let switches = self.trace.switches();
        let (out, written) = self.trace.finish()?;
        Ok((out, Traced { switches, written, ..self.traced }))
    }

    fn write(&mut self, now: u64, event: &Event) -> io::Result<()> {
        let trace = &mut self.trace;
        match *event {
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                let prev = trace.runs(cpu).unwrap_or(pid(prev));
                trace.switch(now, cpu, prev, prev_sleeps, pid(next))
            }
            Event::Migrate { task, from, .. } if trace.runs(from) == Some(task as i32) => {
                trace.switch(now, from, task as i32, false, NOBODY)
            }
            Event::IdleState { cpu, state } => trace.idle(now, cpu, Some(state)),
            Event::Frequency { cpu, khz } => trace.frequency(now, cpu, khz),
            Event::Power { package, since, uw } => trace.count(since, Counter::Power(package), (uw / 1000) as i64),
            Event::IdleCores { llc, has_idle_cores } => {
                trace.count(now, Counter::HasIdleCores(llc), has_idle_cores.into())
            }
            Event::IdleScan { llc, sum_util, weight, nr_idle_scan } => {
                trace.count(now, Counter::LlcUtil(llc), llc_util_percent(sum_util as i64, weight))?;
                nr_idle_scan.map_or(Ok(()), |value| trace.count(now, Counter::NrIdleScan(llc), value.into()))
            }
            Event::Wakeup { waker_cpu, waker, wakee, prev_cpu, ref decision, cpu, began, .. } => {
                self.wake((began, now), (waker_cpu, waker), wakee, (prev_cpu, cpu), decision.as_ref())
            }
            Event::Placed { waker_cpu, waker, task, prev_cpu, ref decision, cpu, .. } => {
                self.wake((now, now), (waker_cpu, waker), task, (prev_cpu, cpu), decision.as_ref())
            }
            _ => return Ok(()),
        }?;
        self.traced.events += 1;
        Ok(())
    }

    fn wake(
        &mut self,
        (from_ns, to_ns): (u64, u64),
        (waker_cpu, waker): (u32, Option<Task>),
        wakee: Task,
        (prev_cpu, cpu): (u32, u32),
        decision: Option<&wakelab_sched::select::Decision>,
    ) -> io::Result<()> {
        self.traced.wakeups += 1;
        self.traced.explained += u64::from(decision.is_some());
        let wakee = wakee as i32;
        let arguments = decision.map(|decision| searched(wakee, Some(prev_cpu), cpu, decision.count));
        let search = decision.zip(arguments.as_deref()).map(|(decision, arguments)| Search {
            from_ns,
            to_ns,
            reason: decision.reason.name(),
            arguments,
        });
        self.trace.wake(from_ns, (waker_cpu, pid(waker)), wakee, cpu, search)
    }
}

impl<W: Write> Sink for Tracer<W> {
    const ON: bool = true;
    const INPUTS: bool = true;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        if self.error.is_none() {
            self.error = self.write(time, event).err();
        }
    }

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        self.trace.name(task.task as i32, task.name);
    }

    fn gave_up(&self) -> bool {
        self.error.is_some()
    }
}
