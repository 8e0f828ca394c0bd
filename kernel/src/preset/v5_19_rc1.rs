//! 5.19-rc1: placement as in 5.18.
use super::{HZ_DEFAULT, Preset, features, v5_18, v6_1};

pub(super) static PRESET: Preset = Preset {
    name: "v5.19-rc1",
    source: "as 5.18: the merge order of June 2022 has the scheduler's commits after it; not checked against a \
        source tree of 5.19-rc1",
    complete: "as v5.18",
    features: features(v5_18::FILE),
    feature_file: v5_18::FILE,
    tunables: v6_1::CFS,
    tunables_source: v5_18::TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &crate::sd_flags::V6_1,
    package_level: "DIE",
    code: v5_18::CODE,
};
