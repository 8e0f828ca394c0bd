//! Lists of switches.
use std::{fmt, str::FromStr};

use super::{Feature, FeatureError, FeatureSet, split_no};
use crate::{PowerOption, Setting, SettingError, TaskClamp, TaskClampError};

/// A list of features to switch, tunables to set and what is asked of power management, in the order given:
/// `SIS_PROP,NO_SIS_UTIL,migration_cost=0`, `governor=schedutil,NO_FREQ_INVARIANCE`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches {
    features: Vec<(Feature, bool)>,
    settings: Vec<Setting>,
    power: Vec<PowerOption>,
    clamps: Vec<TaskClamp>,
}

/// A list of switches was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchesError {
    /// A feature.
    #[error(transparent)]
    Feature(#[from] FeatureError),
    /// A tunable.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A task's clamp.
    #[error(transparent)]
    Clamp(#[from] TaskClampError),
    /// Two words that contradict each other.
    #[error("{first} and {second} contradict each other; give only one of them")]
    Contradiction {
        /// The word that comes first.
        first: String,
        /// The other.
        second: String,
    },
}

/// The forms of SIS_NODE.
const NODE: [Feature; 4] =
    [Feature::SIS_NODE, Feature::SIS_NODE_LIMIT, Feature::SIS_NODE_TOPOEXT, Feature::SIS_NODE_PAIR];

/// The posted forms of SIS_CLUSTER.
const CLUSTER: &[Feature] = &[
    Feature::SIS_CLUSTER_V5,
    Feature::SIS_CLUSTER_V7,
    Feature::SIS_CLUSTER_V8,
    Feature::SIS_CLUSTER_V9,
    Feature::SIS_CLUSTER_V10,
];

/// Features that answer one question: one of the first and one of the second contradict each other. SIS_ORACLE replaces
/// the search that the others change, and each version of SIS_UTIL has a formula of its own for the same number.
/// SIS_LIMIT and SIS_EFF_BUSY keep one result of each search, and a search of several LLCs has several.
const ALTERNATIVES: [(&[Feature], &[Feature]); 12] = [
    (&[Feature::SIS_UTIL_V1], &[Feature::SIS_UTIL_V2, Feature::SIS_UTIL_V3]),
    (&[Feature::SIS_UTIL_V2], &[Feature::SIS_UTIL_V3]),
    (
        &[Feature::SIS_ORACLE],
        &[Feature::SIS_CACHE, Feature::SIS_LIMIT, Feature::SIS_FILTER, Feature::SIS_EFF_BUSY, Feature::SIS_EFF_FILTER],
    ),
    (&[Feature::SIS_ORACLE], &NODE),
    (&[Feature::SIS_LIMIT, Feature::SIS_EFF_BUSY, Feature::SIS_EFF_FILTER], &NODE),
    (&[Feature::SIS_EFF_IDLE_CORE], &[Feature::SIS_EFF_CORE_LIMIT]),
    (&[Feature::SIS_CLUSTER_V5], CLUSTER.split_at(1).1),
    (&[Feature::SIS_CLUSTER_V7], CLUSTER.split_at(2).1),
    (&[Feature::SIS_CLUSTER_V8], CLUSTER.split_at(3).1),
    (&[Feature::SIS_CLUSTER_V9], CLUSTER.split_at(4).1),
    (&[Feature::SCHED_CACHE], &[Feature::SCHED_CACHE_V1, Feature::SCHED_CACHE_LB]),
    (&[Feature::SCHED_CACHE_V1], &[Feature::SCHED_CACHE_LB]),
];

/// Features that the kernel has had one after the other for one number, the limit of the scan. Where both are on the
/// later one's limit is taken, and the earlier one only keeps its averages (`select_idle_cpu()`, 6.0).
const REPLACE: [(Feature, Feature); 1] = [(Feature::SIS_PROP, Feature::SIS_UTIL)];

fn word(&(feature, on): &(Feature, bool)) -> String {
    format!("{}{feature}", if on { "" } else { "NO_" })
}

impl Switches {
    /// `set` with the switches applied, in the order given. SIS_PROP and SIS_UTIL replace each other
    /// ([`Switches::replaced`]).
    pub fn on(&self, set: FeatureSet) -> FeatureSet {
        let set = self.replaced(set).fold(set, |set, (replaced, _)| set.with(replaced, false));
        self.features.iter().fold(set, |set, &(feature, on)| set.with(feature, on))
    }

    /// The features of `set` that these switches replace without naming them, each with what replaces it. A list that
    /// names both SIS_PROP and SIS_UTIL replaces neither.
    pub fn replaced(&self, set: FeatureSet) -> impl Iterator<Item = (Feature, Feature)> + '_ {
        let replaces = move |(old, new): (Feature, Feature)| {
            let unnamed = set.has(old) && self.iter().all(|(feature, _)| feature != old);
            (unnamed && self.iter().any(|switch| switch == (new, true))).then_some((old, new))
        };
        REPLACE.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).filter_map(replaces)
    }

    /// The switches, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (Feature, bool)> + '_ {
        self.features.iter().copied()
    }

    /// The tunables that are set, in the order given.
    pub fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.settings.iter().copied()
    }

    /// Returns the options of power management, in the order given.
    pub fn power(&self) -> &[PowerOption] {
        &self.power
    }

    /// The utilisation clamps of tasks, in the order given.
    pub fn clamps(&self) -> &[TaskClamp] {
        &self.clamps
    }

    /// These switches, then `other`: what both name is as `other` has it.
    #[must_use]
    pub fn then(&self, other: &Switches) -> Switches {
        let mut all = other.clone();
        let kind = std::mem::discriminant::<PowerOption>;
        let features = self.features.iter().filter(|own| other.features.iter().all(|with| with.0 != own.0));
        let settings = self.settings.iter().filter(|own| other.settings.iter().all(|with| with.name != own.name));
        let power = self.power.iter().filter(|own| other.power.iter().all(|with| kind(with) != kind(own)));
        let same = |a: &TaskClamp, b: &TaskClamp| a.task == b.task && a.max == b.max;
        let clamps = self.clamps.iter().filter(|own| other.clamps.iter().all(|with| !same(own, with)));
        all.clamps.splice(0..0, clamps.cloned());
        all.features.splice(0..0, features.copied());
        all.settings.splice(0..0, settings.copied());
        all.power.splice(0..0, power.cloned());
        all
    }

    /// Two words of the list that contradict each other: a feature that is on and off, a tunable with two values,
    /// or two
    /// features that answer one question.
    fn contradiction(&self) -> Option<SwitchesError> {
        let alternative = |a: Feature, b: Feature| {
            ALTERNATIVES.iter().any(|(one, other)| {
                (one.contains(&a) && other.contains(&b)) || (one.contains(&b) && other.contains(&a))
            })
        };
        let features = self.features.iter().enumerate().find_map(|(n, b)| {
            let earlier = self.features[..n].iter();
            let a = earlier.clone().find(|a| a.0 == b.0 && a.1 != b.1);
            let a = a.or_else(|| earlier.clone().find(|a| a.1 && b.1 && alternative(a.0, b.0)))?;
            Some((word(a), word(b)))
        });
        let settings = || {
            self.settings.iter().enumerate().find_map(|(n, b)| {
                let a = self.settings[..n].iter().find(|a| a.name == b.name && a.value != b.value)?;
                Some((format!("{}={}", a.name, a.value), format!("{}={}", b.name, b.value)))
            })
        };
        let clamps = || {
            self.clamps.iter().enumerate().find_map(|(n, b)| {
                let same = |a: &&TaskClamp| a.task == b.task && a.max == b.max && a.value != b.value;
                Some((self.clamps[..n].iter().find(same)?.to_string(), b.to_string()))
            })
        };
        let (first, second) = features.or_else(settings).or_else(clamps)?;
        Some(SwitchesError::Contradiction { first, second })
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.features.len() + self.settings.len() + self.power.len() + self.clamps.len()
    }

    /// The features that are switched here though nothing acts on them.
    pub fn inert(&self) -> impl Iterator<Item = Feature> + '_ {
        self.features.iter().map(|&(f, _)| f).filter(|f| !f.modelled())
    }
}

