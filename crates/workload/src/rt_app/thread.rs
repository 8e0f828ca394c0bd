//! Threads and their phases: events in order, each repeated so often.

use super::event::{self, Step};
use super::json::{Cx, Object, Place, Prop, not_modelled, unknown};
use super::policy::{Policy, Sched, Uclamp};
use crate::error::WorkloadError;
use crate::validate::NR_CPUS_MAX;
use crate::{Load, Realtime};

/// A thread, or several that do the same.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) place: Place,
    /// How many of them exist from the start.
    pub(super) instances: u32,
    pub(super) delay_ns: u64,
    pub(super) cpus: Option<Cpus>,
    pub(super) policy: Policy,
    pub(super) nice: i8,
    /// Its policy and priority, if it is a realtime thread.
    pub(super) realtime: Option<Realtime>,
    /// The slice that it requests, ns; 0 for none.
    pub(super) slice_ns: u64,
    pub(super) uclamp: Uclamp,
    /// Its control group, and where that is named.
    pub(super) taskgroup: Option<(String, Place)>,
    /// How often the phases are repeated.
    pub(super) times: Times,
    pub(super) phases: Vec<Phase>,
}

/// The keys of a thread besides events.
const KEYS: [&str; 13] = [
    "instance",
    "delay",
    "loop",
    "cpus",
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "phases",
    "taskgroup",
    "util_min",
    "util_max",
];

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
        let cpus = cpus(cx, &object)?;
        if let (Policy::Deadline, Some(cpus)) = (policy, &cpus) {
            let what = "sched_setattr() gives SCHED_DEADLINE only to threads that may use all CPUs (EPERM otherwise)";
            return Err(cpus.place.error(cx.path, format!("{what}; remove \"cpus\"")));
        }
        Ok(Thread {
            name: name.to_owned(),
            place: prop.place.clone(),
            instances,
            delay_ns,
            cpus,
            policy,
            nice: sched.nice(cx, policy)?.unwrap_or(0),
            realtime: sched.realtime(cx, policy, &prop.place)?,
            slice_ns: sched.slice_ns(cx, policy)?.unwrap_or(0),
            uclamp: sched.uclamp,
            taskgroup: taskgroup(cx, &object)?,
            times,
            phases,
        })
    }
}

/// `"taskgroup"`: a path from the root of the control groups. Returns `None` for the root.
fn taskgroup(cx: &Cx<'_>, object: &Object<'_>) -> Result<Option<(String, Place)>, WorkloadError> {
    const DEPTH_MAX: usize = 16;
    let Some(prop) = object.get(cx, "taskgroup")? else { return Ok(None) };
    let expected = "the path of a control group, such as \"/g1\"";
    let path = prop.text().ok_or_else(|| prop.wrong(cx, expected))?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.len() > DEPTH_MAX || parts.iter().any(|part| [".", ".."].contains(part)) {
        return Err(prop.wrong(cx, &format!("{expected}, without dots and at most {DEPTH_MAX} deep")));
    }
    Ok((!parts.is_empty()).then(|| (parts.join("/"), prop.place.clone())))
}

/// The phases, and how often all of them are repeated.
fn phases(cx: &Cx<'_>, name: &str, object: &Object<'_>) -> Result<(Times, Vec<Phase>), WorkloadError> {
    let Some(all) = object.get(cx, "phases")? else { return one_phase(cx, name, object) };
    for prop in object.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
        if not_modelled(cx, prop)? {
            continue;
        }
        match event::named(prop.name) {
            None => unknown(cx, prop, KEYS.iter().copied())?,
            Some(_) => {
                let what = "rt-app ignores this event, because the thread has phases; move it into a phase";
                cx.refuse(&prop.place, what, "it is left out")?;
            }
        }
    }
    let all = all.object(cx, "phases, such as {\"light\": {\"run\": 1000, \"sleep\": 9000}}")?;
    let mut phases = vec![];
    let mut left_out = None;
    for prop in &all.props {
        let object = prop.object(cx, "a phase, such as {\"run\": 1000, \"sleep\": 9000}")?;
        let phase = Phase::read(cx, &object, name)?;
        left_out = left_out.or_else(|| may_have_waited(&phase, &object, &PHASE_KEYS).cloned());
        phases.push(some_events(cx, phase, &object)?);
    }
    if phases.is_empty() {
        return Err(all.place.error(cx.path, "expected one or more phases, found {}"));
    }
    let times = times(cx, object)?.unwrap_or(None);
    // A phase that repeats for ever has been looked at by itself, and is the last that is reached.
    if times.is_none() && phases.iter().all(|phase| phase.times.is_some()) {
        still_waits(cx, &phases, left_out.as_ref())?;
    }
    Ok((times, phases))
}

