//! What time it is while an operation runs, and what it takes: that of programs, of the core's own work, and of waits
//! for the locks of queues.

use super::Ext;
use crate::entity::Dsq;
use crate::ops::ExitKind;
use std::fmt;
use std::sync::Arc;
use wakelab_sched::cpumask::Cpu;

/// The time that operations and the core's own work take besides the instructions of programs, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtCosts {
    /// The way into a program and back: the trampoline, and `scx_call_op`'s bookkeeping.
    pub op: u64,
    /// How long the lock of a dispatch queue is held for a task that joins or leaves, if the CPU had it last.
    pub dsq: u64,
    /// Moving a task between run queues: `deactivate_task()`, the other lock, `activate_task()`.
    pub remote: u64,
    /// Reading 64 words of a mask for an idle CPU.
    pub mask_words: u64,
}

/// How many cache lines come to a CPU that takes the lock of a queue which another CPU had last: that of the queue, in
/// which its lock, the ends of its list and its counters are together (`struct scx_dispatch_q`), and that of the task
/// beside which the other joins, or beside which it leaves (`scx.dsq_list`).
const DSQ_LINES: u64 = 2;

/// The cost of a cache line that one CPU has written and another takes, ns.
#[derive(Clone)]
pub struct LineCost(Arc<dyn Fn(Cpu, Cpu) -> u64 + Send + Sync>);

impl LineCost {
    /// A function of the CPU that wrote the line and the one that takes it.
    pub fn new(ns: impl Fn(Cpu, Cpu) -> u64 + Send + Sync + 'static) -> Self {
        LineCost(Arc::new(ns))
    }
}

impl fmt::Debug for LineCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineCost").finish_non_exhaustive()
    }
}

/// How many instructions programs may run without any time passing before the scheduler counts as endless: some
/// thousand operations that are as long as the verifier lets one be.
const INSTANT_INSNS: u64 = 1 << 32;

impl Ext {
    /// The same with cache lines of dispatch queues that cost by where they come from.
    #[must_use]
    pub fn with_line_cost(mut self, cost: LineCost) -> Self {
        self.line_cost = Some(cost);
        self
    }

    /// Takes a queue's lock and holds it for one task. Its lines come from the CPU that had the lock last: whoever
    /// waits for it waits for that, too, so that a queue of many CPUs is as slow as its lines are. Local queues have
    /// the lock of their run queue, which the caller has.
    pub(super) fn lock_dsq(&mut self, dsq: Dsq) {
        if matches!(dsq, Dsq::Local(_)) {
            return;
        }
        let (clock, this_cpu, own) = (self.clock(), self.this_cpu, self.costs.dsq);
        let from = self.dsq_mut(dsq).lines_at.replace(this_cpu).filter(|&from| from != this_cpu);
        let lines = self.line_cost.as_ref().zip(from).map_or(0, |(cost, from)| DSQ_LINES * cost.0(from, this_cpu));
        let queue = self.dsq_mut(dsq);
        let start = clock.max(queue.lock_free);
        queue.lock_free = start + own + lines;
        self.spent += queue.lock_free - clock;
    }

    /// Adds time that a program has taken, ns.
    #[inline]
    pub fn spend(&mut self, ns: u64) {
        self.spent += ns;
    }

    /// Returns the time that all calls since the last time have taken, ns at full speed.
    pub fn take_spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }

    /// The time of now within what happens: as many ns after its beginning as were spent.
    #[inline]
    pub fn clock(&self) -> u64 {
        self.now + if self.loads { 0 } else { self.spent }
    }

    /// `scx_bpf_now()`, ns since the run began: the clock of this CPU's run queue where that is valid, so that all of
    /// an operation sees one time, and the time of now elsewhere.
    pub fn scx_bpf_now(&self) -> u64 {
        let valid = self.clock_valid.filter(|&(cpu, _)| cpu == self.this_cpu);
        valid.map_or_else(|| self.clock(), |(_, clock)| clock)
    }

    /// Programs have run so many instructions. The scheduler ends if they run on and no time passes.
    pub fn count_insns(&mut self, insns: u64) {
        if self.instant.0 != self.now {
            self.instant = (self.now, 0);
        }
        self.instant.1 += insns;
        if self.instant.1 > INSTANT_INSNS {
            let (insns, last) = (self.instant.1, self.last_call());
            self.end(
                ExitKind::Fault,
                format!("its programs have run {insns} instructions without any time passing; the last was {last}"),
                0,
            );
        }
    }
}
