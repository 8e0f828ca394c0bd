//! Which group, how much of it, and which of its run queues.

use super::{Env, Version};
use std::collections::BTreeSet;
use wakelab_sched::balance::CpuIdleType;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedGroup, SdFlags};

/// `enum migration_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    Load,
    Util,
    Task,
}

pub const MIGRATE_TASK: Migration = Migration::Task;

// `enum group_type`.
const HAS_SPARE: u32 = 0;
const FULLY_BUSY: u32 = 1;
const MISFIT_TASK: u32 = 2;
const SMT_BALANCE: u32 = 3;
const IMBALANCED: u32 = 5;
const OVERLOADED: u32 = 6;

/// `struct sg_lb_stats`; each number as wide as the kernel's.
#[derive(Clone, Copy, Default)]
struct Sgs {
    avg_load: u64,
    group_load: u64,
    group_capacity: u64,
    group_util: u64,
    group_runnable: u64,
    sum_nr_running: u32,
    sum_h_nr_running: u32,
    idle_cpus: u32,
    group_weight: u32,
    group_type: u32,
    misfit: u64,
    smt_balance: bool,
    /// `group->flags & SD_SHARE_CPUCAPACITY`.
    smt: bool,
}

impl<'a> Env<'a> {
    fn cpus_of(&self, group: &SchedGroup) -> BTreeSet<Cpu> {
        super::set(&group.span).intersection(&self.cpus).copied().collect()
    }

    fn cpu_util_cfs(&self, cpu: Cpu) -> u64 {
        let c = &self.state.cpus[cpu as usize];
        let mut util = c.util;
        if self.state.util_est {
            util = util.max(c.util_est);
        }
        util.min(c.capacity_orig)
    }

    fn check_cpu_capacity(&self, cpu: Cpu) -> bool {
        let c = &self.state.cpus[cpu as usize];
        c.capacity * u64::from(self.sd.imbalance_pct) < c.capacity_orig * 100
    }

    fn group_has_capacity(&self, sgs: &Sgs) -> bool {
        let pct = u64::from(self.sd.imbalance_pct);
        if sgs.sum_nr_running < sgs.group_weight {
            return true;
        }
        if sgs.group_capacity * pct < sgs.group_runnable * 100 {
            return false;
        }
        if sgs.group_capacity * 100 > sgs.group_util * pct {
            return true;
        }
        false
    }

    fn group_is_overloaded(&self, sgs: &Sgs) -> bool {
        let pct = u64::from(self.sd.imbalance_pct);
        if sgs.sum_nr_running <= sgs.group_weight {
            return false;
        }
        if sgs.group_capacity * 100 < sgs.group_util * pct {
            return true;
        }
        if sgs.group_capacity * pct < sgs.group_runnable * 100 {
            return true;
        }
        false
    }

    fn group_classify(&self, group: &SchedGroup, sgs: &Sgs) -> u32 {
        if self.group_is_overloaded(sgs) {
            return OVERLOADED;
        }
        if self.state.imbalanced.contains(&(self.level, super::balance_cpu(group))) {
            return IMBALANCED;
        }
        if sgs.smt_balance {
            return SMT_BALANCE;
        }
        if sgs.misfit != 0 {
            return MISFIT_TASK;
        }
        if !self.group_has_capacity(sgs) {
            return FULLY_BUSY;
        }
        HAS_SPARE
    }

    fn update_sg_lb_stats(&self, group: &SchedGroup, local_group: bool, overload: &mut bool) -> Sgs {
        let mut sgs = Sgs::default();
        for i in self.cpus_of(group) {
            let c = &self.state.cpus[i as usize];
            sgs.group_load += c.load;
            sgs.group_util += self.cpu_util_cfs(i);
            sgs.group_runnable += c.runnable;
            sgs.sum_h_nr_running += self.h_nr(i);
            let nr_running = self.nr_running(i);
            sgs.sum_nr_running += nr_running;
            if nr_running > 1 {
                *overload = true;
            }
            if nr_running == 0 && self.idle_cpu(i) {
                sgs.idle_cpus += 1;
                continue;
            }
            if local_group {
                continue;
            }
            if self.config.version >= Version::V6_1
                && self.idle != CpuIdleType::NotIdle
                && self.h_nr(i) == 1
                && self.check_cpu_capacity(i)
                && sgs.misfit < c.load
            {
                sgs.misfit = c.load;
            }
        }
        sgs.group_capacity = super::set(&group.span).iter().map(|&cpu| self.state.cpus[cpu as usize].capacity).sum();
        sgs.group_weight = group.weight;
        sgs.smt = group.flags.contains(SdFlags::SHARE_CPUCAPACITY);
        if self.config.version >= Version::V6_12 && !local_group && self.idle != CpuIdleType::NotIdle {
            sgs.smt_balance = sgs.smt && sgs.sum_h_nr_running > 1;
        }
        sgs.group_type = self.group_classify(group, &sgs);
        if sgs.group_type == OVERLOADED {
            sgs.avg_load = sgs.group_load * 1024 / sgs.group_capacity;
        }
        sgs
    }

