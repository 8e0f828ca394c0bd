//! The machine: instructions, calls, maps, kernel functions, faults, limits.

mod anything;
mod asm;
mod calls;
mod faults;
mod instructions;
mod kernel;
mod kfuncs;
mod maps;
