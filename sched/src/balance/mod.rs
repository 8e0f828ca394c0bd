//! Which tasks load balancing moves: `load_balance()` (`sched_balance_rq()` since 6.10) and what drives it.
//!
//! Like placement, balancing is decided here and done by the caller. [`plan_balance`] looks at the CPUs of one domain
//! through a [`BalanceView`] and returns a [`Plan`]: what to move, and what the kernel would write. What a domain
//! remembers between passes is an [`SdBalance`], which the caller keeps for each CPU and level.
//!
//! ```text
//!  tick: Rebalance            rebalance.rs        about to go idle: newidle_gate     newidle.rs
//!  for idle CPUs: Nohz        nohz/                          │
//!          └──────────────┬──────────────────────────────────┘
//!                    plan_balance                                                    load_balance.rs, plan.rs
//!                         │
//!  should_we_balance ─ one CPU of the group pulls for all of it                      should.rs
//!  find_busiest_group                                                                find_group.rs
//!    update_sd_lb_stats ─ each group summed up and classified                        stats.rs, classify.rs
//!    update_sd_pick_busiest ─ the busier one of two                                  pick_busiest.rs
//!    calculate_imbalance ─ how much of load, utilisation or tasks                    imbalance.rs, spread.rs
//!    before group types: by load alone                                               by_load.rs, by_load_imbalance.rs
//!  find_busiest_queue ─ the CPU of that group to take it from                        find_queue.rs
//!  detach_tasks ─ which tasks: can_migrate_task, task_hot                            detach.rs, migrate.rs
//!  need_active_balance ─ push the running task, if nothing else helps                active.rs
//!  unequal CPUs: misfit tasks, overutilized CPUs                                     misfit.rs
//!                         │
//!  SdBalance::tune ─ failures and the interval                                       state.rs
//! ```
//!
//! A plan is made at one moment. The kernel's pass takes time, and run queues change under it; a caller in simulated
//! time makes the plan when the pass ends, or looks again before it applies one.
//!
//! **The root domain's `overload`** gates newly-idle balancing. It is set in two places, and the caller does both:
//! [`Plan::overload`] comes from a pass over a CPU's highest domain, and `add_nr_running()` sets it as soon as a run queue
//! gets its second task (`nr_running` from below 2 to 2 or more).
//!
//! **Unequal CPUs**: a CPU whose running task does not fit it has a `misfit_task_load`
//! ([`Balance::update_misfit_status`]), for which a larger idle CPU pulls, or pushes, the task. With an energy model
//! ([`Balance::with_energy`]) nothing else is balanced until a CPU is overutilized; the flag is the caller's, too
//! ([`Balance::becomes_overutilized`], [`Plan::overutilized`]).
//!
//! Followed: 5.2, 5.3, 5.10, 5.18, the tip tree of June 2022, 6.1, 6.12, 7.2 and 7.3 ([`BalanceRules`]); since 5.10 on machines
//! of unequal capacities, too. Unequal priorities (ITMT) are refused by [`Balance::new`]. Not here: NUMA balancing (every run queue is as good as any other, `fbq_type`),
//! cache-aware balancing (7.2), cgroups and their bandwidth, core scheduling, proxy execution, and CPUs that go on or off
//! line. `docs/balance.md` compares the versions.

mod active;
mod by_load;
mod by_load_imbalance;
mod classify;
mod cores;
mod counts;
mod cpu;
mod detach;
mod env;
mod facts;
mod find_group;
mod find_queue;
mod forms;
mod group_type;
mod imbalance;
mod interval;
mod load_balance;
mod migrate;
mod misfit;
mod newidle;
mod newidle_rules;
mod nohz;
mod pick_busiest;
mod plan;
mod rebalance;
mod rules;
mod setup;
mod should;
mod spread;
mod state;
mod stats;
mod tasks;
mod versions;
mod view;

pub use active::{ActiveBalance, active_load_balance, active_load_balance_after};
pub use by_load::{LoadFacts, LoadStats, find_busiest_by_load};
pub use env::{CpuIdleType, LbEnv};
pub use facts::LbFacts;
pub use find_group::{SdLbStats, find_busiest_group, imbalance_of, is_balanced, update_sd_lb_stats};
pub use find_queue::find_busiest_queue;
pub use forms::{
    BusyInterval, IlbWalk, NewidleRules, NewidleStop, NumaImbalance, PreferSibling, Push, Serialize, SiblingImbalance,
};
pub use group_type::GroupType;
pub use imbalance::{Imbalance, MigrationType, calculate_imbalance};
pub use interval::{get_sd_balance_interval, max_load_balance_interval, msecs_to_jiffies, update_next_balance};
pub use load_balance::plan_balance;
pub use newidle::{newidle_gate, newidle_random, update_newidle_cost};
pub use nohz::{IlbVisit, Kick, Nohz, NohzFlags, NohzIdleBalance};
pub use pick_busiest::update_sd_pick_busiest;
pub use plan::{Forced, Move, Outcome, Plan, Why};
pub use rebalance::{Rebalance, Rebalanced, Visit};
pub use rules::BalanceRules;
pub use setup::{Balance, BalanceError, BalanceTunables};
pub use should::{group_balance_cpu, group_balance_mask, should_we_balance};
pub use state::SdBalance;
pub use stats::SgLbStats;
pub use tasks::CfsTasks;
pub use view::BalanceView;
