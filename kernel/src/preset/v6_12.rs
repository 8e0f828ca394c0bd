//! 6.12.
use super::{Preset, features_boosted, hz_250, v6_1};
use crate::Feature::{self, *};
use crate::{Class, Code, Eas, EnergyModel, RunnableBoost, SliceProtection, Tunables, UtilFits};

/// What `features` lists.
const FILE: &[(Feature, bool)] = &[
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
    (WAKEUP_PREEMPTION, true),
    (HRTICK, false),
    (HRTICK_DL, false),
    (DOUBLE_TICK, false),
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
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.12",
    source: "Debian linux-source-6.12 6.12.107-1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for wake-up placement",
    features: features_boosted(FILE),
    feature_file: FILE,
    tunables: EEVDF,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.12.107",
    hz: hz_250("CONFIG_HZ of Debian's 6.12.107+deb13-cloud-amd64 (6.12.107-1)"),
    sd_flags: &crate::sd_flags::V6_12,
    package_level: "PKG",
    code: CODE,
};

/// EEVDF's tunables. The base slice was 750 us before a patch that 6.12 got as maintained.
pub(super) const EEVDF: Tunables = Tunables {
    base_slice: Some(700_000),
    migration_cost: Some(500_000),
    nr_migrate: Some(32),
    pelt_half_life: Some(32),
    ..Tunables::NONE
};

pub(super) const CODE: Code = Code {
    class: Class::Eevdf,
    sync_ignores_delayed: true,
    pending_until_enqueued: true,
    cluster_scan: true,
    current_cpu: true,
    util_fits: UtilFits::Actual,
    wakeup_stats_allowed_only: true,
    eas: Eas::EnergyEnvPerf,
    energy_model: EnergyModel::Performance,
    runnable_boost: RunnableBoost::CpuAndTask,
    sched_idle_slices: false,
    long_sleeper: false,
    slice_protection: SliceProtection::ToDeadline,
    ..v6_1::CODE
};
