//! A set of CPUs or cores of one LLC by rank, as a scan sees it: from a start up to the end, then from 0 up to the
//! start.
//!
//! Up to 64 ranks are one word, which is turned so that bit 0 is the start. Of thousands a search would read most words
//! of the mask each time it is predicted; so a wide set also keeps which words have a bit, and how many bits blocks of
//! words have.

use crate::cpumask::CpuMask;

const BITS: u32 = u64::BITS;

/// From how many words on a set keeps [`Wide`].
const WIDE_FROM: usize = 8;

/// The words of a block.
const BLOCK: usize = 8;

/// A set of ranks `0..nr`. Offsets count from a start: offset 0 is the start's rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankSet {
    ranks: CpuMask,
    nr: u32,
    wide: Option<Box<Wide>>,
}

/// What is known of the words of a wide set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wide {
    /// The words that are not 0.
    some: CpuMask,
    /// By block: the number of ranks in it.
    ones: Vec<u32>,
}

impl RankSet {
    pub fn new(nr: u32) -> Self {
        let ranks = CpuMask::new(nr);
        let words = ranks.words().len();
        let wide = || Box::new(Wide { some: CpuMask::new(words as u32), ones: vec![0; words.div_ceil(BLOCK)] });
        RankSet { wide: (words >= WIDE_FROM).then(wide), ranks, nr }
    }

    #[inline]
    pub fn test(&self, rank: u32) -> bool {
        self.ranks.test(rank)
    }

    #[inline]
    pub fn assign(&mut self, rank: u32, value: bool) {
        if let Some(wide) = &mut self.wide
            && self.ranks.test(rank) != value
        {
            let ones = &mut wide.ones[rank as usize / (BLOCK * BITS as usize)];
            *ones = if value { *ones + 1 } else { *ones - 1 };
            self.ranks.assign(rank, value);
            let word = rank / BITS;
            wide.some.assign(word, self.ranks.words()[word as usize] != 0);
            return;
        }
        self.ranks.assign(rank, value);
    }

    /// The one word of at most 64 ranks, turned so that bit 0 is the start.
    #[inline]
    fn turned(&self, start: u32) -> u64 {
        let word = self.ranks.words()[0];
        match start {
            0 => word,
            _ => (word >> start | word << (self.nr - start)) & (u64::MAX >> (BITS - self.nr)),
        }
    }

    /// The first offset of the set at or after `offset`; `nr` if there is none.
    #[inline]
    pub fn next(&self, start: u32, offset: u32) -> u32 {
        if offset >= self.nr {
            return self.nr;
        }
        if self.nr <= BITS {
            let ahead = self.turned(start) >> offset;
            return if ahead == 0 { self.nr } else { offset + ahead.trailing_zeros() };
        }
        let mut from = start + offset;
        if from < self.nr {
            if let Some(rank) = self.next_from(from) {
                return rank - start;
            }
            from = self.nr;
        }
        match self.next_from(from - self.nr) {
            Some(rank) if rank < start => rank + self.nr - start,
            _ => self.nr,
        }
    }

    #[inline]
    fn next_from(&self, from: u32) -> Option<u32> {
        let Some(wide) = &self.wide else { return self.ranks.next_from(from) };
        let words = self.ranks.words();
        let word = from / BITS;
        let ahead = words[word as usize] & (u64::MAX << (from % BITS));
        if ahead != 0 {
            return Some(word * BITS + ahead.trailing_zeros());
        }
        let word = wide.some.next_from(word + 1)?;
        Some(word * BITS + words[word as usize].trailing_zeros())
    }

    /// How many of the set are at the offsets `from..to`.
    #[inline]
    pub fn count(&self, start: u32, from: u32, to: u32) -> u32 {
        if from >= to {
            return 0;
        }
        if self.nr <= BITS {
            return ((self.turned(start) >> from) & (u64::MAX >> (BITS - (to - from)))).count_ones();
        }
        let (from, to) = (start + from, start + to);
        self.weight_range(from, to.min(self.nr))
            + self.weight_range(from.max(self.nr) - self.nr, to.max(self.nr) - self.nr)
    }

    #[inline]
    fn weight_range(&self, from: u32, to: u32) -> u32 {
        const RANKS: u32 = BLOCK as u32 * BITS;
        let (first, last) = (from.div_ceil(RANKS), to / RANKS);
        match &self.wide {
            // Whole blocks, and what is before and after them.
            Some(wide) if first < last => {
                self.ranks.weight_range(from, first * RANKS)
                    + wide.ones[first as usize..last as usize].iter().sum::<u32>()
                    + self.ranks.weight_range(last * RANKS, to)
            }
            _ => self.ranks.weight_range(from, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn offsets_are_those_of_a_walk(
            nr in prop_oneof![1u32..=64, 65u32..400, 400u32..2200],
            // Whole words are empty or full now and then.
            spans in prop::collection::vec((any::<u32>(), 1u32..700, any::<bool>()), 0..6),
            bits in prop::collection::vec((any::<u32>(), any::<bool>()), 0..60),
            reads in prop::collection::vec((any::<u32>(), any::<u32>(), any::<u32>()), 30),
        ) {
            let (mut set, mut plain) = (RankSet::new(nr), vec![false; nr as usize]);
            let single = bits.into_iter().map(|(rank, value)| (rank % nr, 1, value));
            for (from, len, value) in spans.into_iter().chain(single) {
                for rank in (from % nr)..(from % nr).saturating_add(len).min(nr) {
                    set.assign(rank, value);
                    plain[rank as usize] = value;
                }
            }
            for (start, from, to) in reads {
                let (start, from, to) = (start % nr, from % (nr + 1), to % (nr + 1));
                let has = |offset: u32| plain[((start + offset) % nr) as usize];
                prop_assert_eq!(set.test(start), plain[start as usize]);
                prop_assert_eq!(set.next(start, from), (from..nr).find(|&offset| has(offset)).unwrap_or(nr));
                prop_assert_eq!(set.count(start, from, to), (from..to).filter(|&offset| has(offset)).count() as u32);
            }
        }
    }
}
