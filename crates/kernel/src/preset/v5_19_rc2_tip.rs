//! The tip tree of June 2022 at f3dd3f674555, on 5.19-rc2.
use super::{HZ_DEFAULT, Preset, features, v5_18, v5_19_rc1};
use crate::rules::*;
use crate::{Tunables, sd_flags};

pub(super) static PRESET: Preset = Preset {
    name: "v5.19-rc2-tip",
    before: Some(v5_19_rc1::PRESET.name),
    source: "5.18 with the tip tree's commits of June 2022 up to f3dd3f674555: kernel/sched/core.c of torvalds/linux \
        at f3dd3f674555 and fair.c at cb29a5c19d2d; f5b2eeb49991 and 28156108fecb by their postings",
    complete: "as v5.18",
    features: features(v5_18::FILE),
    feature_file: v5_18::FILE,
    tunables: Tunables::CFS_V6_1,
    tunables_source: v5_18::TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &sd_flags::V6_1,
    fair: FairClass::Cfs(CfsRules::V5_18),
    groups: GroupRules::V5_15,
    code: Code { numa_fork: NumaFork::ImbNumaNr, wakelist: Wakelist::EmptyRunQueue, ..Code::V5_18 },
    pelt: PeltRules::V5_18,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V5_19_RC2_TIP,
    domains: DomainRules::V5_18,
    cpufreq: CpufreqRules::V5_18,
    cpuidle: CpuidleRules::V6_1,
    core: CoreRules::V5_18,
    task_clamps: Vec::new(),
};

impl BalanceRules {
    /// The tip tree of June 2022. Read in torvalds/linux at cb29a5c19d2d; 792b9f65a568 comes after it.
    pub const V5_19_RC2_TIP: Self = BalanceRules { halved_after_numa: true, ..Self::V5_18 };
}
