//! 6.12, as Debian maintains it.
use super::{Preset, features_boosted, hz_250, v6_8};
use crate::Feature::{self, *};
use crate::rules::*;
use crate::{Tunables, sd_flags};

/// The contents of the `features` file.
const FILE: &[(Feature, bool)] = &[
    (PLACE_LAG, true),
    (PLACE_DEADLINE_INITIAL, true),
    (PLACE_REL_DEADLINE, true),
    (RUN_TO_PARITY, true),
    (PREEMPT_SHORT, true),
    (NEXT_BUDDY, false),
    (PICK_BUDDY, true),
    (CACHE_HOT_BUDDY, true),
    (DELAY_DEQUEUE, true),
    (DELAY_ZERO, true),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, false),
    (HRTICK_DL, false),
    (DOUBLE_TICK, false),
    (NONTASK_CAPACITY, true),
    (TTWU_QUEUE, true),
    (SIS_UTIL, true),
    (WARN_DOUBLE_CLOCK, false),
    (RT_PUSH_IPI, false),
    (RT_RUNTIME_SHARE, false),
    (LB_MIN, false),
    (ATTACH_AGE_LOAD, true),
    (WA_IDLE, true),
    (WA_WEIGHT, true),
    (WA_BIAS, true),
    (UTIL_EST, true),
    (LATENCY_WARN, false),
    (NI_RANDOM, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.12",
    before: Some(v6_8::PRESET.name),
    source: "Debian linux-source-6.12 6.12.107-1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for the fair class",
    features: features_boosted(FILE),
    feature_file: FILE,
    tunables: Tunables::EEVDF_V6_12,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.12.107",
    hz: hz_250("CONFIG_HZ of Debian's 6.12.107+deb13-cloud-amd64 (6.12.107-1)"),
    sd_flags: &sd_flags::V6_12,
    fair: FairClass::Eevdf(EevdfRules::V6_12),
    groups: GroupRules::V6_12,
    code: Code::V6_12,
    pelt: PeltRules::V6_12,
    util_est: UtilEst::EwmaBelowCapacity,
    balance: BalanceRules::V6_12,
    domains: DomainRules::V6_12,
    cpufreq: CpufreqRules::V6_12,
    cpuidle: CpuidleRules::V6_12,
    core: CoreRules::V6_12,
    task_clamps: Vec::new(),
};

impl Tunables {
    /// EEVDF's tunables. The base slice was 750 us before a patch that stable 6.12.y has.
    pub(super) const EEVDF_V6_12: Self = Tunables {
        base_slice: Some(700_000),
        migration_cost: Some(500_000),
        nr_migrate: Some(32),
        pelt_half_life: Some(32),
        sched_rt_runtime_us: Some(950_000),
        sched_rt_period_us: Some(1_000_000),
        sched_rr_timeslice_ms: Some(100),
        fair_server_runtime: Some(50_000_000),
        fair_server_period: Some(1_000_000_000),
        ..Tunables::NONE
    };
}

impl EevdfRules {
    /// Linux 6.12 (checked against 6.12.107).
    pub const V6_12: Self = EevdfRules {
        slice_protection: SliceProtection::ToDeadline,
        protect_picked_only: false,
        wakeup_preempt: WakeupPreempt::CancelThenLook,
        initial_enqueue: true,
        yield_forfeits: true,
        custom_slices: true,
        next_buddy_picks: false,
        buddy_in_pick: false,
        lag_limit: LagLimit::OwnSlice,
        delayed_lag_kept: false,
        full_weights: false,
        split_inflation: false,
        deadline_rescaled: false,
        weight_at_enqueue: false,
        hrtick_at_deadline: false,
        lazy_preemption: false,
    };
}

impl GroupRules {
    /// Linux 6.12 (6.12.107).
    pub const V6_12: Self = GroupRules {
        empty_keeps_weight: true,
        reweight: GroupReweight::AroundV,
        slices: true,
        set_downwards: false,
        ..Self::V6_8
    };
}

