//! The tables of control groups, which recordings and simulated runs share. docs/formats.md shows the descriptions of
//! the columns; a test compares the two.

use crate::table::column::{Cpus, Text};
use crate::table::table;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;

/// A set of CPUs, ascending, as the column `cpus` has it: CPU c is bit c % 64 of word c / 64.
pub fn cpu_words(cpus: &[Cpu]) -> Vec<u64> {
    let nr_cpus = cpus.last().map_or(0, |&last| last + 1);
    CpuMask::from_cpus(nr_cpus, cpus.iter().copied()).words().to_vec()
}

table! {
    /// Control groups of the CPU controller, and autogroups.
    TaskGroups, TaskGroupRow, "task_groups" {
        t_ns: i64 = "When this was read. It holds until a later row of the same group.";
        group: i64 = "The group's number. A recording has the inode number of its cgroup, or the number of its \
                      autogroup plus 2^62; a simulated run has its place in the workload, from 1.";
        parent: i64 = "The group above; 0 is the root, which has no row.";
        path: Text = "Its path below the root of the hierarchy; `/autogroup-N` of an autogroup; its name in a \
                      simulated run.";
        weight: i32 = "`cpu.weight`: 100 weighs what a task of nice 0 does (1024 of `cpu.shares`).";
        idle: bool = "`cpu.idle`.";
        quota_ns: Option<i64> = "`cpu.max`: the run time of all CPUs together in each period, ns; null without a \
                                 limit.";
        period_ns: Option<i64> = "`cpu.max`: the period, ns; null without a limit.";
        burst_ns: Option<i64> = "`cpu.max.burst`, ns; null without a limit.";
        uclamp_min: Option<i32> = "`cpu.uclamp.min`, 0 to 1024; null, as the next, if the kernel does not have it.";
        uclamp_max: Option<i32> = "`cpu.uclamp.max`, 0 to 1024.";
        cpus: Option<Cpus> = "`cpuset.cpus.effective`; null if it is not known, and in a simulated run for all CPUs.";
    }
}

table! {
    /// The groups that tasks are in.
    GroupMembers, GroupMemberRow, "group_members" {
        t_ns: i64 = "When the task was seen there. It is there until a later row of the same task.";
        pid: i32 = "The task.";
        group: i64 = "Its group; 0 is the root.";
    }
}
