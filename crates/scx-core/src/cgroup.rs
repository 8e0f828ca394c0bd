//! Control groups of the CPU controller, as a scheduler is told of them (`scx_tg_*()`, `scx_cgroup_*()` and
//! `scx_group_set_*()` of `kernel/sched/ext/ext.c`, 7.2; `kernel/sched/ext.c`, 6.12 and 6.18).
//!
//! A group has a number: 0 is the root, and those that the kernel has made follow in the order in which it made them.
//! The core does nothing with weights and limits but tell them: who shares CPU time by groups is the scheduler.

use crate::entity::Curr;
use crate::ext::{Declared, Ext};
use crate::flags::{DEQUEUE_MOVE, DEQUEUE_SAVE};
use crate::ops::{Call, Op, Ops};
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;

/// `CGROUP_WEIGHT_DFL`.
pub const CGROUP_WEIGHT_DFL: u32 = 100;
/// `RUNTIME_INF`: no limit.
pub const RUNTIME_INF: u64 = u64::MAX;
/// The root.
pub const ROOT: u32 = 0;

/// `cpu.max` and `cpu.max.burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// The period, us.
    pub period_us: u64,
    /// How much run time its tasks have in each period, us; [`RUNTIME_INF`] without a limit.
    pub quota_us: u64,
    /// The unused run time of earlier periods that may be saved up, us.
    pub burst_us: u64,
}

impl Default for Bandwidth {
    /// No limit (`scx_tg_init()`, `default_bw_period_us()`).
    fn default() -> Self {
        Bandwidth { period_us: 100_000, quota_us: RUNTIME_INF, burst_us: 0 }
    }
}

/// `struct task_group`, as far as a scheduler is told of it (`struct scx_task_group`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The last part of its name; empty for the root.
    pub name: String,
    /// The number of the group that it is in.
    pub parent: u32,
    /// It is the autogroup of a session. That is no control group: its tasks count as those of the root (`tg_cgrp()`).
    pub autogroup: bool,
    /// `cpu.weight`, 1 to 10000.
    pub weight: u32,
    /// `cpu.idle`.
    pub idle: bool,
    /// `cpu.max` and `cpu.max.burst`.
    pub bandwidth: Bandwidth,
}

impl TaskGroup {
    /// A group as the kernel makes it (`scx_tg_init()`).
    pub fn new(name: &str, parent: u32) -> Self {
        let (weight, bandwidth) = (CGROUP_WEIGHT_DFL, Bandwidth::default());
        let name = name.to_owned();
        TaskGroup { name, parent, autogroup: false, weight, idle: false, bandwidth }
    }
}

/// The groups, with the root.
#[derive(Clone, Debug)]
pub(crate) struct TaskGroups {
    list: Vec<TaskGroup>,
    /// By group: `SCX_TG_ONLINE` and `SCX_TG_INITED`, whether it is there and whether the scheduler knows it.
    flags: Vec<Flags>,
    /// By task: the group of those that have not joined the class yet.
    joining: Vec<u32>,
    /// `scx_cgroup_enabled`.
    enabled: bool,
}

/// `tg->scx.flags`.
#[derive(Clone, Copy, Debug)]
struct Flags {
    online: bool,
    inited: bool,
}

impl Default for TaskGroups {
    fn default() -> Self {
        let (list, flags) = (vec![TaskGroup::new("", ROOT)], vec![Flags { online: true, inited: false }]);
        TaskGroups { list, flags, joining: Vec::new(), enabled: false }
    }
}

impl TaskGroups {
    /// The group in which a task is that is about to join the class.
    pub(crate) fn of_joining(&self, p: TaskId) -> u32 {
        self.joining.get(p.0 as usize).copied().unwrap_or(ROOT)
    }
}

impl Declared {
    /// The settings of groups that the scheduler does not implement, as `scx_cgroup_warn_missing_weight()` and
    /// `scx_cgroup_warn_missing_idle()` of 6.12 tell the kernel's log, and what follows. There a scheduler declares
    /// that it implements `cpu.weight`; since 6.18, which logs nothing, its operations show what it can know.
    pub fn cgroup_warn_missing<'a>(
        &self,
        rules: &ExtRules,
        groups: impl IntoIterator<Item = &'a TaskGroup>,
    ) -> Vec<String> {
        const SCX_OPS_HAS_CGROUP_WEIGHT: u64 = 1 << 16;
        let has = |op| self.ops.has(op);
        let weight = match rules.cgroup_warns {
            true => self.flags & SCX_OPS_HAS_CGROUP_WEIGHT != 0,
            false => has(Op::CgroupInit) || has(Op::CgroupSetWeight),
        };
        let groups: Vec<&TaskGroup> = groups.into_iter().filter(|group| !group.autogroup).collect();
        let [max, idle] =
            [groups.iter().any(|group| group.bandwidth.quota_us != RUNTIME_INF), groups.iter().any(|group| group.idle)];
        let missing = [
            ("cpu.weight", !groups.is_empty() && !weight, "groups have no share of the CPU time there"),
            ("cpu.max", max && !(rules.cgroup_max && has(Op::CgroupSetBandwidth)), "run time is not limited there"),
            (
                "cpu.idle",
                idle && !(rules.cgroup_idle && has(Op::CgroupSetIdle)),
                "idle groups are treated like others there",
            ),
        ];
        let line = |(file, _, so)| format!("sched_ext: \"{}\" does not implement cgroup {file}: {so}", self.name);
        missing.into_iter().filter(|(_, missing, _)| *missing).map(line).collect()
    }
}

