//! Events: what a phase does, as `run_event()` of rt-app 1.0 has them.

use super::json::{Cx, Place, Prop, unknown};
use crate::error::WorkloadError;

/// One event, with its times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Run(u64),
    RunFor(u64),
    Sleep(u64),
    Timer { name: String, period_ns: u64, absolute: bool },
    Lock(String),
    Unlock(String),
    Wait { cond: String, mutex: String },
    Sync { cond: String, mutex: String },
    Signal(String),
    Broadcast(String),
    Barrier(String),
    SemWait(String),
    SemPost(String),
    Suspend(String),
    Resume(String),
    Yield,
    Fork(String),
}

/// The names of events. For rt-app, a key is an event if it begins with one of these: `run1`, `sleep_b`. The first
/// match counts.
const EVENTS: [&str; 20] = [
    "runtime", "run", "sleep", "timer", "lock", "unlock", "wait", "signal", "broad", "sync", "barrier", "sem_wait",
    "sem_post", "suspend", "resume", "yield", "fork", "memrun", "mem", "iorun",
];

/// Returns the event that a key names. Returns `None` if it names none.
pub(super) fn named(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| key.starts_with(event))
}

/// Returns all names of events.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EVENTS.into_iter()
}

/// Reads an event of that name in a thread. Returns `None` if it was left out.
pub(super) fn read(cx: &Cx<'_>, name: &str, prop: &Prop<'_>, thread: &str) -> Result<Option<Event>, WorkloadError> {
    let event = match name {
        "runtime" => Event::RunFor(time(cx, prop)?),
        "run" => Event::Run(time(cx, prop)?),
        "sleep" => Event::Sleep(time(cx, prop)?),
        "timer" => timer(cx, prop)?,
        "lock" => Event::Lock(resource(cx, prop, "mutex")?),
        "unlock" => Event::Unlock(resource(cx, prop, "mutex")?),
        "wait" => wait(cx, prop, |cond, mutex| Event::Wait { cond, mutex })?,
        "sync" => wait(cx, prop, |cond, mutex| Event::Sync { cond, mutex })?,
        "signal" => Event::Signal(resource(cx, prop, "condition")?),
        "broad" => Event::Broadcast(resource(cx, prop, "condition")?),
        "barrier" => Event::Barrier(resource(cx, prop, "barrier")?),
        "sem_wait" => Event::SemWait(resource(cx, prop, "semaphore")?),
        "sem_post" => Event::SemPost(resource(cx, prop, "semaphore")?),
        // An empty text means the thread itself.
        "suspend" if prop.text() == Some("") => Event::Suspend(thread.to_owned()),
        "suspend" => Event::Suspend(resource(cx, prop, "thread")?),
        "resume" => Event::Resume(resource(cx, prop, "thread")?),
        "fork" => Event::Fork(resource(cx, prop, "thread")?),
        "yield" => Event::Yield,
        "memrun" => {
            let what = "memrun is not modelled, because the model has no memory";
            let what = format!("{what}; replace it by a \"run\" of the time that it takes on your machine");
            return cx.refuse(&prop.place, &what, "it is left out").map(|()| None);
        }
        "mem" => return unknown_time(cx, prop, "the time of writing bytes to memory"),
        _ => return unknown_time(cx, prop, "the time of writing bytes to a device, or of blocking there,"),
    };
    Ok(Some(event))
}

/// Refuses events in bytes: the model has no memory and no devices.
fn unknown_time(cx: &Cx<'_>, prop: &Prop<'_>, what: &str) -> Result<Option<Event>, WorkloadError> {
    prop.int(cx, 0, i64::from(i32::MAX), "bytes")?;
    let what = format!("{what} is not modelled; replace it by a \"run\" of the time that it takes on your machine");
    cx.refuse(&prop.place, &what, "it takes no time").map(|()| None)
}

