//! 5.18.
use super::{HZ_DEFAULT, Preset, features, v5_15};
use crate::Feature::{self, *};
use crate::rules::*;
use crate::{Tunables, sd_flags};

/// The contents of the `features` file.
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

pub(super) const TUNABLES_SOURCE: &str = "kernel/sched/fair.c of torvalds/linux at 13ede3315087 (June 2022, before the \
    commits of the preset v5.19-rc2-tip); nr_migrate and LOAD_AVG_PERIOD as in 6.1.176, not checked there";

pub(super) static PRESET: Preset = Preset {
    name: "v5.18",
    before: Some(v5_15::PRESET.name),
    source: "kernel/sched/{fair.c,core.c} of a public tree based on 5.18, and fair.c of torvalds/linux at \
        13ede3315087; features.h as in 6.1 without SIS_UTIL and NI_RANDOM, from the changelog, not checked against a \
        source tree; \
        find_energy_efficient_cpu() and compute_energy() as the diff of 3e8c6c9aac42 shows them before it",
    complete: "complete for the fair class; schedutil and estimated utilisation are taken over from \
        6.1",
    features: features(FILE),
    feature_file: FILE,
    tunables: Tunables::CFS_V6_1,
    tunables_source: TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &sd_flags::V6_1,
    fair: FairClass::Cfs(CfsRules::V5_18),
    groups: GroupRules::V5_15,
    code: Code::V5_18,
    pelt: PeltRules::V5_18,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V5_18,
    domains: DomainRules::V5_18,
    cpufreq: CpufreqRules::V5_18,
    cpuidle: CpuidleRules::V6_1,
    core: CoreRules::V5_18,
    task_clamps: Vec::new(),
};

impl CfsRules {
    /// Linux 5.18: from the changelog, not checked against a source tree.
    pub const V5_18: Self = CfsRules { long_sleeper: false, ..Self::V6_1 };
}

impl Code {
    /// Linux 5.18 and 5.19-rc1.
    pub const V5_18: Self = Code {
        smt_scan: SmtScan::WholeCore,
        core_scan_by_span: false,
        scan_needs_this_llc: true,
        recent_used_prev_affinity: true,
        capacity_search: CapacitySearch::Fits,
        util_fits: UtilFits::Clamped,
        misfit_by_cpu: false,
        numa_fork: NumaFork::ImbNumaNrRunning,
        wakelist: Wakelist::OnCpuAtMostOne,
        eas: Eas::MarginOthers,
        energy_model: EnergyModel::MilliwattsCapped,
        ..Self::V6_1
    };
}

impl PeltRules {
    /// Linux 5.18 and 5.19 (`kernel/sched/fair.c` at 13ede3315087): bounds as in 6.1, but no `migrate_se_pelt_lag()`.
    pub const V5_18: Self = PeltRules { sums: SumRule::Bound32, ..Self::V5_10 };
}

impl BalanceRules {
    /// Linux 5.18 and 5.19-rc1. Read in torvalds/linux at 13ede3315087, the parent of the first change after it.
    pub const V5_18: Self = BalanceRules {
        asym_by_dst: true,
        util_fits: UtilFits::Clamped,
        local_above_average: false,
        dst_balance_mask: false,
        util_relaxed: false,
        numa_imbalance: NumaImbalance::ImbNumaNr,
        idle_queues_skipped: true,
        last_task_stays: true,
        push: Push::TaskFailures,
        newidle: NewidleRules {
            cost_floor: false,
            cost_restarts_decay: true,
            last_decay_counts: true,
            stop: NewidleStop::TaskOrWakeup,
            ..Self::V5_10.newidle
        },
        nohz_next_kick: true,
        ..Self::V5_10
    };
}

impl DomainRules {
    /// Linux 5.18 and 5.19, by the changelog.
    pub const V5_18: Self = DomainRules {
        cluster: true,
        imb_numa: ImbNuma::Quarter,
        asym: AsymDetection::Classify,
        group_flags: GroupFlags::AsBuilt,
        find_descended_sibling: true,
        ..Self::V5_10
    };
}

impl CpufreqRules {
    /// Linux 5.18 and 5.19; the transition delay is taken over from 5.10 and 6.1, which agree.
    pub const V5_18: Self = CpufreqRules { sugov: SugovRules::V5_18, ..Self::V5_10 };
}

impl SugovRules {
    /// Linux 5.18 and 5.19: taken over from 6.1 without 9e0bc36ab07c, not read.
    pub const V5_18: Self = SugovRules { busy_hold: BusyHold::Ignored, ..Self::V6_1 };
}

impl CoreRules {
    /// Linux 5.18, 5.19 and 6.1.
    pub const V5_18: Self =
        CoreRules { preemption: true, rt_distributes: true, dl_is_higher: true, ..Self::V5_10 };
}
