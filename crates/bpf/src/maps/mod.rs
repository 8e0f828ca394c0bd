//! Maps.
//!
//! Values are in regions of their own, one a map: a pointer to a value of an array or a hash map stays what it is until
//! the element is deleted, as in the kernel. Where the kernel's order depends on a random seed or on which CPU came
//! first, there is one order here: hash maps are iterated in the order in which their elements were inserted, and an
//! LRU map evicts the element that was used least recently (the kernel's evicts one of those that were not used lately,
//! `bpf_lru_pop_free()`).

mod table;

use crate::fault::Fault;
use crate::image::{Map, MapKind};
use crate::memory::{Memory, NoMemory};
use std::collections::{BTreeMap, VecDeque};
use table::Table;

/// An error as the kernel's functions return it: negative.
pub(crate) mod errno {
    pub(crate) const EPERM: i64 = -1;
    pub(crate) const ENOENT: i64 = -2;
    pub(crate) const E2BIG: i64 = -7;
    pub(crate) const ENOMEM: i64 = -12;
    pub(crate) const EACCES: i64 = -13;
    pub(crate) const EFAULT: i64 = -14;
    pub(crate) const EBUSY: i64 = -16;
    pub(crate) const EEXIST: i64 = -17;
    pub(crate) const EINVAL: i64 = -22;
    pub(crate) const EDEADLK: i64 = -35;
}

use errno::*;

/// `BPF_NOEXIST`.
pub(crate) const BPF_NOEXIST: u64 = 1;
/// `BPF_EXIST`.
pub(crate) const BPF_EXIST: u64 = 2;
/// `BPF_F_LOCK`.
pub(crate) const BPF_F_LOCK: u64 = 4;

/// A page of an arena, bytes.
pub(crate) const PAGE_SIZE: u64 = 4096;

/// The longest key, bytes (`MAX_BPF_STACK`).
const KEY_MAX: u32 = 512;
/// The longest data of a trie's key, bytes (`LPM_DATA_SIZE_MAX`).
const LPM_DATA_SIZE_MAX: u32 = 256;
/// The largest element of a hash map, a trie or a queue, bytes (`KMALLOC_MAX_SIZE` of x86).
const KMALLOC_MAX_SIZE: u32 = 4 << 20;
/// The largest value of a per-CPU map, bytes (`PCPU_MIN_UNIT_SIZE`).
const PCPU_MIN_UNIT_SIZE: u32 = 32 << 10;
/// The largest value of local storage, bytes (`BPF_LOCAL_STORAGE_MAX_VALUE_SIZE`, about).
const LOCAL_STORAGE_MAX: u32 = u16::MAX as u32;

/// The cost of a queue's value besides its bytes, bytes.
const QUEUED_COST: u64 = 32;
/// The cost of a ring buffer's record besides its region, bytes.
const RECORD_COST: u64 = 128;
/// The work of visiting or deleting an element.
pub(crate) const WORK_OF_ELEMENT: u64 = 16;
/// The work of making one, besides that of its bytes: its key is kept and found, and all are moved from time to time.
pub(crate) const WORK_OF_NEW_ELEMENT: u64 = 192;

/// The state of an arena's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Free,
    Allocated,
    Reserved,
}

/// A record of a ring buffer.
#[derive(Clone, Debug)]
struct Record {
    addr: u64,
    len: u32,
    state: RecordState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordState {
    /// `BPF_RINGBUF_BUSY_BIT`.
    Busy,
    Submitted,
    /// `BPF_RINGBUF_DISCARD_BIT`.
    Discarded,
}

/// The contents of a map.
#[derive(Clone, Debug)]
enum Store {
    Array,
    Table(Table),
    /// The inner maps of an array of maps.
    Maps(Vec<Option<u32>>),
    Queue(VecDeque<Box<[u8]>>),
    Ringbuf {
        records: VecDeque<Record>,
        /// How many records have been before the first of them.
        taken: u64,
        produced: u64,
        consumed: u64,
    },
    /// The samples that user space has put in.
    UserRingbuf(VecDeque<Box<[u8]>>),
    /// The states of an arena's pages up to the last that is not free.
    Arena(Vec<Page>),
    /// There are no events.
    Events,
}

/// A map.
#[derive(Clone, Debug)]
pub(crate) struct BpfMap {
    pub(crate) def: Map,
    /// Its handle in programs: the address of an empty region.
    pub(crate) handle: u64,
    /// The region of its values.
    pub(crate) values: u64,
    /// From one value to the next, bytes.
    stride: u32,
    /// How many values an element has: one, or one for each CPU.
    copies: u32,
    store: Store,
}

/// All maps of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Maps {
    list: Vec<BpfMap>,
    /// The numbers of the maps whose handles are in these regions; `u32::MAX` for other regions.
    numbers: Vec<u32>,
    nr_cpus: u32,
    /// The values that went since the machine last looked: it ends their timers and drops what they own.
    gone: Vec<(u64, u64)>,
    /// Records that are reserved: the map of each, and how many records were before it.
    reserved: BTreeMap<u64, (u32, u64)>,
}

