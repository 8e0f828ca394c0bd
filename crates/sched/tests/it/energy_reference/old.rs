//! 5.10, 5.15 and 5.18.

use super::{Raw, RawPd};

const ULONG_MAX: u64 = u64::MAX;

impl Raw {
    fn compute_energy_5_10(&self, pd: &RawPd, dst: i64) -> u64 {
        let scale = self.capacity_orig[pd.cpus[0]];
        let (mut max_util, mut sum_util) = (0, 0);
        for &cpu in &pd.cpus {
            sum_util += self.energy_util(cpu, self.cpu_util(cpu, dst, false));
            let util = self.frequency_util(cpu, self.cpu_util(cpu, dst, true), dst == cpu as i64);
            max_util = max_util.max(util);
        }
        pd.em_cpu_energy(510, scale, max_util, sum_util, 1024) as u64
    }

    fn compute_energy_5_18(&self, pd: &RawPd, dst: i64) -> u64 {
        let scale = self.capacity_orig[pd.cpus[0]];
        let cpu_cap = scale - self.pressure[pd.cpus[0]];
        let (mut max_util, mut sum_util) = (0, 0);
        for &cpu in &pd.cpus {
            let mut util_running = self.cpu_util(cpu, dst, false);
            if cpu as i64 == dst {
                util_running = self.cpu_util(cpu, -1, false) + self.task_util_est();
            }
            sum_util += self.energy_util(cpu, util_running).min(cpu_cap);
            let util = self.frequency_util(cpu, self.cpu_util(cpu, dst, true), dst == cpu as i64);
            max_util = max_util.max(util.min(cpu_cap));
        }
        pd.em_cpu_energy(self.version, scale, max_util, sum_util, cpu_cap) as u64
    }

    pub(super) fn feec_5_10(&self) -> usize {
        let (mut prev_delta, mut best_delta) = (ULONG_MAX, ULONG_MAX);
        let mut base_energy = 0u64;
        let mut best_energy_cpu = self.prev_cpu;
        let p_util_min = if self.uclamp_used { self.task_min } else { 0 };
        let p_util_max = if self.uclamp_used { self.task_max } else { 1024 };
        if self.task_util_est() == 0 && p_util_min == 0 {
            return self.prev_cpu;
        }
        for pd in self.pds.iter().rev() {
            let (mut util_min, mut util_max) = (p_util_min, p_util_max);
            let mut max_spare_cap = 0;
            let mut max_spare_cap_cpu = -1;
            let base_energy_pd = self.compute_energy_5_10(pd, -1);
            base_energy = base_energy.wrapping_add(base_energy_pd);
            for &cpu in &pd.cpus {
                if !self.span[cpu] || !self.allowed[cpu] {
                    continue;
                }
                let util = self.cpu_util(cpu, cpu as i64, false);
                let spare_cap = (self.capacity[cpu] - util).max(0);
                if self.uclamp_used && !self.uclamp_idle[cpu] {
                    util_min = self.uclamp_min[cpu].max(p_util_min);
                    util_max = self.uclamp_max[cpu].max(p_util_max);
                }
                if self.util_fits_cpu(util, util_min, util_max, cpu) == 0 {
                    continue;
                }
                if cpu == self.prev_cpu {
                    prev_delta = self.compute_energy_5_10(pd, cpu as i64).wrapping_sub(base_energy_pd);
                    best_delta = best_delta.min(prev_delta);
                }
                if spare_cap > max_spare_cap {
                    max_spare_cap = spare_cap;
                    max_spare_cap_cpu = cpu as i64;
                }
            }
            if max_spare_cap_cpu >= 0 && max_spare_cap_cpu != self.prev_cpu as i64 {
                let cur_delta = self.compute_energy_5_10(pd, max_spare_cap_cpu).wrapping_sub(base_energy_pd);
                if cur_delta < best_delta {
                    best_delta = cur_delta;
                    best_energy_cpu = max_spare_cap_cpu as usize;
                }
            }
        }
        if prev_delta == ULONG_MAX {
            return best_energy_cpu;
        }
        if prev_delta.wrapping_sub(best_delta) > prev_delta.wrapping_add(base_energy) >> 4 {
            return best_energy_cpu;
        }
        self.prev_cpu
    }

    pub(super) fn feec_5_18(&self) -> usize {
        let (mut prev_delta, mut best_delta) = (ULONG_MAX, ULONG_MAX);
        let mut base_energy = 0u64;
        let mut best_energy_cpu = self.prev_cpu;
        let p_util_min = if self.uclamp_used { self.task_min } else { 0 };
        let p_util_max = if self.uclamp_used { self.task_max } else { 1024 };
        if self.task_util_est() == 0 && (self.version == 518 || p_util_min == 0) {
            return self.prev_cpu;
        }
        for pd in self.pds.iter().rev() {
            let (mut util_min, mut util_max) = (p_util_min, p_util_max);
            let mut max_spare_cap = 0;
            let mut max_spare_cap_cpu = -1;
            let mut compute_prev_delta = false;
            for &cpu in &pd.cpus {
                if !self.span[cpu] || !self.allowed[cpu] {
                    continue;
                }
                let mut util = self.cpu_util(cpu, cpu as i64, false);
                let cpu_cap = self.capacity[cpu];
                let spare_cap = (cpu_cap - util).max(0);
                if self.version == 518 {
                    util = self.uclamp_rq_util_with(cpu, util, true);
                    if util * 1280 >= cpu_cap * 1024 {
                        continue;
                    }
                } else {
                    if self.uclamp_used && !self.uclamp_idle[cpu] {
                        util_min = self.uclamp_min[cpu].max(p_util_min);
                        util_max = self.uclamp_max[cpu].max(p_util_max);
                    }
                    if self.util_fits_cpu(util, util_min, util_max, cpu) == 0 {
                        continue;
                    }
                }
                if cpu == self.prev_cpu {
                    compute_prev_delta = true;
                } else if spare_cap > max_spare_cap {
                    max_spare_cap = spare_cap;
                    max_spare_cap_cpu = cpu as i64;
                }
            }
            if max_spare_cap_cpu < 0 && !compute_prev_delta {
                continue;
            }
            let base_energy_pd = self.compute_energy_5_18(pd, -1);
            base_energy = base_energy.wrapping_add(base_energy_pd);
            if compute_prev_delta {
                prev_delta = self.compute_energy_5_18(pd, self.prev_cpu as i64);
                if prev_delta < base_energy_pd {
                    return self.prev_cpu;
                }
                prev_delta -= base_energy_pd;
                best_delta = best_delta.min(prev_delta);
            }
            if max_spare_cap_cpu >= 0 {
                let mut cur_delta = self.compute_energy_5_18(pd, max_spare_cap_cpu);
                if cur_delta < base_energy_pd {
                    return self.prev_cpu;
                }
                cur_delta -= base_energy_pd;
                if cur_delta < best_delta {
                    best_delta = cur_delta;
                    best_energy_cpu = max_spare_cap_cpu as usize;
                }
            }
        }
        let saved = prev_delta.wrapping_sub(best_delta);
        if prev_delta == ULONG_MAX || saved > prev_delta.wrapping_add(base_energy) >> 4 {
            return best_energy_cpu;
        }
        self.prev_cpu
    }
}
