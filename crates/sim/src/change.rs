//! The changes that an administrator makes during the run, under a sched_ext scheduler: CPUs go offline and online,
//! control groups come, go and get other settings, tasks move between groups. The processes that write the kernel's
//! files are not simulated.
//!
//! ```text
//! offline   the CPU is asked to reschedule ─▶ it stops its task (sched_cpu_deactivate())
//!           ─▶ and pushes what is left there to other CPUs (balance_push()), then and whenever something comes late
//! online    ops.cpu_online(), and the CPU is asked to reschedule (sched_cpu_activate())
//! ```

use crate::SimError;
use crate::boot::LAUNCHER;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::task::State;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::{Changed, Workload};

/// Whether what is changed during a run can be simulated.
///
/// # Errors
/// [`SimError::Workload`] without a scheduler of sched_ext: the fair class is not told of it.
pub fn check(workload: &Workload, scheduler: bool) -> Result<(), SimError> {
    let Some(first) = workload.changes.first().filter(|_| !scheduler) else { return Ok(()) };
    let what = match first.what {
        Changed::Offline { .. } | Changed::Online { .. } => "a CPU that goes offline or online",
        Changed::Weight { .. } | Changed::Idle { .. } | Changed::Max { .. } => "a control group whose settings change",
        Changed::Make { .. } | Changed::Remove { .. } => "a control group that is made or removed",
        Changed::Move { .. } => "a task that moves to another control group",
    };
    Err(SimError::Workload(format!(
        "{what} during the run is modelled only under a sched_ext scheduler; expected one on each side, or a workload \
         without [[change]]"
    )))
}

/// How soon a CPU that is still on its way offline is asked again to come online, ns.
const AGAIN_NS: u64 = 1_000;

impl<S: Sink> Sim<'_, '_, S> {
    /// Sets the events of what changes, and does at once what is done before the scheduler is loaded.
    pub fn add_changes(&mut self) {
        let changes = &self.sys.model.workload.changes;
        for (number, change) in (0..).zip(changes) {
            match (&change.what, &mut self.sys.ext) {
                (Changed::Offline { cpus }, Some(state)) if change.at_ns == 0 => {
                    cpus.iter().for_each(|&cpu| state.ext.begins_offline(cpu));
                }
                _ => self.at(change.at_ns, TimedEvent::Change(number)),
            }
        }
    }

    /// Something changes.
    pub fn changes(&mut self, number: u32) {
        self.sys.this_cpu = LAUNCHER;
        let model = self.sys.model;
        match &model.workload.changes[number as usize].what {
            Changed::Offline { cpus } => {
                for &cpu in cpus {
                    self.sys.ext.as_mut().expect("a scheduler is loaded").leaving.push(cpu);
                    self.kick(cpu);
                }
            }
            Changed::Online { cpus } => {
                let leaving = &self.sys.ext.as_ref().expect("a scheduler is loaded").leaving;
                if cpus.iter().any(|cpu| leaving.contains(cpu)) {
                    return self.at(self.sys.now + AGAIN_NS, TimedEvent::Change(number));
                }
                cpus.iter().for_each(|&cpu| self.cpu_comes_online(cpu));
            }
            &Changed::Weight { group, weight } => self.with_ext(|ext, ops| ext.group_set_weight(ops, group, weight)),
            &Changed::Idle { group, idle } => self.with_ext(|ext, ops| ext.group_set_idle(ops, group, idle)),
            &Changed::Max { group, max } => {
                let bandwidth = crate::ext::bandwidth(max);
                self.with_ext(|ext, ops| ext.group_set_bandwidth(ops, group, bandwidth));
            }
            &Changed::Make { group } => self.make_group(group),
            &Changed::Remove { group } => self.remove_group(group),
            Changed::Move { tasks, group } => self.move_tasks(tasks, *group),
        }
        // Whoever wrote the file is not simulated, and neither is the time that it took.
        self.ext_spent();
        if self.sys.cpus[LAUNCHER].need_resched {
            self.kick(LAUNCHER);
        }
    }

    /// `cpu_cgroup_css_online()`. A scheduler that refuses a group ends the run, whose tasks could not be in it.
    fn make_group(&mut self, group: u32) {
        if let Err(error) = self.with_ext(|ext, ops| ext.tg_online(ops, group)) {
            let name = &self.sys.model.workload.groups[group as usize - 1].name;
            let what = format!("ops.cgroup_init() prevents the control group {name} from being made ({error})");
            self.failed.get_or_insert(SimError::Workload(what));
        }
    }

