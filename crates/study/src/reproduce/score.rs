//! How close the simulation of a table comes.

use super::{Scored, ScoredTable, SearchRates};
use crate::compare::Class;
use serde::Serialize;
use wakelab_statistics::{Better, log_ratio};

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
    /// The effects that the simulation has, too, with the same sign and a size within a factor of 1.5. Sizes are
    /// logarithms of ratios ([`log_ratio`]).
    pub effects_right: usize,
    /// The published effects of a factor above 1.3.
    pub large_effects: usize,
    /// Those that the simulation has, too, with the same sign and a size within a factor of 1.5.
    pub large_effects_right: usize,
    /// The rows with a published difference that is no effect.
    pub null_rows: usize,
    /// The effects of the simulation where none was published.
    pub false_effects: usize,
    /// The large effects with the wrong sign.
    pub wrong_sign: usize,
    /// The share of rows with the published class, %.
    pub class_agreement_pct: Option<f64>,
    /// The median of the distance between the logarithms of the two ratios.
    pub median_log_distance: Option<f64>,
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

/// An effect of a larger factor is large: a gain of 30% or a loss of 23% of a throughput.
const LARGE: f64 = 1.3;
/// The sizes of two effects may differ by this factor to be the same: of 2 and 2.83 times as much, the logarithms do.
const SAME_SIZE: f64 = 1.5;

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
    let pairs: Vec<Pair> = simulated.iter().filter_map(|row| Pair::of(row)).collect();
    let count = |which: &dyn Fn(&Pair) -> bool| pairs.iter().filter(|pair| which(pair)).count();
    let distance = median(pairs.iter().map(Pair::distance));
    let distance_of_none = median(pairs.iter().map(|pair| pair.published.size()));
    let effects = count(&|pair| pair.published.is_effect());
    Summary {
        rows: simulated.len(),
        excluded: rows.len() - simulated.len(),
        effects,
        effects_class_right: count(&|pair| pair.published.is_effect() && pair.same_class()),
        effects_right: count(&Pair::is_right),
        large_effects: count(&|pair| pair.published.is_large()),
        large_effects_right: count(&|pair| pair.published.is_large() && pair.is_right()),
        null_rows: pairs.len() - effects,
        false_effects: count(&|pair| !pair.published.is_effect() && pair.simulated.is_effect()),
        wrong_sign: count(&|pair| pair.published.is_large() && pair.simulated.is_effect() && !pair.same_class()),
        class_agreement_pct: (!pairs.is_empty()).then(|| 100.0 * count(&Pair::same_class) as f64 / pairs.len() as f64),
        median_log_distance: distance,
        skill: distance.zip(distance_of_none).filter(|(_, none)| *none > 0.0).map(|(ours, none)| 1.0 - ours / none),
        curve_rms_log_error: curve_error(&simulated),
        rq_lock_correlation: rq_lock_correlation(&simulated),
        search_mae: search_mae(&simulated),
    }
}

/// A published difference and its simulation.
struct Pair {
    published: Effect,
    simulated: Effect,
}

/// A difference: its class, and the logarithm of its ratio.
struct Effect {
    class: Class,
    log_ratio: Option<f64>,
}

impl Pair {
    fn of(row: &Scored) -> Option<Self> {
        let effect =
            |pct: f64, better| Effect { class: Class::of(pct, row.noise_pct), log_ratio: log_ratio(pct, better) };
        let [published, simulated] = row.better.unwrap_or([Better::Higher; 2]);
        Some(Pair {
            published: effect(row.published_compare_pct?, published),
            simulated: effect(row.simulated_compare_pct?, simulated),
        })
    }

    fn same_class(&self) -> bool {
        self.published.class == self.simulated.class
    }

    /// Whether an effect was published, and the simulation has it with the same sign and size.
    fn is_right(&self) -> bool {
        let sizes = self.published.log_ratio.zip(self.simulated.log_ratio);
        let same_size = sizes.is_some_and(|(a, b)| (1.0 / SAME_SIZE..=SAME_SIZE).contains(&(b / a)));
        self.published.is_effect() && self.same_class() && same_size
    }

    /// How far the logarithms of the ratios are from each other; infinite without one.
    fn distance(&self) -> f64 {
        let both = self.published.log_ratio.zip(self.simulated.log_ratio);
        both.map_or(f64::INFINITY, |(a, b)| (a - b).abs())
    }
}

impl Effect {
    fn is_effect(&self) -> bool {
        self.class != Class::Same
    }

    fn is_large(&self) -> bool {
        self.is_effect() && self.size() > LARGE.ln()
    }

    fn size(&self) -> f64 {
        self.log_ratio.map_or(f64::INFINITY, f64::abs)
    }
}

/// How far a row is from what was published: the distance of the logarithms of both ratios, infinite if one has none;
/// `None` for a row without both differences.
pub fn distance(row: &Scored) -> Option<f64> {
    Pair::of(row).map(|pair| pair.distance())
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
    fn an_effect_is_right_within_a_factor_of_one_and_a_half() {
        let rows =
            [row(60.0, 37.0), row(60.0, 36.0), row(60.0, -60.0), row(-20.0, -25.0), row(0.5, 7.0), row(1.0, -1.0)];
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
        let distance = (1.6f64 / 1.55).ln();
        assert!((good.median_log_distance.unwrap() - distance.min((1.12f64 / 1.1).ln())).abs() < 1e-12);
        assert!(good.skill.unwrap() > 0.9);
    }

    /// What is left of a throughput after two large losses is a factor of 10 apart, though the per cents are close; of
    /// a time that is longer by the same per cents it is not.
    #[test]
    fn sizes_of_large_losses_are_those_of_what_is_left() {
        let loss = row(-98.2, -80.7);
        let longer = Scored { better: Some([Better::Lower; 2]), ..loss.clone() };
        let [higher, lower] = [&loss, &longer].map(|row| summary(std::slice::from_ref(row)));
        assert_eq!((higher.effects_class_right, higher.effects_right, higher.large_effects_right), (1, 0, 0));
        assert_eq!((lower.effects_class_right, lower.effects_right, lower.large_effects_right), (1, 1, 1));
        assert!((distance(&loss).unwrap() - (19.3f64 / 1.8).ln()).abs() < 1e-9);
        // A time that is shorter by 98% is a fiftieth, and by 81% a fifth.
        let shorter = Scored { better: Some([Better::Lower; 2]), ..row(98.2, 80.7) };
        // Twice the time is half of the throughput.
        let hackbench = Scored { better: Some([Better::Lower, Better::Higher]), ..row(-100.0, -50.0) };
        assert!(distance(&hackbench).unwrap() < 1e-12);
        assert_eq!(summary(&[shorter]).effects_right, 0);
        // 23% less is as large as 30% more; nothing is left of 100% less.
        assert_eq!(summary(&[row(-24.0, -24.0), row(-22.0, -22.0), row(29.0, 29.0)]).large_effects, 1);
        assert_eq!(
            (summary(&[row(-50.0, -100.0)]).effects_right, distance(&row(-50.0, -100.0))),
            (0, Some(f64::INFINITY))
        );
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
