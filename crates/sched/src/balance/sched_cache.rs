//! Cache-aware balancing (`CONFIG_SCHED_CACHE`, 7.2; `kernel/sched/fair.c`): whether a task may leave the LLC that its
//! process prefers, or go there.
//!
//! ```text
//! can_migrate_llc(src, dst, task_util, to_pref):      u * 100 < c * llc_overaggr_pct         fits_llc_capacity()
//!     src util -= task_util, dst util += task_util    a * 100 > b * (100 + llc_imb_pct)      util_greater()
//!     neither fits                                 -> unrestricted
//!     to_pref:   not fits(dst) and dst > src       -> forbid
//!     from pref: fits(src) or not src > dst        -> forbid
//!     else                                         -> llc
//! can_migrate_llc_task(): no process, no preferred CPU, one LLC, or the process too large -> unrestricted
//! migrate_degrades_llc():
//!     nr_balance_failed >= cache_nice_tries + 1    -> no
//!     migrate_llc_task, and p prefers another LLC  -> yes
//!     can_migrate_llc_task() == forbid             -> yes
//! alb_break_llc(): all tasks of the source prefer its LLC, and the only one runs or can_migrate_llc() == forbid -> yes
//! ```
//!
//! What the preferences follow from is in [`mm_sched`](super::mm_sched). The caller keeps the processes, the counts and
//! the LLCs' statistics, writes what a pass has found ([`Plan::llc_stats`](super::Plan::llc_stats)), and drops the
//! preferences that it names ([`Plan::llc_dropped`](super::Plan::llc_dropped)).

use super::calculate_imbalance::MigrationType;
use super::can_migrate_task::cache_nice_tries;
use super::lb_env::{CpuIdleType, LbEnv, Lbf};
use super::update_sg_lb_stats::SgLbStats;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::domain::{SchedDomains, SchedGroup, SdFlags};
use crate::runqueue::TaskId;
use crate::select::fits_capacity;
use wakelab_kernel::{Footprint, LlcBusy, LlcThreads, SchedCacheRules};

/// Cache-aware balancing as one kernel does it on one machine: its form and the values of `llc_balancing/` in debugfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedCache {
    /// The form.
    pub rules: SchedCacheRules,
    /// `llc_aggr_tolerance`, 0 to 100.
    pub aggr_tolerance: u32,
    /// `llc_epoch_period`, jiffies.
    pub epoch_period: u32,
    /// `llc_epoch_affinity_timeout`, epochs.
    pub epoch_affinity_timeout: u32,
    /// `llc_overaggr_pct`, per cent.
    pub overaggr_pct: u32,
    /// `llc_imb_pct`, per cent.
    pub imb_pct: u32,
    /// `cpu_smt_num_threads`: the CPUs of a core.
    pub smt_num_threads: u32,
    /// `sched_numa_balancing`: NUMA balancing counts faults, so that the sizes of processes are known.
    pub numa_balancing: bool,
}

/// The load of an LLC in its `struct sched_domain_shared`: 1024 is a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcStats {
    /// `util_avg`: the sum of the CPUs' utilisation.
    pub util: u64,
    /// `capacity`: the sum of their capacities.
    pub capacity: u64,
}

/// The values that balancing reads of `struct sched_cache_group`, the part of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheGroup {
    /// `cpu`: the preferred CPU, whose LLC is the preferred LLC; `None` for no preference.
    pub cpu: Option<Cpu>,
    /// `get_nr_threads()`.
    pub nr_threads: u32,
    /// `nr_running_avg`: about how many of them run at a time.
    pub nr_running_avg: u64,
    /// `footprint`, bytes.
    pub footprint: u64,
}

/// `enum llc_mig`: the verdict of preferences on a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LlcMig {
    /// The task stays for its LLC (`mig_forbid`).
    Forbid,
    /// The task may move for its LLC (`mig_llc`).
    Llc,
    /// Nothing: balancing decides as ever (`mig_unrestricted`).
    Unrestricted,
}

