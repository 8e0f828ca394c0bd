//! The switches of a side: features, tunables and power management.

use crate::{Caps, PmSide};
use std::fmt;
use std::sync::Arc;
use wakelab_input::{nearest, suggest};
use wakelab_kernel::{
    CapacitySearch, Class, FairClass, Feature, FeatureSet, PowerOption, Preset, SettingError, SwitchError, Switches,
    WakeupPreempt,
};
use wakelab_machine::Machine;
use wakelab_pm::governor::{About, GOVERNORS};
use wakelab_pm::idle::{IDLE_GOVERNORS, IdleAbout};
use wakelab_pm::invariance::MaxFreq;
use wakelab_sched::boost;
use wakelab_sched::select::policy;
use wakelab_scx_core::ops::Scheduler;

/// When wakee flips are what they will be, ns: `record_wakee()` halves them once a second, so what wake-ups by others
/// leave is gone after two, as are those of the first wake-ups.
pub const FLIPS_GONE_NS: u64 = 3_000_000_000;

/// A side of a comparison.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The switches as given; empty for none.
    pub label: String,
    /// The switches.
    pub switches: Switches,
    /// The features that are on.
    pub features: FeatureSet,
    /// The kernel with the tunables that were set.
    pub kernel: Preset,
    /// The power management; `None` if nothing was asked for.
    pub pm: Option<PmSide>,
    /// The machine, if it is not that of the experiment.
    pub machine: Option<Arc<Machine>>,
    /// The scheduler of sched_ext under which tasks run; `None` for the fair class.
    pub scheduler: Option<Arc<dyn Scheduler>>,
}

/// Switches that change nothing, or that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariantError {
    /// The switches do not fit the kernel.
    Switch(SwitchError),
    /// A tunable does not fit the kernel.
    Setting(SettingError),
    /// An option of power management is not known.
    Power(PowerSideError),
    /// Nothing in the model reads the feature.
    NotModelled(Feature),
    /// The kernel lists the feature, but its code does the same with and without.
    SameEitherWay(&'static str, Feature),
    /// The code of the kernel does not read the feature.
    NotRead(&'static str, Feature),
}

impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        let key = |v: &Self| (v.features, v.kernel.name, v.kernel.tunables, v.pm);
        self.label == other.label
            && key(self) == key(other)
            && self.scheduler_identity() == other.scheduler_identity()
            && self.kernel.task_clamps == other.kernel.task_clamps
    }
}

impl Eq for Variant {}

impl fmt::Display for VariantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VariantError::Switch(e) => e.fmt(f),
            VariantError::Setting(e) => e.fmt(f),
            VariantError::Power(e) => e.fmt(f),
            VariantError::NotModelled(feature) => {
                write!(f, "nothing in the model acts on {feature}, so switching it would change nothing")
            }
            VariantError::SameEitherWay(kernel, feature) => {
                write!(f, "{kernel} lists {feature}, but its run queues do the same with and without it")
            }
            VariantError::NotRead(kernel, feature) => {
                let source = feature.source();
                write!(
                    f,
                    "{kernel} does not have the feature {feature} (it is in {source}), and its run queues do not \
                           read it"
                )
            }
        }
    }
}

impl std::error::Error for VariantError {}

impl Variant {
    /// Applies `switches` to `kernel`.
    ///
    /// # Errors
    /// Fails if a switch would change nothing on this kernel, whatever its value.
    pub fn new(kernel: &'static Preset, switches: &Switches) -> Result<Self, VariantError> {
        Self::with_usual(kernel, switches, None)
    }

    /// Applies `switches` to `kernel` on a machine. The machine may have a default governor for sides that name none
    /// ([`PmSide::usual`]).
    ///
    /// # Errors
    /// Fails if a switch would change nothing on this kernel, whatever its value.
    pub fn on(machine: &Machine, kernel: &'static Preset, switches: &Switches) -> Result<Self, VariantError> {
        Self::with_usual(kernel, switches, PmSide::usual(machine))
    }

