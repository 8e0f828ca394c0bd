//! The model against kernels in guests (docs/real-kernel.md): what is recorded there by `tools/vm/run`, and what
//! `wakelab conform` says of it.

mod balance_passes;
mod bars;
mod big;
mod blind;
mod blind_page;
mod check;
mod conform;
mod conformance;
mod grouped;
pub mod matrix;
mod scx_cost;
mod side_by_side;
mod wakeup_preempt;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Subcommand;

use crate::programs::{Bad, is_executable, program_here, root, run, said, variable};

/// What is compared.
#[derive(Subcommand)]
pub enum Vm {
    Check(check::Arguments),
    Big(big::Arguments),
    Matrix(matrix::Arguments),
    Conformance(conformance::Arguments),
    BalancePasses(balance_passes::Arguments),
    Grouped(grouped::Arguments),
    WakeupPreempt(wakeup_preempt::Arguments),
    ScxCost(scx_cost::Arguments),
    SideBySide(side_by_side::Arguments),
    Blind(blind::Arguments),
}

/// Runs what is named.
pub fn vm(what: Vm) -> Result<u8> {
    match what {
        Vm::Check(arguments) => check::run(&arguments),
        Vm::Big(arguments) => big::run(&arguments),
        Vm::Matrix(arguments) => matrix::run(&arguments),
        Vm::Conformance(arguments) => conformance::run(&arguments),
        Vm::BalancePasses(arguments) => balance_passes::run(&arguments),
        Vm::Grouped(arguments) => grouped::run(&arguments),
        Vm::WakeupPreempt(arguments) => wakeup_preempt::run(&arguments),
        Vm::ScxCost(arguments) => scx_cost::run(&arguments),
        Vm::SideBySide(arguments) => side_by_side::run(&arguments),
        Vm::Blind(arguments) => blind::run(&arguments),
    }
}

/// How long the loads are, from 1 to 9999.
fn scale(text: &str) -> Result<u32, String> {
    let expected = || format!("expected a SCALE from 1 to 9999, found '{text}'");
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|scale| digits && (1..=9999).contains(scale)).ok_or_else(expected)
}

/// The program that judges, of WAKELAB or of the release build.
fn wakelab() -> Result<PathBuf> {
    let path = variable("WAKELAB").map_or_else(|| root().join("target/release/wakelab"), PathBuf::from);
    if !is_executable(&path) {
        bail!(Bad(format!("{} is missing\n  hint: cargo build --release, or set WAKELAB", path.display())));
    }
    Ok(std::path::absolute(path)?)
}

/// The folder that was named, or a new one that stays.
fn folder(named: Option<&Path>, of: &str) -> Result<PathBuf> {
    let folder = match named {
        Some(folder) => std::path::absolute(folder)?,
        None => tempfile::Builder::new().prefix(&format!("wakelab-{of}-")).tempdir()?.keep(),
    };
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The words of a variable, which may be empty, or these.
fn words(variable: &str, otherwise: &str) -> Vec<String> {
    let words = std::env::var(variable).unwrap_or_else(|_| otherwise.to_owned());
    words.split_whitespace().map(str::to_owned).collect()
}

/// Kernels that are recorded.
fn kernels() -> Vec<String> {
    words("WAKELAB_KERNELS", "6.1 6.12 7.2")
}

/// QEMU 10, fetched if it is not here.
fn qemu10() -> Result<String> {
    said(program_here("tools/vm/fetch-qemu").arg("10"))
}

/// Records in a guest, by the arguments of `tools/vm/run`. An error if the guest fails.
fn record<const N: usize>(arguments: [&str; N]) -> Result<()> {
    match run(program_here("tools/vm/run").args(arguments))? {
        0 => Ok(()),
        code => bail!("tools/vm/run ended with {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::scale;

    #[test]
    fn a_scale_is_a_number_of_up_to_four_digits() {
        assert_eq!(scale("8"), Ok(8));
        assert_eq!(scale("9999"), Ok(9999));
        for wrong in ["0", "08", "10000", "-1", "+1", "8.5", ""] {
            assert_eq!(scale(wrong), Err(format!("expected a SCALE from 1 to 9999, found '{wrong}'")));
        }
    }
}
