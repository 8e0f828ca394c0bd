//! What the recorder and the sched_ext scheduler do with their own process, and with the command that they run.
//!
//! Both are workspaces of their own, which need clang and libelf; this needs neither.
//!
//! It may use rustix and signal-hook. It never knows BPF, nor what the command does.

pub mod capabilities;
pub mod command;
pub mod signals;
