//! Passes of the load balancer: what each read of the CPUs and groups of a domain, and the group that it found.

use super::described_rows::{DescribedRow, DescribedRows};
use crate::decisions::{RowFeatures, TopoFile};
use crate::error::ReadError;
use crate::limits::{LAST_CPU, MAX_TIME};
use crate::table::reader::Columns;
use std::path::PathBuf;
use std::sync::Arc;
use wakelab_sched::balance::{CpuIdleType, Imbalance, MigrationType};
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// The values that a pass read of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLoad {
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// Fair tasks, those included whose dequeue is delayed.
    pub h_nr_queued: u32,
    /// Fair tasks whose dequeue is delayed.
    pub h_nr_delayed: u32,
    /// Queued tasks that prefer the LLC of the pass's CPU.
    pub prefer: u32,
    /// `cfs.avg.load_avg`.
    pub load_avg: u64,
    /// `cfs.avg.runnable_avg`.
    pub runnable_avg: u64,
    /// `cfs.avg.util_avg`.
    pub util_avg: u64,
    /// `cfs.avg.util_est`.
    pub util_est: u64,
    /// `rq->cpu_capacity`.
    pub capacity: u64,
    /// Its idle task was current.
    pub curr_idle: bool,
    /// `rq->ttwu_pending`.
    pub ttwu_pending: bool,
}

/// The group that a pass found, and what is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The place of the group in the ring of the domain's groups, counted from that of the pass's CPU.
    pub group: usize,
    /// How much is to be moved.
    pub imbalance: Imbalance,
}

/// The load of an LLC, as `sd_llc_shared` has it: its `util_avg` and `capacity`.
pub type LlcLoad = (u64, u64);

/// The values that a pass reads with cache-aware balancing (7.2), and those that it leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedCachePass {
    /// It is on (`sched_cache_enabled()`).
    pub enabled: bool,
    /// `sd->nr_balance_failed`.
    pub nr_balance_failed: u32,
    /// `llc_overaggr_pct`, per cent.
    pub overaggr_pct: u32,
    /// `llc_imb_pct`, per cent.
    pub imb_pct: u32,
    /// The LLC of the pass's CPU; `None` if there is no such domain, here and below.
    pub dst_llc: Option<LlcLoad>,
    /// By group of the ring: the LLC of its first CPU.
    pub llcs: Vec<Option<LlcLoad>>,
    /// The same at the end of the pass.
    pub llcs_after: Vec<Option<LlcLoad>>,
}

/// A pass of the balancer over a domain.
#[derive(Clone, Debug)]
pub struct BalancePass {
    /// The number of the row in its file, from 1.
    pub line: u64,
    /// When, ns.
    pub t_ns: u64,
    /// Whether the row can be compared exactly.
    pub stable: bool,
    /// The features that were on.
    pub features: Arc<RowFeatures>,
    /// The CPU that the pass runs on.
    pub cpu: Cpu,
    /// The CPU that it pulls to.
    pub dst_cpu: Cpu,
    /// The level of the domain; 0 is the lowest. `None` if it is not known, and if the machine has no such domain.
    pub level: Option<usize>,
    /// The state of that CPU.
    pub idle: CpuIdleType,
    /// The CPUs that the pass may take from or to.
    pub cpus: CpuMask,
    /// By CPU of the machine; those outside the domain are 0.
    pub loads: Vec<CpuLoad>,
    /// By group of the ring: `sgc->capacity`, and whether `sgc->imbalance` is set.
    pub groups: Vec<(u64, bool)>,
    /// The imbalance that the kernel found; `None` if it found the domain balanced.
    pub found: Option<Found>,
    /// Cache-aware balancing; `None` if the kernel does not have it, and if it was not recorded (before 1.8).
    pub sched_cache: Option<SchedCachePass>,
}

/// A stream of passes of a recording.
pub struct BalancePasses {
    rows: DescribedRows,
}

