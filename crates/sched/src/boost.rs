//! Runnable boosting: where a CPU's utilisation is raised to what waits there, and in which form.
//!
//! `util_avg` counts running only, so tasks that wait for a CPU hide from it. `runnable_avg` counts waiting too. The
//! kernel takes the larger of the two in three places since 6.5; each has a switch of its own ([`BoostSite`]).

use wakelab_kernel::{Code, Feature, FeatureSet, RunnableBoost};

/// A place that asks for a boosted utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoostSite {
    /// Schedutil's request ([`cpu_util_cfs_boost`](crate::util::cpu_util_cfs_boost)): RUNNABLE_BOOST_FREQ.
    Freq,
    /// The highest utilisation of a performance domain, not its busy time and not whether a task fits:
    /// RUNNABLE_BOOST_EAS.
    Eas,
    /// The busiest run queue where balancing moves utilisation, which it does only in domains that do not share the
    /// last level cache: RUNNABLE_BOOST_LB.
    Lb,
}

/// How `cpu_util()` is boosted. Without a task to add or to take out, the forms are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoostForm {
    /// The maximum with the CPU's `runnable_avg` comes before the task; the estimate is raised too.
    CpuAndEstimate,
    /// The same, with the estimate left alone.
    Cpu,
    /// The task's own `runnable_avg` is put in or taken out first.
    CpuAndTask,
}

/// The switches of boosting: which form, and where. They act on every version; where it has no form of its own, in that
/// of 7.3.
pub const SWITCHES: [Feature; 6] = [
    Feature::RUNNABLE_BOOST,
    Feature::RUNNABLE_BOOST_POSTED,
    Feature::RUNNABLE_BOOST_V1,
    Feature::RUNNABLE_BOOST_FREQ,
    Feature::RUNNABLE_BOOST_EAS,
    Feature::RUNNABLE_BOOST_LB,
];

impl BoostSite {
    /// The site's own switch.
    pub fn feature(self) -> Feature {
        match self {
            BoostSite::Freq => Feature::RUNNABLE_BOOST_FREQ,
            BoostSite::Eas => Feature::RUNNABLE_BOOST_EAS,
            BoostSite::Lb => Feature::RUNNABLE_BOOST_LB,
        }
    }

    /// Whether the site boosts with these features on. Version 1 of the posting boosts at the other two than
    /// [`BoostSite::Eas`]; their switches count for it too.
    #[inline]
    pub fn is_on(self, features: FeatureSet) -> bool {
        let v1 = features.has(Feature::RUNNABLE_BOOST_V1) && self != BoostSite::Eas;
        let boosts = v1 || features.has(Feature::RUNNABLE_BOOST) || features.has(Feature::RUNNABLE_BOOST_POSTED);
        boosts && features.has(self.feature())
    }

    /// In which form the site boosts; `None` where it does not.
    #[inline]
    pub fn form(self, code: &Code, features: FeatureSet) -> Option<BoostForm> {
        self.is_on(features).then(|| BoostForm::of(code, features))
    }
}

impl BoostForm {
    /// The version's form; that of 7.3 where it has none, and that of the posting where RUNNABLE_BOOST_POSTED asks for
    /// it.
    fn of(code: &Code, features: FeatureSet) -> Self {
        match code.runnable_boost {
            _ if features.has(Feature::RUNNABLE_BOOST_POSTED) => BoostForm::CpuAndEstimate,
            RunnableBoost::CpuAndEstimate => BoostForm::CpuAndEstimate,
            RunnableBoost::Cpu => BoostForm::Cpu,
            RunnableBoost::Absent | RunnableBoost::CpuAndTask => BoostForm::CpuAndTask,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_kernel::Preset;

    const SITES: [BoostSite; 3] = [BoostSite::Freq, BoostSite::Eas, BoostSite::Lb];

    fn sites(kernel: &str, switches: &str) -> [bool; 3] {
        let preset = Preset::get(kernel).unwrap();
        let features = preset.switched(&switches.parse().unwrap()).unwrap();
        SITES.map(|site| site.is_on(features))
    }

    #[test]
    fn versions_since_6_5_boost_everywhere_and_older_ones_nowhere() {
        assert_eq!(["v5.10", "v5.18-eas", "v6.1"].map(|kernel| sites(kernel, "")), [[false; 3]; 3]);
        assert_eq!(["v6.12", "v7.2", "v7.3"].map(|kernel| sites(kernel, "")), [[true; 3]; 3]);
        assert_eq!(sites("v7.3", "NO_RUNNABLE_BOOST"), [false; 3]);
        assert_eq!(sites("v5.18-eas", "RUNNABLE_BOOST"), [true; 3]);
    }

    #[test]
    fn each_site_has_its_own_switch() {
        assert_eq!(sites("v6.12", "NO_RUNNABLE_BOOST_FREQ"), [false, true, true]);
        assert_eq!(sites("v6.12", "NO_RUNNABLE_BOOST_EAS"), [true, false, true]);
        assert_eq!(sites("v6.12", "NO_RUNNABLE_BOOST_LB"), [true, true, false]);
        assert_eq!(sites("v5.18-eas", "RUNNABLE_BOOST_V1"), [true, false, true]);
    }

    #[test]
    fn each_version_has_its_form() {
        let form = |kernel: &str, switches: &str| {
            let preset = Preset::get(kernel).unwrap();
            BoostSite::Eas.form(&preset.code, preset.switched(&switches.parse().unwrap()).unwrap())
        };
        assert_eq!(form("v6.1", ""), None);
        assert_eq!(form("v6.1", "RUNNABLE_BOOST"), Some(BoostForm::CpuAndTask));
        assert_eq!(form("v5.18-eas", "RUNNABLE_BOOST"), Some(BoostForm::CpuAndEstimate));
        assert_eq!(form("v7.3", ""), Some(BoostForm::CpuAndTask));
        assert_eq!(form("v7.3", "RUNNABLE_BOOST_POSTED"), Some(BoostForm::CpuAndEstimate));
    }
}
