//! Schedulers of sched_ext that sides name, ready to load.

use wakelab_scheduler::BpfScheduler;
use wakelab_scheduler_source::{SchedulerName, Schedulers};

/// The scheduler of a name, in which these variables are set, and its name with the version that was found.
///
/// # Errors
/// Fails if it cannot be found or compiled, or is no scheduler.
pub fn load_scheduler(
    schedulers: &Schedulers,
    name: &SchedulerName,
    settings: &[(String, i128)],
) -> Result<(BpfScheduler, SchedulerName), String> {
    let built = schedulers.object(name).map_err(|error| format!("scx:{name}: {error}"))?;
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
