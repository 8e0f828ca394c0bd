//! Elements with keys: what hash maps, tries and local storage have in common.

use crate::memory::{Memory, NoMemory};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// No element.
const NONE: u32 = u32::MAX;

/// Finds elements by their keys. Nothing depends on the order of hashes: it is never iterated.
type Index = HashMap<Box<[u8]>, u32, BuildHasherDefault<Multiply>>;

/// A hash of a key, 8 bytes at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        // The table takes its bits from both ends.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}

/// The cost of an element besides its value and the region of its key, bytes: its place, and the key in the index.
const ELEMENT_COST: u64 = 128;

/// A place for an element.
#[derive(Clone, Copy, Debug)]
struct Slot {
    prev: u32,
    next: u32,
    live: bool,
    /// How many elements have been here, so that an iteration sees that the place has another.
    generation: u32,
}

/// Elements with keys, in an order: of their insertion, or from the least to the most recently used.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    index: Index,
    slots: Vec<Slot>,
    free: Vec<u32>,
    first: u32,
    last: u32,
    /// The region of the keys. Programs get pointers into it in callbacks.
    keys: u64,
    key_size: u32,
    key_stride: u32,
    max: u32,
}

impl Table {
    pub(crate) fn new(memory: &mut Memory, name: &str, key_size: u32, max: u32) -> Self {
        let keys = memory.region(&format!("keys of {name}"), 0);
        memory.set_read_only(keys, true);
        Table {
            index: Index::default(),
            slots: Vec::new(),
            free: Vec::new(),
            first: NONE,
            last: NONE,
            keys,
            key_size,
            key_stride: key_size.next_multiple_of(8).max(8),
            max,
        }
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> u32 {
        self.index.len() as u32
    }

    /// How long keys are, bytes.
    pub(crate) fn key_size(&self) -> u32 {
        self.key_size
    }

    /// Whether it has as many elements as it may.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.max
    }

    /// The element with this key.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.index.get(key).copied()
    }

    /// The address of an element's key.
    pub(crate) fn key_addr(&self, slot: u32) -> u64 {
        self.keys + u64::from(slot) * u64::from(self.key_stride)
    }

    /// Another place for a key, the last in the order. A place that the key had is still taken: free it.
    pub(crate) fn insert(&mut self, memory: &mut Memory, key: &[u8]) -> Result<u32, NoMemory> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = self.slots.len() as u32;
                let end = (u64::from(slot) + 1) * u64::from(self.key_stride);
                let have = memory.region_len(self.keys);
                // A place is never given back.
                memory.charge(ELEMENT_COST + u64::from(self.key_size))?;
                if end > have {
                    memory.grow(self.keys, end.max(have * 2))?;
                }
                self.slots.push(Slot { prev: NONE, next: NONE, live: false, generation: 0 });
                slot
            }
        };
        if let Ok(bytes) = memory.bytes_mut(self.key_addr(slot), u64::from(self.key_size)) {
            bytes.copy_from_slice(key);
        }
        self.index.insert(key.into(), slot);
        let entry = &mut self.slots[slot as usize];
        (entry.live, entry.generation) = (true, entry.generation.wrapping_add(1));
        self.append(slot);
        Ok(slot)
    }

    /// Takes an element and its key away. The key may have another place already.
    pub(crate) fn remove(&mut self, memory: &Memory, slot: u32) {
        let key = memory.bytes(self.key_addr(slot), u64::from(self.key_size)).unwrap_or_default();
        if self.index.get(key) == Some(&slot) {
            self.index.remove(key);
        }
        self.unlink(slot);
        self.slots[slot as usize].live = false;
        self.free.push(slot);
    }

    /// Makes an element the last in the order: it has been used.
    pub(crate) fn touch(&mut self, slot: u32) {
        if self.last != slot {
            self.unlink(slot);
            self.append(slot);
        }
    }

    /// The first in the order.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The element after one, in the order.
    pub(crate) fn after(&self, slot: u32) -> Option<u32> {
        let next = self.slots.get(slot as usize)?.next;
        (next != NONE).then_some(next)
    }

    /// All elements in their order: places, and what [`Table::is`] wants.
    pub(crate) fn elements(&self) -> Vec<(u32, u32)> {
        let mut elements = Vec::with_capacity(self.index.len());
        let mut at = self.oldest();
        while let Some(slot) = at {
            elements.push((slot, self.slots[slot as usize].generation));
            at = self.after(slot);
        }
        elements
    }

    /// Whether the element of an iteration is still there.
    pub(crate) fn is(&self, slot: u32, generation: u32) -> bool {
        self.slots.get(slot as usize).is_some_and(|entry| entry.live && entry.generation == generation)
    }

    fn append(&mut self, slot: u32) {
        let last = self.last;
        let entry = &mut self.slots[slot as usize];
        (entry.prev, entry.next) = (last, NONE);
        match last {
            NONE => self.first = slot,
            last => self.slots[last as usize].next = slot,
        }
        self.last = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { prev, next, .. } = self.slots[slot as usize];
        match prev {
            NONE => self.first = next,
            prev => self.slots[prev as usize].next = next,
        }
        match next {
            NONE => self.last = prev,
            next => self.slots[next as usize].prev = prev,
        }
    }
}
