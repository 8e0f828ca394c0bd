//! The tip tree of June 2022 at f3dd3f674555, on 5.19-rc2.
use super::{HZ_DEFAULT, Preset, features, v5_18, v6_1};
use crate::{Code, NumaFork, Wakelist};

pub(super) static PRESET: Preset = Preset {
    name: "v5.19-rc2-tip",
    source: "5.18 with the tip tree's commits of June 2022 up to f3dd3f674555: kernel/sched/core.c of torvalds/linux at \
        f3dd3f674555 and fair.c at cb29a5c19d2d; f5b2eeb49991 and 28156108fecb by their postings",
    complete: "as v5.18",
    features: features(v5_18::FILE),
    feature_file: v5_18::FILE,
    tunables: v6_1::CFS,
    tunables_source: v5_18::TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &crate::sd_flags::V6_1,
    package_level: "DIE",
    code: CODE,
};

pub(super) const CODE: Code = Code { numa_fork: NumaFork::ImbNumaNr, wakelist: Wakelist::EmptyRunQueue, ..v5_18::CODE };
