//! Converts records of task groups, and of the tasks in them, to rows: one row of a group or a task, and another one
//! each time that it has changed.

use crate::wire::{AUTOGROUP, GROUP_BANDWIDTH, GROUP_UCLAMP, GroupMember, MAX_CPUS, TaskGroupRecord, c_string};
use anyhow::Result;
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wakelab_events::recording::{GroupMemberRow, RecordingWriter, TaskGroupRow, cpu_words};

/// `RUNTIME_INF`, a quota without a limit.
const RUNTIME_INF: u64 = u64::MAX;
/// The shares of weight 100: `NICE_0_LOAD` in full resolution, on machines of 64 bits.
const NICE_0_SHARES: u64 = 1 << 20;

/// Builds the rows.
pub struct GroupRows {
    /// By number: what was read last, without the root.
    read: HashMap<u64, TaskGroupRecord>,
    /// Groups that were read since their row was written.
    changed: HashSet<u64>,
    /// By number: the row that was written last.
    written: HashMap<u64, Written>,
    /// By pid: the group of the row that was written last.
    members: HashMap<i32, u64>,
    /// Where cgroup2 is mounted.
    cgroup2: Option<PathBuf>,
}

/// The contents of a group's row besides its time and number.
#[derive(PartialEq)]
struct Written {
    record: TaskGroupRecord,
    path: String,
    cpus: Option<Vec<u64>>,
}

impl GroupRows {
    /// No rows yet.
    pub fn new() -> Self {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        GroupRows {
            read: HashMap::new(),
            changed: HashSet::new(),
            written: HashMap::new(),
            members: HashMap::new(),
            cgroup2: cgroup2(&mounts),
        }
    }

    /// Keeps what was read of a group, to be written before the next of its tasks.
    pub fn read(&mut self, record: &TaskGroupRecord) {
        self.read.insert(record.id, *record);
        self.changed.insert(record.id);
    }

    /// Writes a task's group, and before it the groups that it is in, if they are new or have changed. A task is left
    /// out if one of these is not known: it was lost, or is too deep.
    ///
    /// # Errors
    /// Fails if a row cannot be written.
    pub fn member(&mut self, folder: &mut RecordingWriter, member: &GroupMember) -> Result<()> {
        let Some(groups) = self.ancestry(member.group) else { return Ok(()) };
        for (depth, &group) in groups.iter().enumerate().rev() {
            if self.changed.remove(&group) {
                self.write(folder, &groups[depth..])?;
            }
        }
        let before = self.members.get(&member.pid).copied().unwrap_or(0);
        if before != member.group {
            self.members.insert(member.pid, member.group);
            let (t_ns, group) = (member.t_ns as i64, member.group as i64);
            folder.group_member(GroupMemberRow { t_ns, pid: member.pid, group })?;
        }
        Ok(())
    }

    /// A group and those above it, without the root. Returns `None` if one is not known.
    fn ancestry(&self, group: u64) -> Option<Vec<u64>> {
        let (mut groups, mut at) = (Vec::new(), group);
        while at != 0 {
            // No hierarchy is so deep: the records contradict each other.
            if groups.len() > self.read.len() {
                return None;
            }
            groups.push(at);
            at = self.read.get(&at)?.parent;
        }
        Some(groups)
    }

    /// Writes the row of the first of these groups, which is in the others, if it has changed.
    fn write(&mut self, folder: &mut RecordingWriter, groups: &[u64]) -> Result<()> {
        let Some(&id) = groups.first() else { return Ok(()) };
        let record = self.read[&id];
        let path = match id & AUTOGROUP {
            0 => groups.iter().rev().fold(String::new(), |path, id| path + "/" + &c_string(&self.read[id].name)),
            _ => format!("/autogroup-{}", id ^ AUTOGROUP),
        };
        let cpus = self.cgroup2.as_deref().and_then(|root| effective_cpus(root, &path, id));
        let row = Written { record: TaskGroupRecord { t_ns: 0, ..record }, path, cpus };
        if self.written.get(&id) == Some(&row) {
            return Ok(());
        }
        let limited = record.has & GROUP_BANDWIDTH != 0 && record.quota != RUNTIME_INF;
        let limit = |ns: u64| limited.then_some(ns as i64);
        let clamp = |value: u32| (record.has & GROUP_UCLAMP != 0).then_some(value as i32);
        folder.task_group(TaskGroupRow {
            t_ns: record.t_ns as i64,
            group: id as i64,
            parent: record.parent as i64,
            path: &row.path,
            weight: weight(record.shares),
            idle: record.idle != 0,
            quota_ns: limit(record.quota),
            period_ns: limit(record.period),
            burst_ns: limit(record.burst),
            uclamp_min: clamp(record.uclamp_min),
            uclamp_max: clamp(record.uclamp_max),
            cpus: row.cpus.as_deref(),
        })?;
        self.written.insert(id, row);
        Ok(())
    }
}

/// `cpu.weight` of `tg->shares` (`sched_weight_to_cgroup()`). `cpu.shares` of cgroup v1 may be larger than any weight.
fn weight(shares: u64) -> i32 {
    let weight = shares.saturating_mul(100).saturating_add(NICE_0_SHARES / 2) / NICE_0_SHARES;
    i32::try_from(weight.max(1)).unwrap_or(i32::MAX)
}

