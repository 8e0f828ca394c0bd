//! What scx_wakelab decides, as a recording: the records of its ring buffer, the features that they name, the domains
//! of the machine, and the rows that are written.

pub mod decision_rows;
pub mod domains;
pub mod features;
pub mod wire;
