//! Where a task joins the queue.

use super::EevdfRq;
use crate::runqueue::load_weight::calc_delta_fair;
use crate::runqueue::{EnqueueFlags, Entities, TaskId};

impl EevdfRq {
    /// Gives a task that is about to join its vruntime and deadline (`place_entity()`).
    pub(super) fn place_entity(&mut self, es: &mut Entities, task: TaskId, flags: EnqueueFlags) {
        let avruntime = self.update_zero_vruntime(es);
        let (mut lag, mut heavy) = (0, false);
        if self.params.place_lag && self.nr_queued != 0 && es[task].vlag != 0 {
            let (load_sum, weight) = (self.load_sum_with_curr(es), self.weight(es, task));
            lag = self.inflated_lag(es[task].vlag, load_sum, weight);
            heavy = self.rules.full_weights && weight > load_sum;
        }
        let e = &mut es[task];
        if !e.custom_slice {
            e.slice = self.params.base_slice_ns;
        }
        e.vruntime = avruntime.wrapping_sub(lag as u64);
        if heavy {
            // It pulls V to itself. Were the zero point left behind, its product would be the large one.
            self.move_zero_vruntime(lag.wrapping_neg());
        }
        if self.params.place_rel_deadline && e.rel_deadline {
            e.deadline = e.deadline.wrapping_add(e.vruntime);
            e.rel_deadline = false;
            return;
        }
        let mut vslice = calc_delta_fair(e.slice, e.h_load);
        // Those already here are halfway through their requests, on average: a newcomer begins there too.
        if self.params.place_deadline_initial && flags.contains(EnqueueFlags::INITIAL) {
            vslice /= 2;
        }
        e.deadline = e.vruntime.wrapping_add(vslice);
    }

    /// The distance from V at which the task must join to have its lag once it has joined.
    ///
    /// Joining at V - x moves V itself, to V' = V - x w/(W + w). What is left of the lag is V' - (V - x)
    /// = x W/(W + w), so for a lag l, x = l (W + w)/W.
    fn inflated_lag(&self, vlag: i64, load_sum: i64, weight: i64) -> i64 {
        if self.rules.split_inflation {
            vlag.wrapping_add(vlag.wrapping_mul(weight) / load_sum.max(1))
        } else {
            vlag.wrapping_mul(load_sum + weight) / load_sum.max(1)
        }
    }
}
