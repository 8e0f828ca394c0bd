//! Rows of several CPUs come nearly in the order of their times; this puts them in it.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// A row may come so many rows late. The recorder writes a row when the decision is over and times it by its beginning.
const WINDOW: usize = 4096;

/// Holds back rows until it is known that no earlier one comes.
pub struct InOrder<T> {
    /// Rows that came in order, and those that came late: sorting few is cheap.
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
    /// Holds so many rows.
    pub fn with_capacity(capacity: usize) -> Self {
        InOrder { queue: VecDeque::new(), late: BinaryHeap::new(), next: 0, capacity }
    }

    /// Whether it can take another row before it has to give one.
    pub fn has_room(&self) -> bool {
        self.queue.len() + self.late.len() < self.capacity
    }

    /// Takes a row.
    pub fn push(&mut self, time: u64, row: T) {
        let held = Held { time, number: self.next, row };
        match self.queue.back() {
            Some(last) if time < last.time => self.late.push(held),
            _ => self.queue.push_back(held),
        }
        self.next += 1;
    }

    /// The time of the earliest row.
    pub fn time(&self) -> Option<u64> {
        match (self.queue.front(), self.late.peek()) {
            (Some(queued), Some(late)) => Some(queued.time.min(late.time)),
            (queued, late) => queued.or(late).map(|held| held.time),
        }
    }

    /// Gives the earliest row; those of one time in the order in which they came.
    pub fn pop(&mut self) -> Option<T> {
        // The greater is the earlier one, as a heap gives the greatest first.
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
    fn late_rows_come_in_order_and_those_of_one_time_as_they_came() {
        let mut rows = InOrder::default();
        for (time, row) in [(5, 'a'), (3, 'b'), (5, 'c'), (4, 'd')] {
            rows.push(time, row);
        }
        assert_eq!(std::iter::from_fn(|| rows.pop()).collect::<String>(), "bdac");
    }
}
