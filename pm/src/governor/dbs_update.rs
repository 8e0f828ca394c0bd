//! The load that sampling governors go by.

use super::view::View;
use crate::Cpu;

/// What is kept of a CPU between samples (`struct cpu_dbs_info`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DbsCpu {
    /// Its idle time at the last sample, µs.
    pub prev_cpu_idle: u64,
    /// When that was, µs.
    pub prev_update_time: u64,
    /// The load it had then, percent.
    pub prev_load: u32,
}

impl DbsCpu {
    /// The load since the last sample, percent. `sampling_rate` in µs.
    fn load(&mut self, now_us: u64, idle_us: u64, sampling_rate: u32) -> u32 {
        let elapsed = now_us.wrapping_sub(self.prev_update_time) as u32;
        let idle = idle_us.saturating_sub(self.prev_cpu_idle) as u32;
        (self.prev_update_time, self.prev_cpu_idle) = (now_us, idle_us);
        if elapsed == 0 {
            return self.prev_load;
        }
        if idle > sampling_rate.saturating_mul(2) && self.prev_load != 0 {
            // The CPU slept: the task that wakes up now is not to pay for that, once.
            return std::mem::take(&mut self.prev_load);
        }
        let busy = elapsed.saturating_sub(idle);
        // 32 bits in the kernel, where a sample of 43 s would wrap.
        self.prev_load = (u64::from(busy) * 100 / u64::from(elapsed)) as u32;
        self.prev_load
    }
}

/// The highest load of the CPUs since the last sample, percent (`dbs_update()`, 5.10 to 7.3). `sampling_rate` in µs, with
/// the multiplier. Nice tasks count as busy (`ignore_nice_load` 0).
pub fn dbs_update(
    cpus: &mut [(Cpu, DbsCpu)],
    now_us: u64,
    sampling_rate: u32,
    io_is_busy: bool,
    view: &dyn View,
) -> u32 {
    let of = |(cpu, dbs): &mut (Cpu, DbsCpu)| dbs.load(now_us, view.idle_time_us(*cpu, io_is_busy), sampling_rate);
    cpus.iter_mut().map(of).max().unwrap_or(0)
}
