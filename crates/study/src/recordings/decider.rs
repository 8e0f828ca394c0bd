//! How recorded decisions are made again: with the features of the recording, or with other ones.

use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use wakelab_events::decisions::ScanState;
use wakelab_events::{Row, Snapshot, TopoFile};
use wakelab_input::{nearest, parse_duration, suggest};
use wakelab_kernel::{Feature, FeatureSet, Preset, SisProp, SwitchError, Switches};
use wakelab_sched::select::policy::{self, Recorded};
use wakelab_sched::select::{Cx, Decision, Observer, Rules, RulesError, ScanClock, Select, select_task_rq_fair};

/// The features that the choice of a CPU reads, apart from those of search policies.
const AROUND_THE_SEARCH: [Feature; 4] = [Feature::WA_IDLE, Feature::WA_WEIGHT, Feature::WA_BIAS, Feature::UTIL_EST];

/// Returns whether recordings hold what a feature reads when a CPU is chosen.
pub(crate) fn recorded(feature: Feature) -> Recorded {
    match policy::switches().find(|switch| switch.feature == feature) {
        Some(switch) => switch.recorded,
        None if AROUND_THE_SEARCH.contains(&feature) => Recorded::Yes,
        None => Recorded::NotRead,
    }
}

/// Makes recorded decisions again, with features switched on top of those that the recorded kernel had on.
#[derive(Clone, Debug, Default)]
pub struct Decider {
    with: Switches,
    assumed: AssumedInputs,
}

/// Why recorded decisions cannot be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeciderError {
    /// The switches do not fit the kernel.
    Switch(SwitchError),
    /// The choice of a CPU does not read the feature.
    NotPlacement(Feature),
    /// A tunable is set, but no recorded decision reads it.
    Tunable(&'static str),
    /// The feature reads what recordings do not hold.
    NotRecorded(Feature, &'static str),
    /// The kernel compares loads that recordings do not hold.
    RunnableLoad(&'static str),
    /// The machine or the kernel needs what is not modelled.
    Rules(RulesError),
    /// The CPUs of the machine differ in capacity. The kernel then reads utilisation clamps, which are not recorded.
    AsymmetricCapacity,
}

impl fmt::Display for DeciderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeciderError::Switch(e) => e.fmt(f),
            DeciderError::Rules(e) => e.fmt(f),
            DeciderError::AsymmetricCapacity => f.write_str(
                "the CPUs differ in capacity (SD_ASYM_CPUCAPACITY); the kernel's placement then reads utilisation \
                 clamps, which recordings do not hold",
            ),
            DeciderError::RunnableLoad(kernel) => write!(
                f,
                "{kernel} compares the loads of queued tasks only (runnable_load_avg, up to 5.4), which recordings do \
                 not hold"
            ),
            DeciderError::NotPlacement(feature) => {
                let read = |feature: &&Feature| recorded(**feature) != Recorded::NotRead && feature.modelled();
                let names: Vec<_> = Feature::ALL.iter().filter(read).map(|feature| feature.name()).collect();
                write!(
                    f,
                    "{feature} is not read when a CPU is chosen, so switching it changes no recorded decision; the \
                     features that are read: {}",
                    names.join(", ")
                )
            }
            DeciderError::Tunable(name) => {
                write!(f, "{name} is not read when a CPU is chosen, so setting it changes no recorded decision")
            }
            DeciderError::NotRecorded(feature, what) => {
                write!(f, "{feature} reads {what}, which recordings do not hold")
            }
        }
    }
}

impl std::error::Error for DeciderError {}

impl Decider {
    /// Creates a decider with the features of the recording.
    pub fn as_recorded() -> Self {
        Decider::default()
    }

    /// Creates a decider with features switched.
    ///
    /// # Errors
    /// Fails if the choice of a CPU does not read a feature, or if a feature reads what is not recorded.
    pub fn with(with: Switches) -> Result<Self, DeciderError> {
        for (feature, on) in with.iter() {
            match recorded(feature) {
                Recorded::NotRead => return Err(DeciderError::NotPlacement(feature)),
                Recorded::Not(inputs) if on => return Err(DeciderError::NotRecorded(feature, inputs)),
                Recorded::Yes | Recorded::IfThere(_) | Recorded::Not(_) => {}
            }
        }
        if let Some(setting) = with.settings().next() {
            return Err(DeciderError::Tunable(setting.name));
        }
        Ok(Decider { with, assumed: AssumedInputs::default() })
    }

    /// Returns this decider with values for inputs that recordings may lack.
    #[must_use]
    pub fn assuming(self, assumed: AssumedInputs) -> Self {
        Decider { assumed, ..self }
    }

    /// The values that replace what was not recorded.
    pub fn assumed(&self) -> &AssumedInputs {
        &self.assumed
    }

    /// Returns this decider with one more feature switched.
    ///
    /// # Errors
    /// Fails as [`Decider::with`] does.
    pub fn and(&self, feature: Feature, on: bool) -> Result<Self, DeciderError> {
        Ok(Decider::with(self.with.iter().chain([(feature, on)]).collect())?.assuming(self.assumed))
    }

    /// Returns the names of the inputs that the decision on `row` reads and that are neither recorded nor assumed, if
    /// there are any.
    pub fn lacks(&self, row: &Row, topo: &TopoFile) -> Option<String> {
        if !self.features(row).has(Feature::SIS_PROP) {
            return None;
        }
        let lacking = self.assumed.lacking(&row.scan, topo.preset.code.sis_prop);
        (!lacking.is_empty()).then(|| lacking.join(" and "))
    }

    /// The features that are switched.
    pub fn switches(&self) -> &Switches {
        &self.with
    }

