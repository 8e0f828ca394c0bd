//! `struct cpumask` and `for_each_cpu_wrap()` (`include/linux/cpumask.h`): sets of CPUs, and the scheduler's iterations
//! over them.

use smallvec::{SmallVec, smallvec};
use std::fmt;

/// A CPU's number, as in the kernel.
pub type Cpu = u32;

/// A set of CPUs (`struct cpumask`). It needs no allocation up to 128 CPUs.
///
/// All masks of one system are created for the same number of CPUs. Iterations and operations on two masks rely on it.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CpuMask {
    words: SmallVec<[u64; 2]>,
}

impl Clone for CpuMask {
    #[inline]
    fn clone(&self) -> Self {
        CpuMask { words: SmallVec::from_slice(&self.words) }
    }

    /// Reuses the memory because masks of one system have one size.
    #[inline]
    fn clone_from(&mut self, source: &Self) {
        if self.words.len() == source.words.len() {
            self.words.copy_from_slice(&source.words);
        } else {
            *self = source.clone();
        }
    }
}

const BITS: u32 = u64::BITS;

impl CpuMask {
    /// Creates an empty set with room for CPUs `0..nr_cpus`.
    pub fn new(nr_cpus: u32) -> Self {
        CpuMask { words: smallvec![0; nr_cpus.div_ceil(BITS).max(1) as usize] }
    }

    /// Creates the set of the CPUs `0..nr_cpus`.
    pub fn full(nr_cpus: u32) -> Self {
        let mut mask = Self::new(nr_cpus);
        (0..nr_cpus).for_each(|cpu| mask.set(cpu));
        mask
    }

    /// Creates the set of the given CPUs with room for CPUs `0..nr_cpus`.
    ///
    /// # Panics
    /// If a CPU is not below `nr_cpus` rounded up to a multiple of 64.
    pub fn from_cpus(nr_cpus: u32, cpus: impl IntoIterator<Item = Cpu>) -> Self {
        let mut mask = Self::new(nr_cpus);
        cpus.into_iter().for_each(|cpu| mask.set(cpu));
        mask
    }

    /// Parses the hexadecimal form that the kernel prints, without `0x`; commas between 32-bit words are allowed.
    /// Returns `None` if `text` is no such number or has a CPU at or above `nr_cpus`.
    pub fn from_hex(nr_cpus: u32, text: &str) -> Option<Self> {
        let mut mask = Self::new(nr_cpus);
        if text.is_empty() {
            return None;
        }
        for (nibble, byte) in (0u32..).zip(text.bytes().rev().filter(|&b| b != b',')) {
            let value = u64::from((byte as char).to_digit(16)?);
            if value != 0 {
                let top = nibble.saturating_mul(4) + (63 - value.leading_zeros());
                if top >= nr_cpus {
                    return None;
                }
                mask.words[(nibble / 16) as usize] |= value << (nibble % 16 * 4);
            }
        }
        Some(mask)
    }

    /// Creates the set of the CPUs in words like those of [`Self::words`]; `None` if one is not below `nr_cpus`.
    pub fn from_words(nr_cpus: u32, words: &[u64]) -> Option<Self> {
        let mut mask = Self::new(nr_cpus);
        for (at, &word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            if at as u32 * BITS + word.ilog2() >= nr_cpus {
                return None;
            }
            mask.words[at] = word;
        }
        Some(mask)
    }

    /// Returns the number of CPUs for which the mask has room, a multiple of 64.
    pub fn room(&self) -> u32 {
        self.words.len() as u32 * BITS
    }

    /// Adds a CPU.
    #[inline]
    pub fn set(&mut self, cpu: Cpu) {
        self.words[(cpu / BITS) as usize] |= 1 << (cpu % BITS);
    }

    /// Removes a CPU.
    #[inline]
    pub fn clear(&mut self, cpu: Cpu) {
        self.words[(cpu / BITS) as usize] &= !(1 << (cpu % BITS));
    }

    /// Adds a CPU if `value` is true, else removes it.
    #[inline]
    pub fn assign(&mut self, cpu: Cpu, value: bool) {
        if value { self.set(cpu) } else { self.clear(cpu) }
    }

    /// `cpumask_test_cpu()`: whether the CPU is in the set. A CPU beyond the mask is not.
    #[inline]
    pub fn test(&self, cpu: Cpu) -> bool {
        self.words.get((cpu / BITS) as usize).is_some_and(|word| word & (1 << (cpu % BITS)) != 0)
    }

