//! `cargo xtask vm grouped`: tasks in control groups and in autogroups.

use std::path::PathBuf;

use anyhow::Result;

use super::check::check;
use super::{folder, kernels, scale, words};

/// Records tasks in control groups and in autogroups in guests of each kernel, and checks them as `check` does
///
/// Fails where a choice differs.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long the loads are
    #[arg(default_value = "4", value_parser = scale)]
    scale: u32,
    /// Where recordings stay; what is there is not recorded again
    folder: Option<PathBuf>,
}

/// Records and checks.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let out = folder(arguments.folder.as_deref(), "grouped")?;
    let mut result = 0;
    for kernel in kernels() {
        for topology in words("WAKELAB_TOPOLOGIES", "1x1x4x2 2x1x2x2,nodes=2") {
            let keep = out.join(format!("{kernel}-{topology}"));
            if keep.join("conform.json").exists() {
                continue;
            }
            println!("== {kernel} {topology}");
            let scale = arguments.scale.to_string();
            let words = [&kernel, &topology, &scale, "--timeout", "3600", "--", "groups", "autogroup"];
            if check(&words.map(str::to_owned), Some(&keep))? != 0 {
                result = 1;
            }
        }
    }
    Ok(result)
}
