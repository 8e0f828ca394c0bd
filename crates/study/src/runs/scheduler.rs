//! Schedulers of sched_ext that sides name, ready to load.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_fetch::{Built, SchedulerName, Schedulers};

/// A scheduler that was found, as a worker of [`Fence`](super::fence::Fence) is told it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KnownScheduler {
    /// The name by which it was asked for.
    asked: String,
    /// As people call it.
    title: String,
    /// Its name with the version that was found.
    name: String,
    /// Its object.
    object: Vec<u8>,
}

/// What this process has found so far, by the name that was asked for.
static FOUND: Mutex<BTreeMap<String, Built>> = Mutex::new(BTreeMap::new());

/// What a worker was told, which looks for none itself.
static TOLD: OnceLock<Vec<KnownScheduler>> = OnceLock::new();

/// The schedulers that were found so far.
pub(crate) fn known_schedulers() -> Vec<KnownScheduler> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |(asked, built): (&String, &Built)| KnownScheduler {
        asked: asked.clone(),
        title: built.title.clone(),
        name: built.name.to_string(),
        object: built.object.to_vec(),
    };
    found.iter().map(known).collect()
}

/// These are all schedulers that there are from now on.
pub(crate) fn set_known_schedulers(known: Vec<KnownScheduler>) {
    let _ = TOLD.set(known);
}

fn object(schedulers: &Schedulers, name: &SchedulerName) -> Result<Built, String> {
    let asked = name.to_string();
    if let Some(told) = TOLD.get() {
        let known = told.iter().find(|known| known.asked == asked).ok_or("no such scheduler was told")?;
        let (title, object) = (known.title.clone(), known.object.clone().into());
        return Ok(Built { title, name: SchedulerName::parse(&known.name)?, object });
    }
    let built = schedulers.object(name)?;
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(asked, built.clone());
    Ok(built)
}

/// The scheduler of a name, in which these variables are set, and its name with the version that was found.
///
/// # Errors
/// Fails if it cannot be found or compiled, or is no scheduler.
pub fn load_scheduler(
    schedulers: &Schedulers,
    name: &SchedulerName,
    settings: &[(String, i128)],
) -> Result<(BpfScheduler, SchedulerName), String> {
    let built = object(schedulers, name).map_err(|error| format!("scx:{name}: {error}"))?;
    let identity = blake3::hash(&built.object).to_hex().to_string();
    let mut scheduler = BpfScheduler::new(&built.title, &built.object, &identity).map_err(|error| {
        format!("scx:{name}: {error}; expected the object of a scheduler, as clang compiles it for BPF")
    })?;
    if let Some(stop) = schedulers.stop() {
        scheduler.stop_with(stop);
    }
    settings.iter().for_each(|(variable, value)| scheduler.set(variable, *value));
    Ok((scheduler, built.name))
}
