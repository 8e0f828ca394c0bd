//! `execve()`: a task without memory of its own yet is cheap to move, so that the slow path looks for a CPU again.

use crate::engine::{Later, Sim};
use wakelab_events::sim::{Event, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::task_h_load;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{Cx, Select, Uclamp, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair};

impl<S: Sink> Sim<'_, '_, S> {
    /// `sched_exec()` of the running task, at one moment as forks are. Returns whether it has gone to another CPU.
    pub fn exec(&mut self, cpu: Cpu, id: TaskId) -> bool {
        let model = self.sys.model;
        // Before, a shell's child has closed and redirected files (file_free_rcu()).
        self.sys.call_rcu(cpu, 1);
        if self.sys.tasks[id.0 as usize].pinned {
            return false;
        }
        let jiffies = self.sys.jiffies;
        let task = &self.sys.tasks[id.0 as usize];
        let h_load = task_h_load(&task.avg, &mut self.sys.cpus[cpu as usize].pelt, jiffies);
        let flips = task.flips.wakee_flips;
        let waker = Waker { cpu, exiting: false, in_task: true, per_cpu_kthread: false, wakee_flips: flips, h_load };
        let wakee = Wakee {
            prev_cpu: cpu,
            cpus_ptr: &model.masks[task.mask as usize],
            recent_used_cpu: Some(task.recent_used_cpu),
            wakee_flips: flips,
            h_load,
            idle_policy: self.sys.es[id].is_idle(),
            util_avg: task.avg.util_avg,
            runnable_avg: task.avg.runnable_avg,
            util_est: self.sys.task_util_est(id),
            uclamp: Uclamp::UNUSED,
            has_contributed: task.avg.last_update_time != 0,
            on_rq: true,
            is_current: true,
            dur_avg: task.dur.dur_avg,
            numa_preferred_nid: None,
        };
        let workload = task.workload;
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
        // stop_one_cpu(migration_cpu_stop).
        self.sys.cpus[cpu as usize].debt += 2 * model.costs.context_switch;
        self.push_task(cpu, dest, id)
    }

    /// The old memory's page tables are freed on the new CPU (`exec_mmap()`), which is taken to be at once. x86 interrupts the CPUs that still have them loaded,
    /// idle ones too (`native_flush_tlb_others()` with `freed_tables`, 5.10); arm64 tells them without.
    fn lazy_tlb_flush(&mut self, old_cpu: Cpu) {
        if self.sys.pm_model().is_some_and(|model| model.wakes_by_write) {
            self.at(self.sys.now + self.sys.model.costs.ipi, Later::IpiTlbFlush(old_cpu));
        }
    }
}
