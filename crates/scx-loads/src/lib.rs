//! The loads that run under a scheduler of sched_ext, live (`crates/scx-live`) and simulated (`crates/scx-simulated`),
//! the guest's machine, and what is counted.
//!
//! It may use `machine`, `workload` and what `scx-bpf` knows of loaders. It never loads a scheduler, and prints
//! nothing.

pub mod doings;
mod load;

pub use load::{LOADS, Load};

use anyhow::{Context, Result, bail};
use doings::Quantities;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scx_bpf::BpfScheduler;

/// The guest's kernel.
pub const KERNEL: &str = "v7.2";
const GUEST: &str = include_str!("../guest.toml");

/// A scheduler's run of the loads.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Ran {
    /// The quantities, by load.
    pub loads: BTreeMap<String, Quantities>,
    /// Why there is nothing, or not all.
    pub failed: Option<String>,
    /// The kernel's counts meanwhile, by load (`sched_ext/root/events`).
    pub events: BTreeMap<String, BTreeMap<String, i64>>,
    /// The kernel's log of sched_ext.
    pub log: Vec<String>,
}

/// By scheduler.
pub type Results = BTreeMap<String, Ran>;

/// The schedulers and the loads to run: the arguments of both programs.
#[derive(Debug, clap::Args)]
pub struct What {
    /// Objects: NAME.bpf.o
    #[arg(required = true)]
    objects: Vec<PathBuf>,
    /// The loads; all if left out
    #[arg(long, value_delimiter = ',')]
    loads: Vec<String>,
    /// Where the result is written
    #[arg(long)]
    out: PathBuf,
}

impl What {
    /// Runs the loads under each scheduler with `run`, and writes the results.
    ///
    /// # Errors
    /// Fails if a load is not known, or if the results cannot be written. What `run` could not do is in the results.
    pub fn each(&self, run: fn(&Path, &[Load]) -> Ran) -> Result<()> {
        if let Some(unknown) = self.loads.iter().find(|name| !LOADS.iter().any(|load| load.name == name.as_str())) {
            bail!("unknown load '{unknown}'; expected one of {}", LOADS.map(|load| load.name).join(", "));
        }
        let asked = |load: &Load| self.loads.is_empty() || self.loads.iter().any(|name| name == load.name);
        let loads: Vec<Load> = LOADS.into_iter().filter(asked).collect();
        let mut results = Results::new();
        for object in &self.objects {
            let ran = run(object, &loads);
            if let Some(failed) = &ran.failed {
                eprintln!("{}: {failed}", scheduler_name(object));
            }
            results.insert(scheduler_name(object), ran);
            // What has been done is there if the guest ends before its time.
            let text = serde_json::to_string_pretty(&results)?;
            fs::write(&self.out, text).with_context(|| self.out.display().to_string())?;
        }
        Ok(())
    }
}

/// The guest's machine (`tools/vm/scx-live` starts it), and its kernel.
///
/// # Errors
/// Fails if `guest.toml` is wrong.
pub fn guest() -> Result<(Machine, &'static Preset)> {
    let machine = Machine::from_toml(GUEST, "guest.toml").map_err(|error| anyhow::anyhow!("{error}"))?;
    let kernel = Preset::get(KERNEL).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((machine, kernel))
}

/// The name of an object's file, without `.bpf.o`.
pub fn scheduler_name(object: &Path) -> String {
    let name = object.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(".bpf.o").unwrap_or(&name).to_owned()
}

/// Opens a scheduler's object.
///
/// # Errors
/// Fails if the file cannot be read, or holds no scheduler.
pub fn opened(object: &Path) -> Result<BpfScheduler> {
    let bytes = fs::read(object).with_context(|| object.display().to_string())?;
    BpfScheduler::new(&scheduler_name(object), &bytes, &scheduler_name(object)).map_err(anyhow::Error::msg)
}
