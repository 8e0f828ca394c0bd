//! The features, with the names of the kernel's `features` file and of the postings (`wakelab kernel` lists their
//! sources).

use anyhow::{Result, bail};

/// The names by bit, as `enum feature` of crates/scx-wakelab/src/bpf/intf.h.
pub const NAMES: [&str; 16] = [
    "SIS_CORE",
    "SIS_UTIL",
    "SIS_UTIL_V1",
    "SIS_UTIL_V2",
    "SIS_UTIL_V3",
    "SIS_UTIL_SMALL_LLC",
    "SIS_PROP",
    "SIS_LIMIT",
    "SIS_SHORT",
    "RUNNABLE_BOOST",
    "UTIL_EST",
    "WA_IDLE",
    "WA_WEIGHT",
    "WA_BIAS",
    "WAKEUP_PREEMPTION",
    "SIS_PARAM",
];

/// The features that are on by default, as in kernels since 6.5.
const DEFAULT: [&str; 8] =
    ["SIS_CORE", "SIS_UTIL", "RUNNABLE_BOOST", "UTIL_EST", "WA_IDLE", "WA_WEIGHT", "WA_BIAS", "WAKEUP_PREEMPTION"];

/// SIS_UTIL and its earlier versions.
const SIS_UTILS: u64 = 0b11110;

/// The bit of a feature.
pub fn bit(name: &str) -> Option<u64> {
    NAMES.iter().position(|&known| known == name).map(|at| 1 << at)
}

/// The bits of the features that are on by default.
pub fn defaults() -> u64 {
    DEFAULT.iter().filter_map(|name| bit(name)).sum()
}

/// Switches the features of `list` (`SIS_PROP,NO_SIS_CORE`), starting from `on`. SIS_UTIL, its versions and SIS_PROP
/// are alternatives: to switch one on switches the others off.
///
/// # Errors
/// Fails if a name is not known.
pub fn switched(mut on: u64, list: &str) -> Result<u64> {
    for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
        let upper = word.to_ascii_uppercase();
        let (name, switch) = upper.strip_prefix("NO_").map_or((upper.as_str(), true), |name| (name, false));
        let Some(bit) = bit(name) else {
            bail!(
                "expected a feature, found {word:?}\n  hint: use one of {}, or one of them with NO_ before it",
                NAMES.join(", ")
            );
        };
        if !switch {
            on &= !bit;
            continue;
        }
        let prop = 1 << 6;
        if bit & (SIS_UTILS | prop) != 0 {
            on &= !(SIS_UTILS | prop);
        }
        on |= bit;
    }
    Ok(on)
}

/// The features in the form of the kernel's `features` file.
pub fn text(on: u64) -> String {
    let word = |(at, name): (usize, &&str)| format!("{}{name}", if on >> at & 1 != 0 { "" } else { "NO_" });
    NAMES.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_and_told() {
        let on = switched(defaults(), "NO_SIS_CORE,SIS_SHORT").unwrap();
        assert!(text(on).starts_with("NO_SIS_CORE SIS_UTIL NO_SIS_UTIL_V1 "));
        assert!(text(on).contains(" SIS_SHORT "));
        assert_eq!(switched(on, "SIS_CORE NO_SIS_SHORT").unwrap(), defaults());
        assert!(switched(0, "SIS_FOO").unwrap_err().to_string().contains("SIS_FOO"));
    }

    #[test]
    fn one_policy_of_the_scan_length_is_on() {
        let on = switched(defaults(), "SIS_PROP").unwrap();
        assert!(text(on).contains("NO_SIS_UTIL ") && text(on).contains(" SIS_PROP "));
        assert_eq!(switched(on, "SIS_UTIL").unwrap(), defaults());
        let v2 = text(switched(on, "SIS_UTIL_V2").unwrap());
        assert!(v2.contains("NO_SIS_PROP") && v2.contains(" SIS_UTIL_V2"));
    }

    #[test]
    fn bits_are_the_programs() {
        let header = include_str!("../../scx-wakelab/src/bpf/intf.h");
        let features: String = NAMES.iter().enumerate().map(|(at, name)| format!("\t{name} = 1 << {at},\n")).collect();
        assert!(header.contains(&format!("enum feature {{\n{features}}};\n")), "expected\n{features}");
    }
}
