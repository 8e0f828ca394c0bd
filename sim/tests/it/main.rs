//! The simulator's integration tests, which are one program.

mod balance_intervals;
mod calls;
mod clusters;
mod conservation;
mod exec;
mod fair;
mod fair_forms;
mod frequencies;
mod idle_cpus;
mod idle_states;
mod list;
mod newidle;
mod pelt_sums;
mod postings;
mod published_machines;
mod rt_app_examples;
mod run_queues;
mod sis_util_letter;
mod spin;
mod spread;
mod spread_by_load;
mod support;
mod sync;
mod unequal_cpus;
