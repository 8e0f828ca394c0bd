//! Lists of switches.
use std::{fmt, str::FromStr};

use super::{Feature, FeatureError, FeatureSet, split_no};

/// A list of features to switch, in the order given: `SIS_PROP,NO_SIS_UTIL`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Switches(Vec<(Feature, bool)>);

impl Switches {
    /// `set` with the switches applied, the last of two for one feature winning.
    pub fn on(&self, set: FeatureSet) -> FeatureSet {
        self.0.iter().fold(set, |set, &(feature, on)| set.with(feature, on))
    }

    /// The switches, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (Feature, bool)> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The features that are switched here though nothing acts on them.
    pub fn inert(&self) -> impl Iterator<Item = Feature> + '_ {
        self.0.iter().map(|&(f, _)| f).filter(|f| !f.modelled())
    }
}

impl FromStr for Switches {
    type Err = FeatureError;

    /// Names separated by commas (blanks around them are ignored), each with `NO_` to switch it off.
    fn from_str(text: &str) -> Result<Self, FeatureError> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        words
            .map(|word| {
                let (name, on) = split_no(word);
                Ok((name.parse()?, on))
            })
            .collect()
    }
}

impl FromIterator<(Feature, bool)> for Switches {
    fn from_iter<I: IntoIterator<Item = (Feature, bool)>>(switches: I) -> Self {
        Switches(switches.into_iter().collect())
    }
}

impl fmt::Display for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (feature, on)) in self.iter().enumerate() {
            write!(f, "{}{}{feature}", if i > 0 { "," } else { "" }, if on { "" } else { "NO_" })?;
        }
        Ok(())
    }
}

impl serde::Serialize for Switches {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
