//! `scx-live`: schedulers of sched_ext under a real kernel and in the simulator. docs/real-kernel.md describes its use.
//!
//! `run` loads the objects of a folder, one after the other, runs each load under each of them, and writes what was
//! counted. `simulate` does the same in simulated time. `table` sets several results side by side. `decisions`
//! simulates scx_wakelab alone, and writes what it records. `mend` gives a kernel for guests back what its build has
//! lost of its types.

#[path = "../../src/decision_rows.rs"]
mod decision_rows;
mod decisions;
mod doings;
#[path = "../../src/domains.rs"]
mod domains;
#[allow(dead_code, reason = "shared with scx_wakelab, which also switches features")]
#[path = "../../src/features.rs"]
mod features;
mod kfunc_types;
mod load;
mod loads;
mod recorder;
mod scheduler;
mod simulated;
mod table;
#[path = "../../src/wire.rs"]
mod wire;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use doings::Quantities;
use loads::{LOADS, Load};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wakelab_ext::ops::{Host, ProgramCosts};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scheduler::BpfScheduler;

#[derive(Parser)]
#[command(about = "Schedulers of sched_ext under a real kernel and in the simulator")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Loads each object under the kernel that runs here, and runs the loads under it (as root, in a guest)
    Run(What),
    /// Simulates the same
    Simulate(What),
    /// Loads one object and keeps it enabled until SIGINT or SIGTERM
    Load {
        /// The object
        object: PathBuf,
    },
    /// Writes a kernel whose types describe all functions of sched_ext as programs call them
    Mend {
        /// The kernel, uncompressed (`scx/vmlinux`)
        vmlinux: PathBuf,
        /// Where it is written
        out: PathBuf,
    },
    /// Simulates scx_wakelab, and writes its decisions as `scx_wakelab --record` does: a recording for each machine
    Decisions {
        /// Its object, such as `wakelab compare --with scx:scx/src/bpf/main.bpf.c` leaves in its cache
        object: PathBuf,
        /// The folder, which is made
        out: PathBuf,
    },
    /// Compares results of `run` with one of `simulate`, as Markdown
    Table {
        /// The result of `simulate`
        simulated: PathBuf,
        /// Results of `run`, one a boot
        #[arg(required = true)]
        live: Vec<PathBuf>,
        /// Exit with 1 if one of these differs: scheduler/load/quantity, `*` for any
        #[arg(long)]
        require: Vec<String>,
    },
}

#[derive(clap::Args)]
struct What {
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

/// A scheduler's run of a load.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ran {
    /// What was counted, by load.
    loads: BTreeMap<String, Quantities>,
    /// Why there is nothing, or not all.
    failed: Option<String>,
    /// What the kernel counted meanwhile, by load (`sched_ext/root/events`).
    events: BTreeMap<String, BTreeMap<String, i64>>,
    /// The kernel's log of sched_ext.
    log: Vec<String>,
}

/// By scheduler.
type Results = BTreeMap<String, Ran>;

/// The guest's kernel, and its machine.
const KERNEL: &str = "v7.2";
const GUEST: &str = include_str!("../guest.toml");

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Run(what) => each(&what, live),
        Command::Simulate(what) => each(&what, simulated),
        Command::Decisions { object, out } => opened(&object).and_then(|scheduler| decisions::record(scheduler, &out)),
        Command::Load { object } => keep(&object),
        Command::Mend { vmlinux, out } => mended(&vmlinux, &out),
        Command::Table { simulated, live, require } => compare(&simulated, &live, &require),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("scx-live: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn guest() -> Result<(Machine, &'static Preset)> {
    let machine = Machine::from_toml(GUEST, "guest.toml").map_err(|error| anyhow::anyhow!("{error}"))?;
    let kernel = Preset::get(KERNEL).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok((machine, kernel))
}

fn scheduler_name(object: &Path) -> String {
    let name = object.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(".bpf.o").unwrap_or(&name).to_owned()
}

fn opened(object: &Path) -> Result<BpfScheduler> {
    let bytes = fs::read(object).with_context(|| object.display().to_string())?;
    BpfScheduler::new(&scheduler_name(object), &bytes, &scheduler_name(object)).map_err(anyhow::Error::msg)
}

fn each(what: &What, run: fn(&Path, &[Load]) -> Ran) -> Result<ExitCode> {
    if let Some(unknown) = what.loads.iter().find(|name| !LOADS.iter().any(|load| load.name == name.as_str())) {
        bail!("unknown load '{unknown}'; expected one of {}", LOADS.map(|load| load.name).join(", "));
    }
    let asked = |load: &Load| what.loads.is_empty() || what.loads.iter().any(|name| name == load.name);
    let loads: Vec<Load> = LOADS.into_iter().filter(asked).collect();
    let mut results = Results::new();
    for object in &what.objects {
        let ran = run(object, &loads);
        if let Some(failed) = &ran.failed {
            eprintln!("scx-live: {}: {failed}", scheduler_name(object));
        }
        results.insert(scheduler_name(object), ran);
        // What has been done is there if the guest ends before its time.
        fs::write(&what.out, serde_json::to_string_pretty(&results)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn simulated(object: &Path, loads: &[Load]) -> Ran {
    let mut ran = Ran::default();
    let result = (|| {
        let (machine, kernel) = guest()?;
        let scheduler = opened(object)?;
        for load in loads {
            let workload = load.workload()?;
            let found = simulated::simulate(&scheduler, &machine, kernel, load, &workload, 1);
            ran.loads.insert(load.name.to_owned(), found.with_context(|| load.name.to_owned())?);
        }
        anyhow::Ok(())
    })();
    ran.failed = result.err().map(|error| format!("{error:#}"));
    ran
}

/// What the loader of an object sets on the guest.
fn loading(object: &Path) -> Result<wakelab_scheduler::Live> {
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
    eprintln!("scx-live: {} functions are described anew: {}", lost.len(), lost.join(", "));
    Ok(ExitCode::SUCCESS)
}

fn compare(simulated: &Path, live: &[PathBuf], require: &[String]) -> Result<ExitCode> {
    let read = |path: &Path| -> Result<Results> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    };
    let live = live.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let table = table::Table::of(&read(simulated)?, &live);
    print!("{}", table.markdown());
    let missed = table.missed(require);
    missed.iter().for_each(|miss| eprintln!("scx-live: {miss} differs"));
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
