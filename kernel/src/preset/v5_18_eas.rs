//! 5.18 with the energy-aware placement of 6.4.
use super::{HZ_DEFAULT, Preset, features, v5_18, v6_1};
use crate::{CapacitySearch, Code, Eas, EnergyModel, RunnableBoost, UtilFits};

pub(super) static PRESET: Preset = Preset {
    name: "v5.18-eas",
    source: "5.18 (see v5.18) with find_energy_efficient_cpu(), select_idle_capacity(), the energy model and the \
        balancing of misfit tasks in the form of 6.1.176, which stands for 6.4; cpu_util() as the boosting letter of May \
        2023 posted it, which names mainline 5.18 with scheduler patches ported forward",
    complete: "as v5.18; which patches the letter ported is not known in full",
    features: features(v5_18::FILE),
    feature_file: v5_18::FILE,
    tunables: v6_1::CFS,
    tunables_source: v5_18::TUNABLES_SOURCE,
    hz: HZ_DEFAULT,
    sd_flags: &crate::sd_flags::V6_1,
    package_level: "DIE",
    code: CODE,
};

pub(super) const CODE: Code = Code {
    capacity_search: CapacitySearch::Graded,
    util_fits: UtilFits::Thermal,
    misfit_by_cpu: true,
    eas: Eas::EnergyEnv,
    energy_model: EnergyModel::Microwatts,
    // The letter's patch: switched on with RUNNABLE_BOOST.
    runnable_boost: RunnableBoost::CpuAndEstimate,
    ..v5_18::CODE
};
