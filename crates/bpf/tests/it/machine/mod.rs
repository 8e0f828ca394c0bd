//! The machine: instructions, calls, maps, kernel functions, faults, limits.

mod anything;
mod calls;
mod faults;
mod hostile;
mod instructions;
mod kfuncs;
mod maps;
