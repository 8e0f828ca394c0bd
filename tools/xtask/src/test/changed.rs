//! `./test changed`: the tests of the crates that differ from the upstream branch.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

use super::not_run;
use crate::programs::{program, root, run as run_program, said};

/// Runs the tests of these crates.
pub fn run() -> Result<u8> {
    let packages: Vec<String> = folders(&files()?).into_iter().filter_map(package).collect();
    if packages.is_empty() {
        return not_run("no crate differs from the upstream branch");
    }
    println!("crates that differ: {}", packages.join(" "));
    let named = packages.iter().flat_map(|name| ["-p", name]);
    run_program(program("cargo").args(["test", "--locked"]).args(named))
}

/// Files that differ from the upstream branch, or from the last commit without one.
fn files() -> Result<String> {
    let git = |arguments: &[&str]| {
        let mut git = program("git");
        git.args(arguments);
        git
    };
    let quiet = |arguments: &[&str]| {
        let output = git(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let base =
        match quiet(&["merge-base", "HEAD", "@{upstream}"]).or_else(|| quiet(&["merge-base", "HEAD", "origin/main"])) {
            Some(base) => base,
            None => said(&mut git(&["rev-parse", "HEAD~1"]))?,
        };
    let differ = said(&mut git(&["diff", "--name-only", &base]))?;
    let new = said(&mut git(&["ls-files", "--others", "--exclude-standard"]))?;
    Ok(format!("{differ}\n{new}"))
}

/// The folders of crates of this workspace that have one of these files.
fn folders(files: &str) -> BTreeSet<String> {
    let folder = |file: &str| {
        let mut parts = file.split('/');
        match (parts.next()?, parts.next()?, parts.next()?) {
            // They are of other workspaces; the scheduler's headers are what scx-policy holds against the model.
            ("crates", "record" | "scx-live", _) => None,
            ("crates", "scx-wakelab", _) => Some("crates/scx-policy".to_owned()),
            ("crates", name, _) => Some(format!("crates/{name}")),
            ("tools", "xtask", _) => Some("tools/xtask".to_owned()),
            _ => None,
        }
    };
    files.lines().filter_map(folder).collect()
}

/// The package of a folder, if it is still there.
fn package(folder: String) -> Option<String> {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).ok()?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
    Some(name.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_the_crates_whose_tests_run() {
        let files = "crates/sim/src/lib.rs\ncrates/sim/Cargo.toml\ncrates/record/src/main.rs\nREADME.md\n\
                     crates/scx-wakelab/src/bpf/wake_wide.h\ntools/xtask/src/main.rs\ntools/deny.toml\n";
        let expected = ["crates/scx-policy", "crates/sim", "tools/xtask"];
        assert!(folders(files).iter().eq(&expected));
        assert_eq!(package("crates/sim".to_owned()).as_deref(), Some("wakelab-sim"));
        assert_eq!(package("crates/gone".to_owned()), None);
    }
}
