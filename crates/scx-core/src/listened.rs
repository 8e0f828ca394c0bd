//! A scheduler whose calls somebody listens to: all that the core asks of it goes on to the scheduler itself.

use crate::ext::Ext;
use crate::ops::{Call, Ops, Priorities, TaskFields, TaskInfo};
use wakelab_sched::runqueue::TaskId;

/// Listens to the operations of a scheduler.
pub trait CallListener {
    /// An operation is about to run.
    fn calls(&mut self, ext: &Ext, call: Call) {
        let _ = (ext, call);
    }

    /// It has returned, and left the scheduler so.
    fn called(&mut self, ext: &Ext, ops: &mut dyn Ops) {
        let _ = (ext, ops);
    }

    /// The run is over, and this is how the scheduler is left.
    fn over(&mut self, ops: &dyn Ops) {
        let _ = ops;
    }
}

/// A scheduler and who listens to it.
pub struct Listened<L: CallListener> {
    ops: Box<dyn Ops>,
    listener: L,
}

impl<L: CallListener> Listened<L> {
    /// Lets somebody listen to a scheduler.
    pub fn new(ops: Box<dyn Ops>, listener: L) -> Self {
        Listened { ops, listener }
    }
}

impl<L: CallListener> Drop for Listened<L> {
    fn drop(&mut self) {
        self.listener.over(&*self.ops);
    }
}

impl<L: CallListener> TaskFields for Listened<L> {
    fn slice(&self, p: TaskId) -> u64 {
        self.ops.slice(p)
    }

    fn set_slice(&mut self, p: TaskId, slice: u64) {
        self.ops.set_slice(p, slice);
    }

    fn dsq_vtime(&self, p: TaskId) -> u64 {
        self.ops.dsq_vtime(p)
    }

    fn set_dsq_vtime(&mut self, p: TaskId, vtime: u64) {
        self.ops.set_dsq_vtime(p, vtime);
    }
}

impl<L: CallListener> Ops for Listened<L> {
    fn add_task(&mut self, info: &TaskInfo) {
        self.ops.add_task(info);
    }

    fn set_priorities(&mut self, p: TaskId, priorities: Priorities) {
        self.ops.set_priorities(p, priorities);
    }

    fn remove_task(&mut self, ext: &mut Ext, p: TaskId) {
        self.ops.remove_task(ext, p);
    }

    fn set_cgroup_idle(&mut self, cgroup: u32, idle: bool) {
        self.ops.set_cgroup_idle(cgroup, idle);
    }

    fn remove_cgroup(&mut self, ext: &mut Ext, cgroup: u32) {
        self.ops.remove_cgroup(ext, cgroup);
    }

    fn attached(&mut self, ext: &mut Ext) {
        self.ops.attached(ext);
    }

    fn timer(&mut self, ext: &mut Ext, number: u32) {
        self.ops.timer(ext, number);
    }

    fn timer_is_set(&self, number: u32) -> bool {
        self.ops.timer_is_set(number)
    }

    fn counters(&mut self) -> Vec<(String, u64)> {
        self.ops.counters()
    }

    fn variable(&self, name: &str) -> Option<u64> {
        self.ops.variable(name)
    }

    fn take_records(&mut self, ring: &str) -> Vec<Vec<u8>> {
        self.ops.take_records(ring)
    }

    fn call(&mut self, ext: &mut Ext, call: Call) -> i64 {
        self.listener.calls(ext, call);
        let result = self.ops.call(ext, call);
        self.listener.called(ext, &mut *self.ops);
        result
    }
}
