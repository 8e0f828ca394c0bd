//! Where the tasks of a process run, and which LLC it prefers for it (`CONFIG_SCHED_CACHE`, 7.2; `account_mm_sched()`
//! and `task_cache_work()`, `kernel/sched/fair.c`).
//!
//! ```text
//! per CPU, and per CPU of a process: a run time that halves with each epoch
//! share of a process in a CPU = NICE_0_LOAD * runtime / (cpu_runtime + 1)                fraction_mm_sched()
//! per LLC: the sum of the shares; the best LLC replaces the preferred one if its sum is more than twice as large
//! nr_running_avg += (running - nr_running_avg) / clamp(sd_llc_size / 4, 2, 8)            update_avg_scale()
//! ```

use super::sched_cache::{CacheGroup, SchedCache};
use crate::cpumask::Cpu;

/// `struct sched_cache_time`: the run time of one process on one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedCacheTime {
    /// The run time, ns, halved with each epoch.
    pub runtime: u64,
    /// The CPU's epoch up to which it was halved.
    pub epoch: u64,
}

/// The run time of all processes on a CPU: `rq->cpu_runtime` and its epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuEpoch {
    /// `cpu_runtime`, ns, halved with each epoch.
    pub runtime: u64,
    /// `cpu_epoch`.
    pub epoch: u64,
    /// `cpu_epoch_next`, jiffies.
    pub next: u64,
}

/// `NICE_0_LOAD` of a 64-bit kernel.
const NICE_0_LOAD: u64 = 1 << 20;

/// `__shr_u64()`.
fn shr(value: u64, n: u64) -> u64 {
    if n >= 64 { 0 } else { value >> n }
}

impl CpuEpoch {
    /// `__update_mm_sched()`: halves the run times of a CPU, and of a process on it, for the epochs of `period` jiffies
    /// that have passed.
    pub fn update(&mut self, time: &mut SchedCacheTime, jiffies: u64, period: u32) {
        let period = u64::from(period.max(1));
        let delta = jiffies.wrapping_sub(self.next) as i64;
        if delta > 0 {
            let n = (delta as u64).div_ceil(period);
            self.epoch += n;
            self.next += n * period;
            self.runtime = shr(self.runtime, n);
        }
        let n = self.epoch.wrapping_sub(time.epoch);
        if n != 0 {
            time.epoch = self.epoch;
            time.runtime = shr(time.runtime, n);
        }
    }

    /// The first half of `account_mm_sched()`: the process has run on the CPU for another `delta_exec` ns.
    pub fn account(&mut self, time: &mut SchedCacheTime, delta_exec: u64, jiffies: u64, period: u32) {
        self.update(time, jiffies, period);
        time.runtime += delta_exec;
        self.runtime += delta_exec;
    }

    /// `fraction_mm_sched()`: the process's share of the CPU, of `NICE_0_LOAD`.
    pub fn fraction(&mut self, time: &mut SchedCacheTime, jiffies: u64, period: u32) -> u64 {
        self.update(time, jiffies, period);
        // The kernel's product wraps, too.
        NICE_0_LOAD.wrapping_mul(time.runtime) / (self.runtime + 1)
    }
}

impl SchedCache {
    /// The second half of `account_mm_sched()`: whether a process loses its preference, because a CPU that it runs on
    /// is at `epoch` and the process was last scanned at `scanned`, or because it is too large for that CPU's LLC.
    pub fn loses_preference(
        &self,
        group: &CacheGroup,
        epoch: u64,
        scanned: u64,
        sd_llc_size: u32,
        llc_bytes: Option<u64>,
    ) -> bool {
        epoch.wrapping_sub(scanned) as i64 > i64::from(self.epoch_affinity_timeout)
            || self.invalid_llc_nr(group, sd_llc_size)
            || self.exceed_llc_capacity(group, llc_bytes)
    }
}

/// `update_avg_scale()`: returns the average number of running threads after another `sample`, seen from a CPU of an
/// LLC of `sd_llc_size` CPUs.
pub fn update_avg_scale(avg: u64, sample: u64, sd_llc_size: u32) -> u64 {
    let diff = sample.wrapping_sub(avg) as i64;
    avg.wrapping_add((diff / i64::from((sd_llc_size >> 2).clamp(2, 8))) as u64)
}

/// The LLCs as `task_cache_work()` goes through them: which one the process has most in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcScan {
    best: u64,
    best_cpu: Option<Cpu>,
    preferred: u64,
}

impl LlcScan {
    /// The next LLC, with the process's shares of its CPUs. `is_preferred` if it is the one that the process prefers.
    pub fn add(&mut self, shares: impl IntoIterator<Item = (Cpu, u64)>, is_preferred: bool) {
        let (mut sum, mut most, mut most_cpu) = (0, 0, None);
        for (cpu, share) in shares {
            sum += share;
            if share > most {
                (most, most_cpu) = (share, Some(cpu));
            }
        }
        if sum > self.best {
            (self.best, self.best_cpu) = (sum, most_cpu);
        }
        if is_preferred {
            self.preferred = sum;
        }
    }

    /// The new preferred CPU, if it changes: that with most of the best LLC, which has more than twice the share of the
    /// preferred one.
    pub fn prefers(&self) -> Option<Cpu> {
        self.best_cpu.filter(|_| self.best > 2 * self.preferred)
    }
}
