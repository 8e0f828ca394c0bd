//! The scheduler is enabled, and tasks join the class and leave it (`scx_init_task()`, `scx_enable_task()`,
//! `scx_disable_task()`).

use super::Ext;
use crate::entity::{Curr, Entity, SchedInfo};
use crate::flags::{SCX_DEQ_SLEEP, SCX_ENQ_WAKEUP, SCX_SLICE_DFL, TASK_INTERRUPTIBLE, TASK_RUNNING};
use crate::ops::{Call, Ops};
use crate::stall::Wait;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

impl Ext {
    /// `ops.init()`, and `ops.cgroup_init()` of the control groups that are there.
    pub fn init(&mut self, ops: &mut dyn Ops) {
        let failed = self.call_err(ops, Call::Init);
        if failed != 0 {
            self.error(format!("ops.init() failed ({failed})"));
        }
        self.scx_cgroup_init(ops);
    }

    /// The loader is done: the scheduler is enabled, and so are the tasks that existed.
    pub fn attached(&mut self, ops: &mut dyn Ops) {
        if self.exit.is_none() {
            ops.attached(self);
        }
    }

    /// A task joins the class: [`prepare_task`](Self::prepare_task) and [`enable_task`](Self::enable_task), as a fork
    /// does one after the other. A kernel that enables the scheduler prepares all tasks before it enables the first.
    pub fn init_task(&mut self, ops: &mut dyn Ops, p: TaskId, cpu: Cpu, mask: u32, weight: u64, fork: bool) {
        self.prepare_task(ops, p, cpu, mask, weight, fork);
        self.enable_task(ops, p, !fork);
    }

    /// `scx_init_task()`. `fork` says that the task was just forked; else the scheduler is being enabled. `weight` is
    /// that of its nice value, 15 to 88761.
    pub fn prepare_task(&mut self, ops: &mut dyn Ops, p: TaskId, cpu: Cpu, mask: u32, weight: u64, fork: bool) {
        let at = p.0 as usize;
        if self.tasks.len() <= at {
            self.tasks.resize_with(at + 1, Entity::default);
            self.waits.resize_with(at + 1, Wait::default);
        }
        let runnable_at = self.now;
        self.waits[at].clear();
        let (group, weight) = (self.groups.of_joining(p), weight_to_cgroup(weight));
        // A task that is there when the scheduler is enabled, or when the run begins, has run before.
        let sched_info = SchedInfo { pcount: u64::from(!fork || self.now == 0), ..SchedInfo::default() };
        let created_at = runnable_at;
        self.tasks[at] = Entity { cpu, mask, group, runnable_at, weight, created_at, sched_info, ..Entity::default() };
        ops.set_slice(p, SCX_SLICE_DFL);
        ops.set_dsq_vtime(p, 0);
        let failed = self.call_err(ops, Call::InitTask { p, fork });
        if failed != 0 {
            let named = self.named(p);
            self.error(format!("ops.init_task() failed ({failed}) for {named}"));
        }
        self.task_mut(p).ready = true;
    }

    /// `scx_enable_task()`; with `switched`, of a task that comes from another class as the scheduler is enabled.
    pub fn enable_task(&mut self, ops: &mut dyn Ops, p: TaskId, switched: bool) {
        if switched {
            ops.set_slice(p, u64::from(self.rules.enable_slice));
        }
        self.scx_enable_task(ops, p, switched);
    }

    /// `scx_enable_task()`, and with `switched` the rest of `switching_to_scx()`.
    pub(super) fn scx_enable_task(&mut self, ops: &mut dyn Ops, p: TaskId, switched: bool) {
        self.task_mut(p).enabled = true;
        let (cpu, weight) = (self.task(p).cpu, self.task(p).weight);
        self.call(ops, Some(cpu), Call::Enable { p });
        self.call(ops, Some(cpu), Call::SetWeight { p, weight });
        if switched {
            self.call(ops, Some(cpu), Call::SetCpumask { p });
        }
    }

    /// `scx_disable_task()`: a task leaves the class.
    pub fn disable_task(&mut self, ops: &mut dyn Ops, p: TaskId) {
        if !std::mem::take(&mut self.task_mut(p).enabled) {
            return;
        }
        self.clear_direct_dispatch(p);
        let cpu = self.task(p).cpu;
        self.call(ops, Some(cpu), Call::Disable { p });
        if self.rules.disable_clears {
            ops.set_dsq_vtime(p, 0);
            ops.set_slice(p, 0);
        }
    }

    /// The last of a task (`sched_ext_dead()`, `scx_disable_and_exit_task()`).
    pub fn exit_task(&mut self, ops: &mut dyn Ops, p: TaskId) {
        if std::mem::take(&mut self.task_mut(p).ready) {
            self.disable_task(ops, p);
            let cpu = self.task(p).cpu;
            self.call(ops, Some(cpu), Call::ExitTask { p });
            ops.remove_task(self, p);
        }
    }

    /// A while has passed since the scheduler was enabled: each CPU that is idle has run something, and has told the
    /// scheduler when it became idle again. Enabling alone tells it nothing of CPUs that are idle already
    /// (`__scx_update_idle()` is called with `do_notify` where a CPU changes between a task and idle).
    pub fn idle_cpus_have_run(&mut self, ops: &mut dyn Ops) {
        let this_cpu = self.this_cpu;
        for cpu in 0..self.rqs.len() as Cpu {
            if self.rqs[cpu as usize].curr == Curr::Idle {
                self.this_cpu = cpu;
                self.call(ops, Some(cpu), Call::UpdateIdle { cpu, idle: true });
            }
        }
        self.this_cpu = this_cpu;
    }

    /// A task whose program is not simulated wakes on a CPU that is idle, and runs there at once. Returns whether it
    /// does: not if the CPU is not idle, or the task is not asleep.
    pub fn runs_unseen(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId) -> bool {
        if self.rqs[cpu as usize].curr != Curr::Idle || !self.task(p).ready || self.task(p).queued {
            return false;
        }
        self.scx_update_idle(ops, cpu, false, true);
        let task = self.task_mut(p);
        (task.cpu, task.queued, task.state) = (cpu, true, TASK_RUNNING);
        self.rqs[cpu as usize].nr_running += 1;
        self.call(ops, Some(cpu), Call::Runnable { p, enq_flags: SCX_ENQ_WAKEUP });
        ops.set_slice(p, SCX_SLICE_DFL);
        self.rqs[cpu as usize].curr = Curr::Ext(p);
        self.call(ops, Some(cpu), Call::Running { p });
        true
    }

    /// It sleeps again, and its CPU looks for something to run.
    pub fn sleeps_unseen(&mut self, ops: &mut dyn Ops, cpu: Cpu, p: TaskId) {
        self.task_mut(p).state = TASK_INTERRUPTIBLE;
        self.call(ops, Some(cpu), Call::Stopping { p, runnable: false });
        self.call(ops, Some(cpu), Call::Quiescent { p, deq_flags: SCX_DEQ_SLEEP });
        self.task_mut(p).queued = false;
        self.rqs[cpu as usize].nr_running -= 1;
        self.rqs[cpu as usize].curr = Curr::Idle;
        self.scx_update_idle(ops, cpu, true, true);
        self.resched_curr(cpu);
    }
}

/// `sched_weight_to_cgroup()`.
pub(super) fn weight_to_cgroup(weight: u64) -> u32 {
    ((weight * 100 + 512) / 1024).clamp(1, 10_000) as u32
}
