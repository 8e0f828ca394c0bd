//! The wake-ups of a source, with the reasons of their choices if these can be known.

use super::decider::Decider;
use std::path::PathBuf;
use std::sync::Arc;
use std::vec::IntoIter;
use wakelab_events::stream::{RunDescription, Source, TaskNames, Wake, Wakes};
use wakelab_events::{ReadError, Reader, Row};
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::select::{Reason, SearchCount, Select, WakeFlags};

/// A stream of wake-ups.
pub(crate) enum WakeupStream {
    /// Decisions with their inputs, for which the model gives the reason.
    Decided(Box<Decided>),
    /// Wake-ups as the file has them.
    Listed(Box<Wakes>, Option<Box<TaskNames>>),
}

/// Decisions that are made again.
pub(crate) struct Decided {
    files: usize,
    left: IntoIter<PathBuf>,
    reader: Option<Reader>,
    llcs: Option<Arc<Vec<u32>>>,
    /// The affinity of the last wakee; most have the same.
    affinity: Option<Arc<CpuMask>>,
    row: Row,
    select: Select,
    decider: Decider,
    /// Whether every decision is made again, as `explain` does it, not only those that can be compared with the
    /// kernel's.
    all: bool,
}

/// A wake-up with its reason.
pub(crate) struct WakeupWithReason {
    pub(crate) wake: Wake,
    /// The reason and the counts of the decision, if it was made again.
    pub(crate) decision: Option<(Reason, SearchCount)>,
    /// The number of files that were left when it was read, and its `seq`.
    pub(crate) place: (usize, u64),
    /// Whether the decision could not be made again, because the state had changed.
    pub(crate) unscored: bool,
    /// By CPU: the number of its LLC at that time, if the file has it.
    pub(crate) llcs: Option<Arc<Vec<u32>>>,
    /// The CPUs that the wakee may use, if the row has them.
    pub(crate) affinity: Option<Arc<CpuMask>>,
}

impl WakeupWithReason {
    /// A recorded wake-up that chose no CPU.
    pub(crate) fn undecided(wake: Wake) -> Self {
        WakeupWithReason { wake, decision: None, place: (0, 0), unscored: false, llcs: None, affinity: None }
    }
}

impl WakeupStream {
    pub(crate) fn of(source: &Source, about: &RunDescription) -> Self {
        match source {
            Source::Simulated(folder) => {
                WakeupStream::Listed(Box::new(Wakes::simulated(folder)), Some(Box::new(TaskNames::simulated(folder))))
            }
            Source::Recorded(tables) if tables.decisions.is_empty() || !about.states => {
                WakeupStream::Listed(Box::new(Wakes::recorded(tables)), None)
            }
            Source::Csv(_) | Source::Recorded(_) => WakeupStream::Decided(Box::new(Decided {
                files: source.decisions().len(),
                left: source.decisions().into_iter(),
                reader: None,
                llcs: None,
                affinity: None,
                row: Row::new(),
                select: Select::default(),
                decider: Decider::as_recorded(),
                all: false,
            })),
        }
    }

    /// Opens the decisions of a source with the reasons that they have under `decider`.
    pub(crate) fn asked(source: &Source, decider: &Decider) -> Self {
        WakeupStream::Decided(Box::new(Decided {
            files: source.decisions().len(),
            left: source.decisions().into_iter(),
            reader: None,
            row: Row::new(),
            select: Select::default(),
            decider: decider.clone(),
            all: true,
            llcs: None,
            affinity: None,
        }))
    }

    /// The share that has been read, 0 to 1; each file counts the same.
    pub(crate) fn share(&self) -> f64 {
        match self {
            WakeupStream::Decided(decided) => decided.share(),
            WakeupStream::Listed(wakes, _) => wakes.progress(),
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<WakeupWithReason>, ReadError> {
        match self {
            WakeupStream::Decided(decided) => decided.next(),
            WakeupStream::Listed(wakes, names) => {
                let Some(mut wake) = wakes.next_wake()? else { return Ok(None) };
                if let Some(names) = names {
                    names.advance_to(wake.decided_ns)?;
                    wake.wakee_comm = names.shared_name(wake.wakee_pid);
                    wake.waker_comm = names.shared_name(wake.waker_pid);
                }
                let decision = wake.reason.zip(wake.count);
                let llcs = wakes.llcs().cloned();
                Ok(Some(WakeupWithReason { wake, decision, place: (0, 0), unscored: false, llcs, affinity: None }))
            }
        }
    }
}

impl Decided {
    fn share(&self) -> f64 {
        let open = self.reader.as_ref().map_or(0.0, |reader| 1.0 - reader.progress());
        1.0 - (self.left.len() as f64 + open) / self.files.max(1) as f64
    }

    fn next(&mut self) -> Result<Option<WakeupWithReason>, ReadError> {
        loop {
            let Some(reader) = &mut self.reader else {
                let Some(path) = self.left.next() else { return Ok(None) };
                let reader = self.reader.insert(Reader::open(&path)?);
                self.llcs = Some(Arc::new(reader.topo().cpu_llc.clone()));
                continue;
            };
            if !reader.read(&mut self.row)? {
                self.reader = None;
                continue;
            }
            let (row, topo) = (&self.row, reader.topo());
            // With a machine or kernel that is not modelled, wake-ups are counted without reasons.
            let can = self.decider.check(topo).is_ok() && self.decider.lacks(row, topo).is_none();
            let scored = (row.stable || self.all) && can;
            let decision = scored.then(|| {
                let decision = self.decider.decide(row, topo, &mut self.select, &mut ());
                (decision.reason, decision.count)
            });
            let wake = Wake {
                t_ns: row.t_ns,
                decided_ns: row.t_ns + row.dur_ns,
                waker_cpu: row.waker.cpu,
                waker_pid: row.waker.pid,
                waker_comm: row.waker.comm.as_str().into(),
                wakee_pid: row.wakee.pid,
                wakee_comm: row.wakee.comm.as_str().into(),
                prev_cpu: Some(row.wakee.prev_cpu),
                dest_cpu: row.chosen_cpu,
                chose: Some(true),
                reason: None,
                count: None,
                background: false,
                exec: row.wake_flags.contains(WakeFlags::EXEC),
            };
            let (place, llcs) = ((self.left.len(), row.seq), self.llcs.clone());
            if self.affinity.as_deref() != Some(&row.wakee.affinity) {
                self.affinity = Some(Arc::new(row.wakee.affinity.clone()));
            }
            let affinity = self.affinity.clone();
            return Ok(Some(WakeupWithReason { wake, decision, place, unscored: !scored, llcs, affinity }));
        }
    }
}