/// The events of the thread itself, as one phase. It has the thread's policy and CPUs.
fn one_phase(cx: &Cx<'_>, name: &str, object: &Object<'_>) -> Result<(Times, Vec<Phase>), WorkloadError> {
    let mut steps = vec![];
    for prop in object.props.iter().filter(|prop| !KEYS.contains(&prop.name)) {
        if !not_modelled(cx, prop)? {
            read_event(cx, prop, name, &mut steps, &KEYS)?;
        }
    }
    let times = times(cx, object)?.unwrap_or(None);
    let phase = Phase { place: object.place.clone(), times, sched: Sched::default(), cpus: None, steps };
    let left_out = may_have_waited(&phase, object, &KEYS).filter(|_| times.is_none());
    still_waits(cx, std::slice::from_ref(&phase), left_out)?;
    Ok((Some(1), vec![some_events(cx, phase, object)?]))
}

/// The first key of a phase that may have waited and was left out of it.
fn may_have_waited<'p>(phase: &Phase, object: &'p Object<'_>, keys: &[&str]) -> Option<&'p Place> {
    // Steps are in the order of their keys.
    let mut steps = phase.steps.iter().map(|step| &step.place).peekable();
    let left_out = |prop: &&Prop<'_>| {
        let is_step = steps.next_if_eq(&&prop.place).is_some();
        !is_step && !keys.contains(&prop.name) && event::may_block(prop.name)
    };
    object.props.iter().find(left_out).map(|prop| &prop.place)
}

/// Refuses phases that repeat for ever and wait for nothing, if something that may have waited was left out of them:
/// read leniently, a thread that waits would otherwise compute for ever.
fn still_waits(cx: &Cx<'_>, phases: &[Phase], left_out: Option<&Place>) -> Result<(), WorkloadError> {
    let mut steps = phases.iter().flat_map(|phase| &phase.steps).peekable();
    let Some(left_out) = left_out.filter(|_| steps.peek().is_some() && !steps.any(|step| step.event.blocks())) else {
        return Ok(());
    };
    let what = "this may wait, and is not modelled: without it the thread would compute for ever, so \
                --lenient does not skip it";
    let hint = "replace it by a \"sleep\", a \"timer\" or a \"sem_wait\" of the time that it takes";
    Err(left_out.error(cx.path, what).with_hint(Some(hint.to_owned())))
}

/// Refuses a phase without events.
fn some_events(cx: &Cx<'_>, phase: Phase, object: &Object<'_>) -> Result<Phase, WorkloadError> {
    // If all were left out, there has been a warning.
    if phase.steps.is_empty()
        && !object.props.iter().any(|prop| matches!(event::named(prop.name), Some("memrun" | "mem" | "iorun")))
    {
        return Err(object.place.error(cx.path, "there are no events; expected one or more, such as \"run\": 1000"));
    }
    Ok(phase)
}

impl Thread {
    /// Returns all steps, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.phases.iter().flat_map(|phase| &phase.steps)
    }
}

/// How often something is repeated; `None` for ever.
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

const PHASE_KEYS: [&str; 9] =
    ["loop", "cpus", "policy", "priority", "dl-runtime", "dl-period", "dl-deadline", "util_min", "util_max"];

impl Phase {
    /// Returns whether the phase sets the slice.
    pub(super) fn sets_slice(&self) -> bool {
        self.sched.sets_slice()
    }

    /// Reads a phase of a thread.
    pub(super) fn read(cx: &Cx<'_>, object: &Object<'_>, thread: &str) -> Result<Self, WorkloadError> {
        let mut steps = vec![];
        for prop in object.props.iter().filter(|prop| !PHASE_KEYS.contains(&prop.name)) {
            if prop.name == "taskgroup" {
                let what = "changing the control group between phases is not modelled; set \"taskgroup\" for the whole \
                            thread";
                cx.refuse(&prop.place, what, "it stays where it is")?;
            } else if !not_modelled(cx, prop)? {
                read_event(cx, prop, thread, &mut steps, &PHASE_KEYS)?;
            }
        }
        let phase = Phase {
            place: object.place.clone(),
            times: times(cx, object)?.unwrap_or(Some(1)),
            sched: Sched::read(cx, object)?,
            cpus: cpus(cx, object)?,
            steps,
        };
        let left_out = may_have_waited(&phase, object, &PHASE_KEYS).filter(|_| phase.times.is_none());
        still_waits(cx, std::slice::from_ref(&phase), left_out)?;
        Ok(phase)
    }
}

/// Reads an event into `steps`. `keys` are the other keys that may be there.
fn read_event(
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

/// Reads `"loop"`. Returns `None` if it is not there.
fn times(cx: &Cx<'_>, object: &Object<'_>) -> Result<Option<Times>, WorkloadError> {
    let Some(prop) = object.get(cx, "loop")? else { return Ok(None) };
    match prop.int(cx, -1, i64::from(i32::MAX), "how often to repeat, -1 for ever")? {
        0 => Err(prop.wrong(cx, "how often to repeat: 1 or more, or -1 for ever")),
        -1 => Ok(Some(None)),
        times => Ok(Some(Some(times as u32))),
    }
}

/// Reads `"cpus"`. Returns `None` if it is not there.
fn cpus(cx: &Cx<'_>, object: &Object<'_>) -> Result<Option<Cpus>, WorkloadError> {
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
