//! The playground: the simulator in a browser. One page, with this crate as WebAssembly in it, shows what each CPU
//! does, how wake-ups search, and how a run falls from one of its two states into the other.
//!
//! ```text
//! the page ──▶ choices()       what can be named
//!          ──▶ Description ──▶ Side ──▶ Run ──▶ advance(), frame() …        one side, one worker of the browser
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `description` | [`Description`]: a side as the page describes it, and [`Side`], with every name looked up |
//! | `run` | [`Run`]: a side that is simulated step by step |
//! | `watch` | what happens in a step: wake-ups, searches, reasons, latencies |
//! | `frame` | [`Frame`]: what the page draws after a step |
//! | `choices` | [`choices()`]: the names that the page offers |
//! | `browser` | what JavaScript calls; in WebAssembly only |
//! | `page` | [`page()`]: the file that the program writes; not in WebAssembly |
//!
//! The numbers are those of `wakelab compare`: the same simulator, [`Measure`](wakelab_measure::Measure) and seeds.
//! Steps change nothing, and neither does what is watched.

#[cfg(target_family = "wasm")]
mod browser;
mod choices;
mod description;
mod frame;
#[cfg(not(target_family = "wasm"))]
mod page;
mod run;
mod watch;

pub use choices::{Choices, Kind, WorkloadChoice, choices};
pub use description::{Description, Problem, Side};
pub use frame::{Begun, Cpus, Finished, Frame, Llc};
#[cfg(not(target_family = "wasm"))]
pub use page::{BYTES_MAX, PageError, page};
pub use run::Run;
pub use watch::{Bin, Step};
