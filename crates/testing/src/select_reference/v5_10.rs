//! The search of 5.10: an idle core, an idle CPU, an idle sibling, in three walks.

use super::{Kernel, set, update_avg, wrap};
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedDomain;
use wakelab_sched::select::{Reason, ScanCost};

impl Kernel<'_> {
    pub(super) fn select_idle_sibling_5_10(&mut self, prev: Cpu, target: Cpu) -> Cpu {
        if self.choose_idle_cpu(target) {
            return self.end(Reason::Target, target);
        }
        if prev != target && self.cpus_share_cache(prev, target) && self.choose_idle_cpu(prev) {
            return self.end(Reason::Prev, prev);
        }
        if self.stacks_on_kthread(prev) {
            return self.end(Reason::Kthread, prev);
        }
        if let Some(recent) = self.wakeup.wakee.recent_used_cpu
            && recent != prev
            && recent != target
            && self.cpus_share_cache(recent, target)
            && self.choose_idle_cpu(recent)
            && self.allowed(recent)
        {
            self.effects.recent_used_cpu = Some(prev);
            return self.end(Reason::Recent, recent);
        }

        let Some(sd) = self.sd_llc(target) else {
            return self.end(Reason::None, target);
        };
        self.count.domain_search += 1;
        if let Some(cpu) = self.select_idle_core_5_10(sd, target) {
            return self.end(Reason::Core, cpu);
        }
        if let Some(cpu) = self.select_idle_cpu_5_10(sd, target) {
            return self.end(if self.short { Reason::Short } else { Reason::Scan }, cpu);
        }
        if let Some(cpu) = self.select_idle_smt_5_10(sd, target) {
            return self.end(Reason::Smt, cpu);
        }
        self.fall_through(target)
    }

    fn select_idle_core_5_10(&mut self, sd: &SchedDomain, target: Cpu) -> Option<Cpu> {
        if !self.domains.smt_active || !self.test_idle_cores(target) {
            return None;
        }
        let mut cpus = &set(&sd.span) & &self.cpus_ptr();
        for core in wrap(self.domains.nr_cpus, target) {
            if !cpus.contains(&core) {
                continue;
            }
            let mut idle = true;
            for cpu in self.smt_mask(core) {
                self.count.scanned += 1;
                if !self.view.available_idle_cpu(cpu) {
                    idle = false;
                    break;
                }
            }
            cpus = &cpus - &self.smt_mask(core);
            if idle {
                return Some(core);
            }
        }
        self.effects.clear_idle_cores = Some(target);
        None
    }

    fn select_idle_cpu_5_10(&mut self, sd: &SchedDomain, target: Cpu) -> Option<Cpu> {
        let this = self.this_cpu();
        self.waker_sd_llc()?;
        // The kernel keeps the average whether SIS_PROP is on or not; the model does only where something reads it.
        let sis_prop = self.on(Feature::SIS_PROP);
        let mut nr = i32::MAX;
        let mut time = 0;
        if sis_prop {
            let clock = self.view.scan_clock(this);
            nr = self.sis_prop_nr(sd, clock.avg_idle / 512, clock.avg_scan_cost + 1, target);
            time = self.view.cpu_clock(this, 0);
        }
        if self.alone_and_short(target) && self.is_short(self.wakeup.wakee.dur_avg) {
            self.short = true;
            return Some(target);
        }
        let start = self.walk_start(target, target);
        let cpus = self.not_overloaded(target, &set(&sd.span) & &self.cpus_ptr());
        let mut found = None;
        for cpu in wrap(self.domains.nr_cpus, start) {
            if !cpus.contains(&cpu) {
                continue;
            }
            self.came_to(target, cpu);
            nr -= 1;
            if nr == 0 {
                self.given_up = Reason::Limit;
                return None;
            }
            self.count.scanned += 1;
            if self.choose_idle_cpu(cpu) {
                found = Some(cpu);
                break;
            }
        }
        if sis_prop {
            let clock = self.view.scan_clock(this);
            time = self.view.cpu_clock(this, 0) - time;
            self.effects.scan_cost = Some(ScanCost {
                wake_stamp: clock.wake_stamp,
                wake_avg_idle: clock.wake_avg_idle,
                avg_scan_cost: update_avg(clock.avg_scan_cost, time),
            });
        }
        found
    }

    fn select_idle_smt_5_10(&mut self, sd: &SchedDomain, target: Cpu) -> Option<Cpu> {
        if !self.domains.smt_active {
            return None;
        }
        for cpu in self.smt_mask(target) {
            self.count.scanned += 1;
            if !self.allowed(cpu) || !sd.span.test(cpu) {
                continue;
            }
            if self.choose_idle_cpu(cpu) {
                return Some(cpu);
            }
        }
        None
    }
}
