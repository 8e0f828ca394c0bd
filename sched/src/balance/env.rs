//! One pass under way (`struct lb_env`).

use super::facts::LbFacts;
use super::imbalance::MigrationType;
use super::setup::Balance;
use super::should::group_balance_mask;
use super::state::SdBalance;
use super::view::BalanceView;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedDomain, SdFlags};
use smallvec::SmallVec;

/// `enum cpu_idle_type`: what the CPU is doing for which a pass is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuIdleType {
    /// It has been idle.
    Idle,
    /// It runs something.
    NotIdle,
    /// It is about to go idle.
    NewlyIdle,
}

bitflags::bitflags! {
    /// `LBF_*`. `LBF_NEED_BREAK` is what `detach_tasks()` returns.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Lbf: u8 {
        const ALL_PINNED = 1;
        const DST_PINNED = 2;
        const SOME_PINNED = 4;
        const ACTIVE_LB = 8;
    }
}

/// `SCHED_NR_MIGRATE_BREAK` without PREEMPT_RT (`sched_nr_migrate_break` in 5.18).
pub(super) const SCHED_NR_MIGRATE_BREAK: u32 = 32;

/// `struct lb_env`: a pass over one domain for one CPU, and how far it has come.
#[derive(Debug)]
pub struct LbEnv<'a, V> {
    pub(super) balance: &'a Balance<'a>,
    /// What the formulas read.
    pub(super) facts: LbFacts<'a>,
    pub(super) view: &'a V,
    pub(super) level: usize,
    pub(super) sd: &'a SchedDomain,
    /// `sd->parent`.
    pub(super) parent: Option<&'a SchedDomain>,
    pub(super) child: Option<&'a SchedDomain>,
    pub(super) nr_balance_failed: u32,
    pub(super) idle: CpuIdleType,
    /// For which CPU; pinned tasks can turn it to another one of the group.
    pub(super) dst_cpu: Cpu,
    pub(super) new_dst_cpu: Cpu,
    pub(super) dst_grpmask: &'a CpuMask,
    /// Tasks that the destination has got from this pass.
    pub(super) dst_attached: u32,
    pub(super) src_cpu: Cpu,
    /// The source's `nr_running`, less those that have been taken.
    pub(super) src_nr_running: u32,
    pub(super) migration_type: MigrationType,
    /// How much is still to be moved, in the unit of `migration_type`.
    pub(super) imbalance: i64,
    /// The CPUs that are no longer in `env->cpus`, which starts as the domain's span.
    pub(super) removed: SmallVec<[Cpu; 4]>,
    pub(super) flags: Lbf,
    pub(super) loops: u32,
    pub(super) loop_break: u32,
    pub(super) loop_max: u32,
    /// Run queues summed up.
    pub(super) looked_at: u32,
}

impl<'a, V: BalanceView> LbEnv<'a, V> {
    /// A pass over the domain of `dst_cpu` at `level`.
    ///
    /// # Panics
    /// If the CPU has no such domain.
    pub fn new(
        view: &'a V,
        balance: &'a Balance<'a>,
        dst_cpu: Cpu,
        level: usize,
        idle: CpuIdleType,
        state: &SdBalance,
    ) -> Self {
        Self::after(view, balance, dst_cpu, level, idle, state.nr_balance_failed)
    }

    /// The same after so many failures.
    pub(super) fn after(
        view: &'a V,
        balance: &'a Balance<'a>,
        dst_cpu: Cpu,
        level: usize,
        idle: CpuIdleType,
        nr_balance_failed: u32,
    ) -> Self {
        let chain = &balance.domains.domains[dst_cpu as usize];
        let sd = &chain[level];
        let group = &sd.groups[sd.first_group as usize];
        let asym = sd.flags.contains(SdFlags::ASYM_CPUCAPACITY);
        LbEnv {
            balance,
            facts: LbFacts {
                rules: &balance.rules,
                flags: sd.flags,
                imbalance_pct: sd.imbalance_pct,
                imb_numa_nr: sd.imb_numa_nr,
                idle,
                dst_capacity: if asym { view.capacity_of(dst_cpu) } else { 0 },
                dst_core_idle: !asym || !balance.rules.misfit_to_idle_core || balance.is_core_idle(view, dst_cpu),
            },
            view,
            level,
            sd,
            parent: chain.get(level + 1),
            child: level.checked_sub(1).map(|below| &chain[below]),
            nr_balance_failed,
            idle,
            dst_cpu,
            new_dst_cpu: dst_cpu,
            dst_grpmask: if balance.rules.dst_balance_mask { group_balance_mask(group) } else { &group.span },
            dst_attached: 0,
            src_cpu: dst_cpu,
            src_nr_running: 0,
            migration_type: MigrationType::Load,
            imbalance: 0,
            removed: SmallVec::new(),
            flags: Lbf::empty(),
            loops: 0,
            loop_break: SCHED_NR_MIGRATE_BREAK,
            loop_max: 0,
            looked_at: 0,
        }
    }

    /// `for_each_cpu_and(.., mask, env->cpus)`.
    #[inline]
    pub(super) fn cpus_of<'b>(&'b self, mask: &'b CpuMask) -> impl Iterator<Item = Cpu> + use<'a, 'b, V> {
        let span = &*self.sd.span;
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let cpu = mask.next_from_and(span, from)?;
                from = cpu + 1;
                if self.removed.is_empty() || !self.removed.contains(&cpu) {
                    return Some(cpu);
                }
            }
        })
    }
}