    fn update_sd_pick_busiest(&self, busiest: &Sgs, sgs: &Sgs) -> bool {
        if self.config.version >= Version::V6_12 {
            return Self::update_sd_pick_busiest_6_12(busiest, sgs);
        }
        if sgs.sum_h_nr_running == 0 {
            return false;
        }
        if sgs.group_type > busiest.group_type {
            return true;
        }
        if sgs.group_type < busiest.group_type {
            return false;
        }
        match sgs.group_type {
            OVERLOADED | FULLY_BUSY => {
                if sgs.avg_load <= busiest.avg_load {
                    return false;
                }
            }
            IMBALANCED => return false,
            MISFIT_TASK => {
                if sgs.misfit < busiest.misfit {
                    return false;
                }
            }
            _ => {
                if sgs.idle_cpus > busiest.idle_cpus {
                    return false;
                }
                if sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running <= busiest.sum_nr_running {
                    return false;
                }
            }
        }
        true
    }

    fn update_sd_pick_busiest_6_12(busiest: &Sgs, sgs: &Sgs) -> bool {
        if sgs.sum_h_nr_running == 0 {
            return false;
        }
        if sgs.group_type > busiest.group_type {
            return true;
        }
        if sgs.group_type < busiest.group_type {
            return false;
        }
        let mut by_spare = false;
        match sgs.group_type {
            OVERLOADED => return sgs.avg_load > busiest.avg_load,
            IMBALANCED => return false,
            MISFIT_TASK => return sgs.misfit > busiest.misfit,
            SMT_BALANCE => {
                if sgs.idle_cpus != 0 || busiest.idle_cpus != 0 {
                    by_spare = true;
                }
            }
            FULLY_BUSY => {}
            _ => {
                // sds->busiest is NULL as long as nothing weighs anything.
                if busiest.group_weight != 0 && busiest.smt != sgs.smt {
                    return !(sgs.smt && sgs.sum_h_nr_running <= 1);
                }
                by_spare = true;
            }
        }
        if by_spare {
            if sgs.idle_cpus > busiest.idle_cpus {
                return false;
            }
            if sgs.idle_cpus == busiest.idle_cpus && sgs.sum_nr_running <= busiest.sum_nr_running {
                return false;
            }
            return true;
        }
        if sgs.avg_load < busiest.avg_load {
            return false;
        }
        if sgs.avg_load == busiest.avg_load && busiest.smt {
            return false;
        }
        true
    }

    /// `group->cores`.
    fn cores(&self, group: &SchedGroup) -> i64 {
        let mut mask = super::set(&group.span);
        let mut cores = 0;
        while let Some(&cpu) = mask.first() {
            cores += 1;
            for sibling in super::set(&self.domains.smt_mask[cpu as usize]) {
                mask.remove(&sibling);
            }
        }
        cores
    }

