//! The machine: instructions, calls, maps, kernel functions, faults, limits.

mod anything;
mod asm;
mod calls;
#[path = "../../../../fuzz/check_bpf.rs"]
mod check;
mod faults;
mod hostile;
mod instructions;
mod kernel;
mod kfuncs;
mod maps;
