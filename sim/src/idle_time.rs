//! How long a CPU expects to be idle.

use crate::system::System;
use wakelab_sched::cpumask::Cpu;

impl System<'_> {
    /// `update_rq_avg_idle()`, 7.2: the idle time that ends now, if one does, goes into the average. Before, the same stands in
    /// `ttwu_do_activate()` (`ttwu_do_wakeup()`, 5.10). SIS_PROP's own average goes along where the version has none any more.
    pub fn update_rq_avg_idle(&mut self, cpu: Cpu) {
        let c = &mut self.cpus[cpu as usize];
        if c.idle_stamp == 0 {
            return;
        }
        let delta = self.now.saturating_sub(c.idle_stamp);
        let max = 2 * c.max_idle_balance_cost;
        let diff = delta.wrapping_sub(c.avg_idle) as i64 / 8;
        c.avg_idle = c.avg_idle.wrapping_add(diff as u64).min(max);
        c.wake_stamp = self.jiffies;
        c.wake_avg_idle = c.avg_idle / 2;
        c.idle_stamp = 0;
    }
}
