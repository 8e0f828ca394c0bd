//! The commands: arguments in, studies run, reports out.

pub mod compare;
pub mod conform;
pub mod explain;
pub mod help;
pub mod import;
pub mod kernel;
pub mod machine;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod stats;
pub mod trace;
pub mod trust;
pub mod workload;

use crate::output::Exit;
use anyhow::Context;
use std::path::PathBuf;
use wakelab_events::ReadError;
use wakelab_kernel::Switches;
use wakelab_study::{Decider, FileOutcome};

/// Returns the decider for the features of `--with`.
fn decider(with: Option<&Switches>) -> anyhow::Result<Decider> {
    match with {
        None => Ok(Decider::as_recorded()),
        Some(switches) => Decider::with(switches.clone())
            .context("--with")
            .map_err(|e| e.context_hint("`wakelab kernel show NAME` lists the features of a kernel")),
    }
}

/// The recordings that were named, and what could not be listed.
fn recordings(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<ReadError>) {
    wakelab_study::recordings::decision_files(paths)
}

/// The errors of all files, in order, after those of listing them.
fn all_errors(mut listing: Vec<ReadError>, outcomes: Vec<FileOutcome<()>>) -> Vec<ReadError> {
    listing.extend(outcomes.into_iter().filter_map(|outcome| outcome.error));
    listing
}

/// Bad input comes before what was found in the good.
fn exit(errors: &[ReadError], differs: bool) -> Exit {
    match (errors.is_empty(), differs) {
        (false, _) => Exit::BadInput,
        (true, true) => Exit::Differs,
        (true, false) => Exit::Done,
    }
}

/// Adds the next step to an error.
trait Hint {
    fn context_hint(self, hint: &str) -> Self;
}

impl Hint for anyhow::Error {
    fn context_hint(self, hint: &str) -> Self {
        anyhow::anyhow!("{self:#}\n  hint: {hint}")
    }
}
