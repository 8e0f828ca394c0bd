//! Linux's fair class as pure functions.
//!
//! Nothing here reads a clock, does I/O, draws a random number or uses a float: each function decides from what it
//! is given and returns what it decided. Functions carry the names of the kernel functions they follow.

pub mod balance;
pub mod boost;
pub mod cpumask;
pub mod domain;
pub mod energy;
pub mod group_order;
pub mod group_sums;
pub mod pelt;
pub mod rt;
pub mod runqueue;
pub mod select;
pub mod tournament;
pub mod uclamp;
pub mod util;
pub mod util_est_faster;

pub use cpumask::CpuMask;
