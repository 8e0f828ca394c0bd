//! What has to wait until a CPU can give up the lock of its run queue (`schedule_deferred()`, `run_deferred()`).

use super::Ext;
use crate::entity::Dsq;
use crate::ops::{ExitKind, Ops};
use wakelab_sched::cpumask::Cpu;

/// How many CPUs in a row [`Ext::run_deferred`] may serve before the scheduler counts as endless. A CPU is served again
/// if its work, or that of another, has made new work for it.
const DEFERRED_MAX: u32 = 100_000;

impl Ext {
    /// Whether a CPU has something to do when it finishes what it does now.
    pub fn has_deferred(&self, cpu: Cpu) -> bool {
        !self.rqs[cpu as usize].kicks.is_empty() || !self.deferred.is_empty()
    }

    /// `schedule_deferred()`: the CPU does what has to wait until its lock can be given up.
    pub(super) fn schedule_deferred(&mut self, cpu: Cpu) {
        if !self.deferred.contains(&cpu) {
            self.deferred.push(cpu);
        }
    }

    /// `run_deferred()`: what CPUs can do when they may give up their locks; and the kicks of this one. The kernel runs
    /// it at the end of the wake-up or of the pick, or by an irq_work.
    pub fn run_deferred(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        self.clock_valid = None;
        let mut served = 0;
        while !self.deferred.is_empty() && self.exit.is_none() {
            let rq = self.deferred.remove(0);
            served += 1;
            if served > DEFERRED_MAX {
                let last = self.last_call();
                let message = format!(
                    "the work that {last} leaves for later makes new work each time: tasks go back to the scheduler \
                     {served} times without any time passing"
                );
                return self.end(ExitKind::Fault, message, 0);
            }
            self.process_ddsp_deferred_locals(ops, rq);
            self.process_deferred_reenq_locals(ops, rq);
            for dsq_id in std::mem::take(&mut self.rqs[rq as usize].reenq_users) {
                self.reenq_user(ops, dsq_id);
            }
        }
        self.kick_cpus(ops, cpu);
    }

    /// `process_ddsp_deferred_locals()`.
    fn process_ddsp_deferred_locals(&mut self, ops: &mut dyn Ops, cpu: Cpu) {
        while let Some(p) = self.rqs[cpu as usize].ddsp_deferred_locals.pop_front() {
            let task = self.task_mut(p);
            task.deferred = false;
            let (dsq_id, enq_flags) = (task.ddsp_dsq_id, task.ddsp_enq_flags);
            self.clear_direct_dispatch(p);
            if let Dsq::Local(to) = self.find_dsq_for_dispatch(cpu, dsq_id, p) {
                self.dispatch_to_local_dsq(ops, cpu, to, p, enq_flags);
            }
        }
    }
}
