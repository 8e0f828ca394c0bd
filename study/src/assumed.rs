//! Values that stand in for what a recording does not hold (`--assume`).

use crate::experiment::parse_time;
use crate::near::did_you_mean;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use wakelab_events::recording::ScanState;
use wakelab_kernel::SisProp;
use wakelab_sched::select::ScanClock;

/// What SIS_PROP reads, where it is stated and not recorded: the same for every wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// `rq->avg_idle` of the waking CPU, ns.
    pub avg_idle: Option<u64>,
    /// `rq->wake_avg_idle` of the waking CPU, ns.
    pub wake_avg_idle: Option<u64>,
    /// `sd_llc->avg_scan_cost` of its last-level cache, ns.
    pub avg_scan_cost: Option<u64>,
}

impl Assumed {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        *self == Assumed::default()
    }

    /// What is neither assumed nor recorded of what this form of SIS_PROP reads.
    pub(crate) fn lacking(&self, recorded: &ScanState, form: SisProp) -> Vec<&'static str> {
        let idle = match form {
            SisProp::AvgIdle => (self.avg_idle.or(recorded.avg_idle).is_none(), "avg_idle"),
            SisProp::WakeAvgIdle => {
                let recorded =
                    recorded.wake_avg_idle.filter(|_| recorded.jiffies.is_some() && recorded.wake_stamp.is_some());
                (self.wake_avg_idle.or(recorded).is_none(), "wake_avg_idle")
            }
        };
        let cost = (self.avg_scan_cost.or(recorded.avg_scan_cost).is_none(), "avg_scan_cost");
        [idle, cost].into_iter().filter_map(|(lacks, name)| lacks.then_some(name)).collect()
    }

    /// Whether this form of SIS_PROP reads an assumed value, and whether one of these was recorded, too.
    pub(crate) fn used(&self, recorded: &ScanState, form: SisProp) -> (bool, bool) {
        let idle = match form {
            SisProp::AvgIdle => (self.avg_idle, recorded.avg_idle),
            SisProp::WakeAvgIdle => (self.wake_avg_idle, recorded.wake_avg_idle),
        };
        let both = [idle, (self.avg_scan_cost, recorded.avg_scan_cost)];
        let read = both.iter().any(|(assumed, _)| assumed.is_some());
        (read, both.iter().any(|(assumed, recorded)| assumed.is_some() && recorded.is_some()))
    }

    /// What SIS_PROP is to read: the assumed before the recorded. An assumed `wake_avg_idle` does not age.
    pub(crate) fn clock(&self, recorded: &ScanState) -> ScanClock {
        let jiffies = recorded.jiffies.unwrap_or(0);
        ScanClock {
            jiffies,
            wake_stamp: if self.wake_avg_idle.is_some() { jiffies } else { recorded.wake_stamp.unwrap_or(0) },
            wake_avg_idle: self.wake_avg_idle.or(recorded.wake_avg_idle).unwrap_or(0),
            avg_idle: self.avg_idle.or(recorded.avg_idle).unwrap_or(0),
            avg_scan_cost: self.avg_scan_cost.or(recorded.avg_scan_cost).unwrap_or(0),
        }
    }
}

impl FromStr for Assumed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut assumed = Assumed::default();
        for part in text.split(',') {
            let expected = "expected NAME=TIME, as avg_idle=500us,avg_scan_cost=4us";
            let (name, value) = part.split_once('=').ok_or_else(|| format!("{part:?}: {expected}"))?;
            let ns = value.trim().parse().or_else(|_| parse_time(value.trim()))?;
            let place = match name.trim() {
                "avg_idle" => &mut assumed.avg_idle,
                "wake_avg_idle" => &mut assumed.wake_avg_idle,
                "avg_scan_cost" => &mut assumed.avg_scan_cost,
                other => {
                    let known = ["avg_idle", "wake_avg_idle", "avg_scan_cost"];
                    let near = did_you_mean(other, known);
                    return Err(format!("{other:?} cannot be assumed, {} can{near}", known.join(", ")));
                }
            };
            *place = Some(ns);
        }
        Ok(assumed)
    }
}

impl fmt::Display for Assumed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all =
            [("avg_idle", self.avg_idle), ("wake_avg_idle", self.wake_avg_idle), ("avg_scan_cost", self.avg_scan_cost)];
        let said: Vec<_> = all.into_iter().filter_map(|(name, ns)| Some(format!("{name} {} ns", ns?))).collect();
        f.write_str(&said.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_assumed_comes_before_what_is_recorded() {
        let assumed: Assumed = "wake_avg_idle=500us,avg_scan_cost=4000".parse().expect("two values");
        let recorded = ScanState {
            jiffies: Some(9),
            wake_stamp: Some(3),
            wake_avg_idle: Some(1),
            avg_idle: Some(2),
            avg_scan_cost: None,
        };
        let clock = assumed.clock(&recorded);
        assert_eq!((clock.wake_stamp, clock.wake_avg_idle, clock.avg_idle, clock.avg_scan_cost), (9, 500_000, 2, 4000));
        assert_eq!(assumed.lacking(&ScanState::default(), SisProp::WakeAvgIdle), [""; 0]);
        assert_eq!(assumed.lacking(&ScanState::default(), SisProp::AvgIdle), ["avg_idle"]);
        assert_eq!(Assumed::default().lacking(&recorded, SisProp::WakeAvgIdle), ["avg_scan_cost"]);
    }

    #[test]
    fn what_cannot_be_assumed_is_named() {
        for text in ["jiffies=1", "avg_idle", "avg_idle=soon", ""] {
            assert!(text.parse::<Assumed>().is_err(), "{text}");
        }
    }
}
