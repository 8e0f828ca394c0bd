//! 5.10, as Debian maintains it.
use super::{Preset, features, hz_250, v6_1};
use crate::Feature::{self, *};
use crate::{
    CapacitySearch, Code, Eas, EnergyModel, IdleSearch, NumaFork, SisProp, SmtScan, Tunables, UtilFits, Wakelist,
};

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
    (RT_PUSH_IPI, false),
    (RT_RUNTIME_SHARE, false),
    (LB_MIN, false),
    (ATTACH_AGE_LOAD, true),
    (WA_IDLE, true),
    (WA_WEIGHT, true),
    (WA_BIAS, true),
    (UTIL_EST, true),
    (UTIL_EST_FASTUP, true),
    (ALT_PERIOD, true),
    (BASE_SLICE, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v5.10",
    source: "Debian linux-source-5.10 5.10.262-1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for wake-up placement, as maintained: 5.10.0 differs where a field of the code says so",
    features: features(FILE),
    feature_file: FILE,
    tunables: TUNABLES,
    tunables_source: "kernel/sched/fair.c and core.c, 5.10.262",
    hz: hz_250("CONFIG_HZ of Debian's 5.10.0-46-cloud-amd64 (5.10.262-1)"),
    sd_flags: &crate::sd_flags::V5_10,
    package_level: "DIE",
    code: CODE,
};

pub(super) const TUNABLES: Tunables = Tunables { idle_min_granularity: None, ..v6_1::CFS };

pub(super) const CODE: Code = Code {
    idle_search: IdleSearch::ThreeWalks,
    sis_prop: SisProp::AvgIdle,
    smt_scan: SmtScan::WholeCore,
    scan_after_target: false,
    core_scan_by_span: false,
    wa_idle_prev: false,
    recent_used_always: false,
    capacity_search: CapacitySearch::Fits,
    util_fits: UtilFits::YesNo,
    wakeup_stats_allowed_only: true,
    numa_fork: NumaFork::AnyLocalIdle,
    wakelist: Wakelist::OnCpuNoneQueued,
    eas: Eas::Margin,
    energy_model: EnergyModel::Milliwatts,
    sched_idle_slices: false,
    pick_clears_buddies: true,
    ..v6_1::CODE
};