    /// `cpumask_weight()`: returns the number of CPUs in the set.
    #[inline]
    pub fn weight(&self) -> u32 {
        // Of a large machine's masks, most have few words with a CPU in them.
        self.words.iter().filter(|&&word| word != 0).map(|word| word.count_ones()).sum()
    }

    /// `cpumask_empty()`: whether no CPU is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// `cpumask_first()`: returns the lowest CPU; `None` if the set is empty.
    #[inline]
    pub fn first(&self) -> Option<Cpu> {
        self.next_from(0)
    }

    /// Returns the lowest CPU at or above `from`; `None` if there is none.
    #[inline]
    pub fn next_from(&self, from: Cpu) -> Option<Cpu> {
        next_in(&self.words, from, |word, _| word)
    }

    /// Returns the lowest CPU at or above `from` that is in both sets; `None` if there is none.
    #[inline]
    pub fn next_from_and(&self, other: &Self, from: Cpu) -> Option<Cpu> {
        next_in(&self.words, from, |word, i| word & other.words[i])
    }

    /// `cpumask_any_and_distribute()`: the next CPU in both sets after `prev`, which is the last one taken, and the
    /// first after the end; `None` if the sets share none. `prev` is then the CPU that was taken.
    pub fn any_and_distribute(&self, other: &Self, prev: &mut Cpu) -> Option<Cpu> {
        let next = self.next_from_and(other, *prev + 1).or_else(|| self.iter_and(other).next())?;
        *prev = next;
        Some(next)
    }

