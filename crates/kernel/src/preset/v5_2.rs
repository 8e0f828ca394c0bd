//! 5.2.
use super::{HZ_DEFAULT, Preset, features};
use crate::Feature::{self, *};
use crate::rules::*;
use crate::{Tunables, sd_flags};

/// The contents of the `features` file.
const FILE: &[(Feature, bool)] = &[
    (GENTLE_FAIR_SLEEPERS, true),
    (START_DEBIT, true),
    (NEXT_BUDDY, false),
    (LAST_BUDDY, true),
    (CACHE_HOT_BUDDY, true),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, false),
    (DOUBLE_TICK, false),
    (LB_BIAS, false),
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

pub(super) const PRESET_COMPLETE: &str = "complete for the fair class on CPUs of one capacity, without cgroups; \
    estimated utilisation is that of 6.1 without UTIL_EST_FASTUP";
pub(super) const TUNABLES_SOURCE: &str = "kernel/sched/fair.c of torvalds/linux at 5e83eafbfd3b (5.2) and f6cad8df6b30 \
    (5.3); nr_migrate and LOAD_AVG_PERIOD as in 5.10.262, not checked at those commits";

pub(super) static PRESET: Preset = Preset {
    name: "v5.2",
    before: None,
    source: "kernel/sched/fair.c of torvalds/linux at 5e83eafbfd3b, on 5.2-rc; features.h by the postings of 2019 and \
        2020 that change it (1c1b8a7b03ef, 2586af1ac187); core.c and topology.c by the changelog",
    complete: PRESET_COMPLETE,
    features: features(FILE),
    feature_file: FILE,
    tunables: Tunables::CFS_V5_10,
    tunables_source: TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &sd_flags::V5_2,
    fair: FairClass::Cfs(CfsRules::V5_3),
    groups: GroupRules::V5_10,
    code: Code::V5_3,
    pelt: PeltRules::V5_3,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V5_3,
    domains: DomainRules::V5_3,
    cpufreq: CpufreqRules::V5_3,
    cpuidle: CpuidleRules::V5_10,
    core: CoreRules { uclamp: false, pressure: PressureForm::None, ..CoreRules::V5_10 },
    task_clamps: Vec::new(),
};