impl SchedCache {
    /// Whether there is more than one LLC to choose from (`sd_in_multi_llcs()`): some LLC has several CPUs, and a
    /// domain above it spans more, if only of several nodes. Without, the kernel leaves it all off
    /// (`sched_cache_present`).
    pub fn is_present(domains: &SchedDomains) -> bool {
        domains.domains.iter().zip(&domains.sd_llc).any(|(chain, llc)| {
            llc.is_some_and(|llc| {
                let weight = chain[llc as usize].span_weight;
                weight > 1 && chain[llc as usize..].iter().any(|sd| sd.span_weight > weight)
            })
        })
    }

    /// `get_sched_cache_scale()`: the factor by which a process may exceed an LLC; `None` for any (`INT_MAX`).
    fn scale(&self, mul: u64) -> Option<u64> {
        match self.aggr_tolerance {
            0 => Some(0),
            100.. => None,
            tolerance => Some(1 + u64::from(tolerance - 1) * mul),
        }
    }

    /// `invalid_llc_nr()`: whether the process has one thread, or too many running ones for an LLC of `sd_llc_size`
    /// CPUs.
    pub fn invalid_llc_nr(&self, group: &CacheGroup, sd_llc_size: u32) -> bool {
        if group.nr_threads <= 1 {
            return true;
        }
        let Some(scale) = self.scale(1) else { return false };
        let (cpus, llc) = (group.nr_running_avg * u64::from(self.smt_num_threads), scale * u64::from(sd_llc_size));
        match self.rules.llc_threads {
            LlcThreads::Fits => !fits_capacity(cpus, llc),
            LlcThreads::All => cpus > llc,
        }
    }

    /// `exceed_llc_capacity()`: whether the process's memory is too large for an LLC of so many bytes; `None` for a CPU
    /// without domains.
    pub fn exceed_llc_capacity(&self, group: &CacheGroup, llc_bytes: Option<u64>) -> bool {
        let Some(llc_bytes) = llc_bytes else { return true };
        if self.rules.footprint == Footprint::NumaFaults && !self.numa_balancing {
            return false;
        }
        self.scale(256).is_some_and(|scale| llc_bytes.saturating_mul(scale) < group.footprint)
    }

    /// `fits_llc_capacity()`: whether an LLC of capacity `max` is not too busy with `util`.
    pub fn fits_llc_capacity(&self, util: u64, max: u64) -> bool {
        let pct = match self.rules.llc_busy {
            LlcBusy::MoreWithoutSmt if self.smt_num_threads == 1 => self.overaggr_pct * 3 / 2,
            LlcBusy::BySmt => self.overaggr_pct / self.smt_num_threads,
            LlcBusy::MoreWithoutSmt | LlcBusy::Plain => self.overaggr_pct,
        };
        util * 100 < max * u64::from(pct)
    }

    /// `util_greater()`: whether `a` is noticeably greater than `b`.
    fn util_greater(&self, a: u64, b: u64) -> bool {
        a * 100 > b * (100 + u64::from(self.imb_pct))
    }

    /// `can_migrate_llc()`: the verdict of preferences on moving a task of `tsk_util` from one LLC to another, of
    /// which one is the preferred: the destination if `to_pref`.
    pub fn can_migrate_llc(
        &self,
        src: Option<LlcStats>,
        dst: Option<LlcStats>,
        tsk_util: u64,
        to_pref: bool,
    ) -> LlcMig {
        let (Some(src), Some(dst)) = (src, dst) else { return LlcMig::Unrestricted };
        let (src_util, dst_util) = (src.util.saturating_sub(tsk_util), dst.util + tsk_util);
        let fits_src = |util| self.fits_llc_capacity(util, src.capacity);
        let fits_dst = |util| self.fits_llc_capacity(util, dst.capacity);
        let (src_then, dst_then) = if self.rules.moved_first { (src_util, dst_util) } else { (src.util, dst.util) };
        if !fits_dst(dst_then) && !fits_src(src_then) {
            return LlcMig::Unrestricted;
        }
        let forbidden = match to_pref {
            true => !fits_dst(dst_util) && self.util_greater(dst_util, src_util),
            false => fits_src(src_util) || !self.util_greater(src_util, dst_util),
        };
        if forbidden { LlcMig::Forbid } else { LlcMig::Llc }
    }
}

