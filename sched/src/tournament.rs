//! A tournament over keys, of which the smallest wins.
//!
//! ```text
//!                 1 ◀── the winner of all
//!          ┌──────┴──────┐
//!          3             1
//!       ┌──┴──┐       ┌──┴──┐
//! keys  7     3       1     4      a new key plays one match on each level, as long as the winner changes
//! ```

/// A binary tree in an array: node `i` has the smaller key of nodes `2i` and `2i + 1`; leaves begin at `leaves`.
#[derive(Clone, Debug)]
pub struct Tournament {
    keys: Vec<u64>,
    leaves: usize,
}

impl Tournament {
    /// The key of a place that does not take part: no key is larger.
    pub const NONE: u64 = u64::MAX;

    /// Creates a tournament with `len` places, in which nobody takes part.
    pub fn new(len: usize) -> Self {
        let leaves = len.next_power_of_two().max(2);
        Tournament { keys: vec![Self::NONE; 2 * leaves], leaves }
    }

    /// Sets the key of a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn set(&mut self, place: usize, mut key: u64) {
        let mut node = self.leaves + place;
        self.keys[node] = key;
        while node > 1 {
            key = key.min(self.keys[node ^ 1]);
            node /= 2;
            if self.keys[node] == key {
                return;
            }
            self.keys[node] = key;
        }
    }

    /// Returns the key of a place.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn get(&self, place: usize) -> u64 {
        self.keys[self.leaves + place]
    }

    /// Returns the smallest key.
    #[inline]
    pub fn first(&self) -> u64 {
        self.keys[1]
    }

    /// Returns the smallest key of the places `from..to`; [`NONE`](Self::NONE) if there is none.
    ///
    /// # Panics
    /// If there are no such places.
    #[inline]
    pub fn first_of(&self, from: usize, to: usize) -> u64 {
        let (mut from, mut to) = (from + self.leaves, to + self.leaves);
        let mut first = Self::NONE;
        while from < to {
            if from % 2 == 1 {
                first = first.min(self.keys[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                first = first.min(self.keys[to]);
            }
            (from, to) = (from / 2, to / 2);
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
