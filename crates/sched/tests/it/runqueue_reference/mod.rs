//! A second, slow implementation of the run queues, written from the definition of the classes with lists and scans,
//! and the random operations on which it is compared with the run queues.

pub mod fast;
pub mod random_states;
pub mod slow_cfs;
pub mod slow_eevdf;
mod slow_task;
pub mod system;
