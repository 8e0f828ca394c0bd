//! `migrate_task_rq_fair()`: a waking task leaves its run queue for another CPU (`kernel/sched/fair.c`).
//!
//! ```text
//! remove_entity_load_avg():  age the task to the run queue's last update; add its averages to cfs_rq->removed
//! migrate_se_pelt_lag():     if the CPU is idle, age the task by the time that CPU has not accounted yet
//! last_update_time = 0       the next run queue's update_load_avg() attaches it
//! ```

use super::accumulate_sum::{__update_load_avg_blocked_se, SchedAvg};
use super::update_load_avg::CfsRqPelt;
use super::update_rq_clock_pelt::RqClock;

/// The CPU that a sleeping task leaves, as it is seen without its lock.
#[derive(Clone, Copy, Debug)]
pub struct MigrationSource<'a> {
    /// Its clocks.
    pub clock: &'a RqClock,
    /// Its current task is the idle task.
    pub is_idle: bool,
    /// `sched_clock_cpu()` there, in ns: the value that `clock.clock` would have if it were updated now.
    pub sched_clock: u64,
}

/// A waking task leaves its run queue for another CPU (`migrate_task_rq_fair()`, 7.3, of a task that is not on a run
/// queue).
pub fn migrate_task_rq_fair(se: &mut SchedAvg, weight: u64, cfs_rq: &mut CfsRqPelt, source: &MigrationSource) {
    remove_entity_load_avg(se, weight, cfs_rq);
    if cfs_rq.rules.migrate_lag {
        migrate_se_pelt_lag(se, weight, cfs_rq, source);
    }
    // By this the next run queue's update_load_avg() recognises a newcomer.
    se.last_update_time = 0;
}

/// Adds a sleeping task's averages to those that the run queue's next update subtracts (`remove_entity_load_avg()`,
/// 7.3).
pub fn remove_entity_load_avg(se: &mut SchedAvg, weight: u64, cfs_rq: &mut CfsRqPelt) {
    sync_entity_load_avg(se, weight, cfs_rq);
    let removed = &mut cfs_rq.removed;
    removed.nr += 1;
    removed.util_avg = removed.util_avg.wrapping_add(se.util_avg);
    removed.load_avg = removed.load_avg.wrapping_add(se.load_avg);
    removed.runnable_avg = removed.runnable_avg.wrapping_add(se.runnable_avg);
}

/// Ages a sleeping task up to its run queue's last update (`sync_entity_load_avg()`, 7.3).
pub fn sync_entity_load_avg(se: &mut SchedAvg, weight: u64, cfs_rq: &CfsRqPelt) {
    __update_load_avg_blocked_se(cfs_rq.avg.last_update_time, se, weight);
}

/// Ages a task that leaves an idle CPU by the time that CPU has not accounted yet (`migrate_se_pelt_lag()`, 7.3,
/// without throttling).
///
/// An idle CPU's clocks stand still, and its run queue's averages may be older still. The task's time is estimated as
///
/// ```text
/// now = clock_pelt_idle + (sched_clock - clock_idle)
/// ```
///
/// but never before the run queue's last update.
pub fn migrate_se_pelt_lag(se: &mut SchedAvg, weight: u64, cfs_rq: &CfsRqPelt, source: &MigrationSource) {
    if load_avg_is_decayed(se) || !source.is_idle {
        return;
    }
    let last_update_time = cfs_rq.avg.last_update_time;
    let now = source.clock.clock_pelt_idle;
    let now = if now < last_update_time {
        last_update_time
    } else {
        now.wrapping_add(source.sched_clock.wrapping_sub(source.clock.clock_idle))
    };
    __update_load_avg_blocked_se(now, se, weight);
}

/// Whether nothing is left of the averages (`load_avg_is_decayed()`, 7.3).
fn load_avg_is_decayed(sa: &SchedAvg) -> bool {
    sa.load_sum == 0 && sa.util_sum == 0 && sa.runnable_sum == 0
}
