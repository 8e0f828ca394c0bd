//! How far simulated rows are from what was measured, in units of its noise.

use crate::reproduce::{Scored, SearchRates};
use serde::Serialize;
use std::collections::BTreeMap;

/// One measured number with its simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Residual {
    /// The row: benchmark, case and load.
    pub row: String,
    /// The number: `level`, `fast_rate %`, `idle %`.
    pub what: String,
    /// As it was measured. A level is relative to the mean of its curve.
    pub measured: f64,
    /// As it is simulated, in the same unit; not a number if the runs have none.
    pub simulated: f64,
    /// The distance in units of the noise of the measurement.
    pub z: f64,
}

/// The misfit of a set of constants.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Misfit {
    /// The numbers, in the order of the rows.
    pub residuals: Vec<Residual>,
    /// The rows that could not be simulated.
    pub failed: usize,
}

/// The noise of a level in a posting that gives none, as a share: `data/published/README.md` has spreads of 1 to 7%.
const LEVEL_NOISE: f64 = 0.05;
/// The noise of a rate, percentage points: 1 near 0 and 100, where it cannot vary much, and 6 in the middle. Search
/// rates of two runs on one machine differ by that much between kernels of one series.
const RATE_NOISE: [f64; 2] = [1.0, 0.1];
/// The distance of the numbers of a row that cannot be simulated, in units of noise.
const FAILED_Z: f64 = 20.0;
/// The distance of a rate that a run does not have, because there was no search: no set of constants may gain by not
/// searching.
const MISSING_Z: f64 = 3.0;

impl Misfit {
    /// Compares rows.
    pub(super) fn of(rows: &[Scored]) -> Self {
        let (mut residuals, mut failed) = (Vec::new(), 0);
        let centres = centres(rows);
        for row in rows {
            if row.excluded.is_some() {
                failed += 1;
                continue;
            }
            let name = name(row);
            let mut add = |what: &str, measured: f64, simulated: f64, noise: f64, distance: f64| {
                let z = (distance / noise).clamp(-FAILED_Z, FAILED_Z);
                residuals.push(Residual { row: name.clone(), what: what.to_owned(), measured, simulated, z });
            };
            let mut rate = |what: &str, measured: f64, simulated: Option<f64>| {
                let noise = rate_noise(measured);
                let distance = simulated.map_or(MISSING_Z * noise, |simulated| simulated - measured);
                add(what, measured, simulated.unwrap_or(f64::NAN), noise, distance);
            };
            if let Some(measured) = row.published_search {
                for (what, get) in RATES {
                    rate(what, get(&measured), row.simulated_search.as_ref().map(get));
                }
            }
            for (what, pair) in [
                ("rq lock %", row.published_rq_lock_pct.zip(Some(row.simulated_rq_lock_pct))),
                ("idle %", row.published_idle_pct.zip(Some(row.simulated_idle_pct))),
            ] {
                if let Some((measured, simulated)) = pair {
                    rate(what, measured, simulated);
                }
            }
            // A level is compared as that of its curve: a model's transaction is not the benchmark's to the cycle.
            if let Some((curve, level)) = &row.published_baseline {
                if let (Some(centre), Some(simulated)) = (centres.get(curve), row.simulated_baseline) {
                    let [measured, simulated] = [level.ln() - centre[0], simulated.ln() - centre[1]];
                    let noise = row.published_base_std_pct.map_or(LEVEL_NOISE, |pct| LEVEL_NOISE.max(pct / 100.0));
                    add("level", measured.exp(), simulated.exp(), noise, simulated - measured);
                }
            } else if let Some(side) = &row.side_by_side
                && let ([Some(measured), _], [Some(simulated), _]) = (side.published, side.simulated)
            {
                if side.what.contains('%') {
                    add(side.what, measured, simulated, rate_noise(measured), simulated - measured);
                } else if measured > 0.0 && simulated > 0.0 {
                    add(side.what, measured, simulated, 2.0 * LEVEL_NOISE, (simulated / measured).ln());
                }
            }
        }
        Misfit { residuals, failed }
    }

    /// The sum over all numbers of 2(√(1 + z²) - 1), which is z² for a number within its noise and grows with |z|
    /// beyond: one row that the model cannot have does not decide all constants.
    pub(super) fn sum(&self) -> f64 {
        let failed = self.failed as f64 * loss(FAILED_Z);
        self.residuals.iter().map(|residual| loss(residual.z)).sum::<f64>() + failed
    }

    /// The number of numbers.
    pub fn count(&self) -> usize {
        self.residuals.len() + self.failed
    }

    /// The misfit of a number in the mean: 1 is the noise.
    pub fn mean(&self) -> f64 {
        (self.sum() / self.count().max(1) as f64).sqrt()
    }

    /// The root mean square of the logarithm of the levels, measured over simulated; `None` without levels.
    pub fn levels_rms_log(&self) -> Option<f64> {
        let levels = self.residuals.iter().filter(|residual| residual.what == "level");
        let errors: Vec<f64> = levels.map(|level| (level.simulated / level.measured).ln()).collect();
        let mean = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
        (!errors.is_empty()).then(|| mean.sqrt())
    }
}

