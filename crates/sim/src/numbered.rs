//! Lists whose items have numbers of the kernel's: CPUs and tasks, and what else goes by such a number.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// By CPU.
pub type PerCpu<T> = List<Cpu, T>;

/// By task.
pub type PerTask<T> = List<TaskId, T>;

/// By another number: an LLC's, a channel's, an affinity's.
pub type Numbered<T> = List<u32, T>;

/// A number that counts from 0.
pub trait Number {
    /// Where in a list what has the number is.
    fn at(self) -> usize;
}

impl Number for u32 {
    #[inline]
    fn at(self) -> usize {
        self as usize
    }
}

impl Number for TaskId {
    #[inline]
    fn at(self) -> usize {
        self.0 as usize
    }
}

/// A list that takes its own numbers only as an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<N, T> {
    items: Vec<T>,
    number: PhantomData<N>,
}

impl<N, T> List<N, T> {
    /// Adds the item with the next number.
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }
}

impl<N: Number, T> List<N, T> {
    /// What has the number, if the list reaches it.
    #[inline]
    pub fn get(&self, number: N) -> Option<&T> {
        self.items.get(number.at())
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, number: N) -> Option<&mut T> {
        self.items.get_mut(number.at())
    }

    /// What two different numbers have.
    ///
    /// # Panics
    /// If the list does not reach one of them, or they are the same.
    pub fn two(&mut self, a: N, b: N) -> [&mut T; 2] {
        self.items.get_disjoint_mut([a.at(), b.at()]).expect("two numbers of the list")
    }
}

impl<N: Number, T: Clone> List<N, T> {
    /// What has the number. If the list does not reach it yet, it is made longer with `filling`.
    pub fn reach(&mut self, number: N, filling: T) -> &mut T {
        let at = number.at();
        if self.items.len() <= at {
            self.items.resize(at + 1, filling);
        }
        &mut self.items[at]
    }
}

impl<N, T> Default for List<N, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<N, T> From<Vec<T>> for List<N, T> {
    fn from(items: Vec<T>) -> Self {
        List { items, number: PhantomData }
    }
}

impl<N, T> FromIterator<T> for List<N, T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<'a, N, T> IntoIterator for &'a List<N, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, N, T> IntoIterator for &'a mut List<N, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<N, T> Deref for List<N, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<N, T> DerefMut for List<N, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<N: Number, T> Index<N> for List<N, T> {
    type Output = T;

    #[inline]
    fn index(&self, number: N) -> &T {
        &self.items[number.at()]
    }
}

impl<N: Number, T> IndexMut<N> for List<N, T> {
    #[inline]
    fn index_mut(&mut self, number: N) -> &mut T {
        &mut self.items[number.at()]
    }
}
