//! What scx_wakelab decides, as a recording: the records of its ring buffer, the features that they name, the domains
//! of the machine, and the rows that are written.
//!
//! It may use `events`, whose rows it makes, and `sched` for the domains. It never loads a program, and knows no BPF.

pub mod decision_rows;
pub mod domains;
pub mod features;
pub mod wire;