    /// `for_each_cpu()`: iterates over the CPUs in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Cpu> + '_ {
        ones(self.words.len(), |i| self.words[i])
    }

    /// `for_each_cpu_and()`: iterates over the CPUs that are in both sets, in ascending order.
    #[inline]
    pub fn iter_and<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = Cpu> + 'a {
        ones(self.words.len().min(other.words.len()), |i| self.words[i] & other.words[i])
    }

    /// Iterates over the CPUs at or above `from` that are in all three sets, in ascending order.
    #[inline]
    pub fn iter_and_and_from<'a>(
        &'a self,
        other: &'a Self,
        third: &'a Self,
        from: Cpu,
    ) -> impl Iterator<Item = Cpu> + 'a {
        let (skipped, below) = ((from / BITS) as usize, from % BITS);
        let both = self.words.iter().zip(&*other.words).zip(&*third.words).map(|((a, b), c)| a & b & c);
        let mut words = (0..).step_by(BITS as usize).zip(both).skip(skipped);
        let (mut first, mut bits) = words.next().unwrap_or((0, 0));
        bits &= u64::MAX << below;
        std::iter::from_fn(move || {
            while bits == 0 {
                (first, bits) = words.next()?;
            }
            let cpu = first + bits.trailing_zeros();
            bits &= bits - 1;
            Some(cpu)
        })
    }

    /// `for_each_cpu_wrap()`: iterates over the CPUs from `start` up, then over those below it.
    pub fn iter_wrap(&self, start: Cpu) -> impl Iterator<Item = Cpu> + '_ {
        let mut wrap = Wrap::new(start);
        std::iter::from_fn(move || wrap.next(self))
    }

    /// `cpumask_intersects()`: whether the two sets share a CPU.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// `cpumask_subset()`: whether every CPU of this set is in `other`.
    #[inline]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// `cpumask_weight_and()`: returns the number of CPUs that are in both sets.
    #[inline]
    pub fn weight_and(&self, other: &Self) -> u32 {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones()).sum()
    }

    /// Returns the number of CPUs of the set in `from..to`.
    #[inline]
    pub fn weight_range(&self, from: Cpu, to: Cpu) -> u32 {
        self.weight_range_by(from, to, |word, _| word)
    }

    /// Returns the number of CPUs in `from..to` that are in both sets.
    #[inline]
    pub fn weight_range_and(&self, other: &Self, from: Cpu, to: Cpu) -> u32 {
        self.weight_range_by(from, to, |word, i| word & other.words[i])
    }

    /// Returns the `n`th CPU (counted from 1) of the set at or above `from`; `None` if there is none.
    #[inline]
    pub fn nth_from(&self, from: Cpu, mut n: u32) -> Option<Cpu> {
        let mut i = (from / BITS) as usize;
        let mut word = self.words.get(i)? & (u64::MAX << (from % BITS));
        loop {
            let ones = word.count_ones();
            if ones >= n {
                for _ in 1..n {
                    word &= word - 1;
                }
                return (n != 0).then(|| i as u32 * BITS + word.trailing_zeros());
            }
            n -= ones;
            i += 1;
            word = *self.words.get(i)?;
        }
    }

    #[inline]
    fn weight_range_by(&self, from: Cpu, to: Cpu, get: impl Fn(u64, usize) -> u64) -> u32 {
        if from >= to {
            return 0;
        }
        let (first, last) = ((from / BITS) as usize, ((to - 1) / BITS) as usize);
        let mut count = 0;
        for i in first..=last.min(self.words.len() - 1) {
            let mut word = get(self.words[i], i);
            if i == first {
                word &= u64::MAX << (from % BITS);
            }
            if i == last {
                word &= u64::MAX >> (BITS - 1 - (to - 1) % BITS);
            }
            count += word.count_ones();
        }
        count
    }

    /// `cpumask_and()`: sets this mask to `a & b`, reusing its memory. Returns whether the result has a CPU.
    #[inline]
    pub fn set_and(&mut self, a: &Self, b: &Self) -> bool {
        let len = a.words.len().min(b.words.len());
        if self.words.len() != len {
            self.words.resize(len, 0);
        }
        let mut any = 0;
        for ((word, x), y) in self.words.iter_mut().zip(&a.words).zip(&b.words) {
            *word = x & y;
            any |= *word;
        }
        any != 0
    }

    /// `cpumask_and()` in place: removes the CPUs that are not in `other`. Returns whether the result has a CPU.
    #[inline]
    pub fn and_with(&mut self, other: &Self) -> bool {
        let mut any = 0;
        for (word, y) in self.words.iter_mut().zip(&other.words) {
            *word &= y;
            any |= *word;
        }
        any != 0
    }

    /// Returns the set of the CPUs that are in both sets.
    pub fn and(&self, other: &Self) -> Self {
        CpuMask { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// `cpumask_complement()`: becomes all CPUs that `other` has room for and that are not in it.
    pub fn set_not(&mut self, other: &Self) {
        self.words.clear();
        self.words.extend(other.words.iter().map(|word| !word));
    }

    /// `cpumask_or()` in place: adds the CPUs of `other`.
    #[inline]
    pub fn or_with(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// `cpumask_andnot()` in place: removes the CPUs of `other`.
    #[inline]
    pub fn andnot_with(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }

    /// `cpumask_bits()`: returns the words of the mask. CPU `c` is bit `c % 64` of word `c / 64`.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Formats the set in the kernel's hexadecimal form, without `0x` and without leading zeros.
    pub fn to_hex(&self) -> String {
        let top = self.words.iter().rposition(|&word| word != 0).unwrap_or(0);
        let mut text = format!("{:x}", self.words[top]);
        for word in self.words[..top].iter().rev() {
            text += &format!("{word:016x}");
        }
        text
    }
}

/// The CPUs whose bits are set in so many words, in ascending order.
#[inline]
fn ones(len: usize, get: impl Fn(usize) -> u64) -> impl Iterator<Item = Cpu> {
    let (mut next, mut bits) = (0, 0);
    std::iter::from_fn(move || {
        while bits == 0 {
            if next == len {
                return None;
            }
            bits = get(next);
            next += 1;
        }
        let cpu = (next as u32 - 1) * BITS + bits.trailing_zeros();
        bits &= bits - 1;
        Some(cpu)
    })
}

#[inline]
fn next_in(words: &[u64], from: Cpu, get: impl Fn(u64, usize) -> u64) -> Option<Cpu> {
    let mut i = (from / BITS) as usize;
    let mut word = get(*words.get(i)?, i) & (u64::MAX << (from % BITS));
    loop {
        if word != 0 {
            return Some(i as u32 * BITS + word.trailing_zeros());
        }
        i += 1;
        word = get(*words.get(i)?, i);
    }
}

/// The position of a `for_each_cpu_wrap()` iteration, which goes from a start up to the end and then from 0 up to the
/// start.
///
/// Each step reads the mask again, as the kernel's macro does: a CPU that is removed meanwhile is not visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrap {
    start: Cpu,
    from: Cpu,
    wrapped: bool,
}

/// The CPUs that an iteration passed on its way to the next CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The next CPU; `None` at the end.
    pub found: Option<Cpu>,
    /// The number of CPUs of the mask before it, or before the end.
    pub passed: u32,
}

