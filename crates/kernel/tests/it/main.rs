//! Tests of the presets, their features and their flags.

mod features;
mod only_here;
mod presets;
mod sd_flags;