impl Code {
    /// Linux 6.12 (6.12.107).
    pub const V6_12: Self = Code {
        sync_ignores_delayed: true,
        pending_until_enqueued: true,
        cluster_scan: true,
        current_cpu: true,
        util_fits: UtilFits::Actual,
        wakeup_stats_allowed_only: true,
        eas: Eas::EnergyEnvPerf,
        energy_model: EnergyModel::Performance,
        runnable_boost: RunnableBoost::CpuAndTask,
        ..Self::V6_1
    };
}

impl PeltRules {
    /// Linux 6.12.
    pub const V6_12: Self = PeltRules { init_weight: InitWeight::SeWeight, ..Self::V6_1 };
}

impl BalanceRules {
    /// Linux 6.12 (6.12.107).
    pub const V6_12: Self = BalanceRules {
        util_fits: UtilFits::Actual,
        misfit_by_allowed: true,
        misfit_is_no_failure: true,
        idle_core_first: true,
        smt_balance: true,
        first_of_equals: true,
        prefer_sibling: PreferSibling::BusiestGroup,
        sibling_imbalance: SiblingImbalance::TasksPerCore,
        newidle: NewidleRules { stop: NewidleStop::NextPass, ..Self::V6_1.newidle },
        ..Self::V6_1
    };
}

impl DomainRules {
    /// Linux 6.12.
    pub const V6_12: Self = DomainRules {
        cluster_flag: true,
        group_flags: GroupFlags::FollowRemoval,
        pkg_name: PkgName::Pkg,
        ..Self::V6_1
    };
}

impl CpufreqRules {
    /// Linux 6.12.
    pub const V6_12: Self = CpufreqRules {
        sugov: SugovRules::V6_12,
        transition_delay: TransitionDelay::Times1_5,
        arm64_freq_ref: true,
        no_turbo_notified: true,
        ..Self::V6_1
    };
}

impl SugovRules {
    /// Linux 6.12.
    pub const V6_12: Self =
        SugovRules { headroom: Headroom::InPerf, iowait_clamped: false, shared_by_ratio: false, ..Self::V6_1 };
}

impl CpuidleRules {
    /// Linux 6.12.
    pub const V6_12: Self = CpuidleRules { menu: MenuRules::V6_12, teo: Some(Teo::TickHits) };
}

impl MenuRules {
    /// Linux 6.12.
    pub const V6_12: Self =
        MenuRules { iowaiters: false, stopped_reads_timers: true, latency_first: true, ..Self::V6_6 };
}

impl CoreRules {
    /// Linux 6.12.
    pub const V6_12: Self = CoreRules {
        hrtick: HrtickForm::EachSwitch,
        rt_bandwidth: RtBandwidthForm::FairServer,
        uclamp_after_enqueue: true,
        pressure: PressureForm::Hw,
        ext: Some(ExtRules::V6_12),
        ..Self::V5_18
    };
}

impl ExtRules {
    /// Linux 6.12 (6.12.117).
    pub const V6_12: Self = ExtRules {
        select_cpu: ExtSelectCpu::Anywhere,
        sync_claims_waker: false,
        prev_siblings: false,
        select_cpu_kfunc: ExtSelectCpuKfunc::SelectCpu,
        idle_masks_first: false,
        dequeue_on_custody: false,
        enq_last_resched: true,
        kick_wait: ExtKickWait::IrqUntilClass,
        kick_spares_above: false,
        ext_server: false,
        enq_flags_truncated: true,
        queued_wakeup: false,
        local_is_locked: false,
        cpuperf_of_locked: false,
        disable_clears: false,
        disable_first: false,
        enable_slice: 20_000_000,
        fork_disallow_ends: false,
        cgroup_max: false,
        cgroup_idle: false,
        cgroup_warns: true,
        cgroup_move_locked: false,
        offline_requeues: true,
        ops_flags: 0x1_000f,
        old_messages: true,
        types: Some(ExtTypes::V6_12),
        version_code: 0x06_0c_75,
        enq_class: 0,
        enq_head: 0x10,
        enq_initial: 0x80,
        enq_migrated: 0x40,
        enq_cpu_selected: 0x400,
    };
}