/// A value that is written to a map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Bytes(&'a [u8]),
    /// Where it is in memory. It lies in no element that is made anew.
    At(u64),
}

/// Whether the machine has maps of a kind.
pub(crate) fn known(kind: MapKind) -> bool {
    !matches!(kind, MapKind::Other(_) | MapKind::ProgArray)
}

impl BpfMap {
    /// The first of an element's values.
    #[inline(always)]
    fn value(&self, element: u32) -> u64 {
        self.values + u64::from(element) * u64::from(self.copies) * u64::from(self.stride)
    }

    /// An element's value of a CPU.
    #[inline(always)]
    fn value_of(&self, element: u32, cpu: u32) -> u64 {
        let cpu = if self.copies > 1 { cpu } else { 0 };
        self.values + (u64::from(element) * u64::from(self.copies) + u64::from(cpu)) * u64::from(self.stride)
    }

    pub(crate) fn element_len(&self) -> u64 {
        u64::from(self.copies) * u64::from(self.stride)
    }

    /// Whether each CPU has a value of its own.
    pub(crate) fn is_percpu(&self) -> bool {
        matches!(self.def.kind, MapKind::PercpuArray | MapKind::PercpuHash)
    }

    /// The element to which an address of a value belongs.
    fn element_at(&self, addr: u64) -> Option<u32> {
        (addr >> 32 == self.values >> 32 && self.element_len() > 0)
            .then(|| ((addr & 0xffff_ffff) / self.element_len()) as u32)
    }
}

impl Maps {
    pub(crate) fn new(nr_cpus: u32) -> Self {
        Maps {
            list: Vec::new(),
            numbers: Vec::new(),
            nr_cpus: nr_cpus.max(1),
            gone: Vec::new(),
            reserved: BTreeMap::new(),
        }
    }

    /// Makes a map: its number.
    pub(crate) fn create(&mut self, mut def: Map, memory: &mut Memory) -> Result<u32, String> {
        let name = if def.name.is_empty() { "a map without a name".to_string() } else { def.name.clone() };
        if !known(def.kind) {
            return Err(format!("map {name} is {:?}", def.kind));
        }
        check_def(&def).map_err(|problem| format!("map {name} has {problem}"))?;
        let too_big = || format!("map {name} is larger than 4 GiB");
        let handle = memory.region(&format!("map {name}"), 0);
        let stride = def.value_size.checked_next_multiple_of(8).ok_or_else(too_big)?;
        let percpu = matches!(def.kind, MapKind::PercpuArray | MapKind::PercpuHash);
        let copies = if percpu { self.nr_cpus } else { 1 };
        let element = u64::from(stride) * u64::from(copies);
        let len = |elements: u32| u32::try_from(element * u64::from(elements)).map_err(|_| too_big());
        let mut initial = std::mem::take(&mut def.data);
        let (values, store) = match def.kind {
            MapKind::Array | MapKind::PercpuArray => {
                // The data is the first value of global data, whose section can be longer than the object's bytes.
                let bytes = std::mem::take(&mut initial);
                let values = memory.allocate_with(&name, bytes, len(def.max_entries)?);
                (values.map_err(|no| format!("map {name}: {no}"))?, Store::Array)
            }
            MapKind::Hash | MapKind::PercpuHash | MapKind::LruHash | MapKind::LpmTrie | MapKind::HashOfMaps => {
                let table = Table::new(memory, &name, def.key_size, def.max_entries);
                (memory.region(&name, 0), Store::Table(table))
            }
            // The kernel's key is a file descriptor of a task or cgroup; programs give its pointer.
            MapKind::TaskStorage | MapKind::CgrpStorage => {
                (memory.region(&name, 0), Store::Table(Table::new(memory, &name, 8, u32::MAX)))
            }
            MapKind::ArrayOfMaps => {
                let cost = u64::from(def.max_entries) * size_of::<Option<u32>>() as u64;
                memory.charge(cost).map_err(|no| format!("map {name}: {no}"))?;
                let mut slots = def.slots.clone();
                slots.resize(def.max_entries as usize, None);
                (0, Store::Maps(slots))
            }
            MapKind::Queue | MapKind::Stack => (0, Store::Queue(VecDeque::new())),
            MapKind::Ringbuf => {
                // As libbpf's adjust_ringbuf_sz() does: the kernel wants pages, and a power of two of them.
                let bytes = u64::from(def.max_entries).max(PAGE_SIZE).next_power_of_two();
                def.max_entries = u32::try_from(bytes).map_err(|_| too_big())?;
                (0, Store::Ringbuf { records: VecDeque::new(), taken: 0, produced: 0, consumed: 0 })
            }
            MapKind::UserRingbuf => (0, Store::UserRingbuf(VecDeque::new())),
            MapKind::Arena => {
                let pages = (initial.len() as u64).div_ceil(PAGE_SIZE);
                let values = memory.region(&name, 0);
                memory.grow(values, (1 + pages) * PAGE_SIZE).map_err(|no| format!("map {name}: {no}"))?;
                // The first page is never given away: a pointer to its beginning would be NULL.
                let mut states = vec![Page::Allocated; pages as usize + 1];
                states[0] = Page::Reserved;
                (values, Store::Arena(states))
            }
            MapKind::PerfEventArray => (0, Store::Events),
            MapKind::ProgArray | MapKind::Other(_) => return Err(format!("map {name} is {:?}", def.kind)),
        };
        if !initial.is_empty() && values != 0 {
            let at = if def.kind == MapKind::Arena { values + PAGE_SIZE } else { values };
            let place = memory.bytes_mut(at, initial.len() as u64).map_err(|bad| format!("map {name}: {bad}"))?;
            place.copy_from_slice(&initial);
        }
        if def.read_only && values != 0 {
            memory.set_read_only(values, true);
        }
        let number = self.list.len() as u32;
        let region = (handle >> 32) as usize;
        if self.numbers.len() <= region {
            self.numbers.resize(region + 1, u32::MAX);
        }
        self.numbers[region] = number;
        self.list.push(BpfMap { def, handle, values, stride, copies, store });
        Ok(number)
    }

