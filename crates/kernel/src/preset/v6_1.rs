//! 6.1, as Debian maintains it.
use super::{Preset, features, hz_250, v5_19_rc2_tip};
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
    (NI_RANDOM, true),
    (ALT_PERIOD, true),
    (BASE_SLICE, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.1",
    before: Some(v5_19_rc2_tip::PRESET.name),
    source: "Debian linux-source-6.1 6.1.176-1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for the fair class",
    features: features(FILE),
    feature_file: FILE,
    tunables: Tunables::CFS_V6_1,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.1.176",
    hz: hz_250("CONFIG_HZ of Debian's 6.1.0-50-cloud-amd64 (6.1.176-1)"),
    sd_flags: &sd_flags::V6_1,
    fair: FairClass::Cfs(CfsRules::V6_1),
    groups: GroupRules::V6_1,
    code: Code::V6_1,
    pelt: PeltRules::V6_1,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V6_1,
    domains: DomainRules::V6_1,
    cpufreq: CpufreqRules::V6_1,
    cpuidle: CpuidleRules::V6_1,
    core: CoreRules::V5_18,
    task_clamps: Vec::new(),
};

impl Tunables {
    /// CFS's last tunables.
    pub(super) const CFS_V6_1: Self = Tunables {
        sched_latency: Some(6_000_000),
        min_granularity: Some(750_000),
        idle_min_granularity: Some(750_000),
        wakeup_granularity: Some(1_000_000),
        nr_latency: Some(8),
        child_runs_first: Some(0),
        migration_cost: Some(500_000),
        nr_migrate: Some(32),
        pelt_half_life: Some(32),
        sched_rt_runtime_us: Some(950_000),
        sched_rt_period_us: Some(1_000_000),
        sched_rr_timeslice_ms: Some(100),
        ..Tunables::NONE
    };
}

impl CfsRules {
    /// Linux 6.1 (checked against 6.1.192, and read in 6.1.176).
    pub const V6_1: Self =
        CfsRules { sched_idle_slices: true, long_sleeper: true, pick_clears_buddies: false };
}

impl Code {
    /// Linux 6.1 (6.1.176).
    pub const V6_1: Self = Code {
        idle_search: IdleSearch::OneScan,
        sis_prop: SisProp::WakeAvgIdle,
        smt_scan: SmtScan::OtherSiblings,
        scan_after_target: true,
        scan_needs_this_llc: false,
        scan_counts_allowed_only: true,
        core_scan_whole: false,
        core_scan_by_span: true,
        runnable_load: false,
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
        energy_model: EnergyModel::Microwatts,
        runnable_boost: RunnableBoost::Absent,
        avg_idle_at_switch: false,
    };
}

impl GroupRules {
    /// Linux 6.1 (6.1.176).
    pub const V6_1: Self = GroupRules { throttled_clock_task: false, ..Self::V5_15 };
}

impl PeltRules {
    /// Linux 6.1.
    pub const V6_1: Self = PeltRules { migrate_lag: true, ..Self::V5_18 };
}

impl BalanceRules {
    /// Linux 6.1 (6.1.176).
    pub const V6_1: Self = BalanceRules {
        util_fits: UtilFits::Thermal,
        misfit_before_energy: true,
        newidle_bails_out: true,
        reduced_capacity: true,
        util_relaxed: true,
        local_above_average: true,
        dst_balance_mask: true,
        ..Self::V5_19_RC2_TIP
    };
}

impl DomainRules {
    /// Linux 6.1.
    pub const V6_1: Self = DomainRules { imb_numa: ImbNuma::Eighth, ..Self::V5_18 };
}

impl CpufreqRules {
    /// Linux 6.1.
    pub const V6_1: Self = CpufreqRules { sugov: SugovRules::V6_1, ..Self::V5_10 };
}

impl SugovRules {
    /// Linux 6.1.
    pub const V6_1: Self = SugovRules {
        headroom: Headroom::InUtil,
        busy_hold: BusyHold::Overridden,
        capped_goes_down: true,
        iowait_clamped: true,
        adjust_perf: true,
        ..Self::V5_10
    };
}

impl CpuidleRules {
    /// Linux 6.1, and 5.18 and 5.19, which were not read.
    pub const V6_1: Self = CpuidleRules { menu: MenuRules::V6_1, teo: Some(Teo::Recent) };
}

impl MenuRules {
    /// Linux 6.1, and 5.18 and 5.19, which were not read.
    pub const V6_1: Self = MenuRules { stopped_takes_delta: false, ..Self::V5_10 };
}
