//! `wakelab completions` and `wakelab man`: what the arguments say of themselves, for shells and for man.

use crate::args::Args;
use crate::output::{Exit, hint, print};
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;

/// Prints what a shell needs.
pub fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "wakelab", &mut script);
    print(&String::from_utf8(script).context("the completions")?)?;
    Ok(Exit::Done)
}

/// Writes a page for each command.
pub fn man(folder: &Path) -> anyhow::Result<Exit> {
    clap_mangen::generate_to(Args::command(), folder).map_err(|e| {
        anyhow::anyhow!("{}: {e}\n  hint: name a folder that exists and can be written", folder.display())
    })?;
    hint(format_args!("man -l {} shows the first page", folder.join("wakelab.1").display()));
    Ok(Exit::Done)
}
