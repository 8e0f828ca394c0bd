//! Per-entity load tracking (`kernel/sched/pelt.c` and the part of `fair.c` that updates a run queue's averages).
//!
//! Time is cut into periods of 1024 µs (a µs here is 1024 ns). With u_i the contribution of the period that lies i
//! periods back, and y^32 = 1/2, a signal's sum is
//!
//! ```text
//! sum = u_0 + u_1 y + u_2 y² + ...        avg = sum / (LOAD_AVG_MAX - 1024 + period_contrib)
//! ```
//!
//! | file | kernel functions |
//! |---|---|
//! | `decay_load` | `decay_load()`, `runnable_avg_yN_inv[]`, `LOAD_AVG_MAX` |
//! | `accumulate_sum` | `struct sched_avg`, `accumulate_sum()`, `___update_load_sum()`, `___update_load_avg()` |
//! | `update_load_avg` | `update_load_avg()`, `update_cfs_rq_load_avg()`, `cfs_rq->removed` |
//! | `attach_entity_load_avg` | `attach_entity_load_avg()`, `detach_entity_load_avg()`, `post_init_entity_util_avg()` |
//! | `migrate_task_rq_fair` | `migrate_task_rq_fair()`, `remove_entity_load_avg()`, `migrate_se_pelt_lag()` |
//! | `task_h_load` | `task_h_load()`, `runnable_load_avg` (5.3) |
//! | `task_group` | `calc_group_shares()`, `update_tg_load_avg()`, `propagate_entity_load_avg()` |
//! | [`util_est`] | `util_est_update()`, `util_est_enqueue()`, `util_est_dequeue()` |
//! | `update_rq_clock_pelt` | `update_rq_clock_pelt()`, `update_idle_rq_clock_pelt()` |
//!
//! Bandwidth control (throttled time) and the averages of other classes are not modelled. Widths are those of a 64-bit
//! kernel: arithmetic wraps, or is cut to 32 bits, exactly as the kernel's. No function reads a clock: `now` is the
//! result of [`RqClock::rq_clock_pelt`].
//!
//! [`PeltRules`] and [`util_est::UtilEstRules`] select a kernel version's form.

mod accumulate_sum;
mod attach_entity_load_avg;
mod decay_load;
mod migrate_task_rq_fair;
mod task_group;
mod task_h_load;
mod update_load_avg;
mod update_rq_clock_pelt;
pub mod util_est;

pub use accumulate_sum::{
    ___update_load_avg, ___update_load_sum, __accumulate_pelt_segments, __update_load_avg_blocked_se,
    __update_load_avg_cfs_rq, __update_load_avg_se, EntityState, PELT_MIN_DIVIDER, SchedAvg, accumulate_sum,
    get_pelt_divider,
};
pub use attach_entity_load_avg::{
    attach_entity_load_avg, dequeue_load_avg, detach_entity_load_avg, enqueue_load_avg, init_entity_runnable_average,
    post_init_entity_util_avg, retake_load_avg, reweight_entity,
};
pub use decay_load::{LOAD_AVG_MAX, LOAD_AVG_PERIOD, RUNNABLE_AVG_Y_N_INV, decay_load};
pub use migrate_task_rq_fair::{
    MigrationSource, migrate_se_pelt_lag, migrate_task_rq_fair, remove_entity_load_avg, sync_entity_load_avg,
};
pub use task_group::{Above, GroupPelt, MIN_SHARES, Propagate, TgLoad, calc_group_shares, group_h_load};
pub use task_h_load::{RunnableLoad, dequeue_runnable_load_avg, enqueue_runnable_load_avg, task_h_load};
pub use update_load_avg::{
    CfsRqPelt, CfsRqState, Removed, UpdateFlags, cfs_rq_has_blocked_load, update_cfs_rq_load_avg, update_load_avg,
};
pub use update_rq_clock_pelt::{RqClock, Scale, cap_scale};
pub use wakelab_kernel::{InitWeight, PeltRules, SumRule};

/// log2 of [`SCHED_CAPACITY_SCALE`].
pub const SCHED_CAPACITY_SHIFT: u32 = 10;

/// The capacity of the machine's fastest CPU at its highest frequency, and so the top of `util_avg`.
pub const SCHED_CAPACITY_SCALE: u64 = 1 << SCHED_CAPACITY_SHIFT;
