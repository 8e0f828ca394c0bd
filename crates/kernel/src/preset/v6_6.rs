//! 6.6, as the stable branch has it: the first EEVDF, without delayed dequeue and slices of its own.
use super::{Preset, features_boosted, hz_250, v6_1};
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
    (HZ_BW, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.6",
    before: Some(v6_1::PRESET.name),
    source: "stable 6.6.87 in a public copy, kernel/sched/{fair.c,features.h,core.c,topology.c}, whose differences \
        from a public copy of 6.6.63 are those of the stable branch",
    complete: "complete for the fair class of stable 6.6.y, but of tasks with equal deadlines the one \
        that joined first is picked, where 6.6 takes the one that its tree search meets first; teo is not modelled",
    features: features_boosted(FILE),
    feature_file: FILE,
    tunables: Tunables::EEVDF_V6_6,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.6.87",
    hz: hz_250("kernel/Kconfig.hz's default; distributions' configurations of 6.6 were not read"),
    sd_flags: &sd_flags::V6_1,
    fair: FairClass::Eevdf(EevdfRules::V6_6),
    groups: GroupRules::V6_6,
    code: Code::V6_6,
    pelt: PeltRules::V6_1,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V6_6,
    domains: DomainRules::V6_6,
    cpufreq: CpufreqRules::V6_6,
    cpuidle: CpuidleRules::V6_6,
    core: CoreRules::V5_18,
    task_clamps: Vec::new(),
};

impl Tunables {
    /// EEVDF's tunables in 6.6 and 6.8.
    pub(super) const EEVDF_V6_6: Self = Tunables {
        base_slice: Some(750_000),
        fair_server_runtime: None,
        fair_server_period: None,
        ..Self::EEVDF_V6_12
    };
}

impl EevdfRules {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self = EevdfRules {
        wakeup_preempt: WakeupPreempt::Compare,
        initial_enqueue: false,
        yield_forfeits: false,
        custom_slices: false,
        next_buddy_picks: true,
        ..Self::V6_12
    };
}

impl GroupRules {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self = GroupRules {
        reweight: GroupReweight::AroundV,
        unthrottle_async: true,
        period_offset: true,
        throttled_time_if_queued: true,
        ..Self::V6_1
    };
}

impl Code {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self = Code {
        pending_until_enqueued: true,
        current_cpu: true,
        runnable_boost: RunnableBoost::Cpu,
        ..Self::V6_1
    };
}

impl BalanceRules {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self = BalanceRules {
        idle_core_first: true,
        smt_balance: true,
        prefer_sibling: PreferSibling::BusiestGroup,
        sibling_imbalance: SiblingImbalance::TasksPerCore,
        util_relaxed: false,
        ..Self::V6_1
    };
}

impl DomainRules {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self =
        DomainRules { group_flags: GroupFlags::FollowRemoval, pkg_name: PkgName::Pkg, ..Self::V6_1 };
}

impl CpufreqRules {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self = CpufreqRules { sugov: SugovRules::V6_6, ..Self::V6_1 };
}

impl SugovRules {
    /// Linux 6.6 (6.6.87).
    pub const V6_6: Self = SugovRules { limits_if_asked: true, shared_by_ratio: false, ..Self::V6_1 };
}

impl CpuidleRules {
    /// Linux 6.6 and 6.8. Their teo, which reads the CPU's utilisation, is not modelled.
    pub const V6_6: Self = CpuidleRules { menu: MenuRules::V6_6, teo: None };
}

impl MenuRules {
    /// Linux 6.6 and 6.8.
    pub const V6_6: Self = MenuRules { typical: Typical::Upwards, typical_first: true, ..Self::V6_1 };
}
