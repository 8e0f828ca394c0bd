//! A recording or a simulated run as a Perfetto trace, in one pass and bounded memory.

mod folder;
mod live;

pub use folder::{TraceFolder, TracedFile, Tracing};
pub use live::Tracer;

use crate::lanes::{Item, Lanes};
use crate::stats::about;
use crate::stats::wakes::Stream;
use crate::walk::Progress;
use smallvec::SmallVec;
use std::io::{self, Write};
use wakelab_events::ReadError;
use wakelab_events::stream::{Hint, Source};
use wakelab_perfetto::{Argument, Counter, Search, Trace, Written};
use wakelab_sched::select::SearchCount;

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traced {
    /// Wake-ups.
    pub wakeups: u64,
    /// Those of them with the reason of their choice.
    pub explained: u64,
    /// Context switches.
    pub switches: u64,
    /// Events of all kinds.
    pub events: u64,
    /// How much that is in the file.
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

/// Rows between two tellings of progress.
const ROWS_A_TICK: u64 = 4096;

/// Writes what a source tells. Times are those of the source, ns.
///
/// # Errors
/// Where the source cannot be read to its end, or `out` not be written. What was written until then is no whole trace.
pub fn trace<W: Write>(source: &Source, out: W, progress: &dyn Progress) -> Result<(W, Traced), TraceError> {
    let about = about(source)?;
    let cpus = about.llcs.as_ref().map_or(wakelab_sched::domain::MAX_CPUS, |llcs| llcs.len() as u32);
    let mut writing = Writing { trace: Trace::new(out, cpus)?, traced: Traced::default(), balances: !about.recorded };
    let mut since = 0;
    Lanes::each(source, Stream::of(source, &about), true, progress, |t_ns, item| {
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
    /// Balancing takes the CPU from a task without a switch, as the simulator tells it.
    balances: bool,
}

impl<W: Write> Writing<W> {
    fn item(&mut self, t_ns: u64, item: Item) -> io::Result<()> {
        self.traced.events += 1;
        let trace = &mut self.trace;
        match item {
            Item::Switch(switch) => {
                let prev = trace.runs(switch.cpu).unwrap_or(switch.prev_pid as i32);
                trace.switch(t_ns, switch.cpu, prev, switch.prev_sleeps, switch.next_pid as i32)
            }
            Item::Moved(moved) if self.balances && trace.runs(moved.from_cpu) == Some(moved.pid as i32) => {
                trace.switch(t_ns, moved.from_cpu, moved.pid as i32, false, 0)
            }
            Item::Moved(_) => Ok(()),
            Item::Idle(of) => trace.idle(t_ns, of.cpu, of.value),
            Item::Frequency(of) => trace.frequency(t_ns, of.cpu, of.value.unwrap_or(0)),
            Item::Power(spent) => trace.count(t_ns, Counter::Power(spent.package), (spent.uw / 1000) as i64),
            Item::Hint(llc, Hint::HasIdleCores(has)) => trace.count(t_ns, Counter::HasIdleCores(llc), has.into()),
            Item::Hint(llc, Hint::NrIdleScan(value, sum_util, weight)) => {
                trace.count(t_ns, Counter::LlcUtil(llc), llc_util_percent(sum_util, weight))?;
                value.map_or(Ok(()), |value| trace.count(t_ns, Counter::NrIdleScan(llc), value.into()))
            }
            Item::Wake(found) => {
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
                trace.wake(wake.t_ns, waker, wakee, wake.dest_cpu, search)
            }
        }
    }
}

/// The arguments of a search's slice.
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

/// An LLC's utilisation, % of what its CPUs can do.
fn llc_util_percent(sum_util: i64, weight: u32) -> i64 {
    sum_util * 100 / (1024 * i64::from(weight.max(1)))
}
