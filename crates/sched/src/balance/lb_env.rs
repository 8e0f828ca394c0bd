//! `struct lb_env` (`kernel/sched/fair.c`): a pass under way, and what it reads of a CPU (`cpu_util_cfs()`,
//! `is_core_idle()`, `check_cpu_capacity()`).

use super::BalanceRules;
use super::balancer::Balance;
use super::calculate_imbalance::MigrationType;
use super::sched_cache::LlcStats;
use super::sd_balance::SdBalance;
use super::view::BalanceView;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedDomain, SdFlags};
use crate::group_sums::{DomainSums, GroupSums};
use crate::runqueue::TaskId;
use crate::select::IdleStateView;
use crate::util_est_faster::FasterSite;
use smallvec::SmallVec;

/// `enum cpu_idle_type`: the state of the CPU of the pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuIdleType {
    /// It has been idle (`CPU_IDLE`).
    Idle,
    /// It runs a task (`CPU_NOT_IDLE`).
    NotIdle,
    /// It is about to go idle (`CPU_NEWLY_IDLE`).
    NewlyIdle,
}

bitflags::bitflags! {
    /// `LBF_*`. `LBF_NEED_BREAK` is a return value of `detach_tasks()` instead.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Lbf: u8 {
        const ALL_PINNED = 1;
        const DST_PINNED = 2;
        const SOME_PINNED = 4;
        const ACTIVE_LB = 8;
        const LLC_PINNED = 16;
        const ACTIVE_LB_LLC = 32;
    }
}

/// `SCHED_NR_MIGRATE_BREAK` without PREEMPT_RT (`sched_nr_migrate_break` in 5.18).
pub(super) const SCHED_NR_MIGRATE_BREAK: u32 = 32;

/// The fields of `struct lb_env` and of its domain on which the formulas depend: [`update_sd_pick_busiest`],
/// [`is_balanced`](super::is_balanced) and [`calculate_imbalance`](super::calculate_imbalance()).
///
/// [`update_sd_pick_busiest`]: super::update_sd_pick_busiest()
#[derive(Clone, Copy, Debug)]
pub struct LbParams<'a> {
    /// The version's rules.
    pub rules: &'a BalanceRules,
    /// `sd->flags`.
    pub flags: SdFlags,
    /// `sd->imbalance_pct`, per cent.
    pub imbalance_pct: u32,
    /// `sd->imb_numa_nr`, tasks.
    pub imb_numa_nr: u32,
    /// The state of the destination CPU.
    pub idle: CpuIdleType,
    /// `capacity_of()` of the destination CPU. It is read since 5.14 if CPUs differ in capacity.
    pub dst_capacity: u64,
    /// The other CPUs of the destination's core are idle (`env->dst_core_idle`, 7.2). It is read if CPUs differ in
    /// capacity.
    pub dst_core_idle: bool,
}

impl LbParams<'_> {
    /// Whether the destination CPU is idle or about to be.
    #[inline]
    pub(super) fn dst_idle(&self) -> bool {
        self.idle != CpuIdleType::NotIdle
    }

    /// Whether the domain's CPUs differ in capacity.
    #[inline]
    pub(super) fn asym_capacity(&self) -> bool {
        self.flags.contains(SdFlags::ASYM_CPUCAPACITY)
    }
}

