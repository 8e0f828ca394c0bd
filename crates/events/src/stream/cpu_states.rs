//! Idle states, frequencies and power, and the writes to `struct sched_domain_shared`, of recordings and simulated
//! runs.

use super::source::Tables;
use crate::error::ReadError;
use crate::limits::{LAST_CPU, MAX_IDLE_STATE, MAX_KHZ, MAX_SCAN, MAX_SUM, MAX_TIME};
use crate::table::reader::{Segments, if_present};
use std::path::Path;
use wakelab_sched::cpumask::Cpu;

/// A change of a CPU's idle state or frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuValue {
    /// Since when, ns.
    pub t_ns: u64,
    /// The CPU.
    pub cpu: Cpu,
    /// The number of the idle state, or `None` if the CPU leaves it; or the frequency, kHz.
    pub value: Option<u32>,
}

/// A stream of idle states or frequencies, in the order of their times.
pub struct CpuValues {
    rows: Segments,
    /// The largest valid value.
    max: u64,
    /// Whether the value is only whether the CPU idles.
    idles: bool,
}

impl CpuValues {
    /// The frequencies of a recording.
    pub fn frequencies(tables: &Tables) -> Self {
        CpuValues {
            rows: Segments::new(tables.frequencies.clone(), "frequencies", &["t_ns", "cpu", "khz"]),
            max: MAX_KHZ,
            idles: false,
        }
    }

    /// The frequencies of a simulated run.
    pub fn simulated_frequencies(folder: &Path) -> Self {
        let file = if_present(folder, "frequencies.parquet");
        CpuValues { rows: Segments::new(file, "frequencies", &["t_ns", "cpu", "khz"]), max: MAX_KHZ, idles: false }
    }

    /// The idle states of a recording.
    pub fn idle_states(tables: &Tables) -> Self {
        CpuValues {
            rows: Segments::new(tables.idle.clone(), "idle", &["t_ns", "cpu", "state"]),
            max: MAX_IDLE_STATE,
            idles: false,
        }
    }

    /// The idle states of a simulated run, without the times at which CPUs leave them.
    pub fn simulated_idle_states(folder: &Path) -> Self {
        let file = if_present(folder, "idle_states.parquet");
        CpuValues {
            rows: Segments::new(file, "idle_states", &["t_ns", "cpu", "state"]),
            max: MAX_IDLE_STATE,
            idles: false,
        }
    }

    /// When the CPUs of a simulated run enter and leave idle; the state is 0 each time.
    pub fn simulated_idle(folder: &Path) -> Self {
        let file = if_present(folder, "idle.parquet");
        CpuValues { rows: Segments::new(file, "idle", &["t_ns", "cpu", "entered"]), max: 1, idles: true }
    }

    /// The next value; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has a value out of range.
    pub fn next_value(&mut self) -> Result<Option<CpuValue>, ReadError> {
        let Some(row) = self.rows.advance(|_| {})? else { return Ok(None) };
        let value = row.within_or_null(2, self.max)?.map(|value| value as u32);
        let value = if self.idles { value.filter(|&entered| entered == 1).map(|_| 0) } else { value };
        Ok(Some(CpuValue { t_ns: row.within(0, MAX_TIME)?, cpu: row.within(1, LAST_CPU)? as Cpu, value }))
    }
}

/// The mean power of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackagePower {
    /// Since when, ns. It holds until the next value of the package.
    pub t_ns: u64,
    /// The number of the package.
    pub package: u32,
    /// Mean power, µW.
    pub uw: u64,
}

/// A stream of the power of packages of a simulated run, in the order of their times.
pub struct PackagePowers(Segments);

impl PackagePowers {
    /// Reads the folder of a run.
    pub fn simulated(folder: &Path) -> Self {
        PackagePowers(Segments::new(if_present(folder, "power.parquet"), "power", &["t_ns", "package", "mean_uw"]))
    }

    /// The next value; `None` at the end.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has a value out of range.
    pub fn next_power(&mut self) -> Result<Option<PackagePower>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let package = row.within(1, LAST_CPU)? as u32;
        Ok(Some(PackagePower { t_ns: row.within(0, MAX_TIME)?, package, uw: row.within(2, MAX_SUM)? }))
    }
}

/// A write to a field of `struct sched_domain_shared`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdShared {
    /// `has_idle_cores`.
    HasIdleCores(bool),
    /// `nr_idle_scan`, or `None` with SIS_UTIL off; the summed utilization that it was computed from; the number of
    /// CPUs.
    NrIdleScan(Option<i32>, i64, u32),
}

/// A stream of the writes of a simulated run.
pub struct SdSharedWrites(Segments);

impl SdSharedWrites {
    /// Reads the folder of a run.
    pub fn simulated(folder: &Path) -> Self {
        let columns = &["t_ns", "llc_cpu", "hint", "value", "sum_util", "llc_weight"];
        SdSharedWrites(Segments::new(if_present(folder, "hints.parquet"), "hints", columns))
    }

    /// The next write: its time, ns, the lowest CPU of the LLC, and the field. `None` at the end.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or has a value out of range.
    pub fn next_write(&mut self) -> Result<Option<(u64, Cpu, SdShared)>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let hint = match row.text(2) {
            Some("nr_idle_scan") => {
                let value = row.within_or_null(3, MAX_SCAN)?.map(|value| value as i32);
                let sum_util = row.within_or_null(4, MAX_SUM)?.unwrap_or(0) as i64;
                SdShared::NrIdleScan(value, sum_util, row.within(5, LAST_CPU + 1)? as u32)
            }
            _ => SdShared::HasIdleCores(row.long(3) == Some(1)),
        };
        Ok(Some((row.within(0, MAX_TIME)?, row.within(1, LAST_CPU)? as Cpu, hint)))
    }
}