    /// Returns the identity of its sched_ext scheduler ([`Scheduler::identity`]); `None` for the fair class.
    pub fn scheduler_identity(&self) -> Option<&str> {
        self.scheduler.as_deref().map(Scheduler::identity)
    }

    /// A policy of the side that acts only on tasks whose `wakee_flips` are 0, if there is one. Before
    /// [`FLIPS_GONE_NS`] it does not show what it does.
    pub fn acts_without_flips(&self) -> Option<Feature> {
        [Feature::SIS_CURRENT, Feature::SIS_SHORT_V6, Feature::SIS_NODE_PAIR]
            .into_iter()
            .find(|&feature| self.features.has(feature))
    }

    fn with_usual(kernel: &'static Preset, switches: &Switches, usual: Option<PmSide>) -> Result<Self, VariantError> {
        let features = kernel.switched(switches).map_err(VariantError::Switch)?;
        if let Some(feature) = switches.inert().next() {
            return Err(VariantError::NotModelled(feature));
        }
        if let Some((feature, _)) = switches.iter().find(|&(feature, _)| same_either_way(kernel, feature)) {
            return Err(VariantError::SameEitherWay(kernel.name, feature));
        }
        // The switch of a policy acts on any kernel, also on one that does not have it yet, never had it, or has
        // dropped it.
        let of_policy = |feature| policy::switches().any(|switch| switch.feature == feature);
        // No kernel has a switch for how utilisation is measured.
        let of_pm = |feature| feature == Feature::FREQ_INVARIANCE;
        let boosts = |feature| boost::SWITCHES.contains(&feature);
        let reads = |feature| {
            kernel.lists(feature) || of_policy(feature) || of_pm(feature) || boosts(feature) || posted(kernel, feature)
        };
        match switches.iter().find(|&(feature, _)| !reads(feature)) {
            Some((feature, _)) => Err(VariantError::NotRead(kernel.name, feature)),
            None => {
                let mut kernel = kernel.with_settings(switches.settings()).map_err(VariantError::Setting)?;
                kernel.task_clamps = switches.clamps().to_vec();
                let pm = power_side(switches, usual).map_err(VariantError::Power)?;
                let label = switches.to_string();
                Ok(Variant { label, switches: switches.clone(), features, kernel, pm, machine: None, scheduler: None })
            }
        }
    }
}

/// Whether the model acts on a posting that no policy of the search declares, with this kernel.
fn posted(kernel: &Preset, feature: Feature) -> bool {
    match feature {
        Feature::TTWU_BY_NODE
        | Feature::IRQ_TIME_ACCOUNTING
        | Feature::NI_COST_BUMP
        | Feature::NI_MIGRATION_COST_GATE
        | Feature::UTIL_EST_FASTER
        | Feature::UTIL_EST_FASTER_FREQ
        | Feature::UTIL_EST_FASTER_LB
        | Feature::UTIL_EST_FASTER_OU
        | Feature::UTIL_EST_FASTER_SLOWPATH
        | Feature::UTIL_EST_FASTER_SCALED => true,
        // Groups have had types to put it among since 5.5.
        Feature::SCHED_CACHE | Feature::SCHED_CACHE_V1 | Feature::SCHED_CACHE_LB => !kernel.balance.by_load,
        // These change a form that not every version has.
        Feature::SCHED_IDLE_NOT_FOR_IDLE => kernel.code.sched_idle_not_for_idle,
        Feature::ASYM_SMT => kernel.code.capacity_search == CapacitySearch::GradedCores,
        Feature::PREEMPT_VOLUNTARY => matches!(kernel.fair, FairClass::Eevdf(rules) if rules.lazy_preemption),
        Feature::NEXT_BUDDY_POSTED => {
            use WakeupPreempt::{CompareUnprotected, Pick, PickOrEligible};
            let forms = [CompareUnprotected, Pick, PickOrEligible];
            matches!(kernel.fair, FairClass::Eevdf(rules) if forms.contains(&rules.wakeup_preempt))
        }
        _ => false,
    }
}

