//! What compares: the decision code against recorded kernels.
//!
//! [`explain`] says of each recorded wake-up why the kernel chose its CPU; [`conform`] counts where the model chose what
//! the kernel chose; [`summary`] counts reasons; [`ablation`] counts what each rule and input of the model is worth.
//! All of them give data; `wakelab-report` turns it into text.

pub mod ablation;
pub mod conform;
pub mod explain;
pub mod files;
pub mod question;
pub mod summary;
mod walk;

pub use question::{Question, QuestionError};
pub use walk::{FileOutcome, Progress};
