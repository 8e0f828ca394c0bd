//! Run time into virtual time.

use super::CfsRq;
use crate::runqueue::weight::calc_delta_fair;
use crate::runqueue::{Entities, before};

impl CfsRq {
    /// Charges the running task up to `now` (`update_curr()`, 6.1). Asks for nothing: CFS decides at the tick.
    pub fn update_curr(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr else { return };
        let e = &mut es[curr];
        let Some(delta_exec) = e.account_exec(now) else { return };
        e.vruntime = e.vruntime.wrapping_add(calc_delta_fair(delta_exec, e.load));
        self.update_min_vruntime(es);
    }

    /// Advances the queue's virtual time to that of its least task (`update_min_vruntime()`, 6.1). A task may join
    /// behind it, so it stays where it is rather than go back.
    pub(super) fn update_min_vruntime(&mut self, es: &Entities) {
        let tasks = [self.queued_curr(es), self.waiting.first()].into_iter().flatten();
        let least = tasks.map(|task| es[task].vruntime).reduce(|a, b| if before(b, a) { b } else { a });
        if let Some(least) = least.filter(|&least| before(self.min_vruntime, least)) {
            self.min_vruntime = least;
        }
    }
}
