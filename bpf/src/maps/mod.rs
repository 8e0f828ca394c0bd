//! Maps.
//!
//! Values are in regions of their own, one a map: a pointer to a value of an array or a hash map stays what it is until
//! the element is deleted, as in the kernel. Where the kernel's order depends on a random seed or on which CPU came
//! first, there is one order here: hash maps are iterated in the order in which their elements were inserted, and an
//! LRU map evicts the element that was used least recently (the kernel's evicts one of those that were not used lately,
//! `bpf_lru_pop_free()`).

mod table;

use crate::image::{Map, MapKind};
use crate::memory::{Memory, NoMemory};
use std::collections::VecDeque;
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

/// What a map holds.
#[derive(Clone, Debug)]
enum Store {
    Array,
    Table(Table),
    /// The inner maps of an array of maps.
    Maps(Vec<Option<u32>>),
    Queue(VecDeque<Box<[u8]>>),
    Ringbuf {
        records: VecDeque<Record>,
        produced: u64,
        consumed: u64,
    },
    /// What user space has put in.
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
    /// What programs call it: the address of an empty region.
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

    fn element_len(&self) -> u64 {
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
        Maps { list: Vec::new(), numbers: Vec::new(), nr_cpus: nr_cpus.max(1), gone: Vec::new() }
    }

