//! Repeating until the intervals are narrow enough.
//!
//! A case is run on all sides as often as the experiment asks for, then half as often again, and so on, until the 95%
//! interval of each of its rows reaches no further than a limit to either side, or the most repeats are made. Each look
//! at the interval is a chance to stop while it happens to be narrow, so that intervals and p of such a comparison say
//! somewhat too much; docs/trust.md has how much, and `crates/study/tests/it/until.rs` computes it.

use super::CompareRow;
use serde::Serialize;

/// How exact the intervals of a comparison are to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Until {
    /// How far the 95% interval of compare% may reach to either side, as half of its width, %.
    pub half_width_pct: f64,
    /// The most repeats of a case on each side.
    #[serde(rename = "max_repeats")]
    pub most: u32,
}

impl Until {
    /// The most repeats if no number is given.
    pub const MOST: u32 = 30;

    /// Reads a half width: `2%`.
    ///
    /// # Errors
    /// Fails with what was expected.
    pub fn parse_half_width(text: &str) -> Result<f64, String> {
        let pct = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        pct.filter(|pct| (0.01..=100.0).contains(pct))
            .ok_or_else(|| format!("expected 0.01% to 100% such as 2%, found {text:?}"))
    }

    /// The number of repeats after `repeats`: half as many more.
    pub fn next(&self, repeats: u32) -> u32 {
        repeats.saturating_add(repeats.div_ceil(2)).min(self.most)
    }

    /// Whether the interval of a row is narrow enough, or both sides have the same value with every seed. Without an
    /// interval it is not.
    pub fn is_reached(&self, row: &CompareRow) -> bool {
        row.is_identical() || half_width_pct(row.ci95).is_some_and(|half| half <= self.half_width_pct)
    }
}

/// Half the width of an interval; `None` for none.
pub fn half_width_pct(ci95: Option<[f64; 2]>) -> Option<f64> {
    ci95.map(|[low, high]| (high - low) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_grow_by_half_up_to_the_most() {
        let until = Until { half_width_pct: 2.0, most: Until::MOST };
        let next = |n: &u32| (*n < until.most).then(|| until.next(*n));
        assert_eq!(std::iter::successors(Some(3), next).collect::<Vec<_>>(), [3, 5, 8, 12, 18, 27, 30]);
        assert_eq!(std::iter::successors(Some(1), next).take(3).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_half_width_is_a_percentage() {
        assert_eq!(Until::parse_half_width("2%"), Ok(2.0));
        assert_eq!(Until::parse_half_width(" 0.5 % "), Ok(0.5));
        for text in ["2", "0%", "-1%", "101%", "NaN%", "", "%"] {
            assert!(Until::parse_half_width(text).unwrap_err().contains("such as 2%"), "{text}");
        }
    }
}