/// Whether a kernel lists a feature that it does not act on any more: the return that DOUBLE_TICK skips is at the end
/// of `entity_tick()` in 6.12.
fn same_either_way(kernel: &Preset, feature: Feature) -> bool {
    feature == Feature::DOUBLE_TICK && kernel.class() == Class::Eevdf && kernel.lists(feature)
}

/// An option of power management that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PowerSideError {
    /// No governor, or no choice of a frequency, has that name.
    Unknown {
        /// The option.
        option: &'static str,
        /// The given name.
        given: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The value is no frequency.
    Khz {
        /// The option.
        option: &'static str,
        /// The given value.
        given: String,
    },
    /// The CPUs of an option are none, or too many.
    Cpus {
        /// The option.
        option: &'static str,
        /// As it was given.
        given: String,
    },
    /// Without a governor, nothing reads the option.
    NoGovernor(String),
    /// The option is given twice with different values: the first and the last.
    Twice(String, String),
    /// The governor does not read `setspeed`.
    Setspeed(&'static str),
}

impl fmt::Display for PowerSideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PowerSideError::Unknown { option, given, known } => {
                write!(f, "no {option} `{given}`{}", suggest(&nearest(given, known.iter().copied())))?;
                write!(f, " Expected one of {}", known.join(", "))
            }
            PowerSideError::Khz { option, given } => {
                write!(f, "{option}={given} is not a frequency; expected kHz, 1000 to 20000000")
            }
            PowerSideError::Cpus { option, given } => {
                write!(
                    f,
                    "{given} names no CPUs; expected {option}:4=kHz or {option}:0-3=kHz, at most {} of them",
                    Caps::MAX
                )
            }
            PowerSideError::Twice(first, last) => {
                write!(f, "{first} and {last} exclude each other; give only one of them")
            }
            PowerSideError::Setspeed(governor) => {
                write!(f, "setspeed changes nothing with the governor {governor}; give governor=userspace with it")
            }
            PowerSideError::NoGovernor(what) => write!(
                f,
                "{what} changes nothing without a governor: frequencies and idle states are simulated only if a side \
                 asks for one, as in governor=schedutil"
            ),
        }
    }
}

/// Another name of a governor.
const INTEL_PSTATE: &str = "intel_pstate";

fn governor(given: &str) -> Result<&'static About, PowerSideError> {
    let name = if given == INTEL_PSTATE { "intel_pstate:powersave" } else { given };
    GOVERNORS.iter().find(|about| about.name == name).ok_or_else(|| {
        let known = GOVERNORS.iter().map(|about| about.name).chain([INTEL_PSTATE]).collect();
        PowerSideError::Unknown { option: "governor", given: given.to_owned(), known }
    })
}

fn idle_governor(given: &str) -> Result<&'static IdleAbout, PowerSideError> {
    IDLE_GOVERNORS.iter().find(|about| about.name == given).ok_or_else(|| {
        let known = IDLE_GOVERNORS.iter().map(|about| about.name).collect();
        PowerSideError::Unknown { option: "idle_governor", given: given.to_owned(), known }
    })
}

fn max_freq(given: &str) -> Result<MaxFreq, PowerSideError> {
    match given {
        "4C" => Ok(MaxFreq::FourCores),
        "1C" => Ok(MaxFreq::OneCore),
        "base" => Ok(MaxFreq::Base),
        _ => Err(PowerSideError::Unknown {
            option: "max_freq",
            given: given.to_owned(),
            known: vec!["4C", "1C", "base"],
        }),
    }
}

fn khz(option: &'static str, given: &str) -> Result<u32, PowerSideError> {
    let khz = given.parse().ok().filter(|khz| (1_000..=20_000_000).contains(khz));
    khz.ok_or_else(|| PowerSideError::Khz { option, given: given.to_owned() })
}

