//! 6.18, as Debian had it in trixie-backports.
use super::{Preset, features_boosted, hz_250, v6_12};
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
    (NI_RANDOM, true),
];

pub(super) static PRESET: Preset = Preset {
    name: "v6.18",
    before: Some(v6_12::PRESET.name),
    source: "Debian's source of linux 6.18.15-1~bpo13+1, without its patches: \
        kernel/sched/{fair.c,features.h,core.c,topology.c}; sched_ext: kernel/sched/{ext.c,ext_idle.c,ext_internal.h} \
        of 6.18.35",
    complete: "complete for the fair class of 6.18.15; of later 6.18.y sched_ext alone was read; teo is not modelled",
    features: features_boosted(FILE),
    feature_file: FILE,
    tunables: Tunables::EEVDF_V6_12,
    tunables_source: "kernel/sched/fair.c and sched.h, 6.18.15",
    hz: hz_250("CONFIG_HZ of Debian's 6.18.15+deb13-cloud-amd64 (6.18.15-1~bpo13+1)"),
    sd_flags: &sd_flags::V7_2,
    fair: FairClass::Eevdf(EevdfRules::V6_18),
    groups: GroupRules::V6_18,
    code: Code::V6_18,
    pelt: PeltRules::V6_12,
    util_est: UtilEst::Ewma,
    balance: BalanceRules::V6_18,
    domains: DomainRules::V6_18,
    cpufreq: CpufreqRules::V6_18,
    cpuidle: CpuidleRules::V6_18,
    core: CoreRules::V6_18,
    task_clamps: Vec::new(),
};

impl EevdfRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = EevdfRules {
        slice_protection: SliceProtection::MinSlice,
        wakeup_preempt: WakeupPreempt::CompareUnprotected,
        deadline_rescaled: true,
        // CONFIG_PREEMPT_LAZY=y of Debian's 6.18.15+deb13-cloud-amd64.
        lazy_preemption: true,
        ..Self::V6_12
    };

    /// 6.18 with the series that brought today's NEXT_BUDDY, as posted (v4).
    pub const V6_18_NEXT_BUDDY_POSTED: Self =
        EevdfRules { wakeup_preempt: WakeupPreempt::PickAsPosted, buddy_in_pick: true, ..Self::V6_18 };
}

impl GroupRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = GroupRules {
        reweight: GroupReweight::Placed,
        throttle: ThrottleForm::TasksAtPick,
        ..Self::V6_12
    };
}

impl Code {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = Code {
        wakeup_stats_allowed_only: false,
        h_nr_runnable: true,
        runnable_boost: RunnableBoost::Cpu,
        ..Self::V6_12
    };
}

impl BalanceRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = BalanceRules {
        h_nr_runnable: true,
        delayed_only_with_load: true,
        ineligible_waits: true,
        serialize: Serialize::Passes,
        ..Self::V6_12
    };
}

impl DomainRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = DomainRules { overlap_flag: false, ..Self::V6_12 };
}

impl CpufreqRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = CpufreqRules { sugov: SugovRules::V6_18, ..Self::V6_12 };
}

impl SugovRules {
    /// Linux 6.18 (6.18.15), and 7.2 and 7.3.
    pub const V6_18: Self = SugovRules { dl_needs_update: true, ..Self::V6_12 };
}

impl CpuidleRules {
    /// Linux 6.18 (6.18.15). Its teo, between that of 6.12 and that of 7.2, is not modelled.
    pub const V6_18: Self = CpuidleRules { menu: MenuRules::V6_18, teo: None };
}

impl MenuRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = MenuRules { typical: Typical::BothSides, ..Self::V6_12 };
}

impl CoreRules {
    /// Linux 6.18 (6.18.15).
    pub const V6_18: Self = CoreRules {
        pipe_wakes_while_full: false,
        uclamp_after_enqueue: false,
        ext: Some(ExtRules::V6_18),
        ..Self::V6_12
    };
}

impl ExtRules {
    /// Linux 6.18 (6.18.35; that of 6.18.15 was not read).
    pub const V6_18: Self = ExtRules {
        select_cpu: ExtSelectCpu::Topology,
        select_cpu_kfunc: ExtSelectCpuKfunc::Enqueue,
        idle_masks_first: true,
        enq_last_resched: false,
        kick_wait: ExtKickWait::IrqUntilPick,
        kick_spares_above: true,
        enq_flags_truncated: false,
        queued_wakeup: true,
        cpuperf_of_locked: true,
        cgroup_max: true,
        cgroup_idle: true,
        cgroup_warns: false,
        cgroup_move_locked: true,
        offline_requeues: false,
        ops_flags: 0x1_007f,
        types: Some(ExtTypes::V6_18),
        version_code: 0x06_12_23,
        ..Self::V6_12
    };
}
