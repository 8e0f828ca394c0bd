//! A decision stump: the constant that decides whether a conclusion holds.
//!
//! Of all constants and all places between two of their sampled values, this is the split that best separates the
//! samples in which the conclusion holds from the others. Its score is the mean of the share of holding samples inside
//! and the share of other samples outside, so that the rarer kind counts as much. A split must be meaningful on both
//! sides: inside, the conclusion holds in at least [`INSIDE_PCT`] % of the samples, as it does if it holds without a
//! condition; outside, in less than half. With many constants and few samples some split always looks good. It
//! therefore counts only if its score is at least [`SCORE`], and if less than a share of [`CHANCE`] of [`SHUFFLES`]
//! random orders of the same outcomes are separated as well by any constant (a permutation test).

use super::hypercube::shuffle;
use super::{Share, Side};
use oorandom::Rand64;

/// The lowest share of holding samples inside, %.
const INSIDE_PCT: usize = 95;
/// The lowest score.
const SCORE: f64 = 0.8;
/// The highest share of random orders that may score as well.
const CHANCE: f64 = 0.05;
/// The number of random orders.
const SHUFFLES: usize = 399;

/// A split that separates.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stump {
    /// The index of the constant.
    pub constant: usize,
    /// The side on which the conclusion holds.
    pub side: Side,
    /// The sampled values on both sides of the split.
    pub between: [u64; 2],
    /// The samples on that side in which the conclusion holds.
    pub inside: Share,
    /// The samples on the other side in which the conclusion holds.
    pub outside: Share,
    /// The mean of the share of holding samples inside and of others outside, 0 to 1.
    pub score: f64,
}

/// Returns the split of `values` (by sample, by constant) that separates `holds`, if there is one.
pub(super) fn decision_stump(values: &[Vec<u64>], holds: &[bool]) -> Option<Stump> {
    if !(holds.contains(&true) && holds.contains(&false)) {
        return None;
    }
    let constants = values.first().map_or(0, Vec::len);
    // Sorted once for all random orders.
    let orders: Vec<Vec<usize>> = (0..constants)
        .map(|constant| {
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by_key(|&sample| values[sample][constant]);
            order
        })
        .collect();
    let best = best(values, &orders, holds).filter(|best| best.score >= SCORE)?;
    let mut random = Rand64::new(1);
    let mut shuffled = holds.to_vec();
    let as_good = (0..SHUFFLES).filter(|_| {
        shuffle(&mut shuffled, &mut random);
        self::best(values, &orders, &shuffled).is_some_and(|other| other.score >= best.score)
    });
    // The original order is one of them.
    let chance = (as_good.count() + 1) as f64 / (SHUFFLES + 1) as f64;
    (chance < CHANCE).then_some(best)
}

/// Returns the best split of all constants, the first of equal ones.
fn best(values: &[Vec<u64>], orders: &[Vec<usize>], holds: &[bool]) -> Option<Stump> {
    let of = holds.iter().filter(|&&hold| hold).count();
    let others = holds.len() - of;
    let mut best: Option<Stump> = None;
    for (constant, order) in orders.iter().enumerate() {
        let mut below = Share { n: 0, of: 0 };
        for pair in order.windows(2) {
            below.n += usize::from(holds[pair[0]]);
            below.of += 1;
            let between = [pair[0], pair[1]].map(|sample| values[sample][constant]);
            if between[0] == between[1] {
                continue;
            }
            let above = Share { n: of - below.n, of: holds.len() - below.of };
            for (side, inside, outside) in [(Side::Above, above, below), (Side::Below, below, above)] {
                if 100 * inside.n < INSIDE_PCT * inside.of || 2 * outside.n >= outside.of {
                    continue;
                }
                let kept = inside.n as f64 / of as f64;
                let left_out = (outside.of - outside.n) as f64 / others as f64;
                let score = (kept + left_out) / 2.0;
                if best.as_ref().is_none_or(|best| score > best.score) {
                    best = Some(Stump { constant, side, between, inside, outside, score });
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples with this number of constants of 0 to 999, drawn at random.
    fn samples(n: usize, constants: usize) -> Vec<Vec<u64>> {
        let mut random = Rand64::new(7);
        (0..n).map(|_| (0..constants).map(|_| random.rand_range(0..1000)).collect()).collect()
    }

    #[test]
    fn a_planted_threshold_is_found() {
        let values = samples(32, 25);
        let holds: Vec<bool> = values.iter().map(|values| values[17] > 300).collect();
        let found = decision_stump(&values, &holds).unwrap();
        assert_eq!((found.constant, found.side, found.score), (17, Side::Above, 1.0));
        assert!(found.between[0] <= 300 && 300 < found.between[1], "{:?}", found.between);
        assert_eq!((found.inside.n, found.outside.n), (found.inside.of, 0));
        assert_eq!(found.inside.of + found.outside.of, 32);
    }

    #[test]
    fn a_threshold_is_found_through_some_noise_and_from_below() {
        let values = samples(64, 10);
        let holds: Vec<bool> = values.iter().enumerate().map(|(n, v)| (v[3] < 600) && n % 16 != 0).collect();
        let found = decision_stump(&values, &holds).unwrap();
        assert_eq!((found.constant, found.side), (3, Side::Below));
        assert!(found.inside.n == found.inside.of || 100 * found.inside.n >= 95 * found.inside.of, "{found:?}");
        assert!(found.score < 1.0 && found.between[0].abs_diff(600) < 120, "{found:?}");
    }

    /// Both sides must be as the verdict says: the class kept inside, mostly lost outside.
    #[test]
    fn a_side_that_is_neither_is_not_a_condition() {
        let values = samples(64, 1);
        let rank = |v: &[u64]| values.iter().filter(|other| other[0] < v[0]).count();
        // Above the middle 7 of 8, below it 1 of 8: well separated, and 12% of the conclusions fail inside.
        let leaky: Vec<bool> =
            values.iter().map(|v| if rank(v) >= 32 { rank(v) % 8 != 0 } else { rank(v) % 8 == 0 }).collect();
        let found = decision_stump(&values, &leaky);
        assert!(found.as_ref().is_none_or(|found| 100 * found.inside.n >= 95 * found.inside.of), "{found:?}");
        // Above the middle all, below it 5 of 8: the class is not lost there.
        let mild: Vec<bool> = values.iter().map(|v| rank(v) >= 32 || rank(v) % 8 < 5).collect();
        let found = decision_stump(&values, &mild);
        assert!(found.as_ref().is_none_or(|found| 2 * found.outside.n < found.outside.of), "{found:?}");
    }

    #[test]
    fn what_no_constant_decides_is_not_split() {
        let values = samples(32, 25);
        // Decided by an exclusive or of two constants, and by nothing at all.
        let both: Vec<bool> = values.iter().map(|values| (values[0] > 500) != (values[1] > 500)).collect();
        assert_eq!(decision_stump(&values, &both), None);
        let mut random = Rand64::new(3);
        let chance: Vec<bool> = values.iter().map(|_| random.rand_range(0..4) > 0).collect();
        assert_eq!(decision_stump(&values, &chance), None);
    }

    #[test]
    fn two_of_many_samples_are_too_few_to_tell() {
        let values = samples(32, 25);
        let holds: Vec<bool> = (0..32).map(|n| n > 1).collect();
        // By chance, one of 25 constants has both at an end.
        assert_eq!(decision_stump(&values, &holds), None);
        assert_eq!(decision_stump(&values, &[true; 32]), None);
    }
}
