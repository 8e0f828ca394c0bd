//! Frequencies: what CPUs can run at, at which voltage, and how fast cores may run together.

use crate::Origin;
use serde::Serialize;
use wakelab_sched::cpumask::CpuMask;

/// A cpufreq policy: CPUs that change their frequency together (`cpufreq/policy*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreqPolicy {
    /// The CPUs.
    pub cpus: CpuMask,
    /// `scaling_driver`, if it is known.
    pub driver: Option<String>,
    /// `cpuinfo_min_freq`, kHz; 0 if the firmware does not report it.
    pub min_khz: u64,
    /// `cpuinfo_max_freq`, kHz, with turbo.
    pub max_khz: u64,
    /// `base_frequency`, kHz, without turbo, if the driver has it.
    pub base_khz: Option<u64>,
    /// `scaling_available_frequencies`, kHz, lowest first; empty if the driver chooses freely.
    pub steps_khz: Vec<u64>,
    /// The difference of two frequencies that a freely choosing driver can request, kHz (P-states).
    pub grain_khz: Option<u64>,
    /// The supply voltage, `(kHz, uV)`, lowest frequency first. It is linear between the points and does not fall.
    /// Empty if it is not known.
    pub voltages: Vec<(u64, u64)>,
    /// The lowest and the highest values that the voltages may have, % of `voltages`.
    pub voltage_range_pct: [u64; 2],
    /// `cpuinfo_transition_latency`: how long a change takes, ns.
    pub latency_ns: Option<u64>,
    /// `policy->transition_delay_us`: the time that the driver wants between two changes, ns. `None` if it leaves that
    /// to the kernel.
    pub delay_ns: Option<u64>,
    /// The CPUs that share a clock in hardware: it runs at the highest frequency that any of them that is not idle
    /// requests.
    pub clock: Clock,
    /// Where the values were taken from.
    pub origin: Origin,
}

impl FreqPolicy {
    /// Returns every frequency that can be requested, kHz, lowest first: the steps, or else the frequencies from the
    /// lowest to the highest by the grain. The list is empty if the driver chooses freely and its grain is not known.
    pub fn targets_khz(&self) -> Vec<u64> {
        match self.grain_khz {
            _ if !self.steps_khz.is_empty() => self.steps_khz.clone(),
            Some(grain) => (self.min_khz..=self.max_khz).step_by(grain as usize).collect(),
            None => Vec::new(),
        }
    }

    /// Returns the voltage at a frequency, uV: linear between two points, outside of all points that of the nearest.
    /// Returns `None` if no voltage is known.
    pub fn uv(&self, khz: u64) -> Option<u64> {
        interpolate(&self.voltages, khz)
    }
}

/// The CPUs that share a clock in hardware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Those of a policy.
    #[default]
    Policy,
    /// Those of a core, whichever policies they belong to.
    Core,
    /// Those of a package.
    Package,
}

/// The limits on how fast cores may run together, whatever is requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turbo {
    /// The bins, by rising number of cores. The last one also holds for more cores.
    pub bins: Vec<TurboBin>,
    /// The idle states besides POLL in which a core still counts as active, by name.
    pub active_states: Vec<String>,
    /// Where the values were taken from.
    pub origin: Origin,
}

/// A bin of `MSR_TURBO_RATIO_LIMIT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TurboBin {
    /// The bin holds while at most so many cores of a package are active, 1 or more.
    pub cores: u32,
    /// The highest frequency in this bin, kHz.
    pub khz: u64,
}

impl Turbo {
    /// Returns the highest frequency while so many cores of a package are active, kHz; if none is, that of one.
    pub fn khz(&self, active_cores: u32) -> u64 {
        let bin = self.bins.iter().find(|bin| active_cores <= bin.cores).or(self.bins.last());
        bin.map_or(0, |bin| bin.khz)
    }
}

/// Interpolates linearly between points whose first numbers rise, flat before the first point and after the last.
/// Returns `None` if there are no points.
pub(crate) fn interpolate(points: &[(u64, u64)], at: u64) -> Option<u64> {
    let after = points.partition_point(|&(x, _)| x < at);
    match (after.checked_sub(1).map(|i| points[i]), points.get(after)) {
        (None, Some(&(_, y))) | (Some((_, y)), None) => Some(y),
        (None, None) => None,
        (Some((x0, y0)), Some(&(x1, y1))) => {
            // The reader of tables holds that they do not fall.
            let rise = u128::from(y1.saturating_sub(y0));
            Some(y0 + (rise * u128::from(at - x0) / u128::from(x1 - x0)) as u64)
        }
    }
}
