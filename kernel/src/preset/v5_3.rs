//! 5.3: placement as in 5.2.
use super::{Hz, Preset, features, v5_2, v5_10};
use crate::Feature::{self, *};

/// What `features` lists.
const FILE: &[(Feature, bool)] = &[
    (GENTLE_FAIR_SLEEPERS, true),
    (START_DEBIT, true),
    (NEXT_BUDDY, false),
    (LAST_BUDDY, true),
    (CACHE_HOT_BUDDY, true),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, false),
    (DOUBLE_TICK, false),
    (NONTASK_CAPACITY, true),
    (TTWU_QUEUE, true),
    (SIS_AVG_CPU, false),
    (SIS_PROP, true),
    (WARN_DOUBLE_CLOCK, false),
    (RT_PUSH_IPI, true),
    (RT_RUNTIME_SHARE, true),
    (LB_MIN, false),
    (ATTACH_AGE_LOAD, true),
    (WA_IDLE, true),
    (WA_WEIGHT, true),
    (WA_BIAS, true),
    (UTIL_EST, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v5.3",
    source: "kernel/sched/fair.c of torvalds/linux at f6cad8df6b30, which is 5.3-rc1 and one change to load_balance() of 5.4; \
        features.h by the postings of 2019 and 2020 that change it (1c1b8a7b03ef, 2586af1ac187); core.c and topology.c by the changelog",
    complete: v5_2::PRESET_COMPLETE,
    features: features(FILE),
    feature_file: FILE,
    tunables: v5_10::TUNABLES,
    tunables_source: v5_2::TUNABLES_SOURCE,
    hz: Hz {
        value: 1000,
        source: "turbostat of the frequency-invariance posting (13 September 2019): 1357 interrupts a second with one busy CPU of 8, 8186 where \
                 all tick",
    },
    sd_flags: &crate::sd_flags::V5_2,
    package_level: "DIE",
    code: v5_2::CODE,
};
