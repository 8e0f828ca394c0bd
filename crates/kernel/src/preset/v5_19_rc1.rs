//! 5.19-rc1, whose rules are those of 5.18.
use super::{HZ_DEFAULT, Preset, features, v5_18};
use crate::rules::*;
use crate::{Tunables, sd_flags};

pub(super) static PRESET: Preset = Preset {
    name: "v5.19-rc1",
    before: Some(v5_18::PRESET.name),
    source: "as 5.18: the merge order of June 2022 has the scheduler's commits after it; not checked against a source \
        tree of 5.19-rc1",
    complete: "as v5.18",
    features: features(v5_18::FILE),
    feature_file: v5_18::FILE,
    tunables: Tunables::CFS_V6_1,
    tunables_source: v5_18::TUNABLES_SOURCE,
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
