//! [`QueueState`]: a run queue as a kernel had it at one moment, and the [`FairRq`] that is in the same state.

use super::{CfsRq, EevdfRq, Entities, FairRq, FairRules, TaskId};

/// The state of a run queue (`struct cfs_rq`). Its tasks are entities with their virtual times as the kernel has them.
#[derive(Clone, Copy, Debug)]
pub struct QueueState<'a> {
    /// `min_vruntime` of CFS, `zero_vruntime` of EEVDF, ns.
    pub virtual_time: u64,
    /// The running task; `None` if the CPU is idle.
    pub curr: Option<TaskId>,
    /// The tasks that wait, delayed ones included, in the order of the tree.
    pub waiting: &'a [TaskId],
    /// The next buddy.
    pub next: Option<TaskId>,
    /// The last buddy, of CFS.
    pub last: Option<TaskId>,
    /// The bits that weights have lost in the sums (`sum_shift`, 7.2; 0 to 10).
    pub sum_shift: u32,
}

impl FairRq {
    /// The run queue in this state. The sums are computed from the tasks. Those that wait are `on_rq`, and the running
    /// one is unless it is about to sleep.
    pub fn in_state(rules: FairRules, es: &mut Entities, state: &QueueState<'_>) -> Self {
        match rules {
            FairRules::Cfs(params, rules) => FairRq::Cfs(CfsRq::in_state(params, rules, es, state)),
            FairRules::Eevdf(params, rules) => FairRq::Eevdf(EevdfRq::in_state(params, rules, es, state)),
        }
    }
}
