//! A recording or a simulated run as a Perfetto trace, in one pass and bounded memory.

mod dsq_lengths;
mod folder;

pub use folder::{TraceFolder, TracedFile, Tracing};

use crate::recordings::progress::Progress;
use crate::recordings::sources::about;
use crate::recordings::time_ordered::{SourceEvent, TimeOrdered};
use crate::recordings::wakeups::WakeupStream;
use dsq_lengths::DsqLengths;
use smallvec::SmallVec;
use std::io::{self, Write};
use wakelab_events::ReadError;
use wakelab_events::sim::{Event, NewTask, Sink, Task};
use wakelab_events::stream::{SdShared, Source};
use wakelab_perfetto::{Argument, Counter, Search, Trace, Written};
use wakelab_sched::select::SearchCount;

/// The contents of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// The number of wake-ups.
    pub wakeups: u64,
    /// The wake-ups with the reason of their choice.
    pub explained: u64,
    /// The number of context switches.
    pub switches: u64,
    /// The number of events of all kinds.
    pub events: u64,
    /// The size in the file.
    pub written: Written,
}

/// Why there is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The source cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The trace cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// The number of events between two reports of progress.
const ROWS_A_TICK: u64 = 4096;

/// Writes the trace of a source. Times are those of the source, ns.
///
/// # Errors
/// Fails if the source cannot be read to its end, or if `out` cannot be written. What was written until then is no
/// whole trace.
pub fn trace<W: Write>(source: &Source, out: W, progress: &dyn Progress) -> Result<(W, Traced), TraceError> {
    let about = about(source)?;
    let cpus = about.llcs.as_ref().map_or(wakelab_sched::domain::MAX_CPUS, |llcs| llcs.len() as u32);
    let trace = Trace::new(out, cpus)?;
    let mut writing = Writing {
        trace: if about.recorded { trace.of_a_kernel() } else { trace },
        traced: Traced::default(),
        simulated: !about.recorded,
        lengths: DsqLengths::default(),
    };
    let mut since = 0;
    TimeOrdered::each(source, WakeupStream::of(source, &about), true, progress, |t_ns, item| {
        writing.item(t_ns, item)?;
        since += 1;
        if since == ROWS_A_TICK {
            progress.rows(std::mem::take(&mut since));
        }
        Ok::<_, TraceError>(())
    })?;
    progress.rows(since);
    let mut traced = writing.traced;
    traced.switches = writing.trace.switches();
    let (out, written) = writing.trace.finish()?;
    Ok((out, Traced { written, ..traced }))
}

struct Writing<W> {
    trace: Trace<W>,
    traced: Traced,
    /// Whether it is a simulated run, whose load balancing takes a CPU from a task without a switch.
    simulated: bool,
    lengths: DsqLengths,
}

impl<W: Write> Writing<W> {
    fn item(&mut self, t_ns: u64, item: SourceEvent) -> io::Result<()> {
        self.traced.events += 1;
        let trace = &mut self.trace;
        match item {
            SourceEvent::Switch(switch) => {
                // Of a recording each row has it; of the simulator a task may have been taken from the CPU.
                let known = trace.running(switch.cpu).filter(|_| self.simulated);
                let prev = known.unwrap_or(switch.prev_pid as i32);
                trace.switch(t_ns, switch.cpu, prev, switch.prev_sleeps, switch.next_pid as i32)
            }
            SourceEvent::Moved(moved) if self.simulated && trace.running(moved.from_cpu) == Some(moved.pid as i32) => {
                trace.switch(t_ns, moved.from_cpu, moved.pid as i32, false, 0)
            }
            SourceEvent::Moved(_) if self.simulated => Ok(()),
            SourceEvent::Moved(moved) => trace.migrates(t_ns, moved.pid as i32, moved.from_cpu, moved.to_cpu),
            SourceEvent::Name(named) => trace.listed_name(named.pid as i32, &named.comm),
            SourceEvent::Idle(of) => trace.idle(t_ns, of.cpu, of.value),
            SourceEvent::Frequency(of) => trace.frequency(t_ns, of.cpu, of.value.unwrap_or(0)),
            SourceEvent::Power(spent) => trace.counter(t_ns, Counter::Power(spent.package), (spent.uw / 1000) as i64),
            SourceEvent::Scx(row) => {
                let changes = self.lengths.after(row.pid as i32, row.step, row.dsq.parse().ok());
                changes.into_iter().try_for_each(|(queue, length)| trace.counter(t_ns, queue, length))
            }
            SourceEvent::Hint(llc, SdShared::HasIdleCores(has)) => {
                trace.counter(t_ns, Counter::HasIdleCores(llc), has.into())
            }
            SourceEvent::Hint(llc, SdShared::NrIdleScan(value, sum_util, weight)) => {
                trace.counter(t_ns, Counter::LlcUtil(llc), llc_util_percent(sum_util, weight))?;
                value.map_or(Ok(()), |value| trace.counter(t_ns, Counter::NrIdleScan(llc), value.into()))
            }
            SourceEvent::Wake(found) => {
                let wake = &found.wake;
                self.traced.wakeups += 1;
                self.traced.explained += u64::from(found.decision.is_some());
                let wakee = wake.wakee_pid as i32;
                if !wake.wakee_comm.is_empty() {
                    trace.name(wakee, &wake.wakee_comm);
                }
                let arguments = found.decision.map(|(_, count)| searched(wakee, wake.prev_cpu, wake.dest_cpu, count));
                let search = found.decision.zip(arguments.as_deref()).map(|((reason, _), arguments)| Search {
                    from_ns: wake.t_ns,
                    to_ns: wake.decided_ns,
                    reason: reason.name(),
                    arguments,
                });
                let waker = (wake.waker_cpu, wake.waker_pid as i32);
                let (prev_cpu, dest_cpu) = (wake.prev_cpu, wake.dest_cpu);
                match self.simulated {
                    true => trace.wake(wake.t_ns, waker, wakee, prev_cpu.unwrap_or(dest_cpu), search),
                    false => trace.recorded_wake(wake.t_ns, waker, wakee, (prev_cpu, dest_cpu), search),
                }
            }
        }
    }
}

