//! Features by name.
mod own;
mod registry;
mod set;
mod switches;

pub use own::{OwnFeature, OwnFeatureError, add_own};
pub use registry::Feature;
pub use set::{FeatureSet, FeaturesFile};
pub use switches::{Switches, SwitchesError};

use wakelab_input::{in_any_case, nearest, suggest};

/// A feature's name was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown feature {name}{}", suggest(.near))]
pub struct FeatureError {
    /// The name that was given, without its `NO_`.
    pub name: String,
    /// Names like it.
    pub near: Vec<String>,
}

impl std::str::FromStr for Feature {
    type Err = FeatureError;

    /// The feature of that name, in any case. A kernel's own `features` file is read by [`Feature::by_name`].
    fn from_str(name: &str) -> Result<Self, FeatureError> {
        let known = in_any_case(name, Feature::ALL.iter().map(|f| f.name()));
        known.and_then(Feature::by_name).ok_or_else(|| FeatureError {
            name: name.to_owned(),
            near: nearest(name, Feature::ALL.iter().map(|f| f.name())),
        })
    }
}

impl std::fmt::Display for Feature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl serde::Serialize for Feature {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

/// A word of a features file or of a switch list: the name, and whether it is on.
fn split_no(word: &str) -> (&str, bool) {
    match word.split_at_checked(3) {
        Some((no, name)) if no.eq_ignore_ascii_case("NO_") => (name, false),
        _ => (word, true),
    }
}
