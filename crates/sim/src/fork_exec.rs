//! Placement by the slow path: fork, and `execve()`, after which a task has no memory of its own yet and is cheap to
//! move.

use crate::SimError;
use crate::boot::LAUNCHER;
use crate::cpu::Doing;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::system::root_domain::GroupsRead;
use crate::task::Task;
use wakelab_events::sim::{Event, Sink};
use wakelab_machine::Distance;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::post_init_entity_util_avg;
use wakelab_sched::runqueue::{EnqueueFlags, Entity, Resched, TaskId};
use wakelab_sched::select::{Cx, Decision, Select, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair};

impl<S: Sink> Sim<'_, '_, S> {
    /// The running task forks.
    pub fn fork(&mut self, cpu: Cpu, parent: TaskId, program: u32) {
        if self.sys.is_dl(parent) {
            let name = self.sys.task_name(parent);
            let what = format!("task {name} forks under SCHED_DEADLINE, for which fork() fails (EAGAIN)");
            self.failed = Some(SimError::Workload(what + "; expected a change of policy before it"));
            return;
        }
        let p = &mut self.sys.tasks[parent];
        p.children += 1;
        let mut child = Task::new(program, &p.channels, p.mask, p.pinned, p.avg);
        child.process = p.process;
        child.footprint = p.footprint;
        child.parent = Some(parent);
        // dup_task_struct() copies them, and nothing resets them.
        child.flips = p.flips;
        let id = self.add(child, child_of(&self.sys.es[parent]));
        if let Some(rt) = &mut self.sys.rt {
            rt.inherit(id, parent);
        }
        (self.nr_unblocked, self.nr_unexited) = (self.nr_unblocked + 1, self.nr_unexited + 1);
        self.fork_now(Some((cpu, parent)), id);
        let costs = &self.sys.model.costs;
        self.begin(cpu, Doing::Fork, costs.wakeup + costs.enqueue.at(Distance::Own));
    }

    /// The CPU on which a task is forked.
    pub fn forks_on(&self, parent: Option<(Cpu, TaskId)>, id: TaskId) -> Cpu {
        match (parent, self.sys.tasks[id].forker) {
            (Some((cpu, _)), _) => cpu,
            (None, Some(forker)) => self.sys.tasks[forker].cpu,
            (None, None) => LAUNCHER,
        }
    }

    /// `sched_fork()` and `wake_up_new_task()`, at one moment: forks are rare, so that their probes need not take time.
    pub fn fork_now(&mut self, parent: Option<(Cpu, TaskId)>, id: TaskId) {
        let model = self.sys.model;
        let this_cpu = self.forks_on(parent, id);
        self.emit_task(id);
        self.emit(|_| Event::Fork { task: id.0, workload: true });
        let now = self.sys.clock_task(this_cpu);
        match parent {
            _ if self.sys.scx_enabled() || self.sys.rt_or_dl(id) => {}
            Some(_) => {
                let resched = self.sys.on_rq(this_cpu, |rq, es, now| rq.task_fork(es, now, id));
                if self.sys.note_resched(this_cpu, resched).is_now() {
                    self.resched(this_cpu, this_cpu);
                }
            }
            None => {
                let _ = self.launcher.task_fork(&mut self.sys.es, now, id);
            }
        }
        self.sys.tasks[id].calls.started = self.sys.now;
        self.sys.tasks[id].cpu = this_cpu;
        self.sys.tasks[id].recent_used_cpu = this_cpu;

        self.sys.cache_fork(id);
        self.sys.uclamp_fork(id, parent.map(|(_, parent)| parent));
        let starts_as_dl = parent.is_none() && self.sys.deadline_from_start(id).is_some();
        if self.sys.is_ext(id) && !starts_as_dl {
            return self.ext_fork(this_cpu, parent, id);
        }
        if self.sys.scx_enabled() {
            // scx_fork() of a task of another class, which is not enabled.
            self.ext_prepare_task(id, true);
        }
        let cpu = self.fork_cpu(this_cpu, parent.map(|(_, parent)| parent), id);
        let weight = u64::from(self.sys.es[id].load.weight);
        self.sys.tasks[id].cpu = cpu;
        self.ext_set_task_cpu(id, cpu);
        if parent.is_none() && !self.starts_as_dl(id) {
            return;
        }
        if starts_as_dl && self.sys.scx_enabled() {
            self.ext_forked_as_dl(id);
        }
        if !self.sys.rt_or_dl(id) {
            self.sys.cfs_rq_of(cpu, id, |cfs_rq, task| {
                post_init_entity_util_avg(&mut task.avg, weight, cfs_rq, model.capacity[cpu]);
            });
        }
        let mut resched = self.enqueue(cpu, id, EnqueueFlags::INITIAL);
        self.emit(|_| Event::Enqueue { cpu, task: id.0 });
        resched |= self.wakeup_preempt(cpu, id, WakeFlags::FORK);
        self.update_idle(cpu);
        match (self.sys.note_resched(cpu, resched), parent) {
            (Resched::Now, Some((this_cpu, _))) => self.resched(this_cpu, cpu),
            // The launcher is not simulated, so that its CPU is kicked like any other.
            (Resched::Now, None) => self.kick(cpu),
            _ => {}
        }
    }

