//! Objects that programs make and hold by references: cpumasks and what `bpf_obj_new()` makes.
//!
//! An object lives until its last reference is released. A reference that is in a value of a map (`__kptr`, put there
//! by `bpf_kptr_xchg()`) is released with the value. Objects can have references to each other, in chains of any
//! length: they go one after the other, not one within the other.

use super::Own;
use super::graph::NODE_COST;
use crate::fault::{Fault, FaultKind};
use crate::machine::{Kernel, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// The cost of an object besides its region, and of an address that has a reference, bytes.
const OBJECT_COST: u64 = 64;

/// The work that is left when objects are dropped.
enum ToDo {
    /// To release a reference.
    Put(u64),
    /// To free an object whose own references have been released.
    Free(u64),
}

/// All objects, and who has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// The references of each object, by its address.
    refs: BTreeMap<u64, u32>,
    /// The places in memory that have references.
    owners: BTreeSet<u64>,
    /// References to the kernel's objects that went with the place that had them, and are to be given back.
    kernels: Vec<u64>,
    /// References are being given back to the kernel: what goes meanwhile is given back after them.
    giving_back: bool,
    /// The copies of bits that iterators have made and not freed.
    pub(super) bits: BTreeSet<u64>,
    /// `distribute_cpu_mask_prev`, by CPU.
    pub(super) distribute_prev: Vec<u32>,
}

impl Machine {
    /// How many objects programs hold.
    pub fn objects(&self) -> u32 {
        self.objects.refs.len() as u32
    }

    /// A new object with one reference.
    pub(super) fn new_object(&mut self, name: &str, len: u32) -> Result<u64, Fault> {
        if self.objects.refs.len() as u64 >= u64::from(self.limits.objects) {
            let limit = self.limits.objects;
            let text = format!("programs hold {limit} objects, which is the limit: they do not release them");
            return Err(Fault::new(FaultKind::Object(text)));
        }
        self.work(u64::from(len) / 8)?;
        self.memory.charge(OBJECT_COST)?;
        let addr = match self.memory.allocate(name, len) {
            Ok(addr) => addr,
            Err(no) => {
                self.memory.discharge(OBJECT_COST);
                return Err(no.into());
            }
        };
        self.objects.refs.insert(addr, 1);
        Ok(addr)
    }

    /// `bpf_obj_new()`: an object of a type of the program's.
    pub(super) fn obj_new(&mut self, type_id: u64) -> Result<u64, Fault> {
        let image = self.image.clone();
        let types = &image.local_types;
        let Ok(at) = types.binary_search_by_key(&type_id, |local| u64::from(local.id)) else {
            return Err(Fault::argument("bpf_obj_new", format!("a type of the object, but {type_id} is not one")));
        };
        self.new_object(&types[at].name, types[at].size)
    }

    /// One more reference to an object: its address.
    pub(super) fn acquire(&mut self, own: Own, addr: u64) -> Result<u64, Fault> {
        match self.objects.refs.get_mut(&addr) {
            Some(refs) => {
                *refs = refs.saturating_add(1);
                Ok(addr)
            }
            None => Err(self.no_object(own, addr)),
        }
    }

    /// One reference less.
    pub(super) fn release(&mut self, own: Own, addr: u64) -> Result<(), Fault> {
        if !self.objects.refs.contains_key(&addr) {
            return Err(self.no_object(own, addr));
        }
        self.work(1)?;
        self.put_all(vec![ToDo::Put(addr)]);
        Ok(())
    }

    /// Whether an object lives at an address.
    pub(super) fn is_object(&self, addr: u64) -> bool {
        self.objects.refs.contains_key(&addr)
    }

    fn no_object(&self, own: Own, addr: u64) -> Fault {
        let what = self.memory.region_name(addr).unwrap_or("in no region, or in a freed one");
        let text = format!("{}() expected a reference that the program holds, but {addr:#x} is {what}", own.name());
        Fault::new(FaultKind::Object(text))
    }