impl FromStr for Switches {
    type Err = SwitchesError;

    /// Words separated by commas (blanks around them are ignored): features, each with `NO_` to switch it off, and
    /// tunables with their values.
    fn from_str(text: &str) -> Result<Self, SwitchesError> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let mut switches = Switches::default();
        for word in words {
            let parts = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let option = match parts {
                Some((name, value)) => PowerOption::read(name, Some(value)),
                None => PowerOption::read(word, None),
            };
            if let Some(option) = option {
                switches.power.push(option);
                continue;
            }
            if let Some(clamp) = parts.and_then(|(name, value)| TaskClamp::read(name, value)) {
                switches.clamps.push(clamp?);
                continue;
            }
            match parts {
                Some((name, value)) => switches.settings.push(Setting::new(name, value)?),
                None => {
                    let (name, on) = split_no(word);
                    switches.features.push((name.parse()?, on));
                }
            }
        }
        switches.contradiction().map_or(Ok(switches), Err)
    }
}

impl FromIterator<(Feature, bool)> for Switches {
    fn from_iter<I: IntoIterator<Item = (Feature, bool)>>(switches: I) -> Self {
        Switches { features: switches.into_iter().collect(), ..Switches::default() }
    }
}

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let features = self.iter().map(|(feature, on)| format!("{}{feature}", if on { "" } else { "NO_" }));
        let settings = self.settings().map(|Setting { name, value }| format!("{name}={value}"));
        let power = self.power.iter().map(PowerOption::to_string);
        let clamps = self.clamps.iter().map(TaskClamp::to_string);
        f.write_str(&features.chain(settings).chain(power).chain(clamps).collect::<Vec<_>>().join(","))
    }
}

impl serde::Serialize for Switches {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