/// Returns the arguments of the slice of a search.
fn searched(wakee: i32, prev_cpu: Option<u32>, cpu: u32, count: SearchCount) -> SmallVec<[(Argument, i64); 6]> {
    let SearchCount { domain_search, scanned, failed, .. } = count;
    let mut arguments = SmallVec::new();
    arguments.push((Argument::Wakee, i64::from(wakee)));
    arguments.extend(prev_cpu.map(|prev| (Argument::PrevCpu, prev.into())));
    arguments.extend([
        (Argument::ChosenCpu, cpu.into()),
        (Argument::DomainSearch, domain_search.into()),
        (Argument::Scanned, scanned.into()),
        (Argument::Failed, failed.into()),
    ]);
    arguments
}

/// Returns the utilisation of an LLC, % of the capacity of its CPUs.
fn llc_util_percent(sum_util: i64, weight: u32) -> i64 {
    sum_util * 100 / (1024 * i64::from(weight.max(1)))
}

/// Writes a simulated run while it runs. The trace equals the one that [`trace`](trace()) makes from the events of the
/// run.
pub struct Tracer<W> {
    trace: Trace<W>,
    traced: Traced,
    lengths: DsqLengths,
    error: Option<io::Error>,
}

/// The pid of the idle task, and of the shell that starts the workload.
const NOBODY: i32 = 0;

fn pid(task: Option<Task>) -> i32 {
    task.map_or(NOBODY, |task| task as i32)
}

impl<W: Write> Tracer<W> {
    /// Starts the trace of a machine with this number of CPUs.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn new(out: W, cpus: u32) -> io::Result<Self> {
        Ok(Tracer {
            trace: Trace::new(out, cpus)?,
            traced: Traced::default(),
            lengths: DsqLengths::default(),
            error: None,
        })
    }

    /// Returns the first error, once.
    pub fn error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// Finishes the trace.
    ///
    /// # Errors
    /// Returns the first error that there was.
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
                let prev = trace.running(cpu).unwrap_or(pid(prev));
                trace.switch(now, cpu, prev, prev_sleeps, pid(next))
            }
            Event::Migrate { task, from, .. } if trace.running(from) == Some(task as i32) => {
                trace.switch(now, from, task as i32, false, NOBODY)
            }
            Event::IdleState { cpu, state } => trace.idle(now, cpu, Some(state)),
            Event::Frequency { cpu, khz } => trace.frequency(now, cpu, khz),
            Event::Power { package, since, uw } => trace.counter(since, Counter::Power(package), (uw / 1000) as i64),
            Event::IdleCores { llc, has_idle_cores } => {
                trace.counter(now, Counter::HasIdleCores(llc), has_idle_cores.into())
            }
            Event::IdleScan { llc, sum_util, weight, nr_idle_scan } => {
                trace.counter(now, Counter::LlcUtil(llc), llc_util_percent(sum_util as i64, weight))?;
                nr_idle_scan.map_or(Ok(()), |value| trace.counter(now, Counter::NrIdleScan(llc), value.into()))
            }
            Event::Wakeup { waker_cpu, waker, wakee, prev_cpu, ref decision, cpu, began, .. } => {
                self.wake((began, now), (waker_cpu, waker), wakee, (prev_cpu, cpu), decision.as_ref())
            }
            Event::Placed { waker_cpu, waker, task, prev_cpu, ref decision, cpu, .. } => {
                self.wake((now, now), (waker_cpu, waker), task, (prev_cpu, cpu), decision.as_ref())
            }
            Event::Scx { task, step, dsq, .. } => {
                let changes = self.lengths.after(task as i32, step, dsq);
                changes.into_iter().try_for_each(|(queue, length)| trace.counter(now, queue, length))
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
        self.trace.wake(from_ns, (waker_cpu, pid(waker)), wakee, prev_cpu, search)
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
