//! The control groups of the program, with their paths.

use crate::bpf_skel::types;
use scx_stats_derive::Stats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use wakelab_input::printable;

/// `GROUP_BIAS` of src/bpf/groups.h, which is added to the weight in the lower half of `runnable`.
const BIAS: u64 = 1 << 30;
/// Where cgroup2 is mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A control group with a runnable task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Stats)]
#[stat(desc = "a control group with a runnable task", _om_prefix = "group_", _om_label = "group")]
pub struct GroupMetrics {
    #[stat(desc = "path below /sys/fs/cgroup; its number if it has no path", _om_skip)]
    pub path: String,
    #[stat(desc = "its load weight: 1024 is a cpu.weight of 100")]
    pub weight: u64,
    #[stat(desc = "sum of the load weights of its runnable tasks and groups")]
    pub runnable_weight: i64,
    #[stat(desc = "runnable tasks, without those of child groups")]
    pub tasks: u64,
    #[stat(desc = "child groups with a runnable task")]
    pub groups: u64,
}

/// The groups that are in use, by number, which is also the inode of the folder.
pub fn read(states: &[types::group_state]) -> BTreeMap<u64, GroupMetrics> {
    let runnable = |state: &types::group_state| (state.runnable.wrapping_sub(BIAS) as i64 >> 32) as i32;
    let mut below = vec![0; states.len()];
    for state in states.iter().filter(|state| runnable(state) > 0) {
        if let Some(groups) = below.get_mut(state.parent as usize) {
            *groups += 1;
        }
    }
    // Slot 0 is the root group, whose state is not used.
    let used = states.iter().zip(below).skip(1);
    // A sum without a runnable task would be a bug, and is shown.
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
        name(&mut groups, Path::new(ROOT), Path::new(ROOT));
    }
    groups
}

/// Finds the paths by the inodes of the folders.
fn name(groups: &mut BTreeMap<u64, GroupMetrics>, root: &Path, folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = entry.path();
        if let Ok(metadata) = entry.metadata()
            && let Some(group) = groups.get_mut(&metadata.ino())
            && let Ok(below) = path.strip_prefix(root)
        {
            group.path = format!("/{}", below.display());
        }
        name(groups, root, &path);
    }
}

/// Prints a line for each group. Its path is escaped: users choose the names of groups below their own, and this is the
/// terminal of root.
///
/// # Errors
/// Fails if they cannot be written.
pub fn write(groups: &BTreeMap<u64, GroupMetrics>, to: &mut dyn Write) -> io::Result<()> {
    let mut groups: Vec<&GroupMetrics> = groups.values().collect();
    groups.sort_by(|a, b| a.path.cmp(&b.path));
    for group in groups {
        writeln!(
            to,
            "group {}: weight {} runnable_weight {} runnable-tasks {} runnable-groups {}",
            printable(&group.path),
            group.weight,
            group.runnable_weight,
            group.tasks,
            group.groups
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
    fn the_name_of_a_group_cannot_command_the_terminal() {
        let root = std::env::temp_dir().join(format!("wakelab-groups-{}", std::process::id()));
        let folder = root.join("user\\x2d1.slice").join("\u{1b}]0;x\u{7}\r\u{9b}2J\n\u{202e}");
        std::fs::create_dir_all(&folder).unwrap();
        let id = std::fs::metadata(&folder).unwrap().ino();
        let mut groups = BTreeMap::from([(id, GroupMetrics::default())]);
        name(&mut groups, &root, &root);
        std::fs::remove_dir_all(&root).unwrap();
        let mut text = Vec::new();
        write(&groups, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let path = r"/user\x2d1.slice/\u{1b}]0;x\u{7}\r\u{9b}2J\n\u{202e}";
        assert_eq!(text, format!("group {path}: weight 0 runnable_weight 0 runnable-tasks 0 runnable-groups 0\n"));
    }

    #[test]
    fn a_sum_without_tasks_is_seen() {
        let unused = types::group_state::default();
        assert_eq!(read(&[unused, state(5, 0, 0, 1024, -15)])[&5].runnable_weight, -15);
    }
}