impl Wrap {
    /// Starts an iteration at `start`.
    #[inline]
    pub fn new(start: Cpu) -> Self {
        Wrap { start, from: start, wrapped: false }
    }

    /// Returns the next CPU of `mask`; `None` at the end.
    #[inline]
    pub fn next(&mut self, mask: &CpuMask) -> Option<Cpu> {
        self.advance(|from| mask.next_from(from))
    }

    /// Returns the next CPU of `mask & filter`; `None` at the end.
    #[inline]
    pub fn next_and(&mut self, mask: &CpuMask, filter: &CpuMask) -> Option<Cpu> {
        self.advance(|from| mask.next_from_and(filter, from))
    }

    /// Returns the next CPU of `mask & (filter | other)`; `None` at the end.
    #[inline]
    pub fn next_and_or(&mut self, mask: &CpuMask, filter: &CpuMask, other: &CpuMask) -> Option<Cpu> {
        self.advance(|from| next_in(&mask.words, from, |word, i| word & (filter.words[i] | other.words[i])))
    }

    /// Returns the next CPU of `mask & filter`, and the number of CPUs of `mask` before it, or before the end.
    #[inline]
    pub fn next_and_count(&mut self, mask: &CpuMask, filter: &CpuMask) -> Passed {
        let before = *self;
        let found = self.next_and(mask, filter);
        Passed { found, passed: before.count_to(mask, found) - u32::from(found.is_some()) }
    }

    /// Returns the `n`th next CPU of `mask` (1 is the next); `None` if fewer are left.
    #[inline]
    pub fn skip(&mut self, mask: &CpuMask, mut n: u32) -> Option<Cpu> {
        if !self.wrapped {
            let ahead = mask.weight_range(self.from, mask.room());
            if n <= ahead {
                let cpu = mask.nth_from(self.from, n)?;
                self.from = cpu + 1;
                return Some(cpu);
            }
            n -= ahead;
            (self.wrapped, self.from) = (true, 0);
        }
        let cpu = mask.nth_from(self.from, n).filter(|&cpu| cpu < self.start)?;
        self.from = cpu + 1;
        Some(cpu)
    }

    #[inline]
    fn advance(&mut self, next_from: impl Fn(Cpu) -> Option<Cpu>) -> Option<Cpu> {
        if !self.wrapped {
            if let Some(cpu) = next_from(self.from) {
                self.from = cpu + 1;
                return Some(cpu);
            }
            self.wrapped = true;
            self.from = 0;
        }
        let cpu = next_from(self.from).filter(|&cpu| cpu < self.start)?;
        self.from = cpu + 1;
        Some(cpu)
    }

    /// Whether the iteration still reaches `cpu`, and does so no later than `end` if that is given.
    #[inline]
    pub fn comes_to(&self, cpu: Cpu, end: Option<Cpu>) -> bool {
        let ahead = |cpu: Cpu| match self.wrapped {
            false => cpu >= self.from || cpu < self.start,
            true => cpu >= self.from && cpu < self.start,
        };
        // CPUs from `start` up come first, then those below it.
        let order = |cpu: Cpu| (cpu < self.start, cpu);
        ahead(cpu) && end.is_none_or(|end| order(cpu) <= order(end))
    }

    /// Returns the number of CPUs of `mask` from the present position up to and including `cpu`, or up to the end if
    /// `cpu` is `None`.
    #[inline]
    pub fn count_to(&self, mask: &CpuMask, cpu: Option<Cpu>) -> u32 {
        self.count(cpu, mask.room(), |from, to| mask.weight_range(from, to))
    }

    /// Returns the number of CPUs of `mask & filter` from the present position up to and including `cpu`, or up to the
    /// end if `cpu` is `None`.
    #[inline]
    pub fn count_to_and(&self, mask: &CpuMask, filter: &CpuMask, cpu: Option<Cpu>) -> u32 {
        self.count(cpu, mask.room(), |from, to| mask.weight_range_and(filter, from, to))
    }

    #[inline]
    fn count(&self, cpu: Option<Cpu>, room: u32, weight: impl Fn(Cpu, Cpu) -> u32) -> u32 {
        match (self.wrapped, cpu) {
            (false, Some(cpu)) if cpu >= self.from => weight(self.from, cpu + 1),
            (false, Some(cpu)) => weight(self.from, room) + weight(0, cpu + 1),
            (false, None) => weight(self.from, room) + weight(0, self.start),
            (true, Some(cpu)) => weight(self.from, cpu + 1),
            (true, None) => weight(self.from, self.start),
        }
    }
}

