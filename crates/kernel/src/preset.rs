//! Kernel versions.
//!
//! **A new preset is one file and one line**, in the call of `presets!` below (docs/extending.md). A
//! version's file holds its preset and, as associated constants of the rule structs, the rules that it was the first to
//! have. A preset names a value for each struct of rules: one that leaves one out does not compile.

use crate::rules::{BalanceRules, Class, Code, CoreRules, CpufreqRules, CpuidleRules, DomainRules};
use crate::rules::{FairClass, GroupRules, PeltRules, RuleSet, UtilEst};
use crate::{Feature, FeatureSet, SdFlagTable, Switches, SwitchesError, TaskClamp, Tunables};
use wakelab_input::{nearest, suggest};

macro_rules! presets {
    ($($version:ident,)*) => {
        $(mod $version;)*

        /// Every preset, the oldest first.
        static ALL: &[&Preset] = &[$(&$version::PRESET),*];
    };
}

presets! {
    v5_2,
    v5_3,
    v5_10,
    v5_15,
    v5_18,
    v5_18_eas,
    v5_19_rc1,
    v5_19_rc2_tip,
    v6_1,
    v6_6,
    v6_8,
    v6_12,
    v6_18,
    v7_2,
    v7_3,
}

/// The frequency of the tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Hz {
    /// Ticks per second.
    pub value: u32,
    /// Where the number was read.
    pub source: &'static str,
}

impl Hz {
    /// A tick, in nanoseconds (`TICK_NSEC`).
    pub const fn tick_ns(self) -> u64 {
        1_000_000_000 / self.value as u64
    }
}

/// One kernel version: its features, tunables and rules, each with the source that it was read in.
#[derive(Clone, Debug)]
pub struct Preset {
    /// Its name: `v6.1`, ...
    pub name: &'static str,
    /// The preset before it, which its page in docs/kernels compares it with; `None` for the oldest.
    pub before: Option<&'static str>,
    /// The source tree in which the code was read.
    pub source: &'static str,
    /// A description of what is modelled, and what is not.
    pub complete: &'static str,
    /// The features that are on by default, with those of the model that no kernel of this version lists.
    pub features: FeatureSet,
    /// The features that the version's `features` file lists, in its order, with the defaults.
    pub feature_file: &'static [(Feature, bool)],
    /// The tunables, as the source sets them.
    pub tunables: Tunables,
    /// Where the tunables were read.
    pub tunables_source: &'static str,
    /// The tick.
    pub hz: Hz,
    /// How the version numbers the scheduling-domain flags.
    pub sd_flags: &'static SdFlagTable,
    /// The scheduling algorithm, and the rules of its run queue.
    pub fair: FairClass,
    /// Control groups.
    pub groups: GroupRules,
    /// Placement, the wakelist and energy-aware placement.
    pub code: Code,
    /// The averages of run queues and tasks.
    pub pelt: PeltRules,
    /// Estimated utilisation.
    pub util_est: UtilEst,
    /// Load balancing.
    pub balance: BalanceRules,
    /// Scheduling domains.
    pub domains: DomainRules,
    /// Frequency selection.
    pub cpufreq: CpufreqRules,
    /// The idle governors.
    pub cpuidle: CpuidleRules,
    /// The rules outside of fair.c that matter to the fair class.
    pub core: CoreRules,
    /// The utilisation clamps that a side gives tasks of the workload; no version has any.
    pub task_clamps: Vec<TaskClamp>,
}

/// A preset's name was not understood, or no preset stands for a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; all: {}", reason(.name, .near, *.version), Preset::names().join(", "))]
pub struct PresetError {
    /// The name that was given.
    pub name: String,
    /// Names like it; for a version, the presets next to it.
    pub near: Vec<String>,
    /// Whether the name is a version.
    pub version: bool,
}

/// A list of switches does not fit a preset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// A name is unknown.
    #[error(transparent)]
    Unknown(#[from] SwitchesError),
    /// The version does not have the feature, and the model does not act on it either.
    #[error("kernel {preset} does not have the feature {feature}, and the model does not act on it")]
    Absent {
        /// The preset.
        preset: &'static str,
        /// The feature.
        feature: Feature,
    },
}

