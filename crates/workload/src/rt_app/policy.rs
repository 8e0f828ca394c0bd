//! Policies, nice values and priorities, slices and utilisation clamps.

use super::json::{Cx, Object, Place, Prop};
use crate::error::WorkloadError;
use crate::{Deadline, Realtime};
use wakelab_input::did_you_mean;

/// A scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// SCHED_OTHER.
    Other,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    Rr,
    /// SCHED_DEADLINE.
    Deadline,
    /// A policy that the model does not have, read leniently as SCHED_OTHER. Its nice value is 0, because its priority
    /// is of another kind.
    NotModelled,
}

impl Policy {
    /// Whether it is a policy of the realtime or deadline class.
    pub(super) fn is_realtime(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr | Policy::Deadline)
    }
}

/// `DEFAULT_THREAD_PRIORITY` of rt-app: the priority of realtime threads that give none.
const DEFAULT_PRIORITY: u8 = 10;

const MODELLED: &str = "SCHED_OTHER, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";

const KNOWN: [&str; 6] = ["SCHED_OTHER", "SCHED_IDLE", "SCHED_BATCH", "SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"];

/// Reads a policy.
pub(super) fn policy(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<Policy, WorkloadError> {
    match prop.text() {
        Some("SCHED_OTHER") => Ok(Policy::Other),
        Some("SCHED_IDLE") => Ok(Policy::Idle),
        Some("SCHED_FIFO") => Ok(Policy::Fifo),
        Some("SCHED_RR") => Ok(Policy::Rr),
        Some("SCHED_DEADLINE") => Ok(Policy::Deadline),
        Some(name) if KNOWN.contains(&name) => {
            let what = format!("{name} is not modelled; expected {MODELLED}");
            cx.refuse(&prop.place, &what, "it becomes SCHED_OTHER with nice 0").map(|()| Policy::NotModelled)
        }
        found => {
            let hint = found.and_then(|name| did_you_mean(name, KNOWN));
            Err(prop.wrong(cx, MODELLED).with_hint(hint))
        }
    }
}

/// The policy, nice value and slice of a thread or phase, if it sets them.
#[derive(Clone, Debug, Default)]
pub(super) struct Sched {
    pub(super) policy: Option<Policy>,
    priority: Option<(i64, Place)>,
    /// `"dl-runtime"`, us.
    runtime: Option<(u64, Place)>,
    /// `"dl-period"` and `"dl-deadline"`, us.
    period: Option<(u64, Place)>,
    deadline: Option<(u64, Place)>,
    pub(super) uclamp: Uclamp,
}

/// `"util_min"` and `"util_max"`: the clamps that a thread or phase sets, of which `None` and -1 leave one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uclamp {
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
}

impl Uclamp {
    /// Reads them. A minimum above the maximum, with which `sched_setattr()` fails and rt-app ends, is refused.
    fn read(cx: &Cx<'_>, of: &Object<'_>) -> Result<Self, WorkloadError> {
        let clamp = |key| {
            let value = of.get(cx, key)?.map(|prop| prop.int(cx, -1, 1024, "a clamp, -1 for none")).transpose()?;
            Ok::<_, WorkloadError>(value.and_then(|value| u32::try_from(value).ok()))
        };
        let (min, max) = (clamp("util_min")?, clamp("util_max")?);
        if let (Some(least), Some(most), Some(prop)) = (min, max, of.get(cx, "util_min")?)
            && least > most
        {
            return Err(prop.wrong(cx, &format!("a minimum that is not above \"util_max\", {most}")));
        }
        Ok(Uclamp { min, max })
    }

    /// Whether one is set.
    pub(super) fn is_set(self) -> bool {
        self.min.or(self.max).is_some()
    }
}

