//! `/sys` trees for tests: each is one file of lines `PATH: CONTENT`.
//!
//! A path is below `devices/system`, or below the root if it begins with `/`. `{0-3,8}` in it stands for each of these
//! numbers, and `{}` in the content for the number.

use std::fs;
use tempfile::TempDir;
use wakelab_machine::{Cache, Files, Imported, import_files};
use wakelab_sched::domain::CpuTopology;

macro_rules! trees {
    ($($name:literal),* $(,)?) => {
        /// The trees.
        pub const TREES: &[(&str, &str)] = &[$(($name, include_str!(concat!($name, ".tree")))),*];
    };
}

trees!["zen-ccx", "smt-off", "holes", "no-numa", "hybrid", "phone"];

/// A tree, in memory: a test makes hundreds of them.
pub struct Sysfs(pub Files);

impl Sysfs {
    /// An empty one.
    pub fn empty() -> Self {
        Sysfs(Files::new())
    }

    /// That of the file.
    pub fn of(name: &str) -> Self {
        let (_, text) = TREES.iter().find(|(known, _)| *known == name).expect("a tree of that name");
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.fold(Sysfs::empty(), |sysfs, line| {
            let (path, content) = line.split_once(':').unwrap_or_else(|| panic!("no colon: {line}"));
            sysfs.with(path, content.trim())
        })
    }

    /// The same with other content of some files.
    pub fn with(mut self, path: &str, content: &str) -> Self {
        for (path, number) in expanded(path) {
            self.0.insert(full(&path), (content.replace("{}", &number) + "\n").into_bytes());
        }
        self
    }

    /// The same without some files or folders.
    pub fn without(mut self, path: &str) -> Self {
        for (path, _) in expanded(path) {
            let (path, before) = (full(&path), self.0.len());
            self.0.retain(|file, _| {
                file.strip_prefix(&path).is_none_or(|rest| !rest.is_empty() && !rest.starts_with('/'))
            });
            assert!(self.0.len() < before, "there is no {path}");
        }
        self
    }

    /// The tree in a folder.
    pub fn unpacked(&self) -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, content) in &self.0 {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
        folder
    }
}

/// A path from the root of the tree.
pub fn full(path: &str) -> String {
    path.strip_prefix('/').map_or_else(|| format!("devices/system/{path}"), str::to_owned)
}

/// The paths that a path with `{0-3,8}` stands for, each with its number.
fn expanded(path: &str) -> Vec<(String, String)> {
    let Some((before, rest)) = path.split_once('{') else { return vec![(path.to_owned(), String::new())] };
    let (list, after) = rest.split_once('}').expect("a closing brace");
    let number = |text: &str| text.parse::<u32>().unwrap_or_else(|e| panic!("{path}: {e}"));
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    };
    list.split(',').flat_map(range).map(|n| (format!("{before}{n}{after}"), n.to_string())).collect()
}

/// The machine of a tree.
pub fn imported(sysfs: &Sysfs) -> Imported {
    import_files(&sysfs.0, "mine").unwrap_or_else(|e| panic!("{e}"))
}

/// The machine of one of the trees.
pub fn of(name: &str) -> Imported {
    imported(&Sysfs::of(name))
}

/// One thing of each CPU.
pub fn each<T>(imported: &Imported, f: impl Fn(&CpuTopology) -> T) -> Vec<T> {
    imported.file.machine.topology.cpus.iter().map(f).collect()
}

/// Name, size, CPUs that share one, which CPUs.
pub fn caches(imported: &Imported) -> Vec<(&str, u64, u32, String)> {
    let row = |c: &Cache| c.cpus.as_ref().map_or("all".to_owned(), ToString::to_string);
    imported.file.machine.caches.iter().map(|c| (c.name.as_str(), c.size_kib, c.shared_by, row(c))).collect()
}

/// Holds that something was noted.
#[track_caller]
pub fn noted(imported: &Imported, note: &str) {
    assert!(imported.notes.iter().any(|line| line.contains(note)), "no {note:?} in {:#?}", imported.notes);
}

/// Holds that the tree is refused at this file with a message of these parts, and a hint.
#[track_caller]
pub fn refused(sysfs: &Sysfs, file: &str, parts: &[&str]) {
    let error = import_files(&sysfs.0, "mine").expect_err("the tree should be refused");
    let message = error.to_string();
    assert_eq!(error.path, std::path::Path::new(&full(file)), "{message}");
    assert!(error.hint.is_some(), "{message}");
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

/// The same of one of the trees with other content of a file.
#[track_caller]
pub fn refused_with(tree: &str, file: &str, content: &str, parts: &[&str]) {
    refused(&Sysfs::of(tree).with(file, content), file, parts);
}
