//! Realtime tasks as far as the fair class meets them (`kernel/sched/rt.c`, `cpupri.c`, `deadline.c`).
//!
//! | file | kernel functions |
//! |---|---|
//! | `rt_rq` | `struct rt_rq`: `pick_next_rt_entity()`, pushable tasks, `sched_rt_runtime_exceeded()` |
//! | `find_lowest_rq` | `find_lowest_rq()`, `cpupri_find()`, `select_task_rq_rt()` |
//! | `fair_server` | `dl_server_start()`, `dl_server_update()`, `dl_server_timer()` (6.12) |
//! | `scale_rt_capacity` | `scale_rt_capacity()`, `update_rt_rq_load_avg()` |
//!
//! Priorities are the kernel's `p->prio`: 0 is the most urgent (`sched_priority` 99), 98 the least (1).

mod fair_server;
mod find_lowest_rq;
mod rt_rq;
mod scale_rt_capacity;

pub use fair_server::{FairServer, ServerParams, ServerStep};
pub use find_lowest_rq::{Cpupri, LowestRq, find_lowest_rq, select_task_rq_rt};
pub use rt_rq::{NO_RT_PRIO, Replenished, RtBandwidth, RtRq};
pub use scale_rt_capacity::{scale_rt_capacity, update_rt_rq_load_avg};
