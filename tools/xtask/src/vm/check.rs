//! `cargo xtask vm check`: one guest against the model.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::bars::{Bars, judge};
use super::conform;
use super::wakelab;
use crate::programs::{Bad, program_here, run as run_program, tee, variable};

/// Records loads in one guest and holds the model's choices against the kernel's
///
/// Fails where a bar is missed: the share of wake-ups that are scored, and that of the scored which are equal (3 if
/// only too little is scored). What it recorded and found goes to the folder WAKELAB_KEEP, if that is set:
/// `conform.json` is there only if the guest got to its end.
#[derive(clap::Args)]
#[command(override_usage = "cargo xtask vm check KERNEL TOPOLOGY SCALE [VM-ARGUMENTS... [-- LOAD...]]")]
pub struct Arguments {
    /// A kernel, a topology, a scale, arguments of tools/vm/run, and loads of guest-loads
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, num_args = 3.., required = true)]
    words: Vec<String>,
}

/// Checks, and keeps what was found.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let keep = variable("WAKELAB_KEEP").map(PathBuf::from);
    check(&arguments.words, keep.as_deref())
}

/// The same for other tasks.
pub fn check(words: &[String], keep: Option<&Path>) -> Result<u8> {
    let [kernel, topology, scale, rest @ ..] = words else {
        bail!(Bad("usage: cargo xtask vm check KERNEL TOPOLOGY SCALE [VM-ARGUMENTS... [-- LOAD...]]".to_owned()));
    };
    let (vm_arguments, loads) = split(rest);
    let accel = accel(vm_arguments);
    let wakelab = wakelab()?;
    let work = tempfile::Builder::new().prefix("wakelab-check-").tempdir()?;
    let mut recorded = work.path().join("rec");
    let mut guest = program_here("tools/vm/run");
    guest.args(["--kernel", kernel, "--topology", topology]).args(vm_arguments);
    guest.arg("--get").arg(format!("rec:{}", recorded.display()));
    guest.args(["--", "guest-loads", scale]).args(loads);
    let code = tee(guest, &work.path().join("said"), false)?;
    if code != 0 {
        return Ok(code);
    }
    let text = conform::text(&wakelab, &conform::recordings(&recorded)?)?;
    if let Some(keep) = keep {
        fs::write(work.path().join("bars"), format!("{accel}\n"))?;
        fs::write(work.path().join("conform.json"), &text)?;
        move_to(work.path(), keep)?;
        recorded = keep.join("rec");
    }
    let conformed = serde_json::from_str(&text).context("wakelab conform printed no JSON")?;
    let judged = judge(&conformed, Bars::asked(accel)?)?;
    print!("{}", judged.text);
    if judged.code == 1 {
        conform::show(&wakelab, &[], &conform::recordings(&recorded)?)?;
    }
    Ok(judged.code)
}

/// Arguments of `tools/vm/run`, and loads behind `--`.
fn split(words: &[String]) -> (&[String], &[String]) {
    match words.iter().position(|word| word == "--") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[]),
    }
}

/// How virtual CPUs run, by the arguments of `tools/vm/run`.
fn accel(vm_arguments: &[String]) -> &str {
    let at = vm_arguments.iter().rposition(|word| word == "--cpu-accel");
    at.map_or("single", |at| vm_arguments.get(at + 1).map_or("", String::as_str))
}

/// Moves what is in a folder to another, which is there as a whole or not at all.
fn move_to(from: &Path, keep: &Path) -> Result<()> {
    fs::create_dir_all(keep)?;
    let keep = keep.canonicalize()?;
    let (beside, name) = (keep.parent().context("a folder")?, keep.file_name().context("a folder")?);
    let part = tempfile::Builder::new().prefix(name).tempdir_in(beside)?;
    for entry in fs::read_dir(from)? {
        // It may be on another file system.
        if run_program(program_here("mv").arg(entry?.path()).arg(part.path()))? != 0 {
            bail!("{} cannot be written", part.path().display());
        }
    }
    fs::remove_dir_all(&keep)?;
    fs::rename(part.keep(), &keep)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_behind_two_dashes() {
        let words = ["--cpu-accel", "multi", "--", "groups", "fork"].map(str::to_owned);
        let (vm, loads) = split(&words);
        assert_eq!((accel(vm), loads), ("multi", &words[3..]));
        assert_eq!(split(&words[2..]), (&[][..], &words[3..]));
        assert_eq!((accel(&words[3..]), split(&words[3..]).1.len()), ("single", 0));
    }

    #[test]
    fn what_is_kept_replaces_what_was_there() {
        let work = tempfile::tempdir().expect("a folder");
        let (from, keep) = (work.path().join("from"), work.path().join("deep/keep"));
        fs::create_dir_all(from.join("rec/pipe")).expect("folders");
        fs::create_dir_all(&keep).expect("folders");
        fs::write(keep.join("old"), "").expect("a file");
        move_to(&from, &keep).expect("moved");
        assert!(keep.join("rec/pipe").is_dir() && !keep.join("old").exists());
        assert_eq!(fs::read_dir(work.path().join("deep")).expect("a folder").count(), 1);
    }
}
