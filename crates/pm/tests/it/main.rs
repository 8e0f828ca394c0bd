//! The integration tests of frequency and idle governors, which are one program.

mod governors;
mod idle;
mod invariance;
mod power;
mod properties;
mod schedutil;
mod support;
mod vectors_invariance;
mod vectors_schedutil;
