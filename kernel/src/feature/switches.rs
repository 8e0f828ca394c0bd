//! Lists of switches.
use std::{fmt, str::FromStr};

use super::{Feature, FeatureError, FeatureSet, split_no};
use crate::{PowerOption, Setting, SettingError};

/// A list of features to switch, tunables to set and what is asked of power management, in the order given:
/// `SIS_PROP,NO_SIS_UTIL,migration_cost=0`, `governor=schedutil,NO_FREQ_INVARIANCE`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches {
    features: Vec<(Feature, bool)>,
    settings: Vec<Setting>,
    power: Vec<PowerOption>,
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
}

impl Switches {
    /// `set` with the switches applied, the last of two for one feature winning.
    pub fn on(&self, set: FeatureSet) -> FeatureSet {
        self.features.iter().fold(set, |set, &(feature, on)| set.with(feature, on))
    }

    /// The switches, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (Feature, bool)> + '_ {
        self.features.iter().copied()
    }

    /// The tunables that are set, in the order given.
    pub fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.settings.iter().copied()
    }

    /// What is asked of power management, in the order given.
    pub fn power(&self) -> &[PowerOption] {
        &self.power
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty() && self.settings.is_empty() && self.power.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.features.len() + self.settings.len() + self.power.len()
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
            match parts {
                Some((name, value)) => switches.settings.push(Setting::new(name, value)?),
                None => {
                    let (name, on) = split_no(word);
                    switches.features.push((name.parse()?, on));
                }
            }
        }
        Ok(switches)
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
        f.write_str(&features.chain(settings).chain(power).collect::<Vec<_>>().join(","))
    }
}

impl serde::Serialize for Switches {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