    /// A map by its number.
    #[inline]
    pub(crate) fn get(&self, map: u32) -> Option<&BpfMap> {
        self.list.get(map as usize)
    }

    /// The number of the map that programs call by this address.
    #[inline]
    pub(crate) fn number(&self, handle: u64) -> Option<u32> {
        let number = *self.numbers.get((handle >> 32) as usize)?;
        (number != u32::MAX && handle as u32 == 0).then_some(number)
    }

    /// The number of the map with a name.
    pub(crate) fn by_name(&self, name: &str) -> Option<u32> {
        self.list.iter().position(|map| map.def.name == name).map(|at| at as u32)
    }

    /// The maps.
    pub(crate) fn list(&self) -> &[BpfMap] {
        &self.list
    }

    /// Where a program's reference to an offset in a map's values is.
    pub(crate) fn value_addr(&self, map: u32, offset: u32) -> Option<u64> {
        let map = self.get(map)?;
        let from = if map.def.kind == MapKind::Arena { PAGE_SIZE } else { 0 };
        (map.values != 0).then(|| map.values + from + u64::from(offset))
    }

    /// The values that went since the last time.
    pub(crate) fn take_gone(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.gone)
    }

    /// Whether values went.
    pub(crate) fn has_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// The address of the value of a key, or the handle of an inner map; 0 if there is none.
    #[inline]
    pub(crate) fn lookup(&mut self, map: u32, key: &[u8], cpu: u32) -> u64 {
        let Some(map) = self.list.get_mut(map as usize) else { return 0 };
        let element = match (&mut map.store, map.def.kind) {
            (Store::Array, _) => {
                let index = index(key);
                (index < map.def.max_entries).then_some(index)
            }
            (Store::Table(table), MapKind::LpmTrie) => longest_prefix(table, key),
            (Store::Table(table), kind) => {
                let element = table.find(key);
                if let (Some(element), MapKind::LruHash) = (element, kind) {
                    table.touch(element);
                }
                element
            }
            (Store::Maps(slots), _) => {
                let inner = slots.get(index(key) as usize).copied().flatten();
                return inner.map_or(0, |inner| self.list[inner as usize].handle);
            }
            _ => None,
        };
        element.map_or(0, |element| map.value_of(element, cpu))
    }

    /// As [`Maps::lookup`], in a hash of maps, whose values are numbers of maps.
    pub(crate) fn lookup_inner(&mut self, map: u32, key: &[u8], memory: &Memory) -> u64 {
        let value = self.lookup(map, key, 0);
        match memory.read_u32(value) {
            Ok(inner) if value != 0 => self.get(inner).map_or(0, |inner| inner.handle),
            _ => 0,
        }
    }

    /// Writes the value of a key: on one CPU, or on all of them. The kernel's error.
    pub(crate) fn update(
        &mut self,
        map: u32,
        memory: &mut Memory,
        key: &[u8],
        value: Value<'_>,
        flags: u64,
        cpu: Option<u32>,
    ) -> Result<i64, NoMemory> {
        let Some(map) = self.list.get_mut(map as usize) else { return Ok(EINVAL) };
        if flags & !BPF_F_LOCK > BPF_EXIST {
            return Ok(EINVAL);
        }
        let element = match (&mut map.store, map.def.kind) {
            (Store::Array, _) => {
                if index(key) >= map.def.max_entries {
                    return Ok(E2BIG);
                }
                if flags & BPF_NOEXIST != 0 {
                    return Ok(EEXIST);
                }
                let element = index(key);
                // The kernel leaves the special fields as they are, and then frees what they have.
                if !map.is_percpu() {
                    self.gone.push((map.value(element), map.element_len()));
                }
                element
            }
            (Store::Table(table), _) if key.len() != table.key_size() as usize => return Ok(EINVAL),
            (Store::Table(table), kind) => {
                let masked;
                let key = if kind == MapKind::LpmTrie {
                    match prefix(key, index(key)) {
                        Some(prefix) => masked = prefix,
                        None => return Ok(EINVAL),
                    }
                    &*masked
                } else {
                    key
                };
                let old = table.find(key);
                match old {
                    Some(_) if flags & BPF_NOEXIST != 0 => return Ok(EEXIST),
                    None if flags & BPF_EXIST != 0 => return Ok(ENOENT),
                    _ => {}
                }
                // A per-CPU map, local storage and an update under the value's lock write in place; other hash maps put
                // a new element in the old one's place, whose value a program may still hold.
                let in_place = map.copies > 1
                    || flags & BPF_F_LOCK != 0
                    || matches!(kind, MapKind::TaskStorage | MapKind::CgrpStorage | MapKind::PercpuHash);
                match old {
                    Some(element) if in_place => element,
                    old => {
                        if old.is_none() && table.is_full() {
                            let evicted = if kind == MapKind::LruHash { table.oldest() } else { None };
                            let Some(evicted) = evicted else {
                                return Ok(if kind == MapKind::LpmTrie { errno::ENOMEM } else { E2BIG });
                            };
                            table.remove(memory, evicted);
                            self.gone
                                .push((map.values + u64::from(evicted) * u64::from(map.stride), u64::from(map.stride)));
                        }
                        let element = table.insert(memory, key)?;
                        if let Some(old) = old {
                            table.remove(memory, old);
                            self.gone
                                .push((map.values + u64::from(old) * u64::from(map.stride), u64::from(map.stride)));
                        }
                        prepare(map, memory, element)?;
                        element
                    }
                }
            }
            (Store::Maps(_), _) => return Ok(EPERM),
            _ => return Ok(EINVAL),
        };
        let cpus = match cpu {
            Some(cpu) if map.copies > 1 => cpu..cpu + 1,
            _ => 0..map.copies,
        };
        for cpu in cpus {
            let (to, len) = (map.value_of(element, cpu), u64::from(map.def.value_size));
            match value {
                Value::Bytes(bytes) => {
                    if let Ok(place) = memory.bytes_mut(to, len) {
                        place.copy_from_slice(bytes);
                    }
                }
                Value::At(from) => {
                    let _ = memory.copy(to, from, len);
                }
            }
        }
        Ok(0)
    }

    /// Puts a map in a map of maps, or takes it out.
    pub(crate) fn set_inner(
        &mut self,
        map: u32,
        memory: &mut Memory,
        key: &[u8],
        inner: Option<u32>,
    ) -> Result<i64, NoMemory> {
        if inner.is_some_and(|inner| inner as usize >= self.list.len()) {
            return Ok(EINVAL);
        }
        let Some(outer) = self.list.get_mut(map as usize) else { return Ok(EINVAL) };
        match &mut outer.store {
            Store::Maps(slots) => match slots.get_mut(index(key) as usize) {
                Some(slot) => {
                    *slot = inner;
                    Ok(0)
                }
                None => Ok(E2BIG),
            },
            Store::Table(_) if outer.def.kind == MapKind::HashOfMaps => match inner {
                Some(inner) => self.update(map, memory, key, Value::Bytes(&inner.to_le_bytes()), 0, None),
                None => Ok(self.delete(map, memory, key)),
            },
            _ => Ok(EINVAL),
        }
    }

    /// Takes the element of a key away. The kernel's error.
    pub(crate) fn delete(&mut self, map: u32, memory: &Memory, key: &[u8]) -> i64 {
        let Some(map) = self.list.get_mut(map as usize) else { return EINVAL };
        let Store::Table(table) = &mut map.store else { return EINVAL };
        let element = match map.def.kind {
            MapKind::LpmTrie => prefix(key, index(key)).and_then(|key| table.find(&key)),
            _ => table.find(key),
        };
        let Some(element) = element else { return ENOENT };
        table.remove(memory, element);
        self.gone.push((map.value(element), map.element_len()));
        0
    }

    /// The value of an owner in local storage, made if `create`; 0 if there is none.
    pub(crate) fn storage(&mut self, map: u32, memory: &mut Memory, owner: u64, create: bool) -> Result<u64, NoMemory> {
        let Some(map) = self.list.get_mut(map as usize) else { return Ok(0) };
        if !matches!(map.def.kind, MapKind::TaskStorage | MapKind::CgrpStorage) {
            return Ok(0);
        }
        let Store::Table(table) = &mut map.store else { return Ok(0) };
        let key = owner.to_le_bytes();
        let element = match table.find(&key) {
            Some(element) => element,
            None if create => {
                let element = table.insert(memory, &key)?;
                prepare(map, memory, element)?;
                element
            }
            None => return Ok(0),
        };
        Ok(map.value(element))
    }

    /// Forgets what local storage has of an owner.
    pub(crate) fn storage_free(&mut self, memory: &Memory, owner: u64) {
        for map in 0..self.list.len() as u32 {
            if matches!(self.list[map as usize].def.kind, MapKind::TaskStorage | MapKind::CgrpStorage) {
                self.delete(map, memory, &owner.to_le_bytes());
            }
        }
    }

    /// How long a map's keys are, bytes.
    pub(crate) fn key_size(&self, map: u32) -> u32 {
        match self.get(map) {
            Some(BpfMap { store: Store::Table(table), .. }) => table.key_size(),
            Some(map) => map.def.key_size,
            None => 0,
        }
    }

    /// The elements of a map, in its order: what [`Maps::element`] wants. They are those of now.
    pub(crate) fn elements(&self, map: u32) -> Box<dyn Iterator<Item = (u32, u32)>> {
        match self.get(map).map(|map| (&map.store, map.def.max_entries)) {
            Some((Store::Array, max)) => Box::new((0..max).map(|element| (element, 0))),
            Some((Store::Table(table), _)) => Box::new(table.elements().into_iter()),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The addresses of the key and of a CPU's value of an element, if it is still there. An array's key has no
    /// address: 0.
    pub(crate) fn element(&self, map: u32, (element, generation): (u32, u32), cpu: u32) -> Option<(u64, u64)> {
        let map = self.get(map)?;
        match &map.store {
            Store::Array => Some((0, map.value_of(element, cpu))),
            Store::Table(table) => {
                table.is(element, generation).then(|| (table.key_addr(element), map.value_of(element, cpu)))
            }
            _ => None,
        }
    }

    /// The element in whose value an address is: its number, the address of its key (0 for an array's) and of its
    /// value.
    pub(crate) fn element_of(&self, map: u32, addr: u64) -> Option<(u32, u64, u64)> {
        let map = self.get(map)?;
        let element = map.element_at(addr)?;
        let key = match &map.store {
            Store::Table(table) => table.key_addr(element),
            _ => 0,
        };
        Some((element, key, map.value(element)))
    }

    /// How many elements a map has.
    pub(crate) fn len(&self, map: u32) -> u32 {
        match self.get(map).map(|map| &map.store) {
            Some(Store::Table(table)) => table.len(),
            Some(Store::Queue(queue)) => queue.len() as u32,
            Some(Store::Array) => self.list[map as usize].def.max_entries,
            _ => 0,
        }
    }

    /// `bpf_map_push_elem()`.
    pub(crate) fn push(&mut self, map: u32, memory: &mut Memory, value: &[u8], flags: u64) -> Result<i64, NoMemory> {
        let Some(map) = self.list.get_mut(map as usize) else { return Ok(EINVAL) };
        let Store::Queue(queue) = &mut map.store else { return Ok(EINVAL) };
        if flags & BPF_NOEXIST != 0 || flags > BPF_EXIST {
            return Ok(EINVAL);
        }
        let full = queue.len() as u64 >= u64::from(map.def.max_entries);
        if full && flags & BPF_EXIST == 0 {
            return Ok(E2BIG);
        }
        match full {
            // The value that goes makes room for this one.
            true => drop(queue.pop_front()),
            false => memory.charge(value.len() as u64 + QUEUED_COST)?,
        }
        queue.push_back(value.into());
        Ok(0)
    }

    /// As [`Maps::push`], of a value in memory.
    pub(crate) fn push_at(&mut self, map: u32, memory: &mut Memory, value: u64, flags: u64) -> Result<i64, Fault> {
        let len = self.get(map).map_or(0, |map| u64::from(map.def.value_size));
        let value = memory.bytes(value, len)?.to_vec();
        Ok(self.push(map, memory, &value, flags)?)
    }

    /// `bpf_map_pop_elem()`, and without `remove` `bpf_map_peek_elem()`: what comes next.
    pub(crate) fn pop(&mut self, map: u32, memory: &mut Memory, remove: bool) -> Option<Box<[u8]>> {
        let map = self.list.get_mut(map as usize)?;
        let stack = map.def.kind == MapKind::Stack;
        let Store::Queue(queue) = &mut map.store else { return None };
        if !remove {
            return if stack { queue.back().cloned() } else { queue.front().cloned() };
        }
        let value = if stack { queue.pop_back() } else { queue.pop_front() }?;
        memory.discharge(value.len() as u64 + QUEUED_COST);
        Some(value)
    }

    /// `bpf_ringbuf_reserve()`: the address of the record; 0 if there is no room.
    pub(crate) fn ringbuf_reserve(&mut self, map: u32, memory: &mut Memory, size: u64) -> Result<u64, NoMemory> {
        let number = map;
        let Some(map) = self.list.get_mut(map as usize) else { return Ok(0) };
        let Store::Ringbuf { records, taken, produced, consumed } = &mut map.store else { return Ok(0) };
        let len = size.saturating_add(8).checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let room = u64::from(map.def.max_entries) - 1;
        if len > room || *produced + len - *consumed > room {
            return Ok(0);
        }
        memory.charge(RECORD_COST)?;
        let addr = match memory.allocate(&format!("record of {}", map.def.name), size as u32) {
            Ok(addr) => addr,
            Err(no) => {
                memory.discharge(RECORD_COST);
                return Err(no);
            }
        };
        *produced += len;
        self.reserved.insert(addr, (number, *taken + records.len() as u64));
        records.push_back(Record { addr, len: size as u32, state: RecordState::Busy });
        Ok(addr)
    }

    /// `bpf_ringbuf_submit()`, `bpf_ringbuf_discard()`: whether there is such a record, which was neither before.
    pub(crate) fn ringbuf_commit(&mut self, memory: &mut Memory, addr: u64, submit: bool) -> bool {
        let Some((map, at)) = self.reserved.remove(&addr) else { return false };
        let store = self.list.get_mut(map as usize).map(|map| &mut map.store);
        let Some(Store::Ringbuf { records, taken, .. }) = store else { return false };
        let Some(record) = records.get_mut((at - *taken) as usize) else { return false };
        record.state = if submit { RecordState::Submitted } else { RecordState::Discarded };
        // The program has given it away: it may not write it any more.
        memory.set_read_only(addr, true);
        true
    }

    /// `bpf_ringbuf_query()`.
    pub(crate) fn ringbuf_query(&self, map: u32, flags: u64) -> u64 {
        let Some(map) = self.get(map) else { return 0 };
        let Store::Ringbuf { produced, consumed, .. } = &map.store else { return 0 };
        match flags {
            0 => produced - consumed,
            1 => u64::from(map.def.max_entries),
            2 => *consumed,
            3 => *produced,
            _ => 0,
        }
    }

    /// Returns the records that user space reads from a ring buffer, up to the first that is not submitted yet.
    pub(crate) fn ringbuf_take(&mut self, map: u32, memory: &mut Memory) -> Vec<Vec<u8>> {
        let Some(BpfMap { store: Store::Ringbuf { records, taken: before, consumed, .. }, .. }) =
            self.list.get_mut(map as usize)
        else {
            return Vec::new();
        };
        let mut taken = Vec::new();
        while records.front().is_some_and(|record| record.state != RecordState::Busy)
            && let Some(record) = records.pop_front()
        {
            *consumed += (u64::from(record.len) + 8).next_multiple_of(8);
            if record.state == RecordState::Submitted {
                taken.push(memory.bytes(record.addr, u64::from(record.len)).unwrap_or_default().to_vec());
            }
            memory.free(record.addr);
            memory.discharge(RECORD_COST);
            *before += 1;
        }
        taken
    }

    /// Writes to a user ring buffer as user space does. Returns whether there was room.
    pub(crate) fn user_ringbuf_push(&mut self, map: u32, sample: &[u8]) -> bool {
        let Some(map) = self.list.get_mut(map as usize) else { return false };
        let Store::UserRingbuf(samples) = &mut map.store else { return false };
        let room = |sample: &[u8]| (sample.len() as u64 + 8).next_multiple_of(8);
        let used: u64 = samples.iter().map(|sample| room(sample)).sum();
        let fits = used + room(sample) <= u64::from(map.def.max_entries);
        if fits {
            samples.push_back(sample.into());
        }
        fits
    }

    /// The next sample of a user ring buffer.
    pub(crate) fn user_ringbuf_pop(&mut self, map: u32) -> Option<Box<[u8]>> {
        match &mut self.list.get_mut(map as usize)?.store {
            Store::UserRingbuf(samples) => samples.pop_front(),
            _ => None,
        }
    }

    /// `arena_alloc_pages()`: the address of `count` pages, at `addr` if it is not 0; 0 if there are none.
    pub(crate) fn arena_alloc(
        &mut self,
        map: u32,
        memory: &mut Memory,
        addr: u64,
        count: u32,
    ) -> Result<u64, NoMemory> {
        let Some((values, limit, pages)) = self.arena(map) else { return Ok(0) };
        if count == 0 || !addr.is_multiple_of(PAGE_SIZE) {
            return Ok(0);
        }
        let first = match (addr as u32) / PAGE_SIZE as u32 {
            0 => first_fit(pages, count),
            page => page,
        };
        let end = u64::from(first) + u64::from(count);
        let free = |page: &Page| *page == Page::Free;
        if end > limit || !pages.iter().skip(first as usize).take(count as usize).all(free) {
            return Ok(0);
        }
        let have = memory.region_len(values);
        if end * PAGE_SIZE > have {
            // Twice as much as before, so that many small allocations copy little.
            memory.grow(values, (end * PAGE_SIZE).max((have * 2).min(limit * PAGE_SIZE)))?;
        }
        let at = values + u64::from(first) * PAGE_SIZE;
        if let Ok(bytes) = memory.bytes_mut(at, u64::from(count) * PAGE_SIZE) {
            bytes.fill(0);
        }
        set_pages(pages, first, count, Page::Allocated);
        Ok(at)
    }

    /// `arena_reserve_pages()`.
    pub(crate) fn arena_reserve(&mut self, map: u32, addr: u64, count: u32) -> i64 {
        let Some((_, limit, pages)) = self.arena(map) else { return EINVAL };
        let first = (addr as u32) / PAGE_SIZE as u32;
        if count == 0 {
            return 0;
        }
        if u64::from(first) + u64::from(count) > limit {
            return EINVAL;
        }
        // The machine has reserved page 0 itself.
        let (first, count) = if first == 0 { (1, count - 1) } else { (first, count) };
        if pages.iter().skip(first as usize).take(count as usize).any(|page| *page != Page::Free) {
            return EBUSY;
        }
        set_pages(pages, first, count, Page::Reserved);
        0
    }

    /// `arena_free_pages()`.
    pub(crate) fn arena_free(&mut self, map: u32, addr: u64, count: u32) {
        let Some((_, limit, pages)) = self.arena(map) else { return };
        let first = ((addr as u32) / PAGE_SIZE as u32).max(1);
        let count = u64::from(count).min(limit.saturating_sub(u64::from(first)));
        let end = (pages.len() as u64).min(u64::from(first) + count);
        for page in pages.iter_mut().take(end as usize).skip(first as usize) {
            *page = Page::Free;
        }
    }

    /// The work of an operation on so many pages of an arena, which looks for a place among all.
    pub(crate) fn arena_work(&self, map: u32, count: u32) -> u64 {
        let pages = self.get(map).map_or(0, |map| if let Store::Arena(pages) = &map.store { pages.len() } else { 0 });
        pages as u64 / 8 + u64::from(count).min(1 << 20) * 16
    }

    fn arena(&mut self, map: u32) -> Option<(u64, u64, &mut Vec<Page>)> {
        let map = self.list.get_mut(map as usize)?;
        // Its last page is left out: a region is not quite 4 GiB long.
        let limit = u64::from(map.def.max_entries).min((1 << 20) - 1);
        match &mut map.store {
            Store::Arena(pages) => Some((map.values, limit, pages)),
            _ => None,
        }
    }

    /// The number of the arena.
    pub(crate) fn arena_map(&self) -> Option<u32> {
        self.list.iter().position(|map| map.def.kind == MapKind::Arena).map(|at| at as u32)
    }

    /// The arena, of which a program can have one.
    pub(crate) fn the_arena(&self) -> Option<u64> {
        self.arena_map().map(|at| self.list[at as usize].values)
    }
}

/// Holds a definition to what the kernel takes (`htab_map_alloc_check()` and its kin): what is wrong with it, as what
/// the map has.
fn check_def(def: &Map) -> Result<(), String> {
    use MapKind::*;
    let kind = def.kind;
    let bytes = |what: &str, size: u32, expected: &str| Err(format!("{what} of {size} bytes; expected {expected}"));
    let storage = matches!(kind, TaskStorage | CgrpStorage);
    // libbpf makes a perf event array as large as there are CPUs.
    if def.max_entries == 0 && !storage && kind != PerfEventArray {
        return Err("max_entries is 0; expected 1 or more".to_string());
    }
    match kind {
        Array | PercpuArray | ArrayOfMaps if def.key_size != 4 => return bytes("keys", def.key_size, "4"),
        LpmTrie if !(5..=4 + LPM_DATA_SIZE_MAX).contains(&def.key_size) => {
            return bytes("keys", def.key_size, "5 to 260");
        }
        Hash | PercpuHash | LruHash | HashOfMaps if !(1..=KEY_MAX).contains(&def.key_size) => {
            return bytes("keys", def.key_size, "1 to 512");
        }
        _ => {}
    }
    let most = match kind {
        PercpuArray | PercpuHash => PCPU_MIN_UNIT_SIZE,
        Hash | LruHash | LpmTrie | Queue | Stack => KMALLOC_MAX_SIZE,
        TaskStorage | CgrpStorage => LOCAL_STORAGE_MAX,
        Array => i32::MAX as u32,
        ArrayOfMaps | HashOfMaps if def.value_size != 4 => return bytes("values", def.value_size, "4"),
        ArrayOfMaps | HashOfMaps if def.inner.is_none() => {
            return Err("no definition of its inner maps (`values`, or `inner_map_fd`)".to_string());
        }
        _ => return Ok(()),
    };
    if !(1..=most).contains(&def.value_size) {
        return bytes("values", def.value_size, &format!("1 to {most}"));
    }
    Ok(())
}

/// Room for an element, its values zero.
fn prepare(map: &BpfMap, memory: &mut Memory, element: u32) -> Result<(), NoMemory> {
    let end = (u64::from(element) + 1) * map.element_len();
    let have = memory.region_len(map.values);
    if end > have {
        // Twice as much as before, as far as all elements need it.
        let all = u64::from(map.def.max_entries.max(1)) * map.element_len();
        let twice = if all > end { (have * 2).min(all) } else { have * 2 };
        memory.grow(map.values, end.max(twice))?;
    }
    if let Ok(bytes) = memory.bytes_mut(map.value(element), map.element_len()) {
        bytes.fill(0);
    }
    Ok(())
}

/// A key of 4 bytes.
#[inline(always)]
fn index(key: &[u8]) -> u32 {
    key.first_chunk().map_or(u32::MAX, |key| u32::from_le_bytes(*key))
}

/// A trie's key with only the first bits of its data, if there are so many.
fn prefix(key: &[u8], bits: u32) -> Option<Box<[u8]>> {
    let (_, data) = key.split_at_checked(4)?;
    if u64::from(bits) > data.len() as u64 * 8 {
        return None;
    }
    let mut prefix = key.to_vec();
    prefix[..4].copy_from_slice(&bits.to_le_bytes());
    for (at, byte) in prefix[4..].iter_mut().enumerate() {
        let kept = bits.saturating_sub(at as u32 * 8).min(8);
        *byte &= (0xff00u16 >> kept) as u8;
    }
    Some(prefix.into())
}

/// The element with the longest prefix of a key.
fn longest_prefix(table: &Table, key: &[u8]) -> Option<u32> {
    let most = (key.len().saturating_sub(4) as u32 * 8).min(index(key));
    // One bit less each time.
    let mut prefix = prefix(key, most)?;
    let mut bits = most;
    loop {
        if let Some(element) = table.find(&prefix) {
            return Some(element);
        }
        bits = bits.checked_sub(1)?;
        prefix[..4].copy_from_slice(&bits.to_le_bytes());
        prefix[4 + bits as usize / 8] &= (0xff00u16 >> (bits % 8)) as u8;
    }
}

/// The work of finding the longest prefix of a key of so many bytes.
pub(crate) fn work_of_prefixes(key_size: u64) -> u64 {
    key_size.saturating_sub(4) * 8 * (8 + key_size / 8)
}

/// The first of `count` free pages in a row.
fn first_fit(pages: &[Page], count: u32) -> u32 {
    let mut first = 0;
    for (at, page) in pages.iter().enumerate() {
        if *page != Page::Free {
            first = at + 1;
        } else if at + 1 - first == count as usize {
            break;
        }
    }
    first as u32
}

fn set_pages(pages: &mut Vec<Page>, first: u32, count: u32, page: Page) {
    let end = first as usize + count as usize;
    if pages.len() < end {
        pages.resize(end, Page::Free);
    }
    pages[first as usize..end].fill(page);
}
