//! Who wakes whom: the inputs of one decision that do not change while it is made.

use super::util_fits_cpu::Uclamp;
use crate::cpumask::{Cpu, CpuMask};

bitflags::bitflags! {
    /// `WF_*` of `kernel/sched/sched.h`, with the kernel's own values (the same from 5.12 to 7.3).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct WakeFlags: u32 {
        /// Wake-up on exec; maps to `SD_BALANCE_EXEC`.
        const EXEC = 0x02;
        /// Wake-up of a new task; maps to `SD_BALANCE_FORK`.
        const FORK = 0x04;
        /// Wake-up of a sleeping task; maps to `SD_BALANCE_WAKE`.
        const TTWU = 0x08;
        /// The waker says that it will sleep soon.
        const SYNC = 0x10;
        /// The task was migrated by the wake-up.
        const MIGRATED = 0x20;
        /// Prefer the waking CPU.
        const CURRENT_CPU = 0x40;
        /// Bits that later versions added and that placement does not read.
        const _ = !0;
    }
}

/// The waking task (or interrupt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waker {
    /// `smp_processor_id()`.
    pub cpu: Cpu,
    /// `PF_EXITING`: a sync hint of a task that exits is ignored.
    pub exiting: bool,
    /// `in_task()`: false in an interrupt.
    pub in_task: bool,
    /// `is_per_cpu_kthread(current)`.
    pub per_cpu_kthread: bool,
    /// `current->wakee_flips`, after [`record_wakee`](super::record_wakee).
    pub wakee_flips: u32,
    /// `task_h_load(current)`, in units of load (1024 = one nice-0 task).
    pub h_load: u64,
}

impl Waker {
    /// A task on a CPU, of which nothing else is known.
    pub const fn new(cpu: Cpu) -> Self {
        Waker { cpu, exiting: false, in_task: true, per_cpu_kthread: false, wakee_flips: 0, h_load: 0 }
    }
}

/// The task to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakee<'a> {
    /// Where it ran last (`task_cpu(p)`).
    pub prev_cpu: Cpu,
    /// The CPUs it may use.
    pub cpus_ptr: &'a CpuMask,
    /// `p->recent_used_cpu`; `None` where it names no CPU of the system.
    pub recent_used_cpu: Option<Cpu>,
    /// `p->wakee_flips`.
    pub wakee_flips: u32,
    /// `task_h_load(p)`, in units of load.
    pub h_load: u64,
    /// `task_has_idle_policy(p)`: SCHED_IDLE.
    pub idle_policy: bool,
    /// `p->se.avg.util_avg`, 0..=1024; read by the slow path only, as are the fields below. Where CPUs differ in
    /// capacity, the fast path reads it (after `sync_entity_load_avg()`), `util_est` and `uclamp` too.
    pub util_avg: u64,
    /// `p->se.avg.runnable_avg`.
    pub runnable_avg: u64,
    /// `_task_util_est(p)`, 0..=1024.
    pub util_est: u64,
    /// The utilisation clamps; read where CPUs differ in capacity.
    pub uclamp: Uclamp,
    /// `p->se.avg.last_update_time` is not 0: the task has contributed to `prev_cpu`'s averages.
    pub has_contributed: bool,
    /// `task_on_rq_queued(p)`: true on exec.
    pub on_rq: bool,
    /// `current == p`: true on exec.
    pub is_current: bool,
    /// `se.dur_avg`: how long it runs between two voluntary sleeps, ns; 0 where that is not known. Read with SIS_SHORT,
    /// SIS_SHORT_V6 and SIS_CURRENT on.
    pub dur_avg: u64,
    /// `p->last_wakee == current`: it woke its waker last; false where that is not known. Read with SIS_NODE_PAIR and
    /// SIS_CURRENT on.
    pub wakes_waker: bool,
    /// `p->numa_preferred_nid`; `None` for NUMA_NO_NODE.
    pub numa_preferred_nid: Option<u32>,
}

impl<'a> Wakee<'a> {
    /// A task that slept where it ran last, of which nothing else is known: no load, no hints, no clamps.
    #[inline]
    pub const fn new(prev_cpu: Cpu, cpus_ptr: &'a CpuMask) -> Self {
        Wakee {
            prev_cpu,
            cpus_ptr,
            recent_used_cpu: None,
            wakee_flips: 0,
            h_load: 0,
            idle_policy: false,
            util_avg: 0,
            runnable_avg: 0,
            util_est: 0,
            uclamp: Uclamp::UNUSED,
            has_contributed: true,
            on_rq: false,
            is_current: false,
            dur_avg: 0,
            wakes_waker: false,
            numa_preferred_nid: None,
        }
    }
}

/// One call of `select_task_rq_fair()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup<'a> {
    /// The waker.
    pub waker: Waker,
    /// The wakee.
    pub wakee: Wakee<'a>,
    /// How.
    pub flags: WakeFlags,
}

impl Wakeup<'_> {
    /// Whether the sync hint counts: given, and by a waker that lives on.
    #[inline]
    pub fn sync(&self) -> bool {
        self.flags.contains(WakeFlags::SYNC) && !self.waker.exiting
    }
}
