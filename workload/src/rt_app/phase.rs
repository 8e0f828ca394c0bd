//! Phases: events in order, so often.

use super::cx::{Cx, Place};
use super::event::{self, Step};
use super::json::{Object, Prop};
use super::keys::{not_modelled, unknown};
use super::policy::Sched;
use crate::error::WorkloadError;
use crate::validate::NR_CPUS_MAX;

/// How often something is done; `None` for ever.
pub(super) type Times = Option<u32>;

/// A phase.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) place: Place,
    pub(super) times: Times,
    pub(super) sched: Sched,
    pub(super) cpus: Option<Cpus>,
    pub(super) steps: Vec<Step>,
}

/// CPUs, ascending, and where they are named.
#[derive(Clone, Debug)]
pub(super) struct Cpus {
    pub(super) cpus: Vec<u32>,
    pub(super) place: Place,
}

const KEYS: [&str; 5] = ["loop", "cpus", "policy", "priority", "dl-runtime"];

impl Phase {
    /// Whether it says which slice the thread asks for.
    pub(super) fn sets_slice(&self) -> bool {
        self.sched.sets_slice()
    }

    /// Reads a phase of a thread.
    pub(super) fn read(cx: &Cx<'_>, object: &Object<'_>, thread: &str) -> Result<Self, WorkloadError> {
        let mut steps = vec![];
        for prop in object.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
            if !not_modelled(cx, prop)? {
                step(cx, prop, thread, &mut steps, &KEYS)?;
            }
        }
        Ok(Phase {
            place: object.place.clone(),
            times: times(cx, object)?.unwrap_or(Some(1)),
            sched: Sched::read(cx, object)?,
            cpus: cpus(cx, object)?,
            steps,
        })
    }
}

/// Reads an event into `steps`; `keys` may stand beside events.
pub(super) fn step(
    cx: &Cx<'_>,
    prop: &Prop<'_>,
    thread: &str,
    steps: &mut Vec<Step>,
    keys: &[&'static str],
) -> Result<(), WorkloadError> {
    match event::named(prop.name) {
        None => unknown(cx, prop, keys.iter().copied().chain(event::names())),
        Some(name) => {
            let event = event::read(cx, name, prop, thread)?;
            steps.extend(event.map(|event| Step { event, place: prop.place.clone() }));
            Ok(())
        }
    }
}

/// `"loop"`, if it is there.
pub(super) fn times(cx: &Cx<'_>, object: &Object<'_>) -> Result<Option<Times>, WorkloadError> {
    let Some(prop) = object.get(cx, "loop")? else { return Ok(None) };
    match prop.int(cx, -1, i64::from(i32::MAX), "how often, -1 for ever")? {
        0 => Err(prop.wrong(cx, "how often, -1 for ever or 1 or more")),
        -1 => Ok(Some(None)),
        times => Ok(Some(Some(times as u32))),
    }
}

/// `"cpus"`, if it is there.
pub(super) fn cpus(cx: &Cx<'_>, object: &Object<'_>) -> Result<Option<Cpus>, WorkloadError> {
    let Some(prop) = object.get(cx, "cpus")? else { return Ok(None) };
    let expected = "one or more CPUs, such as [0, 1]";
    let mut cpus = prop.numbers(cx, expected)?;
    if cpus.iter().any(|&cpu| cpu >= NR_CPUS_MAX) {
        return Err(prop.wrong(cx, &format!("{expected}, each below {NR_CPUS_MAX}")));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(Some(Cpus { cpus, place: prop.place.clone() }))
}