impl Ext {
    /// A group by its number.
    pub fn group(&self, group: u32) -> &TaskGroup {
        &self.groups.list[group as usize]
    }

    /// How many groups there are, and have been, the root included.
    pub fn nr_groups(&self) -> u32 {
        self.groups.list.len() as u32
    }

    /// Whether a group is a control group that is there.
    pub fn cgroup_lives(&self, group: u32) -> bool {
        self.groups.flags[group as usize].online && !self.group(group).autogroup
    }

    /// `tg_cgrp()`: the control group of a group. The tasks of an autogroup are the root's.
    pub fn tg_cgrp(&self, group: u32) -> u32 {
        if self.group(group).autogroup { ROOT } else { group }
    }

    /// The root, the group below it, and so on to the group itself (`cgrp->ancestors[]`). The last but one is its
    /// parent, and there is one more than its level (`cgrp->level`).
    pub fn cgroup_ancestors(&self, cgroup: u32) -> Vec<u32> {
        let up = |&group: &u32| (group != ROOT).then(|| self.group(group).parent);
        let mut ancestors: Vec<u32> = std::iter::successors(Some(cgroup), up).collect();
        ancestors.reverse();
        ancestors
    }

    /// The control groups in a group, in the order in which they were made (`css_next_child()`).
    pub fn cgroup_children(&self, cgroup: u32) -> impl Iterator<Item = u32> + '_ {
        (1..self.nr_groups()).filter(move |&other| self.cgroup_lives(other) && self.group(other).parent == cgroup)
    }

    /// A group and those below it, each before those in it (`css_next_descendant_pre()`).
    pub fn cgroup_descendants_pre(&self, cgroup: u32) -> Vec<u32> {
        let below = self.cgroup_children(cgroup).flat_map(|child| self.cgroup_descendants_pre(child));
        std::iter::once(cgroup).chain(below).collect()
    }

    /// The same, each after those in it (`css_next_descendant_post()`).
    pub fn cgroup_descendants_post(&self, cgroup: u32) -> Vec<u32> {
        let below = self.cgroup_children(cgroup).flat_map(|child| self.cgroup_descendants_post(child));
        below.chain(std::iter::once(cgroup)).collect()
    }

    // --- Groups come and go -----------------------------------------------------------------------------------------

    /// Gives a group that is made later its number.
    pub fn tg_reserve(&mut self, group: TaskGroup) -> u32 {
        self.groups.list.push(group);
        self.groups.flags.push(Flags { online: false, inited: false });
        self.nr_groups() - 1
    }

    /// A group that has its number is made (`scx_tg_online()`), or the scheduler keeps it from being made.
    ///
    /// # Errors
    /// Fails with what `ops.cgroup_init()` returned, below 0.
    pub fn tg_online(&mut self, ops: &mut dyn Ops, number: u32) -> Result<(), i64> {
        self.groups.flags[number as usize].online = true;
        if self.groups.enabled && !self.group(number).autogroup {
            let failed = self.call_err(ops, Call::CgroupInit { cgroup: number });
            if failed != 0 {
                self.groups.flags[number as usize].online = false;
                return Err(failed);
            }
            self.groups.flags[number as usize].inited = true;
        }
        Ok(())
    }

    /// A group goes (`scx_tg_offline()`): no task is in it any more, and no group.
    pub fn tg_offline(&mut self, ops: &mut dyn Ops, cgroup: u32) {
        let group = &mut self.groups.flags[cgroup as usize];
        group.online = false;
        if std::mem::take(&mut group.inited) {
            self.call(ops, None, Call::CgroupExit { cgroup });
        }
        ops.remove_cgroup(self, cgroup);
    }

    /// `scx_cgroup_init()`: the scheduler is told of the groups that are there.
    pub(crate) fn scx_cgroup_init(&mut self, ops: &mut dyn Ops) {
        for cgroup in self.cgroup_descendants_pre(ROOT) {
            let failed = self.call(ops, None, Call::CgroupInit { cgroup });
            if failed != 0 {
                return self.error(format!("ops.cgroup_init() failed ({failed})"));
            }
            self.groups.flags[cgroup as usize].inited = true;
        }
        self.groups.enabled = true;
    }

    // --- Tasks move -------------------------------------------------------------------------------------------------

    /// The group in which a task is that is about to join the class ([`prepare_task`](Self::prepare_task)).
    pub fn join_group(&mut self, p: TaskId, group: u32) {
        let at = p.0 as usize;
        if self.groups.joining.len() <= at {
            self.groups.joining.resize(at + 1, ROOT);
        }
        self.groups.joining[at] = group;
    }

    /// `scx_cgroup_can_attach()`: tasks are about to move to a group. Returns 0, or the error with which the scheduler
    /// keeps all of them where they are.
    pub fn cgroup_can_attach(&mut self, ops: &mut dyn Ops, tasks: &[TaskId], group: u32) -> i64 {
        if !self.groups.enabled {
            return 0;
        }
        let to = self.tg_cgrp(group);
        for &p in tasks {
            let from = self.tg_cgrp(self.task(p).group);
            // sched_move_task() leaves out moves to where the task is.
            if from == to {
                continue;
            }
            let failed = self.call(ops, None, Call::CgroupPrepMove { p, from, to });
            if failed != 0 {
                self.cgroup_cancel_attach(ops, tasks, group);
                return self.sanitize_err(Op::CgroupPrepMove, failed);
            }
            self.task_mut(p).cgrp_moving_from = Some(from);
        }
        0
    }

    /// `scx_cgroup_cancel_attach()`: something else keeps the tasks where they are.
    pub fn cgroup_cancel_attach(&mut self, ops: &mut dyn Ops, tasks: &[TaskId], group: u32) {
        let to = self.tg_cgrp(group);
        for &p in tasks {
            if let Some(from) = self.task_mut(p).cgrp_moving_from.take() {
                self.call(ops, None, Call::CgroupCancelMove { p, from, to });
            }
        }
    }

    /// `sched_move_task()` of a task that [may move](Self::cgroup_can_attach): it leaves its queue as what it was, and
    /// comes back as one of the other group. A running task was charged up to now. `clock_task` is its CPU's
    /// `rq_clock_task()`, ns. Returns whether its CPU is to reschedule.
    pub fn sched_move_task(&mut self, ops: &mut dyn Ops, p: TaskId, group: u32, clock_task: u64) -> bool {
        let cpu = self.task(p).cpu;
        let running = self.rqs[cpu as usize].curr == Curr::Ext(p);
        self.sched_change(ops, cpu, p, DEQUEUE_SAVE | DEQUEUE_MOVE, clock_task, |ext, ops| {
            ext.task_mut(p).group = group;
            // scx_cgroup_move_task()
            if let Some(from) = ext.task_mut(p).cgrp_moving_from.take() {
                let to = ext.tg_cgrp(group);
                ext.call(ops, Some(cpu), Call::CgroupMove { p, from, to });
            }
        });
        running
    }

    // --- Settings change --------------------------------------------------------------------------------------------

    /// `scx_group_set_weight()`: `cpu.weight`, 1 to 10000.
    pub fn group_set_weight(&mut self, ops: &mut dyn Ops, cgroup: u32, weight: u32) {
        if self.groups.enabled && self.group(cgroup).weight != weight {
            self.call(ops, None, Call::CgroupSetWeight { cgroup, weight });
        }
        self.groups.list[cgroup as usize].weight = weight;
    }

    /// `scx_group_set_idle()`: `cpu.idle`.
    pub fn group_set_idle(&mut self, ops: &mut dyn Ops, cgroup: u32, idle: bool) {
        ops.set_cgroup_idle(cgroup, idle);
        if self.rules.cgroup_idle && self.groups.enabled {
            self.call(ops, None, Call::CgroupSetIdle { cgroup, idle });
        }
        self.groups.list[cgroup as usize].idle = idle;
    }

    /// `scx_group_set_bandwidth()`: `cpu.max` and `cpu.max.burst`.
    pub fn group_set_bandwidth(&mut self, ops: &mut dyn Ops, cgroup: u32, bandwidth: Bandwidth) {
        let changes = self.group(cgroup).bandwidth != bandwidth;
        if self.rules.cgroup_max && self.groups.enabled && changes {
            self.call(ops, None, Call::CgroupSetBandwidth { cgroup, bandwidth });
        }
        self.groups.list[cgroup as usize].bandwidth = bandwidth;
    }
}
