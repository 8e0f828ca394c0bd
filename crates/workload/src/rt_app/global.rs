//! `"global"` and `"resources"`.

use super::json::{Cx, Object, Prop, unknown};
use super::policy::{Policy, policy};
use crate::error::WorkloadError;

/// Keys about rt-app's logs, memory and length of the run. None of them changes what threads do.
const IGNORED: [&str; 13] = [
    "duration",
    "calibration",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    // From rt-app before 1.0, and still in its examples.
    "frag",
    // This one is read.
    "default_policy",
];

/// The types of `"resources"`. rt-app creates a resource by itself if a thread names one.
const TYPES: [&str; 13] = [
    "mutex",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "sleep",
    "run",
    "timer",
    "barrier",
    "sem",
    "semaphore",
    "sem_wait",
    "sem_post",
];

/// Reads `"global"`, and returns the policy of threads that have none.
pub(super) fn read(cx: &Cx<'_>, global: Option<&Prop<'_>>) -> Result<Policy, WorkloadError> {
    let Some(global) = global else { return Ok(Policy::Other) };
    let global = global.object(cx, "an object, such as {\"duration\": 10}")?;
    for prop in &global.props {
        match prop.name {
            "pi_enabled" => pi_enabled(cx, prop)?,
            "duration" => drop(prop.int(cx, -1, i64::from(i32::MAX), "seconds, -1 for no end")?),
            "calibration" => calibration(cx, prop)?,
            name if IGNORED.contains(&name) => {}
            _ => unknown(cx, prop, IGNORED.iter().copied().chain(["pi_enabled"]))?,
        }
    }
    match global.get(cx, "default_policy")? {
        None => Ok(Policy::Other),
        Some(prop) => policy(cx, prop),
    }
}

/// Refuses priority inheritance. Between threads of the fair class it would only change who gets a mutex, but it is not
/// modelled.
fn pi_enabled(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<(), WorkloadError> {
    match prop.flag() {
        Some(false) => Ok(()),
        Some(true) => cx.refuse(
            &prop.place,
            "mutexes with priority inheritance are not modelled",
            "the mutexes have no priority inheritance",
        ),
        None => Err(prop.wrong(cx, "true or false")),
    }
}

/// Checks the calibration. It does not matter here: work is given as the time that it takes at full speed.
fn calibration(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<(), WorkloadError> {
    let is_cpu = |text: &str| text.strip_prefix("CPU").is_some_and(|cpu| cpu.parse::<u32>().is_ok());
    match prop.text() {
        Some(text) if is_cpu(text) => Ok(()),
        None if prop.is_int() => Ok(()),
        _ => Err(prop.wrong(cx, "a CPU, such as \"CPU0\", or a number of ns")),
    }
}

/// Checks `"resources"`, which need not be declared.
pub(super) fn resources(cx: &Cx<'_>, resources: Option<&Prop<'_>>) -> Result<(), WorkloadError> {
    let Some(resources) = resources else { return Ok(()) };
    for prop in &resources.object(cx, "an object, such as {\"m\": {\"type\": \"mutex\"}}")?.props {
        let resource: Object<'_> = prop.object(cx, "an object, such as {\"type\": \"mutex\"}")?;
        if let Some(kind) = resource.get(cx, "type")?
            && !kind.text().is_some_and(|kind| TYPES.contains(&kind))
        {
            return Err(kind.wrong(cx, &format!("one of {}", TYPES.join(", "))));
        }
    }
    Ok(())
}
