//! Tests of imports, by their public interface.

mod files;
mod real_files;
mod text;
