//! The values with the least keys of any number of values.

use std::collections::BTreeMap;

/// Of any number of values, those with the least keys, at most so many.
#[derive(Debug)]
pub struct Least<K, V> {
    most: usize,
    kept: BTreeMap<K, V>,
}

impl<K: Ord, V> Least<K, V> {
    /// Begins to keep at most `most` values.
    pub fn new(most: usize) -> Self {
        Least { most, kept: BTreeMap::new() }
    }

    /// Offers a value, which is made only if it is kept for now.
    pub fn offer(&mut self, key: K, value: impl FnOnce() -> V) {
        if self.kept.len() < self.most || self.kept.last_key_value().is_some_and(|(last, _)| key < *last) {
            self.kept.insert(key, value());
            if self.kept.len() > self.most {
                self.kept.pop_last();
            }
        }
    }

    /// The keys, ascending.
    pub fn into_keys(self) -> impl Iterator<Item = K> {
        self.kept.into_keys()
    }

    /// The values, by ascending key.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.kept.into_values()
    }
}
