//! A side as it is written: switches, the kernel that it may name itself, and its name.

use wakelab_input::printable;
use wakelab_kernel::{Setting, SettingError, Switches};

/// The word by which a side names a kernel of its own.
const KERNEL: &str = "kernel";
/// The longest name of a variant, in characters.
const NAME_MAX: usize = 40;

/// The text of a side, `kernel=v6.12,SIS_PROP`, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SideText {
    /// The kernel that the side names itself.
    pub kernel: Option<String>,
    /// The switches.
    pub switches: Switches,
}

impl SideText {
    /// Reads the text of a side.
    ///
    /// # Errors
    /// Fails with what is wrong if a word is unknown, if two contradict each other, or if two kernels are named.
    pub fn parse(text: &str) -> Result<Self, String> {
        let of_kernel = |word: &str| {
            let (name, kernel) = word.split_once('=')?;
            (name.trim() == KERNEL).then(|| kernel.trim().to_owned())
        };
        let mut kernel: Option<String> = None;
        for named in text.split(',').filter_map(of_kernel) {
            match &kernel {
                _ if named.is_empty() => return Err("kernel= names no kernel; expected one as in kernel=v6.12".into()),
                Some(first) if *first != named => {
                    return Err(format!("kernel={first} and kernel={named}; expected one of them"));
                }
                _ => kernel = Some(named),
            }
        }
        let words: Vec<&str> = text.split(',').filter(|word| of_kernel(word).is_none()).collect();
        let switches = words.join(",").parse().map_err(|error| format!("{error}"))?;
        Ok(SideText { kernel, switches })
    }
}

/// Splits what a flag gives of a side, `NAME=SWITCHES` or `SWITCHES`, into the name and the switches. What is a tunable
/// that is set, or looks like one, is no name.
pub(super) fn named(text: &str) -> (Option<&str>, &str) {
    if SideText::parse(text).is_ok() {
        return (None, text);
    }
    let Some((name, rest)) = text.split_once('=').filter(|(name, _)| check_name(name.trim()).is_ok()) else {
        return (None, text);
    };
    let is_value = rest.trim().parse::<f64>().is_ok();
    let (known, looks_known) = match Setting::new(name.trim(), "") {
        Err(SettingError::Unknown { near, .. }) => (false, !near.is_empty()),
        _ => (true, true),
    };
    let misspelt = SideText::parse(rest).is_err() && (is_value || looks_known);
    if known || misspelt { (None, text) } else { (Some(name.trim()), rest) }
}

/// Whether a variant can have this name: 1 to 40 letters, digits, or one of `_.+-` and blanks in between.
///
/// # Errors
/// Fails with what was expected.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let good = |c: char| c.is_alphanumeric() || "_.+- ".contains(c);
    let length = name.chars().count();
    if name.trim() == name && (1..=NAME_MAX).contains(&length) && name.chars().all(good) {
        return Ok(());
    }
    let found = printable(name);
    Err(format!("{found:?} is no name of a variant; expected 1 to {NAME_MAX} letters, digits, blanks or _ . + -"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_may_name_its_kernel_anywhere() {
        for text in ["kernel=v6.12,SIS_PROP,migration_cost=0", "SIS_PROP, kernel = v6.12 ,migration_cost=0"] {
            let side = SideText::parse(text).unwrap();
            assert_eq!(side.kernel.as_deref(), Some("v6.12"), "{text}");
            assert_eq!(side.switches.to_string(), "SIS_PROP,migration_cost=0", "{text}");
        }
        assert_eq!(SideText::parse("").unwrap(), SideText { kernel: None, switches: Switches::default() });
        let error = SideText::parse("kernel=v6.1,kernel=v6.12").unwrap_err();
        assert_eq!(error, "kernel=v6.1 and kernel=v6.12; expected one of them");
        assert!(SideText::parse("kernel=,SIS_PROP").unwrap_err().contains("expected one as in kernel=v6.12"));
        assert!(SideText::parse("kernel=v6.1,SIS_PROPP").unwrap_err().contains("SIS_PROPP"));
    }

    #[test]
    fn a_name_stands_before_the_first_equals_sign() {
        for (text, expected) in [
            ("SIS_UTIL", (None, "SIS_UTIL")),
            ("", (None, "")),
            ("migration_cost=0", (None, "migration_cost=0")),
            ("governor=schedutil,no_turbo", (None, "governor=schedutil,no_turbo")),
            ("kernel=v6.12", (None, "kernel=v6.12")),
            ("uclamp_min:ui=512", (None, "uclamp_min:ui=512")),
            ("new=kernel=v6.12", (Some("new"), "kernel=v6.12")),
            ("cheap=migration_cost=0,SIS_UTIL", (Some("cheap"), "migration_cost=0,SIS_UTIL")),
            ("plain=", (Some("plain"), "")),
            ("ui first=uclamp_min:ui=512", (Some("ui first"), "uclamp_min:ui=512")),
            // The error is then about what was written after the name.
            ("mine=SIS_UTILL", (Some("mine"), "SIS_UTILL")),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    /// Misspelt tunables keep the error that names the right one.
    #[test]
    fn what_looks_like_a_tunable_is_no_name() {
        for text in ["migration_cots=0", "governr=schedutil", "migration_cost=SIS_UTIL", "zzz=17", "A,b=SIS_UTIL"] {
            assert_eq!(named(text), (None, text), "{text}");
        }
    }

    #[test]
    fn names_are_short_and_have_no_commas() {
        for name in ["sis_util", "v6.12 + patch", "a", "Früher"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", " a", "a,b", "a=b", "a\u{1b}", &"x".repeat(41)] {
            assert!(check_name(name).unwrap_err().contains("is no name of a variant"), "{name}");
        }
    }
}
