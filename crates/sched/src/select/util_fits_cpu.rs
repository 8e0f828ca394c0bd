//! `util_fits_cpu()`: whether a task fits a CPU of a machine whose CPUs differ in capacity.

use super::{AsymView, RqView, Wakee};
use crate::cpumask::Cpu;
use wakelab_kernel::{Code, UtilFits};

/// The capacity of the largest CPU.
const SCHED_CAPACITY_SCALE: u64 = 1024;

/// Utilisation clamps, of a task (`uclamp_eff_value()`) or of a run queue (`rq->uclamp[]`: the largest of its runnable
/// tasks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Uclamp {
    /// `uclamp_is_used()`: somebody has set a clamp since boot, for this task or another.
    pub used: bool,
    /// `UCLAMP_MIN`, 0..=1024: the task asks for this much at least.
    pub min: u64,
    /// `UCLAMP_MAX`, 0..=1024: the task is to get no more than this.
    pub max: u64,
}

impl Uclamp {
    /// Nobody has set a clamp.
    pub const UNUSED: Uclamp = Uclamp { used: false, min: 0, max: SCHED_CAPACITY_SCALE };
}

impl Default for Uclamp {
    fn default() -> Self {
        Self::UNUSED
    }
}

/// The capacity of a CPU in its kernel forms; 1024 is the largest CPU at its highest frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCapacity {
    /// `capacity_of()`: the capacity that is left for the fair class.
    pub capacity: u64,
    /// `arch_scale_cpu_capacity()` (`capacity_orig_of()`): the CPU's full capacity.
    pub capacity_orig: u64,
    /// [`AsymView::thermal_pressure`].
    pub thermal_pressure: u64,
    /// [`AsymView::thermal_load_avg`].
    pub thermal_load_avg: u64,
    /// [`AsymView::capacity_inverted`].
    pub capacity_inverted: u64,
}

impl CpuCapacity {
    /// The capacity of a CPU now.
    pub(crate) fn of(cpu: Cpu, view: &(impl RqView + AsymView)) -> Self {
        CpuCapacity {
            capacity: view.capacity_of(cpu),
            capacity_orig: view.arch_scale_cpu_capacity(cpu),
            thermal_pressure: view.thermal_pressure(cpu),
            thermal_load_avg: view.thermal_load_avg(cpu),
            capacity_inverted: view.capacity_inverted(cpu),
        }
    }

    /// `get_actual_cpu_capacity()`: what hardware and frequency limits leave of the full capacity.
    pub(crate) fn actual(&self) -> u64 {
        self.capacity_orig.wrapping_sub(self.thermal_pressure.max(self.thermal_load_avg))
    }

    /// The capacity by which `select_idle_capacity()` compares CPUs that miss only the minimum.
    pub(super) fn without_minimum(&self, code: &Code) -> u64 {
        match code.util_fits {
            UtilFits::Actual => self.actual(),
            _ => self.capacity_orig.wrapping_sub(self.thermal_load_avg),
        }
    }
}

/// How well a task fits a CPU, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fit {
    /// It fits (1).
    Fits,
    /// Only the minimum that it asks for is more than the CPU can do (-1).
    MissesMinimum,
    /// It does not fit (0).
    Misses,
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Self {
        if fits { Fit::Fits } else { Fit::Misses }
    }
}

/// `fits_capacity()`: a fifth of the capacity stays free.
pub(crate) fn fits_capacity(util: u64, capacity: u64) -> bool {
    util.wrapping_mul(1280) < capacity.wrapping_mul(1024)
}

/// `util_fits_cpu()`: whether a task of the (estimated) utilisation `util` fits.
///
/// The utilisation has to fit what is left for the fair class, with a fifth to spare. If the CPU reaches the task's
/// maximum, the task fits whatever it uses, except on the largest CPUs, where 1024 is no cap. A minimum above the
/// utilisation has to be within the capacity of the CPU, with nothing to spare.
pub fn util_fits_cpu(code: &Code, util: u64, uclamp: Uclamp, cpu: &CpuCapacity) -> Fit {
    util_fits(code.util_fits, util, uclamp, cpu)
}

/// `util_fits_cpu()` in the form `form`.
pub(crate) fn util_fits(form: UtilFits, util: u64, uclamp: Uclamp, cpu: &CpuCapacity) -> Fit {
    if form == UtilFits::Clamped {
        return fits_capacity(clamped(util, uclamp), cpu.capacity).into();
    }
    let fits = fits_capacity(util, cpu.capacity);
    if !uclamp.used {
        return fits.into();
    }
    // If pressure has brought a CPU below a smaller one, stable 5.10.y takes that capacity for its full capacity.
    let inverted = form == UtilFits::YesNo && cpu.capacity_inverted != 0;
    let full = if inverted { cpu.capacity_inverted } else { cpu.capacity_orig };
    let capped = uclamp.max <= full && (full != SCHED_CAPACITY_SCALE || uclamp.max != SCHED_CAPACITY_SCALE);
    if !fits && !capped {
        return Fit::Misses;
    }
    let reachable = match form {
        _ if inverted => full,
        UtilFits::Actual => cpu.actual(),
        _ => full.wrapping_sub(cpu.thermal_pressure),
    };
    let minimum = uclamp.min.min(uclamp.max);
    if util >= minimum || minimum <= reachable {
        return Fit::Fits;
    }
    match form {
        UtilFits::YesNo if full == SCHED_CAPACITY_SCALE => Fit::Fits,
        UtilFits::YesNo => Fit::Misses,
        _ => Fit::MissesMinimum,
    }
}

/// `uclamp_task_util()`.
fn clamped(util: u64, uclamp: Uclamp) -> u64 {
    util.max(uclamp.min).min(uclamp.max)
}

impl Wakee<'_> {
    /// `task_util_est()`.
    pub(crate) fn task_util_est(&self) -> u64 {
        self.util_avg.max(self.util_est)
    }
}

/// How well the wakee fits a CPU of this capacity.
pub(super) fn wakee_fit(code: &Code, wakee: &Wakee<'_>, capacity: &CpuCapacity) -> Fit {
    util_fits_cpu(code, wakee.task_util_est(), wakee.uclamp, capacity)
}

/// `task_fits_cpu()`.
pub(super) fn task_fits_cpu(code: &Code, wakee: &Wakee<'_>, cpu: Cpu, view: &(impl RqView + AsymView)) -> bool {
    wakee_fit(code, wakee, &CpuCapacity::of(cpu, view)) == Fit::Fits
}

/// `task_fits_capacity()`, up to 5.18: whether the task fits the largest CPU of a group.
pub(super) fn task_fits_capacity(wakee: &Wakee<'_>, capacity: u64) -> bool {
    fits_capacity(clamped(wakee.task_util_est(), wakee.uclamp), capacity)
}