/// The frequencies that an option gives CPUs by their numbers; with `all`, without numbers it is all CPUs.
fn caps(option: &'static str, switches: &Switches, all: bool) -> Result<Caps, PowerSideError> {
    let mut caps = Caps::default();
    for given in switches.power().iter().filter(|given| given.name == option) {
        let khz = khz(option, &given.value)?;
        let range = match given.cpus.as_str() {
            "" if all => Some((0, Caps::LAST)),
            "" => continue,
            cpus => {
                let (first, last) = cpus.split_once('-').unwrap_or((cpus, cpus));
                first.parse().ok().zip(last.parse().ok()).filter(|(first, last)| first <= last)
            }
        };
        let wrong = || PowerSideError::Cpus { option, given: given.to_string() };
        let (first, last) = range.ok_or_else(wrong)?;
        if !caps.add(first, last, khz) {
            return Err(wrong());
        }
    }
    Ok(caps)
}

/// Returns the power management that the switches ask for. Without a governor among them it has that of `usual`; `None`
/// if there is none either.
///
/// # Errors
/// Fails if a name is not known, or if an option is given without a governor.
fn power_side(switches: &Switches, usual: Option<PmSide>) -> Result<Option<PmSide>, PowerSideError> {
    let of = |name: &str, cpus: &str| {
        switches.power().iter().rev().find(|option| option.name == name && option.cpus == cpus)
    };
    let given = |name: &str| of(name, "");
    let repeated = |option: &&PowerOption| of(option.name, &option.cpus) != Some(*option);
    if let Some(first) = switches.power().iter().find(repeated) {
        return Err(PowerSideError::Twice(
            first.to_string(),
            of(first.name, &first.cpus).map(|last| last.to_string()).unwrap_or_default(),
        ));
    }
    let invariant = switches.iter().filter(|(feature, _)| *feature == Feature::FREQ_INVARIANCE).last();
    let asked = given("governor").map(|option| governor(&option.value)).transpose()?;
    let Some(asked) = asked.or(usual.map(|side| side.governor)) else {
        if let Some(option) = switches.power().first() {
            return Err(PowerSideError::NoGovernor(option.to_string()));
        }
        return match invariant {
            Some((feature, _)) => Err(PowerSideError::NoGovernor(feature.to_string())),
            None => Ok(None),
        };
    };
    let usual = usual.map_or(&IDLE_GOVERNORS[0], |side| side.idle_governor);
    let idle = given("idle_governor").map_or(Ok(usual), |option| idle_governor(&option.value))?;
    let mut side = PmSide::of(asked, idle);
    side.invariant = invariant.map(|(_, on)| on);
    if let Some(option) = given("max_freq") {
        side.max_freq = max_freq(&option.value)?;
    }
    side.no_turbo = given("no_turbo").is_some();
    side.freq_cap = given("freq_cap").map(|option| khz("freq_cap", &option.value)).transpose()?;
    side.freq_caps = caps("freq_cap", switches, false)?;
    side.hw_pressure = caps("hw_pressure", switches, true)?;
    side.thermal_cap = given("thermal_cap").map(|option| khz("thermal_cap", &option.value)).transpose()?;
    side.setspeed = given("setspeed").map(|option| khz("setspeed", &option.value)).transpose()?;
    if side.setspeed.is_some() && asked.name != "userspace" {
        return Err(PowerSideError::Setspeed(asked.name));
    }
    Ok(Some(side))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(switches: &str) -> Result<Option<PmSide>, PowerSideError> {
        power_side(&switches.parse().unwrap(), None)
    }

    #[test]
    fn a_posting_is_taken_where_the_model_acts_on_it() {
        let takes = |kernel: &str, switches: &str| {
            let kernel = Preset::get(kernel).unwrap();
            Variant::with_usual(kernel, &switches.parse().unwrap(), None).is_ok()
        };
        assert!(takes("v6.1", "SIS_NODE,TTWU_BY_NODE"));
        assert!(takes("v5.18-eas", "UTIL_EST_FASTER,NO_UTIL_EST_FASTER_LB"));
        assert!(takes("v7.2", "NI_COST_BUMP") && takes("v6.12", "NI_MIGRATION_COST_GATE"));
        let versions = |switches: &str| ["v6.1", "v6.12", "v7.2"].map(|kernel| takes(kernel, switches));
        assert_eq!(versions("NO_SCHED_IDLE_NOT_FOR_IDLE"), [false, false, true]);
        assert_eq!(versions("NEXT_BUDDY,NEXT_BUDDY_POSTED"), [false, false, true]);
        assert_eq!(versions("PREEMPT_VOLUNTARY"), [false, false, true]);
        assert!(takes("v6.18", "NEXT_BUDDY,NEXT_BUDDY_POSTED") && !takes("v6.8", "NEXT_BUDDY_POSTED"));
        assert_eq!(["v5.3", "v6.12", "v7.2"].map(|kernel| takes(kernel, "SCHED_CACHE_LB")), [false, true, true]);
        assert!(takes("v7.2", "NO_SCHED_CACHE") && takes("v7.3", "llc_aggr_tolerance=0,llc_overaggr_pct=80"));
    }

    #[test]
    fn a_side_that_names_no_governor_asks_for_nothing() {
        assert_eq!(side("SIS_UTIL,migration_cost=0"), Ok(None));
        let error = side("no_turbo").unwrap_err().to_string();
        assert!(error.starts_with("no_turbo changes nothing without a governor"), "{error}");
        assert!(side("NO_FREQ_INVARIANCE").is_err());
    }

    #[test]
    fn a_side_without_a_governor_has_the_usual_one_of_unequal_cpus() {
        let usual = |machine: &str| PmSide::usual(&wakelab_machine::get(machine).unwrap());
        assert_eq!(usual("i7-2600k"), None);
        let of = |switches: &str| power_side(&switches.parse().unwrap(), usual("pixel6")).unwrap().unwrap();
        assert_eq!(of("RUNNABLE_BOOST").governor.name, "schedutil");
        assert_eq!(of("freq_cap=1000000").freq_cap, Some(1_000_000));
        assert_eq!(of("thermal_cap=1000000").thermal_cap, Some(1_000_000));
        assert_eq!(of("governor=performance").governor.name, "performance");
    }

    #[test]
    fn all_that_can_be_asked_for_is_taken_over() {
        let text = "governor=schedutil,NO_FREQ_INVARIANCE,max_freq=1C,no_turbo,freq_cap=2000000,idle_governor=teo";
        let side = side(text).unwrap().unwrap();
        assert_eq!((side.governor.name, side.idle_governor.name), ("schedutil", "teo"));
        assert_eq!((side.invariant, side.max_freq), (Some(false), MaxFreq::OneCore));
        assert_eq!((side.no_turbo, side.freq_cap), (true, Some(2_000_000)));
        assert_eq!(
            super::power_side(&"governor=intel_pstate".parse().unwrap(), None).unwrap().unwrap().governor.name,
            "intel_pstate:powersave"
        );
    }

    #[test]
    fn an_unknown_governor_has_a_name_that_is_like_it() {
        let error = side("governor=shedutil").unwrap_err().to_string();
        assert!(error.contains("did you mean `schedutil`?"), "{error}");
        let twice = side("governor=schedutil,governor=performance").unwrap_err().to_string();
        assert_eq!(twice, "governor=schedutil and governor=performance exclude each other; give only one of them");
        let unread = side("governor=schedutil,setspeed=2000000").unwrap_err().to_string();
        assert!(unread.starts_with("setspeed changes nothing with the governor schedutil"), "{unread}");
        let error = side("governor=schedutil,freq_cap:3-1=1000000").unwrap_err().to_string();
        assert!(error.starts_with("freq_cap:3-1=1000000 names no CPUs; expected freq_cap:4=kHz"), "{error}");
        let by_cpu = side("governor=schedutil,freq_cap:0-3=1000000,freq_cap:6=2000000,hw_pressure=1500000");
        let by_cpu = by_cpu.unwrap().unwrap();
        assert_eq!([2, 4, 6].map(|cpu| by_cpu.freq_caps.of(cpu)), [Some(1_000_000), None, Some(2_000_000)]);
        assert_eq!((by_cpu.freq_cap, by_cpu.hw_pressure.of(100)), (None, Some(1_500_000)));
        let error = side("governor=schedutil,freq_cap=fast").unwrap_err().to_string();
        assert_eq!(error, "freq_cap=fast is not a frequency; expected kHz, 1000 to 20000000");
    }
}
