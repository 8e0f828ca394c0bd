//! A Latin hypercube that grows.
//!
//! The first 8, 16, 32, ... points are each a Latin hypercube: if the range of every constant is cut into as many
//! strata, each stratum has one of them. From one of these sizes to the next, the strata of a constant are halved, and
//! the halves that are still empty are filled in random order (Sallaberry, Helton and Hora, "Extension of Latin
//! hypercube samples with correlated variables", Reliab. Eng. Syst. Saf. 93, 2008). A point therefore does not depend
//! on how many are asked for, and the runs of a small budget are part of a greater one. A new hypercube for each budget
//! would share no point with the last.

use crate::compare::run_seed;
use oorandom::Rand64;

/// The points of the first round.
const FIRST: u64 = 8;
/// Places in a range are counted in units of 2^-53 of it.
const BITS: u32 = 53;

/// Points by coordinate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hypercube {
    /// By coordinate, then by point: the place in its range, in units of 2^-53 of it.
    places: Vec<Vec<u64>>,
}

impl Hypercube {
    /// Returns the first `points` points. Each coordinate is drawn from the seed and its name, whatever others there
    /// are.
    pub(crate) fn new(seed: u64, names: &[String], points: usize) -> Self {
        Hypercube { places: names.iter().map(|name| coordinate(run_seed(seed, name, 0), points)).collect() }
    }

    /// Returns a coordinate of a point, 0 to 1.
    pub(crate) fn place(&self, coordinate: usize, point: usize) -> f64 {
        self.places[coordinate][point] as f64 / (1u64 << BITS) as f64
    }

    /// Returns a coordinate of a point as a number from `low` to `high`, all of which are equally likely.
    pub(super) fn value(&self, coordinate: usize, point: usize, [low, high]: [u64; 2]) -> u64 {
        low + scale(self.places[coordinate][point], high - low + 1)
    }
}

fn scale(place: u64, by: u64) -> u64 {
    ((u128::from(place) * u128::from(by)) >> BITS) as u64
}

/// Returns the places of one coordinate.
fn coordinate(seed: u64, points: usize) -> Vec<u64> {
    let mut random = Rand64::new(u128::from(seed));
    let (mut places, mut strata) = (Vec::new(), FIRST);
    // Draw whole rounds, then cut, so that the order within a round is the same for all lengths.
    while places.len() < points {
        let mut empty = vec![true; strata as usize];
        for &place in &places {
            empty[scale(place, strata) as usize] = false;
        }
        let mut order: Vec<u64> = (0..strata).filter(|&stratum| empty[stratum as usize]).collect();
        shuffle(&mut order, &mut random);
        let within = BITS - strata.trailing_zeros();
        // Whole numbers are used, because a fraction could be rounded up into the next stratum.
        places.extend(order.into_iter().map(|stratum| stratum << within | random.rand_u64() >> (64 - within)));
        strata *= 2;
    }
    places.truncate(points);
    places
}

/// Fisher and Yates's shuffle.
pub(super) fn shuffle<T>(items: &mut [T], random: &mut Rand64) {
    for at in (1..items.len()).rev() {
        items.swap(at, random.rand_range(0..at as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|n| format!("machine cost {n}")).collect()
    }

    #[test]
    fn every_round_has_one_point_in_each_stratum_of_each_coordinate() {
        let cube = Hypercube::new(1, &names(5), 128);
        for round in [8, 16, 32, 64, 128] {
            for coordinate in 0..5 {
                let mut strata: Vec<u64> =
                    (0..round).map(|point| scale(cube.places[coordinate][point], round as u64)).collect();
                strata.sort_unstable();
                assert_eq!(strata, (0..round as u64).collect::<Vec<_>>(), "{round}, {coordinate}");
            }
        }
    }

    #[test]
    fn a_point_does_not_depend_on_how_many_there_are_nor_on_other_coordinates() {
        let (few, many) = (Hypercube::new(1, &names(2), 11), Hypercube::new(1, &names(5), 100));
        for coordinate in 0..2 {
            assert_eq!(few.places[coordinate][..], many.places[coordinate][..11]);
        }
    }

    #[test]
    fn seeds_and_names_give_other_points() {
        let cube = Hypercube::new(1, &names(2), 8);
        assert_ne!(cube.places[0], cube.places[1]);
        assert_ne!(cube, Hypercube::new(2, &names(2), 8));
    }

    #[test]
    fn values_are_of_the_whole_range_and_not_outside() {
        let cube = Hypercube::new(3, &names(1), 256);
        let values: Vec<u64> = (0..256).map(|point| cube.value(0, point, [20, 27])).collect();
        assert!((20..=27).all(|value| values.iter().filter(|&&other| other == value).count() == 32), "{values:?}");
        assert_eq!(cube.value(0, 0, [5, 5]), 5);
    }
}
