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
pub mod assumed;
pub mod cache;
pub mod compare;
pub mod conform;
mod csv_table;
pub mod experiment;
pub mod explain;
pub mod files;
mod kinds;
mod lanes;
pub mod mechanisms;
mod near;
pub mod picture;
pub mod question;
pub mod replay;
pub mod reproduce;
pub mod sensitivity;
pub mod statistics;
pub mod stats;
pub mod summary;
pub mod trace;
mod walk;

pub use assumed::Assumed;
pub use kinds::Kinds;
pub use question::{Question, QuestionError};
pub use walk::{FileOutcome, Progress};
