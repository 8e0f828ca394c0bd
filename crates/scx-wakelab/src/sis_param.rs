//! The parameters of SIS_PARAM, by the names and within the ranges of wakelab's tunables.

use crate::bpf_skel::types;
use wakelab_kernel::Setting;

/// Where the program keeps a parameter.
type Place = fn(&mut types::sis_param, u64);

/// Those that the scheduler has. Of the others `sis_util_exponent` and `sis_param_runnable` have nothing here.
const PARAMETERS: [(&str, Place); 7] = [
    ("sis_util_pct", |to, value| to.util_pct = value as u32),
    ("sis_param_floor", |to, value| to.floor = value as u32),
    ("sis_param_cap", |to, value| to.cap = value as u32),
    ("sis_param_failed", |to, value| to.failed = value as u32),
    ("sis_param_run", |to, value| to.run = value),
    ("sis_param_short", |to, value| to.short_run = value),
    ("sis_param_short_scan", |to, value| to.short_scan = value as u32),
];

/// The parameters that are set: where each is kept, and its value.
#[derive(Clone, Debug, Default)]
pub struct SisParam(Vec<(Place, u64)>);

impl SisParam {
    /// Reads `sis_util_pct=110,sis_param_failed=3`.
    ///
    /// # Errors
    /// Names the word that is no parameter, has no value, or is out of its range.
    pub fn parse(list: &str) -> Result<Self, String> {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        let setting = |word: &str| {
            let parts = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let known = parts.and_then(|(name, value)| {
                let (name, place) = PARAMETERS.iter().find(|(known, _)| *known == name)?;
                Some((*name, *place, value))
            });
            let Some((name, place, value)) = known else {
                let names = PARAMETERS.map(|(name, _)| name).join(", ");
                return Err(format!("expected one of {names} with a value, as in sis_param_failed=3, found {word:?}"));
            };
            Setting::new(name, value).map(|setting| (place, setting.value)).map_err(|e| e.to_string())
        };
        words.map(setting).collect::<Result<_, _>>().map(SisParam)
    }

    /// Sets them in the program's constants.
    pub fn set(&self, to: &mut types::sis_param) {
        self.0.iter().for_each(|(place, value)| place(to, *value));
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
        assert_eq!(PARAMETERS.len(), list.matches('=').count(), "each has a place");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (list, part) in [
            ("sis_param_failed", "found \"sis_param_failed\""),
            ("sis_param_runnable=50", "found \"sis_param_runnable=50\""),
            ("migration_cost=0", "expected one of sis_util_pct"),
            ("sis_param_failed=13", "sis_param_failed=13: expected a number from 0 to 12"),
            ("sis_param_cap=-1", "sis_param_cap=-1: expected a number from 1 to 4096"),
        ] {
            let said = SisParam::parse(list).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
