//! `scale_rt_capacity()`: the capacity of a CPU that realtime tasks, deadline tasks, heat and interrupts leave for the
//! fair class.
//!
//! ```text
//! capacity = (max - rt - dl - thermal) * (max - irq) / max        1 if nothing is left
//! ```
//!
//! 6.12 takes thermal pressure, and cpufreq's, off `max` first (`get_actual_cpu_capacity()`).

use crate::pelt::{___update_load_avg, ___update_load_sum, Scale, SchedAvg, cap_scale};
use wakelab_kernel::PressureForm;

/// Returns the capacity that is left for the fair class, 1 to `max`. `max` is the CPU's capacity, in 6.12 less its
/// pressure; `used` the sum of `avg_rt`, `avg_dl` and, up to 6.9, of thermal pressure; `irq` is `cpu_util_irq()`.
pub fn scale_rt_capacity(max: u64, used: u64, irq: u64) -> u64 {
    if irq >= max || used >= max {
        return 1;
    }
    // update_cpu_capacity() makes 1 of 0.
    ((max - used) * (max - irq) / max).max(1)
}

/// The capacity that is taken from a CPU by others than the fair class, on the scale of 1024.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// `cpu_util_rt()`.
    pub rt: u64,
    /// `cpu_util_dl()`.
    pub dl: u64,
    /// `cpu_util_irq()`.
    pub irq: u64,
    /// `thermal_load_avg()`, since 6.10 `hw_load_avg()`.
    pub hw_load_avg: u64,
    /// `cpufreq_get_pressure()`, since 6.10.
    pub cpufreq: u64,
}

/// `scale_rt_capacity()` of a CPU of this capacity, in the form of the version.
pub fn capacity_left(form: PressureForm, capacity: u64, taken: &Taken) -> u64 {
    let used = taken.rt + taken.dl;
    match form {
        PressureForm::None => scale_rt_capacity(capacity, used, taken.irq),
        PressureForm::Thermal => scale_rt_capacity(capacity, used + taken.hw_load_avg, taken.irq),
        // get_actual_cpu_capacity()
        PressureForm::Hw => {
            scale_rt_capacity(capacity.saturating_sub(taken.hw_load_avg.max(taken.cpufreq)), used, taken.irq)
        }
    }
}

/// `cpufreq_update_pressure()` and `topology_update_hw_pressure()`: the capacity that a CPU lacks whose frequency is
/// limited to `capped` of `max`, kHz.
pub fn pressure_of(capacity: u64, capped: u64, max: u64) -> u64 {
    if max <= capped { 0 } else { capacity - capacity * capped / max }
}

/// `update_hw_load_avg()`, up to 6.9 `update_thermal_load_avg()`: ages the average of the capacity that a CPU lacks up
/// to `now`, ns of the run queue's task clock. Returns whether the averages were taken.
pub fn update_hw_load_avg(now: u64, avg: &mut SchedAvg, pressure: u64) -> bool {
    let taken = ___update_load_sum(now, avg, pressure, pressure, pressure != 0);
    if taken {
        ___update_load_avg(avg, 1);
    }
    taken
}

/// `update_irq_load_avg()`: interrupts have taken `running` ns, up to `now`, ns of the run queue's clock; `scale` is
/// that of the CPU. Returns whether the averages were taken.
pub fn update_irq_load_avg(now: u64, avg: &mut SchedAvg, running: u64, scale: Scale) -> bool {
    let running = cap_scale(cap_scale(running, scale.freq), scale.cpu);
    let before = ___update_load_sum(now - running, avg, 0, 0, false);
    let taken = ___update_load_sum(now, avg, 1, 1, true) || before;
    if taken {
        ___update_load_avg(avg, 1);
    }
    taken
}

/// `update_rt_rq_load_avg()` and `update_dl_rq_load_avg()`: ages `rq->avg_rt` or `avg_dl` up to `now`, ns of the run
/// queue's PELT clock. `running`: a task of the class has run since the last update. Returns whether the averages were
/// taken.
pub fn update_rt_rq_load_avg(now: u64, avg: &mut SchedAvg, running: bool) -> bool {
    let taken = ___update_load_sum(now, avg, u64::from(running), u64::from(running), running);
    if taken {
        ___update_load_avg(avg, 1);
    }
    taken
}