impl<V: BalanceView> LbEnv<'_, V> {
    /// `llc_id(env->dst_cpu)`.
    #[inline]
    pub(super) fn dst_llc(&self) -> Cpu {
        self.llc_id(self.dst_cpu)
    }

    #[inline]
    fn llc_id(&self, cpu: Cpu) -> Cpu {
        self.balance.domains.sd_llc_id[cpu as usize]
    }

    #[inline]
    fn cpus_share_cache(&self, a: Cpu, b: Cpu) -> bool {
        self.llc_id(a) == self.llc_id(b)
    }

    /// Whether groups can have tasks that prefer the destination's LLC: the domain is above it.
    #[inline]
    pub(super) fn llc_preferences(&self) -> Option<&SchedCache> {
        self.balance.sched_cache.as_ref().filter(|_| !self.sd.flags.contains(SdFlags::SHARE_LLC))
    }

    /// `get_llc_stats()`, with what this pass has written.
    fn get_llc_stats(&self, cpu: Cpu) -> Option<LlcStats> {
        let llc = self.llc_id(cpu);
        let written = self.llc_stats.iter().rev().find(|(written, _)| *written == llc);
        written.map_or_else(|| self.view.llc_stats(cpu), |&(_, stats)| Some(stats))
    }

    /// `record_sg_llc_stats()`: notes what a group has, if it is an LLC.
    #[inline]
    pub(super) fn record_sg_llc_stats(&mut self, group: &SchedGroup, util: u64, capacity: u64) {
        if self.balance.sched_cache.is_none() || self.idle == CpuIdleType::NewlyIdle {
            return;
        }
        let llc = self.balance.domains.sd_llc[self.dst_cpu as usize];
        if llc.is_none() || self.level.checked_sub(1) != llc.map(|llc| llc as usize) {
            return;
        }
        let Some(cpu) = group.span.first() else { return };
        if self.view.llc_stats(cpu).is_some() {
            self.llc_stats.push((self.llc_id(cpu), LlcStats { util, capacity }));
        }
    }

    /// Returns the values that the pass writes to LLCs, by `sd_llc_id`; of two for one LLC the later.
    pub fn llc_written(&self) -> &[(Cpu, LlcStats)] {
        &self.llc_stats
    }

    /// The tasks whose processes the pass has found too large for the destination's LLC.
    pub fn llc_dropped(&self) -> &[TaskId] {
        &self.llc_dropped
    }

    /// `nr_pref_dst_llc` of a group: its queued tasks that prefer the destination's LLC, and are not in it.
    pub(super) fn nr_pref_dst_llc(&self, group: &SchedGroup) -> u32 {
        let llc = self.dst_llc();
        if self.llc_preferences().is_none() || !self.view.llc_is_preferred(llc) {
            return 0;
        }
        let elsewhere = self.cpus_of(&group.span).filter(|&cpu| self.llc_id(cpu) != llc);
        elsewhere.map(|cpu| self.view.llc_counts(cpu, llc)).sum()
    }

    /// `llc_balance()`: whether tasks of another group are to be moved to the destination, whose LLC they prefer.
    pub(super) fn llc_balance(&self, sgs: &SgLbStats, group: &SchedGroup) -> bool {
        let Some(cache) = self.llc_preferences().filter(|_| sgs.nr_pref_dst_llc != 0) else { return false };
        if self.params.asym_capacity() && sgs.group_misfit_task_load != 0 {
            return false;
        }
        if cache.rules.failures_override && self.nr_balance_failed > cache_nice_tries(self.sd) {
            return false;
        }
        let Some(first) = group.span.first() else { return false };
        let (src, dst) = (self.get_llc_stats(first), self.get_llc_stats(self.dst_cpu));
        cache.can_migrate_llc(src, dst, 0, true) == LlcMig::Llc
    }

    /// `task_misfits_asym_cpu()`: the destination is too small for a task that fits its CPU.
    fn task_misfits_asym_cpu(&self, task: TaskId) -> bool {
        let fits = |cpu| self.balance.task_fits_cpu(self.view, task, cpu);
        self.params.asym_capacity() && !fits(self.dst_cpu) && fits(self.src_cpu)
    }

    /// `can_migrate_llc_task()`. Notes the task if its process has become too large for the destination, and loses its
    /// preference.
    fn can_migrate_llc_task(&mut self, cache: &SchedCache, task: TaskId) -> LlcMig {
        if self.task_misfits_asym_cpu(task) {
            return LlcMig::Forbid;
        }
        let (src, dst) = (self.src_cpu, self.dst_cpu);
        let Some(group) = self.view.cache_group(task) else { return LlcMig::Unrestricted };
        let Some(preferred) = group.cpu.filter(|_| !self.cpus_share_cache(src, dst)) else {
            return LlcMig::Unrestricted;
        };
        let sd_llc_size = self.balance.domains.sd_llc_size[dst as usize];
        if cache.invalid_llc_nr(&group, sd_llc_size) || cache.exceed_llc_capacity(&group, self.view.llc_bytes(dst)) {
            self.llc_dropped.push(task);
            return LlcMig::Unrestricted;
        }
        let to_pref = self.cpus_share_cache(dst, preferred);
        if !to_pref && !self.cpus_share_cache(src, preferred) {
            return LlcMig::Unrestricted;
        }
        cache.can_migrate_llc(self.get_llc_stats(src), self.get_llc_stats(dst), self.view.task_util(task), to_pref)
    }

    /// `migrate_llc_task_wrong_dst()`: the pass or the push is for tasks that prefer the destination's LLC, and this
    /// one does not.
    pub fn migrate_llc_task_wrong_dst(&self, task: TaskId) -> bool {
        (self.migration_type == MigrationType::LlcTask || self.flags.contains(Lbf::ACTIVE_LB_LLC))
            && self.view.preferred_llc(task) != Some(self.dst_llc())
    }

    /// `migrate_degrades_llc()`: whether the task stays for its LLC.
    pub fn migrate_degrades_llc(&mut self, task: TaskId) -> bool {
        let balance = self.balance;
        let Some(cache) = &balance.sched_cache else { return false };
        if cache.rules.failures_override && self.nr_balance_failed > cache_nice_tries(self.sd) {
            return false;
        }
        self.migrate_llc_task_wrong_dst(task) || self.can_migrate_llc_task(cache, task) == LlcMig::Forbid
    }

    /// `alb_break_llc()`: whether the running task of the source is not pushed, because it is in its LLC.
    pub fn alb_break_llc(&self) -> bool {
        let Some(cache) = &self.balance.sched_cache else { return false };
        let (src, dst) = (self.src_cpu, self.dst_cpu);
        if self.cpus_share_cache(src, dst) || self.nr_pref_llc_running(src) == 0 {
            return false;
        }
        if self.nr_pref_llc_running(src) != self.h_nr_running(src) || self.migration_type == MigrationType::Misfit {
            return false;
        }
        if self.view.nr_running(src) <= 1 {
            return true;
        }
        let curr = self.view.fair_curr(src);
        let util = curr.map_or(0, |task| self.view.task_util(task));
        curr.is_some_and(|task| self.task_misfits_asym_cpu(task))
            || cache.can_migrate_llc(self.get_llc_stats(src), self.get_llc_stats(dst), util, false) == LlcMig::Forbid
    }

    /// `rq->nr_pref_llc_running`: the tasks of a CPU that are in their preferred LLC, and do not sleep.
    fn nr_pref_llc_running(&self, cpu: Cpu) -> u32 {
        let (view, llc) = (self.view, Some(self.llc_id(cpu)));
        view.cfs_tasks(cpu).filter(|&task| view.preferred_llc(task) == llc && !view.sched_delayed(task)).count() as u32
    }

    /// `order_tasks_by_llc()` of the first posting: in which of four places a task is taken.
    pub(super) fn llc_place(&self, task: TaskId) -> u8 {
        match self.view.preferred_llc(task) {
            Some(llc) if llc == self.dst_llc() => 0,
            None => 1,
            Some(llc) if llc == self.llc_id(self.src_cpu) => 3,
            Some(_) => 2,
        }
    }
}
