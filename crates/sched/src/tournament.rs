//! A tournament over keys, of which the smallest wins.
//!
//! ```text
//!                    1 ◀── the winner of all
//!          ┌───────┬─┴─────┬───────┐
//!          3       1       5       2
//!       ┌─┬┴┬─┐ ┌─┬┴┬─┐ ┌─┬┴┬─┐ ┌─┬┴┬─┐
//! keys  7 3 9 4 1 8 6 6 5 7 9 9 4 2 8 3     a new key plays one match on each level, as long as the winner changes
//! ```
//!
//! Four play in each match: of 112 keys a new one plays 4 matches, where it would play 7 of two.

/// The matches by level, the final first: the winner of match `m` plays in place `(m - 1) % 4` of match `(m - 1) / 4`.
#[derive(Clone, Debug)]
pub struct Tournament {
    matches: Vec<[u64; 4]>,
    /// The first match of the first round, in which the keys are.
    first_round: usize,
    winner: u64,
}

impl Tournament {
    /// The key of a place that does not take part: no key is larger.
    pub const NONE: u64 = u64::MAX;

    /// Creates a tournament with `len` places, in which nobody takes part.
    pub fn new(len: usize) -> Self {
        let (mut first_round, mut of_round) = (0, 1);
        while 4 * of_round < len {
            first_round += of_round;
            of_round *= 4;
        }
        Tournament { matches: vec![[Self::NONE; 4]; first_round + of_round], first_round, winner: Self::NONE }
    }

    /// Sets the key of a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn set(&mut self, place: usize, mut key: u64) {
        let mut m = self.first_round + place / 4;
        let mut keys = &mut self.matches[m];
        keys[place % 4] = key;
        loop {
            key = keys[0].min(keys[1]).min(keys[2].min(keys[3]));
            if m == 0 {
                self.winner = key;
                return;
            }
            let place = (m - 1) % 4;
            m = (m - 1) / 4;
            keys = &mut self.matches[m];
            if keys[place] == key {
                return;
            }
            keys[place] = key;
        }
    }

    /// Returns the key of a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn get(&self, place: usize) -> u64 {
        self.matches[self.first_round + place / 4][place % 4]
    }

    /// Returns the smallest key.
    #[inline]
    pub fn first(&self) -> u64 {
        self.winner
    }

    /// Returns the smallest key of the places `from..to`; [`NONE`](Self::NONE) if there is none.
    ///
    /// # Panics
    /// If there are no such places.
    #[inline]
    pub fn first_of(&self, mut from: usize, mut to: usize) -> u64 {
        let mut round = self.first_round;
        let mut first = Self::NONE;
        while from < to {
            // Whole matches are compared by their winners, in the next round.
            while from < to && (!from.is_multiple_of(4) || round == 0) {
                first = first.min(self.matches[round + from / 4][from % 4]);
                from += 1;
            }
            while from < to && !to.is_multiple_of(4) {
                to -= 1;
                first = first.min(self.matches[round + to / 4][to % 4]);
            }
            (from, to) = (from / 4, to / 4);
            round = round.saturating_sub(1) / 4;
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_smallest_wins(
            nr in 1usize..200,
            sets in prop::collection::vec((0usize..200, prop::option::of(0u64..100)), 1..200),
            ranges in prop::collection::vec((0usize..200, 0usize..200), 20),
        ) {
            let mut tournament = Tournament::new(nr);
            let mut plain = vec![Tournament::NONE; nr];
            for (place, key) in sets {
                let (place, key) = (place % nr, key.unwrap_or(Tournament::NONE));
                tournament.set(place, key);
                plain[place] = key;
                prop_assert_eq!(Some(tournament.first()), plain.iter().copied().min());
                prop_assert_eq!(tournament.get(place), key);
            }
            for (from, to) in ranges {
                let (from, to) = (from % (nr + 1), to % (nr + 1));
                let smallest = plain.get(from..to).and_then(|keys| keys.iter().copied().min());
                prop_assert_eq!(tournament.first_of(from, to), smallest.unwrap_or(Tournament::NONE));
            }
        }
    }
}
