//! 6.1.
use super::{Preset, features, hz_250};
use crate::Feature::{self, *};
use crate::{
    CapacitySearch, Class, Code, Eas, FindGroup, IdleSearch, NumaFork, RunnableBoost, SisProp, SliceProtection,
    SmtScan, Tunables, UtilFits, Wakelist,
};

/// What `features` lists.
pub(super) const FILE: &[(Feature, bool)] = &[
    (GENTLE_FAIR_SLEEPERS, true),
    (START_DEBIT, true),
    (NEXT_BUDDY, false),
    (LAST_BUDDY, true),
    (CACHE_HOT_BUDDY, true),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, false),
    (HRTICK_DL, false),
    (DOUBLE_TICK, false),
    (NONTASK_CAPACITY, true),
    (TTWU_QUEUE, true),
    (SIS_PROP, false),
    (SIS_UTIL, true),
    (WARN_DOUBLE_CLOCK, false),
    (RT_PUSH_IPI, true),
    (RT_RUNTIME_SHARE, false),
    (LB_MIN, false),
    (ATTACH_AGE_LOAD, true),
    (WA_IDLE, true),
    (WA_WEIGHT, true),
    (WA_BIAS, true),
    (UTIL_EST, true),
    (UTIL_EST_FASTUP, true),
    (LATENCY_WARN, false),
    (NI_RANDOM, true),
    (ALT_PERIOD, true),
    (BASE_SLICE, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.1",
    source: "Debian linux-source-6.1 6.1.176-1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for wake-up placement",
    features: features(FILE),
    feature_file: FILE,
    tunables: CFS,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.1.176",
    hz: hz_250("CONFIG_HZ of Debian's 6.1.0-50-cloud-amd64 (6.1.176-1)"),
    sd_flags: &crate::sd_flags::V6_1,
    package_level: "DIE",
    code: CODE,
};

/// CFS's last tunables.
pub(super) const CFS: Tunables = Tunables {
    sched_latency: Some(6_000_000),
    min_granularity: Some(750_000),
    idle_min_granularity: Some(750_000),
    wakeup_granularity: Some(1_000_000),
    nr_latency: Some(8),
    child_runs_first: Some(0),
    migration_cost: Some(500_000),
    nr_migrate: Some(32),
    pelt_half_life: Some(32),
    ..Tunables::NONE
};

pub(super) const CODE: Code = Code {
    class: Class::Cfs,
    idle_search: IdleSearch::OneWalk,
    sis_prop: SisProp::WakeAvgIdle,
    smt_scan: SmtScan::OtherSiblings,
    scan_after_target: true,
    scan_counts_allowed_only: true,
    core_scan_by_span: true,
    wa_idle_prev: true,
    sync_ignores_delayed: false,
    recent_used_always: true,
    recent_used_prev_affinity: false,
    kthread_stack: true,
    sched_idle_cpus: true,
    sched_idle_not_for_idle: false,
    cluster_scan: false,
    current_cpu: false,
    empty_mask_returns: false,
    capacity_search: CapacitySearch::Graded,
    util_fits: UtilFits::Thermal,
    find_group: FindGroup::GroupTypes,
    wakeup_stats_allowed_only: false,
    misfit_by_cpu: true,
    h_nr_runnable: false,
    numa_fork: NumaFork::ImbNumaNr,
    wakelist: Wakelist::EmptyRunQueue,
    pending_until_enqueued: false,
    eas: Eas::EnergyEnv,
    runnable_boost: RunnableBoost::Absent,
    slice_protection: SliceProtection::Absent,
    sched_idle_slices: true,
    long_sleeper: true,
    pick_clears_buddies: false,
    lazy_preemption: false,
    delayed_lag_kept: false,
};