    /// `cpu_cgroup_css_offline()`: a group goes, which has to be empty.
    fn remove_group(&mut self, group: u32) {
        let is_in = |id: &TaskId| self.sys.es[*id].group == group && self.sys.tasks[*id].lives();
        if let Some(id) = (0..self.sys.tasks.len() as u32).map(TaskId).find(is_in) {
            let (name, task) = (&self.sys.model.workload.groups[group as usize - 1].name, self.sys.task_name(id));
            let what = format!("the control group {name} is removed while task {task} is in it (EBUSY)");
            self.failed.get_or_insert(SimError::Workload(what + "; expected its tasks to have exited or moved"));
            return;
        }
        self.with_ext(|ext, ops| ext.tg_offline(ops, group));
    }

    /// `cpu_cgroup_attach()`: each task that is there moves by itself, as `cgroup.procs` takes one process.
    fn move_tasks(&mut self, tasks: &[u32], group: u32) {
        let background = self.sys.nr_background();
        for &task in tasks {
            let id = TaskId(background + task);
            if !self.sys.tasks[id].lives() {
                continue;
            }
            let cpu = self.sys.tasks[id].cpu;
            let clock = self.ext_update_rq_clock(cpu);
            let refused = self.with_ext(|ext, ops| {
                let refused = ext.cgroup_can_attach(ops, &[id], group);
                if refused == 0 {
                    ext.update_curr(ops, cpu, clock);
                    ext.sched_move_task(ops, id, group, clock);
                }
                refused
            });
            if refused == 0 {
                self.sys.es[id].group = group;
                self.kick(cpu);
            }
        }
    }

    /// `sched_cpu_activate()`.
    fn cpu_comes_online(&mut self, cpu: Cpu) {
        self.sys.this_cpu = cpu;
        self.ext_update_rq_clock(cpu);
        self.with_ext(|ext, ops| ext.cpu_activate(ops, cpu));
        self.rebind_workers(cpu);
        self.kick(cpu);
        self.sys.this_cpu = LAUNCHER;
    }

    /// `rebind_workers()`: kernel threads of a CPU that lost their affinity as it went offline have it again, but for
    /// those that run or wait elsewhere.
    fn rebind_workers(&mut self, cpu: Cpu) {
        let state = self.sys.ext.as_mut().expect("a scheduler is loaded");
        let unbound = std::mem::take(&mut state.unbound);
        for (id, mask) in unbound {
            let sleeps = matches!(self.sys.tasks[id].state, State::Sleeping(_));
            if self.sys.model.masks[mask].test(cpu) && sleeps {
                let task = &mut self.sys.tasks[id];
                (task.mask, task.pinned) = (mask, true);
                self.with_ext(|ext, ops| ext.set_cpus_allowed(ops, id, mask));
            } else {
                self.sys.ext.as_mut().expect("a scheduler is loaded").unbound.push((id, mask));
            }
        }
    }

    /// What a CPU does in place of a pick if it goes offline, or is: it stops its task, and pushes what is there to
    /// other CPUs. Returns whether it does.
    pub fn ext_pick_offline(&mut self, cpu: Cpu, clock: u64) -> bool {
        let state = self.sys.ext.as_mut().expect("a scheduler is loaded");
        if let Some(at) = state.leaving.iter().position(|&leaves| leaves == cpu) {
            state.leaving.remove(at);
            self.with_ext_in(Some(cpu), |ext, ops| {
                ext.update_curr(ops, cpu, clock);
                ext.cpu_deactivate(ops, cpu);
            });
            // What was stopped is moved once the CPU has switched away from it.
            self.sys.cpus[cpu].need_resched = true;
            return true;
        }
        if state.ext.rqs[cpu as usize].active {
            return false;
        }
        self.with_ext_in(Some(cpu), |ext, ops| ext.balance_push(ops, cpu, clock));
        true
    }

    /// The CPU whose interrupts these are: the first in place of one that is offline.
    #[inline]
    pub fn online_or_first(&self, cpu: Cpu) -> Cpu {
        match &self.sys.ext {
            Some(state) if !state.ext.online().test(cpu) => LAUNCHER,
            _ => cpu,
        }
    }

    /// The only CPU that a task may use; if that is offline, where it goes then (`select_fallback_rq()`).
    pub fn pinned_to(&mut self, id: TaskId) -> Cpu {
        let mask = self.sys.tasks[id].mask;
        let only = self.sys.model.masks[mask].first().expect("a mask has a CPU");
        if self.sys.scx_enabled() { self.ext_allowed_or_fallback(id, only) } else { only }
    }

    /// `select_task_rq()`'s correction of what the scheduler chose.
    pub fn ext_allowed_or_fallback(&mut self, id: TaskId, chosen: Cpu) -> Cpu {
        let state = self.sys.ext.as_ref().expect("a scheduler is loaded");
        if state.ext.is_cpu_allowed(id, chosen) {
            return chosen;
        }
        let own = self.sys.tasks[id].cpu;
        self.with_ext(|ext, ops| ext.select_fallback_rq(ops, id, own))
    }
}
