//! What the core counts: where tasks went, and how often operations were called and how long they took.

use super::Ext;
use crate::ops::Op;

/// How often the core came to the ends that the kernel counts (`struct scx_event_stats`), and where tasks went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtStats {
    /// `SCX_EV_SELECT_CPU_FALLBACK`: the wakee did not join the CPU that was selected.
    pub select_cpu_fallback: u64,
    /// `SCX_EV_DISPATCH_KEEP_LAST`: a task went on because there was no other.
    pub dispatch_keep_last: u64,
    /// `SCX_EV_ENQ_SKIP_EXITING`: exiting tasks that were not given to the scheduler.
    pub enq_skip_exiting: u64,
    /// `SCX_EV_REFILL_SLICE_DFL`: slices that the core filled.
    pub refill_slice_dfl: u64,
    /// Tasks that went to a local queue.
    pub local: u64,
    /// To a global queue.
    pub global: u64,
    /// To a queue of the scheduler.
    pub user: u64,
    /// Of all, those that `ops.select_cpu()` or `ops.enqueue()` dispatched at once.
    pub direct: u64,
    /// Tasks that were moved to another CPU's run queue on their way to a local queue.
    pub remote: u64,
}

impl ExtStats {
    /// The counts with their names: those of the kernel's events, and where tasks went.
    pub fn list(&self) -> [(&'static str, u64); 9] {
        [
            ("local", self.local),
            ("global", self.global),
            ("user", self.user),
            ("direct", self.direct),
            ("remote", self.remote),
            ("SCX_EV_SELECT_CPU_FALLBACK", self.select_cpu_fallback),
            ("SCX_EV_DISPATCH_KEEP_LAST", self.dispatch_keep_last),
            ("SCX_EV_ENQ_SKIP_EXITING", self.enq_skip_exiting),
            ("SCX_EV_REFILL_SLICE_DFL", self.refill_slice_dfl),
        ]
    }
}

/// Calls of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpTime {
    /// How many there were.
    pub calls: u64,
    /// How long they took, ns at full speed, with waits for the locks of queues and without operations that they
    /// called in turn.
    pub ns: u64,
}

impl Ext {
    /// How often each operation of the scheduler was called so far, and how long its calls took.
    pub fn op_times(&self) -> impl Iterator<Item = (Op, OpTime)> + '_ {
        let declared = Op::ALL.into_iter().filter(|&op| self.declared.ops.has(op));
        declared.map(|op| (op, self.op_times[op as usize]))
    }
}
