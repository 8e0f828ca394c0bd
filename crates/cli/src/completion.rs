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
        behind(typed, typed.rfind(',').map_or(0, |comma| comma + 1), features())
    })
}

/// What a side of a comparison has behind its name and the last comma: features, or the side's own kernel.
pub fn side() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let typed = typed.to_str().unwrap_or_default();
        let word = typed.rfind(',').map_or(0, |comma| comma + 1);
        let own_kernel = typed[word..].rfind("kernel=").map(|at| word + at);
        // What stands before an equals sign, other than `kernel`, is the name of the side.
        let begin = own_kernel.unwrap_or_else(|| typed[word..].find('=').map_or(word, |equals| word + equals + 1));
        let kernels = Preset::names().into_iter().map(|name| format!("kernel={name}"));
        behind(typed, begin, features().chain(kernels))
    })
}

/// The features that the model acts on, on and off.
fn features() -> impl Iterator<Item = String> {
    let modelled = Feature::ALL.iter().filter(|feature| feature.modelled());
    modelled.flat_map(|feature| [feature.name().to_owned(), format!("NO_{feature}")])
}

/// Words in place of what is typed from `begin` on.
fn behind(typed: &str, begin: usize, words: impl Iterator<Item = String>) -> Vec<CompletionCandidate> {
    let words: Vec<String> = words.map(|word| format!("{}{word}", &typed[..begin])).collect();
    that_begin(typed, words.iter().map(String::as_str))
}
