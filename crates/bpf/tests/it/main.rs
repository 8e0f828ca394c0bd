//! The loader and the machine as their callers use them.

mod loader;
mod machine;
mod malformed;
mod reduced_btf;
mod variables;
