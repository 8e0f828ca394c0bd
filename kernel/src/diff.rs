//! Presets as plain data, alone and against each other.
use crate::{CodeField, Feature, Hz, Preset, SdFlagTable, Tunable};

/// A value that differs; `None` where a preset does not have it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Changed<T> {
    /// What it is the value of.
    pub name: &'static str,
    /// In the first preset.
    pub from: Option<T>,
    /// In the other.
    pub to: Option<T>,
}

/// A mechanism whose form differs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CodeChanged {
    /// The field of [`Code`](crate::Code).
    pub name: &'static str,
    /// Its form in the first preset.
    pub from: String,
    /// Its form in the other.
    pub to: String,
    /// What it stands for.
    pub doc: &'static str,
}

/// What differs between two presets.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PresetDiff {
    /// The first preset.
    pub from: &'static str,
    /// The other.
    pub to: &'static str,
    /// Features with another default, or that one of the two does not list.
    pub features: Vec<Changed<bool>>,
    /// Tunables and the tick.
    pub tunables: Vec<Changed<u64>>,
    /// Forms of the code.
    pub code: Vec<CodeChanged>,
}

/// A preset as plain data.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PresetInfo {
    /// Its name.
    pub name: &'static str,
    /// Where its data were read.
    pub source: &'static str,
    /// What is not complete.
    pub complete: &'static str,
    /// The tick.
    pub hz: Hz,
    /// What its `features` file lists.
    pub features: Vec<(Feature, bool)>,
    /// Features that are on in the model though the file does not list them.
    pub added: Vec<Feature>,
    /// Its tunables.
    pub tunables: Vec<Tunable>,
    /// Where these were read.
    pub tunables_source: &'static str,
    /// How it numbers the scheduling-domain flags.
    pub sd_flags: SdFlagTable,
    /// What it calls the level that spans a package.
    pub package_level: &'static str,
    /// Its forms of the code.
    pub code: Vec<CodeField>,
}

impl Preset {
    /// The preset as plain data.
    pub fn info(&self) -> PresetInfo {
        PresetInfo {
            name: self.name,
            source: self.source,
            complete: self.complete,
            hz: self.hz,
            features: self.feature_file.to_vec(),
            added: self.features.iter().filter(|&f| !self.lists(f)).collect(),
            tunables: self.tunables.list(),
            tunables_source: self.tunables_source,
            sd_flags: *self.sd_flags,
            package_level: self.package_level,
            code: self.code.describe(),
        }
    }

    /// What differs in `other`.
    pub fn diff(&self, other: &Preset) -> PresetDiff {
        let default = |preset: &Preset, feature| preset.lists(feature).then(|| preset.features.has(feature));
        let features = Feature::ALL.iter().map(|&f| (f.name(), default(self, f), default(other, f)));
        let tunables =
            self.tunables.list().into_iter().zip(other.tunables.list()).map(|(a, b)| (a.name, a.value, b.value));
        let hz = std::iter::once(("HZ", Some(self.hz.value.into()), Some(other.hz.value.into())));
        let code = self.code.describe().into_iter().zip(other.code.describe());
        PresetDiff {
            from: self.name,
            to: other.name,
            features: changed(features),
            tunables: changed(tunables.chain(hz)),
            code: code
                .filter(|(a, b)| a.value != b.value)
                .map(|(a, b)| CodeChanged { name: a.name, from: a.value, to: b.value, doc: a.doc })
                .collect(),
        }
    }
}

fn changed<T: PartialEq>(values: impl Iterator<Item = (&'static str, Option<T>, Option<T>)>) -> Vec<Changed<T>> {
    values.filter(|(_, from, to)| from != to).map(|(name, from, to)| Changed { name, from, to }).collect()
}