impl Sched {
    /// Reads `"policy"`, `"priority"`, `"dl-runtime"`, `"dl-period"`, `"dl-deadline"` and the clamps.
    pub(super) fn read(cx: &Cx<'_>, of: &Object<'_>) -> Result<Self, WorkloadError> {
        let policy = of.get(cx, "policy")?.map(|prop| policy(cx, prop)).transpose()?;
        let priority = |prop: &Prop<'_>| Ok::<_, WorkloadError>((prop.int(cx, -20, 99, PRIORITY)?, prop.place.clone()));
        let us = |key, what: &str| {
            let read = |prop: &Prop<'_>| {
                Ok::<_, WorkloadError>((prop.int(cx, 0, i64::from(i32::MAX), what)? as u64, prop.place.clone()))
            };
            of.get(cx, key)?.map(read).transpose()
        };
        Ok(Sched {
            policy,
            priority: of.get(cx, "priority")?.map(priority).transpose()?,
            runtime: us("dl-runtime", "the slice that the thread asks for, in us")?,
            period: us("dl-period", "the period of SCHED_DEADLINE, in us")?,
            deadline: us("dl-deadline", "the deadline of SCHED_DEADLINE, in us")?,
            uclamp: Uclamp::read(cx, of)?,
        })
    }

    /// Returns whether the slice is set.
    pub(super) fn sets_slice(&self) -> bool {
        self.runtime.is_some() && self.policy != Some(Policy::Deadline)
    }

    /// Returns the slice that is requested under a policy, ns. With SCHED_DEADLINE the key belongs to the policy.
    pub(super) fn slice_ns(&self, cx: &Cx<'_>, policy: Policy) -> Result<Option<u64>, WorkloadError> {
        if policy != Policy::Deadline
            && let Some((_, place)) = self.period.as_ref().or(self.deadline.as_ref())
        {
            cx.refuse(place, "only a SCHED_DEADLINE thread has a period and a deadline", "it is left out")?;
        }
        match &self.runtime {
            None => Ok(None),
            Some(_) if policy == Policy::Deadline => Ok(None),
            Some((us, _)) if policy == Policy::Other => Ok(Some(us * 1_000)),
            Some((_, place)) => {
                let what = "only a SCHED_OTHER thread can ask for a slice";
                cx.refuse(place, what, "it is left out").map(|()| None)
            }
        }
    }

    /// The reservation of a thread of SCHED_DEADLINE: rt-app's period is the runtime and its deadline the period, if
    /// they are not given.
    fn deadline(&self, cx: &Cx<'_>, of: &Place) -> Result<Deadline, WorkloadError> {
        let Some((runtime, place)) = &self.runtime else {
            let what = "SCHED_DEADLINE needs a reservation; set \"dl-runtime\" and \"dl-period\", in us";
            return Err(of.error(cx.path, what));
        };
        let us = |time: &Option<(u64, Place)>| time.as_ref().map(|(us, _)| *us);
        let period = us(&self.period).unwrap_or(*runtime);
        let deadline = Deadline {
            runtime_ns: runtime * 1_000,
            deadline_ns: us(&self.deadline).unwrap_or(period) * 1_000,
            period_ns: period * 1_000,
        };
        let place = [&self.deadline, &self.period].into_iter().flatten().next().map_or(place, |(_, place)| place);
        deadline.check().map_err(|what| place.error(cx.path, what)).map(|()| deadline)
    }

    /// Returns the nice value under a policy, if one is set. A policy without one sets it to 0.
    pub(super) fn nice(&self, cx: &Cx<'_>, policy: Policy) -> Result<Option<i8>, WorkloadError> {
        match &self.priority {
            _ if policy.is_realtime() => Ok(None),
            _ if policy == Policy::NotModelled => Ok((self.policy.is_some() || self.priority.is_some()).then_some(0)),
            None => Ok(self.policy.map(|_| 0)),
            Some((nice, _)) if *nice <= 19 => Ok(Some(*nice as i8)),
            Some((nice, place)) => {
                Err(place.error(cx.path, format!("the nice value of this policy is {nice}; expected -20 to 19")))
            }
        }
    }

    /// Returns the policy of a realtime thread or phase, at `place`, and its priority or what it reserves; `None` under
    /// other policies.
    pub(super) fn realtime(
        &self,
        cx: &Cx<'_>,
        policy: Policy,
        place: &Place,
    ) -> Result<Option<Realtime>, WorkloadError> {
        if !policy.is_realtime() {
            return Ok(None);
        }
        if policy == Policy::Deadline {
            return self.deadline(cx, place).map(|deadline| Some(Realtime::Deadline(deadline)));
        }
        let priority = match &self.priority {
            None => DEFAULT_PRIORITY,
            Some((priority, _)) if (1..=99).contains(priority) => *priority as u8,
            Some((priority, place)) => {
                let what = format!("the priority of this policy is {priority}; expected 1 (the least urgent) to 99");
                return Err(place.error(cx.path, what));
            }
        };
        Ok(Some(if policy == Policy::Fifo { Realtime::Fifo(priority) } else { Realtime::Rr(priority) }))
    }

    /// Returns whether the policy, the priority or the reservation of a thread of this policy is set.
    pub(super) fn sets_policy(&self, policy: Policy) -> bool {
        let reserves = policy == Policy::Deadline && self.runtime.is_some();
        self.policy.is_some() || self.priority.is_some() || reserves
    }
}

const PRIORITY: &str = "a nice value or the priority of a realtime policy";
