//! A task as placement sees it.

use crate::system::System;
use wakelab_sched::pelt::task_h_load;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::Wakee;

impl<'m> System<'m> {
    /// A task that has run before, as a wake-up places it.
    #[inline]
    pub fn wakee(&mut self, id: TaskId) -> Wakee<'m> {
        let task = &self.tasks[id.0 as usize];
        Wakee {
            recent_used_cpu: Some(task.recent_used_cpu),
            wakee_flips: task.flips.wakee_flips,
            h_load: task_h_load(&task.avg, &mut self.cpus[task.cpu as usize].pelt, self.jiffies),
            idle_policy: self.es[id].is_idle(),
            util_avg: task.avg.util_avg,
            runnable_avg: task.avg.runnable_avg,
            util_est: self.task_util_est(id),
            has_contributed: task.avg.last_update_time != 0,
            dur_avg: task.dur.dur_avg,
            ..Wakee::new(task.cpu, &self.model.masks[task.mask as usize])
        }
    }
}
