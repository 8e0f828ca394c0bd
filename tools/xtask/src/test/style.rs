//! `./test style`, `./test format`: what the eye sees of a file.

use std::fs;

use anyhow::Result;

use super::not_run;
use crate::programs::{is_executable, on_path, program, root, run as run_program, run_all, tracked};

/// Columns that a line may have.
const MOST: usize = 120;

/// What scripts and settings are in.
const SCRIPTS: [&str; 13] = [
    "test",
    ".ci",
    "tools",
    "crates/record",
    "crates/scx-wakelab",
    "crates/scx-fetch",
    "crates/python",
    "crates/page/browser-test",
    "crates/playground/build",
    "crates/playground/browser-test",
    "crates/perfetto/check",
    "fuzz",
    "*.toml",
];

/// Lines with more than 120 columns, and what shellcheck says of the scripts.
pub fn run() -> Result<u8> {
    let mut long = Vec::new();
    // rustfmt leaves long comments and strings alone.
    for file in tracked(&["*.rs", "*.c", "*.h"])? {
        if !file.starts_with("crates/scx-wakelab/vmlinux/") {
            long.extend(lines(&file, |line| line.chars().count() > MOST)?);
        }
    }
    for file in tracked(&SCRIPTS)? {
        let data = [".md", ".json", ".lock", ".limits"].iter().any(|end| file.ends_with(end));
        if !data && !file.contains("/corpus/") {
            long.extend(lines(&file, is_long_comment)?);
        }
    }
    if !long.is_empty() {
        for line in long {
            eprintln!("{}", line.chars().take(160).collect::<String>());
        }
        eprintln!("./test style: the lines above have more than {MOST} columns");
        return Ok(1);
    }
    if !on_path("shellcheck") {
        return not_run("shellcheck is missing (lines have at most 120 columns)");
    }
    let mut shellcheck = program("shellcheck");
    // SC1091, SC2034, SC2154: variables of files that are sourced. SC2317 takes functions that are called by name for
    // dead. SC2120: functions whose arguments are optional. SC2054: QEMU's options have commas. SC2187: the guest's
    // shell.
    shellcheck.args(["-S", "warning", "-e", "SC1091,SC2034,SC2054,SC2120,SC2154,SC2187,SC2317"]);
    run_program(shellcheck.args(scripts()?))
}

/// The lines of a file for which this holds, as `file:number:line`. A file that is no text has none.
fn lines(file: &str, long: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let Ok(text) = String::from_utf8(fs::read(root().join(file))?) else { return Ok(Vec::new()) };
    let numbered = text.lines().enumerate().filter(|(_, line)| long(line));
    Ok(numbered.map(|(at, line)| format!("{file}:{}:{line}", at + 1)).collect())
}

/// Whether a line is a comment with more columns than it may have. A command may have them.
fn is_long_comment(line: &str) -> bool {
    let text = line.trim_start();
    let sign = if text.starts_with('#') { 1 } else { 2 };
    (text.starts_with('#') || text.starts_with("//")) && text.chars().count() - sign >= MOST
}

/// The executable files of the repository that a shell runs.
fn scripts() -> Result<Vec<String>> {
    let is_script = |file: &String| {
        let path = root().join(file);
        is_executable(&path) && fs::read(path).is_ok_and(|text| is_shell(text.split(|&byte| byte == b'\n').next()))
    };
    Ok(tracked(&[])?.into_iter().filter(is_script).collect())
}

/// Whether a first line names a shell.
fn is_shell(line: Option<&[u8]>) -> bool {
    let Some(line) = line.and_then(|line| line.strip_prefix(b"#!")) else { return false };
    let name = line.rsplit(|byte| !byte.is_ascii_alphanumeric()).next();
    name.is_some_and(|name| name == b"sh" || name == b"bash")
}

/// Whether all that is Rust is as rustfmt writes it.
pub fn format() -> Result<u8> {
    let cargo_fmt = |arguments: &[&str]| {
        let mut command = program("cargo");
        command.arg("fmt").args(arguments);
        command
    };
    let mut in_macros = program("rustfmt");
    in_macros.args(["--edition", "2024", "--check"]);
    in_macros.args(tracked(&["crates/workload/src/benchmark/*.rs", "crates/sched/src/select/policy/*.rs"])?);
    let scx = ["-p", "scx_wakelab", "-p", "wakelab-scx-live", "--check"];
    run_all(&mut [
        cargo_fmt(&["--all", "--check"]),
        // cargo fmt does not find modules that a macro declares.
        in_macros,
        cargo_fmt(&["--all", "--check", "--manifest-path", "crates/record/Cargo.toml"]),
        cargo_fmt(&[&scx[..], &["--manifest-path", "crates/scx-wakelab/Cargo.toml"]].concat()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_long_and_commands_are_not() {
        let words = "x".repeat(MOST);
        assert!(is_long_comment(&format!("    #{words}")) && is_long_comment(&format!("//{words}")));
        assert!(!is_long_comment(&words) && !is_long_comment(&format!("echo {words} # {words}")));
        assert!(!is_long_comment("# short") && !is_long_comment("") && !is_long_comment("/"));
    }

    #[test]
    fn shells_are_told_from_other_programs() {
        for shell in ["#!/bin/sh", "#!/usr/bin/env bash"] {
            assert!(is_shell(Some(shell.as_bytes())), "{shell}");
        }
        for other in ["#!/usr/bin/awk -f", "#!/usr/bin/env python3", "#!/bin/zsh", "//! sh", ""] {
            assert!(!is_shell(Some(other.as_bytes())), "{other}");
        }
    }
}
