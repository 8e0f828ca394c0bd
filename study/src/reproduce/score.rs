//! How close the simulation of a table comes.

use super::{Scored, ScoredTable, SearchRates};
use serde::Serialize;

/// The class of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Positive and above the noise.
    Better,
    /// Within the noise.
    Same,
    /// Negative and above the noise.
    Worse,
}

impl Class {
    /// Returns the class of a difference in %, which has to exceed `noise_pct` to be an effect.
    pub fn of(compare_pct: f64, noise_pct: f64) -> Self {
        match compare_pct {
            pct if pct > noise_pct => Class::Better,
            pct if pct < -noise_pct => Class::Worse,
            _ => Class::Same,
        }
    }

    /// The name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Class::Better => "better",
            Class::Same => "same",
            Class::Worse => "worse",
        }
    }
}

/// Returns what a difference has to exceed to be an effect, %: `max(5, 2 √(σ_base² + σ_with²))` of the posting's
/// spreads, or 10 if it gives none.
pub fn noise_pct(spreads: Option<(f64, f64)>) -> f64 {
    match spreads {
        Some((base, with)) => (2.0 * base.hypot(with)).max(5.0),
        None => 10.0,
    }
}

/// The score of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The number of rows that are simulated.
    pub rows: usize,
    /// The number of rows that are not simulated.
    pub excluded: usize,
    /// The published effects among the simulated rows.
    pub effects: usize,
    /// The effects that the simulation has, too, with the same sign.
    pub effects_class_right: usize,
    /// The effects that the simulation has, too, with the same sign and within a factor of 1.5.
    pub effects_right: usize,
    /// The published effects above 30%.
    pub large_effects: usize,
    /// Those that the simulation has, too, with the same sign and within a factor of 1.5.
    pub large_effects_right: usize,
    /// The rows with a published difference that is no effect.
    pub null_rows: usize,
    /// The effects of the simulation where none was published.
    pub false_effects: usize,
    /// The effects above 30% with the wrong sign.
    pub wrong_sign: usize,
    /// The share of rows with the published class, %.
    pub class_agreement_pct: Option<f64>,
    /// The median of the distance between the two differences, percentage points.
    pub median_abs_diff: Option<f64>,
    /// 1 minus the ratio of that median to the one of a model that predicts 0 everywhere.
    pub skill: Option<f64>,
    /// The root mean square of the logarithm of simulated over published baselines, with each curve normalised to its
    /// first point.
    pub curve_rms_log_error: Option<f64>,
    /// The correlation (Pearson) of the published and the simulated share of time in run-queue locks: how similar the
    /// shapes of the two curves are.
    pub rq_lock_correlation: Option<f64>,
    /// The mean absolute error of each search statistic, percentage points.
    pub search_mae: Option<SearchRates>,
}

/// An effect above this is large, %.
const LARGE_PCT: f64 = 30.0;

/// Returns the score of the rows of all tables. A curve is one of a table, so that there is no error of all of them but
/// for that of all their points.
pub(super) fn summary_of_all(tables: &[ScoredTable]) -> Summary {
    let rows: Vec<Scored> =
        tables.iter().flat_map(|table| table.rows.iter().map(|row| named(row, &table.name))).collect();
    Summary { rq_lock_correlation: None, search_mae: None, ..summary(&rows) }
}

/// A row whose curve has the name of its table, too.
fn named(row: &Scored, table: &str) -> Scored {
    let baseline = row.published_baseline.clone().map(|(curve, base)| (format!("{table} {curve}"), base));
    Scored { published_baseline: baseline, ..row.clone() }
}

