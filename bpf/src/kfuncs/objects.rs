//! Objects that programs make and hold by references: cpumasks and what `bpf_obj_new()` makes.
//!
//! An object lives until its last reference is released. A reference that is in a value of a map (`__kptr`, put there
//! by
//! `bpf_kptr_xchg()`) is released with the value.

use super::Own;
use crate::fault::{Fault, FaultKind};
use crate::machine::{Kernel, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// All objects, and who has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects {
    /// The references of each object, by its address.
    refs: BTreeMap<u64, u32>,
    /// The places in memory that have references.
    owners: BTreeSet<u64>,
    /// References to the kernel's objects that went with the place that had them, and are to be given back.
    kernels: Vec<u64>,
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
            let text = format!("programs hold {limit} objects, as many as they may: they do not release them");
            return Err(Fault::new(FaultKind::Object(text)));
        }
        let addr = self.memory.allocate(name, len)?;
        self.objects.refs.insert(addr, 1);
        Ok(addr)
    }

    /// `bpf_obj_new()`: an object of a type of the program's.
    pub(super) fn obj_new(&mut self, type_id: u64) -> Result<u64, Fault> {
        let types = &self.image.local_types;
        let Ok(at) = types.binary_search_by_key(&type_id, |local| u64::from(local.id)) else {
            return Err(Fault::argument("bpf_obj_new", format!("a type of the object, and {type_id} is none")));
        };
        let (name, size) = (types[at].name.clone(), types[at].size);
        self.new_object(&name, size)
    }

    /// One more reference to an object: its address.
    pub(super) fn acquire(&mut self, own: Own, addr: u64) -> Result<u64, Fault> {
        match self.objects.refs.get_mut(&addr) {
            Some(refs) => {
                *refs += 1;
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
        self.put(addr);
        Ok(())
    }

    fn no_object(&self, own: Own, addr: u64) -> Fault {
        let what = self.memory.region_name(addr).unwrap_or("no region, or one that has been freed");
        let text = format!("{}() expected a reference that the program holds, and {addr:#x} is {what}", own.name());
        Fault::new(FaultKind::Object(text))
    }

    /// Releases a reference. One to an object of the kernel's is given back afterwards
    /// ([`give_back`](Self::give_back)).
    fn put(&mut self, addr: u64) {
        let Some(refs) = self.objects.refs.get_mut(&addr) else {
            if addr != 0 {
                self.objects.kernels.push(addr);
            }
            return;
        };
        *refs -= 1;
        if *refs == 0 {
            self.objects.refs.remove(&addr);
            let len = self.memory.region_len(addr);
            self.drop_kptrs(addr, len);
            self.memory.free(addr);
        }
    }

    /// `bpf_kptr_xchg()`: puts a reference in a place, and takes the one that was there.
    pub(crate) fn kptr_xchg(&mut self, place: u64, new: u64) -> Result<u64, Fault> {
        let old = self.memory.read_u64(place)?;
        self.memory.program_bytes_mut(place, 8)?.copy_from_slice(&new.to_le_bytes());
        if new == 0 {
            self.objects.owners.remove(&place);
        } else {
            self.objects.owners.insert(place);
        }
        Ok(old)
    }

    /// Gives references back to the kernel that went with the places that had them.
    pub(crate) fn give_back<K: Kernel>(&mut self, kernel: &mut K) {
        while let Some(addr) = self.objects.kernels.pop() {
            kernel.kptr_release(self, addr);
        }
    }

    /// Releases the references that are in a range of memory, and what is in its trees and lists.
    pub(crate) fn drop_kptrs(&mut self, addr: u64, len: u64) {
        let places: Vec<u64> = self.objects.owners.range(addr..addr + len).copied().collect();
        for place in places {
            self.objects.owners.remove(&place);
            let object = self.memory.read_u64(place).unwrap_or_default();
            let _ = self.memory.write_u64(place, 0);
            self.put(object);
        }
        for node in self.graph.drain_roots(addr, len) {
            // A node is somewhere in its object, which has a region of its own.
            self.put(node & !0xffff_ffff);
        }
    }
}
