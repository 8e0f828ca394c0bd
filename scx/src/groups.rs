//! Control groups as the program keeps them, with their paths.

use crate::bpf_skel::types;
use scx_stats_derive::Stats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// As in src/bpf/groups.h: the weight that the lower half of `runnable` has besides.
const BIAS: u64 = 1 << 30;
/// Where version 2 of control groups is mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A control group in which something is runnable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Stats)]
#[stat(desc = "a control group in which something is runnable", _om_prefix = "group_", _om_label = "group")]
pub struct GroupMetrics {
    #[stat(desc = "path below /sys/fs/cgroup; its number where none is found", _om_skip)]
    pub path: String,
    #[stat(desc = "its load weight: 1024 is a cpu.weight of 100")]
    pub weight: u64,
    #[stat(desc = "sum of the load weights of what is runnable in it: tasks, and groups below")]
    pub runnable_weight: i64,
    #[stat(desc = "runnable tasks, those of groups below not counted")]
    pub tasks: u64,
    #[stat(desc = "groups below in which something is runnable")]
    pub groups: u64,
}

/// Reads those that are in use, by their numbers (which are those of the folders, too).
pub fn read(states: &[types::group_state]) -> BTreeMap<u64, GroupMetrics> {
    let runnable = |state: &types::group_state| (state.runnable.wrapping_sub(BIAS) as i64 >> 32) as i32;
    let mut below = vec![0; states.len()];
    for state in states.iter().filter(|state| runnable(state) > 0) {
        if let Some(groups) = below.get_mut(state.parent as usize) {
            *groups += 1;
        }
    }
    // The first is the root's, of which nothing is kept.
    let used = states.iter().zip(below).skip(1);
    // A sum without anything runnable would be an error, and is to be seen.
    let mut groups: BTreeMap<u64, GroupMetrics> = used
        .filter(|(state, _)| runnable(state) != 0 || state.sum != 0)
        .map(|(state, groups)| {
            let metrics = GroupMetrics {
                path: format!("#{}", state.id),
                weight: state.weight.into(),
                runnable_weight: state.sum,
                tasks: (i64::from(runnable(state)) - groups).max(0) as u64,
                groups: groups as u64,
            };
            (state.id, metrics)
        })
        .collect();
    if !groups.is_empty() {
        name(&mut groups, Path::new(ROOT));
    }
    groups
}

/// Finds the paths: the number of a group is that of its folder.
fn name(groups: &mut BTreeMap<u64, GroupMetrics>, folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = entry.path();
        if let Ok(metadata) = entry.metadata()
            && let Some(group) = groups.get_mut(&metadata.ino())
            && let Ok(below) = path.strip_prefix(ROOT)
        {
            group.path = format!("/{}", below.display());
        }
        name(groups, &path);
    }
}

/// Prints them, a line for each.
///
/// # Errors
/// Where they cannot be written.
pub fn write(groups: &BTreeMap<u64, GroupMetrics>, to: &mut dyn Write) -> io::Result<()> {
    let mut groups: Vec<&GroupMetrics> = groups.values().collect();
    groups.sort_by(|a, b| a.path.cmp(&b.path));
    for group in groups {
        writeln!(
            to,
            "group {}: weight {} runnable_weight {} runnable-tasks {} runnable-groups {}",
            group.path, group.weight, group.runnable_weight, group.tasks, group.groups
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(id: u64, parent: u32, runnable: i64, weight: u32, sum: i64) -> types::group_state {
        let runnable = (runnable << 32) as u64;
        let runnable = runnable.wrapping_add(BIAS + u64::from(weight));
        types::group_state { id, parent, runnable, weight, sum, ..Default::default() }
    }

    #[test]
    fn groups_in_use_are_told_with_their_own_tasks() {
        let unused = types::group_state::default();
        let states = [unused, state(71, 0, 3, 1024, 4096), state(72, 1, 2, 2048, 700), state(73, 1, 0, 1024, 0)];
        let groups = read(&states);
        assert_eq!(groups.keys().collect::<Vec<_>>(), [&71, &72]);
        let upper = &groups[&71];
        assert_eq!((upper.weight, upper.runnable_weight, upper.tasks, upper.groups), (1024, 4096, 2, 1));
        assert_eq!((groups[&72].tasks, groups[&72].groups), (2, 0));
        let mut text = Vec::new();
        write(&groups, &mut text).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("weight 2048 runnable_weight 700 runnable-tasks 2"));
    }

    #[test]
    fn a_sum_without_tasks_is_seen() {
        let unused = types::group_state::default();
        assert_eq!(read(&[unused, state(5, 0, 0, 1024, -15)])[&5].runnable_weight, -15);
    }
}
