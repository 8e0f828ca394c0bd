//! 5.10, as Debian maintains it.
use super::{Preset, features, hz_250, v5_3};
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
    before: Some(v5_3::PRESET.name),
    source: "Debian linux-source-5.10 5.10.262-1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for the fair class of stable 5.10.y; 5.10.0 differs if a rule says so",
    features: features(FILE),
    feature_file: FILE,
    tunables: Tunables::CFS_V5_10,
    tunables_source: "kernel/sched/fair.c and core.c, 5.10.262",
    hz: hz_250("CONFIG_HZ of Debian's 5.10.0-46-cloud-amd64 (5.10.262-1)"),
    sd_flags: &sd_flags::V5_10,
    fair: FairClass::Cfs(CfsRules::V5_10),
    groups: GroupRules::V5_10,
    code: Code::V5_10,
    pelt: PeltRules::V5_10,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V5_10,
    domains: DomainRules::V5_10,
    cpufreq: CpufreqRules::V5_10,
    cpuidle: CpuidleRules::V5_10,
    core: CoreRules::V5_10,
    task_clamps: Vec::new(),
};

impl Tunables {
    /// CFS's tunables in 5.10 and before.
    pub(super) const CFS_V5_10: Self = Tunables { idle_min_granularity: None, ..Self::CFS_V6_1 };
}

impl CfsRules {
    /// Linux 5.10 (read in 5.10.262).
    pub const V5_10: Self =
        CfsRules { sched_idle_slices: false, pick_clears_buddies: true, ..Self::V6_1 };
}

impl GroupRules {
    /// Linux 5.10 (5.10.262).
    pub const V5_10: Self = GroupRules {
        cpu_idle: false,
        tg_load_avg_limited: false,
        empty_keeps_weight: false,
        reweight: GroupReweight::Kept,
        slices: false,
        set_downwards: true,
        one_queue: false,
        shares: GroupShares::Smp,
        throttle: ThrottleForm::Queues,
        unthrottle_async: false,
        burst: false,
        period_offset: false,
        throttled_time_if_queued: false,
        throttled_clock_task: true,
    };
}

impl Code {
    /// Linux 5.10 (5.10.262).
    pub const V5_10: Self = Code {
        idle_search: IdleSearch::ThreeScans,
        sis_prop: SisProp::AvgIdle,
        smt_scan: SmtScan::WholeCore,
        scan_after_target: false,
        scan_needs_this_llc: true,
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
        ..Self::V6_1
    };
}

impl PeltRules {
    /// Linux 5.10.
    pub const V5_10: Self = PeltRules {
        sums: SumRule::Resync,
        init_weight: InitWeight::ScaledUp,
        migrate_lag: false,
        skip_same_weight: false,
        runnable_load: false,
    };
}

impl BalanceRules {
    /// Linux 5.10 (5.10.262).
    pub const V5_10: Self = BalanceRules {
        by_load: false,
        kthreads_passed_over: true,
        siblings_share_cache: true,
        pinned_keep_imbalance: true,
        busy_interval: BusyInterval::Times16LessOne,
        sched_idle_is_idle: true,
        ilb_walk: IlbWalk::FromNext,
        newidle_bails_out: false,
        idle_core_first: false,
        reduced_capacity: false,
        h_nr_runnable: false,
        smt_balance: false,
        first_of_equals: false,
        larger_cpus_first: false,
        misfit_to_idle_core: false,
        asym_by_dst: false,
        util_fits: UtilFits::YesNo,
        misfit_by_allowed: false,
        misfit_is_no_failure: false,
        misfit_if_larger: false,
        equal_capacity_pulls: false,
        misfit_before_energy: false,
        overloaded_by_energy: false,
        overutilized_by_min: true,
        prefer_sibling: PreferSibling::ChildDomain,
        sibling_imbalance: SiblingImbalance::Tasks,
        local_above_average: true,
        halved_after_numa: false,
        numa_imbalance: NumaImbalance::BusiestPair,
        idle_queues_skipped: false,
        dst_balance_mask: true,
        util_relaxed: true,
        pinned_extend: false,
        last_task_stays: false,
        delayed_only_with_load: false,
        ineligible_waits: false,
        push: Push::AnyFailures,
        push_queued_only: false,
        serialize: Serialize::Visits,
        sched_cache: None,
        newidle: NewidleRules {
            cost_floor: true,
            cost_restarts_decay: false,
            last_decay_counts: false,
            stop: NewidleStop::Task,
            blocked_without_pass: false,
            rate: false,
        },
        ilb_idle_core: false,
        nohz_next_kick: false,
    };
}

impl DomainRules {
    /// Linux 5.10.
    pub const V5_10: Self = DomainRules {
        cluster: false,
        cluster_flag: false,
        imbalance_pct: 117,
        imb_numa: ImbNuma::Absent,
        asym: AsymDetection::Level,
        asym_clears_prefer_sibling: true,
        group_flags: GroupFlags::Absent,
        find_descended_sibling: false,
        overlap_flag: true,
        pkg_name: PkgName::Die,
        own_reclaim_distance: true,
        llc_id: LlcId::FirstCpu,
    };
}

impl CpufreqRules {
    /// Linux 5.10.
    pub const V5_10: Self = CpufreqRules {
        sugov: SugovRules::V5_10,
        transition_delay: TransitionDelay::Times1000,
        x86_invariance: true,
        arm64_freq_ref: false,
        no_turbo_notified: false,
    };
}

impl SugovRules {
    /// Linux 5.10.
    pub const V5_10: Self = SugovRules {
        headroom: Headroom::InFreq,
        busy_hold: BusyHold::Ignored,
        capped_goes_down: false,
        iowait_clamped: false,
        need_update_ends_early: false,
        dl_needs_update: false,
        limits_if_asked: false,
        need_update_stays: false,
        shared_by_ratio: true,
        adjust_perf: false,
    };
}

impl CpuidleRules {
    /// Linux 5.10, and 5.2 and 5.3, whose menu is taken to be the same: it counts in us what 5.10 counts in ns.
    pub const V5_10: Self = CpuidleRules { menu: MenuRules::V5_10, teo: None };
}

impl MenuRules {
    /// Linux 5.10.
    pub const V5_10: Self = MenuRules {
        typical: Typical::BelowPrediction,
        iowaiters: true,
        stopped_takes_delta: true,
        safe_timer_range: false,
        typical_first: false,
        stopped_reads_timers: false,
        latency_first: false,
    };
}

impl CoreRules {
    /// Linux 5.10 in Debian's configuration, and 5.2 and 5.3.
    pub const V5_10: Self = CoreRules {
        preemption: false,
        hrtick: HrtickForm::EachPick,
        pipe_wakes_while_full: true,
        uclamp: true,
        uclamp_after_enqueue: false,
        rt_bandwidth: RtBandwidthForm::Throttling,
        rt_distributes: false,
        dl_is_higher: false,
        fair_server_stops_idle: false,
        pressure: PressureForm::Thermal,
        ext: None,
    };
}
