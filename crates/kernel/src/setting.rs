//! Tunables that are set on top of a preset: `sis_util_pct=150`.

use crate::{PowerOption, Preset, Unit};
use wakelab_input::{nearest, suggest};

/// The tunables that can be set, and their ranges.
const SETTABLE: [(&str, u64, u64); 33] = [
    ("sched_latency", 100_000, 1_000_000_000),
    ("min_granularity", 100_000, 1_000_000_000),
    ("wakeup_granularity", 0, 1_000_000_000),
    ("child_runs_first", 0, 1),
    ("base_slice", 100_000, 1_000_000_000),
    ("migration_cost", 0, 1_000_000_000),
    ("nr_migrate", 1, 1024),
    ("sis_util_pct", 100, 1000),
    ("sis_util_exponent", 1, 4),
    ("sis_param_runnable", 0, 100),
    ("sis_param_floor", 0, 4096),
    ("sis_param_cap", 1, 4096),
    ("sis_param_failed", 0, 12),
    ("sis_param_run", 0, 1_000_000),
    ("sis_param_short", 0, 10_000_000),
    ("sis_param_short_scan", 0, 100),
    ("pelt_multiplier", 1, 4),
    ("sched_rt_runtime_us", 0, 1_000_000_000),
    ("sched_rt_period_us", 1_000, 1_000_000_000),
    ("sched_rr_timeslice_ms", 1, 10_000),
    ("fair_server_runtime", 0, 1_000_000_000),
    ("fair_server_period", 1_000_000, 1_000_000_000_000),
    ("llc_aggr_tolerance", 0, 100),
    ("llc_epoch_period", 1, 1000),
    ("llc_epoch_affinity_timeout", 0, 1000),
    ("llc_overaggr_pct", 0, 100),
    ("llc_imb_pct", 0, 100),
    ("sched_util_clamp_min", 0, 1024),
    ("sched_util_clamp_max", 0, 1024),
    ("sched_util_clamp_min_rt_default", 0, 1024),
    ("uclamp_buckets", 5, 20),
    ("sched_cfs_bandwidth_slice_us", 1, 1_000_000),
    ("sched_autogroup_enabled", 0, 1),
];

/// The tunables that can only be set to powers of two.
const POWERS: [&str; 1] = ["pelt_multiplier"];

fn and_a_power(name: &str) -> &'static str {
    if POWERS.contains(&name) { ", and a power of two" } else { "" }
}

/// One tunable, set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// The tunable's name, as in [`Tunables::list`](crate::Tunables::list).
    pub name: &'static str,
    /// Its value, before it is scaled by the number of CPUs.
    pub value: u64,
}

/// A setting was not understood, or does not fit the kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// There is no such tunable, or it cannot be set.
    #[error("there is no tunable {name} that can be set{}; these can: {}", suggest(.near), names().join(", "))]
    Unknown {
        /// The text that was given.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// The value is no number, or out of range.
    #[error("{name}={given}: expected a number from {low} to {high}{}", and_a_power(name))]
    Value {
        /// The tunable.
        name: &'static str,
        /// The text that was given.
        given: String,
        /// The least.
        low: u64,
        /// The greatest.
        high: u64,
    },
    /// The system-wide utilisation clamps are the wrong way round.
    #[error(
        "sched_util_clamp_min={min} is above sched_util_clamp_max={max}, which the kernel refuses; expected at most \
         the maximum (the default is 1024)"
    )]
    Clamps {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// The version does not have it.
    #[error("kernel {preset} does not have the tunable {name}")]
    Absent {
        /// The preset.
        preset: &'static str,
        /// The tunable.
        name: &'static str,
    },
}

impl Setting {
    /// `name=value`, given as its two parts.
    ///
    /// # Errors
    /// Where the name is unknown or the value out of range.
    pub fn new(name: &str, value: &str) -> Result<Self, SettingError> {
        let Some(&(name, low, high)) = SETTABLE.iter().find(|(known, ..)| *known == name) else {
            return Err(SettingError::Unknown {
                name: name.to_owned(),
                near: nearest(name, names().into_iter().chain(PowerOption::names())),
            });
        };
        match value.parse() {
            Ok(number) if (low..=high).contains(&number) && (!POWERS.contains(&name) || number.is_power_of_two()) => {
                Ok(Setting { name, value: number })
            }
            _ => Err(SettingError::Value { name, given: value.to_owned(), low, high }),
        }
    }
}