const COLUMNS: &[&str] = &[
    "t_ns",
    "stable",
    "features",
    "cpu",
    "dst_cpu",
    "level",
    "idle",
    "span",
    "cpus",
    "curr_idle_mask",
    "ttwu_pending_mask",
    "cpu_nr_running",
    "cpu_h_nr_queued",
    "cpu_h_nr_delayed",
    "cpu_prefer",
    "cpu_load_avg",
    "cpu_runnable_avg",
    "cpu_util_avg",
    "cpu_util_est",
    "cpu_capacity",
    "group_capacity",
    "group_imbalance",
    "busiest",
    "migration_type",
    "imbalance",
    "sched_cache",
    "nr_balance_failed",
    "llc_overaggr_pct",
    "llc_imb_pct",
    "dst_llc_util",
    "dst_llc_capacity",
    "group_llc_util",
    "group_llc_capacity",
    "group_llc_util_after",
    "group_llc_capacity_after",
];
/// The column of the features.
const FEATURES: usize = 2;
/// The first column of numbers by CPU, and how many there are.
const BY_CPU: (usize, usize) = (11, 9);
/// The columns of numbers by group.
const BY_GROUP: [usize; 2] = [20, 21];
/// More than a sum over all CPUs can be.
const MOST: i64 = 1 << 40;

impl BalancePasses {
    /// Reads these files.
    pub fn new(files: Vec<PathBuf>) -> Self {
        BalancePasses { rows: DescribedRows::new(files, "balance", COLUMNS, FEATURES) }
    }

    /// The next row, with the machine and kernel of its file; `None` at the end.
    ///
    /// # Errors
    /// Fails if a file cannot be read, describes no machine, or has a value out of range.
    pub fn next_pass(&mut self) -> Result<Option<(BalancePass, Arc<TopoFile>)>, ReadError> {
        let Some(DescribedRow { row, topo, features }) = self.rows.advance()? else { return Ok(None) };
        let last_cpu = u64::from(topo.domains.nr_cpus).saturating_sub(1).min(LAST_CPU);
        let dst_cpu = row.within(4, last_cpu)? as Cpu;
        let domain = |level: &usize| topo.domains.domains[dst_cpu as usize].get(*level);
        let level = row.long(5).and_then(|level| usize::try_from(level).ok()).filter(|level| domain(level).is_some());
        let mask = |column| mask_of(row, column, topo.domains.nr_cpus);
        let span = mask(7)?;
        if let Some(sd) = level.as_ref().and_then(domain)
            && *sd.span != span
        {
            return Err(row.error(7, format!("expected {}, the CPUs of the domain", sd.span.to_hex())));
        }
        let groups = groups_of(row)?;
        if let Some(sd) = level.as_ref().and_then(domain)
            && row.long(1) == Some(1)
            && sd.groups.len() != groups.len()
        {
            return Err(row.error(BY_GROUP[0], format!("expected {} groups, as in the domain", sd.groups.len())));
        }
        let pass = BalancePass {
            line: row.row(),
            t_ns: row.within(0, MAX_TIME)?,
            stable: row.long(1) == Some(1),
            features: Arc::clone(features),
            cpu: row.within(3, last_cpu)? as Cpu,
            dst_cpu,
            level,
            idle: [CpuIdleType::Idle, CpuIdleType::NotIdle, CpuIdleType::NewlyIdle][row.within(6, 2)? as usize],
            cpus: mask(8)?,
            loads: loads_of(row, topo.domains.nr_cpus, &mask(9)?, &mask(10)?)?,
            found: found_of(row, groups.len())?,
            sched_cache: sched_cache_of(row, groups.len())?,
            groups,
        };
        Ok(Some((pass, Arc::clone(topo))))
    }
}

fn mask_of(row: &Columns, column: usize, nr_cpus: u32) -> Result<CpuMask, ReadError> {
    let cpus = row.cpus(column).ok_or_else(|| row.error(column, "expected a set of CPUs".to_owned()))?;
    if let Some(cpu) = cpus.iter().find(|&&cpu| cpu >= nr_cpus) {
        return Err(row.error(column, format!("expected CPUs below {nr_cpus}, found {cpu}")));
    }
    Ok(CpuMask::from_cpus(nr_cpus, cpus))
}

/// A list of `count` numbers from 0 to the most that a sum can be. A row that is not stable may have the difference of
/// two numbers that were read at different times, which is then raised to 0.
fn list_of(row: &Columns, column: usize, count: usize, what: &str) -> Result<Vec<u64>, ReadError> {
    let least = if row.long(1) == Some(1) { 0 } else { -MOST };
    let numbers = row.numbers(column).filter(|numbers| numbers.len() == count);
    let in_range = numbers.filter(|numbers| numbers.iter().all(|number| (least..=MOST).contains(number)));
    let list = in_range
        .ok_or_else(|| row.error(column, format!("expected {count} numbers of 0 or more, one for each {what}")))?;
    Ok(list.into_iter().map(|number| number.max(0) as u64).collect())
}

