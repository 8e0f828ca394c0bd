//! The energy model and effective utilisation.

use super::Raw;

/// A performance domain: CPUs, and (kHz, uW).
#[derive(Clone, Debug)]
pub struct RawPd {
    pub cpus: Vec<usize>,
    pub table: Vec<(i64, i64)>,
}

impl RawPd {
    fn cost(&self, version: u32, scale: i64, at: usize) -> i64 {
        let (freq, uw) = self.table[at];
        let fmax = self.table[self.table.len() - 1].0;
        match version {
            510 | 515 | 518 => fmax * (uw / 1000 * 1000) / freq,
            601 | 608 => fmax * uw / freq,
            _ => uw * 10 / (scale * freq / fmax),
        }
    }

    fn inefficient(&self, version: u32, scale: i64, at: usize) -> bool {
        (at + 1..self.table.len()).any(|higher| self.cost(version, scale, higher) <= self.cost(version, scale, at))
    }

    pub fn em_cpu_energy(&self, version: u32, scale: i64, max_util: i64, sum_util: i64, allowed: i64) -> i64 {
        let last = self.table.len() - 1;
        let fmax = self.table[last].0;
        if sum_util == 0 {
            return 0;
        }
        let mut found = last;
        if version == 612 {
            let util = max_util.min(allowed);
            for at in (0..=last).rev() {
                if scale * self.table[at].0 / fmax >= util && !self.inefficient(version, scale, at) {
                    found = at;
                }
            }
            return self.cost(version, scale, found) * sum_util;
        }
        let freq = if version == 510 {
            (fmax + fmax / 4) * max_util / scale
        } else if version == 608 {
            fmax * max_util.min(allowed) / scale
        } else {
            fmax * (max_util + max_util / 4).min(allowed) / scale
        };
        for at in (0..=last).rev() {
            if self.table[at].0 >= freq && (matches!(version, 510 | 515) || !self.inefficient(version, scale, at)) {
                found = at;
            }
        }
        self.cost(version, scale, found) * sum_util / scale
    }
}

impl Raw {
    /// `effective_cpu_util(.., ENERGY_UTIL)` and that without bounds.
    pub(super) fn energy_util(&self, cpu: usize, util: i64) -> i64 {
        let max = self.capacity_orig[cpu];
        if self.irq[cpu] >= max {
            return max;
        }
        let util = util + self.rt[cpu] + self.dl[cpu];
        if util >= max {
            return max;
        }
        (util * (max - self.irq[cpu]) / max + self.irq[cpu]).min(max)
    }

    /// `effective_cpu_util(.., FREQUENCY_UTIL)` up to 6.7.
    pub(super) fn frequency_util(&self, cpu: usize, util: i64, task: bool) -> i64 {
        let max = self.capacity_orig[cpu];
        if !self.uclamp_used && self.rt_runnable[cpu] {
            return max;
        }
        if self.irq[cpu] >= max {
            return max;
        }
        let util = self.uclamp_rq_util_with(cpu, util + self.rt[cpu], task);
        if util + self.dl[cpu] >= max {
            return max;
        }
        (util * (max - self.irq[cpu]) / max + self.irq[cpu] + self.bw_dl[cpu]).min(max)
    }

    /// The same since 6.8, as eenv_pd_max_util() asks it.
    pub(super) fn perf_util(&self, cpu: usize, util: i64, task: bool) -> i64 {
        let scale = self.capacity_orig[cpu];
        let (mut min, mut max);
        if self.irq[cpu] >= scale {
            (min, max) = (scale, scale);
        } else {
            min = (self.irq[cpu] + self.bw_dl[cpu]).max(self.uclamp_min[cpu]);
            if !self.uclamp_used && self.rt_runnable[cpu] {
                min = min.max(scale);
            }
            max = scale.min(self.uclamp_max[cpu]);
        }
        let eff = self.energy_util(cpu, util);
        if task && self.uclamp_used {
            min = min.max(self.task_min);
            max = if self.uclamp_idle[cpu] { self.task_max } else { max.max(self.task_max) };
        }
        let actual = eff + eff / 4;
        if actual < max {
            max = actual;
        }
        min.max(max)
    }
}
