//! Schedulers in BPF: their own object code, run by the machine of `wakelab-bpf` under the core of `wakelab-scx-core`.
//!
//! ```text
//! object of a scheduler ─┐
//! BTF of the kernel ─────┼─▶ BpfScheduler ─▶ Ops: each operation is a call of a program
//! what its loader sets ──┘         │                 │ kernel functions
//!                             KernelObjects          ▼
//!                             task_struct, cgroup .. kfuncs ─▶ Ext
//! ```
//!
//! A scheduler is not rewritten: what runs is what its author's loader would load. Its programs see a kernel whose
//! structs lie as the kernel's BTF says, of which the fields in [`FIELDS`] have values. A program that reads
//! another field, or calls a kernel function that is not here, is refused by name when it is loaded.

mod bpf_ops;
mod cgroups;
mod kernel_objects;
mod kfuncs;
mod loader;
mod loaders;
#[cfg(test)]
mod test_support;
mod user_space;

pub use kernel_objects::FIELDS;
pub use kfuncs::KFUNCS;
pub use loader::{BpfScheduler, Live};
