//! The slow path of forks and execs: the idlest group, and in it the idlest CPU, from the widest domain down
//! (`sched_balance_find_dst_cpu()`, `find_idlest_cpu()` before 6.10).

mod find_cpu;
mod find_group;
mod group;
mod loads;
mod walk;

pub use group::{GroupStats, GroupType};
pub use loads::GroupLoads;
pub(super) use walk::SlowPath;
