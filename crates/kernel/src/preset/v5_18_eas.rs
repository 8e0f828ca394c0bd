//! 5.18 with the energy-aware placement of 6.4.
use super::{HZ_DEFAULT, Preset, features, v5_18};
use crate::rules::*;
use crate::{Tunables, sd_flags};

pub(super) static PRESET: Preset = Preset {
    name: "v5.18-eas",
    before: Some(v5_18::PRESET.name),
    source: "5.18 (see v5.18) with find_energy_efficient_cpu(), select_idle_capacity(), the energy model and the \
        balancing of misfit tasks in the form of 6.1.176, which stands for 6.4; cpu_util() as the boosting letter of \
        May 2023 posted it, which names mainline 5.18 with scheduler patches ported forward",
    complete: "as v5.18; which patches the letter ported is not known in full",
    features: features(v5_18::FILE),
    feature_file: v5_18::FILE,
    tunables: Tunables::CFS_V6_1,
    tunables_source: v5_18::TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &sd_flags::V6_1,
    fair: FairClass::Cfs(CfsRules::V5_18),
    groups: GroupRules::V5_15,
    code: Code {
        capacity_search: CapacitySearch::Graded,
        util_fits: UtilFits::Thermal,
        misfit_by_cpu: true,
        eas: Eas::EnergyEnv,
        energy_model: EnergyModel::Microwatts,
        // The letter's patch: switched on with RUNNABLE_BOOST.
        runnable_boost: RunnableBoost::CpuAndEstimate,
        ..Code::V5_18
    },
    pelt: PeltRules::V5_18,
    util_est: UtilEst::LastAndEwma,
    balance: BalanceRules::V5_18_EAS,
    domains: DomainRules::V5_18,
    cpufreq: CpufreqRules::V5_18,
    cpuidle: CpuidleRules::V6_1,
    core: CoreRules::V5_18,
    task_clamps: Vec::new(),
};

impl BalanceRules {
    /// Linux 5.18 with the energy-aware parts of 6.4, for which those of stable 6.1.y stand.
    pub const V5_18_EAS: Self =
        BalanceRules { util_fits: UtilFits::Thermal, misfit_before_energy: true, ..Self::V5_18 };
}
