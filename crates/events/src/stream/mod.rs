//! Events of recordings and simulated runs, as streams that hold a few thousand rows at a time: wake-ups, switches,
//! migrations, states of CPUs.
//!
//! A [`Source`] is what there is to read at a path.

mod balance_passes;
mod causes;
mod cpu_states;
mod described_rows;
mod import_counts;
mod in_order;
mod preempts;
mod recorder_counts;
pub(crate) mod run;
mod scx_steps;
mod source;
mod switches;
mod task_groups;
mod wakeups;

pub use balance_passes::{BalancePass, BalancePasses, CpuLoad, Found, LlcLoad, SchedCachePass};
pub use causes::{
    TaskAttributes, TaskBegins, TaskLife, TaskLives, TaskMoment, TaskMoments, WakeCause, WakeCauses, WakeContext,
};
pub use cpu_states::{CpuValue, CpuValues, PackagePower, PackagePowers, SdShared, SdSharedWrites};
pub use import_counts::ImportCounts;
pub use in_order::InOrder;
pub use preempts::{QueuedTask, WakeupPreempt, WakeupPreempts};
pub use recorder_counts::RecorderCounts;
pub use run::{RunDescription, TaskNames};
pub use scx_steps::{ScxStepRow, ScxSteps};
pub use source::{Source, Tables, WAKEUPS};
pub use switches::{Migration, Migrations, Names, Switch, Switches, TaskName};
pub use task_groups::{CpuMax, ROOT_GROUP, TaskGroup, TaskGroups};
pub use wakeups::{Wake, Wakes};