    /// 6.12. Before, the difference.
    fn sibling_imbalance(&self, busiest: &Sgs, local: &Sgs, busiest_group: &SchedGroup) -> i64 {
        if self.config.version < Version::V6_12 {
            let mut nr_diff = busiest.sum_nr_running;
            nr_diff -= nr_diff.min(local.sum_nr_running);
            return i64::from(nr_diff);
        }
        if self.idle == CpuIdleType::NotIdle || busiest.sum_nr_running == 0 {
            return 0;
        }
        let ncores_busiest = self.cores(busiest_group);
        let ncores_local = self.cores(self.own_group());
        if ncores_busiest == ncores_local {
            let mut imbalance = i64::from(busiest.sum_nr_running);
            imbalance -= imbalance.min(i64::from(local.sum_nr_running));
            return imbalance;
        }
        let mut imbalance = ncores_local * i64::from(busiest.sum_nr_running);
        imbalance -= imbalance.min(ncores_busiest * i64::from(local.sum_nr_running));
        imbalance = 2 * imbalance + ncores_local + ncores_busiest;
        imbalance /= ncores_local + ncores_busiest;
        if imbalance <= 1 && local.sum_nr_running == 0 && busiest.sum_nr_running > 1 {
            imbalance = 2;
        }
        imbalance
    }

    pub fn find_busiest_group(&mut self) -> Option<&'a SchedGroup> {
        let mut local = Sgs::default();
        let mut busiest = Sgs { idle_cpus: u32::MAX, group_type: HAS_SPARE, ..Sgs::default() };
        let mut busiest_group = None;
        let (mut total_load, mut total_capacity, mut sum_util, mut overload) = (0, 0, 0, false);
        let (before, after) = self.sd.groups.split_at(self.sd.first_group as usize);
        for group in after.iter().chain(before) {
            let local_group = group.span.test(self.dst_cpu);
            let sgs = self.update_sg_lb_stats(group, local_group, &mut overload);
            if local_group {
                local = sgs;
            } else if self.update_sd_pick_busiest(&busiest, &sgs) {
                busiest_group = Some(group);
                busiest = sgs;
            }
            total_load += sgs.group_load;
            total_capacity += sgs.group_capacity;
            sum_util += sgs.group_util;
        }
        if !self.has_parent {
            self.overload = Some(overload);
        }
        if self.idle != CpuIdleType::NewlyIdle && self.llc_size == Some(self.sd.span_weight) {
            self.sum_util = Some(sum_util);
        }