    /// Whether no feature is switched, so that the model's choice has to be the kernel's.
    pub fn is_as_recorded(&self) -> bool {
        self.with.is_empty()
    }

    /// The features that are on when the decision on `row` is made again.
    pub fn features(&self, row: &Row) -> FeatureSet {
        self.with.on(row.features.set)
    }

    /// Checks whether the decisions of a recording with this topology can be made again.
    ///
    /// # Errors
    /// Fails if the switches do not fit the kernel, or if the machine is not modelled.
    pub fn check(&self, topo: &TopoFile) -> Result<(), DeciderError> {
        let preset: &Preset = topo.preset;
        let features = preset.switched(&self.with).map_err(DeciderError::Switch)?;
        // A scheduler of sched_ext gives its tasks no clamps.
        if topo.domains.asym_cpucap_active && topo.scheduler.is_none() {
            return Err(DeciderError::AsymmetricCapacity);
        }
        if preset.code.runnable_load {
            return Err(DeciderError::RunnableLoad(preset.name));
        }
        Rules::new(preset, features, &topo.domains).map(|_| ()).map_err(DeciderError::Rules)
    }

    /// Makes the decision on `row` again.
    ///
    /// # Panics
    /// Panics if [`Decider::check`] fails for `topo`.
    #[inline]
    pub fn decide<O: Observer>(&self, row: &Row, topo: &TopoFile, select: &mut Select, observer: &mut O) -> Decision {
        let features = self.features(row);
        let rules = Rules::new(topo.preset, features, &topo.domains).expect("the machine was checked");
        let wakeup = row.wakeup();
        let view = Snapshot::new(row, topo, features);
        let view = if self.assumed.is_empty() { view } else { view.with_scan_clock(self.assumed.clock(&row.scan)) };
        select_task_rq_fair(select, Cx { rules: &rules, wakeup: &wakeup, view: &view }, observer)
    }
}

/// Values for the inputs of SIS_PROP that a recording lacks (`--assume`). They are the same for every wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AssumedInputs {
    /// `rq->avg_idle` of the waking CPU, ns.
    pub avg_idle: Option<u64>,
    /// `rq->wake_avg_idle` of the waking CPU, ns.
    pub wake_avg_idle: Option<u64>,
    /// `sd_llc->avg_scan_cost` of its last-level cache, ns.
    pub avg_scan_cost: Option<u64>,
}

impl AssumedInputs {
    /// Whether no value is assumed.
    pub fn is_empty(&self) -> bool {
        *self == AssumedInputs::default()
    }

    /// Returns the inputs of this form of SIS_PROP that are neither assumed nor recorded.
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

    /// Returns whether this form of SIS_PROP reads an assumed value, and whether such a value was recorded, too.
    pub(crate) fn used(&self, recorded: &ScanState, form: SisProp) -> (bool, bool) {
        let idle = match form {
            SisProp::AvgIdle => (self.avg_idle, recorded.avg_idle),
            SisProp::WakeAvgIdle => (self.wake_avg_idle, recorded.wake_avg_idle),
        };
        let both = [idle, (self.avg_scan_cost, recorded.avg_scan_cost)];
        let read = both.iter().any(|(assumed, _)| assumed.is_some());
        (read, both.iter().any(|(assumed, recorded)| assumed.is_some() && recorded.is_some()))
    }

    /// Returns the inputs of SIS_PROP. An assumed value replaces the recorded one, and an assumed `wake_avg_idle` does
    /// not age.
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

impl FromStr for AssumedInputs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut assumed = AssumedInputs::default();
        for part in text.split(',') {
            let expected = "expected NAME=TIME, such as avg_idle=500us,avg_scan_cost=4us";
            let (name, value) = part.split_once('=').ok_or_else(|| format!("{part:?}: {expected}"))?;
            let ns = value.trim().parse().or_else(|_| parse_duration(value.trim()))?;
            let place = match name.trim() {
                "avg_idle" => &mut assumed.avg_idle,
                "wake_avg_idle" => &mut assumed.wake_avg_idle,
                "avg_scan_cost" => &mut assumed.avg_scan_cost,
                other => {
                    let known = ["avg_idle", "wake_avg_idle", "avg_scan_cost"];
                    let near = suggest(&nearest(other, known));
                    return Err(format!("{other:?} cannot be assumed, only {}{near}", known.join(", ")));
                }
            };
            *place = Some(ns);
        }
        Ok(assumed)
    }
}

impl fmt::Display for AssumedInputs {
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
    use std::path::Path;

    #[test]
    fn unequal_cpus_are_asked_where_nothing_is_clamped() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings/topo-7.2-A.json");
        let mut topo = TopoFile::read(&path).unwrap();
        topo.domains.asym_cpucap_active = true;
        assert_eq!(Decider::as_recorded().check(&topo), Err(DeciderError::AsymmetricCapacity));
        topo.scheduler = Some("scx_wakelab 0.1.0".to_owned());
        assert_eq!(Decider::as_recorded().check(&topo), Ok(()));
    }

    #[test]
    fn what_is_assumed_comes_before_what_is_recorded() {
        let assumed: AssumedInputs = "wake_avg_idle=500us,avg_scan_cost=4000".parse().expect("two values");
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
        assert_eq!(AssumedInputs::default().lacking(&recorded, SisProp::WakeAvgIdle), ["avg_scan_cost"]);
    }

    #[test]
    fn what_cannot_be_assumed_is_named() {
        for text in ["jiffies=1", "avg_idle", "avg_idle=soon", ""] {
            assert!(text.parse::<AssumedInputs>().is_err(), "{text}");
        }
    }
}
