//! Run queues that tests drive.

pub mod cpu;
pub mod eevdf;
pub mod shares;
