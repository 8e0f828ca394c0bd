//! Sorts rows of several CPUs, which are nearly in the order of their times.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// How many rows are held. The recorder writes a row when the decision ends, and its time is when it began.
const WINDOW: usize = 4096;

/// Holds a number of rows, and returns them in the order of their times.
pub struct InOrder<T> {
    /// Rows that came in order, and rows that came late, of which there are few.
    queue: VecDeque<Held<T>>,
    late: BinaryHeap<Held<T>>,
    next: u64,
    capacity: usize,
}

struct Held<T> {
    time: u64,
    number: u64,
    row: T,
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        InOrder::with_capacity(WINDOW)
    }
}

impl<T> InOrder<T> {
    /// Holds at most this many rows.
    pub fn with_capacity(capacity: usize) -> Self {
        InOrder { queue: VecDeque::new(), late: BinaryHeap::new(), next: 0, capacity }
    }

    /// Whether there is room for another row before one has to be removed.
    pub fn has_room(&self) -> bool {
        self.queue.len() + self.late.len() < self.capacity
    }

    /// Adds a row.
    pub fn push(&mut self, time: u64, row: T) {
        let held = Held { time, number: self.next, row };
        match self.queue.back() {
            Some(last) if time < last.time => self.late.push(held),
            _ => self.queue.push_back(held),
        }
        self.next += 1;
    }

    /// The time of the earliest row; `None` if there is none.
    pub fn time(&self) -> Option<u64> {
        match (self.queue.front(), self.late.peek()) {
            (Some(queued), Some(late)) => Some(queued.time.min(late.time)),
            (queued, late) => queued.or(late).map(|held| held.time),
        }
    }

    /// Removes the earliest row. Rows of the same time are returned in the order in which they were added.
    pub fn pop(&mut self) -> Option<T> {
        // The greater one is the earlier one, because a heap returns the greatest first.
        let held = match (self.queue.front(), self.late.peek()) {
            (Some(queued), Some(late)) if late > queued => self.late.pop(),
            (None, _) => self.late.pop(),
            _ => self.queue.pop_front(),
        };
        held.map(|held| held.row)
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.number).cmp(&(self.time, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_by_time_and_then_by_arrival() {
        let mut rows = InOrder::default();
        for (time, row) in [(5, 'a'), (3, 'b'), (5, 'c'), (4, 'd')] {
            rows.push(time, row);
        }
        assert_eq!(std::iter::from_fn(|| rows.pop()).collect::<String>(), "bdac");
    }
}
