//! Rows that come again and again, of which a bounded number is kept.

/// So many at most: of a recording of 85 minutes or less all, of a longer one every second, every fourth ...
const MOST: usize = 1024;

/// Rows at equal distances, and the newest one.
pub(super) struct Thinned<T> {
    rows: Vec<T>,
    /// One row in so many is kept for good.
    every: u64,
    /// How many have come.
    came: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Thinned { rows: Vec::new(), every: 1, came: 0 }
    }
}

impl<T> Thinned<T> {
    /// Adds the newest.
    pub(super) fn push(&mut self, row: T) {
        if self.came > 0 && !(self.came - 1).is_multiple_of(self.every) {
            self.rows.pop();
        }
        self.rows.push(row);
        self.came += 1;
        if self.rows.len() > MOST {
            // The newest has an even place, and stays.
            let mut at = 0..;
            self.rows.retain(|_| at.next().is_some_and(|at| at % 2 == 0));
            self.every *= 2;
        }
    }

    /// What is kept, in order.
    pub(super) fn rows(&self) -> &[T] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_far_apart_as_their_number_needs_and_the_newest_is_there() {
        let mut rows = Thinned::default();
        for number in 0..100_000_u64 {
            rows.push(number);
            assert!(rows.rows().len() <= MOST && rows.rows().last() == Some(&number), "{number}");
        }
        let (_, kept) = rows.rows().split_last().expect("rows");
        assert!(kept.len() > MOST / 2 - 1);
        assert!((0..).zip(kept).all(|(at, &number)| number == at * 128), "{kept:?}");
    }
}
