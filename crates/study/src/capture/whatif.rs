//! A captured workload under what was recorded, and under what is asked.

use super::{CaptureError, Captured};
use crate::compare::{Block, Case, Published, Variant};
use crate::recordings::sources::about;
use std::path::Path;
use std::sync::Arc;
use wakelab_events::stream::{RunDescription, ScxSteps, Source};
use wakelab_events::{Reader, Row};
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sim::Mechanisms;
use wakelab_workload::{WorkloadError, from_toml};

/// The kernel of a recording, and what was switched on it.
#[derive(Clone, Debug)]
pub struct RecordedSide {
    /// The preset that stands for it.
    pub kernel: &'static Preset,
    /// The features that were not as the preset has them.
    pub switches: Switches,
    /// Of these, the names of those on which the model cannot act.
    pub left_out: Vec<String>,
}

/// Why what was recorded cannot be simulated.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WhatIfError {
    /// The recording.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// No preset stands for its kernel.
    #[error("{path}: {what}\n  hint: name the nearest preset with --kernel; `wakelab kernel list` shows them")]
    Kernel {
        /// The recording.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// Its features.
    #[error("{path}: {what}")]
    Switches {
        /// The recording.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// The captured workload, at the load that was asked for.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
}

impl From<wakelab_events::ReadError> for WhatIfError {
    fn from(error: wakelab_events::ReadError) -> Self {
        WhatIfError::Capture(error.into())
    }
}

/// Returns the kernel of a source, or the preset that stands for it (`kernel`), with what was switched.
///
/// # Errors
/// Fails if the source cannot be read, or its kernel is not known.
pub fn recorded_side(
    source: &Source,
    machine: &Machine,
    kernel: Option<&'static Preset>,
) -> Result<RecordedSide, WhatIfError> {
    let about = about(source)?;
    let path = wakelab_input::printable(&source.path().to_string_lossy()).into_owned();
    let kernel = match kernel {
        Some(kernel) => kernel,
        None => preset_of(&about).map_err(|what| WhatIfError::Kernel { path: path.clone(), what })?,
    };
    let wrong = |what: String| WhatIfError::Switches { path: path.clone(), what };
    let all: Switches = match (source, &about.switches) {
        (Source::Simulated(folder), _) if ScxSteps::has(folder) => {
            return Err(wrong("it ran under a sched_ext scheduler; expected a run of the fair class".to_owned()));
        }
        (Source::Simulated(_), Some(switches)) => switches.parse().map_err(|e| wrong(format!("{e}")))?,
        (Source::Recorded(tables), _) => match tables.decisions.first() {
            None => Switches::default(),
            Some(first) => {
                let mut row = Row::new();
                Reader::open(first)?.read(&mut row)?;
                if row.features.text.is_empty() { Switches::default() } else { kernel.features.diff(row.features.set) }
            }
        },
        _ => Switches::default(),
    };
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for name in all.to_string().split(',').filter(|name| !name.is_empty()) {
        let one: Switches = name.parse().map_err(|e| wrong(format!("{e}")))?;
        if Variant::on(machine, kernel, &one).is_ok() {
            kept.push(name.to_owned())
        } else {
            left_out.push(name.to_owned())
        }
    }
    let switches = kept.join(",").parse().map_err(|e| wrong(format!("{e}")))?;
    Ok(RecordedSide { kernel, switches, left_out })
}

fn preset_of(about: &RunDescription) -> Result<&'static Preset, String> {
    if about.kernel.is_empty() {
        return Err("the recording does not name its kernel".to_owned());
    }
    let found = if about.recorded { Preset::of_release(&about.kernel) } else { Preset::get(&about.kernel) };
    found.map_err(|error| error.to_string())
}

/// For how long a captured workload is simulated, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// Before measuring begins.
    pub settle_ns: u64,
    /// While it is measured.
    pub time_ns: u64,
}

/// Of how many wake-ups fidelity is taken, about: the events of that simulation are written to a temporary folder.
const FIDELITY_WAKEUPS: u64 = 1_500_000;
/// The shortest measured time of that simulation, ns.
const SHORTEST_FIDELITY_NS: u64 = 50_000_000;

impl RunTimes {
    /// The times of the simulation of which fidelity is taken: as long as was captured, unless that has too many
    /// wake-ups.
    pub fn of_fidelity(captured: &Captured, settle_ns: u64) -> Self {
        let few = u128::from(captured.window_ns.1) * u128::from(FIDELITY_WAKEUPS)
            / u128::from(captured.wakeups.max(FIDELITY_WAKEUPS));
        RunTimes { settle_ns, time_ns: (few as u64).max(SHORTEST_FIDELITY_NS) }
    }
}

/// Returns the experiment that runs a captured workload at a load under `base` and `with`. `file` is for messages.
///
/// # Errors
/// Fails if the workload is not valid at this load.
pub fn experiment(
    captured: &Captured,
    file: &Path,
    load: u32,
    machine: &Machine,
    [base, with]: [&Variant; 2],
    times: RunTimes,
) -> Result<Block, WhatIfError> {
    let workload = from_toml(&captured.toml, file, load)?;
    let name = "captured".to_owned();
    Ok(Block {
        name: "what if".to_owned(),
        machine: machine.clone(),
        kernel: preset_named(base),
        workloads: vec![format!("captured {}", workload.load)],
        cases: vec![Case { name, workload: Arc::new(workload) }],
        base: base.clone(),
        variants: vec![with.clone()],
        repeats: 1,
        until: None,
        seed: 1,
        settle_ns: times.settle_ns,
        time_ns: times.time_ns,
        observer_cost_ns: 0,
        pinned: None,
        regret: false,
        mechanisms: Mechanisms::default(),
        published: Published::default(),
        warnings: Vec::new(),
    })
}

fn preset_named(variant: &Variant) -> &'static Preset {
    Preset::get(variant.kernel.name).expect("a side's kernel is a preset with settings")
}
