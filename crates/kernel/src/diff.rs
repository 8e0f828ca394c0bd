//! Presets as plain data, alone and compared with each other.
use crate::{Feature, Hz, Preset, Rule, RuleSet, SdFlagTable, Tunable};

/// A value that differs; `None` if a preset does not have it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Changed<T> {
    /// The feature's or the tunable's name.
    pub name: &'static str,
    /// The value in the first preset.
    pub from: Option<T>,
    /// The value in the other.
    pub to: Option<T>,
}

/// A version-dependent rule that differs; `None` if a preset does not have it: EEVDF's of a CFS, and the reverse.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RuleChanged {
    /// The unit of the kernel, as in [`RuleSet::unit`](crate::RuleSet::unit).
    pub unit: &'static str,
    /// The rule's name, unique within its unit.
    pub name: String,
    /// The value in the first preset, as an identifier.
    pub from: Option<String>,
    /// The value in the other, as an identifier.
    pub to: Option<String>,
    /// The value in the first preset, in words.
    pub from_text: Option<String>,
    /// The value in the other, in words.
    pub to_text: Option<String>,
    /// A description of the rule.
    pub doc: &'static str,
}

/// The differences between two presets.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PresetDiff {
    /// The first preset.
    pub from: &'static str,
    /// The other.
    pub to: &'static str,
    /// Features with another default, or that only one of the two lists.
    pub features: Vec<Changed<bool>>,
    /// Tunables and the tick.
    pub tunables: Vec<Changed<u64>>,
    /// Version-dependent rules, in the order of [`Preset::rules`].
    pub code: Vec<RuleChanged>,
}

impl PresetDiff {
    /// Returns whether the two presets are the same in everything that this crate knows about them.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty() && self.tunables.is_empty() && self.code.is_empty()
    }
}

/// A preset as plain data.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PresetInfo {
    /// Its name.
    pub name: &'static str,
    /// The source tree in which its code was read.
    pub source: &'static str,
    /// A description of what is modelled, and what is not.
    pub complete: &'static str,
    /// The tick.
    pub hz: Hz,
    /// The features that its `features` file lists.
    pub features: Vec<(Feature, bool)>,
    /// Features that are on in the model though the file does not list them.
    pub added: Vec<Feature>,
    /// Its tunables.
    pub tunables: Vec<Tunable>,
    /// Where its tunables were read.
    pub tunables_source: &'static str,
    /// The numbers of its scheduling-domain flags.
    pub sd_flags: SdFlagTable,
    /// Its name for the level that spans a package.
    pub package_level: &'static str,
    /// Its version-dependent rules.
    pub code: Vec<Rule>,
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
            package_level: self.package_level(),
            code: self.flat_rules(),
        }
    }

    /// Compares it with `other`, which is usually the later one.
    pub fn diff(&self, other: &Preset) -> PresetDiff {
        let default = |preset: &Preset, feature| preset.lists(feature).then(|| preset.features.has(feature));
        let features = Feature::ALL.iter().map(|&f| (f.name(), default(self, f), default(other, f)));
        let tunables =
            self.tunables.list().into_iter().zip(other.tunables.list()).map(|(a, b)| (a.name, a.value, b.value));
        let hz = std::iter::once(("HZ", Some(self.hz.value.into()), Some(other.hz.value.into())));
        PresetDiff {
            from: self.name,
            to: other.name,
            features: changed(features),
            tunables: changed(tunables.chain(hz)),
            code: changed_rules(&self.rules(), &other.rules()),
        }
    }

    fn flat_rules(&self) -> Vec<Rule> {
        self.rules().into_iter().flat_map(|set| set.rules).collect()
    }
}

fn changed<T: PartialEq>(values: impl Iterator<Item = (&'static str, Option<T>, Option<T>)>) -> Vec<Changed<T>> {
    values.filter(|(_, from, to)| from != to).map(|(name, from, to)| Changed { name, from, to }).collect()
}

/// The rules that differ, or that only one of the two has. Both have the same units.
fn changed_rules(from: &[RuleSet], to: &[RuleSet]) -> Vec<RuleChanged> {
    let find = |set: &RuleSet, name: &str| set.rules.iter().find(|rule| rule.name == name).cloned();
    let of_unit = |(from, to): (&RuleSet, &RuleSet)| {
        let only_in_to = to.rules.iter().filter(|rule| find(from, &rule.name).is_none());
        let pairs = from
            .rules
            .iter()
            .chain(only_in_to)
            .map(|rule| (rule.clone(), find(from, &rule.name), find(to, &rule.name)));
        let differ = pairs.filter(|(_, from, to)| from.as_ref().map(|r| &r.value) != to.as_ref().map(|r| &r.value));
        differ
            .map(|(rule, from, to)| RuleChanged {
                unit: rule.unit,
                name: rule.name,
                from: from.as_ref().map(|rule| rule.value.clone()),
                to: to.as_ref().map(|rule| rule.value.clone()),
                from_text: from.map(|rule| rule.text),
                to_text: to.map(|rule| rule.text),
                doc: rule.doc,
            })
            .collect::<Vec<_>>()
    };
    from.iter().zip(to).flat_map(of_unit).collect()
}