/// A time in microseconds, as ns.
fn time(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<u64, WorkloadError> {
    Ok(prop.int(cx, 0, i64::from(i32::MAX), "us")? as u64 * 1_000)
}

fn resource(cx: &Cx<'_>, prop: &Prop<'_>, kind: &str) -> Result<String, WorkloadError> {
    let name = prop.text().filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| prop.wrong(cx, &format!("the name of a {kind} in quotes")))
}

fn wait(cx: &Cx<'_>, prop: &Prop<'_>, event: fn(String, String) -> Event) -> Result<Event, WorkloadError> {
    let object = prop.object(cx, "a condition and a mutex, {\"ref\": \"queue\", \"mutex\": \"m\"}")?;
    only(cx, &object.props, &["ref", "mutex"])?;
    let cond = resource(cx, object.need(cx, "ref", "\"queue\"")?, "condition")?;
    Ok(event(cond, resource(cx, object.need(cx, "mutex", "\"m\"")?, "mutex")?))
}

fn timer(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<Event, WorkloadError> {
    let object = prop.object(cx, "a timer, {\"ref\": \"unique\", \"period\": 10000}")?;
    only(cx, &object.props, &["ref", "period", "mode"])?;
    let name = resource(cx, object.need(cx, "ref", "\"unique\"")?, "timer")?;
    let period = object.need(cx, "period", "10000")?.int(cx, 1, i64::from(i32::MAX), "us")?;
    let absolute = match object.get(cx, "mode")? {
        None => false,
        Some(mode) => match mode.text() {
            Some("relative") => false,
            Some("absolute") => true,
            _ => return Err(mode.wrong(cx, "\"relative\" or \"absolute\"")),
        },
    };
    Ok(Event::Timer { name, period_ns: period as u64 * 1_000, absolute })
}

fn only(cx: &Cx<'_>, props: &[Prop<'_>], known: &[&str]) -> Result<(), WorkloadError> {
    let mut strange = props.iter().filter(|prop| !known.contains(&prop.name));
    strange.try_for_each(|prop| unknown(cx, prop, known.iter().copied()))
}

/// An event and its place in the file.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) event: Event,
    pub(super) place: Place,
}

impl Event {
    /// Returns whether time passes in it other than by computing, or may.
    pub(super) fn blocks(&self) -> bool {
        match self {
            Event::Sleep(_)
            | Event::Timer { .. }
            | Event::Lock(_)
            | Event::Wait { .. }
            | Event::Sync { .. }
            | Event::Barrier(_)
            | Event::SemWait(_)
            | Event::Suspend(_) => true,
            Event::Run(_)
            | Event::RunFor(_)
            | Event::Unlock(_)
            | Event::Signal(_)
            | Event::Broadcast(_)
            | Event::SemPost(_)
            | Event::Resume(_)
            | Event::Yield
            | Event::Fork(_) => false,
        }
    }

    /// Returns the condition that the event waits for. A thread that suspends waits for the condition of the name that
    /// it gives.
    pub(super) fn waits_for(&self) -> Option<&str> {
        match self {
            Event::Wait { cond, .. } | Event::Sync { cond, .. } | Event::Suspend(cond) => Some(cond),
            _ => None,
        }
    }

    /// Returns the condition whose waiters the event wakes.
    pub(super) fn wakes(&self) -> Option<&str> {
        match self {
            Event::Signal(cond) | Event::Broadcast(cond) | Event::Sync { cond, .. } | Event::Resume(cond) => Some(cond),
            _ => None,
        }
    }
}

/// Whether a key that is left out would make rt-app wait, as far as its name tells: `iorun`, and what later releases or
/// forks of rt-app may have. Without it a thread that waits would compute for ever.
pub(super) fn may_block(key: &str) -> bool {
    const WAITS: [&str; 10] = ["iorun", "wait", "sleep", "sem_", "block", "recv", "read", "poll", "suspend", "barrier"];
    let key = key.to_ascii_lowercase();
    WAITS.iter().any(|word| key.contains(word)) && !matches!(named(&key), Some("mem" | "memrun"))
}
