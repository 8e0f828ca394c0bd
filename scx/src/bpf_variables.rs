//! The variables of the BPF program (`.bss` and `.data`), which are mapped into this process.
//!
//! The program writes them on any CPU while this process reads them. No Rust reference to their plain types may exist
//! meanwhile, because the compiler assumes that what a `&T` refers to does not change and that nobody else accesses what
//! a `&mut T` refers to. They are copied through raw pointers, word by word, as atomics. A copy may have words of
//! different moments, as statistics do.

use crate::bpf_skel::types::{bss, cpu_state, data, group_state, llc_state, user_exit_info};
use anyhow::{Context, Result};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The variables of a loaded object.
pub struct BpfVariables<'obj> {
    bss: NonNull<bss>,
    data: NonNull<data>,
    /// They stay mapped as long as the object is loaded.
    object: PhantomData<&'obj mut bss>,
}

/// Types that are integers only, so that any bits are a value.
///
/// # Safety
/// All bits of all fields must be valid, the size must be a multiple of 4, and so must the alignment.
unsafe trait Words: Copy {}

// SAFETY: they have integers, and arrays and structs of them; their sizes are held by a test.
unsafe impl Words for cpu_state {}
// SAFETY: as above.
unsafe impl Words for llc_state {}
// SAFETY: as above.
unsafe impl Words for group_state {}
// SAFETY: as above.
unsafe impl Words for user_exit_info {}

/// Copies a value that others may be writing.
///
/// # Safety
/// `from` must be mapped, aligned, and accessed by this process as atomics only.
unsafe fn copy<T: Words>(from: *mut T) -> T {
    let mut copy = MaybeUninit::<T>::uninit();
    let to = copy.as_mut_ptr();
    // SAFETY: by the caller and `Words`, both places have so many words. A field of 8 bytes is read at once.
    unsafe {
        if align_of::<T>().is_multiple_of(8) && size_of::<T>().is_multiple_of(8) {
            for at in 0..size_of::<T>() / 8 {
                let word = AtomicU64::from_ptr(from.cast::<u64>().add(at)).load(Ordering::Relaxed);
                to.cast::<u64>().add(at).write(word);
            }
        } else {
            for at in 0..size_of::<T>() / 4 {
                let word = AtomicU32::from_ptr(from.cast::<u32>().add(at)).load(Ordering::Relaxed);
                to.cast::<u32>().add(at).write(word);
            }
        }
        copy.assume_init()
    }
}

impl<'obj> BpfVariables<'obj> {
    /// Takes the only references to the variables out of a skeleton and keeps raw pointers instead. To be called before
    /// the scheduler is attached.
    ///
    /// # Errors
    /// Fails if the object has no variables, or they were taken already.
    pub fn take(bss: &mut Option<&'obj mut bss>, data: &mut Option<&'obj mut data>) -> Result<Self> {
        let bss = NonNull::from(bss.take().context("the program has no variables (.bss)")?);
        let data = NonNull::from(data.take().context("the program has no variables (.data)")?);
        Ok(BpfVariables { bss, data, object: PhantomData })
    }

    /// The features that are on, by bit.
    pub fn features(&self) -> &AtomicU64 {
        // SAFETY: the variable is mapped and aligned, and this process accesses it as an atomic only.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.bss.as_ptr()).features) }
    }

    /// How many slots of control groups were ever used, with the root's.
    pub fn nr_group_slots(&self) -> u32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.bss.as_ptr()).nr_group_slots) }.load(Ordering::Relaxed)
    }

    /// How many control groups have no slot.
    pub fn groups_without_slot(&self) -> u32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.bss.as_ptr()).groups_without_slot) }.load(Ordering::Relaxed)
    }

    /// Whether a CPU is idle and not claimed.
    pub fn is_idle(&self, cpu: usize) -> bool {
        // SAFETY: as above; the index is checked.
        let word = unsafe { AtomicU64::from_ptr(&raw mut (*self.bss.as_ptr()).idle_cpus[cpu / 64]) };
        word.load(Ordering::Relaxed) >> (cpu % 64) & 1 != 0
    }

    /// The state of a CPU.
    pub fn cpu_state(&self, cpu: usize) -> cpu_state {
        // SAFETY: the index is checked; the element is mapped and aligned, and accessed as atomics only.
        unsafe { copy(&raw mut (*self.bss.as_ptr()).cpu_states[cpu]) }
    }

    /// The state of an LLC.
    pub fn llc_state(&self, llc: usize) -> llc_state {
        // SAFETY: as above.
        unsafe { copy(&raw mut (*self.bss.as_ptr()).llc_states[llc]) }
    }

    /// The states of the control groups whose slots were ever used, by slot.
    pub fn groups(&self) -> Vec<group_state> {
        // SAFETY: as above. Only the length of the array is read through the reference, and it is no variable.
        let slots = unsafe { (&raw const (*self.bss.as_ptr()).groups).cast::<group_state>() };
        let used = (self.nr_group_slots() as usize).min(size_of_val_of_groups());
        // SAFETY: the slots are mapped and aligned, and accessed as atomics only.
        (0..used).map(|slot| unsafe { copy(slots.add(slot).cast_mut()) }).collect()
    }

    /// Whether the kernel has disabled the scheduler.
    pub fn has_exited(&self) -> bool {
        // SAFETY: the variable is mapped and aligned, and this process accesses it as an atomic only.
        unsafe { AtomicI32::from_ptr(&raw mut (*self.data.as_ptr()).uei.kind) }.load(Ordering::Acquire) != 0
    }

    /// Why the kernel has disabled the scheduler. It writes this once, and `kind` last.
    pub fn exit_info(&self) -> user_exit_info {
        // SAFETY: as above.
        unsafe { copy(&raw mut (*self.data.as_ptr()).uei) }
    }
}