    /// Makes a map: its number.
    pub(crate) fn create(&mut self, mut def: Map, memory: &mut Memory) -> Result<u32, String> {
        let name = if def.name.is_empty() { "a map without a name".to_string() } else { def.name.clone() };
        if !known(def.kind) {
            return Err(format!("map {name} is {:?}", def.kind));
        }
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
                if def.key_size != 4 {
                    return Err(format!("map {name} has keys of {} bytes, expected 4", def.key_size));
                }
                // The data is the first value of global data, whose section can be longer than the object's bytes.
                let mut bytes = std::mem::take(&mut initial);
                bytes.resize(len(def.max_entries)? as usize, 0);
                let values = memory.allocate_with(&name, bytes).map_err(|no| format!("map {name}: {no}"))?;
                (values, Store::Array)
            }
            MapKind::Hash | MapKind::PercpuHash | MapKind::LruHash | MapKind::LpmTrie | MapKind::HashOfMaps => {
                if def.key_size == 0 || (def.kind == MapKind::LpmTrie && def.key_size <= 4) {
                    return Err(format!("map {name} has keys of {} bytes", def.key_size));
                }
                if def.kind == MapKind::HashOfMaps && def.value_size != 4 {
                    return Err(format!("map {name} has values of {} bytes, expected 4", def.value_size));
                }
                let table = Table::new(memory, &name, def.key_size, def.max_entries);
                (memory.region(&name, 0), Store::Table(table))
            }
            // The kernel's key is a file descriptor of a task or cgroup; programs give its pointer.
            MapKind::TaskStorage | MapKind::CgrpStorage => {
                (memory.region(&name, 0), Store::Table(Table::new(memory, &name, 8, u32::MAX)))
            }
            MapKind::ArrayOfMaps => {
                let mut slots = def.slots.clone();
                slots.resize(def.max_entries as usize, None);
                (0, Store::Maps(slots))
            }
            MapKind::Queue | MapKind::Stack => (0, Store::Queue(VecDeque::new())),
            MapKind::Ringbuf => {
                // As libbpf's adjust_ringbuf_sz() does: the kernel wants pages, and a power of two of them.
                let bytes = u64::from(def.max_entries).max(PAGE_SIZE).next_power_of_two();
                def.max_entries = u32::try_from(bytes).map_err(|_| too_big())?;
                (0, Store::Ringbuf { records: VecDeque::new(), produced: 0, consumed: 0 })
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
        value: &[u8],
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
            if let Ok(place) = memory.bytes_mut(map.value_of(element, cpu), u64::from(map.def.value_size)) {
                place.copy_from_slice(value);
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
                Some(inner) => self.update(map, memory, key, &inner.to_le_bytes(), 0, None),
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

    /// The elements of a map, in its order: what [`Maps::element`] wants.
    pub(crate) fn elements(&self, map: u32) -> Vec<(u32, u32)> {
        let Some(map) = self.get(map) else { return Vec::new() };
        match &map.store {
            Store::Array => (0..map.def.max_entries).map(|element| (element, 0)).collect(),
            Store::Table(table) => table.elements(),
            _ => Vec::new(),
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
    pub(crate) fn push(&mut self, map: u32, value: &[u8], flags: u64) -> i64 {
        let Some(map) = self.list.get_mut(map as usize) else { return EINVAL };
        let Store::Queue(queue) = &mut map.store else { return EINVAL };
        if flags & BPF_NOEXIST != 0 || flags > BPF_EXIST {
            return EINVAL;
        }
        if queue.len() as u64 >= u64::from(map.def.max_entries) {
            if flags & BPF_EXIST == 0 {
                return E2BIG;
            }
            queue.pop_front();
        }
        queue.push_back(value.into());
        0
    }

    /// `bpf_map_pop_elem()`, and without `remove` `bpf_map_peek_elem()`: what comes next.
    pub(crate) fn pop(&mut self, map: u32, remove: bool) -> Option<Box<[u8]>> {
        let map = self.list.get_mut(map as usize)?;
        let stack = map.def.kind == MapKind::Stack;
        let Store::Queue(queue) = &mut map.store else { return None };
        match (stack, remove) {
            (false, true) => queue.pop_front(),
            (false, false) => queue.front().cloned(),
            (true, true) => queue.pop_back(),
            (true, false) => queue.back().cloned(),
        }
    }

    /// `bpf_ringbuf_reserve()`: the address of the record; 0 if there is no room.
    pub(crate) fn ringbuf_reserve(&mut self, map: u32, memory: &mut Memory, size: u64) -> Result<u64, NoMemory> {
        let Some(map) = self.list.get_mut(map as usize) else { return Ok(0) };
        let Store::Ringbuf { records, produced, consumed } = &mut map.store else { return Ok(0) };
        let len = size.saturating_add(8).checked_next_multiple_of(8).unwrap_or(u64::MAX);
        let room = u64::from(map.def.max_entries) - 1;
        if len > room || *produced + len - *consumed > room {
            return Ok(0);
        }
        let addr = memory.allocate(&format!("record of {}", map.def.name), size as u32)?;
        *produced += len;
        records.push_back(Record { addr, len: size as u32, state: RecordState::Busy });
        Ok(addr)
    }

    /// `bpf_ringbuf_submit()` or `bpf_ringbuf_discard()`: whether a record begins there that was neither.
    pub(crate) fn ringbuf_commit(&mut self, memory: &mut Memory, addr: u64, submit: bool) -> bool {
        for map in &mut self.list {
            let Store::Ringbuf { records, .. } = &mut map.store else { continue };
            let record = records.iter_mut().rev().find(|record| record.addr == addr);
            if let Some(record) = record.filter(|record| record.state == RecordState::Busy) {
                record.state = if submit { RecordState::Submitted } else { RecordState::Discarded };
                // The program has given it away: it may not write it any more.
                memory.set_read_only(addr, true);
                return true;
            }
        }
        false
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

    /// What user space reads of a ring buffer: the records up to the first that is not submitted yet.
    pub(crate) fn ringbuf_take(&mut self, map: u32, memory: &mut Memory) -> Vec<Vec<u8>> {
        let Some(BpfMap { store: Store::Ringbuf { records, consumed, .. }, .. }) = self.list.get_mut(map as usize)
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
        }
        taken
    }

    /// What user space writes to a user ring buffer: whether there was room.
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
    (0..=most).rev().find_map(|bits| prefix(key, bits).and_then(|prefix| table.find(&prefix)))
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
