//! `execve()`: a task without memory of its own yet is cheap to move, so that the slow path looks for a CPU again.

use crate::engine::{Later, Sim};
use wakelab_events::sim::{Event, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{Cx, Select, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair};

impl<S: Sink> Sim<'_, '_, S> {
    /// `sched_exec()` of the running task, at one moment as forks are. Returns whether it has gone to another CPU.
    pub fn exec(&mut self, cpu: Cpu, id: TaskId) -> bool {
        let model = self.sys.model;
        // Before, a shell's child has closed and redirected files (file_free_rcu()).
        self.sys.call_rcu(cpu, 1);
        if self.sys.tasks[id.0 as usize].pinned {
            return false;
        }
        let wakee = Wakee { on_rq: true, is_current: true, ..self.sys.wakee(id) };
        let waker = Waker { wakee_flips: wakee.wakee_flips, h_load: wakee.h_load, ..Waker::new(cpu) };
        let workload = self.sys.tasks[id.0 as usize].workload;
        let wakeup = Wakeup { waker, wakee, flags: WakeFlags::EXEC };
        self.tell_inputs(&wakeup, None);
        let mut select = Select::default();
        let decision =
            select_task_rq_fair(&mut select, Cx { rules: &model.rules(), wakeup: &wakeup, view: &self.sys }, &mut ());
        let dest = self.sys.allowed_or_fallback(id, decision.cpu);
        let (waker, decision) = (Some(id.0), Some(decision));
        self.tell_all(|_| Event::Placed {
            waker_cpu: cpu,
            waker,
            task: id.0,
            prev_cpu: cpu,
            decision,
            cpu: dest,
            workload,
        });
        if dest == cpu {
            return false;
        }
        // What it closes on exec, and its old credentials.
        self.sys.call_rcu(dest, 1);
        self.lazy_tlb_flush(cpu);
        self.stop_and_push(cpu, dest, id)
    }

    /// The old memory's page tables are freed on the new CPU (`exec_mmap()`), which is taken to be at once. x86 interrupts the
    /// CPUs that still have them loaded, idle ones too (`native_flush_tlb_others()` with `freed_tables`, 5.10); arm64 tells them
    /// without.
    fn lazy_tlb_flush(&mut self, old_cpu: Cpu) {
        if self.sys.pm_model().is_some_and(|model| model.wakes_by_write) {
            self.at(self.sys.now + self.sys.model.costs.ipi, Later::IpiTlbFlush(old_cpu));
        }
    }
}
