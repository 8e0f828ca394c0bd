//! 5.18.
use super::{HZ_DEFAULT, Preset, features, v6_1};
use crate::Feature::{self, *};
use crate::{CapacitySearch, Code, Eas, EnergyModel, NumaFork, SmtScan, UtilFits, Wakelist};

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
    (SIS_PROP, true),
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
    (ALT_PERIOD, true),
    (BASE_SLICE, true),
];

pub(super) const TUNABLES_SOURCE: &str = "kernel/sched/fair.c of torvalds/linux at 13ede3315087 (June 2022, before the commits of \
    the preset v5.19-rc2-tip); nr_migrate and LOAD_AVG_PERIOD as in 6.1.176, not checked there";

pub(super) static PRESET: Preset = Preset {
    name: "v5.18",
    source: "kernel/sched/{fair.c,core.c} of a public tree based on 5.18, and fair.c of torvalds/linux at 13ede3315087; features.h as in 6.1 without SIS_UTIL and \
        NI_RANDOM, from the changelog, not checked against a source tree; \
        find_energy_efficient_cpu() and compute_energy() as the diff of 3e8c6c9aac42 shows them before it",
    complete: "complete for wake-up placement",
    features: features(FILE),
    feature_file: FILE,
    tunables: v6_1::CFS,
    tunables_source: TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &crate::sd_flags::V6_1,
    package_level: "DIE",
    code: CODE,
};

pub(super) const CODE: Code = Code {
    smt_scan: SmtScan::WholeCore,
    core_scan_by_span: false,
    recent_used_prev_affinity: true,
    capacity_search: CapacitySearch::Fits,
    util_fits: UtilFits::Clamped,
    misfit_by_cpu: false,
    numa_fork: NumaFork::ImbNumaNrRunning,
    wakelist: Wakelist::OnCpuAtMostOne,
    eas: Eas::MarginOthers,
    energy_model: EnergyModel::MilliwattsCapped,
    long_sleeper: false,
    ..v6_1::CODE
};
