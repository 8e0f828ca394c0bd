//! Threads.

use super::cx::{Cx, Place};
use super::event;
use super::json::{Object, Prop};
use super::keys::not_modelled;
use super::phase::{self, Cpus, Phase, Times, cpus, times};
use super::policy::{Policy, Sched};
use crate::Load;
use crate::error::WorkloadError;

/// A thread, or several that do the same.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) place: Place,
    /// How many there are from the start.
    pub(super) instances: u32,
    pub(super) delay_ns: u64,
    pub(super) cpus: Option<Cpus>,
    pub(super) policy: Policy,
    pub(super) nice: i8,
    /// The slice that it asks for, ns; 0 for none.
    pub(super) slice_ns: u64,
    /// How often the phases are done.
    pub(super) times: Times,
    pub(super) phases: Vec<Phase>,
}

/// What a thread may hold beside events.
const KEYS: [&str; 8] = ["instance", "delay", "loop", "cpus", "policy", "priority", "dl-runtime", "phases"];

impl Thread {
    /// Reads a thread of that name.
    pub(super) fn read(cx: &Cx<'_>, name: &str, prop: &Prop<'_>, policy: Policy) -> Result<Self, WorkloadError> {
        let object = prop.object(cx, "a thread, such as {\"run\": 1000, \"sleep\": 9000}")?;
        let most = i64::from(Load::INSTANCES_MAX);
        let number =
            |key: &str, most, what: &str| object.get(cx, key)?.map(|prop| prop.int(cx, 0, most, what)).transpose();
        let instances = number("instance", most, "threads")?.unwrap_or(1) as u32;
        let delay_ns = number("delay", i64::from(i32::MAX), "us")?.unwrap_or(0) as u64 * 1_000;
        let sched = Sched::read(cx, &object)?;
        let policy = sched.policy.unwrap_or(policy);
        let (times, phases) = phases(cx, name, &object)?;
        Ok(Thread {
            name: name.to_owned(),
            place: prop.place.clone(),
            instances,
            delay_ns,
            cpus: cpus(cx, &object)?,
            policy,
            nice: sched.nice(cx, policy)?.unwrap_or(0),
            slice_ns: sched.slice_ns(cx, policy)?.unwrap_or(0),
            times,
            phases,
        })
    }
}

/// The phases and how often all of them are done.
fn phases(cx: &Cx<'_>, name: &str, object: &Object<'_>) -> Result<(Times, Vec<Phase>), WorkloadError> {
    let Some(all) = object.get(cx, "phases")? else { return one_phase(cx, name, object) };
    for prop in object.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
        if not_modelled(cx, prop)? {
            continue;
        }
        match event::named(prop.name) {
            None => super::keys::unknown(cx, prop, KEYS.iter().copied())?,
            Some(_) => {
                let what = "the thread has phases, so that rt-app does not do this event; expected it in a phase";
                cx.refuse(&prop.place, what, "it is left out")?;
            }
        }
    }
    let all = all.object(cx, "phases, such as {\"light\": {\"run\": 1000, \"sleep\": 9000}}")?;
    let mut phases = vec![];
    for prop in &all.props {
        let object = prop.object(cx, "a phase, such as {\"run\": 1000, \"sleep\": 9000}")?;
        phases.push(some_events(cx, Phase::read(cx, &object, name)?, &object)?);
    }
    if phases.is_empty() {
        return Err(all.place.error(cx.path, "expected one or more phases, found {}"));
    }
    Ok((times(cx, object)?.unwrap_or(None), phases))
}

/// The events that stand in the thread itself. They go by its own policy and CPUs.
fn one_phase(cx: &Cx<'_>, name: &str, object: &Object<'_>) -> Result<(Times, Vec<Phase>), WorkloadError> {
    let mut steps = vec![];
    for prop in object.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
        if !not_modelled(cx, prop)? {
            phase::step(cx, prop, name, &mut steps, &KEYS)?;
        }
    }
    let times = times(cx, object)?.unwrap_or(None);
    let phase = Phase { place: object.place.clone(), times, sched: Sched::default(), cpus: None, steps };
    Ok((Some(1), vec![some_events(cx, phase, object)?]))
}

/// A phase that does nothing is of no use.
fn some_events(cx: &Cx<'_>, phase: Phase, object: &Object<'_>) -> Result<Phase, WorkloadError> {
    // Where all were left out, that has been said.
    if phase.steps.is_empty()
        && !object.props.iter().any(|prop| matches!(event::named(prop.name), Some("mem" | "iorun")))
    {
        return Err(object.place.error(cx.path, "there is no event; expected some, such as \"run\": 1000"));
    }
    Ok(phase)
}

impl Thread {
    /// All steps, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &super::event::Step> {
        self.phases.iter().flat_map(|phase| &phase.steps)
    }
}
