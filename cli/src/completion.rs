//! What shells complete: names of machines, kernels, workloads and switches, besides the arguments themselves. The
//! shell asks the program (`COMPLETE=bash wakelab`), so that the names are those of the program that is installed.

use clap_complete::CompletionCandidate;
use clap_complete::engine::{ArgValueCompleter, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use std::ffi::OsStr;
use wakelab_kernel::{Feature, Preset};

/// The variable by which a shell asks.
const VARIABLE: &str = "COMPLETE";

/// Answers a shell that asks for completions, and ends the program then.
pub fn complete() {
    clap_complete::CompleteEnv::with_factory(<crate::Args as clap::CommandFactory>::command).var(VARIABLE).complete();
}

/// The script that makes a shell ask; `None` if there is none for that shell.
pub fn script(shell: &str) -> Option<std::io::Result<Vec<u8>>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let completer = shells.completer(shell)?;
    let written = completer.write_registration(VARIABLE, "wakelab", "wakelab", "wakelab", &mut script);
    Some(written.map(|()| script))
}

/// Names that begin as `typed` does, in any case.
fn that_begin<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    let begins = |name: &&str| name.get(..typed.len()).is_some_and(|head| head.eq_ignore_ascii_case(typed));
    names.into_iter().filter(begins).map(CompletionCandidate::new).collect()
}

/// Names, or the path of a file.
fn or_file(typed: &OsStr, names: Vec<String>) -> Vec<CompletionCandidate> {
    let text = typed.to_str().unwrap_or_default();
    let mut found = that_begin(text, names.iter().map(String::as_str));
    found.extend(PathCompleter::file().complete(typed));
    found
}

/// Machines by name, or files.
pub fn machine() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        or_file(typed, wakelab_machine::names().iter().map(|&name| name.to_owned()).collect())
    })
}

/// Workloads by name, or files.
pub fn workload() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| or_file(typed, wakelab_workload::names()))
}

/// Experiments by name, or files.
pub fn experiment() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| or_file(typed, crate::embedded::experiments()))
}

/// Pages of the book.
pub fn page() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let names = crate::commands::docs::names();
        that_begin(typed.to_str().unwrap_or_default(), names.iter().map(String::as_str))
    })
}

/// Kernels.
pub fn kernel() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| that_begin(typed.to_str().unwrap_or_default(), Preset::names()))
}

/// Features behind the last comma, switched on or off.
pub fn switches() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let typed = typed.to_str().unwrap_or_default();
        let before = &typed[..typed.rfind(',').map_or(0, |comma| comma + 1)];
        let modelled = Feature::ALL.iter().filter(|feature| feature.modelled());
        let words = modelled.flat_map(|feature| [feature.name().to_owned(), format!("NO_{feature}")]);
        let words: Vec<String> = words.map(|word| format!("{before}{word}")).collect();
        that_begin(typed, words.iter().map(String::as_str))
    })
}
