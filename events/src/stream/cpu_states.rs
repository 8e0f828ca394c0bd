//! Idle states, frequencies and power, and the writes to `struct sched_domain_shared`, of recordings and simulated runs.

use super::source::Tables;
use crate::error::ReadError;
use crate::table::reader::{Segments, if_present};
use std::path::Path;
use wakelab_sched::cpumask::Cpu;

const LAST_CPU: u64 = wakelab_sched::domain::MAX_CPUS as u64 - 1;
const LAST_NS: u64 = i64::MAX as u64;

/// A CPU's idle state or frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuValue {
    /// Since when, ns.
    pub t_ns: u64,
    /// The CPU.
    pub cpu: Cpu,
    /// The state's number, `None` where the CPU leaves it; or kHz.
    pub value: Option<u32>,
}

/// Values of CPUs, in the order of their times.
pub struct CpuValues(Segments, u64);

impl CpuValues {
    /// Frequencies of a recording.
    pub fn frequencies(tables: &Tables) -> Self {
        CpuValues(
            Segments::new(tables.frequencies.clone(), "frequencies", &["t_ns", "cpu", "khz"]),
            u64::from(u32::MAX),
        )
    }

    /// Frequencies of a simulated run.
    pub fn simulated_frequencies(folder: &Path) -> Self {
        let file = if_present(folder, "frequencies.parquet");
        CpuValues(Segments::new(file, "frequencies", &["t_ns", "cpu", "khz"]), u64::from(u32::MAX))
    }

    /// Idle states of a recording.
    pub fn idle_states(tables: &Tables) -> Self {
        CpuValues(Segments::new(tables.idle.clone(), "idle", &["t_ns", "cpu", "state"]), u64::from(u8::MAX))
    }

    /// Idle states of a simulated run; without the moments at which CPUs leave them.
    pub fn simulated_idle_states(folder: &Path) -> Self {
        let file = if_present(folder, "idle_states.parquet");
        CpuValues(Segments::new(file, "idle_states", &["t_ns", "cpu", "state"]), u64::from(u8::MAX))
    }

    /// The next one.
    ///
    /// # Errors
    /// Where a file cannot be read, or holds what cannot be.
    pub fn next_value(&mut self) -> Result<Option<CpuValue>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let value = if row.long(2).is_none() { None } else { Some(row.within(2, self.1)? as u32) };
        Ok(Some(CpuValue { t_ns: row.within(0, LAST_NS)?, cpu: row.within(1, LAST_CPU)? as Cpu, value }))
    }
}

/// What a package spends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackagePower {
    /// Since when, ns; until the package's next.
    pub t_ns: u64,
    /// The package's number.
    pub package: u32,
    /// Mean power, µW.
    pub uw: u64,
}

/// The power of a simulated run's packages, in the order of their times.
pub struct PackagePowers(Segments);

impl PackagePowers {
    /// Of a run's folder.
    pub fn simulated(folder: &Path) -> Self {
        PackagePowers(Segments::new(if_present(folder, "power.parquet"), "power", &["t_ns", "package", "mean_uw"]))
    }

    /// The next one.
    ///
    /// # Errors
    /// Where the file cannot be read, or holds what cannot be.
    pub fn next_power(&mut self) -> Result<Option<PackagePower>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let package = row.within(1, LAST_CPU)? as u32;
        Ok(Some(PackagePower { t_ns: row.within(0, LAST_NS)?, package, uw: row.within(2, LAST_NS)? }))
    }
}

/// What the CPUs of a cache share, where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SdShared {
    /// `has_idle_cores`.
    HasIdleCores(bool),
    /// `nr_idle_scan`, `None` with SIS_UTIL off; the summed utilisation that it was made of, and the CPUs.
    NrIdleScan(Option<i32>, i64, u32),
}

/// The hints of a simulated run: when, the lowest CPU of the cache, what.
pub struct SdSharedWrites(Segments);

impl SdSharedWrites {
    /// Of a run's folder.
    pub fn simulated(folder: &Path) -> Self {
        let columns = &["t_ns", "llc_cpu", "hint", "value", "sum_util", "llc_weight"];
        SdSharedWrites(Segments::new(if_present(folder, "hints.parquet"), "hints", columns))
    }

    /// The next one.
    ///
    /// # Errors
    /// Where the file cannot be read, or holds what cannot be.
    pub fn next_write(&mut self) -> Result<Option<(u64, Cpu, SdShared)>, ReadError> {
        let Some(row) = self.0.advance(|_| {})? else { return Ok(None) };
        let hint = match row.text(2) {
            Some("nr_idle_scan") => {
                let value = row.long(3).and_then(|value| i32::try_from(value).ok());
                SdShared::NrIdleScan(value, row.long(4).unwrap_or(0), row.within(5, LAST_CPU + 1)? as u32)
            }
            _ => SdShared::HasIdleCores(row.long(3) == Some(1)),
        };
        Ok(Some((row.within(0, LAST_NS)?, row.within(1, LAST_CPU)? as Cpu, hint)))
    }
}
