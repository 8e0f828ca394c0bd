//! What must hold for whatever bytes are read as a machine, or as a `/sys` tree: one clear error, or a machine that is
//! written as it was read.

use std::path::Path;
use wakelab_machine::{Files, InputError, MachineFile, import_files, import_lstopo};

const FILE: &str = "fuzzed.toml";
/// A tree of the corpus has some thousand files; more are cut off, so that inputs stay small.
const FILES_MAX: usize = 20_000;

/// Reads the bytes as a machine file; whether it was one.
pub fn machine(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match MachineFile::from_toml(text, FILE) {
        Ok(file) => {
            assert!(file.machine.topology.validate().is_ok(), "a machine's topology is sound");
            let again = MachineFile::from_toml(&file.to_toml(), FILE);
            assert_eq!(again.as_ref(), Ok(&file), "a machine is written as it was read");
            true
        }
        Err(error) => {
            assert!(error.path == Path::new(FILE), "the error names another file: {error}");
            refused(&error)
        }
    }
}

/// Reads the bytes as lines `PATH: CONTENT` of a tree below `/sys/devices/system`, and imports it; whether it gave a
/// machine.
pub fn sysfs(bytes: &[u8]) -> bool {
    match import_files(&tree(&String::from_utf8_lossy(bytes)), "fuzzed") {
        Ok(imported) => {
            assert!(imported.file.machine.topology.validate().is_ok(), "a machine's topology is sound");
            let read = MachineFile::from_toml(&imported.to_toml(), FILE);
            assert_eq!(read.as_ref(), Ok(&imported.file), "a machine is written as it was imported");
            true
        }
        Err(error) => {
            assert!(error.path.starts_with("devices/"), "the error names no file of the tree: {error}");
            assert!(error.hint.as_ref().is_none_or(|hint| !hint.contains("report")), "not the tree's fault: {error}");
            refused(&error)
        }
    }
}

/// Reads the bytes as what lstopo wrote; whether it gave a machine.
pub fn lstopo(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match import_lstopo(text, Path::new("fuzzed.xml"), "fuzzed") {
        Ok(imported) => {
            let read = MachineFile::from_toml(&imported.to_toml(), FILE);
            assert_eq!(read.as_ref(), Ok(&imported.file), "a machine is written as it was imported");
            true
        }
        Err(error) => {
            assert!(error.path == Path::new("fuzzed.xml"), "the error names another file: {error}");
            assert!(error.hint.as_ref().is_none_or(|hint| !hint.contains("report")), "not the file's fault: {error}");
            refused(&error)
        }
    }
}

fn refused(error: &InputError) -> bool {
    let message = error.to_string();
    assert!(!error.what.is_empty() && message.len() < 4096, "the error repeats the file: {} bytes", message.len());
    false
}

/// `{0-3,8}` in a path stands for each of these numbers, and `{}` in the content for the number.
fn tree(text: &str) -> Files {
    let mut files = Files::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((path, content)) = line.split_once(':') else { continue };
        for (path, number) in expanded(path) {
            if files.len() == FILES_MAX {
                return files;
            }
            let content = content.trim().replace("{}", &number) + "\n";
            files.insert(format!("devices/system/{path}"), content.into_bytes());
        }
    }
    files
}

fn expanded(path: &str) -> Vec<(String, String)> {
    let parts =
        path.split_once('{').and_then(|(before, rest)| rest.split_once('}').map(|(list, after)| (before, list, after)));
    let Some((before, list, after)) = parts else { return vec![(path.to_owned(), String::new())] };
    let numbers = list.split(',').flat_map(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (from.parse::<u32>().unwrap_or(1), to.parse::<u32>().unwrap_or(0));
        from..=to.min(from.saturating_add(255))
    });
    numbers.map(|number| (format!("{before}{number}{after}"), number.to_string())).collect()
}
