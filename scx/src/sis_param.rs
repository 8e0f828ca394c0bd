//! The parameters of SIS_PARAM, by the names and within the ranges of wakelab's tunables.

use crate::bpf_skel::types;
use wakelab_kernel::Setting;

/// Those that the scheduler has. Of the others `sis_util_exponent` and `sis_param_runnable` have nothing here.
const NAMES: [&str; 7] = [
    "sis_util_pct",
    "sis_param_floor",
    "sis_param_cap",
    "sis_param_failed",
    "sis_param_run",
    "sis_param_short",
    "sis_param_short_scan",
];

/// The parameters that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SisParam(Vec<Setting>);

impl SisParam {
    /// Reads `sis_util_pct=110,sis_param_failed=3`.
    ///
    /// # Errors
    /// Names the word that is no parameter, has no value, or is out of its range.
    pub fn parse(list: &str) -> Result<Self, String> {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        let setting = |word: &str| {
            let known = || format!("expected one of {} with a value, as in sis_param_failed=3", NAMES.join(", "));
            let (name, value) = word.split_once('=').ok_or_else(|| format!("{}, found {word:?}", known()))?;
            if !NAMES.contains(&name.trim()) {
                return Err(format!("{}, found {word:?}", known()));
            }
            Setting::new(name.trim(), value.trim()).map_err(|e| e.to_string())
        };
        words.map(setting).collect::<Result<_, _>>().map(SisParam)
    }

    /// Sets them in the program's constants.
    pub fn set(&self, to: &mut types::sis_param) {
        for Setting { name, value } in &self.0 {
            match *name {
                "sis_util_pct" => to.util_pct = *value as u32,
                "sis_param_floor" => to.floor = *value as u32,
                "sis_param_cap" => to.cap = *value as u32,
                "sis_param_failed" => to.failed = *value as u32,
                "sis_param_run" => to.run = *value,
                "sis_param_short" => to.short_run = *value,
                "sis_param_short_scan" => to.short_scan = *value as u32,
                _ => unreachable!("{name} was not taken"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_and_set() {
        let list = "sis_util_pct=110, sis_param_floor=2,sis_param_cap=8,sis_param_failed=3,sis_param_run=200,\
            sis_param_short=5000,sis_param_short_scan=60";
        let mut to = types::sis_param::default();
        SisParam::parse(list).unwrap().set(&mut to);
        assert_eq!((to.util_pct, to.floor, to.cap, to.failed), (110, 2, 8, 3));
        assert_eq!((to.run, to.short_run, to.short_scan), (200, 5000, 60));
        assert_eq!(NAMES.len(), list.matches('=').count(), "each has a place");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (list, part) in [
            ("sis_param_failed", "found \"sis_param_failed\""),
            ("sis_param_runnable=50", "found \"sis_param_runnable=50\""),
            ("migration_cost=0", "expected one of sis_util_pct"),
            ("sis_param_failed=13", "sis_param_failed=13 is not a number from 0 to 12"),
            ("sis_param_cap=-1", "sis_param_cap=-1 is not a number from 1 to 4096"),
        ] {
            let said = SisParam::parse(list).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