/// The names of what can be set.
fn names() -> Vec<&'static str> {
    SETTABLE.iter().map(|&(name, ..)| name).collect()
}

impl Preset {
    /// The version with tunables set.
    ///
    /// # Errors
    /// Where the version does not have one.
    pub fn with_settings(&self, settings: impl IntoIterator<Item = Setting>) -> Result<Preset, SettingError> {
        let mut preset = self.clone();
        for Setting { name, value } in settings {
            // Those of SIS_UTIL and of cache-aware balancing go with the features, and a faster clock of PELT can be
            // given to any version.
            let own = preset.tunables.list().into_iter().find(|tunable| tunable.name == name);
            let has = own.is_some_and(|tunable| tunable.value.is_some() || tunable.unit == Unit::Plain);
            if !has {
                return Err(SettingError::Absent { preset: self.name, name });
            }
            preset.tunables.set(name, value);
        }
        let tunables = &mut preset.tunables;
        // sysctl_sched_uclamp_handler() refuses it, too.
        let (min, max) = (tunables.sched_util_clamp_min, tunables.sched_util_clamp_max.unwrap_or(1024));
        if min.unwrap_or(1024) > max {
            return Err(SettingError::Clamps { min: min.unwrap_or(1024), max });
        }
        // sched_update_scaling(): it follows the other two.
        if let (Some(latency), Some(granularity)) = (tunables.sched_latency, tunables.min_granularity) {
            tunables.nr_latency = Some(latency.div_ceil(granularity));
        }
        Ok(preset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(kernel: &str, name: &str, value: &str) -> Result<Preset, SettingError> {
        Preset::get(kernel).unwrap().with_settings([Setting::new(name, value)?])
    }

    #[test]
    fn the_number_of_tasks_of_a_period_follows_the_period() {
        let preset = set("v6.1", "sched_latency", "12000000").unwrap();
        assert_eq!(preset.tunables.nr_latency, Some(16));
        assert_eq!(Preset::get("v6.1").unwrap().tunables.nr_latency, Some(8));
    }

    #[test]
    fn what_a_version_does_not_have_cannot_be_set() {
        let error = set("v6.12", "min_granularity", "1000000").unwrap_err();
        assert_eq!(error.to_string(), "kernel v6.12 does not have the tunable min_granularity");
        assert_eq!(set("v5.10", "sis_util_pct", "200").unwrap().tunables.sis_util_pct, Some(200));
    }

    #[test]
    fn names_and_values_are_checked() {
        assert!(set("v6.1", "sis_util_pkt", "120").unwrap_err().to_string().contains("did you mean `sis_util_pct`"));
        let error = set("v6.1", "sis_util_exponent", "9").unwrap_err();
        assert_eq!(error.to_string(), "sis_util_exponent=9: expected a number from 1 to 4");
        let error = set("v7.2", "llc_aggr_tolerance", "101").unwrap_err();
        assert_eq!(error.to_string(), "llc_aggr_tolerance=101: expected a number from 0 to 100");
        let error = set("v7.2", "llc_epoch_period", "0").unwrap_err();
        assert_eq!(error.to_string(), "llc_epoch_period=0: expected a number from 1 to 1000");
        assert!(set("v7.2", "llc_agr_tolerance", "1").unwrap_err().to_string().contains("llc_aggr_tolerance"));
        let error = set("v6.1", "pelt_multiplier", "3").unwrap_err();
        assert_eq!(error.to_string(), "pelt_multiplier=3: expected a number from 1 to 4, and a power of two");
        assert_eq!(set("v5.18-eas", "pelt_multiplier", "2").unwrap().tunables.pelt_multiplier, Some(2));
    }
}
