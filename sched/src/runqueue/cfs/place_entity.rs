//! Where a task joins the queue.

use super::CfsRq;
use crate::runqueue::load_weight::NICE_0_LOAD;
use crate::runqueue::{Entities, Entity, TaskId, before};

/// After this much sleep, ns, the order of vruntimes means nothing (`entity_is_long_sleeper()`, 6.1): virtual time
/// passes up to 512 times as fast as time (at the least weight of a group, 2), and may have got 2^63 ahead. Half of
/// that is the margin.
const LONG_SLEEP_NS: u64 = (1 << 63) / NICE_0_LOAD as u64;

impl CfsRq {
    /// Gives a task that is about to join its vruntime (`place_entity()`, 6.1).
    ///
    /// A new task waits for one slice, since this period is promised to the others. A sleeper joins up to a latency
    /// before the rest, but never earlier than it left: short sleeps earn nothing.
    pub(super) fn place_entity(&self, es: &mut Entities, now: u64, task: TaskId, initial: bool) {
        let mut vruntime = self.min_vruntime;
        if initial {
            if self.params.start_debit {
                vruntime = vruntime.wrapping_add(self.sched_vslice(es, task));
            }
        } else {
            vruntime = vruntime.wrapping_sub(self.sleeper_credit(&es[task]));
        }
        let e = &mut es[task];
        if self.rules.long_sleeper && entity_is_long_sleeper(e, now) || before(e.vruntime, vruntime) {
            e.vruntime = vruntime;
        }
    }

    /// How far before `min_vruntime` a sleeper may join, ns.
    fn sleeper_credit(&self, e: &Entity) -> u64 {
        let small = e.is_idle() && self.rules.sched_idle_slices;
        let credit = if small { self.params.min_granularity_ns } else { self.params.latency_ns };
        if self.params.gentle_fair_sleepers { credit / 2 } else { credit }
    }

    /// Gives a new task its vruntime, on the queue of its parent (`task_fork_fair()`, 6.1). It is left relative to
    /// `min_vruntime`, so that the task can then be enqueued on any queue, without flags.
    pub fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        if let Some(curr) = self.curr {
            self.update_curr(es, now);
            es[task].vruntime = es[curr].vruntime;
        }
        self.place_entity(es, now, task, true);
        es[task].vruntime = es[task].vruntime.wrapping_sub(self.min_vruntime);
    }
}

/// `entity_is_long_sleeper()`, 6.1. Clocks of two CPUs differ a little, so `exec_start` may be ahead.
fn entity_is_long_sleeper(e: &Entity, now: u64) -> bool {
    e.exec_start != 0 && now.saturating_sub(e.exec_start) > LONG_SLEEP_NS
}
