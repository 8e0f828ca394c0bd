//! A second implementation of the run queues, slow and obvious, and the random operations that compare the two.

pub mod drive;
pub mod fast;
pub mod slow;
pub mod slow_cfs;
pub mod slow_eevdf;
pub mod states;
pub mod system;
