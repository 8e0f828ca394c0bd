//! 7.2.
use super::{Preset, features_boosted, hz_250, v6_12};
use crate::Feature::{self, *};
use crate::{CapacitySearch, Code, SliceProtection};

/// What `features` lists.
pub(super) const FILE: &[(Feature, bool)] = &[
    (PLACE_LAG, true),
    (PLACE_DEADLINE_INITIAL, true),
    (PLACE_REL_DEADLINE, true),
    (RUN_TO_PARITY, true),
    (PREEMPT_SHORT, true),
    (NEXT_BUDDY, false),
    (PICK_BUDDY, true),
    (CACHE_HOT_BUDDY, true),
    (DELAY_DEQUEUE, true),
    (DELAY_ZERO, true),
    (PARANOID_AVG, false),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, true),
    (HRTICK_DL, true),
    (NONTASK_CAPACITY, true),
    (TTWU_QUEUE, true),
    (SIS_UTIL, true),
    (WARN_DOUBLE_CLOCK, false),
    (RT_PUSH_IPI, false),
    (RT_RUNTIME_SHARE, false),
    (LB_MIN, false),
    (ATTACH_AGE_LOAD, true),
    (WA_IDLE, true),
    (WA_WEIGHT, true),
    (WA_BIAS, true),
    (UTIL_EST, true),
    (LATENCY_WARN, false),
    (NI_RANDOM, true),
    (NI_RATE, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v7.2",
    source: "Debian linux-source-7.2 7.2.12-1~bpo13+1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for wake-up placement; cache-aware balancing (the llc_* tunables) is left out",
    features: features_boosted(FILE),
    feature_file: FILE,
    tunables: v6_12::EEVDF,
    tunables_source: "kernel/sched/fair.c and sched.h, 7.2.12",
    hz: hz_250("CONFIG_HZ of Debian's 7.2.12+deb13-cloud-amd64 (7.2.12-1~bpo13+1)"),
    sd_flags: &crate::sd_flags::V7_2,
    package_level: "PKG",
    code: CODE,
};

pub(super) const CODE: Code = Code {
    sched_idle_not_for_idle: true,
    empty_mask_returns: true,
    capacity_search: CapacitySearch::GradedCores,
    h_nr_runnable: true,
    slice_protection: SliceProtection::MinSlice,
    // CONFIG_PREEMPT_LAZY=y of Debian's 7.2.12+deb13-cloud-amd64 and 7.3.4+deb13-cloud-amd64.
    lazy_preemption: true,
    delayed_lag_kept: true,
    avg_idle_at_switch: true,
    ..v6_12::CODE
};
