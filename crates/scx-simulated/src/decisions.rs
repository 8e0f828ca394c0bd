//! The decisions of scx_wakelab in the simulator, as it records them itself: `wakelab conform` compares them with what
//! the model chooses from the same inputs, as it does with those of guests.

use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_core::ext::{Declared, Ext};
use wakelab_scx_core::listened::{CallListener, Listened};
use wakelab_scx_core::ops::{Host, Ops, Scheduler};
use wakelab_scx_decisions::decision_rows::{DecisionRows, Place};
use wakelab_sim::{Mechanisms, Setup, run_dyn};
use wakelab_workload::Load;

/// The machines, and how long each load runs there, ns: one LLC with SMT, two sockets, many LLCs, and CPUs of unequal
/// capacity.
const MACHINES: [(&str, u64); 4] = [
    ("intel-kaby-lake-4c8t", 60_000_000),
    ("test-2s", 60_000_000),
    ("amd-zen3-2s64c128t", 10_000_000),
    ("pixel6", 60_000_000),
];
/// The loads, and how much of each there is: from mostly idle to overloaded.
const LOADS: [(&str, Load); 3] = [
    ("netperf:TCP_RR", Load::Percent(50)),
    ("netperf:TCP_RR", Load::Percent(150)),
    ("hackbench:process-pipe", Load::Instances(1)),
];

/// Where records go, and why one could not be written.
struct Rows {
    rows: DecisionRows,
    broken: Option<anyhow::Error>,
}

type Shared = Arc<Mutex<Rows>>;

/// Reads the ring buffer after each operation, so that it never fills.
struct Reader(Shared);

impl CallListener for Reader {
    fn called(&mut self, _: &Ext, ops: &mut dyn Ops) {
        for record in ops.take_records("ring") {
            let Rows { rows, broken } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = rows.put(&record) {
                broken.get_or_insert(error);
            }
        }
    }
}

/// A scheduler whose ring buffer is read.
#[derive(Clone)]
struct Recorded<'a>(&'a BpfScheduler, Shared);

impl std::fmt::Debug for Recorded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Recorded").field(self.0).finish()
    }
}

impl Scheduler for Recorded<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn load(&self, host: &Host<'_>) -> std::result::Result<(Declared, Box<dyn Ops>), String> {
        let (declared, ops) = self.0.load(host)?;
        Ok((declared, Box::new(Listened::new(ops, Reader(Arc::clone(&self.1))))))
    }

    fn identity(&self) -> &str {
        self.0.identity()
    }
}

/// Runs every load on every machine, and writes a recording of each to a folder of its own in `out`.
///
/// # Errors
/// Fails if the object is not scx_wakelab's, if a run fails, or if a recording cannot be written.
pub fn record(mut scheduler: BpfScheduler, out: &Path) -> Result<ExitCode> {
    scheduler.set("recording", 1);
    let kernel = Preset::get(wakelab_scx_loads::KERNEL).map_err(|error| anyhow!("{error}"))?;
    for (machine, time) in MACHINES {
        let machine = wakelab_machine::get(machine).map_err(|error| anyhow!("{error}"))?;
        for (load, amount) in LOADS {
            let folder = out.join(format!("{}-{}-{amount}", machine.name, load.replace(':', "-")).replace('%', "pct"));
            let (decisions, stable) = simulate(&scheduler, &machine, kernel, (load, amount, time), &folder)
                .with_context(|| format!("{load}, {amount}, on {}", machine.name))?;
            println!("{}: {decisions} decisions, {stable} stable", folder.display());
            if decisions == 0 {
                bail!("{load} on {}: the object recorded nothing; expected the object of scx_wakelab", machine.name);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns how many decisions were recorded, and how many of them are stable.
fn simulate(
    scheduler: &BpfScheduler,
    machine: &Machine,
    kernel: &'static Preset,
    (load, amount, time): (&str, Load, u64),
    folder: &Path,
) -> Result<(i64, u64)> {
    let topology = &machine.topology;
    let workload = wakelab_workload::build(load, amount, topology.nr_cpus(), &BTreeMap::new())
        .map_err(|error| anyhow!("{error}"))?;
    // As the loader of scx_wakelab numbers them: the simulator's is held to the same order by the decisions.
    let mut llcs: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (cpu, of) in topology.cpus.iter().enumerate() {
        llcs.entry((of.package, of.llc)).or_default().push(cpu);
    }
    let mut llcs: Vec<Vec<usize>> = llcs.into_values().collect();
    llcs.sort_unstable();
    let place = Place { topology, llcs: &llcs, hz: kernel.hz.value, release: "7.2 (simulated)" };
    let rows = Rows { rows: DecisionRows::new(folder, &place)?, broken: None };
    let recorded = Recorded(scheduler, Arc::new(Mutex::new(rows)));
    let setup = Setup {
        machine,
        kernel,
        features: kernel.features,
        workload: &workload,
        seed: 1,
        until: time,
        mechanisms: Mechanisms::default(),
        observer_cost: 0,
        pm: None,
        scheduler: Some(&recorded),
    };
    run_dyn(&setup, &mut (), &AtomicBool::new(false)).map_err(|error| anyhow!("{error}"))?;
    let Rows { rows, broken } = &mut *recorded.1.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = broken.take() {
        return Err(error);
    }
    rows.close_segments()?;
    Ok((rows.seq, rows.stable))
}
