//! The search of 6.12 and 7.2: clusters first. SIS_PROP, which neither has any more, goes where 6.1 has it.

use super::{Kernel, Version, set, wrap};
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomain, SdFlags};
use wakelab_sched::select::{Reason, ScanCost};

impl Kernel<'_> {
    pub(super) fn select_idle_sibling_6_12(&mut self, prev: Cpu, target: Cpu) -> Cpu {
        let mut prev_aff = None;
        if self.choose_idle_cpu(target) {
            return self.end(Reason::Target, target);
        }
        if prev != target && self.cpus_share_cache(prev, target) && self.choose_idle_cpu(prev) {
            if !self.domains.cluster_active || self.cpus_share_resources(prev, target) {
                return self.end(Reason::Prev, prev);
            }
            prev_aff = Some(prev);
        }
        if self.stacks_on_kthread(prev) {
            return self.end(Reason::Kthread, prev);
        }
        let mut recent_used_cpu = self.wakeup.wakee.recent_used_cpu;
        self.effects.recent_used_cpu = Some(prev);
        match recent_used_cpu {
            Some(recent)
                if recent != prev
                    && recent != target
                    && self.cpus_share_cache(recent, target)
                    && self.choose_idle_cpu(recent)
                    && self.allowed(recent) =>
            {
                if !self.domains.cluster_active || self.cpus_share_resources(recent, target) {
                    return self.end(Reason::Recent, recent);
                }
            }
            _ => recent_used_cpu = None,
        }

        let Some(sd) = self.sd_llc(target) else {
            return self.end(Reason::None, target);
        };
        self.count.domain_search += 1;
        let mut has_idle_core = false;
        if self.domains.smt_active {
            has_idle_core = self.test_idle_cores(target);
            if !has_idle_core
                && self.cpus_share_cache(prev, target)
                && let Some(cpu) = self.select_idle_smt(sd, prev)
            {
                return self.end(Reason::Smt, cpu);
            }
        }
        if let Some(cpu) = self.select_idle_cpu_6_12(sd, has_idle_core, target) {
            return cpu;
        }
        if let Some(prev) = prev_aff {
            return self.end(Reason::PrevFar, prev);
        }
        if let Some(recent) = recent_used_cpu {
            return self.end(Reason::RecentFar, recent);
        }
        self.fall_through(target)
    }

    fn select_idle_cpu_6_12(&mut self, sd: &SchedDomain, has_idle_core: bool, target: Cpu) -> Option<Cpu> {
        let this = self.this_cpu();
        let mut cpus = &set(&sd.span) & &self.cpus_ptr();
        let start = if has_idle_core { target + 1 } else { self.walk_start(target, target + 1) };
        let mut nr = i32::MAX;
        let mut idle_cpu = None;
        let mut started: Option<(ScanCost, u64)> = None;
        if self.on(Feature::SIS_PROP) && !has_idle_core {
            self.waker_sd_llc()?;
            let aged = self.sis_prop_age();
            nr = self.sis_prop_nr(sd, aged.wake_avg_idle, aged.avg_scan_cost + 1, target);
            started = Some((aged, self.view.cpu_clock(this, 0)));
        }
        if !has_idle_core && self.alone_and_short(target) && self.is_short(self.wakeup.wakee.dur_avg) {
            return Some(self.end(Reason::Short, target));
        }
        if self.on(Feature::SIS_UTIL) {
            nr = self.view.nr_idle_scan(target) + 1;
            if nr == 1 {
                self.given_up = Reason::Overloaded;
                return None;
            }
        }
        if self.version >= Version::V7_2 && cpus.is_empty() {
            // No kernel has this return and SIS_PROP; 6.1, which has not, accounts for an empty walk too.
            self.sis_prop_end(started);
            return None;
        }
        if !has_idle_core {
            cpus = self.not_overloaded(target, cpus);
        }

        let sg = &sd.groups[sd.first_group as usize];
        if self.domains.cluster_active && sg.flags.contains(SdFlags::CLUSTER) {
            for cpu in wrap(self.domains.nr_cpus, start) {
                if !sg.span.test(cpu) || !cpus.contains(&cpu) {
                    continue;
                }
                if has_idle_core {
                    if let Some(core) = self.select_idle_core(cpu, &mut cpus, &mut idle_cpu) {
                        return Some(self.end(Reason::Core, core));
                    }
                } else {
                    self.came_to(target, cpu);
                    nr -= 1;
                    if nr <= 0 {
                        self.given_up = Reason::Limit;
                        return None;
                    }
                    self.count.scanned += 1;
                    if self.choose_idle_cpu(cpu) {
                        // No kernel has clusters and SIS_PROP; 6.1 accounts for a walk that found a CPU.
                        self.sis_prop_end(started);
                        return Some(self.end(Reason::Scan, cpu));
                    }
                }
            }
            cpus = &cpus - &set(&sg.span);
        }

        for cpu in wrap(self.domains.nr_cpus, start) {
            if !cpus.contains(&cpu) {
                continue;
            }
            if has_idle_core {
                if let Some(core) = self.select_idle_core(cpu, &mut cpus, &mut idle_cpu) {
                    return Some(self.end(Reason::Core, core));
                }
            } else {
                self.came_to(target, cpu);
                nr -= 1;
                if nr <= 0 {
                    self.given_up = Reason::Limit;
                    return None;
                }
                self.count.scanned += 1;
                if self.choose_idle_cpu(cpu) {
                    idle_cpu = Some(cpu);
                    break;
                }
            }
        }

        if has_idle_core {
            self.effects.clear_idle_cores = Some(target);
        }
        self.sis_prop_end(started);
        self.reason = if has_idle_core { Reason::CoreCpu } else { Reason::Scan };
        idle_cpu
    }
}
