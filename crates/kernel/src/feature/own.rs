//! A feature that a program adds to those of the registry: the switch of a search policy of its own.

use super::Feature;
use std::sync::OnceLock;

/// The name and the source of [`Feature::OWN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnFeature {
    /// As in `--with`; capitals, digits and `_`.
    pub name: &'static str,
    /// A description, in one line.
    pub doc: &'static str,
    /// Where it is from: a posting, or whose it is.
    pub source: &'static str,
}

/// A feature cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnFeatureError {
    /// The name is taken.
    #[error("{0} is already a feature; give the policy another name")]
    Known(&'static str),
    /// The name cannot be a switch.
    #[error(
        "{0:?} cannot be the name of a feature; expected capitals, digits and _, such as SIS_MINE, without NO_ \
             before it"
    )]
    Name(&'static str),
    /// A program has one feature of its own.
    #[error("the program already has {0}; it can have only one policy of its own at a time")]
    Second(&'static str),
}

static OWN: OnceLock<OwnFeature> = OnceLock::new();

/// Adds a feature, once in a program, before any name is read.
///
/// # Errors
/// Where the name is no name, or taken, or there is another one already.
pub fn add_own(feature: OwnFeature) -> Result<(), OwnFeatureError> {
    let name = feature.name;
    let good = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(good) || name.starts_with("NO_") {
        return Err(OwnFeatureError::Name(name));
    }
    if Feature::by_name(name).is_some_and(|known| known != Feature::OWN) {
        return Err(OwnFeatureError::Known(name));
    }
    if *OWN.get_or_init(|| feature) == feature {
        Ok(())
    } else {
        Err(OwnFeatureError::Second(own().map_or(name, |own| own.name)))
    }
}

/// The feature that was added.
pub(super) fn own() -> Option<&'static OwnFeature> {
    OWN.get()
}
