//! All integration tests of the crate, linked into one binary.

mod machine_state;
mod measure;
mod regret;
mod search_stats;
mod support;
