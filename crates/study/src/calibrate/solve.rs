//! The value with which a simulation takes the measured time.

use std::ops::RangeInclusive;

/// The result of the search for a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "value")]
pub enum Found {
    /// The simulation takes the measured time with this value.
    Solved(u64),
    /// It takes longer even with the lowest value.
    Lowest(u64),
    /// It takes less even with the highest value.
    Highest(u64),
    /// The constant changes nothing.
    NoInfluence,
}

impl Found {
    /// The value. `None` if the constant changes nothing.
    pub fn value(self) -> Option<u64> {
        match self {
            Found::Solved(value) | Found::Lowest(value) | Found::Highest(value) => Some(value),
            Found::NoInfluence => None,
        }
    }
}

/// A constant changes nothing if a unit of it changes the time by less than this.
const INFLUENCE: f64 = 0.01;

/// The value in `range` with which `simulate`, which never falls with it, comes nearest to `measured`: the method of
/// false position (Illinois), which needs two or three steps where the time is linear in the constant, and whole
/// values. Times of runs have steps, so that it ends when the ends of the range have met.
///
/// # Errors
/// The first error of `simulate`.
pub fn solve<E>(
    range: RangeInclusive<u64>,
    measured: f64,
    mut simulate: impl FnMut(u64) -> Result<f64, E>,
) -> Result<Found, E> {
    let (mut low, mut high) = (*range.start(), *range.end());
    let (mut below, mut above) = (simulate(low)? - measured, simulate(high)? - measured);
    if above - below < INFLUENCE * (high - low) as f64 {
        return Ok(Found::NoInfluence);
    }
    if below >= 0.0 {
        return Ok(if below == 0.0 { Found::Solved(low) } else { Found::Lowest(low) });
    }
    if above <= 0.0 {
        return Ok(if above == 0.0 { Found::Solved(high) } else { Found::Highest(high) });
    }
    // The weights of the ends: an end that stays twice loses half of its own.
    let (mut weight_low, mut weight_high) = (below, above);
    let mut steps = 0;
    while high - low > 1 {
        let share = weight_low / (weight_low - weight_high);
        steps += 1;
        // Every fourth step is half of what is left, so that steps in the time cannot hold it up.
        let share = if steps % 4 == 0 { 0.5 } else { share };
        let middle = (low + ((high - low) as f64 * share).round() as u64).clamp(low + 1, high - 1);
        let off = simulate(middle)? - measured;
        if off == 0.0 {
            return Ok(Found::Solved(middle));
        }
        if off < 0.0 {
            (low, below, weight_low) = (middle, off, off);
            weight_high /= 2.0;
        } else {
            (high, above, weight_high) = (middle, off, off);
            weight_low /= 2.0;
        }
    }
    Ok(Found::Solved(if above < -below { high } else { low }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved(measured: f64, simulate: impl Fn(u64) -> f64) -> (Found, u32) {
        let mut calls = 0;
        let found = solve(0..=1_000_000, measured, |value| {
            calls += 1;
            Ok::<_, ()>(simulate(value))
        });
        (found.expect("no error"), calls)
    }

    #[test]
    fn a_linear_time_takes_a_few_steps() {
        let (found, calls) = solved(5_000.0, |value| 1_200.0 + 2.0 * value as f64);
        assert_eq!(found, Found::Solved(1_900));
        assert!(calls <= 5, "{calls}");
    }

    #[test]
    fn times_with_steps_and_bends_are_solved_to_the_nearest() {
        for target in [0, 1, 77, 4_321, 50_000, 999_999] {
            let bent = |value: u64| (value as f64).powf(1.7) + (value / 100) as f64;
            let (found, calls) = solved(bent(target), bent);
            assert_eq!(found, Found::Solved(target));
            assert!(calls < 100, "{target}: {calls}");
            let steps = |value: u64| (value / 500 * 500) as f64 + 10.0;
            let value = solved(steps(target), steps).0.value().expect("a value");
            assert_eq!(steps(value), steps(target), "{target}: {value}");
        }
    }

    #[test]
    fn what_no_value_explains_is_said() {
        assert_eq!(solved(100.0, |value| 200.0 + value as f64).0, Found::Lowest(0));
        assert_eq!(solved(1e9, |value| 200.0 + value as f64).0, Found::Highest(1_000_000));
        assert_eq!(solved(100.0, |_| 90.0).0, Found::NoInfluence);
        assert_eq!(solve(0..=9, 1.0, |_| Err("a reason")), Err("a reason"));
    }
}
