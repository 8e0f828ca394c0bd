//! 5.15, as the stable branch has it: its search limit and its wakelist are those of 6.1.
use super::{Preset, features, hz_250, v5_10};
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
    (ALT_PERIOD, true),
    (BASE_SLICE, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v5.15",
    before: Some(v5_10::PRESET.name),
    source: "stable 5.15.167 in a public copy, kernel/sched/{fair.c,features.h,core.c,topology.c}, whose differences \
        from public copies of 5.15.100 and 5.15.148 are those of the stable branch",
    complete: "complete for the fair class of stable 5.15.y; 5.15.0 has SIS_PROP and differs more",
    features: features(FILE),
    feature_file: FILE,
    tunables: Tunables::CFS_V5_10,
    tunables_source: "kernel/sched/fair.c and core.c, 5.15.167",
    hz: hz_250("kernel/Kconfig.hz's default; distributions' configurations of 5.15 were not read"),
    sd_flags: &sd_flags::V6_1,
    fair: FairClass::Cfs(CfsRules::V5_15),
    groups: GroupRules::V5_15,
    code: Code::V5_15,
    pelt: PeltRules::V5_15,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V5_15,
    domains: DomainRules::V5_15,
    cpufreq: CpufreqRules::V5_15,
    cpuidle: CpuidleRules::V6_1,
    core: CoreRules { rt_distributes: true, dl_is_higher: true, ..CoreRules::V5_10 },
    task_clamps: Vec::new(),
};

impl CfsRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = CfsRules { sched_idle_slices: false, ..Self::V6_1 };
}

impl GroupRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = GroupRules { cpu_idle: true, burst: true, ..Self::V5_10 };
}

impl Code {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = Code {
        smt_scan: SmtScan::WholeCore,
        scan_needs_this_llc: true,
        recent_used_prev_affinity: true,
        capacity_search: CapacitySearch::Fits,
        util_fits: UtilFits::YesNo,
        numa_fork: NumaFork::QuarterRunning,
        eas: Eas::MarginOthers,
        energy_model: EnergyModel::MilliwattsLimited,
        ..Self::V6_1
    };
}

impl PeltRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = PeltRules { sums: SumRule::ResyncLoad, ..Self::V5_10 };
}

impl BalanceRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = BalanceRules {
        asym_by_dst: true,
        numa_imbalance: NumaImbalance::QuarterOfNode,
        idle_queues_skipped: true,
        last_task_stays: true,
        push: Push::TaskFailures,
        newidle: NewidleRules { stop: NewidleStop::TaskOrWakeup, ..Self::V5_10.newidle },
        ..Self::V5_10
    };
}

impl DomainRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self =
        DomainRules { asym: AsymDetection::Classify, find_descended_sibling: true, ..Self::V5_10 };
}

impl CpufreqRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = CpufreqRules { sugov: SugovRules::V5_15, ..Self::V5_10 };
}

impl SugovRules {
    /// Linux 5.15 (5.15.167).
    pub const V5_15: Self = SugovRules {
        headroom: Headroom::InUtil,
        iowait_clamped: true,
        need_update_stays: true,
        adjust_perf: true,
        ..Self::V5_10
    };
}
