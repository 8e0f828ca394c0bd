//! A side's options of power management: `governor=schedutil`, `no_turbo`.
//!
//! Here they are words; what can follow the `=` the crates say that have governors.

use wakelab_input::nearest;

/// The known options, and what comes after the `=`; nothing for an option without a value.
const KNOWN: [(&str, Option<&str>); 8] = [
    ("governor", Some("the frequency governor")),
    ("idle_governor", Some("the idle governor")),
    ("max_freq", Some("what x86 takes as the highest frequency: 4C, 1C or base")),
    ("freq_cap", Some("scaling_max_freq, kHz")),
    ("hw_pressure", Some("the highest frequency that the hardware gives and reports to the kernel, kHz")),
    ("thermal_cap", Some("the highest frequency that the hardware gives, kHz")),
    ("setspeed", Some("scaling_setspeed of the governor userspace, kHz")),
    ("no_turbo", None),
];

/// Those that may name CPUs: `freq_cap:0-3=1400000`.
const BY_CPU: [&str; 2] = ["freq_cap", "hw_pressure"];

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PowerOption {
    /// Its name.
    pub name: &'static str,
    /// The CPUs that it is for, as they were named; empty for all.
    pub cpus: String,
    /// The value after the `=`; empty for an option without one.
    pub value: String,
}

impl PowerOption {
    /// `word`, or `name=value`, or `name:cpus=value`, if it is one of these.
    pub fn read(name: &str, value: Option<&str>) -> Option<PowerOption> {
        let (plain, cpus) = name.split_once(':').unwrap_or((name, ""));
        let &(name, wants) = KNOWN.iter().find(|(known, _)| *known == plain)?;
        if !cpus.is_empty() && !BY_CPU.contains(&name) {
            return None;
        }
        let cpus = cpus.to_owned();
        match (wants, value) {
            (Some(_), Some(value)) => Some(PowerOption { name, cpus, value: value.to_owned() }),
            (None, None) => Some(PowerOption { name, cpus, value: String::new() }),
            _ => None,
        }
    }

    /// Names like a given one.
    pub fn near(name: &str) -> Vec<String> {
        nearest(name, Self::names())
    }

    /// The names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|&(name, _)| name)
    }
}

impl std::fmt::Display for PowerOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)?;
        if !self.cpus.is_empty() {
            write!(f, ":{}", self.cpus)?;
        }
        match self.value.as_str() {
            "" => Ok(()),
            value => write!(f, "={value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wants_a_value_has_one_and_what_does_not_has_none() {
        assert_eq!(PowerOption::read("governor", Some("schedutil")).unwrap().to_string(), "governor=schedutil");
        assert_eq!(PowerOption::read("no_turbo", None).unwrap().to_string(), "no_turbo");
        assert_eq!(PowerOption::read("freq_cap:0-3", Some("1")).unwrap().to_string(), "freq_cap:0-3=1");
        assert_eq!(PowerOption::read("governor:0", Some("schedutil")), None);
        assert_eq!(PowerOption::read("governor", None), None);
        assert_eq!(PowerOption::read("no_turbo", Some("1")), None);
        assert_eq!(PowerOption::read("base_slice", Some("1")), None);
    }
}