fn loads_of(row: &Columns, nr_cpus: u32, idle: &CpuMask, pending: &CpuMask) -> Result<Vec<CpuLoad>, ReadError> {
    let (first, count) = BY_CPU;
    let lists: Vec<Vec<u64>> =
        (first..first + count).map(|at| list_of(row, at, nr_cpus as usize, "CPU")).collect::<Result<_, _>>()?;
    let load = |cpu: Cpu| {
        let of = |list: usize| lists[list][cpu as usize];
        CpuLoad {
            nr_running: of(0) as u32,
            h_nr_queued: of(1) as u32,
            h_nr_delayed: of(2) as u32,
            prefer: of(3) as u32,
            load_avg: of(4),
            runnable_avg: of(5),
            util_avg: of(6),
            util_est: of(7),
            capacity: of(8),
            curr_idle: idle.test(cpu),
            ttwu_pending: pending.test(cpu),
        }
    };
    let more = |&cpu: &Cpu| load(cpu).h_nr_delayed > load(cpu).h_nr_queued;
    if let Some(cpu) = (0..nr_cpus).find(more).filter(|_| row.long(1) == Some(1)) {
        return Err(row.error(first + 2, format!("expected at most the number that is queued on CPU {cpu}")));
    }
    Ok((0..nr_cpus).map(load).collect())
}

fn groups_of(row: &Columns) -> Result<Vec<(u64, bool)>, ReadError> {
    let count = row.numbers(BY_GROUP[0]).map_or(0, |list| list.len());
    let [capacity, imbalance] =
        [list_of(row, BY_GROUP[0], count, "group")?, list_of(row, BY_GROUP[1], count, "group")?];
    if row.long(1) == Some(1) && capacity.contains(&0) {
        return Err(row.error(BY_GROUP[0], "expected capacities of 1 or more".into()));
    }
    Ok(capacity.into_iter().zip(imbalance).map(|(capacity, imbalance)| (capacity, imbalance != 0)).collect())
}

fn found_of(row: &Columns, groups: usize) -> Result<Option<Found>, ReadError> {
    let Some(group) = row.long(22).and_then(|group| usize::try_from(group).ok()) else { return Ok(None) };
    if group >= groups {
        return Err(row.error(22, format!("expected -1 or one of {groups} groups")));
    }
    let migration_type = match row.within(23, 4)? {
        0 => MigrationType::Load,
        1 => MigrationType::Util,
        2 => MigrationType::Task,
        3 => MigrationType::Misfit,
        _ => MigrationType::LlcTask,
    };
    let amount = row.long(24).ok_or_else(|| row.error(24, "expected a number".into()))?;
    Ok(Some(Found { group, imbalance: Imbalance { migration_type, amount } }))
}

/// More than failed passes are ever counted, and than a sensible share, per cent.
const MOST_OF_UINT: u64 = 1 << 20;

fn sched_cache_of(row: &Columns, groups: usize) -> Result<Option<SchedCachePass>, ReadError> {
    let Some(enabled) = row.within_or_null(25, 1)? else { return Ok(None) };
    let llcs = |first: usize| {
        let list = |column| {
            let numbers = row.numbers(column).filter(|list| list.len() == groups);
            let in_range = numbers.filter(|list| list.iter().all(|number| (-1..=MOST).contains(number)));
            in_range.ok_or_else(|| {
                row.error(column, format!("expected {groups} numbers of -1 or more, one for each group"))
            })
        };
        let (utils, capacities) = (list(first)?, list(first + 1)?);
        Ok::<_, ReadError>(utils.into_iter().zip(capacities).map(llc_of).collect::<Vec<_>>())
    };
    let dst = (row.difference(29, MOST as u64)?, row.difference(30, MOST as u64)?);
    Ok(Some(SchedCachePass {
        enabled: enabled == 1,
        nr_balance_failed: row.within(26, MOST_OF_UINT)? as u32,
        overaggr_pct: row.within(27, MOST_OF_UINT)? as u32,
        imb_pct: row.within(28, MOST_OF_UINT)? as u32,
        dst_llc: llc_of(dst),
        llcs: llcs(31)?,
        llcs_after: llcs(33)?,
    }))
}

fn llc_of((util, capacity): (i64, i64)) -> Option<LlcLoad> {
    Some((u64::try_from(util).ok()?, u64::try_from(capacity).ok()?))
}
