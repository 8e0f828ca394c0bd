//! What tasks do: programs, and models of the benchmarks that are made of them.
//!
//! Work is in nanoseconds at capacity 1024 and nominal frequency, on a core whose SMT sibling is idle. Nothing here knows
//! a machine; an affinity is a list of CPUs that the user gave.

mod program;

pub use program::{Channel, Op, Param, Program, Task, Work, Workload};
