//! The tests of the command line, in one program. `guide` stands apart because it registers a policy for the whole
//! process.

mod analysis;
mod bombs;
mod book;
mod calibrate;
mod capture;
mod commands;
mod compare_bad_input;
mod conservation;
mod events;
mod fit;
mod interrupt;
mod machine_import;
mod outputs;
mod outside_a_clone;
mod pages;
mod pages_of_nothing;
mod pages_of_runs;
mod recorded_files;
mod rt_app;
mod simulate;
mod support;
mod terminal;
mod trace;
mod trust;
mod waits;