/// Where the whole of cgroup2 is mounted, by `/proc/self/mountinfo`.
fn cgroup2(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let whole = kind.starts_with("cgroup2 ") && fields.next() == Some("/");
        fields.next().filter(|_| whole).map(PathBuf::from)
    })
}

/// `cpuset.cpus.effective` of a group of cgroup2, which is that of a group above without a cpuset of its own. `None` if
/// the group is of another hierarchy, or gone.
fn effective_cpus(root: &Path, path: &str, id: u64) -> Option<Vec<u64>> {
    let folder = root.join(path.trim_start_matches('/'));
    if std::fs::metadata(&folder).ok()?.ino() != id {
        return None;
    }
    let within = folder.ancestors().take_while(|above| above.starts_with(root));
    let text = within.map(|above| std::fs::read_to_string(above.join("cpuset.cpus.effective"))).find_map(Result::ok)?;
    Some(cpu_words(&wakelab_input::parse_cpulist(text.trim(), MAX_CPUS as u32).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use wakelab_events::stream::{CpuMax, Source, TaskGroups};

    fn group(id: u64, parent: u64, name: &str) -> TaskGroupRecord {
        let mut record =
            TaskGroupRecord { id, parent, shares: NICE_0_SHARES, quota: RUNTIME_INF, ..Zeroable::zeroed() };
        record.name[..name.len()].copy_from_slice(name.as_bytes());
        record
    }

    #[test]
    fn shares_are_weights() {
        let of = |weight: u64| (weight * 1024 + 50) / 100 * 1024;
        for expected in [1, 2, 99, 100, 333, 10_000] {
            assert_eq!(weight(of(expected)), expected as i32);
        }
        assert_eq!((weight(2 << 10), weight(u64::MAX)), (1, i32::MAX));
    }

    #[test]
    fn the_whole_of_cgroup2_is_found_among_mounts() {
        let mounts = "25 1 0:22 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      26 1 0:23 /a /run/part rw - cgroup2 cgroup2 rw\n\
                      27 1 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(cgroup2(mounts), Some(PathBuf::from("/sys/fs/cgroup")));
        assert_eq!(cgroup2("25 1 0:22 / / rw - ext4 /dev/vda rw\n"), None);
    }

    #[test]
    fn groups_come_before_their_tasks_and_are_read_back() {
        let path = std::env::temp_dir().join(format!("wakelab-task-groups-{}", std::process::id()));
        let domains = ("wakelab.domains", "{}".to_owned());
        let mut writer = RecordingWriter::new(&path, vec![domains]).unwrap();
        let mut rows = GroupRows { cgroup2: None, ..GroupRows::new() };
        // The program describes a group before the one above it.
        rows.read(&TaskGroupRecord {
            shares: 4 * NICE_0_SHARES,
            quota: 20_000_000,
            period: 100_000_000,
            has: GROUP_BANDWIDTH | GROUP_UCLAMP,
            uclamp_max: 512,
            ..group(7, 5, "inner")
        });
        let mut member = |rows: &mut GroupRows, pid, group, t_ns| {
            rows.member(&mut writer, &GroupMember { kind: 0, pid, t_ns, group }).unwrap();
        };
        // A group above is not known yet, so the task is left out.
        member(&mut rows, 10, 7, 1);
        rows.read(&group(5, 0, "outer"));
        member(&mut rows, 11, 7, 2);
        rows.read(&TaskGroupRecord { shares: 2 * NICE_0_SHARES, ..group(5, 0, "outer") });
        rows.read(&group(AUTOGROUP | 3, 0, ""));
        for (pid, group, t_ns) in [(12, 5, 3), (13, AUTOGROUP | 3, 4), (14, 0, 5), (11, 0, 6), (12, 5, 7)] {
            member(&mut rows, pid, group, t_ns);
        }
        writer.close_segments().unwrap();
        // A recording is recognized by its switches or decisions.
        let tables = wakelab_events::stream::Tables {
            folder: path.clone(),
            task_groups: vec![path.join("task_groups-00001.parquet")],
            group_members: vec![path.join("group_members-00001.parquet")],
            ..Default::default()
        };
        let read = TaskGroups::of(&Source::Recorded(Box::new(tables.clone())), u64::MAX).unwrap();
        let paths: Vec<&str> = read.groups.values().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/outer", "/outer/inner", "/autogroup-3"]);
        let inner = &read.groups[&7];
        let max = CpuMax { quota_ns: 20_000_000, period_ns: 100_000_000, burst_ns: 0 };
        assert_eq!((inner.parent, inner.weight, inner.max), (5, 400, Some(max)));
        assert_eq!((inner.uclamp, read.groups[&5].uclamp), ([Some(0), Some(512)], [None, None]));
        assert_eq!(read.groups[&5].weight, 200, "what was read last");
        let of = |read: &TaskGroups| [10, 11, 12, 13, 14].map(|pid| read.of_task(pid));
        assert_eq!(of(&read), [0, 0, 5, AUTOGROUP | 3, 0]);
        let early = TaskGroups::of(&Source::Recorded(Box::new(tables)), 2).unwrap();
        assert_eq!(of(&early), [0, 7, 5, AUTOGROUP | 3, 0], "where it was up to then, or after");
        std::fs::remove_dir_all(&path).unwrap();
    }
}
