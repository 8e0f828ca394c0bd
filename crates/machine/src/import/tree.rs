//! The files of a `/sys` tree, in a folder or in memory.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::ops::RangeInclusive;
use std::path::Path;
use wakelab_input::{InputError, parse_sysfs_list, parse_sysfs_mask};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::MAX_CPUS;

/// The folder of the CPUs.
pub(super) const CPU: &str = "devices/system/cpu";

/// The folder of the NUMA nodes.
pub(super) const NODE: &str = "devices/system/node";

/// The next step if a file is missing or damaged.
pub(super) const SAVE: &str = "docs/machines.md lists the files that are read and how to save a tree";

/// The next step if files contradict each other.
pub(super) const AGAIN: &str =
    "the tree contradicts itself: save it again while no CPU goes online or offline, or correct the file";

/// A `/sys` tree. All paths are relative to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tree<'a> {
    Folder(&'a Path),
    Files(&'a Files),
}

impl Tree<'_> {
    /// Returns an error in a file.
    pub(super) fn error(self, path: &str, what: impl Into<String>) -> InputError {
        InputError::new(self.name(path), what)
    }

    /// Returns what messages call a file or folder.
    pub(super) fn name(self, path: &str) -> String {
        match self {
            Tree::Folder(root) => root.join(path).display().to_string(),
            Tree::Files(_) => path.to_owned(),
        }
    }

    /// Returns the error that a file contradicts another one.
    pub(super) fn contradiction(self, path: &str, what: impl Into<String>) -> InputError {
        self.error(path, what).with_hint(AGAIN)
    }

    /// Returns whether there is a file or folder.
    pub(super) fn has(self, path: &str) -> bool {
        match self {
            Tree::Folder(root) => root.join(path).exists(),
            Tree::Files(files) => files.contains_key(path) || below(files, &format!("{path}/")).next().is_some(),
        }
    }

    /// Returns a file's text. Returns `None` if there is no such file.
    pub(super) fn text(self, path: &str) -> Result<Option<String>, InputError> {
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
        let text =
            String::from_utf8(text).map_err(|_| wrong("expected text, found bytes that are not UTF-8".into()))?;
        // sysfs reports each file as 4096 bytes long; tar fills the bytes that it did not find with zeros.
        Ok(Some(text.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned()))
    }

    /// Reads a file that must be there.
    pub(super) fn need<T>(
        self,
        path: &str,
        expected: &str,
        read: impl FnOnce(Self, &str) -> Result<Option<T>, InputError>,
    ) -> Result<T, InputError> {
        read(self, path)?
            .ok_or_else(|| self.error(path, format!("the file is missing; expected {expected}")).with_hint(SAVE))
    }

    /// Returns a file's whole number. Returns `None` if there is no such file.
    pub(super) fn number(self, path: &str, limits: &RangeInclusive<i64>) -> Result<Option<i64>, InputError> {
        self.text(path)?.map(|text| self.number_in(path, &text, limits)).transpose()
    }

    /// Returns a whole number of a file's text.
    pub(super) fn number_in(self, path: &str, text: &str, limits: &RangeInclusive<i64>) -> Result<i64, InputError> {
        text.parse().ok().filter(|number| limits.contains(number)).ok_or_else(|| {
            let (low, high) = (limits.start(), limits.end());
            let what = format!("expected a whole number from {low} to {high}, found {}", shown(text));
            self.error(path, what).with_hint(SAVE)
        })
    }

    /// Returns a file's list of CPUs, lowest first. Returns `None` if there is no such file.
    pub(super) fn cpus(self, path: &str) -> Result<Option<Vec<Cpu>>, InputError> {
        self.list(path, "CPUs")
    }

    /// Returns a file's list of NUMA nodes, lowest first. Returns `None` if there is no such file.
    pub(super) fn nodes(self, path: &str) -> Result<Option<Vec<u32>>, InputError> {
        self.list(path, "nodes")
    }

    fn list(self, path: &str, what: &str) -> Result<Option<Vec<u32>>, InputError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        parse_sysfs_list(&text, what, MAX_CPUS).map(Some).map_err(|what| self.error(path, what).with_hint(SAVE))
    }

    /// Returns the CPUs of a file that holds a mask, lowest first. Returns `None` if there is no such file.
    pub(super) fn cpumask(self, path: &str) -> Result<Option<Vec<Cpu>>, InputError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        parse_sysfs_mask(&text, "CPUs", MAX_CPUS).map(Some).map_err(|what| self.error(path, what).with_hint(SAVE))
    }

    /// Returns the numbers of the folder's entries that are `prefix` and a number, lowest first.
    pub(super) fn numbered(self, folder: &str, prefix: &str) -> Result<Vec<u32>, InputError> {
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

/// The file that has as a mask what `path` has as a list, if the kernel writes one.
pub(super) fn mask_file(path: &str) -> Option<String> {
    if let Some(folder) = path.strip_suffix("shared_cpu_list") {
        return Some(format!("{folder}shared_cpu_map"));
    }
    if let Some(folder) = path.strip_suffix("cpulist") {
        return Some(format!("{folder}cpumap"));
    }
    path.strip_suffix("_list").map(str::to_owned)
}

/// A path as notes name it for all CPUs: `cpu*/topology/core_id`.
pub(super) fn pattern(path: &str) -> String {
    let short = path
        .strip_prefix(CPU)
        .or(path.strip_prefix(NODE))
        .or(path.strip_prefix("devices/system"))
        .unwrap_or(path)
        .trim_start_matches('/');
    let component = |part: &str| {
        let name = part.trim_end_matches(|c: char| c.is_ascii_digit());
        if name.len() < part.len() { format!("{name}*") } else { part.to_owned() }
    };
    short.split('/').map(component).collect::<Vec<_>>().join("/")
}

/// Returns the text that was found, if it is short and one line.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}...`", line[..end].escape_debug()),
        None if line.len() < text.len() => format!("`{} ...`", line.escape_debug()),
        None => format!("`{}`", line.escape_debug()),
    }
}

/// The files of a `/sys` tree, by their path below it (`devices/system/cpu/online`).
pub type Files = BTreeMap<String, Vec<u8>>;

/// The longest file that is read: the list of 8192 CPUs takes at most 48 KiB.
const LONGEST: u64 = 1 << 20;

/// The paths that begin with `prefix`, without it.
fn below<'a>(files: &'a Files, prefix: &str) -> impl Iterator<Item = &'a str> {
    let prefix = prefix.to_owned();
    let from = files.range(prefix.clone()..);
    from.map_while(move |(path, _)| path.strip_prefix(&prefix))
}

/// A file's content.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    wakelab_input::files::open_file(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

/// The names of a folder's entries; none if there is no such folder.
fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}