    /// `select_task_rq()` of a fork.
    fn fork_cpu(&mut self, this_cpu: Cpu, parent: Option<TaskId>, id: TaskId) -> Cpu {
        let forker = self.sys.tasks[id].forker;
        let sleeps = forker.is_some() && self.sys.cpus[this_cpu].nr_running == 0;
        if sleeps {
            self.set_forker_runs(this_cpu, true);
        }
        let (decision, prev_cpu) = self.fork_decision(this_cpu, parent, id);
        if sleeps {
            self.set_forker_runs(this_cpu, false);
        }
        let cpu = match decision {
            Some(decision) => self.sys.allowed_or_fallback(id, decision.cpu),
            None => prev_cpu,
        };
        let (waker, workload) = (parent.or(forker).map(|parent| parent.0), self.sys.tasks[id].workload());
        self.emit_detail(|_| Event::Placed {
            waker_cpu: this_cpu,
            waker,
            task: id.0,
            prev_cpu,
            decision,
            cpu,
            workload,
        });
        cpu
    }

    /// A task forks another while the model has it sleep: its CPU is busy to the choice.
    fn set_forker_runs(&mut self, cpu: Cpu, runs: bool) {
        let nr_running = &mut self.sys.cpus[cpu].nr_running;
        *nr_running = if runs { *nr_running + 1 } else { *nr_running - 1 };
        self.sys.touch(cpu);
        self.update_idle(cpu);
        self.update_only_task(cpu);
    }

    /// `select_task_rq_fair()` of a fork, and the CPU where it starts.
    fn fork_decision(&mut self, this_cpu: Cpu, parent: Option<TaskId>, id: TaskId) -> (Option<Decision>, Cpu) {
        let model = self.sys.model;
        let task = &self.sys.tasks[id];
        let mask = &model.masks[task.mask];
        let first = mask.first().expect("a mask has a CPU");
        if task.pinned {
            return (None, first);
        }
        let prev_cpu = if mask.test(this_cpu) { this_cpu } else { first };
        if self.sys.rt_or_dl(id) {
            return (None, self.sys.select_rt(this_cpu, id));
        }
        let flips = parent.map_or(0, |parent| self.sys.tasks[parent].flips.wakee_flips);
        let waker = Waker { wakee_flips: flips, ..Waker::new(this_cpu) };
        let wakee = Wakee {
            recent_used_cpu: Some(this_cpu),
            idle_policy: self.sys.es[id].is_idle(),
            util_avg: task.avg.util_avg,
            runnable_avg: task.avg.runnable_avg,
            has_contributed: false,
            uclamp: self.sys.uclamp_of(id),
            ..Wakee::new(prev_cpu, mask)
        };
        let wakeup = Wakeup { waker, wakee, flags: WakeFlags::FORK };
        self.emit_inputs(&wakeup, None);
        self.sys.refresh_groups(GroupsRead::All);
        let mut select = Select::default();
        let cx = Cx { rules: &self.sys.rules, wakeup: &wakeup, view: &self.sys };
        (Some(select_task_rq_fair(&mut select, cx, &mut ())), prev_cpu)
    }
    /// `sched_exec()` of the running task, at one moment like a fork. Returns whether the task has moved to another
    /// CPU.
    pub fn exec(&mut self, cpu: Cpu, id: TaskId) -> bool {
        // Before it, a shell's child closes and redirects files (file_free_rcu()).
        self.sys.call_rcu(cpu, 1);
        self.sys.cache_leave(id);
        self.sys.tasks[id].process = None;
        // select_task_rq_rt() and select_task_rq_scx() move nobody at an exec.
        if self.sys.tasks[id].pinned || self.sys.rt_or_dl(id) || self.sys.scx_enabled() {
            return false;
        }
        let wakee = Wakee { on_rq: true, is_current: true, ..self.sys.wakee(id) };
        let waker = Waker { wakee_flips: wakee.wakee_flips, h_load: wakee.h_load, ..Waker::new(cpu) };
        let workload = self.sys.tasks[id].workload();
        let wakeup = Wakeup { waker, wakee, flags: WakeFlags::EXEC };
        self.emit_inputs(&wakeup, None);
        self.sys.refresh_groups(GroupsRead::All);
        let mut select = Select::default();
        let decision =
            select_task_rq_fair(&mut select, Cx { rules: &self.sys.rules, wakeup: &wakeup, view: &self.sys }, &mut ());
        let dest = self.sys.allowed_or_fallback(id, decision.cpu);
        let (waker, decision) = (Some(id.0), Some(decision));
        self.emit_detail(|_| Event::Placed {
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
        // The files that it closes on exec, and its old credentials.
        self.sys.call_rcu(dest, 1);
        self.lazy_tlb_flush(cpu);
        self.stop_and_push(cpu, dest, id)
    }

    /// The old memory's page tables are freed on the new CPU (`exec_mmap()`), which is taken to be at once. x86
    /// interrupts the CPUs that still have them loaded, idle ones too (`native_flush_tlb_others()` with `freed_tables`,
    /// 5.10); arm64 tells them without.
    fn lazy_tlb_flush(&mut self, old_cpu: Cpu) {
        if self.sys.pm_model().is_some_and(|model| model.wakes_by_write) {
            self.at(self.sys.now + self.sys.model.costs.ipi, TimedEvent::IpiTlbFlush(old_cpu));
        }
    }
}

/// The entity of a forked task, with what it inherits from its parent (`sched_fork()`).
fn child_of(parent: &Entity) -> Entity {
    let slice = if parent.custom_slice { parent.slice } else { 0 };
    Entity::new(parent.policy, parent.nice, slice).in_group(parent.group)
}
