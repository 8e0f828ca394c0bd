//! Tests of the presets, their features and their flags.

mod features;
mod presets;
mod sd_flags;