impl Preset {
    /// Every preset, the oldest first.
    pub fn all() -> &'static [&'static Preset] {
        ALL
    }

    /// Every preset's name, the oldest first.
    pub fn names() -> Vec<&'static str> {
        ALL.iter().map(|p| p.name).collect()
    }

    /// The preset of that name, or the one that stands for that version (`6.12`, `v6.12.40`, or a release as `uname -r`
    /// prints it; [`of_release`](Self::of_release)).
    ///
    /// # Errors
    /// If there is none: the error lists similar names or the nearest versions, and all.
    pub fn get(name: &str) -> Result<&'static Preset, PresetError> {
        match ALL.iter().copied().find(|p| p.name.eq_ignore_ascii_case(name)) {
            Some(preset) => Ok(preset),
            None if is_version(name) => Preset::of_release(name),
            None => Err(unknown(name, name)),
        }
    }

    /// The preset that a kernel's release belongs to (`6.12.107+deb13-cloud-amd64`, `6.1`, `5.19.0-rc1`): the one with
    /// the same major and minor number, and for a release candidate the same candidate.
    ///
    /// # Errors
    /// If there is none: the error lists similar names or the nearest versions, and all.
    pub fn of_release(release: &str) -> Result<&'static Preset, PresetError> {
        let (short, candidate) = short(release);
        let full = format!("v{short}{candidate}");
        ALL.iter().copied().find(|p| p.name == full).ok_or_else(|| unknown(release, &full))
    }

    /// Returns a note if a kernel was requested by `name` and this preset stands for it; `None` if that is its name,
    /// with or without the `v`.
    pub fn stands_for(&self, name: &str) -> Option<String> {
        let without = |name: &str| name.trim_start_matches(['v', 'V']).to_ascii_lowercase();
        (without(self.name) != without(name)).then(|| format!("kernel {name}: simulated by the preset {}", self.name))
    }

    /// The scheduling algorithm of its fair class.
    pub const fn class(&self) -> Class {
        self.fair.class()
    }

    /// Its name for the level that spans a package: `DIE` or `PKG`.
    pub const fn package_level(&self) -> &'static str {
        self.domains.pkg_name.text()
    }

    /// Returns whether the version's `features` file lists `feature`.
    pub fn lists(&self, feature: Feature) -> bool {
        self.feature_file.iter().any(|&(f, _)| f == feature)
    }

    /// The version's features with `switches` applied. A feature that the version does not have can be switched on if
    /// the model acts on it.
    ///
    /// # Errors
    /// If a switch asks for a feature that neither the version nor the model has.
    pub fn switched(&self, switches: &Switches) -> Result<FeatureSet, SwitchError> {
        match switches.iter().find(|&(f, on)| on && !self.lists(f) && !f.modelled()) {
            Some((feature, _)) => Err(SwitchError::Absent { preset: self.name, feature }),
            None => Ok(switches.on(self.features)),
        }
    }

    /// The version's features as its `features` file prints them.
    pub fn print_features(&self) -> String {
        FeatureSet::of(self.feature_file).print(self.feature_file)
    }

    /// All its version-dependent rules, by unit of the kernel.
    pub fn rules(&self) -> Vec<RuleSet> {
        // Every field is named, so that rules that are added to a preset cannot be left out here.
        let Preset {
            name: _,
            before: _,
            source: _,
            complete: _,
            features: _,
            feature_file: _,
            tunables: _,
            tunables_source: _,
            hz: _,
            sd_flags: _,
            fair,
            groups,
            code,
            pelt,
            util_est,
            balance,
            domains,
            cpufreq,
            cpuidle,
            core,
            task_clamps: _,
        } = self;
        let util_est_doc = "How a task's utilisation is estimated over its sleep (`util_est_update()`).";
        vec![
            RuleSet::of("fair", "Run queue", &[("", fair, "")]),
            RuleSet::of("groups", "Control groups", &[("", groups, "")]),
            RuleSet::of("placement", "Placement, wakelist and energy", &[("", code, "")]),
            RuleSet::of("pelt", "Averages", &[("", pelt, ""), ("util_est", util_est, util_est_doc)]),
            RuleSet::of("balance", "Load balancing", &[("", balance, "")]),
            RuleSet::of("domains", "Scheduling domains", &[("", domains, "")]),
            RuleSet::of("cpufreq", "Frequency selection", &[("", cpufreq, "")]),
            RuleSet::of("cpuidle", "Idle governors", &[("", cpuidle, "")]),
            RuleSet::of("core", "Outside of the fair class", &[("", core, "")]),
        ]
    }
}

/// The first two numbers of a release, and `-rcN` for a candidate.
fn short(release: &str) -> (String, String) {
    let release = release.trim().trim_start_matches(['v', 'V']);
    let numbers = release.split(['-', '+', '~', ' ']).next().unwrap_or_default();
    let short = numbers.split('.').take(2).collect::<Vec<_>>().join(".");
    let candidate = release
        .split(['-', '+', '~'])
        .find(|part| part.strip_prefix("rc").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())));
    (short, candidate.map(|rc| format!("-{rc}")).unwrap_or_default())
}

