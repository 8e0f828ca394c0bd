//! Sets of features.
use std::fmt;

use super::{Feature, Switches, SwitchesError, split_no};

/// A set of features that are on.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct FeatureSet(u128);

/// The contents of a kernel's `features` file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct FeaturesFile {
    /// The features that the file lists, in its order, and whether each is on.
    pub listed: Vec<(Feature, bool)>,
    /// Its words that name no feature known here.
    pub unknown: Vec<String>,
}

impl FeaturesFile {
    /// The features that are on.
    pub fn set(&self) -> FeatureSet {
        FeatureSet::of(&self.listed)
    }
}

impl FeatureSet {
    /// Nothing on.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    /// Those that `listed` has on.
    pub const fn of(listed: &[(Feature, bool)]) -> Self {
        let mut set = FeatureSet::EMPTY;
        let mut i = 0;
        while i < listed.len() {
            set = set.with(listed[i].0, listed[i].1);
            i += 1;
        }
        set
    }

    /// Returns whether `feature` is on: `sched_feat()`.
    #[inline]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u32 & 1 != 0
    }

    /// Returns whether any feature of `other` is on.
    #[inline]
    pub const fn intersects(self, other: FeatureSet) -> bool {
        self.0 & other.0 != 0
    }

    /// The set with `feature` switched on or off.
    pub const fn with(self, feature: Feature, on: bool) -> Self {
        let bit = 1 << feature as u32;
        FeatureSet(if on { self.0 | bit } else { self.0 & !bit })
    }

    /// Returns the features that are on, in the registry's order.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&f| self.has(f))
    }

    /// Parses a kernel's `features` file. A recorded kernel may have features that are unknown here: those are returned
    /// besides the others, and are not an error.
    pub fn parse_file(text: &str) -> FeaturesFile {
        let mut file = FeaturesFile { listed: Vec::new(), unknown: Vec::new() };
        for word in text.split_whitespace() {
            let (name, on) = split_no(word);
            match Feature::by_name(name) {
                Some(feature) => file.listed.push((feature, on)),
                None => file.unknown.push(word.to_owned()),
            }
        }
        file
    }

    /// Applies a list of switches (`SIS_PROP,NO_SIS_UTIL`); changes nothing if it does not parse.
    pub fn apply(&mut self, switches: &str) -> Result<(), SwitchesError> {
        *self = switches.parse::<Switches>()?.on(*self);
        Ok(())
    }

    /// Returns the switches that turn this set into `other`.
    pub fn diff(self, other: FeatureSet) -> Switches {
        let changed = Feature::ALL.iter().filter(|&&f| self.has(f) != other.has(f));
        Switches::from_iter(changed.map(|&f| (f, other.has(f))))
    }

    /// The set as a kernel with the features `listed` prints it, with `NO_` before those that are off. A feature that
    /// is on here and not listed follows.
    pub fn print(self, listed: &[(Feature, bool)]) -> String {
        let known = listed.iter().map(|&(f, _)| (f, self.has(f)));
        let more = self.iter().filter(|f| !listed.iter().any(|(x, _)| x == f)).map(|f| (f, true));
        let words = known.chain(more).map(|(f, on)| format!("{}{f}", if on { "" } else { "NO_" }));
        words.collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl serde::Serialize for FeatureSet {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.iter())
    }
}
