//! 7.3: placement as in 7.2.
use super::{Preset, features_boosted, hz_250, v6_12, v7_2};
use crate::{Code, SliceProtection};

pub(super) static PRESET: Preset = Preset {
    name: "v7.3",
    source: "Debian linux-source-7.3 7.3.4-1~bpo13+1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for wake-up placement, which is as in 7.2; cache-aware balancing (the llc_* tunables) is \
        left out",
    features: features_boosted(v7_2::FILE),
    feature_file: v7_2::FILE,
    tunables: v6_12::EEVDF,
    tunables_source: "kernel/sched/fair.c and sched.h, 7.3.4",
    hz: hz_250("CONFIG_HZ of Debian's 7.3.4+deb13-cloud-amd64 (7.3.4-1~bpo13+1)"),
    sd_flags: &crate::sd_flags::V7_2,
    package_level: "PKG",
    code: CODE,
};

pub(super) const CODE: Code = Code { slice_protection: SliceProtection::UntilIneligible, ..v7_2::CODE };
