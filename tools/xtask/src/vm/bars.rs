//! What must be reached where a guest is held against the model.
//!
//! Where CPUs take turns (`single`, `counted`): 97 % scored, or the share in WAKELAB_SCORED, and all of them equal.
//! Where they run at once (`multi`): 99.5 % of the scored equal; how many can be scored there depends on the kernel.

use std::fmt::Write;

use anyhow::{Result, bail};
use serde_json::Value;

use super::conform::{number, percent};
use crate::programs::{Bad, variable};

/// The least that is scored and, of those, equal, in percent.
#[derive(Clone, Copy)]
pub struct Bars {
    /// Of all wake-ups.
    pub scored: f64,
    /// Of those that are scored.
    pub equal: f64,
}

impl Bars {
    /// Those of a kind of `tools/vm/run --cpu-accel`.
    pub fn of(accel: &str) -> Result<Self> {
        match accel {
            "single" | "counted" => Ok(Self { scored: 97.0, equal: 100.0 }),
            "multi" => Ok(Self { scored: 0.0, equal: 99.5 }),
            _ => bail!(Bad(format!("expected single, counted or multi, found '{accel}'"))),
        }
    }

    /// The same with the share in WAKELAB_SCORED, if CPUs take turns.
    pub fn asked(accel: &str) -> Result<Self> {
        let mut bars = Self::of(accel)?;
        if let Some(scored) = variable("WAKELAB_SCORED").filter(|_| bars.scored > 0.0) {
            let expected = || Bad(format!("WAKELAB_SCORED: expected a share in percent, found '{scored}'"));
            bars.scored = scored.parse().map_err(|_| expected())?;
        }
        Ok(bars)
    }
}

/// How a comparison ended.
#[derive(Debug, PartialEq)]
pub struct Judged {
    /// Lines for people.
    pub text: String,
    /// 0, 1 if rows differ or a recording is broken, 3 if only too little is scored.
    pub code: u8,
}

/// Judges the JSON of `wakelab conform`.
pub fn judge(conform: &Value, bars: Bars) -> Result<Judged> {
    if ["wakeups", "scored", "equal"].iter().any(|name| !conform[name].is_u64()) {
        bail!(Bad("expected the JSON of wakelab conform".to_owned()));
    }
    let (all, rows, equal) = (number(conform, "wakeups"), number(conform, "scored"), number(conform, "equal"));
    let (share, same) = (percent(rows, all), percent(equal, rows));
    let mut text = format!("{all} wake-ups, {rows} scored ({share:.2} %), {equal} equal ({same:.4} %)\n");
    let mut broken = false;
    for error in conform["errors"].as_array().into_iter().flatten() {
        writeln!(text, "cargo xtask vm check: {}", error["what"].as_str().unwrap_or_default())?;
        broken = true;
    }
    let why: Vec<String> = match conform["not_scored"].as_object() {
        Some(reasons) => reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect(),
        None => Vec::new(),
    };
    if !why.is_empty() {
        writeln!(text, "not scored: {}", why.join(", "))?;
    }
    let little = rows == 0 || share < bars.scored;
    if little {
        writeln!(text, "missed: {} % scored", bars.scored)?;
    }
    if rows > 0 && same < bars.equal {
        writeln!(text, "missed: {} % of the scored equal", bars.equal)?;
        broken = true;
    }
    let code = match (broken, little) {
        (true, _) => 1,
        (false, true) => 3,
        (false, false) => 0,
    };
    Ok(Judged { text, code })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(all: u64, scored: u64, equal: u64) -> Value {
        json!({"wakeups": all, "scored": scored, "equal": equal, "not_scored": {"long": all - scored, "unknown": 0}})
    }

    #[test]
    fn with_cpus_in_turns_all_must_be_equal() {
        let single = Bars::of("single").expect("single");
        let judged = judge(&said(1000, 980, 980), single).expect("json");
        let text = "1000 wake-ups, 980 scored (98.00 %), 980 equal (100.0000 %)\nnot scored: long 20, unknown 0\n";
        assert_eq!(judged, Judged { text: text.to_owned(), code: 0 });
        let judged = judge(&said(1000, 980, 979), single).expect("json");
        assert!(judged.code == 1 && judged.text.ends_with("missed: 100 % of the scored equal\n"));
        let judged = judge(&said(1000, 900, 900), single).expect("json");
        assert!(judged.code == 3 && judged.text.ends_with("missed: 97 % scored\n"));
        assert_eq!(judge(&said(0, 0, 0), single).expect("json").code, 3);
    }

    #[test]
    fn with_cpus_at_once_some_may_differ() {
        let multi = Bars::of("multi").expect("multi");
        assert_eq!(judge(&said(1000, 500, 498), multi).expect("json").code, 0);
        let judged = judge(&said(1000, 500, 497), multi).expect("json");
        assert!(judged.code == 1 && judged.text.ends_with("missed: 99.5 % of the scored equal\n"));
    }

    #[test]
    fn what_is_not_that_json_is_refused() {
        let single = Bars::of("single").expect("single");
        assert!(judge(&json!({"wakeups": 1}), single).expect_err("a part").is::<Bad>());
        assert!(Bars::of("double").is_err());
        let mut broken = said(100, 100, 100);
        broken["errors"] = json!([{"what": "no rows"}]);
        assert_eq!(judge(&broken, single).expect("json").code, 1);
    }
}
