//! The simulator's integration tests, which are one program.

mod calls;
mod clusters;
mod conservation;
mod exec;
mod fair;
mod fair_forms;
mod list;
mod published_machines;
mod rt_app_examples;
mod sis_util_letter;
mod spin;
mod spread;
mod spread_by_load;
mod support;
mod sync;
