//! `place_entity()`: the vruntime of a task that joins (`kernel/sched/fair.c`, 6.1).
//!
//! ```text
//! new task    max(vruntime, min_vruntime + sched_vslice())      START_DEBIT
//! sleeper     max(vruntime, min_vruntime - latency / 2)         GENTLE_FAIR_SLEEPERS; else the whole latency
//! ```

use super::CfsRq;
use crate::runqueue::load_weight::NICE_0_LOAD;
use crate::runqueue::{Entities, Entity, TaskId, vtime_before};

/// After this much sleep, ns, vruntimes cannot be compared (`entity_is_long_sleeper()`, 6.1): virtual time
/// passes up to 512 times as fast as time (at the least weight of a group, 2), and may have advanced by 2^63. The limit
/// is half of that, as a margin.
const LONG_SLEEP_NS: u64 = (1 << 63) / NICE_0_LOAD as u64;

impl CfsRq {
    /// Sets the vruntime of a task that is about to join (`place_entity()`, 6.1).
    ///
    /// A new task waits for one slice, because this period is promised to the others. A sleeper is placed up to a
    /// latency before the others, but never before the vruntime that it left with: short sleeps earn nothing.
    pub(super) fn place_entity(&self, es: &mut Entities, now: u64, task: TaskId, initial: bool) {
        self.place(es, now, task, initial.then(|| self.sched_vslice(es, task)));
    }

    /// The same. A new task has a virtual slice, `vslice` ns.
    pub(super) fn place(&self, es: &mut Entities, now: u64, task: TaskId, vslice: Option<u64>) {
        let vruntime = match vslice {
            Some(vslice) if self.params.start_debit => self.min_vruntime.wrapping_add(vslice),
            Some(_) => self.min_vruntime,
            None => self.min_vruntime.wrapping_sub(self.sleeper_credit(&es[task])),
        };
        let e = &mut es[task];
        if self.rules.long_sleeper && entity_is_long_sleeper(e, now) || vtime_before(e.vruntime, vruntime) {
            e.vruntime = vruntime;
        }
    }

    /// How far before `min_vruntime` a sleeper may be placed, ns.
    fn sleeper_credit(&self, e: &Entity) -> u64 {
        let small = e.is_idle() && self.rules.sched_idle_slices;
        let credit = if small { self.params.min_granularity_ns } else { self.params.latency_ns };
        if self.params.gentle_fair_sleepers { credit / 2 } else { credit }
    }

    /// Sets the first vruntime of a new task, on the queue of its parent (`task_fork_fair()`, 6.1). It is relative to
    /// `min_vruntime`, so the task can then be enqueued on any queue, without flags.
    pub fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        if let Some(curr) = self.curr {
            self.update_curr(es, now);
            es[task].vruntime = es[curr].vruntime;
        }
        self.place_entity(es, now, task, true);
        es[task].vruntime = es[task].vruntime.wrapping_sub(self.min_vruntime);
    }
}

/// Whether the task has slept for so long that its vruntime cannot be compared (`entity_is_long_sleeper()`, 6.1). The
/// clocks of two CPUs differ a little, so `exec_start` may be after `now`.
fn entity_is_long_sleeper(e: &Entity, now: u64) -> bool {
    e.exec_start != 0 && now.saturating_sub(e.exec_start) > LONG_SLEEP_NS
}
