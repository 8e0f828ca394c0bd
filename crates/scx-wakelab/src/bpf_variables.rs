//! The variables of the BPF program (`.bss` and `.data`), which are mapped into this process.
//!
//! The program writes them on any CPU while this process reads them. No Rust reference to their plain types may exist
//! meanwhile, because the compiler assumes that what a `&T` refers to does not change and that nobody else accesses
//! what a `&mut T` refers to. They are copied through raw pointers, word by word, as atomics. A copy may have words of
//! different moments, as statistics do.

use crate::bpf_skel::types::{bss, cpu_state, data, group_state, llc_state, user_exit_info};
use anyhow::{Context, Result};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// As in src/bpf/intf.h.
const MAX_GROUPS: usize = 4096;

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

    /// Returns the number of slots of control groups that were ever used, including the root's.
    pub fn nr_group_slots(&self) -> u32 {
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.bss.as_ptr()).nr_group_slots) }.load(Ordering::Relaxed)
    }

    /// Returns the number of control groups without a slot.
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
        let used = (self.nr_group_slots() as usize).min(MAX_GROUPS);
        // SAFETY: as above.
        (0..used).map(|slot| unsafe { copy(&raw mut (*self.bss.as_ptr()).groups[slot]) }).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_where_the_program_writes_them() {
        // SAFETY: these are integers, a bool that is false, and a null pointer.
        let (mut bss, mut data): (Box<bss>, Box<data>) =
            unsafe { (Box::new_zeroed().assume_init(), Box::new_zeroed().assume_init()) };
        bss.features = 5;
        bss.nr_group_slots = 3;
        bss.groups[2].sum = -7;
        bss.idle_cpus[1] = 1 << 3;
        (bss.cpu_states[1023].vclock, bss.cpu_states[1023].nr_runnable, bss.cpu_states[1023].counts.longest_wait_pid) =
            (8, 9, 10);
        (bss.llc_states[1].nr_idle_scan, bss.llc_states[1].load) = (-1, 11);
        (data.uei.kind, data.uei.exit_code, data.uei.msg[1023]) = (64, 12, 13);
        let (mut first, mut second) = (Some(&mut *bss), Some(&mut *data));
        let variables = BpfVariables::take(&mut first, &mut second).unwrap();
        assert!(BpfVariables::take(&mut first, &mut second).is_err(), "there is one reference");
        assert_eq!(variables.features().load(Ordering::Relaxed), 5);
        assert_eq!(variables.groups().iter().map(|group| group.sum).collect::<Vec<_>>(), [0, 0, -7]);
        assert_eq!([66, 67, 3].map(|cpu| variables.is_idle(cpu)), [false, true, false]);
        let cpu = variables.cpu_state(1023);
        assert_eq!((cpu.vclock, cpu.nr_runnable, cpu.counts.longest_wait_pid), (8, 9, 10));
        assert_eq!((variables.llc_state(1).nr_idle_scan, variables.llc_state(1).load), (-1, 11));
        let exit = variables.exit_info();
        assert_eq!((variables.has_exited(), exit.kind, exit.exit_code, exit.msg[1023]), (true, 64, 12, 13));
        variables.features().store(6, Ordering::Relaxed);
        assert_eq!(bss.features, 6);
    }

    #[test]
    fn whole_words_are_copied() {
        assert_eq!(
            [size_of::<cpu_state>(), size_of::<llc_state>(), size_of::<group_state>(), size_of::<user_exit_info>()]
                .map(|size| size % 8),
            [0; 4]
        );
        assert!(include_str!("bpf/intf.h").contains(&format!("#define MAX_GROUPS {MAX_GROUPS}\n")));
    }
}
