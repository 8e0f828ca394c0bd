//! Schedulers of sched_ext that sides name: their files.

use std::path::Path;
use wakelab_scheduler::BpfScheduler;

/// The scheduler of the compiled object at a path, in which these variables are set.
///
/// # Errors
/// Fails if the file cannot be read or is no object.
pub fn load_scheduler(path: &str, settings: &[(String, i128)]) -> Result<BpfScheduler, String> {
    let expected = "expected the object of a scheduler, as clang compiles it for BPF";
    if path.ends_with(".c") {
        return Err(format!("{path} is a source; {expected}: clang -g -O2 -target bpf -c"));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("scx:{path}: {error}; {expected}"))?;
    let name = Path::new(path).file_name().map_or(path.into(), |name| name.to_string_lossy());
    let name = name.trim_end_matches(".o").trim_end_matches(".bpf").to_owned();
    let identity = blake3::hash(&bytes).to_hex().to_string();
    let mut scheduler =
        BpfScheduler::new(&name, &bytes, &identity).map_err(|error| format!("scx:{path}: {error}; {expected}"))?;
    settings.iter().for_each(|(variable, value)| scheduler.set(variable, *value));
    Ok(scheduler)
}
