//! Finding presets.
use super::{ALL, Preset};
use crate::{Feature, FeatureSet, Switches, SwitchesError};
use wakelab_input::{nearest, suggest};

/// A preset's name was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown kernel {name}{}; all: {}", suggest(.near), Preset::names().join(", "))]
pub struct PresetError {
    /// What was given.
    pub name: String,
    /// Names like it.
    pub near: Vec<String>,
}

/// A list of switches does not fit a preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// A name is unknown.
    #[error(transparent)]
    Unknown(#[from] SwitchesError),
    /// The version does not have the feature, and the model does not act on it either.
    #[error("kernel {preset} has no feature {feature}, and the model does not act on it")]
    Absent {
        /// The preset.
        preset: &'static str,
        /// The feature.
        feature: Feature,
    },
}

impl Preset {
    /// Every preset, the oldest first.
    pub fn all() -> &'static [&'static Preset] {
        &ALL
    }

    /// Every preset's name.
    pub fn names() -> Vec<&'static str> {
        ALL.iter().map(|p| p.name).collect()
    }

    /// The preset of that name.
    pub fn get(name: &str) -> Result<&'static Preset, PresetError> {
        ALL.iter().copied().find(|p| p.name == name).ok_or_else(|| unknown(name, name))
    }

    /// The preset that a kernel's release belongs to (`6.12.107+deb13-cloud-amd64`, `6.1`, `5.19.0-rc1`): the one with
    /// the same major and minor number, and among release candidates the same candidate.
    pub fn of_release(release: &str) -> Result<&'static Preset, PresetError> {
        let (short, candidate) = short(release);
        let full = format!("v{short}{candidate}");
        ALL.iter().copied().find(|p| p.name == full).ok_or_else(|| unknown(release, &full))
    }

    /// Whether the version's `features` file lists `feature`.
    pub fn lists(&self, feature: Feature) -> bool {
        self.feature_file.iter().any(|&(f, _)| f == feature)
    }

    /// The version's features with `switches` applied. A feature the version does not have can be switched on where
    /// the model acts on it.
    pub fn switched(&self, switches: &Switches) -> Result<FeatureSet, SwitchError> {
        match switches.iter().find(|&(f, on)| on && !self.lists(f) && !f.modelled()) {
            Some((feature, _)) => Err(SwitchError::Absent { preset: self.name, feature }),
            None => Ok(switches.on(self.features)),
        }
    }

    /// The version's features as its `features` file prints them.
    pub fn print_features(&self) -> String {
        FeatureSet::of(self.feature_file).print(self.feature_file)
    }
}

/// The first two numbers of a release, and `-rcN` where it is a candidate.
fn short(release: &str) -> (String, String) {
    let release = release.trim().trim_start_matches('v');
    let numbers = release.split(['-', '+', '~', ' ']).next().unwrap_or_default();
    let short = numbers.split('.').take(2).collect::<Vec<_>>().join(".");
    let candidate = release
        .split(['-', '+', '~'])
        .find(|part| part.strip_prefix("rc").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())));
    (short, candidate.map(|rc| format!("-{rc}")).unwrap_or_default())
}

fn unknown(name: &str, like: &str) -> PresetError {
    PresetError { name: name.to_owned(), near: nearest(like, ALL.iter().map(|p| p.name)) }
}
