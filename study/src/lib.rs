//! What compares: the decision code against recorded kernels, and simulated kernels against each other.
//!
//! [`explain`] says of each recorded wake-up why the kernel chose its CPU; [`conform`] counts where the model chose what
//! the kernel chose; [`summary`] counts reasons; [`stats`] counts all that a recording or a simulated run tells;
//! [`picture`] draws one run;
//! [`replay`] asks what other features would have chosen; [`ablation`] counts what each rule and input of the model is worth.
//!
//! [`compare`] runs two feature sets on a simulated machine, as an [`experiment`] says; [`mechanisms`] does so with each
//! part of the simulator switched off in turn; [`sensitivity`] with the assumed constants changed; [`cache`] keeps their runs;
//! [`statistics`] says how far two means differ.
//!
//! All of them give data; `wakelab-report` turns it into text.

pub mod ablation;
pub mod cache;
pub mod compare;
pub mod conform;
pub mod decider;
pub mod experiment;
pub mod explain;
pub mod mechanisms;
pub mod picture;
mod published;
pub mod recordings;
pub mod replay;
pub mod reproduce;
pub mod sensitivity;
pub mod statistics;
pub mod stats;
pub mod summary;
mod time_ordered;
pub mod trace;

pub use decider::{AssumedInputs, Decider, DeciderError};
pub use recordings::{FileOutcome, Progress, SourceKinds};
