//! Forks and execs: down the domains, each time to the idlest group and its idlest CPU. Called
//! `sched_balance_find_dst_*()` in 6.12 and 7.2, and but for the marked lines the same since 5.10; 5.3 compares groups
//! otherwise.

use super::{Kernel, Version, set};
use std::collections::BTreeSet;
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomain, SchedGroup, SdFlags};

/// The types that occur here, the idlest first. Without different capacities there is no misfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GroupType {
    HasSpare,
    FullyBusy,
    Imbalanced,
    Overloaded,
}

#[derive(Clone, Copy, Debug)]
struct SgLbStats {
    avg_load: u64,
    group_load: u64,
    group_capacity: u64,
    group_util: u64,
    group_runnable: u64,
    sum_nr_running: u32,
    idle_cpus: u32,
    group_weight: u32,
    group_type: GroupType,
}

const NICE_0_LOAD: u64 = 1024;

impl Kernel<'_> {
    pub(super) fn find_idlest_cpu(&self, level: usize, this_cpu: Cpu, prev_cpu: Cpu, sd_flag: SdFlags) -> Cpu {
        let domains = &self.domains.domains;
        let (mut cpu, mut new_cpu) = (this_cpu, this_cpu);
        if set(&domains[cpu as usize][level].span).is_disjoint(&self.cpus_ptr()) {
            return prev_cpu;
        }
        let mut at = Some(level);
        while let Some(level) = at {
            let child = level.checked_sub(1);
            let sd = &domains[cpu as usize][level];
            if !sd.flags.intersects(sd_flag) {
                at = child;
                continue;
            }
            let group = if self.version == Version::V5_3 {
                self.find_idlest_group_5_3(sd, level, cpu, sd_flag)
            } else {
                self.find_idlest_group(sd, level, cpu)
            };
            let Some(group) = group else {
                at = child;
                continue;
            };
            new_cpu = if self.version == Version::V5_3 {
                self.find_idlest_group_cpu_5_3(group, cpu)
            } else {
                self.find_idlest_group_cpu(group, cpu)
            };
            if new_cpu == cpu {
                at = child;
                continue;
            }
            cpu = new_cpu;
            let weight = sd.span_weight;
            at = None;
            for (level, tmp) in domains[cpu as usize].iter().enumerate() {
                if weight <= tmp.span_weight {
                    break;
                }
                if tmp.flags.intersects(sd_flag) {
                    at = Some(level);
                }
            }
        }
        new_cpu
    }

    fn find_idlest_group<'d>(&self, sd: &'d SchedDomain, level: usize, this_cpu: Cpu) -> Option<&'d SchedGroup> {
        let mut idlest: Option<(&SchedGroup, SgLbStats)> = None;
        let mut local: Option<(&SchedGroup, SgLbStats)> = None;
        let ring = (0..sd.groups.len()).map(|i| &sd.groups[(sd.first_group as usize + i) % sd.groups.len()]);
        for group in ring {
            if set(&group.span).is_disjoint(&self.cpus_ptr()) {
                continue;
            }
            let sgs = self.update_sg_wakeup_stats(sd, level, group);
            if group.span.test(this_cpu) {
                local = Some((group, sgs));
            } else if self.update_pick_idlest(idlest.map(|(_, sgs)| sgs), sgs) {
                idlest = Some((group, sgs));
            }
        }
        let (idlest, idlest_sgs) = idlest?;
        let Some((local, local_sgs)) = local else {
            return Some(idlest);
        };
        if local_sgs.group_type < idlest_sgs.group_type {
            return None;
        }
        if local_sgs.group_type > idlest_sgs.group_type {
            return Some(idlest);
        }
        let numa = sd.flags.contains(SdFlags::NUMA);
        match local_sgs.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let pct = u64::from(sd.imbalance_pct);
                let imbalance = NICE_0_LOAD * (pct - 100) / 100;
                if numa && idlest_sgs.avg_load + imbalance >= local_sgs.avg_load {
                    return None;
                }
                if idlest_sgs.avg_load >= local_sgs.avg_load + imbalance {
                    return None;
                }
                if 100 * local_sgs.avg_load <= pct * idlest_sgs.avg_load {
                    return None;
                }
            }
            GroupType::Imbalanced => return None,
            GroupType::HasSpare => {
                if numa {
                    let preferred = self.wakeup.wakee.numa_preferred_nid;
                    if Some(self.domains.node[this_cpu as usize]) == preferred {
                        return None;
                    }
                    let idlest_cpu = *set(&idlest.span).first().unwrap();
                    if Some(self.domains.node[idlest_cpu as usize]) == preferred {
                        return Some(idlest);
                    }
                    if self.version == Version::V5_10 {
                        if local_sgs.idle_cpus > 0 {
                            return None;
                        }
                    } else {
                        // NR_CPUS is larger than any machine here, so that this holds for a task without an affinity
                        // of its own too.
                        let mine: BTreeSet<Cpu> = &set(&local.span) & &self.cpus_ptr();
                        let imb_numa_nr = sd.imb_numa_nr.min(mine.len() as u32);
                        let imbalance = local_sgs.idle_cpus.abs_diff(idlest_sgs.idle_cpus);
                        if adjust_numa_imbalance(imbalance, local_sgs.sum_nr_running + 1, imb_numa_nr) == 0 {
                            return None;
                        }
                    }
                }
                if local_sgs.idle_cpus >= idlest_sgs.idle_cpus {
                    return None;
                }
            }
        }
        Some(idlest)
    }

    fn find_idlest_group_cpu(&self, group: &SchedGroup, this_cpu: Cpu) -> Cpu {
        if group.weight == 1 {
            return *set(&group.span).first().unwrap();
        }
        let mut min_load = u64::MAX;
        let mut min_exit_latency = u32::MAX;
        let mut latest_idle_timestamp = 0;
        let mut least_loaded_cpu = this_cpu;
        let mut shallowest_idle_cpu = None;
        for i in &set(&group.span) & &self.cpus_ptr() {
            if self.choose_sched_idle_rq(i) {
                return i;
            }
            if self.view.available_idle_cpu(i) {
                let (idle, stamp) = (self.view.idle_exit_latency(i), self.view.idle_stamp(i));
                if idle.is_some_and(|latency| latency < min_exit_latency) {
                    min_exit_latency = idle.unwrap();
                    latest_idle_timestamp = stamp;
                    shallowest_idle_cpu = Some(i);
                } else if idle.is_none_or(|latency| latency == min_exit_latency) && stamp > latest_idle_timestamp {
                    latest_idle_timestamp = stamp;
                    shallowest_idle_cpu = Some(i);
                }
            } else if shallowest_idle_cpu.is_none() {
                let load = self.view.cpu_load(i);
                if load < min_load {
                    min_load = load;
                    least_loaded_cpu = i;
                }
            }
        }
        shallowest_idle_cpu.unwrap_or(least_loaded_cpu)
    }

    fn update_sg_wakeup_stats(&self, sd: &SchedDomain, level: usize, group: &SchedGroup) -> SgLbStats {
        let mut sgs = SgLbStats {
            avg_load: 0,
            group_load: 0,
            group_capacity: self.view.group_capacity(level, group),
            group_util: 0,
            group_runnable: 0,
            sum_nr_running: 0,
            idle_cpus: 0,
            group_weight: group.weight,
            group_type: GroupType::HasSpare,
        };
        let mut cpus = set(&group.span);
        if self.version != Version::V6_1 {
            cpus = &cpus & &self.cpus_ptr();
        }
        for i in cpus {
            sgs.group_load += self.cpu_load_without(i);
            sgs.group_util += self.cpu_util_without(i);
            sgs.group_runnable += self.cpu_runnable_without(i);
            let nr_running = self.view.nr_running(i) - self.task_running_on_cpu(i);
            sgs.sum_nr_running += nr_running;
            if nr_running == 0 && self.idle_cpu_without(i) {
                sgs.idle_cpus += 1;
            }
        }
        sgs.group_type = group_classify(u64::from(sd.imbalance_pct), self.view.group_imbalance(level, group), &sgs);
        if matches!(sgs.group_type, GroupType::FullyBusy | GroupType::Overloaded) {
            sgs.avg_load = sgs.group_load * 1024 / sgs.group_capacity;
        }
        sgs
    }

    /// The idlest so far is at first a group that is overloaded without measure.
    fn update_pick_idlest(&self, idlest: Option<SgLbStats>, sgs: SgLbStats) -> bool {
        let Some(idlest) = idlest else {
            return sgs.group_type < GroupType::Overloaded || sgs.avg_load < u64::from(u32::MAX);
        };
        if sgs.group_type != idlest.group_type {
            return sgs.group_type < idlest.group_type;
        }
        match sgs.group_type {
            GroupType::Overloaded | GroupType::FullyBusy => idlest.avg_load > sgs.avg_load,
            GroupType::Imbalanced => false,
            GroupType::HasSpare => {
                sgs.idle_cpus > idlest.idle_cpus
                    || sgs.idle_cpus == idlest.idle_cpus && sgs.group_util < idlest.group_util
            }
        }
    }

    /// Whether the task's own averages are part of this CPU's.
    fn contributes_to(&self, cpu: Cpu) -> bool {
        cpu == self.wakeup.wakee.prev_cpu && self.wakeup.wakee.has_contributed
    }

    fn cpu_load_without(&self, cpu: Cpu) -> u64 {
        let load = self.view.cpu_load(cpu);
        if self.contributes_to(cpu) { load.saturating_sub(self.wakeup.wakee.h_load) } else { load }
    }

    fn cpu_runnable_without(&self, cpu: Cpu) -> u64 {
        let runnable = self.view.cpu_runnable(cpu);
        if self.contributes_to(cpu) { runnable.saturating_sub(self.wakeup.wakee.runnable_avg) } else { runnable }
    }

    pub(super) fn cpu_util_without(&self, cpu: Cpu) -> u64 {
        let p = &self.wakeup.wakee;
        let mut util = self.view.cpu_util_avg(cpu);
        if self.contributes_to(cpu) {
            util = util.saturating_sub(p.util_avg);
        }
        if self.on(Feature::UTIL_EST) {
            let mut estimated = self.view.cpu_util_est(cpu).unwrap();
            if self.contributes_to(cpu) && (p.on_rq || p.is_current) {
                estimated = estimated.saturating_sub(p.util_est);
            }
            util = util.max(estimated);
        }
        util.min(self.view.arch_scale_cpu_capacity(cpu))
    }

    fn task_running_on_cpu(&self, cpu: Cpu) -> u32 {
        u32::from(self.contributes_to(cpu) && self.wakeup.wakee.on_rq)
    }

    fn idle_cpu_without(&self, cpu: Cpu) -> bool {
        let runs_p = self.wakeup.wakee.is_current && cpu == self.this_cpu();
        (self.view.curr_is_idle(cpu) || runs_p) && !self.view.ttwu_pending(cpu)
    }
}