/// Why there is no preset, with those that come near.
fn reason(name: &str, near: &[String], version: bool) -> String {
    if version {
        format!("no preset for kernel {name}; the nearest are {}", near.join(" and "))
    } else {
        format!("unknown kernel {name}{}", suggest(near))
    }
}

fn unknown(name: &str, like: &str) -> PresetError {
    let around = major_minor(name).filter(|_| is_version(name)).map(neighbours);
    PresetError {
        name: name.to_owned(),
        version: around.is_some(),
        near: around.unwrap_or_else(|| nearest(like, ALL.iter().map(|p| p.name))),
    }
}

impl Preset {
    /// The file in which a kernel of this version shows a tunable that it scales by the number of CPUs, as it is
    /// scaled; `None` for any other. The files moved to debugfs in 5.13.
    pub fn file_of_scaled(&self, tunable: &str) -> Option<&'static str> {
        const DEBUGFS_SINCE: (u32, u32) = (5, 13);
        let in_debugfs = major_minor(self.name) >= Some(DEBUGFS_SINCE);
        Some(match (tunable, in_debugfs) {
            ("base_slice", _) => "/sys/kernel/debug/sched/base_slice_ns",
            ("sched_latency", true) => "/sys/kernel/debug/sched/latency_ns",
            ("sched_latency", false) => "/proc/sys/kernel/sched_latency_ns",
            ("min_granularity", true) => "/sys/kernel/debug/sched/min_granularity_ns",
            ("min_granularity", false) => "/proc/sys/kernel/sched_min_granularity_ns",
            ("wakeup_granularity", true) => "/sys/kernel/debug/sched/wakeup_granularity_ns",
            ("wakeup_granularity", false) => "/proc/sys/kernel/sched_wakeup_granularity_ns",
            _ => return None,
        })
    }
}

/// Whether it is a release, or a version behind a `v`: what else follows there would be of a preset's name.
fn is_version(name: &str) -> bool {
    match name.strip_prefix(['v', 'V']) {
        Some(version) => version.bytes().all(|b| b.is_ascii_digit() || b == b'.'),
        None => name.starts_with(|c: char| c.is_ascii_digit()),
    }
}

/// The major and the minor number of a version or of a preset's name.
fn major_minor(release: &str) -> Option<(u32, u32)> {
    let (short, _) = short(release);
    let (major, minor) = short.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The presets next below and next above a version.
fn neighbours(version: (u32, u32)) -> Vec<String> {
    let at = |preset: &&&Preset| major_minor(preset.name);
    let below = ALL.iter().rfind(|preset| at(preset) <= Some(version));
    let above = ALL.iter().find(|preset| at(preset) > Some(version));
    below.into_iter().chain(above).map(|preset| preset.name.to_owned()).collect()
}

/// A tick of 250 Hz, which is also `kernel/Kconfig.hz`'s default.
const fn hz_250(source: &'static str) -> Hz {
    Hz { value: 250, source }
}

/// The tick of versions without a distribution's configuration.
const HZ_DEFAULT: Hz = hz_250("kernel/Kconfig.hz's default; the published runs do not say");

/// The features that are on by default: those of the file, and those that the model adds to every version.
const fn features(file: &[(Feature, bool)]) -> FeatureSet {
    FeatureSet::of(file)
        .with(Feature::SIS_CORE, true)
        .with(Feature::SIS_CLUSTER, true)
        .with(Feature::SCHED_IDLE_NOT_FOR_IDLE, true)
        .with(Feature::RUNNABLE_BOOST_FREQ, true)
        .with(Feature::RUNNABLE_BOOST_EAS, true)
        .with(Feature::RUNNABLE_BOOST_LB, true)
        .with(Feature::UTIL_EST_FASTER_FREQ, true)
        .with(Feature::UTIL_EST_FASTER_LB, true)
        .with(Feature::UTIL_EST_FASTER_OU, true)
        .with(Feature::UTIL_EST_FASTER_SLOWPATH, true)
        .with(Feature::UTIL_EST_FASTER_SCALED, true)
}

/// The features that are on by default in a version whose code boosts utilisation unconditionally.
const fn features_boosted(file: &[(Feature, bool)]) -> FeatureSet {
    features(file).with(Feature::RUNNABLE_BOOST, true)
}

/// The same with the search for idle cores on unequal CPUs, and with cache-aware balancing, which debugfs has on by
/// default (`sysctl_sched_cache_user`) where CONFIG_SCHED_CACHE is set, as in Debian's configurations.
const fn features_cached(file: &[(Feature, bool)]) -> FeatureSet {
    features_boosted(file).with(Feature::SCHED_CACHE, true).with(Feature::ASYM_SMT, true)
}
