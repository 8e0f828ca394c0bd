//! 6.1 (which stands for 6.4) to 7.3.

use super::{Raw, RawPd};

/// `struct energy_env`.
struct EnergyEnv {
    task_busy_time: i64,
    pd_busy_time: i64,
    cpu_cap: i64,
    pd_cap: i64,
}

impl Raw {
    fn compute_energy(&self, eenv: &EnergyEnv, pd: &RawPd, dst: i64) -> u64 {
        let mut max_util = 0;
        for &cpu in &pd.cpus {
            let (util, task) = (self.cpu_util(cpu, dst, true), cpu as i64 == dst);
            let util = if self.version >= 608 {
                self.perf_util(cpu, util, task)
            } else {
                self.frequency_util(cpu, util, task)
            };
            max_util = max_util.max(util);
        }
        max_util = max_util.min(eenv.cpu_cap);
        let mut busy_time = eenv.pd_busy_time;
        if dst >= 0 {
            busy_time = eenv.pd_cap.min(busy_time + eenv.task_busy_time);
        }
        pd.em_cpu_energy(self.version, self.capacity_orig[pd.cpus[0]], max_util, busy_time, eenv.cpu_cap) as u64
    }

    pub(super) fn feec_6_1(&self) -> usize {
        let (mut prev_delta, mut best_delta) = (u64::MAX, u64::MAX);
        let p_util_min = if self.uclamp_used { self.task_min } else { 0 };
        let p_util_max = if self.uclamp_used { self.task_max } else { 1024 };
        let (mut prev_fits, mut best_fits) = (-1, -1);
        let (mut best_cap, mut prev_cap) = (0, 0);
        let mut best_energy_cpu = usize::MAX;
        if self.task_util_est() == 0 && p_util_min == 0 {
            return self.prev_cpu;
        }
        let max_cap = self.capacity_orig[self.prev_cpu];
        let irq = self.irq[self.prev_cpu];
        let task_busy_time = if irq >= max_cap { max_cap } else { self.task_util_est() * (max_cap - irq) / max_cap };
        let mut eenv = EnergyEnv { task_busy_time, pd_busy_time: 0, cpu_cap: 0, pd_cap: 0 };
        for pd in self.pds.iter().rev() {
            let (mut util_min, mut util_max) = (p_util_min, p_util_max);
            let (mut prev_spare_cap, mut max_spare_cap) = (-1, -1);
            let mut max_spare_cap_cpu = -1;
            let mut max_fits = -1;
            let first = pd.cpus[0];
            let pressure =
                if self.version == 612 { self.pressure[first].max(self.load_avg[first]) } else { self.pressure[first] };
            eenv.cpu_cap = self.capacity_orig[first] - pressure;
            eenv.pd_cap = 0;
            for &cpu in &pd.cpus {
                eenv.pd_cap += eenv.cpu_cap;
                if !self.span[cpu] || !self.allowed[cpu] {
                    continue;
                }
                let util = self.cpu_util(cpu, cpu as i64, false);
                let mut cpu_cap = self.capacity[cpu];
                if self.uclamp_used && !self.uclamp_idle[cpu] {
                    util_min = self.uclamp_min[cpu].max(p_util_min);
                    util_max = self.uclamp_max[cpu].max(p_util_max);
                }
                let fits = self.util_fits_cpu(util, util_min, util_max, cpu);
                if fits == 0 {
                    continue;
                }
                cpu_cap = (cpu_cap - util).max(0);
                if cpu == self.prev_cpu {
                    prev_spare_cap = cpu_cap;
                    prev_fits = fits;
                } else if fits > max_fits || (fits == max_fits && cpu_cap > max_spare_cap) {
                    max_spare_cap = cpu_cap;
                    max_spare_cap_cpu = cpu as i64;
                    max_fits = fits;
                }
            }
            if max_spare_cap_cpu < 0 && prev_spare_cap < 0 {
                continue;
            }
            let mut busy_time = 0;
            for &cpu in &pd.cpus {
                busy_time += self.energy_util(cpu, self.cpu_util(cpu, -1, false));
            }
            eenv.pd_busy_time = eenv.pd_cap.min(busy_time);
            let base_energy = self.compute_energy(&eenv, pd, -1);
            if prev_spare_cap > -1 {
                prev_delta = self.compute_energy(&eenv, pd, self.prev_cpu as i64);
                if prev_delta < base_energy {
                    return self.prev_cpu;
                }
                prev_delta -= base_energy;
                prev_cap = eenv.cpu_cap;
                best_delta = best_delta.min(prev_delta);
            }
            if max_spare_cap_cpu >= 0 && max_spare_cap > prev_spare_cap {
                if max_fits < best_fits {
                    continue;
                }
                if max_fits < 0 && eenv.cpu_cap <= best_cap {
                    continue;
                }
                let mut cur_delta = self.compute_energy(&eenv, pd, max_spare_cap_cpu);
                if cur_delta < base_energy {
                    return self.prev_cpu;
                }
                cur_delta -= base_energy;
                if max_fits > 0 && best_fits > 0 && cur_delta >= best_delta {
                    continue;
                }
                best_delta = cur_delta;
                best_energy_cpu = max_spare_cap_cpu as usize;
                best_fits = max_fits;
                best_cap = eenv.cpu_cap;
            }
        }
        if best_fits > prev_fits || (best_fits > 0 && best_delta < prev_delta) || (best_fits < 0 && best_cap > prev_cap)
        {
            return best_energy_cpu;
        }
        self.prev_cpu
    }
}
