//! The kernel functions that are BPF's own, and not of what is simulated: cpumasks, objects with references, trees and
//! lists, iterators over numbers and bits, arenas, locks.

mod cpumask;
mod graph;
mod iter;
mod objects;

use crate::fault::{Fault, FaultKind};
use crate::machine::{Kernel, Machine};
use crate::maps::errno::*;
pub(crate) use graph::Graph;
pub(crate) use objects::Objects;

/// The enum of the functions, their names, and all of them in the enum's order.
macro_rules! own {
    ($($variant:ident $name:literal),+ $(,)?) => {
        /// A kernel function that the machine does itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Own {
            $($variant),+
        }

        impl Own {
            /// All of them: the place is the number.
            pub(crate) const ALL: &[Own] = &[$(Own::$variant),+];

            const NAMES: &[&str] = &[$($name),+];
        }
    };
}

own! {
    CpumaskCreate "bpf_cpumask_create",
    CpumaskAcquire "bpf_cpumask_acquire",
    CpumaskRelease "bpf_cpumask_release",
    CpumaskFirst "bpf_cpumask_first",
    CpumaskFirstZero "bpf_cpumask_first_zero",
    CpumaskFirstAnd "bpf_cpumask_first_and",
    CpumaskSetCpu "bpf_cpumask_set_cpu",
    CpumaskClearCpu "bpf_cpumask_clear_cpu",
    CpumaskTestCpu "bpf_cpumask_test_cpu",
    CpumaskTestAndSetCpu "bpf_cpumask_test_and_set_cpu",
    CpumaskTestAndClearCpu "bpf_cpumask_test_and_clear_cpu",
    CpumaskSetall "bpf_cpumask_setall",
    CpumaskClear "bpf_cpumask_clear",
    CpumaskAnd "bpf_cpumask_and",
    CpumaskOr "bpf_cpumask_or",
    CpumaskXor "bpf_cpumask_xor",
    CpumaskEqual "bpf_cpumask_equal",
    CpumaskIntersects "bpf_cpumask_intersects",
    CpumaskSubset "bpf_cpumask_subset",
    CpumaskEmpty "bpf_cpumask_empty",
    CpumaskFull "bpf_cpumask_full",
    CpumaskCopy "bpf_cpumask_copy",
    CpumaskAnyDistribute "bpf_cpumask_any_distribute",
    CpumaskAnyAndDistribute "bpf_cpumask_any_and_distribute",
    CpumaskWeight "bpf_cpumask_weight",
    CpumaskPopulate "bpf_cpumask_populate",
    IterNumNew "bpf_iter_num_new",
    IterNumNext "bpf_iter_num_next",
    IterNumDestroy "bpf_iter_num_destroy",
    IterBitsNew "bpf_iter_bits_new",
    IterBitsNext "bpf_iter_bits_next",
    IterBitsDestroy "bpf_iter_bits_destroy",
    RcuReadLock "bpf_rcu_read_lock",
    RcuReadUnlock "bpf_rcu_read_unlock",
    PreemptDisable "bpf_preempt_disable",
    PreemptEnable "bpf_preempt_enable",
    LocalIrqSave "bpf_local_irq_save",
    LocalIrqRestore "bpf_local_irq_restore",
    ArenaAllocPages "bpf_arena_alloc_pages",
    ArenaFreePages "bpf_arena_free_pages",
    ArenaReservePages "bpf_arena_reserve_pages",
    ObjNew "bpf_obj_new",
    ObjDrop "bpf_obj_drop",
    RefcountAcquire "bpf_refcount_acquire",
    RbtreeAdd "bpf_rbtree_add",
    RbtreeRemove "bpf_rbtree_remove",
    RbtreeFirst "bpf_rbtree_first",
    ListPushFront "bpf_list_push_front",
    ListPushBack "bpf_list_push_back",
    ListPopFront "bpf_list_pop_front",
    ListPopBack "bpf_list_pop_back",
    ListFront "bpf_list_front",
    ListBack "bpf_list_back",
    ResSpinLock "bpf_res_spin_lock",
    ResSpinUnlock "bpf_res_spin_unlock",
    ResSpinLockIrqsave "bpf_res_spin_lock_irqsave",
    ResSpinUnlockIrqrestore "bpf_res_spin_unlock_irqrestore",
    StreamVprintk "bpf_stream_vprintk",
    RdonlyCast "bpf_rdonly_cast",
}

