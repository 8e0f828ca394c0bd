//! The declarations of a scheduler, and what the kernel refuses of them.

use crate::flags::*;
use crate::ops::{Op, OpSet};
use wakelab_kernel::ExtRules;

/// The declarations of a scheduler (`struct sched_ext_ops`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// `ops.name`.
    pub name: String,
    /// The operations it has.
    pub ops: OpSet,
    /// It is a `struct sched_ext_ops_cid`, which names CPUs by their cids ([`Cids`](crate::cid::Cids)), 7.2.
    pub cid_form: bool,
    /// `ops.flags`.
    pub flags: u64,
    /// `ops.dispatch_max_batch`; 0 for [`SCX_DSP_DFL_MAX_BATCH`].
    pub dispatch_max_batch: u32,
    /// `ops.timeout_ms`; 0 for [`SCX_WATCHDOG_MAX_TIMEOUT_MS`].
    pub timeout_ms: u32,
}

impl Declared {
    /// `bpf_scx_init_member()`, `validate_ops()`, and what is not modelled.
    pub(super) fn validate_ops(&self, rules: &ExtRules) -> Result<(), String> {
        let has = |op| self.ops.has(op);
        // bpf_scx_init_member() reads the struct before validate_ops().
        let unknown = self.flags & !u64::from(rules.ops_flags);
        if unknown != 0 {
            return Err(format!("flags {unknown:#x} of its sched_ext_ops are unknown to the kernel (EINVAL)"));
        }
        if self.name.is_empty() {
            return Err("its sched_ext_ops have no name (EINVAL)".to_owned());
        }
        if self.timeout_ms > SCX_WATCHDOG_MAX_TIMEOUT_MS {
            return Err(format!("timeout_ms is {}, but may be at most 30000 (E2BIG)", self.timeout_ms));
        }
        if self.dispatch_max_batch > i32::MAX as u32 {
            let batch = self.dispatch_max_batch;
            return Err(format!("dispatch_max_batch is {batch}, but may be at most {} (E2BIG)", i32::MAX));
        }
        if self.flags & SCX_OPS_ENQ_LAST != 0 && !has(Op::Enqueue) {
            return Err("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented".to_owned());
        }
        if self.flags & SCX_OPS_BUILTIN_IDLE_PER_NODE != 0
            && has(Op::UpdateIdle)
            && self.flags & SCX_OPS_KEEP_BUILTIN_IDLE == 0
        {
            return Err("SCX_OPS_BUILTIN_IDLE_PER_NODE requires CPU idle selection enabled".to_owned());
        }
        if self.flags & SCX_OPS_SWITCH_PARTIAL != 0 {
            return Err("SCX_OPS_SWITCH_PARTIAL is not modelled: all tasks except realtime ones belong to the \
                        scheduler; expected a scheduler without the flag"
                .to_owned());
        }
        Ok(())
    }
}
