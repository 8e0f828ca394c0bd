//! The integration tests of machines: one program, because each program is linked for itself.

mod calibration;
mod counts;
mod docs;
mod ensemble;
mod fuzz_corpus;
mod import;
mod import_contradictions;
mod import_errors;
mod import_fallbacks;
mod import_format;
mod import_here;
mod import_lstopo;
mod import_power;
mod import_random;
mod import_shapes;
mod machines;

mod power;
mod power_errors;
mod published_machines;
mod round_trip;
mod scaled;
mod support;
mod topology_errors;
mod value_errors;
