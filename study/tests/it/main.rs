//! The tests of the studies, in one program. Two stand apart: `memory` replaces the allocator, and `own_policy`
//! registers a policy for the whole process.

mod balance_passes;
mod bounds;
mod cache;
mod calibrate;
mod capture;
mod captured_groups;
mod compare;
mod compare_simulated;
mod experiment_files;
mod experiment_names;
mod fit;
mod fuzz_corpus;
mod grouped;
mod hotplug;
mod matrix;
mod mechanisms;
mod picture;
mod progress;
mod published;
mod record;
mod recordings;
mod recovery;
mod regret;
mod reproduce;
mod reproduce_frequency;
mod reproduce_table_folder;
mod score;
mod sensitivity;
mod sequential_tasks;
mod sis_util;
mod statistics;
mod support;
mod sweep;
mod until;
mod wakeup_preempt;
