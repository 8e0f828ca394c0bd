//! `scx-live`: schedulers of sched_ext under a real kernel. docs/real-kernel.md describes its use.
//!
//! `run` loads the objects, one after the other, runs each load under each of them, and writes what was counted, which
//! `scx-simulated table` compares with the same in simulated time. `load` keeps one object enabled. `mend` gives a
//! kernel for guests back what its build has lost of its types.
//!
//! It may use `scx-bpf` for what a loader sets, `scx-loads`, and libbpf-rs. It never simulates.

mod kfunc_types;
mod load;
mod recorder;
mod scheduler;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wakelab_scx_core::ops::{Host, ProgramCosts};
use wakelab_scx_loads::{Load, Ran, What, doings, guest, opened, scheduler_name};

#[derive(Parser)]
#[command(about = "Schedulers of sched_ext under a real kernel")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Loads each object under the running kernel, and runs the loads under it (as root, in a guest)
    Run(What),
    /// Loads one object and keeps it enabled until SIGINT or SIGTERM
    Load {
        /// The object
        object: PathBuf,
    },
    /// Writes a kernel whose types describe all functions of sched_ext as programs call them
    Mend {
        /// The kernel, uncompressed (`crates/scx-wakelab/vmlinux`)
        vmlinux: PathBuf,
        /// The file to write
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Run(what) => what.each(live).map(|()| ExitCode::SUCCESS),
        Command::Load { object } => keep(&object),
        Command::Mend { vmlinux, out } => mended(&vmlinux, &out),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("scx-live: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The settings that the loader of an object makes for the guest.
fn loading(object: &Path) -> Result<wakelab_scx_bpf::Live> {
    let (machine, kernel) = guest()?;
    let rules = kernel.core.ext.context("the kernel has no sched_ext")?;
    let here = std::thread::available_parallelism().map_or(0, usize::from);
    if here != machine.topology.cpus.len() {
        bail!("this machine has {here} CPUs; expected the guest's {}", machine.topology.cpus.len());
    }
    let hz = u64::from(kernel.hz.value);
    // Nothing is run here.
    let costs = ProgramCosts { insn_ps: 0, call: 0, map: 0, atomic: 0 };
    let host = Host { topology: &machine.topology, rules: &rules, kernel: kernel.name, hz, seed: 1, costs };
    opened(object)?.live(&host).map_err(anyhow::Error::msg)
}

fn live(object: &Path, loads: &[Load]) -> Ran {
    let mut ran = Ran::default();
    let before = scheduler::log().len();
    let result = (|| {
        let scheduler = scheduler::Scheduler::start(object, &loading(object)?)?;
        for load in loads {
            let workload = load.workload()?;
            let mut place = MaybeUninit::uninit();
            let recorder = recorder::Recorder::start(&mut place)?;
            let counted: BTreeMap<_, _> = scheduler::events().into_iter().collect();
            let (running, from) = load::start(&workload, recorder::now)?;
            std::thread::sleep(Duration::from_nanos(load.time));
            let to = recorder::now();
            running.end();
            let mut events: BTreeMap<_, _> = scheduler::events().into_iter().collect();
            events.iter_mut().for_each(|(name, count)| *count -= counted.get(name).copied().unwrap_or(0));
            let (doings, queued) = recorder.finish(from, to)?;
            let bursts = load.name == "order";
            let found = doings::quantities(&doings, &queued, &workload.tasks, to - from, bursts);
            ran.loads.insert(load.name.to_owned(), found);
            ran.events.insert(load.name.to_owned(), events);
            if !scheduler.is_enabled() {
                bail!("{}: the kernel has disabled it", load.name);
            }
        }
        anyhow::Ok(())
    })();
    // Disabling takes a moment.
    std::thread::sleep(Duration::from_millis(100));
    ran.log = scheduler::log().split_off(before);
    ran.failed = result.err().map(|error| format!("{error:#}"));
    ran
}

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: i32) {
    STOP.store(true, Ordering::Relaxed);
}

fn keep(object: &Path) -> Result<ExitCode> {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler stores a flag and does nothing else.
        unsafe { libc::signal(signal, stop as *const () as libc::sighandler_t) };
    }
    let before = scheduler::log().len();
    let scheduler = scheduler::Scheduler::start(object, &loading(object)?)?;
    println!("{} is enabled", scheduler_name(object));
    while scheduler.is_enabled() && !STOP.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let ended = !scheduler.is_enabled();
    for (name, count) in scheduler::events() {
        println!("{name} {count}");
    }
    drop(scheduler);
    scheduler::log().split_off(before).iter().for_each(|line| println!("{line}"));
    Ok(if ended { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn mended(vmlinux: &Path, out: &Path) -> Result<ExitCode> {
    let mut kernel = fs::read(vmlinux).with_context(|| vmlinux.display().to_string())?;
    let lost = kfunc_types::whole(&mut kernel).with_context(|| vmlinux.display().to_string())?;
    fs::write(out, kernel).with_context(|| out.display().to_string())?;
    eprintln!("scx-live: {} functions got new descriptions: {}", lost.len(), lost.join(", "));
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_scx_loads::LOADS;

    #[test]
    fn each_load_can_be_run_live() {
        for load in LOADS {
            load::check(&load.workload().unwrap()).unwrap();
        }
    }
}
