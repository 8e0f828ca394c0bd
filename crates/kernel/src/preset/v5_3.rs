//! 5.3, whose rules are those of 5.2.
use super::{Hz, Preset, features, v5_2};
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

pub(super) static PRESET: Preset = Preset {
    name: "v5.3",
    before: Some(v5_2::PRESET.name),
    source: "kernel/sched/fair.c of torvalds/linux at f6cad8df6b30, which is 5.3-rc1 and one change to load_balance() \
        of 5.4; features.h by the postings of 2019 and 2020 that change it (1c1b8a7b03ef, 2586af1ac187); core.c and \
        topology.c by the changelog",
    complete: v5_2::PRESET_COMPLETE,
    features: features(FILE),
    feature_file: FILE,
    tunables: Tunables::CFS_V5_10,
    tunables_source: v5_2::TUNABLES_SOURCE,
    hz: Hz {
        value: 1000,
        source: "turbostat of the frequency-invariance posting (13 September 2019): 1357 interrupts a second with one \
            busy CPU of 8, 8186 where all tick",
    },
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

impl CfsRules {
    /// Linux 5.2 and 5.3.
    pub const V5_3: Self = CfsRules { long_sleeper: false, ..Self::V5_10 };
}

impl Code {
    /// Linux 5.2 and 5.3.
    pub const V5_3: Self = Code {
        scan_counts_allowed_only: false,
        core_scan_whole: true,
        runnable_load: true,
        kthread_stack: false,
        sched_idle_cpus: false,
        capacity_search: CapacitySearch::WakeCap,
        util_fits: UtilFits::Clamped,
        find_group: FindGroup::Loads,
        wakeup_stats_allowed_only: false,
        misfit_by_cpu: false,
        numa_fork: NumaFork::ByLoad,
        wakelist: Wakelist::OtherLlc,
        pending_until_enqueued: false,
        ..Self::V5_10
    };
}

impl PeltRules {
    /// Linux 5.2 and 5.3.
    pub const V5_3: Self = PeltRules { sums: SumRule::Plain, runnable_load: true, ..Self::V5_10 };
}

impl BalanceRules {
    /// Linux 5.2 and 5.3. Read in torvalds/linux at f6cad8df6b30, without that change.
    pub const V5_3: Self = BalanceRules {
        by_load: true,
        kthreads_passed_over: false,
        siblings_share_cache: false,
        pinned_keep_imbalance: false,
        busy_interval: BusyInterval::Times32,
        sched_idle_is_idle: false,
        ilb_walk: IlbWalk::FromFirst,
        dst_balance_mask: false,
        newidle: NewidleRules { blocked_without_pass: true, ..Self::V5_10.newidle },
        ..Self::V5_10
    };
}

impl DomainRules {
    /// Linux 5.2 and 5.3, by the changelog. More differs from 5.10 on CPUs of different capacities
    /// (`SD_BALANCE_WAKE`), which are refused.
    pub const V5_3: Self = DomainRules { imbalance_pct: 125, own_reclaim_distance: false, ..Self::V5_10 };
}

impl CpufreqRules {
    /// Linux 5.2 and 5.3; the transition delay is taken over from 5.10.
    pub const V5_3: Self = CpufreqRules { sugov: SugovRules::V5_3, x86_invariance: false, ..Self::V5_10 };
}

impl SugovRules {
    /// Linux 5.2 and 5.3: 5.10 without the changes posted for 5.10 (23a881852f3e, 0070ea296239), of which the posted
    /// diffs were read.
    pub const V5_3: Self = SugovRules { busy_hold: BusyHold::NotAsked, need_update_ends_early: true, ..Self::V5_10 };
}
