//! What is asked of a recording: the decisions as they were made, or those of another feature set.

use crate::assumed::Assumed;
use std::fmt;
use wakelab_events::{Row, Snapshot, TopoFile};
use wakelab_kernel::{Feature, FeatureSet, Preset, SwitchError, Switches};
use wakelab_sched::select::policy::{self, Recorded};
use wakelab_sched::select::{Cx, Decision, Observer, Rules, RulesError, Select, select_task_rq_fair};

/// Features besides those of search policies that the choice of a CPU reads.
const AROUND_THE_SEARCH: [Feature; 4] = [Feature::WA_IDLE, Feature::WA_WEIGHT, Feature::WA_BIAS, Feature::UTIL_EST];

/// Whether recordings hold what a feature reads when a CPU is chosen.
pub(crate) fn recorded(feature: Feature) -> Recorded {
    match policy::switches().find(|switch| switch.feature == feature) {
        Some(switch) => switch.recorded,
        None if AROUND_THE_SEARCH.contains(&feature) => Recorded::Yes,
        None => Recorded::NotRead,
    }
}

/// What is switched on top of what the recorded kernel had on.
#[derive(Clone, Debug, Default)]
pub struct Question {
    with: Switches,
    assumed: Assumed,
}

/// A question that a recording cannot answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionError {
    /// The switches do not fit the kernel.
    Switch(SwitchError),
    /// The feature is no part of choosing a CPU.
    NotPlacement(Feature),
    /// A tunable is set, and no recorded decision reads it.
    Tunable(&'static str),
    /// The feature reads what recordings do not hold.
    NotRecorded(Feature, &'static str),
    /// The kernel compares loads that recordings do not hold.
    RunnableLoad(&'static str),
    /// The machine or kernel needs what is not modelled.
    Rules(RulesError),
    /// The machine's CPUs differ in capacity, and the kernel's decisions then read utilisation clamps, which are not recorded.
    AsymmetricCapacity,
}

impl fmt::Display for QuestionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionError::Switch(e) => e.fmt(f),
            QuestionError::Rules(e) => e.fmt(f),
            QuestionError::AsymmetricCapacity => f.write_str(
                "the CPUs differ in capacity (SD_ASYM_CPUCAPACITY); the kernel's placement then reads utilisation clamps, \
                 which recordings do not hold",
            ),
            QuestionError::RunnableLoad(kernel) => write!(
                f,
                "{kernel} compares the loads of queued tasks only (runnable_load_avg, up to 5.4), which recordings do \
                 not hold"
            ),
            QuestionError::NotPlacement(feature) => {
                let read = |feature: &&Feature| recorded(**feature) != Recorded::NotRead && feature.modelled();
                let names: Vec<_> = Feature::ALL.iter().filter(read).map(|feature| feature.name()).collect();
                write!(
                    f,
                    "{feature} is not read when a CPU is chosen, so switching it changes no recorded decision; the \
                     features that are read: {}",
                    names.join(", ")
                )
            }
            QuestionError::Tunable(name) => {
                write!(f, "{name} is not read when a CPU is chosen, so setting it changes no recorded decision")
            }
            QuestionError::NotRecorded(feature, what) => {
                write!(f, "{feature} reads {what}, which recordings do not hold")
            }
        }
    }
}

impl std::error::Error for QuestionError {}

impl Question {
    /// The decisions as the recorded kernel made them.
    pub fn as_recorded() -> Self {
        Question::default()
    }

    /// The decisions with features switched.
    ///
    /// # Errors
    /// Where a feature has no part in choosing a CPU, or reads what is not recorded.
    pub fn with(with: Switches) -> Result<Self, QuestionError> {
        for (feature, on) in with.iter() {
            match recorded(feature) {
                Recorded::NotRead => return Err(QuestionError::NotPlacement(feature)),
                Recorded::Not(inputs) if on => return Err(QuestionError::NotRecorded(feature, inputs)),
                Recorded::Yes | Recorded::IfThere(_) | Recorded::Not(_) => {}
            }
        }
        if let Some(setting) = with.settings().next() {
            return Err(QuestionError::Tunable(setting.name));
        }
        Ok(Question { with, assumed: Assumed::default() })
    }

    /// The same, with values for what recordings may lack.
    #[must_use]
    pub fn assuming(self, assumed: Assumed) -> Self {
        Question { assumed, ..self }
    }

    /// What stands in for what was not recorded.
    pub fn assumed(&self) -> &Assumed {
        &self.assumed
    }

    /// The same with a feature switched besides.
    ///
    /// # Errors
    /// As [`Question::with`].
    pub fn and(&self, feature: Feature, on: bool) -> Result<Self, QuestionError> {
        Ok(Question::with(self.with.iter().chain([(feature, on)]).collect())?.assuming(self.assumed))
    }

    /// What the decision on `row` reads that neither the recording nor an assumption has, if there is something.
    pub fn lacks(&self, row: &Row, topo: &TopoFile) -> Option<String> {
        if !self.features(row).has(Feature::SIS_PROP) {
            return None;
        }
        let lacking = self.assumed.lacking(&row.scan, topo.preset.code.sis_prop);
        (!lacking.is_empty()).then(|| lacking.join(" and "))
    }

    /// What is switched.
    pub fn switches(&self) -> &Switches {
        &self.with
    }

    /// Whether nothing is switched, so that the model's choice is to be the kernel's.
    pub fn is_as_recorded(&self) -> bool {
        self.with.is_empty()
    }

    /// What is on in `row` under this question.
    pub fn features(&self, row: &Row) -> FeatureSet {
        self.with.on(row.features.set)
    }

    /// Whether the recorded kernel can be asked at all.
    ///
    /// # Errors
    /// Where the switches do not fit the kernel, or the machine is not modelled.
    pub fn check(&self, topo: &TopoFile) -> Result<(), QuestionError> {
        let preset: &Preset = topo.preset;
        let features = preset.switched(&self.with).map_err(QuestionError::Switch)?;
        // A scheduler of sched_ext gives its tasks no clamps.
        if topo.domains.asym_cpucap_active && topo.scheduler.is_none() {
            return Err(QuestionError::AsymmetricCapacity);
        }
        if preset.code.runnable_load {
            return Err(QuestionError::RunnableLoad(preset.name));
        }
        Rules::new(preset, features, &topo.domains).map(|_| ()).map_err(QuestionError::Rules)
    }

    /// The decision on `row`.
    ///
    /// # Panics
    /// Where [`Question::check`] was not asked before, or said no.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn unequal_cpus_are_asked_where_nothing_is_clamped() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings/topo-7.2-A.json");
        let mut topo = TopoFile::read(&path).unwrap();
        topo.domains.asym_cpucap_active = true;
        assert_eq!(Question::as_recorded().check(&topo), Err(QuestionError::AsymmetricCapacity));
        topo.scheduler = Some("scx_wakelab 0.1.0".to_owned());
        assert_eq!(Question::as_recorded().check(&topo), Ok(()));
    }
}