/// `struct lb_env`: a pass over one domain for one CPU, and its progress.
#[derive(Debug)]
pub struct LbEnv<'a, V> {
    pub(super) balance: &'a Balance<'a>,
    pub(super) params: LbParams<'a>,
    pub(super) view: &'a V,
    pub(super) level: usize,
    pub(super) sd: &'a SchedDomain,
    /// `sd->parent`.
    pub(super) parent: Option<&'a SchedDomain>,
    /// `sd->child`.
    pub(super) child: Option<&'a SchedDomain>,
    /// `sd->nr_balance_failed`.
    pub(super) nr_balance_failed: u32,
    pub(super) idle: CpuIdleType,
    /// The CPU that receives the tasks. Pinned tasks can change it to another CPU of the group.
    pub(super) dst_cpu: Cpu,
    pub(super) new_dst_cpu: Cpu,
    pub(super) dst_grpmask: &'a CpuMask,
    /// The number of tasks that this pass has moved to `dst_cpu`.
    pub(super) dst_attached: u32,
    pub(super) src_cpu: Cpu,
    /// `nr_running` of the source, less the tasks that have been taken.
    pub(super) src_nr_running: u32,
    pub(super) migration_type: MigrationType,
    /// How much is still to be moved, in the unit of `migration_type`.
    pub(super) imbalance: i64,
    /// The CPUs that have been removed from `env->cpus`, which starts as the domain's span.
    pub(super) removed: SmallVec<[Cpu; 4]>,
    pub(super) flags: Lbf,
    pub(super) loops: u32,
    pub(super) loop_break: u32,
    pub(super) loop_max: u32,
    /// The number of run queues summed up.
    pub(super) nr_rqs: u32,
    /// With cache-aware balancing: what the pass writes to LLCs, by `sd_llc_id`; of two for one LLC the later.
    pub(super) llc_stats: Vec<(Cpu, LlcStats)>,
    /// Tasks whose processes turned out to be too large for the destination's LLC.
    pub(super) llc_dropped: Vec<TaskId>,
}

impl<'a, V: BalanceView> LbEnv<'a, V> {
    /// Starts a pass over the domain of `dst_cpu` at `level`, whose state is `state`.
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
        let chain = &balance.domains.domains[dst_cpu as usize];
        let sd = &chain[level];
        let group = &sd.groups[sd.first_group as usize];
        let asym = sd.flags.contains(SdFlags::ASYM_CPUCAPACITY);
        LbEnv {
            balance,
            params: LbParams {
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
            nr_balance_failed: state.nr_balance_failed,
            idle,
            dst_cpu,
            new_dst_cpu: dst_cpu,
            dst_grpmask: if balance.rules.dst_balance_mask { group.group_balance_mask() } else { &group.span },
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
            nr_rqs: 0,
            llc_stats: Vec::new(),
            llc_dropped: Vec::new(),
        }
    }

    /// Returns the pass with the CPU from which it takes tasks and what it evens out. `for_llc`: the stopper takes only
    /// tasks that prefer the destination's LLC (`LBF_ACTIVE_LB_LLC`).
    #[must_use]
    pub fn with_source(self, src_cpu: Cpu, migration_type: MigrationType, for_llc: bool) -> Self {
        let flags = if for_llc { self.flags | Lbf::ACTIVE_LB_LLC } else { self.flags };
        LbEnv { src_cpu, migration_type, flags, ..self }
    }

    /// Returns the pass with `cpus` as `env->cpus`: the other CPUs of the domain are left out.
    #[must_use]
    pub fn with_cpus(self, cpus: &CpuMask) -> Self {
        let removed = self.sd.span.iter().filter(|&cpu| !cpus.test(cpu)).collect();
        LbEnv { removed, ..self }
    }