impl Own {
    /// The function with a name. Those whose last arguments the verifier fills in have a second one (`_impl`).
    pub(crate) fn by_name(name: &str) -> Option<Own> {
        let name = name.strip_suffix("_impl").unwrap_or(name);
        Own::NAMES.iter().position(|own| *own == name).map(|at| Own::ALL[at])
    }

    fn name(self) -> &'static str {
        Own::NAMES[self as usize]
    }
}

/// Whether the machine has a kernel function of this name itself.
pub fn is_own(name: &str) -> bool {
    Own::by_name(name).is_some()
}

impl Machine {
    /// Calls a kernel function of the machine's.
    #[inline(never)]
    pub(crate) fn own<K: Kernel>(&mut self, kernel: &mut K, own: Own, a: [u64; 5]) -> Result<u64, Fault> {
        match own {
            Own::IterNumNew => self.iter_num_new(a[0], a[1] as i32, a[2] as i32),
            Own::IterNumNext => self.iter_num_next(a[0]),
            Own::IterNumDestroy => {
                self.memory.program_write(a[0], [0; 8])?;
                Ok(0)
            }
            Own::IterBitsNew => self.iter_bits_new(a[0], a[1], a[2] as u32),
            Own::IterBitsNext => self.iter_bits_next(a[0]),
            Own::IterBitsDestroy => self.iter_bits_destroy(a[0]),
            // Nothing else runs, and nothing is freed while a program runs.
            Own::RcuReadLock | Own::RcuReadUnlock | Own::PreemptDisable | Own::PreemptEnable => Ok(0),
            Own::LocalIrqSave | Own::LocalIrqRestore => Ok(0),
            Own::ArenaAllocPages => {
                let map = self.arena_arg(own, a[0])?;
                self.work(self.maps.arena_work(map, a[2] as u32) * 4)?;
                Ok(self.maps.arena_alloc(map, &mut self.memory, a[1], a[2] as u32)?)
            }
            Own::ArenaFreePages => {
                let map = self.arena_arg(own, a[0])?;
                self.work(self.maps.arena_work(map, a[2] as u32))?;
                self.maps.arena_free(map, a[1], a[2] as u32);
                Ok(0)
            }
            Own::ArenaReservePages => {
                let map = self.arena_arg(own, a[0])?;
                self.work(self.maps.arena_work(map, a[2] as u32))?;
                Ok(self.maps.arena_reserve(map, a[1], a[2] as u32) as u64)
            }
            Own::ObjNew => self.obj_new(a[0]),
            Own::ObjDrop => {
                self.release(own, a[0])?;
                self.give_back(kernel);
                Ok(0)
            }
            Own::RefcountAcquire => self.acquire(own, a[0]),
            Own::RbtreeAdd => self.rbtree_add(kernel, a),
            Own::RbtreeRemove => self.rbtree_remove(a[0], a[1]),
            Own::RbtreeFirst | Own::ListFront => Ok(self.graph.first(a[0])),
            Own::ListBack => Ok(self.graph.last(a[0])),
            Own::ListPushFront | Own::ListPushBack => self.list_push(a, own == Own::ListPushFront),
            Own::ListPopFront => Ok(self.list_pop(a[0], true)),
            Own::ListPopBack => Ok(self.list_pop(a[0], false)),
            Own::ResSpinLock | Own::ResSpinLockIrqsave => {
                if self.locks.contains(&a[0]) {
                    // What the kernel's lock finds out (AA), and does not wait for.
                    return Ok(EDEADLK as u64);
                }
                self.spin_lock(a[0]).map(|()| 0)
            }
            Own::ResSpinUnlock | Own::ResSpinUnlockIrqrestore => self.spin_unlock(a[0]).map(|()| 0),
            Own::StreamVprintk => {
                let text = self.bprintf(a[1], a[2], a[3] as u32)?;
                let len = text.len() as u64;
                kernel.printk(text);
                Ok(len)
            }
            Own::RdonlyCast => Ok(a[0]),
            _ => self.cpumask(kernel, own, a),
        }
    }

    fn arena_arg(&self, own: Own, handle: u64) -> Result<u32, Fault> {
        self.maps
            .number(handle)
            .ok_or_else(|| Fault::argument(own.name(), format!("an arena, but {handle:#x} is not a map")))
    }

    fn no_such(own: Own) -> Fault {
        Fault::new(FaultKind::Absent(own.name().to_string()))
    }
}