fn loss(z: f64) -> f64 {
    2.0 * (1.0f64.hypot(z) - 1.0)
}

fn rate_noise(pct: f64) -> f64 {
    let [least, share] = RATE_NOISE;
    least + share * pct.min(100.0 - pct).max(0.0)
}

type Rate = (&'static str, fn(&SearchRates) -> f64);

const RATES: [Rate; 4] = [
    ("se_eff %", |rates| rates.se_eff_pct),
    ("dom_eff %", |rates| rates.dom_eff_pct),
    ("fast_rate %", |rates| rates.fast_rate_pct),
    ("success_rate %", |rates| rates.success_rate_pct),
];

/// By curve: the means of the logarithms of its levels, measured and simulated, over the points that have both. A curve
/// of one point says nothing.
fn centres(rows: &[Scored]) -> BTreeMap<String, [f64; 2]> {
    let mut points: BTreeMap<String, Vec<[f64; 2]>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.excluded.is_none()) {
        if let (Some((curve, level)), Some(simulated)) = (&row.published_baseline, row.simulated_baseline) {
            points.entry(curve.clone()).or_default().push([level.ln(), simulated.ln()]);
        }
    }
    points.retain(|_, points| points.len() > 1);
    let mean =
        |points: &[[f64; 2]], side: usize| points.iter().map(|point| point[side]).sum::<f64>() / points.len() as f64;
    points.into_iter().map(|(curve, points)| (curve, [0, 1].map(|side| mean(&points, side)))).collect()
}

/// The first three cells of a row, which say what was measured.
fn name(row: &Scored) -> String {
    row.cells.iter().take(3).map(|(_, cell)| cell.as_str()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(curve: &str, measured: f64, simulated: f64) -> Scored {
        Scored {
            published_baseline: Some((curve.to_owned(), measured)),
            simulated_baseline: Some(simulated),
            ..Scored::default()
        }
    }

    #[test]
    fn levels_are_compared_by_the_shape_of_their_curve() {
        let exact = Misfit::of(&[level("a", 1.0, 30.0), level("a", 2.0, 60.0), level("a", 4.0, 120.0)]);
        assert!(exact.mean() < 1e-9 && exact.levels_rms_log().unwrap() < 1e-12, "{exact:?}");
        // 10% above the one and 10% below the other, at a noise of 5%.
        let bent = Misfit::of(&[level("a", 1.0, 1.1), level("a", 1.0, 1.0 / 1.1)]);
        assert!((bent.levels_rms_log().unwrap() - 1.1f64.ln()).abs() < 1e-12);
        assert!((bent.residuals[0].z - 1.1f64.ln() / 0.05).abs() < 1e-9, "{bent:?}");
        // One point is no curve.
        assert_eq!(Misfit::of(&[level("a", 1.0, 5.0), level("b", 2.0, 1.0)]).count(), 0);
    }

    #[test]
    fn a_stated_spread_is_the_noise_of_its_level() {
        let noisy =
            |measured, simulated| Scored { published_base_std_pct: Some(20.0), ..level("a", measured, simulated) };
        let misfit = Misfit::of(&[noisy(1.0, 1.1), noisy(1.0, 1.0 / 1.1)]);
        assert!((misfit.residuals[0].z - 1.1f64.ln() / 0.2).abs() < 1e-9, "{misfit:?}");
    }

    #[test]
    fn rates_vary_most_in_the_middle_and_far_numbers_count_by_their_distance() {
        assert_eq!([0.0, 10.0, 50.0, 100.0].map(rate_noise), [1.0, 2.0, 6.0, 1.0]);
        assert!((loss(0.1) - 0.01).abs() < 1e-4 && (loss(100.0) - 198.0).abs() < 0.1);
        let idle = Scored { published_idle_pct: Some(50.0), simulated_idle_pct: Some(44.0), ..Scored::default() };
        assert!((Misfit::of(&[idle]).residuals[0].z + 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_rate_that_a_run_does_not_have_is_counted_and_no_gain() {
        let rates = |pct| SearchRates { se_eff_pct: pct, dom_eff_pct: pct, fast_rate_pct: pct, success_rate_pct: pct };
        let searched = |simulated| Scored {
            published_search: Some(rates(50.0)),
            simulated_search: simulated,
            ..Scored::default()
        };
        let [near, missing] = [Some(rates(53.0)), None].map(|simulated| Misfit::of(&[searched(simulated)]));
        assert_eq!((near.count(), missing.count()), (4, 4));
        assert!(near.mean() < missing.mean(), "{near:?} {missing:?}");
    }

    #[test]
    fn a_row_that_fails_is_as_far_as_a_row_can_be() {
        let failed = Scored { excluded: Some("a run failed".to_owned()), ..level("a", 1.0, 1.0) };
        assert!(Misfit::of(std::slice::from_ref(&failed)).mean() > 6.0);
    }
}
