//! Reading the files of a `/sys` tree.

use super::files::{Files, below, names, read};
use super::list;
use crate::MachineError;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::Path;
use wakelab_sched::cpumask::Cpu;

/// Where CPUs are.
pub(super) const CPU: &str = "devices/system/cpu";

/// Where NUMA nodes are.
pub(super) const NODE: &str = "devices/system/node";

/// What to do about a file that is missing or damaged.
pub(super) const SAVE: &str = "docs/machines.md says which files are read and how to save a tree";

/// What to do about files that say different things.
pub(super) const AGAIN: &str =
    "the tree contradicts itself: save it again while no CPU goes online or offline, or mend the file";

/// A `/sys` tree. All paths are relative to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tree<'a> {
    Folder(&'a Path),
    Files(&'a Files),
}

impl Tree<'_> {
    /// An error in a file.
    pub(super) fn error(self, path: &str, what: impl Into<String>) -> MachineError {
        MachineError { file: self.name(path), line: None, what: what.into(), hint: None }
    }

    /// How messages call a file or folder.
    pub(super) fn name(self, path: &str) -> String {
        match self {
            Tree::Folder(root) => root.join(path).display().to_string(),
            Tree::Files(_) => path.to_owned(),
        }
    }

    /// Two files that say different things; the error is in the first.
    pub(super) fn contradiction(self, path: &str, what: impl Into<String>) -> MachineError {
        self.error(path, what).with_hint(AGAIN)
    }

    /// Whether there is a file or folder.
    pub(super) fn has(self, path: &str) -> bool {
        match self {
            Tree::Folder(root) => root.join(path).exists(),
            Tree::Files(files) => files.contains_key(path) || below(files, &format!("{path}/")).next().is_some(),
        }
    }

    /// A file's text, if there is such a file.
    pub(super) fn text(self, path: &str) -> Result<Option<String>, MachineError> {
        let wrong = |what: String| self.error(path, what).with_hint(SAVE);
        let text = match self {
            Tree::Folder(root) => read(&root.join(path)),
            Tree::Files(files) => files.get(path).cloned().ok_or(ErrorKind::NotFound.into()),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(wrong(format!("expected a file that can be read: {error}"))),
        };
        let text = String::from_utf8(text).map_err(|_| wrong("expected text, found bytes that are no UTF-8".into()))?;
        // A file of sysfs is said to be 4096 bytes long; tar fills what it did not find with zeros.
        Ok(Some(text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()))
    }

    /// A file that must be there.
    pub(super) fn need<T>(
        self,
        path: &str,
        expected: &str,
        read: impl FnOnce(Self, &str) -> Result<Option<T>, MachineError>,
    ) -> Result<T, MachineError> {
        read(self, path)?
            .ok_or_else(|| self.error(path, format!("the file is missing; expected {expected}")).with_hint(SAVE))
    }

    /// A file's whole number, if there is such a file.
    pub(super) fn number(self, path: &str, limits: &RangeInclusive<i64>) -> Result<Option<i64>, MachineError> {
        self.text(path)?.map(|text| self.number_in(path, &text, limits)).transpose()
    }

    /// A whole number of a file.
    pub(super) fn number_in(self, path: &str, text: &str, limits: &RangeInclusive<i64>) -> Result<i64, MachineError> {
        text.parse().ok().filter(|number| limits.contains(number)).ok_or_else(|| {
            let (low, high) = (limits.start(), limits.end());
            let what = format!("expected a whole number from {low} to {high}, found {}", shown(text));
            self.error(path, what).with_hint(SAVE)
        })
    }

    /// A file's list of CPUs or nodes, if there is such a file.
    pub(super) fn list(self, path: &str) -> Result<Option<Vec<Cpu>>, MachineError> {
        let parse = |text: String| list::parse(&text).map_err(|what| self.error(path, what).with_hint(SAVE));
        self.text(path)?.map(parse).transpose()
    }

    /// The numbers of the folder's entries that are `prefix` and a number, lowest first.
    pub(super) fn numbered(self, folder: &str, prefix: &str) -> Result<Vec<u32>, MachineError> {
        let mut numbers: Vec<u32> = match self {
            Tree::Folder(root) => match names(&root.join(folder)) {
                Ok(names) => names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect(),
                Err(error) => {
                    let what = format!("expected a folder that can be read: {error}");
                    return Err(self.error(folder, what).with_hint(SAVE));
                }
            },
            Tree::Files(files) => below(files, &format!("{folder}/{prefix}"))
                .filter_map(|rest| rest.split('/').next()?.parse().ok())
                .collect(),
        };
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }
}

/// What was found, if that is short and one line.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}...`", line[..end].escape_debug()),
        None if line.len() < text.len() => format!("`{} ...`", line.escape_debug()),
        None => format!("`{}`", line.escape_debug()),
    }
}
