//! [`FailIf`]: a condition on a comparison for scripts, as `--fail-if` takes it.

use crate::verdict::{JudgedRow, RowVerdict, SIGNIFICANT, Verdict};
use std::fmt;
use std::str::FromStr;

/// When a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FailIf {
    /// `worse`: if a row is worse by the verdict's rule. `worse > N%`: if a row is worse by more than that, and not by
    /// chance (p below 0.05 after Holm); N then stands in place of the noise.
    Worse {
        /// N; `None` for the rule of the verdict.
        above_pct: Option<f64>,
    },
    /// `not better`: if no row is better, or if one is worse.
    NotBetter,
}

/// A condition that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a condition; expected worse, \"worse > 2%\" (0 to 100%) or \"not better\"")]
pub struct FailIfError {
    /// The condition that was given.
    pub given: String,
}

impl FromStr for FailIf {
    type Err = FailIfError;

    fn from_str(text: &str) -> Result<Self, FailIfError> {
        let unknown = || FailIfError { given: text.to_owned() };
        match text.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["worse"] => Ok(FailIf::Worse { above_pct: None }),
            ["not", "better"] => Ok(FailIf::NotBetter),
            words => {
                let condition = words.concat();
                let number = condition.strip_prefix("worse>").and_then(|rest| rest.strip_suffix('%'));
                let pct = number.and_then(|number| number.parse().ok()).filter(|pct| (0.0..=100.0).contains(pct));
                let pct = pct.ok_or_else(unknown)?;
                Ok(FailIf::Worse { above_pct: Some(pct) })
            }
        }
    }
}

impl fmt::Display for FailIf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailIf::Worse { above_pct: None } => f.write_str("worse"),
            FailIf::Worse { above_pct: Some(pct) } => write!(f, "worse > {pct}%"),
            FailIf::NotBetter => f.write_str("not better"),
        }
    }
}

impl FailIf {
    /// Whether the comparison fails.
    pub fn holds(&self, verdict: &Verdict<'_>) -> bool {
        self.rows(verdict).next().is_some() || (*self == FailIf::NotBetter && verdict.count(RowVerdict::Better) == 0)
    }

    /// The rows that are worse as the condition means it.
    pub fn rows<'a>(&self, verdict: &'a Verdict<'_>) -> impl Iterator<Item = &'a JudgedRow> {
        let above_pct = match *self {
            FailIf::Worse { above_pct } => above_pct,
            FailIf::NotBetter => None,
        };
        verdict.rows.iter().filter(move |row| match above_pct {
            None => row.verdict == RowVerdict::Worse,
            Some(pct) => {
                let shown = row.verdict != RowVerdict::Undecided && row.p_holm.is_some_and(|p| p < SIGNIFICANT);
                shown && row.compare_pct < -pct
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Certainty;
    use wakelab_statistics::Better;

    fn row(verdict: RowVerdict, compare_pct: f64, p_holm: f64) -> JudgedRow {
        let name = String::new;
        let (machine, kernel, benchmark, case, load) = (name(), name(), name(), name(), name());
        let p_holm = Some(p_holm);
        JudgedRow {
            machine,
            kernel,
            benchmark,
            case,
            load,
            verdict,
            better: Better::Higher,
            compare_pct,
            ci95: None,
            p_holm,
            noise_pct: 5.0,
            decided_nothing: Vec::new(),
            compares_nothing: false,
            never_ran: Default::default(),
        }
    }

    fn of(rows: Vec<JudgedRow>) -> Verdict<'static> {
        Verdict {
            base: String::new(),
            with: String::new(),
            repeats: [3; 2],
            until: None,
            complete: true,
            rows,
            control_pct: None,
            constants: None,
            known: vec![],
            schedulers: vec![],
            certainty: Certainty::default(),
        }
    }

    #[test]
    fn a_limit_of_its_own_takes_what_the_noise_hides_but_not_what_chance_does() {
        let small = of(vec![row(RowVerdict::Same, -3.0, 0.001), row(RowVerdict::Better, 50.0, 0.001)]);
        let holds = |text: &str, verdict: &Verdict<'_>| text.parse::<FailIf>().unwrap().holds(verdict);
        assert!(holds("worse > 2%", &small) && holds("worse>2.5%", &small));
        assert!(!holds("worse", &small) && !holds("worse > 3%", &small) && !holds("not better", &small));
        assert!(!holds("worse > 2%", &of(vec![row(RowVerdict::Same, -30.0, 0.2)])));
        let undecided = of(vec![row(RowVerdict::Undecided, -30.0, 0.01)]);
        assert!(!holds("worse > 2%", &undecided) && holds("not better", &undecided));
        let worse = of(vec![row(RowVerdict::Worse, -30.0, 0.01), row(RowVerdict::Better, 50.0, 0.001)]);
        assert!(holds("worse", &worse) && holds("not better", &worse));
        assert!(holds("not better", &of(vec![row(RowVerdict::Same, 1.0, 0.01)])));
    }

    #[test]
    fn other_conditions_are_refused() {
        for text in ["", "better", "worse > 2", "worse > -1%", "worse > 101%", "worse > NaN%", "worse < 2%"] {
            let error = text.parse::<FailIf>().unwrap_err().to_string();
            assert!(error.contains("expected worse, \"worse > 2%\""), "{error}");
        }
        for text in ["worse", "worse > 2%", "not better"] {
            assert_eq!(text.parse::<FailIf>().unwrap().to_string(), text);
        }
    }
}
