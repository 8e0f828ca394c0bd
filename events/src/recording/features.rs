//! What a recorded kernel had switched on.

use wakelab_kernel::{Feature, FeatureSet, Preset};

/// The features of a row.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RowFeatures {
    /// The text of the kernel's `features` file.
    pub text: String,
    /// What is on: what the file says, and the features of the model that no kernel lists, at the preset's default.
    pub set: FeatureSet,
    /// Names in the file that this program does not know.
    pub unknown: Vec<String>,
}

impl RowFeatures {
    /// Reads the text of a `features` file of a kernel of that preset.
    pub fn parse(text: &str, preset: &Preset) -> Self {
        let file = FeatureSet::parse_file(text);
        let set = Feature::ALL
            .iter()
            .filter(|&&feature| preset.features.has(feature) && !preset.lists(feature))
            .fold(file.set(), |set, &feature| set.with(feature, true));
        RowFeatures { text: text.to_owned(), set, unknown: file.unknown }
    }
}
