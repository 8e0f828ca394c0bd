//! Load balancing: `load_balance()` (`sched_balance_rq()` since 6.10), what starts it, and which tasks it moves
//! (`kernel/sched/fair.c`).
//!
//! Like placement, balancing is decided here and carried out by the caller. [`plan_balance`] reads the CPUs of one
//! domain through a [`BalanceView`] and returns a [`Plan`]: the tasks to move, and what the kernel would write. The
//! state of a domain between passes is an [`SdBalance`], which the caller keeps for each CPU and level. [`Balance`]
//! holds what does not change: the version's rules, the features, the tunables and the domains.
//!
//! ```text
//!  tick: Rebalance            rebalance_domains.rs    about to go idle               sched_balance_newidle.rs
//!  for idle CPUs: Nohz        nohz/                          │
//!          └──────────────┬──────────────────────────────────┘
//!                    plan_balance                                          load_balance.rs
//!                         │
//!  should_we_balance      one CPU of the group pulls for all of it         should_we_balance.rs
//!  find_busiest_group     is the domain out of balance?                    find_busiest_group.rs
//!    update_sd_lb_stats     sums up the domain                             update_sd_lb_stats.rs
//!    update_sg_lb_stats     sums up and classifies one group               update_sg_lb_stats.rs
//!    update_sd_pick_busiest   the busier one of two groups                 update_sd_pick_busiest.rs
//!    calculate_imbalance    how much load, utilisation or how many tasks   calculate_imbalance.rs
//!    up to 5.4              by load alone, without group types             find_busiest_group_v5_3.rs
//!  find_busiest_queue     the CPU of that group to take tasks from         find_busiest_queue.rs
//!  detach_tasks           which tasks: can_migrate_task, task_hot          detach_tasks.rs, can_migrate_task.rs
//!  need_active_balance    push the running task if nothing else helps      active_load_balance_cpu_stop.rs
//!  update_misfit_status   tasks that do not fit their CPU                  update_misfit_status.rs
//!  can_migrate_llc        tasks that stay in their process's LLC, or go there (7.2)   sched_cache.rs, mm_sched.rs
//!                         │
//!  SdBalance::tune        counts failures, sets the interval               sd_balance.rs
//! ```
//!
//! A plan is made at one moment. The kernel's pass takes time, and run queues change under it. A caller in simulated
//! time makes the plan when the pass ends.
//!
//! **The root domain's `overload`** gates newly idle balancing (newidle). It is set in two places, and the caller does
//! both: [`Plan::overload`] comes from a pass over a CPU's highest domain, and `add_nr_running()` sets it when the
//! `nr_running` of a run queue rises from below 2 to 2 or more.
//!
//! **Unequal CPUs**: a CPU whose running task does not fit it has a `misfit_task_load`
//! ([`Balance::update_misfit_status`]). A larger idle CPU pulls that task, or has it pushed. With an energy model
//! ([`Balance::with_energy`]) nothing else is balanced until a CPU is overutilized. The caller keeps that flag, too
//! ([`Balance::becomes_overutilized`], [`Plan::overutilized`]).
//!
//! The model follows 5.2, 5.3, 5.10, 5.18, the tip tree of June 2022, 6.1, 6.12, 7.2 and 7.3 ([`BalanceRules`]), since
//! 5.10 also on machines of unequal capacities. [`Balance::new`] refuses unequal priorities (ITMT). Not modelled are
//! NUMA balancing (all run queues have the same `fbq_type`), cgroups and their bandwidth,
//! core scheduling, proxy execution, and CPU hotplug. `docs/balance.md` compares the versions.

mod active_load_balance_cpu_stop;
mod balancer;
mod calculate_imbalance;
mod can_migrate_task;
mod cfs_tasks;
mod detach_tasks;
mod find_busiest_group;
mod find_busiest_group_v5_3;
mod find_busiest_queue;
mod lb_env;
mod load_balance;
pub mod mm_sched;
mod nohz;
mod rebalance_domains;
mod sched_balance_newidle;
pub mod sched_cache;
mod sd_balance;
mod should_we_balance;
mod update_misfit_status;
mod update_sd_lb_stats;
mod update_sd_pick_busiest;
mod update_sg_lb_stats;
mod view;

pub use active_load_balance_cpu_stop::{ActiveBalance, active_load_balance_cpu_stop};
pub use balancer::{Balance, BalanceError, BalanceTunables};
pub use calculate_imbalance::{Imbalance, MigrationType, calculate_imbalance};
pub use cfs_tasks::CfsTasks;
pub use find_busiest_group::{find_busiest_group, imbalance_of, is_balanced};
pub use find_busiest_group_v5_3::{LbParamsV5_3, SgLbStatsV5_3, find_busiest_group_v5_3};
pub use find_busiest_queue::find_busiest_queue;
pub use lb_env::{CpuIdleType, LbEnv, LbParams, cpu_util_cfs};
pub use load_balance::{AfterPush, Move, Outcome, Plan, Why, plan_balance};
pub use nohz::{IlbVisit, Kick, Nohz, NohzFlags, NohzIdleBalance};
pub use rebalance_domains::{Rebalance, Rebalanced, Visit, get_sd_balance_interval, update_next_balance};
pub use sched_cache::{CacheGroup, LlcMig, LlcStats, SchedCache};
pub use sd_balance::SdBalance;
pub use should_we_balance::should_we_balance;
pub use update_sd_lb_stats::{SdLbStats, update_sd_lb_stats};
pub(crate) use update_sd_pick_busiest::busiest_rank;
pub use update_sd_pick_busiest::update_sd_pick_busiest;
pub use update_sg_lb_stats::{GroupType, SgLbStats};
pub use view::BalanceView;
pub use wakelab_kernel::{
    BalanceRules, BusyInterval, IlbWalk, NewidleRules, NewidleStop, NumaImbalance, PreferSibling, Push, Serialize,
    SiblingImbalance,
};
