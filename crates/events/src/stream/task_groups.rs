//! Control groups, and which task is in which, of recordings and simulated runs.

use super::source::Source;
use super::wakeups::{pid, time};
use crate::error::ReadError;
use crate::table::reader::{Segments, if_present};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wakelab_sched::cpumask::Cpu;

/// The number of the root, `root_task_group`.
pub const ROOT_GROUP: u64 = 0;

/// The longest path, bytes (`PATH_MAX`).
const MAX_PATH: usize = 4096;
/// The most groups of a source.
const MOST_GROUPS: usize = 1 << 16;
/// The largest weight: that of the largest `cpu.shares` of cgroup v1, 1 << 18 (`MAX_SHARES`), and a half more.
const MAX_WEIGHT: u64 = 1 << 15;
/// The largest number of a group.
const MAX_GROUP: u64 = i64::MAX as u64;
/// The least quota and period, ns (`min_cfs_quota_period`).
const QUOTA_MIN: u64 = 1_000_000;
/// The longest quota, ns (`max_bw_runtime_us`, 2^44 us).
const QUOTA_MAX: u64 = (1 << 44) * 1000;
/// The longest period, ns (`max_cfs_quota_period`).
const PERIOD_MAX: u64 = 1_000_000_000;
/// `SCHED_CAPACITY_SCALE`, the largest clamp.
const MAX_CLAMP: u64 = 1024;

/// The run time of a group's tasks in each period (`cpu.max`, `cpu.max.burst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMax {
    /// The run time of all CPUs together, ns.
    pub quota_ns: u64,
    /// The period, ns.
    pub period_ns: u64,
    /// The unused run time of earlier periods that may be saved up, ns.
    pub burst_ns: u64,
}

/// A control group as it was seen last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The group above; [`ROOT_GROUP`] for none.
    pub parent: u64,
    /// Its path, or `/autogroup-N`.
    pub path: String,
    /// `cpu.weight`; more than 10000 of large `cpu.shares` of cgroup v1.
    pub weight: u32,
    /// `cpu.idle`.
    pub idle: bool,
    /// `cpu.max`; `None` without a limit.
    pub max: Option<CpuMax>,
    /// `cpu.uclamp.min` and `cpu.uclamp.max`, 0 to 1024; `None` if they are not known.
    pub uclamp: [Option<u32>; 2],
    /// `cpuset.cpus.effective`, ascending; `None` if it is not known.
    pub cpus: Option<Vec<Cpu>>,
}

/// The groups of a recording or a run, and the tasks in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskGroups {
    /// By number, all but the root.
    pub groups: BTreeMap<u64, TaskGroup>,
    /// By pid. Tasks that are not here are in the root, as far as that is known.
    pub members: FxHashMap<i64, u64>,
}

impl TaskGroups {
    /// Reads the groups of a source. Of a group there is what was read last; a task is where it was seen last up to
    /// `to_ns`, or else where it was first seen after that: groups are read from time to time. There are none in CSV,
    /// in imports, and in what older versions wrote.
    ///
    /// # Errors
    /// Fails if a file cannot be read, has a value out of range, or has a group in itself.
    pub fn of(source: &Source, to_ns: u64) -> Result<Self, ReadError> {
        let (groups, members) = match source {
            Source::Csv(_) => (Vec::new(), Vec::new()),
            Source::Recorded(tables) => (tables.task_groups.clone(), tables.group_members.clone()),
            Source::Simulated(folder) => {
                (if_present(folder, "task_groups.parquet"), if_present(folder, "group_members.parquet"))
            }
        };
        let mut found = TaskGroups::default();
        found.read_groups(groups)?;
        let mut rows = Segments::new(members, "group_members", &["t_ns", "pid", "group"]);
        while let Some(row) = rows.advance(|_| {})? {
            let (t_ns, pid, group) = (time(row, 0)?, pid(row, 1)?, row.within(2, MAX_GROUP)?);
            if group != ROOT_GROUP && !found.groups.contains_key(&group) {
                return Err(row.error(2, format!("there is no group {group} in the table task_groups")));
            }
            if t_ns <= to_ns {
                found.members.insert(pid, group);
            } else {
                found.members.entry(pid).or_insert(group);
            }
        }
        Ok(found)
    }

    fn read_groups(&mut self, files: Vec<PathBuf>) -> Result<(), ReadError> {
        const COLUMNS: &[&str] = &[
            "t_ns",
            "group",
            "parent",
            "path",
            "weight",
            "idle",
            "quota_ns",
            "period_ns",
            "burst_ns",
            "uclamp_min",
            "uclamp_max",
            "cpus",
        ];
        let mut rows = Segments::new(files, "task_groups", COLUMNS);
        while let Some(row) = rows.advance(|_| {})? {
            let (group, parent) = (row.within(1, MAX_GROUP)?, row.within(2, MAX_GROUP)?);
            if group == ROOT_GROUP {
                return Err(row.error(1, "the root group has no row; expected another group".to_owned()));
            }
            if parent != ROOT_GROUP && !self.groups.contains_key(&parent) {
                let what = format!("the parent group {parent} has no row yet; expected it before this one");
                return Err(row.error(2, what));
            }
            if let Some(known) = self.groups.get(&group)
                && known.parent != parent
            {
                let what = format!("group {group} was in group {}; a group cannot move", known.parent);
                return Err(row.error(2, what));
            }
            if self.groups.len() >= MOST_GROUPS {
                return Err(row.error(1, format!("expected at most {MOST_GROUPS} groups")));
            }
            let quota = row.within_or_null(6, QUOTA_MAX)?;
            let max = match quota {
                None => None,
                Some(quota_ns) => Some(CpuMax {
                    quota_ns,
                    period_ns: row.within(7, PERIOD_MAX)?,
                    burst_ns: row.within_or_null(8, quota_ns)?.unwrap_or(0),
                }),
            };
            if let Some(CpuMax { quota_ns, period_ns, .. }) = max
                && quota_ns.min(period_ns) < QUOTA_MIN
            {
                let column = if quota_ns < QUOTA_MIN { 6 } else { 7 };
                return Err(row.error(column, format!("the kernel refuses less than {QUOTA_MIN} ns")));
            }
            let clamp = |column| Ok(row.within_or_null(column, MAX_CLAMP)?.map(|value| value as u32));
            let read = TaskGroup {
                parent,
                path: row.short_text(3, MAX_PATH)?.to_owned(),
                weight: row.within(4, MAX_WEIGHT)? as u32,
                idle: row.long(5) == Some(1),
                max,
                uclamp: [clamp(9)?, clamp(10)?],
                cpus: row.cpus(11),
            };
            self.groups.insert(group, read);
        }
        Ok(())
    }

    /// The group of a task; [`ROOT_GROUP`] if it is not known.
    pub fn of_task(&self, pid: i64) -> u64 {
        self.members.get(&pid).copied().unwrap_or(ROOT_GROUP)
    }
}
