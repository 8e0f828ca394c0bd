//! 6.8, as it was released: Ubuntu 24.04's first kernel has the same `kernel/sched`.
use super::{Preset, features_boosted, hz_250, v6_6};
use crate::Feature::{self, *};
use crate::rules::*;
use crate::{Tunables, sd_flags};

/// The contents of the `features` file.
const FILE: &[(Feature, bool)] = &[
    (PLACE_LAG, true),
    (PLACE_DEADLINE_INITIAL, true),
    (RUN_TO_PARITY, true),
    (NEXT_BUDDY, false),
    (CACHE_HOT_BUDDY, true),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, false),
    (HRTICK_DL, false),
    (DOUBLE_TICK, false),
    (NONTASK_CAPACITY, true),
    (TTWU_QUEUE, true),
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
    (LATENCY_WARN, false),
    (HZ_BW, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.8",
    before: Some(v6_6::PRESET.name),
    source: "6.8 in a public copy, kernel/sched/{fair.c,features.h,core.c,topology.c}; those of Ubuntu's 6.8.0-31, in \
        the same repository, are the same but for two exported symbols",
    complete: "complete for the fair class of 6.8.0; what Ubuntu has taken into 6.8 since was not \
        read; teo is not modelled",
    features: features_boosted(FILE),
    feature_file: FILE,
    tunables: Tunables::EEVDF_V6_6,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.8",
    hz: hz_250("kernel/Kconfig.hz's default; Ubuntu's configuration of 6.8 was not read"),
    sd_flags: &sd_flags::V6_8,
    fair: FairClass::Eevdf(EevdfRules::V6_8),
    groups: GroupRules::V6_8,
    code: Code::V6_8,
    pelt: PeltRules::V6_1,
    util_est: UtilEst::EwmaBelowCapacity,
    balance: BalanceRules::V6_8,
    domains: DomainRules::V6_8,
    cpufreq: CpufreqRules::V6_8,
    cpuidle: CpuidleRules::V6_6,
    core: CoreRules::V5_18,
    task_clamps: Vec::new(),
};

impl EevdfRules {
    /// Linux 6.8.
    pub const V6_8: Self = EevdfRules { wakeup_preempt: WakeupPreempt::IdleThenCompare, ..Self::V6_6 };
}

impl GroupRules {
    /// Linux 6.8.
    pub const V6_8: Self =
        GroupRules { tg_load_avg_limited: true, reweight: GroupReweight::AroundOthers, ..Self::V6_6 };
}

impl Code {
    /// Linux 6.8.
    pub const V6_8: Self = Code {
        smt_scan: SmtScan::OtherOfAnyDomain,
        core_scan_by_span: false,
        cluster_scan: true,
        eas: Eas::EnergyEnvPerfThermal,
        energy_model: EnergyModel::MicrowattsByPerf,
        ..Self::V6_6
    };
}

impl BalanceRules {
    /// Linux 6.8.
    pub const V6_8: Self = BalanceRules { util_relaxed: true, pinned_extend: true, ..Self::V6_6 };
}

impl DomainRules {
    /// Linux 6.8.
    pub const V6_8: Self = DomainRules { cluster_flag: true, ..Self::V6_6 };
}

impl CpufreqRules {
    /// Linux 6.8.
    pub const V6_8: Self = CpufreqRules { sugov: SugovRules::V6_8, arm64_freq_ref: true, ..Self::V6_6 };
}

impl SugovRules {
    /// Linux 6.8.
    pub const V6_8: Self = SugovRules {
        headroom: Headroom::InPerf,
        iowait_clamped: false,
        limits_if_asked: false,
        need_update_stays: true,
        ..Self::V6_6
    };
}
