//! `cargo xtask vm wakeup-preempt`: wake-up preemption.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::conform::{number, show, string, text};
use super::{folder, kernels, qemu10, record, scale, wakelab};
use crate::programs::{folders, root};

/// Records wake-up preemptions in a guest of each kernel and holds the model's against them
///
/// A run of all kernels at SCALE 4 or more writes docs/evidence/wakeup-preemption.md. Fails if a row differs.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long the loads are
    #[arg(default_value = "4", value_parser = scale)]
    scale: u32,
    /// Where recordings stay
    folder: Option<PathBuf>,
}

/// Records, compares, and writes the page.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let wakelab = wakelab()?;
    let out = folder(arguments.folder.as_deref(), "preempt")?;
    // In turns, by counted instructions: the queues are long, whatever else the host does.
    let qemu = qemu10()?;
    for kernel in kernels() {
        let to = out.join(&kernel);
        if !to.exists() {
            let get = format!("rec:{}", to.display());
            let script = format!(
                "RECORD_ARGS='--wakeup-preempt --decisions-only' guest-loads {} hackbench double message fork mixed \
                 buddies",
                arguments.scale
            );
            record([
                "--kernel",
                &kernel,
                "--topology",
                "1x1x4x1",
                "--cpu-accel",
                "counted",
                "--qemu",
                &qemu,
                "--get",
                &get,
                "--",
                &script,
            ])?;
        }
    }
    let recordings = recordings(&out)?;
    let said = text(&wakelab, &recordings)?;
    fs::write(out.join("conform.json"), &said)?;
    let said: Value = serde_json::from_str(&said).context("wakelab conform printed no JSON")?;
    let page = page(&said["preempts"]);
    fs::write(out.join("page.md"), &page)?;
    print!("{page}");
    let held = all_equal(&said["preempts"]);
    if !held {
        show(&wakelab, &["--disagreements", "3"], &recordings)?;
    }
    if arguments.scale >= 4 && std::env::var_os("WAKELAB_KERNELS").is_none() {
        fs::write(root().join("docs/evidence/wakeup-preemption.md"), page)?;
    }
    Ok(u8::from(!held))
}

/// The folders of kernels.
fn recordings(out: &Path) -> Result<Vec<PathBuf>> {
    let is_kernel = |folder: &PathBuf| {
        folder.file_name().is_some_and(|name| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit))
    };
    Ok(folders(out)?.into_iter().filter(is_kernel).map(|folder| folder.join("")).collect())
}

/// Whether something was compared, and all of it is equal.
fn all_equal(preempts: &Value) -> bool {
    number(preempts, "scored") > 0 && number(preempts, "scored") == number(preempts, "equal")
}

fn page(preempts: &Value) -> String {
    let page = include_str!("wakeup_preempt.md");
    let page = page.replace("{{kernels}}\n", &rows(&preempts["kernels"], "release"));
    page.replace("{{cases}}\n", &rows(&preempts["cases"], "case"))
}

/// A row for each of a list, by this key; where it is known, with what was not compared.
fn rows(of: &Value, key: &str) -> String {
    let row = |of: &Value| {
        let (scored, equal, preempted) = (number(of, "scored"), number(of, "equal"), number(of, "preempted"));
        let same = if equal == scored { "all".to_owned() } else { equal.to_string() };
        let rest = of["not_scored"].as_u64().map_or(String::new(), |rest| format!(" {rest} |"));
        format!("| {} | {} | {scored} | {same} | {preempted} |{rest}\n", string(of, "kernel"), string(of, key))
    };
    of.as_array().into_iter().flatten().map(row).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_are_those_of_the_page() {
        let preempts = json!({
            "scored": 20, "equal": 19,
            "kernels": [
                {"kernel": "v6.1", "release": "6.1.0", "scored": 20, "equal": 19, "preempted": 7, "not_scored": 5},
            ],
            "cases": [{"kernel": "v6.1", "case": "fork", "scored": 20, "equal": 20, "preempted": 7}],
        });
        assert_eq!(rows(&preempts["kernels"], "release"), "| v6.1 | 6.1.0 | 20 | 19 | 7 | 5 |\n");
        assert_eq!(rows(&preempts["cases"], "case"), "| v6.1 | fork | 20 | all | 7 |\n");
        assert!(!all_equal(&preempts) && !all_equal(&json!({"scored": 0, "equal": 0})));
        assert!(all_equal(&json!({"scored": 2, "equal": 2})));
    }

    #[test]
    fn the_page_is_that_of_the_evidence() {
        let committed = fs::read_to_string(root().join("docs/evidence/wakeup-preemption.md")).expect("a page");
        let prose = |page: &str| -> Vec<String> {
            page.lines().filter(|line| !line.starts_with("| v") && !line.starts_with("{{")).map(str::to_owned).collect()
        };
        assert_eq!(prose(&page(&Value::Null)), prose(&committed));
    }
}