/// Returns the score of rows.
pub(super) fn summary(rows: &[Scored]) -> Summary {
    let simulated: Vec<&Scored> = rows.iter().filter(|row| row.excluded.is_none()).collect();
    let pairs: Vec<(f64, f64, f64)> = simulated
        .iter()
        .filter_map(|row| Some((row.published_compare_pct?, row.simulated_compare_pct?, row.noise_pct)))
        .collect();
    let is_effect = |pct: f64, noise: f64| Class::of(pct, noise) != Class::Same;
    let same_class =
        |&&(published, simulated, noise): &&(f64, f64, f64)| Class::of(published, noise) == Class::of(simulated, noise);
    let right = |&&(published, simulated, noise): &&(f64, f64, f64)| {
        is_effect(simulated, noise)
            && (published > 0.0) == (simulated > 0.0)
            && (1.0 / 1.5..=1.5).contains(&(simulated / published))
    };
    let effects: Vec<&(f64, f64, f64)> =
        pairs.iter().filter(|(published, _, noise)| is_effect(*published, *noise)).collect();
    let agree = pairs.iter().filter(|(p, s, noise)| Class::of(*p, *noise) == Class::of(*s, *noise)).count();
    let distance = median(pairs.iter().map(|(p, s, _)| (p - s).abs()));
    let distance_of_none = median(pairs.iter().map(|(p, ..)| p.abs()));
    Summary {
        rows: simulated.len(),
        excluded: rows.len() - simulated.len(),
        effects: effects.len(),
        effects_class_right: effects.iter().filter(|&pair| same_class(pair)).count(),
        effects_right: effects.iter().filter(|&pair| right(pair)).count(),
        large_effects: effects.iter().filter(|pair| pair.0.abs() > LARGE_PCT).count(),
        large_effects_right: effects.iter().filter(|pair| pair.0.abs() > LARGE_PCT && right(pair)).count(),
        null_rows: pairs.len() - effects.len(),
        false_effects: pairs.iter().filter(|(p, s, noise)| !is_effect(*p, *noise) && is_effect(*s, *noise)).count(),
        wrong_sign: pairs
            .iter()
            .filter(|(p, s, noise)| p.abs() > LARGE_PCT && is_effect(*s, *noise) && p * s < 0.0)
            .count(),
        class_agreement_pct: (!pairs.is_empty()).then(|| 100.0 * agree as f64 / pairs.len() as f64),
        median_abs_diff: distance,
        skill: distance.zip(distance_of_none).filter(|(_, none)| *none > 0.0).map(|(ours, none)| 1.0 - ours / none),
        curve_rms_log_error: curve_error(&simulated),
        rq_lock_correlation: rq_lock_correlation(&simulated),
        search_mae: search_mae(&simulated),
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

fn curve_error(rows: &[&Scored]) -> Option<f64> {
    let mut squares = Vec::new();
    let mut first: Vec<(&str, f64, f64)> = Vec::new();
    for row in rows {
        let (Some((curve, published)), Some(simulated)) = (&row.published_baseline, row.simulated_baseline) else {
            continue;
        };
        match first.iter().find(|(name, ..)| name == curve) {
            None => first.push((curve, *published, simulated)),
            Some((_, published_first, simulated_first)) => {
                squares.push(((simulated / simulated_first) / (published / published_first)).ln().powi(2));
            }
        }
    }
    (!squares.is_empty()).then(|| (squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
}

/// Returns the correlation of the locks; `None` for fewer than three rows, or if one of the curves is flat.
fn rq_lock_correlation(rows: &[&Scored]) -> Option<f64> {
    let pairs: Vec<(f64, f64)> =
        rows.iter().filter_map(|row| row.published_rq_lock_pct.zip(row.simulated_rq_lock_pct)).collect();
    let n = pairs.len() as f64;
    let means = pairs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs.iter().map(|(x, y)| (x - means.0, y - means.1)) {
        (xy, xx, yy) = (xy + x * y, xx + x * x, yy + y * y);
    }
    (pairs.len() > 2 && xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

fn search_mae(rows: &[&Scored]) -> Option<SearchRates> {
    let pairs: Vec<(SearchRates, SearchRates)> =
        rows.iter().filter_map(|row| row.published_search.zip(row.simulated_search)).collect();
    let mean = |get: fn(&SearchRates) -> f64| {
        pairs.iter().map(|(a, b)| (get(a) - get(b)).abs()).sum::<f64>() / pairs.len() as f64
    };
    (!pairs.is_empty()).then(|| SearchRates {
        se_eff_pct: mean(|rates| rates.se_eff_pct),
        dom_eff_pct: mean(|rates| rates.dom_eff_pct),
        fast_rate_pct: mean(|rates| rates.fast_rate_pct),
        success_rate_pct: mean(|rates| rates.success_rate_pct),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(published: f64, simulated: f64) -> Scored {
        Scored {
            published_compare_pct: Some(published),
            simulated_compare_pct: Some(simulated),
            noise_pct: 5.0,
            ..Scored::default()
        }
    }

    #[test]
    fn curves_of_one_shape_correlate_and_flat_ones_say_nothing() {
        let at = |published: f64, simulated: f64| Scored {
            published_compare_pct: None,
            simulated_compare_pct: None,
            published_rq_lock_pct: Some(published),
            simulated_rq_lock_pct: Some(simulated),
            ..row(0.0, 0.0)
        };
        let of = |rows: &[Scored]| summary(rows).rq_lock_correlation;
        assert!((of(&[at(1.2, 0.0), at(1.6, 0.8), at(15.2, 28.0)]).unwrap() - 1.0).abs() < 1e-9);
        assert!(of(&[at(1.0, 3.0), at(2.0, 2.0), at(3.0, 1.0)]).unwrap() < -0.999);
        assert_eq!((of(&[at(1.0, 3.0), at(2.0, 3.0), at(3.0, 3.0)]), of(&[at(1.0, 3.0), at(2.0, 4.0)])), (None, None));
    }

    #[test]
    fn noise_is_twice_the_spread_and_at_least_five() {
        assert_eq!(noise_pct(Some((3.0, 4.0))), 10.0);
        assert_eq!(noise_pct(Some((0.1, 0.1))), 5.0);
        assert_eq!(noise_pct(None), 10.0);
    }

    #[test]
    fn an_effect_is_right_within_a_factor_of_one_and_a_half() {
        let rows =
            [row(60.0, 41.0), row(60.0, 39.0), row(60.0, -60.0), row(-20.0, -25.0), row(0.5, 7.0), row(1.0, -1.0)];
        let score = summary(&rows);
        assert_eq!((score.rows, score.effects, score.effects_right), (6, 4, 2));
        assert_eq!((score.effects_class_right, score.null_rows), (3, 2));
        assert_eq!((score.large_effects, score.large_effects_right), (3, 1));
        assert_eq!((score.false_effects, score.wrong_sign), (1, 1));
        assert_eq!(score.class_agreement_pct, Some(100.0 * 4.0 / 6.0));
    }

    #[test]
    fn a_model_that_predicts_nothing_has_no_skill() {
        let none = summary(&[row(60.0, 0.0), row(-20.0, 0.0), row(10.0, 0.0)]);
        assert_eq!(none.skill, Some(0.0));
        let good = summary(&[row(60.0, 55.0), row(-20.0, -20.0), row(10.0, 12.0)]);
        assert_eq!((good.median_abs_diff, good.skill), (Some(2.0), Some(0.9)));
    }

    #[test]
    fn a_curve_is_measured_from_its_first_point() {
        let at = |published: f64, simulated: f64| Scored {
            published_baseline: Some(("a".to_owned(), published)),
            simulated_baseline: Some(simulated),
            ..row(0.0, 0.0)
        };
        let exact = summary(&[at(1.0, 30.0), at(2.0, 60.0), at(4.0, 120.0)]);
        assert_eq!(exact.curve_rms_log_error, Some(0.0));
        let twice = summary(&[at(1.0, 30.0), at(2.0, 120.0)]).curve_rms_log_error.unwrap();
        assert!((twice - 2f64.ln()).abs() < 1e-12);
    }
}
