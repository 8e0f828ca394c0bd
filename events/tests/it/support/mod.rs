//! What several tests write: a simulated run and a recording.

pub mod rows;
pub mod run;
