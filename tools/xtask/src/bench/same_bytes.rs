//! `cargo xtask bench same-bytes`: one seed is one run, whatever built it.

use std::path::Path;

use anyhow::Result;

use super::examples;
use crate::programs::{program, said};

/// Runs the digests of both builds, prints them, and says where they differ.
pub fn run() -> Result<u8> {
    let digests = |folder: &Path| -> Result<String> {
        let digest = |name: &str| said(&mut program(folder.join(name)));
        Ok(digest("event_digest")? + "\n" + &digest("scheduler_digest")?)
    };
    let built = said(&mut program("crates/cli/built"))?;
    let dev = digests(&Path::new(&built).join("examples"))?;
    let release = digests(&examples()?)?;
    println!("{release}");
    let differ = differences(&dev, &release);
    if differ.is_empty() {
        return Ok(0);
    }
    eprintln!(
        "cargo xtask bench same-bytes: the dev profile (<) and the release profile (>) simulate different things:"
    );
    eprint!("{differ}");
    Ok(1)
}

/// The lines that differ, as `diff` shows them.
fn differences(dev: &str, release: &str) -> String {
    let (mut dev, mut release) = (dev.lines(), release.lines());
    let mut text = String::new();
    loop {
        let (left, right) = (dev.next(), release.next());
        if left.is_none() && right.is_none() {
            return text;
        }
        if left != right {
            text.extend(left.map(|line| format!("< {line}\n")));
            text.extend(right.map(|line| format!("> {line}\n")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn only_lines_that_differ_are_shown() {
        assert_eq!(differences("a 1\nb 2", "a 1\nb 2"), "");
        assert_eq!(differences("a 1\nb 2", "a 1\nb 3\nc 4"), "< b 2\n> b 3\n> c 4\n");
    }
}
