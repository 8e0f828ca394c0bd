//! 7.2, as Debian has it.
use super::{Preset, features_cached, hz_250, v6_18};
use crate::Feature::{self, *};
use crate::rules::*;
use crate::{Tunables, sd_flags};

/// The contents of the `features` file.
pub(super) const FILE: &[(Feature, bool)] = &[
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
    (PARANOID_AVG, false),
    (WAKEUP_PREEMPTION, true),
    (HRTICK, true),
    (HRTICK_DL, true),
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
    (NI_RATE, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v7.2",
    before: Some(v6_18::PRESET.name),
    source: "Debian linux-source-7.2 7.2.12-1~bpo13+1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for the fair class; cache-aware balancing without NUMA balancing's part",
    features: features_cached(FILE),
    feature_file: FILE,
    tunables: Tunables::EEVDF_V7_2,
    tunables_source: "kernel/sched/fair.c and sched.h, 7.2.12",
    hz: hz_250("CONFIG_HZ of Debian's 7.2.12+deb13-cloud-amd64 (7.2.12-1~bpo13+1)"),
    sd_flags: &sd_flags::V7_2,
    fair: FairClass::Eevdf(EevdfRules::V7_2),
    groups: GroupRules::V7_2,
    code: Code::V7_2,
    pelt: PeltRules::V7_2,
    util_est: UtilEst::Ewma,
    balance: BalanceRules::V7_2,
    domains: DomainRules::V7_2,
    cpufreq: CpufreqRules::V7_2,
    cpuidle: CpuidleRules::V7_2,
    core: CoreRules::V7_2,
    task_clamps: Vec::new(),
};

impl Tunables {
    /// Those of 6.12, and those of cache-aware balancing (`llc_balancing/` in debugfs) at 250 Hz.
    pub(super) const EEVDF_V7_2: Self = Tunables {
        llc_aggr_tolerance: Some(1),
        // EPOCH_PERIOD is HZ / 100.
        llc_epoch_period: Some(2),
        llc_epoch_affinity_timeout: Some(5),
        llc_overaggr_pct: Some(50),
        llc_imb_pct: Some(20),
        ..Self::EEVDF_V6_12
    };
}

impl EevdfRules {
    /// Linux 7.2 (read in 7.2.12, with its defaults).
    pub const V7_2: Self = EevdfRules {
        slice_protection: SliceProtection::MinSlice,
        protect_picked_only: true,
        wakeup_preempt: WakeupPreempt::Pick,
        buddy_in_pick: true,
        lag_limit: LagLimit::LongestSlice,
        delayed_lag_kept: true,
        full_weights: true,
        deadline_rescaled: true,
        hrtick_at_deadline: true,
        // CONFIG_PREEMPT_LAZY=y of Debian's 7.2.12+deb13-cloud-amd64 and 7.3.4+deb13-cloud-amd64.
        lazy_preemption: true,
        ..Self::V6_12
    };
}

impl GroupRules {
    /// Linux 7.2 (7.2.12).
    pub const V7_2: Self = GroupRules {
        reweight: GroupReweight::WithProtection,
        throttle: ThrottleForm::Tasks,
        ..Self::V6_18
    };
}

impl Code {
    /// Linux 7.2 and 7.3.
    pub const V7_2: Self = Code {
        sched_idle_not_for_idle: true,
        empty_mask_returns: true,
        capacity_search: CapacitySearch::GradedCores,
        h_nr_runnable: true,
        avg_idle_at_switch: true,
        ..Self::V6_12
    };
}

impl PeltRules {
    /// Linux 7.2.
    pub const V7_2: Self = PeltRules { sums: SumRule::Bound, ..Self::V6_12 };
}

impl BalanceRules {
    /// Linux 7.2 (7.2.12).
    pub const V7_2: Self = BalanceRules {
        h_nr_runnable: true,
        larger_cpus_first: true,
        misfit_to_idle_core: true,
        overloaded_by_energy: true,
        overutilized_by_min: false,
        delayed_only_with_load: true,
        ineligible_waits: true,
        serialize: Serialize::Passes,
        sched_cache: Some(SchedCacheRules::V7_2),
        newidle: NewidleRules { rate: true, ..Self::V6_12.newidle },
        ..Self::V6_12
    };
}

impl DomainRules {
    /// Linux 7.2.
    pub const V7_2: Self = DomainRules { overlap_flag: false, llc_id: LlcId::Dense, ..Self::V6_12 };
}

impl CpufreqRules {
    /// Linux 7.2 and 7.3.
    pub const V7_2: Self = CpufreqRules { sugov: SugovRules::V6_18, ..Self::V6_12 };
}

impl CpuidleRules {
    /// Linux 7.2 and 7.3.
    pub const V7_2: Self = CpuidleRules { menu: MenuRules::V7_2, teo: Some(Teo::ShortIdles) };
}

impl MenuRules {
    /// Linux 7.2 and 7.3.
    pub const V7_2: Self = MenuRules { typical: Typical::BothSides, safe_timer_range: true, ..Self::V6_12 };
}

impl CoreRules {
    /// Linux 7.2 and 7.3.
    pub const V7_2: Self = CoreRules {
        hrtick: HrtickForm::IfInactive,
        fair_server_stops_idle: true,
        ext: Some(ExtRules::V7_2),
        ..Self::V6_18
    };
}

impl ExtRules {
    /// Linux 7.2 and 7.3.
    pub const V7_2: Self = ExtRules {
        select_cpu: ExtSelectCpu::Topology,
        sync_claims_waker: true,
        prev_siblings: true,
        select_cpu_kfunc: ExtSelectCpuKfunc::LockedRq,
        idle_masks_first: true,
        dequeue_on_custody: true,
        enq_last_resched: false,
        kick_wait: ExtKickWait::AfterPass,
        kick_spares_above: true,
        ext_server: true,
        enq_flags_truncated: false,
        queued_wakeup: true,
        local_is_locked: true,
        cpuperf_of_locked: true,
        disable_clears: true,
        disable_first: true,
        enable_slice: 5_000_000,
        fork_disallow_ends: true,
        cgroup_max: true,
        cgroup_idle: true,
        cgroup_warns: false,
        cgroup_move_locked: true,
        offline_requeues: true,
        ops_flags: 0x1ff,
        old_messages: false,
        types: Some(ExtTypes::V7_2),
        version_code: 0x07_02_0b,
        enq_class: 0x40,
        enq_head: 0x1_0000,
        enq_initial: 0x8_0000,
        enq_migrated: 0x4_0000,
        enq_cpu_selected: 0x10_0000,
    };
}
