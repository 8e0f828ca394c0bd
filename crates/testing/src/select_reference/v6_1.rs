//! The search of 6.1: the previous CPU's siblings, then one walk for a core or a CPU.

use super::{Kernel, set, wrap};
use std::collections::BTreeSet;
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedDomain;
use wakelab_sched::select::{Reason, ScanCost};

impl Kernel<'_> {
    pub(super) fn select_idle_sibling_6_1(&mut self, prev: Cpu, target: Cpu) -> Cpu {
        if self.choose_idle_cpu(target) {
            return self.end(Reason::Target, target);
        }
        if prev != target && self.cpus_share_cache(prev, target) && self.choose_idle_cpu(prev) {
            return self.end(Reason::Prev, prev);
        }
        if self.stacks_on_kthread(prev) {
            return self.end(Reason::Kthread, prev);
        }
        self.effects.recent_used_cpu = Some(prev);
        if let Some(recent) = self.wakeup.wakee.recent_used_cpu
            && recent != prev
            && recent != target
            && self.cpus_share_cache(recent, target)
            && self.choose_idle_cpu(recent)
            && self.allowed(recent)
        {
            return self.end(Reason::Recent, recent);
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
        if let Some(cpu) = self.select_idle_cpu_6_1(sd, has_idle_core, target) {
            return cpu;
        }
        self.fall_through(target)
    }

    /// The same from 6.1 to 7.2. A sibling counts as scanned before its affinity is asked for.
    pub(super) fn select_idle_smt(&mut self, sd: &SchedDomain, target: Cpu) -> Option<Cpu> {
        for cpu in self.smt_mask(target) {
            if cpu == target {
                continue;
            }
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

    /// The same from 6.1 to 7.2.
    pub(super) fn select_idle_core(
        &mut self,
        core: Cpu,
        cpus: &mut BTreeSet<Cpu>,
        idle_cpu: &mut Option<Cpu>,
    ) -> Option<Cpu> {
        let mut idle = true;
        for cpu in self.smt_mask(core) {
            self.count.scanned += 1;
            if !self.view.available_idle_cpu(cpu) {
                idle = false;
                if idle_cpu.is_none() {
                    if self.choose_sched_idle_rq(cpu) && cpus.contains(&cpu) {
                        *idle_cpu = Some(cpu);
                        break;
                    }
                    continue;
                }
                break;
            }
            if idle_cpu.is_none() && cpus.contains(&cpu) {
                *idle_cpu = Some(cpu);
            }
        }
        if idle {
            return Some(core);
        }
        *cpus = &*cpus - &self.smt_mask(core);
        None
    }

    fn select_idle_cpu_6_1(&mut self, sd: &SchedDomain, has_idle_core: bool, target: Cpu) -> Option<Cpu> {
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
        if !has_idle_core {
            cpus = self.not_overloaded(target, cpus);
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
                if nr == 0 {
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
