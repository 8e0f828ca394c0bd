//! A BPF machine in user space: it loads objects as clang compiles them, and runs their programs.
//!
//! ```text
//! bytes of an object ─▶ Object::parse ─▶ Object::link(kernel's BTF) ─▶ Image ─▶ Machine::new ─▶ Machine::call
//!                        ELF, BTF         CO-RE, calls, maps                     memory, maps     instructions
//!                                                                                    ▲                │
//!                                                                       Kernel: what is not BPF's own ┘
//! ```
//!
//! The machine knows BPF: instructions, maps, helpers, cpumasks, timers, arenas. It knows no scheduler: the kernel
//! functions of sched_ext, the clock and the current CPU come from its caller, as a [`Kernel`](machine::Kernel). A
//! program that reads or writes memory that is not its own, or that runs for too long, ends with a
//! [`Fault`](machine::Fault) that names the line of its source. It cannot harm its caller, nor use more of its memory
//! or time than [`Limits`](machine::Limits) say: whatever a program, a helper or a kernel function makes the host do or
//! keep is counted before. So is what reading and linking an object takes.

pub mod btf;
mod budget;
pub mod core_relo;
mod decode;
mod error;
mod fault;
mod format;
mod helpers;
pub mod image;
mod interpreter;
pub mod kfuncs;
mod link;
pub mod machine;
mod map_def;
mod maps;
pub mod memory;
mod object;
pub mod reduced_btf;
mod struct_ops;
mod variables;

pub use error::LoadError;
pub use link::{Kconfig, LinkOptions};
pub use object::{Extern, ExternKind, Object};
pub use variables::VariableError;