    /// `for_each_cpu_and(.., mask, env->cpus)`.
    #[inline]
    pub(super) fn cpus_of<'b>(&'b self, mask: &'b CpuMask) -> impl Iterator<Item = Cpu> + use<'a, 'b, V> {
        let removed = |cpu: Cpu| !self.removed.is_empty() && self.removed.contains(&cpu);
        mask.iter_and(&self.sd.span).filter(move |&cpu| !removed(cpu))
    }

    /// The sums of the domain's groups, if the view keeps them and the pass can use them. A pass that has started over
    /// leaves CPUs out, and sums do not have what is read of unequal CPUs.
    #[inline]
    pub(super) fn group_sums(&self) -> Option<DomainSums<'a>> {
        if !self.removed.is_empty() || self.params.asym_capacity() || self.balance.energy {
            return None;
        }
        self.view.group_sums(self.dst_cpu, self.level)
    }

    /// [`cpu_util_cfs`] of the pass's view.
    #[inline]
    pub(super) fn cpu_util_cfs(&self, cpu: Cpu) -> u64 {
        cpu_util_cfs(self.view, cpu)
    }

    /// `cpu_util_cfs_boost()`: returns the larger of `cpu_util_cfs()` and the runnable average, at most the CPU's
    /// capacity.
    pub(super) fn cpu_util_cfs_boost(&self, cpu: Cpu) -> u64 {
        let util = self.cpu_util_cfs(cpu).max(self.view.cpu_runnable(cpu));
        util.min(self.view.arch_scale_cpu_capacity(cpu))
    }

    /// [`Balance::h_nr_running`].
    #[inline]
    pub(super) fn h_nr_running(&self, cpu: Cpu) -> u32 {
        self.balance.h_nr_running(self.view, cpu)
    }

    /// [`Balance::is_core_idle`].
    pub(super) fn is_core_idle(&self, cpu: Cpu) -> bool {
        self.balance.is_core_idle(self.view, cpu)
    }

    /// [`check_cpu_capacity`] with the pass's domain.
    #[inline]
    pub(super) fn check_cpu_capacity(&self, cpu: Cpu) -> bool {
        check_cpu_capacity(self.view, self.sd, cpu)
    }
}

impl Balance<'_> {
    /// Returns the number of fair tasks of a CPU: all that are queued (`cfs.h_nr_queued`), since 7.2 without those that
    /// sleep (`cfs.h_nr_runnable`).
    #[inline]
    pub(super) fn h_nr_running<V: BalanceView>(&self, view: &V, cpu: Cpu) -> u32 {
        let queued = view.h_nr_running(cpu);
        if self.rules.h_nr_runnable { queued - view.h_nr_delayed(cpu) } else { queued }
    }

    /// Returns a CPU's contribution to the sums of its groups.
    #[inline]
    pub fn cpu_sums<V: BalanceView + IdleStateView>(&self, view: &V, cpu: Cpu) -> GroupSums {
        let nr_running = view.nr_running(cpu);
        let none = nr_running == 0;
        GroupSums {
            load: view.cpu_load(cpu),
            runnable_load: view.cpu_runnable_load(cpu),
            util: cpu_util_cfs(view, cpu),
            runnable: view.cpu_runnable(cpu),
            nr_running,
            h_nr_running: self.h_nr_running(view, cpu),
            idle_cpus: u32::from(none && view.idle_cpu(cpu)),
            idle_cpus_without: u32::from(none && view.curr_is_idle(cpu) && !view.ttwu_pending(cpu)),
            overloaded_cpus: u32::from(nr_running > 1),
        }
    }

    /// `is_core_idle()`: whether all other CPUs of the CPU's core are idle.
    pub(super) fn is_core_idle<V: BalanceView>(&self, view: &V, cpu: Cpu) -> bool {
        self.domains.smt_mask[cpu as usize].iter().all(|other| other == cpu || view.idle_cpu(other))
    }
}

/// `cpu_util_cfs()`: returns the larger of utilisation and its estimate, at most the CPU's capacity.
#[inline]
pub fn cpu_util_cfs<V: BalanceView>(view: &V, cpu: Cpu) -> u64 {
    let util = view.cpu_util_avg(cpu).max(view.util_est_faster(cpu, FasterSite::Lb));
    let util = view.cpu_util_est(cpu).map_or(util, |est| util.max(est));
    util.min(view.arch_scale_cpu_capacity(cpu))
}

/// `check_cpu_capacity()`: whether other classes and interrupts leave the fair class noticeably less than the CPU's
/// capacity, by `imbalance_pct` of `sd`.
#[inline]
pub(super) fn check_cpu_capacity<V: BalanceView>(view: &V, sd: &SchedDomain, cpu: Cpu) -> bool {
    view.capacity_of(cpu) * u64::from(sd.imbalance_pct) < view.arch_scale_cpu_capacity(cpu) * 100
}
