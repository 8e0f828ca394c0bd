//! What the two sides of a comparison differ in, and what their switches leave unsaid.

use super::Variant;
use std::fmt::Display;
use wakelab_kernel::{Feature, TaskClamp};
use wakelab_pm::invariance::MaxFreq;
use wakelab_sched::select::policy;
use wakelab_sim::PmSide;

/// What `with` has otherwise than `base`, a setting each, features first; empty if the sides are the same.
pub(super) fn differ(base: &Variant, with: &Variant) -> Vec<String> {
    let mut found = Vec::new();
    if base.kernel.name != with.kernel.name {
        found.push(format!("kernel {} (base {})", with.kernel.name, base.kernel.name));
    }
    let machine = |side: &Variant| side.machine.as_ref().map(|machine| machine.name.clone());
    let machines = (machine(base), machine(with));
    if machines.0 != machines.1 {
        let name = |name: Option<String>| name.unwrap_or_else(|| "the experiment's".to_owned());
        found.push(format!("machine {} (base {})", name(machines.1), name(machines.0)));
    }
    let scheduler = |side: &Variant| {
        let scheduler = side.scheduler.as_ref();
        scheduler.map_or_else(|| "the fair class".to_owned(), |scheduler| scheduler.name().to_owned())
    };
    if base.scheduler_identity() != with.scheduler_identity() {
        found.push(format!("scheduler {} (base {})", scheduler(with), scheduler(base)));
    }
    let changed = Feature::ALL.iter().filter(|&&feature| base.features.has(feature) != with.features.has(feature));
    found.extend(changed.map(|&feature| format!("{feature} {}", on(with.features.has(feature)))));
    for (of_base, of_with) in base.kernel.tunables.list().into_iter().zip(with.kernel.tunables.list()) {
        found.extend(setting(of_with.name, &of_base.value, &of_with.value));
    }
    let clamp = |one: &TaskClamp| one.to_string();
    let of_side = |side: &Variant| side.kernel.task_clamps.iter().map(clamp).collect::<Vec<_>>();
    let (of_base, of_with) = (of_side(base), of_side(with));
    found.extend(of_with.iter().filter(|one| !of_base.contains(one)).cloned());
    found.extend(of_base.iter().filter(|one| !of_with.contains(one)).map(|one| format!("without {one}")));
    found.extend(power(base.pm.as_ref(), with.pm.as_ref()));
    found
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn setting<T: PartialEq + Display>(name: &str, base: &Option<T>, with: &Option<T>) -> Option<String> {
    let text = |value: &Option<T>| value.as_ref().map_or_else(|| "unset".to_owned(), T::to_string);
    (base != with).then(|| format!("{name} {} (base {})", text(with), text(base)))
}

/// The options of power management that differ, by the names that switches have for them.
fn power(base: Option<&PmSide>, with: Option<&PmSide>) -> Vec<String> {
    let options = |side: Option<&PmSide>| {
        let khz = |value: Option<u32>| value.map(|khz| khz.to_string());
        [
            ("governor", side.map(|side| side.governor.name.to_owned())),
            ("idle_governor", side.map(|side| side.idle_governor.name.to_owned())),
            ("FREQ_INVARIANCE", side.and_then(|side| side.invariant).map(|invariant| on(invariant).to_owned())),
            ("max_freq", side.map(|side| max_freq(side.max_freq).to_owned())),
            ("no_turbo", side.map(|side| on(side.no_turbo).to_owned())),
            ("freq_cap", khz(side.and_then(|side| side.freq_cap))),
            ("freq_cap by CPU", side.map(|side| side.freq_caps.to_string()).filter(|caps| !caps.is_empty())),
            ("hw_pressure", side.map(|side| side.hw_pressure.to_string()).filter(|caps| !caps.is_empty())),
            ("thermal_cap", khz(side.and_then(|side| side.thermal_cap))),
            ("setspeed", khz(side.and_then(|side| side.setspeed))),
        ]
    };
    let both = options(base).into_iter().zip(options(with));
    both.filter_map(|((name, base), (_, with))| setting(name, &base, &with)).collect()
}

fn max_freq(of: MaxFreq) -> &'static str {
    match of {
        MaxFreq::FourCores => "4C",
        MaxFreq::OneCore => "1C",
        MaxFreq::Base => "base",
    }
}