fn group_classify(imbalance_pct: u64, sg_imbalanced: bool, sgs: &SgLbStats) -> GroupType {
    if group_is_overloaded(imbalance_pct, sgs) {
        GroupType::Overloaded
    } else if sg_imbalanced {
        GroupType::Imbalanced
    } else if !group_has_capacity(imbalance_pct, sgs) {
        GroupType::FullyBusy
    } else {
        GroupType::HasSpare
    }
}

fn group_has_capacity(imbalance_pct: u64, sgs: &SgLbStats) -> bool {
    if sgs.sum_nr_running < sgs.group_weight {
        return true;
    }
    if sgs.group_capacity * imbalance_pct < sgs.group_runnable * 100 {
        return false;
    }
    sgs.group_capacity * 100 > sgs.group_util * imbalance_pct
}

fn group_is_overloaded(imbalance_pct: u64, sgs: &SgLbStats) -> bool {
    if sgs.sum_nr_running <= sgs.group_weight {
        return false;
    }
    sgs.group_capacity * 100 < sgs.group_util * imbalance_pct
        || sgs.group_capacity * imbalance_pct < sgs.group_runnable * 100
}

fn adjust_numa_imbalance(imbalance: u32, dst_running: u32, imb_numa_nr: u32) -> u32 {
    const NUMA_IMBALANCE_MIN: u32 = 2;
    if dst_running > imb_numa_nr {
        return imbalance;
    }
    if imbalance <= NUMA_IMBALANCE_MIN { 0 } else { imbalance }
}