    /// Releases references, and those that objects have which go with them, in the order in which each object's are
    /// released before it is freed. References to objects of the kernel's are given back afterwards
    /// ([`give_back`](Self::give_back)).
    fn put_all(&mut self, mut to_do: Vec<ToDo>) {
        while let Some(next) = to_do.pop() {
            match next {
                ToDo::Free(addr) => self.memory.free(addr),
                ToDo::Put(addr) => {
                    let Some(refs) = self.objects.refs.get_mut(&addr) else {
                        if addr != 0 {
                            self.objects.kernels.push(addr);
                        }
                        continue;
                    };
                    *refs -= 1;
                    if *refs == 0 {
                        self.objects.refs.remove(&addr);
                        self.memory.discharge(OBJECT_COST);
                        to_do.push(ToDo::Free(addr));
                        let len = self.memory.region_len(addr);
                        self.take_kptrs(addr, len, &mut to_do);
                        let nodes = self.graph.forget(addr, len);
                        self.memory.discharge(nodes * NODE_COST);
                    }
                }
            }
        }
        // What has gone is gone: a program that went too far ends at its next work.
        let swept = self.graph.sweep();
        let _ = self.work(swept / 4);
    }

    /// Takes the references out of a range of memory, with those of its trees and lists, the first on top.
    fn take_kptrs(&mut self, addr: u64, len: u64, to_do: &mut Vec<ToDo>) {
        let from = to_do.len();
        let places: Vec<u64> = self.objects.owners.range(addr..addr.saturating_add(len)).copied().collect();
        for place in places {
            self.objects.owners.remove(&place);
            self.memory.discharge(OBJECT_COST);
            let object = self.memory.read_u64(place).unwrap_or_default();
            let _ = self.memory.write_u64(place, 0);
            to_do.push(ToDo::Put(object));
        }
        for node in self.graph.drain_roots(addr, len) {
            self.memory.discharge(NODE_COST);
            // A node is somewhere in its object, which has a region of its own.
            to_do.push(ToDo::Put(node & !0xffff_ffff));
        }
        to_do[from..].reverse();
    }

    /// `bpf_kptr_xchg()`: puts a reference in a place, and takes the one that was there.
    pub(crate) fn kptr_xchg(&mut self, place: u64, new: u64) -> Result<u64, Fault> {
        let old = self.memory.read_u64(place)?;
        // The verifier knows where a type has its references.
        if !place.is_multiple_of(8) {
            return Err(Fault::argument("bpf_kptr_xchg", "an address that is a multiple of 8, with room for 8 bytes"));
        }
        self.memory.program_bytes_mut(place, 8)?;
        let had = self.objects.owners.contains(&place);
        match (had, new != 0) {
            (false, true) => {
                self.memory.charge(OBJECT_COST)?;
                self.objects.owners.insert(place);
            }
            (true, false) => {
                self.memory.discharge(OBJECT_COST);
                self.objects.owners.remove(&place);
            }
            _ => {}
        }
        self.memory.program_write(place, new.to_le_bytes())?;
        Ok(old)
    }

    /// Gives references back to the kernel that went with the places that had them.
    pub(crate) fn give_back<K: Kernel>(&mut self, kernel: &mut K) {
        // The kernel frees what nobody holds any more, and with it what that had.
        if std::mem::replace(&mut self.objects.giving_back, true) {
            return;
        }
        while let Some(addr) = self.objects.kernels.pop() {
            kernel.kptr_release(self, addr);
        }
        self.objects.giving_back = false;
    }

    /// Releases the references that are in a range of memory, and what is in its trees and lists.
    pub(crate) fn drop_kptrs(&mut self, addr: u64, len: u64) {
        let mut to_do = Vec::new();
        self.take_kptrs(addr, len, &mut to_do);
        if !to_do.is_empty() {
            self.put_all(to_do);
        }
    }
}
