//! `cargo xtask vm big`: one guest with very many CPUs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::Value;

use super::check::check;
use super::conform::{number, recordings};
use super::wakelab;
use crate::programs::{code_of, program_here, variable};

/// Checks a guest with 112 CPUs (56 cores of two threads)
///
/// At least 10,000 wake-ups are recorded, none is lost, the model agrees, and `wakelab stats` and `wakelab explain`
/// work on them. Keeps as `check` does.
#[derive(clap::Args)]
#[command(override_usage = "cargo xtask vm big [KERNEL [VM-ARGUMENTS...]]")]
pub struct Arguments {
    /// A kernel (7.2), and arguments of tools/vm/run
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Records and checks.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let (kernel, vm_arguments) = match arguments.words.split_first() {
        Some((kernel, rest)) => (kernel.as_str(), rest),
        None => ("7.2", &[][..]),
    };
    let work = tempfile::Builder::new().prefix("wakelab-big-").tempdir()?;
    let keep = variable("WAKELAB_KEEP").map_or_else(|| work.path().join("big"), PathBuf::from);
    let mut words: Vec<String> = [kernel, "1x1x56x2", "2", "--timeout", "1800"].map(str::to_owned).into();
    words.extend_from_slice(vm_arguments);
    words.extend(["--", "hackbench", "pipe"].map(str::to_owned));
    let mut result = check(&words, Some(&keep))?;
    let Ok(conformed) = fs::read_to_string(keep.join("conform.json")) else { return Ok(result) };
    let mut miss = |what: String| {
        println!("missed: {what}");
        result = 1;
    };
    let rows = number(&serde_json::from_str::<Value>(&conformed)?, "wakeups");
    if rows < 10_000 {
        miss(format!("10,000 wake-ups; there are {rows}"));
    }
    // The recorder says of each recording how much was lost.
    let lost = lost(&fs::read_to_string(keep.join("said"))?).map_or("unknown".to_owned(), |lost| lost.to_string());
    if lost != "0" {
        miss(format!("nothing lost; it is {lost}"));
    }
    let wakelab = wakelab()?;
    let all = recordings(&keep.join("rec"))?;
    let mut said = |name: &str, arguments: &[&str], files: &[PathBuf]| -> Result<String> {
        let (code, text) = output(&wakelab, arguments, files)?;
        if code != 0 {
            miss(format!("wakelab {name} ended with {code}"));
        }
        if text.lines().count() < 3 {
            miss(format!("three lines of wakelab {name}"));
        }
        Ok(text)
    };
    said("stats", &["stats"], &all)?;
    said("explain --summary", &["explain", "--summary"], &all)?;
    let explained = said("explain", &["explain", "--limit", "3"], &[keep.join("rec/pipe")])?;
    println!("{}", explained.lines().next().unwrap_or_default());
    println!("112 CPUs: {rows} wake-ups, {lost} lost");
    Ok(result)
}

/// What wakelab prints of recordings, with its exit code.
fn output(wakelab: &Path, arguments: &[&str], files: &[PathBuf]) -> Result<(u8, String)> {
    let output = program_here(wakelab).args(arguments).args(files).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout).context("wakelab printed no UTF-8")?;
    Ok((code_of(output.status), text))
}

/// The sum of what recordings lost (`1,234 lost`), if two or more of them say it.
fn lost(said: &str) -> Option<u64> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let numbers = words.windows(2).filter(|pair| pair[1].trim_end_matches([',', '.', ';', ')']) == "lost");
    let number = |word: &str| word.replace(|letter: char| !letter.is_ascii_digit(), "").parse().ok();
    let numbers: Vec<u64> = numbers.filter_map(|pair| number(pair[0])).collect();
    (numbers.len() >= 2).then(|| numbers.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::lost;

    #[test]
    fn what_was_lost_is_summed_if_both_say_it() {
        assert_eq!(lost("rec/a: 5 wake-ups (0 lost)\nrec/b: 7 wake-ups, 1,002 lost, 3 s"), Some(1002));
        assert_eq!(lost("rec/a: 5 wake-ups, 0 lost"), None);
        assert_eq!(lost("nothing is lost"), None);
    }
}
