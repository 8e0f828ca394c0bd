//! `wakelab completions` and `wakelab man`: the description of the arguments, for shells and for man.

use crate::out_file::OutFile;
use crate::output::{Exit, hint, print_as_is};
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::{Path, PathBuf};

pub const COMPLETIONS_EXAMPLE: &str = "\
Example:
  wakelab completions bash >wakelab.bash";

pub const MAN_EXAMPLE: &str = "\
Example:
  wakelab man .        and then: man -l wakelab.1";

/// `wakelab completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh.
    #[arg(value_enum, hide_possible_values = true)]
    shell: Shell,
}

/// `wakelab man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// An existing folder.
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Prints the completion script of a shell.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let shell = args.shell.to_string();
    let script = crate::completion::script(&shell)
        .with_context(|| format!("{shell}: there are no completions for this shell"))??;
    print_as_is(&String::from_utf8(script).context("the completions")?)?;
    Ok(Exit::Done)
}

/// Writes the pages of a command and of those below it.
fn pages(command: clap::Command, folder: &Path) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        pages(below.clone(), folder)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    let file = OutFile::in_folder("FOLDER", &folder.join(page.get_filename()))?;
    file.write_with(|mut to| Ok(to.write_all(&text)?))
}

/// Writes a manual page for each command.
pub fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    let mut root = crate::Args::command().disable_help_subcommand(true);
    root.build();
    pages(root, folder)?;
    hint(format_args!("man -l {} shows the first page", folder.join("wakelab.1").display()));
    Ok(Exit::Done)
}