/// For each side a sentence about each switch that replaces a default of the kernel, that changes nothing because it is
/// the default, or that adds a search policy to those that the kernel has on.
pub(super) fn notes(base: &Variant, with: &Variant) -> Vec<String> {
    [("base", base), ("with", with)].into_iter().flat_map(|(name, side)| of_side(name, side)).collect()
}

fn of_side(name: &str, side: &Variant) -> Vec<String> {
    let Variant { kernel, switches, .. } = side;
    let own = kernel.features;
    let replaced = switches.replaced(own).map(|(old, new)| {
        format!("{name}: {new} replaces {old}, which {} has on; {old},{new} has both on", kernel.name)
    });
    let same = switches.iter().filter(|&(feature, on)| own.has(feature) == on && kernel.lists(feature));
    let same = same.map(|(feature, is_on)| format!("{name}: {} has {feature} {} by itself", kernel.name, on(is_on)));
    replaced.chain(same).chain(added(name, side)).collect()
}

/// The search policies that are switched on beside those of the kernel.
fn added(name: &str, side: &Variant) -> Option<String> {
    let Variant { kernel, features, switches, .. } = side;
    let is_policy = |feature: Feature| policy::switches().any(|switch| switch.feature == feature);
    let list = |features: Vec<Feature>| features.iter().map(|feature| feature.name()).collect::<Vec<_>>().join(", ");
    let named = |feature: Feature| switches.iter().any(|(named, _)| named == feature);
    let kept = |f: Feature| is_policy(f) && kernel.lists(f) && kernel.features.has(f) && !named(f);
    let replaces = |f: Feature| switches.replaced(kernel.features).any(|(_, new)| new == f);
    let new = |f: Feature| is_policy(f) && !kernel.features.has(f) && !replaces(f);
    let kept = features.iter().filter(|&f| kept(f)).collect::<Vec<_>>();
    let new = features.iter().filter(|&f| new(f)).collect::<Vec<_>>();
    (!kept.is_empty() && !new.is_empty())
        .then(|| format!("{name}: {} in addition to {}, which {} has on", list(new), list(kept), kernel.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_kernel::Preset;

    fn side(kernel: &str, switches: &str) -> Variant {
        Variant::new(Preset::get(kernel).unwrap(), &switches.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_limit_replaces_the_other_and_says_so() {
        let (base, with) = (side("v6.12", "SIS_UTIL"), side("v6.12", "SIS_PROP"));
        assert_eq!(differ(&base, &with), ["SIS_PROP on", "SIS_UTIL off"]);
        assert_eq!(
            notes(&base, &with),
            [
                "base: v6.12 has SIS_UTIL on by itself",
                "with: SIS_PROP replaces SIS_UTIL, which v6.12 has on; SIS_UTIL,SIS_PROP has both on"
            ]
        );
        let both = side("v6.12", "SIS_UTIL,SIS_PROP");
        assert_eq!(differ(&base, &both), ["SIS_PROP on"]);
        assert!(differ(&base, &base).is_empty());
    }

    #[test]
    fn a_policy_beside_the_default_says_so() {
        let with = side("v7.2", "SIS_FILTER");
        assert_eq!(of_side("with", &with), ["with: SIS_FILTER in addition to SIS_UTIL, which v7.2 has on"]);
        assert!(of_side("with", &side("v7.2", "NO_SIS_UTIL,SIS_ORACLE")).is_empty());
    }

    #[test]
    fn settings_and_governors_that_differ_have_both_values() {
        let base = side("v6.12", "migration_cost=1000000,governor=schedutil");
        let with = side("v6.12", "governor=performance,no_turbo,uclamp_min:ui=512");
        assert_eq!(
            differ(&base, &with),
            [
                "migration_cost 500000 (base 1000000)",
                "uclamp_min:ui=512",
                "governor performance (base schedutil)",
                "no_turbo on (base off)"
            ]
        );
    }
}
