//! `find_energy_efficient_cpu()` a second time: written from the kernels' sources alone, straight down, with plain
//! vectors, the kernel's signed numbers and its jumps.

mod model;
mod new;
mod old;

pub use model::RawPd;

/// A system as numbers.
#[derive(Clone, Debug)]
pub struct Raw {
    /// 5.10 is 510, 5.15 is 515, 5.18 is 518, 6.1 is 601, 6.8 is 608, 6.12 is 612; `v5.18-eas` and 6.6 are 601 too,
    /// 6.18 is 612.
    pub version: u32,
    /// Boosting: 0 not at all, else the form: `b'a'`, `b'b'` or `b'c'`.
    pub boost: u8,
    pub util_avg: Vec<i64>,
    pub runnable_avg: Vec<i64>,
    pub util_est: Vec<i64>,
    pub capacity: Vec<i64>,
    pub capacity_orig: Vec<i64>,
    pub pressure: Vec<i64>,
    pub load_avg: Vec<i64>,
    pub irq: Vec<i64>,
    pub rt: Vec<i64>,
    pub dl: Vec<i64>,
    pub bw_dl: Vec<i64>,
    pub rt_runnable: Vec<bool>,
    pub uclamp_min: Vec<i64>,
    pub uclamp_max: Vec<i64>,
    pub uclamp_idle: Vec<bool>,
    pub uclamp_used: bool,
    /// In the order of their lowest CPUs.
    pub pds: Vec<RawPd>,
    /// `sched_domain_span(sd)`.
    pub span: Vec<bool>,
    pub allowed: Vec<bool>,
    pub prev_cpu: usize,
    pub task_util: i64,
    pub task_runnable: i64,
    pub task_est: i64,
    pub task_min: i64,
    pub task_max: i64,
}

impl Raw {
    /// The CPU.
    pub fn find_energy_efficient_cpu(&self) -> usize {
        match self.version {
            510 => self.feec_5_10(),
            515 | 518 => self.feec_5_18(),
            _ => self.feec_6_1(),
        }
    }

    fn task_util_est(&self) -> i64 {
        self.task_util.max(self.task_est)
    }

    /// `cpu_util()` and `cpu_util_next()`. `dst` of -1 is nowhere.
    fn cpu_util(&self, cpu: usize, dst: i64, boost: bool) -> i64 {
        let form = if boost { self.boost } else { 0 };
        let here = self.prev_cpu == cpu;
        let to = dst == cpu as i64;
        let mut util = self.util_avg[cpu];
        let mut runnable = self.runnable_avg[cpu];
        if form == b'a' || form == b'b' {
            util = util.max(runnable);
        }
        if here && !to {
            util = (util - self.task_util).max(0);
            runnable = (runnable - self.task_runnable).max(0);
        } else if !here && to {
            util += self.task_util;
            runnable += self.task_runnable;
        }
        if form == b'c' {
            util = util.max(runnable);
        }
        let mut est = self.util_est[cpu];
        if form == b'a' {
            est = est.max(self.runnable_avg[cpu]);
        }
        if to {
            est += self.task_est;
        }
        util.max(est).min(self.capacity_orig[cpu])
    }

    /// 1, 0 or -1; `used` is `uclamp_is_used()`.
    fn util_fits_cpu(&self, util: i64, mut min: i64, max: i64, cpu: usize) -> i64 {
        let fits = i64::from(util * 1280 < self.capacity[cpu] * 1024);
        if !self.uclamp_used {
            return fits;
        }
        let orig = self.capacity_orig[cpu];
        let thermal = match self.version {
            612 => orig - self.pressure[cpu].max(self.load_avg[cpu]),
            _ => orig - self.pressure[cpu],
        };
        let max_1024 = orig == 1024 && max == 1024;
        let max_fits = !max_1024 && max <= orig;
        let fits = fits != 0 || max_fits;
        min = min.min(max);
        if matches!(self.version, 510 | 515) {
            let fits_min = util >= min || orig == 1024 || min <= thermal;
            return i64::from(fits && fits_min);
        }
        if fits && util < min && min > thermal {
            return -1;
        }
        i64::from(fits)
    }

    fn uclamp_rq_util_with(&self, cpu: usize, util: i64, task: bool) -> i64 {
        if !self.uclamp_used {
            return util;
        }
        let (mut min, mut max) = (0, 0);
        if task {
            (min, max) = (self.task_min, self.task_max);
        }
        if !(task && self.uclamp_idle[cpu]) {
            min = min.max(self.uclamp_min[cpu]);
            max = max.max(self.uclamp_max[cpu]);
        }
        if min >= max {
            return min;
        }
        util.max(min).min(max)
    }
}
