//! 7.3, as Debian has it: its placement is that of 7.2.
use super::{Preset, features_cached, hz_250, v7_2};
use crate::rules::*;
use crate::{Tunables, sd_flags};

pub(super) static PRESET: Preset = Preset {
    name: "v7.3",
    before: Some(v7_2::PRESET.name),
    source: "Debian linux-source-7.3 7.3.4-1~bpo13+1, kernel/sched/{fair.c,features.h,core.c,topology.c}",
    complete: "complete for the fair class; cache-aware balancing without NUMA balancing's part",
    features: features_cached(v7_2::FILE),
    feature_file: v7_2::FILE,
    tunables: Tunables::EEVDF_V7_2,
    tunables_source: "kernel/sched/fair.c and sched.h, 7.3.4",
    hz: hz_250("CONFIG_HZ of Debian's 7.3.4+deb13-cloud-amd64 (7.3.4-1~bpo13+1)"),
    sd_flags: &sd_flags::V7_2,
    fair: FairClass::Eevdf(EevdfRules::V7_3),
    groups: GroupRules::V7_3,
    code: Code::V7_2,
    pelt: PeltRules::V7_3,
    util_est: UtilEst::Ewma,
    balance: BalanceRules::V7_3,
    domains: DomainRules::V7_3,
    cpufreq: CpufreqRules::V7_2,
    cpuidle: CpuidleRules::V7_2,
    core: CoreRules::V7_2,
    task_clamps: Vec::new(),
};

impl EevdfRules {
    /// Linux 7.3 (read in 7.3.4).
    pub const V7_3: Self = EevdfRules {
        slice_protection: SliceProtection::UntilIneligible,
        wakeup_preempt: WakeupPreempt::PickOrEligible,
        split_inflation: true,
        weight_at_enqueue: true,
        ..Self::V7_2
    };
}

impl GroupRules {
    /// Linux 7.3 (7.3.4).
    pub const V7_3: Self = GroupRules { one_queue: true, shares: GroupShares::Concur, ..Self::V7_2 };
}

impl PeltRules {
    /// Linux 7.3.
    pub const V7_3: Self = PeltRules { skip_same_weight: true, ..Self::V7_2 };
}

impl BalanceRules {
    /// Linux 7.3 (7.3.4).
    pub const V7_3: Self = BalanceRules {
        misfit_if_larger: true,
        equal_capacity_pulls: true,
        push_queued_only: true,
        ilb_idle_core: true,
        ..Self::V7_2
    };
}

impl DomainRules {
    /// Linux 7.3.
    pub const V7_3: Self = DomainRules { asym_clears_prefer_sibling: false, ..Self::V7_2 };
}
