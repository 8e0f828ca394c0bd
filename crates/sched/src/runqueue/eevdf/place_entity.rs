//! `place_entity()`: the vruntime and the deadline of a task that joins (`kernel/sched/fair.c`).
//!
//! ```text
//! vruntime = V - lag'                                 lag' = lag (W + w)/W        PLACE_LAG
//! deadline = vruntime + slice * NICE_0_LOAD / w       half of that if it is new   PLACE_DEADLINE_INITIAL
//! ```
//!
//! Why lag' and not lag: a task that joins at V - x moves V itself, to V' = V - x w/(W + w). What is left of its lag is
//! V' - (V - x) = x W/(W + w). To have the lag l once it has joined, it must join at x = l (W + w)/W.

use super::EevdfRq;
use crate::runqueue::{EnqueueFlags, Entities, Resched, TaskId};

impl<const GROUPS: bool> EevdfRq<GROUPS> {
    /// Charges the running parent of a new task, which is placed when it is enqueued (`task_fork_fair()`, up to 6.8;
    /// what it places is placed anew then). Later versions do nothing here.
    pub fn task_fork(&mut self, es: &mut Entities, now: u64) -> Resched {
        if self.rules.initial_enqueue { Resched::No } else { self.update_curr(es, now) }
    }

    /// Sets the vruntime and the deadline of a task that is about to join (`place_entity()`).
    pub(super) fn place_entity(&mut self, es: &mut Entities, task: TaskId, flags: EnqueueFlags) {
        let avruntime = self.update_zero_vruntime(es);
        let (mut lag, mut heavy) = (0, false);
        if self.params.place_lag && self.nr_queued != 0 && es[task].vlag != 0 {
            let (sum_weight, weight) = (self.sum_weight_with_curr(es), self.avg_vruntime_weight(es, task));
            lag = self.inflated_lag(es[task].vlag, sum_weight, weight);
            heavy = self.rules.full_weights && weight > sum_weight;
        }
        let e = &mut es[task];
        if !e.custom_slice {
            e.slice = self.params.base_slice_ns;
        }
        e.vruntime = avruntime.wrapping_sub(lag as u64);
        if heavy {
            // It pulls V towards itself. If the zero point stayed behind, the task's own product would become large.
            self.move_zero_vruntime(lag.wrapping_neg());
        }
        if (self.params.place_rel_deadline || GROUPS) && e.rel_deadline {
            e.deadline = e.deadline.wrapping_add(e.vruntime);
            e.rel_deadline = false;
            return;
        }
        let mut vslice = Self::calc_delta_fair(e, e.slice);
        // On average, the queued tasks are halfway through their requests: a new task begins there too.
        if self.params.place_deadline_initial && flags.contains(EnqueueFlags::INITIAL) {
            vslice /= 2;
        }
        e.deadline = e.vruntime.wrapping_add(vslice);
    }

    /// The distance from V at which the task must join to have the lag `vlag` once it has joined: l (W + w)/W.
    fn inflated_lag(&self, vlag: i64, sum_weight: i64, weight: i64) -> i64 {
        if self.rules.split_inflation {
            vlag.wrapping_add(vlag.wrapping_mul(weight) / sum_weight.max(1))
        } else {
            vlag.wrapping_mul(sum_weight + weight) / sum_weight.max(1)
        }
    }
}
