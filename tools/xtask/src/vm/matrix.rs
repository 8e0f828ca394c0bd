//! `cargo xtask vm matrix`: kernels, topologies and loads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::conform::number;
use super::{conformance, folder, kernels, qemu10, scale, wakelab, words};
use crate::programs::{program_here, root, run as run_program, said, this_program, variable};

/// Checks kernels, topologies and loads, one guest for each kernel and topology
///
/// SCALE 8 gives more than 100,000 wake-ups of each kernel and takes about half an hour on two cores; such a run of all
/// writes docs/evidence/conformance.md. Guests that do not get to their end are run again; bars that are missed end it
/// with 1, after all cells. Recordings stay in WAKELAB_MATRIX, if that is set: a cell that held its bars there is not
/// run again, and one that did not is kept as CELL.missed beside its next run.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long the loads are
    #[arg(default_value = "8", value_parser = scale)]
    scale: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { scale: 8 }
    }
}

/// What chooses a part of the matrix.
const PARTS: [&str; 4] = ["WAKELAB_KERNELS", "WAKELAB_TOPOLOGIES", "WAKELAB_MULTI", "WAKELAB_BIG"];

/// Records, checks, and writes the page.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let wakelab = wakelab()?;
    let out = folder(variable("WAKELAB_MATRIX").map(PathBuf::from).as_deref(), "matrix")?;
    let topologies = words("WAKELAB_TOPOLOGIES", "1x1x4x2 2x1x4x2,nodes=2 1x2x4x2");
    let multi = words("WAKELAB_MULTI", "1x1x4x2");
    let scale = arguments.scale.to_string();
    let mut held = true;

    let qemu = variable("WAKELAB_QEMU").unwrap_or_else(|| "qemu-system-x86_64".to_owned());
    // Where CPUs truly run at once: also with the QEMU that is the more reliable there.
    let mut programs = vec![qemu.clone()];
    if !multi.is_empty() {
        match qemu10() {
            Ok(qemu) => programs.push(qemu),
            Err(_) => {
                eprintln!("cargo xtask vm matrix: without QEMU 10");
                held = false;
            }
        }
    }
    for kernel in kernels() {
        for topology in &topologies {
            let cell = Cell { kernel: &kernel, topology, accel: "single", qemu: &qemu };
            held &= cell.run(&out, &["check", &kernel, topology, &scale])?;
        }
        for topology in &multi {
            for qemu in &programs {
                let cell = Cell { kernel: &kernel, topology, accel: "multi", qemu };
                held &= cell.run(&out, &["check", &kernel, topology, &scale, "--cpu-accel", "multi"])?;
            }
        }
    }
    for kernel in words("WAKELAB_BIG", "7.2") {
        let cell = Cell { kernel: &kernel, topology: "1x1x56x2", accel: "single", qemu: &qemu };
        held &= cell.run(&out, &["big", &kernel])?;
    }

    let (page, complete) = conformance::page(&wakelab, &out)?;
    held &= complete;
    fs::write(out.join("conformance.md"), &page)?;
    if arguments.scale >= 8 && PARTS.iter().all(|part| std::env::var_os(part).is_none()) {
        let (text, enough) = enough(&wakeups(&out)?);
        print!("{text}");
        held &= enough;
        let evidence = root().join("docs/evidence");
        fs::write(evidence.join(".conformance.md"), page)?;
        fs::rename(evidence.join(".conformance.md"), evidence.join("conformance.md"))?;
        println!("docs/evidence/conformance.md is written; recordings are in {}", out.display());
    } else {
        println!("a part of the matrix, or a small one: {}", out.join("conformance.md").display());
    }
    Ok(u8::from(!held))
}

/// A guest of the matrix.
struct Cell<'a> {
    kernel: &'a str,
    topology: &'a str,
    accel: &'a str,
    qemu: &'a str,
}

impl Cell<'_> {
    /// Runs it by this task, unless it has held its bars already: whether it holds them.
    fn run(&self, out: &Path, task: &[&str]) -> Result<bool> {
        let version = said(program_here(self.qemu).arg("--version"))?;
        let version = version_of(&version).with_context(|| format!("{} names no version", self.qemu))?;
        let name = format!("{}-{}-{}-{version}", self.kernel, self.topology, self.accel);
        let [folder, missed, log] = ["", ".missed", ".log"].map(|end| out.join(format!("{name}{end}")));
        if folder.join("held").exists() {
            return Ok(true);
        }
        if folder.join("conform.json").exists() {
            remove(&missed)?;
            fs::rename(&folder, &missed)?;
        }
        for _ in 0..3 {
            println!("== {name}");
            remove(&folder)?;
            let to = File::create(&log)?;
            let mut command = this_program();
            command.arg("vm").args(task).args(["--timeout", "3600"]).stdout(to.try_clone()?).stderr(to);
            if run_program(command.env("WAKELAB_KEEP", &folder).env("WAKELAB_QEMU", self.qemu))? == 0 {
                fs::write(folder.join("held"), "")?;
                break;
            }
            let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
            let lines: Vec<&str> = said.lines().collect();
            eprintln!("{}", lines[lines.len().saturating_sub(30)..].join("\n"));
            // A miss is a result, which another run would only hide.
            if folder.join("conform.json").exists() {
                break;
            }
        }
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("cell"), [self.kernel, self.topology, self.accel, version].join("\t") + "\n")?;
        Ok(folder.join("held").exists())
    }
}

/// Removes a folder that may be there.
fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// The version in what `qemu-system-x86_64 --version` prints.
fn version_of(said: &str) -> Option<&str> {
    let (_, version) = said.lines().next()?.split_once("version ")?;
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    Some(&version[..end]).filter(|version| !version.is_empty())
}

/// Wake-ups of each kernel in what the matrix has left in a folder, in the order of the cells.
fn wakeups(out: &Path) -> Result<Vec<(String, u64)>> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for cell in conformance::cells(out)? {
        let Ok(conformed) = fs::read_to_string(cell.folder.join("conform.json")) else { continue };
        let wakeups = number(&serde_json::from_str::<Value>(&conformed)?, "wakeups");
        match sums.iter_mut().find(|(kernel, _)| *kernel == cell.kernel) {
            Some((_, sum)) => *sum += wakeups,
            None => sums.push((cell.kernel, wakeups)),
        }
    }
    Ok(sums)
}

/// Whether at least two kernels have 100,000 wake-ups or more, and how many each has.
fn enough(wakeups: &[(String, u64)]) -> (String, bool) {
    let mut text: String = wakeups.iter().map(|(kernel, sum)| format!("{kernel}: {sum} wake-ups\n")).collect();
    let enough = wakeups.iter().filter(|(_, sum)| *sum >= 100_000).count() >= 2;
    if !enough {
        text.push_str("missed: 100,000 wake-ups of two kernels\n");
    }
    (text, enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_kernels_are_enough() {
        let sums = |second| [("6.1".to_owned(), 100_000), ("7.2".to_owned(), second)];
        assert_eq!(enough(&sums(100_000)), ("6.1: 100000 wake-ups\n7.2: 100000 wake-ups\n".to_owned(), true));
        assert!(enough(&sums(99_999)).0.ends_with("missed: 100,000 wake-ups of two kernels\n"));
    }

    #[test]
    fn a_qemu_names_its_version() {
        assert_eq!(version_of("QEMU emulator version 7.2.22 (Debian 1:7.2)\nCopyright"), Some("7.2.22"));
        assert_eq!(version_of("QEMU emulator version 10.0.2"), Some("10.0.2"));
        assert_eq!(version_of("QEMU"), None);
    }
}
