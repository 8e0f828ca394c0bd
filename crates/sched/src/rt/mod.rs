//! Realtime and deadline tasks as far as the fair class meets them (`kernel/sched/rt.c`, `cpupri.c`, `deadline.c`,
//! `cpudeadline.c`), and what else takes time from the fair class.
//!
//! | file | kernel functions |
//! |---|---|
//! | `rt_rq` | `struct rt_rq`: `pick_next_rt_entity()`, pushable tasks, `sched_rt_runtime_exceeded()` |
//! | `find_lowest_rq` | `find_lowest_rq()`, `cpupri_find()`, `select_task_rq_rt()` |
//! | `deadline` | `struct sched_dl_entity`, `struct dl_rq`, `struct dl_bw`: CBS, EDF, `sched_dl_overflow()` |
//! | `find_later_rq` | `find_later_rq()`, `cpudl_find()`, `select_task_rq_dl()` |
//! | `fair_server` | `dl_server_start()`, `dl_server_update()`, `dl_server_timer()` (6.12) |
//! | `scale_rt_capacity` | `scale_rt_capacity()`, and the averages that it reads |
//!
//! Priorities are the kernel's `p->prio`: 0 is the most urgent (`sched_priority` 99), 98 the least (1).

mod deadline;
mod fair_server;
mod find_later_rq;
mod find_lowest_rq;
mod rt_rq;
mod scale_rt_capacity;

pub use deadline::{DlBw, DlCharge, DlEntity, DlParams, DlQueue, DlRq, ZeroLag, to_ratio};
pub use fair_server::{FairServer, ServerParams, ServerStep};
pub use find_later_rq::{LaterRq, find_later_rq, select_task_rq_dl};
pub use find_lowest_rq::{Cpupri, LowestRq, find_lowest_rq, select_task_rq_rt};
pub use rt_rq::{NO_RT_PRIO, Replenished, RtBandwidth, RtRq};
pub use scale_rt_capacity::{
    Taken, capacity_left, pressure_of, scale_rt_capacity, update_hw_load_avg, update_irq_load_avg,
    update_rt_rq_load_avg,
};