impl fmt::Display for CpuMask {
    /// Formats the set as the kernel's list: `0-7,64-71`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        let mut from = 0;
        while let Some(first) = self.next_from(from) {
            let mut last = first;
            while self.test(last + 1) {
                last += 1;
            }
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
            comma = ",";
            from = last + 1;
        }
        Ok(())
    }
}

impl fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn wrap_slow(set: &BTreeSet<u32>, start: u32) -> Vec<u32> {
        set.range(start..).chain(set.range(..start)).copied().collect()
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(
            a in prop::collection::btree_set(0u32..200, 0..60),
            b in prop::collection::btree_set(0u32..200, 0..60),
            start in 0u32..201,
        ) {
            let (x, y) = (CpuMask::from_cpus(200, a.iter().copied()), CpuMask::from_cpus(200, b.iter().copied()));
            prop_assert_eq!(x.iter().collect::<BTreeSet<_>>(), a.clone());
            prop_assert_eq!(x.weight() as usize, a.len());
            prop_assert_eq!(x.intersects(&y), a.intersection(&b).next().is_some());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.and(&y).iter().collect::<BTreeSet<_>>(), a.intersection(&b).copied().collect());
            prop_assert_eq!(x.iter_and(&y).collect::<Vec<_>>(), a.intersection(&b).copied().collect::<Vec<_>>());
            let third = CpuMask::from_cpus(200, (0..200).filter(|cpu| cpu % 3 != 0));
            prop_assert_eq!(
                x.iter_and_and_from(&y, &third, start).collect::<Vec<_>>(),
                a.intersection(&b).copied().filter(|&cpu| cpu >= start && cpu % 3 != 0).collect::<Vec<_>>()
            );
            prop_assert_eq!(x.weight_and(&y) as usize, a.intersection(&b).count());
            let mut diff = x.clone();
            diff.andnot_with(&y);
            prop_assert_eq!(diff.iter().collect::<BTreeSet<_>>(), a.difference(&b).copied().collect());
            prop_assert_eq!(x.iter_wrap(start).collect::<Vec<_>>(), wrap_slow(&a, start));
            prop_assert_eq!(CpuMask::from_hex(200, &x.to_hex()), Some(x.clone()));

            let mut wrap = Wrap::new(start);
            let order = wrap_slow(&a, start);
            for i in 0..=order.len() {
                for (j, &cpu) in order.iter().enumerate().skip(i) {
                    prop_assert_eq!(wrap.count_to(&x, Some(cpu)) as usize, j - i + 1);
                }
                prop_assert_eq!(wrap.count_to(&x, None) as usize, order.len() - i);
                for n in 1..=order.len() - i {
                    let mut ahead = wrap;
                    prop_assert_eq!(ahead.skip(&x, n as u32), order.get(i + n - 1).copied());
                    prop_assert_eq!(ahead.next(&x), order.get(i + n).copied());
                }
                prop_assert_eq!({ let mut ahead = wrap; ahead.skip(&x, (order.len() - i + 1) as u32) }, None);
                let in_both = order[i..].iter().filter(|cpu| b.contains(cpu)).count();
                prop_assert_eq!(wrap.count_to_and(&x, &y, None) as usize, in_both);
                for (j, &cpu) in order.iter().enumerate() {
                    prop_assert_eq!(wrap.comes_to(cpu, None), j >= i);
                    for (k, &end) in order.iter().enumerate() {
                        prop_assert_eq!(wrap.comes_to(cpu, Some(end)), j >= i && j <= k);
                    }
                }
                prop_assert_eq!(wrap.next(&x), order.get(i).copied());
            }
        }
    }

    #[test]
    fn prints_the_list_form() {
        assert_eq!(CpuMask::from_cpus(128, [0, 1, 2, 3, 64, 66, 67]).to_string(), "0-3,64,66-67");
        assert_eq!(CpuMask::new(8).to_string(), "");
    }

    #[test]
    fn hex_rejects_what_does_not_fit() {
        assert_eq!(CpuMask::from_hex(8, "1ff"), None);
        assert_eq!(CpuMask::from_hex(8, "xy"), None);
        assert_eq!(CpuMask::from_hex(8, ""), None);
        assert_eq!(CpuMask::from_hex(8, "000ff"), Some(CpuMask::full(8)));
        assert_eq!(CpuMask::from_hex(40, "ff,00000001").unwrap().to_string(), "0,32-39");
    }
}