        let group = busiest_group?;
        if self.config.version >= Version::V6_12 {
            self.child_prefers_sibling = group.flags.contains(SdFlags::PREFER_SIBLING);
        }
        let force_balance = busiest.group_type == MISFIT_TASK || busiest.group_type == IMBALANCED;
        let mut avg_load = 0;
        if !force_balance {
            if local.group_type > busiest.group_type {
                return None;
            }
            if local.group_type == OVERLOADED {
                if local.avg_load >= busiest.avg_load {
                    return None;
                }
                avg_load = total_load * 1024 / total_capacity;
                if local.avg_load >= avg_load {
                    return None;
                }
                if 100 * busiest.avg_load <= u64::from(self.sd.imbalance_pct) * local.avg_load {
                    return None;
                }
            }
            let spread = self.child_prefers_sibling
                && local.group_type == HAS_SPARE
                && self.sibling_imbalance(&busiest, &local, group) > 1;
            if !spread && busiest.group_type != OVERLOADED {
                if self.idle == CpuIdleType::NotIdle {
                    return None;
                }
                let to_other_kind = busiest.group_type == SMT_BALANCE && local.smt != busiest.smt;
                if to_other_kind {
                    self.calculate_imbalance(local, busiest, total_load, total_capacity, avg_load, group);
                    return if self.imbalance != 0 { busiest_group } else { None };
                }
                if busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.wrapping_add(1) {
                    return None;
                }
                if busiest.sum_h_nr_running == 1 {
                    return None;
                }
            }
        }
        self.calculate_imbalance(local, busiest, total_load, total_capacity, avg_load, group);
        if self.imbalance != 0 { busiest_group } else { None }
    }

    fn calculate_imbalance(
        &mut self,
        mut local: Sgs,
        busiest: Sgs,
        total_load: u64,
        total_capacity: u64,
        mut avg_load: u64,
        group: &SchedGroup,
    ) {
        if busiest.group_type == MISFIT_TASK {
            self.migration_type = Migration::Load;
            self.imbalance = busiest.misfit as i64;
            return;
        }
        if busiest.group_type == SMT_BALANCE {
            self.migration_type = Migration::Task;
            self.imbalance = 1;
            return;
        }
        if busiest.group_type == IMBALANCED {
            self.migration_type = Migration::Task;
            self.imbalance = 1;
            return;
        }
        if local.group_type == HAS_SPARE {
            if busiest.group_type > FULLY_BUSY && !self.sd.flags.contains(SdFlags::SHARE_LLC) {
                self.migration_type = Migration::Util;
                self.imbalance = (local.group_capacity.max(local.group_util) - local.group_util) as i64;
                if self.idle != CpuIdleType::NotIdle && self.imbalance == 0 {
                    self.migration_type = Migration::Task;
                    self.imbalance = 1;
                }
                return;
            }
            self.migration_type = Migration::Task;
            if busiest.group_weight == 1 || self.child_prefers_sibling {
                let imbalance = self.sibling_imbalance(&busiest, &local, group);
                self.imbalance = match self.config.version {
                    Version::V5_10 | Version::V5_18 => imbalance >> 1,
                    _ => imbalance,
                };
            } else {
                let difference: u32 = local.idle_cpus.wrapping_sub(busiest.idle_cpus);
                self.imbalance = match self.config.version {
                    Version::V5_10 | Version::V5_18 => 0.max(i64::from(difference >> 1)),
                    _ => 0.max(i64::from(difference)),
                };
            }
            if self.sd.flags.contains(SdFlags::NUMA) && self.config.version == Version::V5_10 {
                if busiest.sum_nr_running <= 2 {
                    self.imbalance = 0;
                } else {
                    self.imbalance = i64::from(self.imbalance as i32);
                }
            } else if self.sd.flags.contains(SdFlags::NUMA) {
                let imbalance = self.imbalance as i32;
                let dst_running = local.sum_nr_running as i32 + 1;
                self.imbalance = if dst_running > self.sd.imb_numa_nr as i32 {
                    i64::from(imbalance)
                } else if imbalance <= 2 {
                    0
                } else {
                    i64::from(imbalance)
                };
            }
            if self.config.version >= Version::Tip {
                self.imbalance >>= 1;
            }
            return;
        }
        if local.group_type < OVERLOADED {
            local.avg_load = local.group_load * 1024 / local.group_capacity;
            if local.avg_load >= busiest.avg_load {
                self.imbalance = 0;
                return;
            }
            avg_load = total_load * 1024 / total_capacity;
            let checked = self.config.version >= Version::V6_1 || self.config.version == Version::V5_10;
            if checked && local.avg_load >= avg_load {
                self.imbalance = 0;
                return;
            }
        }
        self.migration_type = Migration::Load;
        let there = busiest.avg_load.wrapping_sub(avg_load).wrapping_mul(busiest.group_capacity);
        let here = avg_load.wrapping_sub(local.avg_load).wrapping_mul(local.group_capacity);
        self.imbalance = (there.min(here) / 1024) as i64;
    }

    pub fn find_busiest_queue(&self, group: &SchedGroup) -> Option<Cpu> {
        let mut busiest = None;
        let (mut busiest_util, mut busiest_load, mut busiest_capacity, mut busiest_nr) = (0, 0, 1, 0);
        for i in self.cpus_of(group) {
            let c = &self.state.cpus[i as usize];
            let nr_running = self.h_nr(i);
            if nr_running == 0 && self.config.version >= Version::V5_18 {
                continue;
            }
            match self.migration_type {
                Migration::Load => {
                    if nr_running == 1 && c.load > self.imbalance as u64 && !self.check_cpu_capacity(i) {
                        continue;
                    }
                    if c.load * busiest_capacity > busiest_load * c.capacity {
                        busiest_load = c.load;
                        busiest_capacity = c.capacity;
                        busiest = Some(i);
                    }
                }
                Migration::Util => {
                    let mut util = self.cpu_util_cfs(i);
                    if self.config.version >= Version::V6_12 {
                        // cpu_util() with boost raises it before the limit.
                        util = c.util.max(c.runnable);
                        if self.state.util_est {
                            util = util.max(c.util_est);
                        }
                        util = util.min(c.capacity_orig);
                    }
                    if nr_running <= 1 {
                        continue;
                    }
                    if busiest_util < util {
                        busiest_util = util;
                        busiest = Some(i);
                    }
                }
                Migration::Task => {
                    if busiest_nr < nr_running {
                        busiest_nr = nr_running;
                        busiest = Some(i);
                    }
                }
            }
        }
        busiest
    }
}
