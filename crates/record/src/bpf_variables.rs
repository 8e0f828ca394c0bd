//! The variables of the BPF programs (`.bss`), which are mapped into this process.
//!
//! The programs write them on any CPU while this process reads them, and read them while it writes. No Rust reference
//! to their plain types may exist meanwhile, because the compiler assumes that what a `&T` refers to does not change
//! and that nobody else accesses what a `&mut T` refers to. They are accessed through a raw pointer, as atomics.

use crate::bpf_program::types::{bss, domain_part, tally};
use crate::wire::MAX_CPUS;
use anyhow::{Context, Result};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

/// The variables of a loaded object.
pub struct BpfVariables<'obj> {
    bss: NonNull<bss>,
    /// They stay mapped as long as the object is loaded.
    object: PhantomData<&'obj mut bss>,
}

/// Methods that return variables of these names.
macro_rules! variables {
    ($($(#[$doc:meta])* $name:ident: $atomic:ty;)*) => {
        $($(#[$doc])*
        pub fn $name(&self) -> &$atomic {
            // SAFETY: the variable is mapped and aligned, and this process accesses it as an atomic only.
            #[allow(unsafe_code)]
            unsafe {
                <$atomic>::from_ptr(&raw mut (*self.bss.as_ptr()).$name)
            }
        })*
    };
}

/// Methods that return an element of arrays of these names, which have one for each CPU.
macro_rules! by_cpu {
    ($($(#[$doc:meta])* $name:ident: $atomic:ty;)*) => {
        $($(#[$doc])*
        pub fn $name(&self, cpu: usize) -> &$atomic {
            // SAFETY: the index is checked; the element is mapped and aligned, and this process accesses it as an
            // atomic only.
            #[allow(unsafe_code)]
            unsafe {
                <$atomic>::from_ptr(&raw mut (*self.bss.as_ptr()).$name[cpu])
            }
        })*
    };
}

/// Methods that return fields of `struct tally`, summed over the CPUs.
macro_rules! tallies {
    ($($name:ident)*) => {
        $(#[doc = concat!("`tallies[].", stringify!($name), "`, summed over the CPUs.")]
        pub fn $name(&self) -> u64 {
            // SAFETY: the pointer is to an element of the array.
            #[allow(unsafe_code)]
            self.sum(|tally| unsafe { &raw mut (*tally).$name })
        })*
    };
}

impl<'obj> BpfVariables<'obj> {
    /// Takes the only reference to the variables out of a skeleton and keeps a raw pointer instead. To be called before
    /// a program of the object is attached or run.
    ///
    /// # Errors
    /// Fails if the object has no variables, or they were taken already.
    pub fn take(data: &mut Option<&'obj mut bss>) -> Result<Self> {
        let bss = NonNull::from(data.take().context("the program has no variables")?);
        Ok(BpfVariables { bss, object: PhantomData })
    }

    variables! {
        /// Whether wake-ups are counted.
        counting: AtomicU32;
        /// The number of the description of the machine: even while it is complete, odd while it is replaced.
        machine: AtomicU32;
        /// Whether a decision met domains other than those of the description.
        machine_changed: AtomicU32;
        /// How many events found no room in the ring buffer.
        lost_events: AtomicU64;
        /// How many events `--max-rate` left out.
        limited_events: AtomicU64;
        /// The number of the walk over all tasks, from 1.
        group_walk: AtomicU32;
        /// The CPU that `describe` describes.
        ask_cpu: AtomicU32;
        /// The level of the domain that `describe` describes.
        ask_level: AtomicU32;
        /// The address of the group that `describe` describes; 0 for the first.
        ask_group: AtomicU64;
        /// `jiffies` when `describe` ran.
        now_jiffies: AtomicU64;
        /// CLOCK_MONOTONIC when `describe` ran, ns.
        now_ns: AtomicU64;
    }

    by_cpu! {
        /// The address of a CPU's lowest domain.
        domain_of: AtomicU64;
        /// The first CPU of a CPU's LLC.
        llc_first: AtomicI32;
        /// The level of the domain of a CPU's LLC; -1 if it has none.
        llc_level: AtomicI32;
    }

    tallies! { wakings woken choices filtered sampled limited lost }

    fn sum(&self, field: fn(*mut tally) -> *mut u64) -> u64 {
        let read = |cpu: usize| {
            // SAFETY: the field is mapped and aligned, and this process accesses it as an atomic only. Acquire keeps
            // the order in which the caller reads several fields.
            #[allow(unsafe_code)]
            unsafe {
                AtomicU64::from_ptr(field(&raw mut (*self.bss.as_ptr()).tallies[cpu])).load(Ordering::Acquire)
            }
        };
        (0..MAX_CPUS).map(read).sum()
    }

    /// A copy of what `describe` has described. It runs only while `BPF_PROG_TEST_RUN` waits for it.
    pub fn part(&self) -> domain_part {
        // SAFETY: the variable is mapped and aligned, and no program writes it now.
        #[allow(unsafe_code)]
        unsafe {
            (&raw const (*self.bss.as_ptr()).part).read_volatile()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_where_the_programs_write_them() {
        // SAFETY: these are integers.
        #[allow(unsafe_code)]
        let mut memory: Box<bss> = unsafe { Box::new(std::mem::zeroed()) };
        (memory.tallies[0].lost, memory.tallies[MAX_CPUS - 1].lost, memory.tallies[1].choices) = (3, 4, 9);
        (memory.machine, memory.llc_level[7], memory.lost_events, memory.part.exists) = (6, -1, 5, 1);
        let mut data = Some(&mut *memory);
        let variables = BpfVariables::take(&mut data).unwrap();
        assert!(BpfVariables::take(&mut data).is_err(), "there is one reference");
        assert_eq!((variables.lost(), variables.choices(), variables.woken()), (7, 9, 0));
        assert_eq!(variables.machine().load(Ordering::Relaxed), 6);
        assert_eq!(variables.llc_level(7).load(Ordering::Relaxed), -1);
        assert_eq!(variables.lost_events().load(Ordering::Relaxed), 5);
        assert_eq!(variables.part().exists, 1);
        variables.domain_of(MAX_CPUS - 1).store(8, Ordering::SeqCst);
        variables.counting().store(1, Ordering::SeqCst);
        assert_eq!((memory.domain_of[MAX_CPUS - 1], memory.domain_of[MAX_CPUS - 2], memory.counting), (8, 0, 1));
    }
}
