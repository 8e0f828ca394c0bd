//! PELT and util_est, at the points where the fair class updates them.

use crate::system::{BOOT_NS, System};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::util_est::{
    _task_util_est, UtilEstRules, util_est_dequeue, util_est_enqueue, util_est_update,
};
use wakelab_sched::pelt::{
    CfsRqState, EntityState, MigrationSource, SCHED_CAPACITY_SCALE, Scale, UpdateFlags, dequeue_runnable_load_avg,
    enqueue_runnable_load_avg, migrate_task_rq_fair, remove_entity_load_avg, update_cfs_rq_load_avg, update_load_avg,
};
use wakelab_sched::runqueue::{FairRq, GroupedRq, TaskId};
use wakelab_sched::select::UtilView;
use wakelab_sched::util_est_faster::{FasterSite, util_est_faster};

impl System<'_> {
    /// `_task_util_est()`, 0 with UTIL_EST off.
    #[inline]
    pub fn task_util_est(&self, task: TaskId) -> u64 {
        match self.model.util_est {
            Some(_) => u64::from(_task_util_est(&self.tasks[task].avg)),
            None => 0,
        }
    }

    #[inline]
    pub fn queue(&self, cpu: Cpu) -> CfsRqState {
        let c = &self.cpus[cpu];
        let (nr_delayed, curr) = match &c.rq {
            FairRq::Cfs(rq) => (0, rq.curr()),
            FairRq::Eevdf(rq) => (rq.nr_delayed(), rq.curr()),
            FairRq::Groups(rq) => return root_state(rq),
        };
        CfsRqState { weight: c.weight, h_nr_runnable: c.h_nr_queued() - nr_delayed, curr: curr.is_some() }
    }

    /// `update_load_avg()` of a task and its run queue, before the run queue changes.
    #[inline]
    pub fn update_load(&mut self, cpu: Cpu, task: TaskId, flags: UpdateFlags) {
        if self.task_groups.is_some() {
            return self.group_update_load(cpu, task, flags);
        }
        let (mut queue, now) = (self.queue(cpu), self.clock_pelt(cpu));
        let e = &self.es[task];
        let c = &mut self.cpus[cpu];
        let mut entity = EntityState {
            weight: u64::from(e.load.weight),
            on_rq: e.on_rq,
            sched_delayed: e.sched_delayed,
            curr: c.rq.curr() == Some(task),
        };
        let avg = &mut self.tasks[task].avg;
        let not_running = std::mem::take(&mut c.not_running);
        if not_running != 0 && entity.curr {
            // Softirq time is excluded: the task runs up to here, and only waits for the rest.
            let from = (now - (not_running << self.model.pelt_lshift)).max(avg.last_update_time);
            update_load_avg(&mut c.pelt, &queue, avg, &entity, from, UpdateFlags::empty());
            (queue.curr, entity.curr) = (false, false);
        }
        let changed = update_load_avg(&mut c.pelt, &queue, avg, &entity, now, flags);
        if not_running != 0 {
            self.touch(cpu);
        }
        self.util_change(cpu, changed);
    }

    /// What `put_prev_entity()` does to the averages of a task that may go on. With groups it is done once it is known
    /// that it does not ([`group_put_prev`](Self::group_put_prev)), and without only the run queue is there to be aged.
    #[inline]
    pub fn load_put_prev(&mut self, cpu: Cpu, task: TaskId) {
        if self.task_groups.is_none() {
            self.update_load(cpu, task, UpdateFlags::empty());
        }
    }

    /// What `set_next_entity()` does to the averages: up to now the task has waited. It is the run queue's current task
    /// already; before, there was none, or the averages are up to date with the previous one.
    #[inline]
    pub fn load_set_next(&mut self, cpu: Cpu, task: TaskId) {
        if self.task_groups.is_some() {
            return self.group_set_next(cpu, task);
        }
        let (queue, now) = (CfsRqState { curr: false, ..self.queue(cpu) }, self.clock_pelt(cpu));
        let e = &self.es[task];
        let weight = u64::from(e.load.weight);
        let entity = EntityState { weight, on_rq: e.on_rq, sched_delayed: false, curr: false };
        let avg = &mut self.tasks[task].avg;
        let pelt = &mut self.cpus[cpu].pelt;
        let changed = update_load_avg(pelt, &queue, avg, &entity, now, UpdateFlags::empty());
        self.util_change(cpu, changed);
    }

    /// `update_blocked_averages()`.
    pub fn update_blocked(&mut self, cpu: Cpu) {
        if self.task_groups.is_some() {
            return self.group_update_blocked(cpu);
        }
        let (queue, now) = (self.queue(cpu), self.clock_pelt(cpu));
        let changed = update_cfs_rq_load_avg(now, &mut self.cpus[cpu].pelt, &queue);
        self.util_change(cpu, changed);
    }

    /// What `enqueue_task_fair()` does to the averages. The estimate of a task whose dequeue is delayed is not part of
    /// the run queue's, also after balancing has moved it.
    #[inline]
    pub fn load_enqueue(&mut self, cpu: Cpu, task: TaskId, wakes: bool) {
        self.touch(cpu);
        if self.model.util_est.is_some() && (wakes || !self.es[task].sched_delayed) {
            util_est_enqueue(&mut self.cpus[cpu].pelt.avg, &self.tasks[task].avg);
        }
        self.update_load(cpu, task, UpdateFlags::DO_ATTACH | UpdateFlags::UPDATE_TG);
        let weight = u64::from(self.es[task].load.weight);
        enqueue_runnable_load_avg(&mut self.cpus[cpu].pelt, &self.tasks[task].avg, weight);
    }

    /// What `dequeue_task_fair()` does to the averages before the task leaves.
    #[inline]
    pub fn load_dequeue(&mut self, cpu: Cpu, task: TaskId, sleeps: bool) {
        self.touch(cpu);
        if self.model.util_est.is_some() && !self.es[task].sched_delayed {
            util_est_dequeue(&mut self.cpus[cpu].pelt.avg, &self.tasks[task].avg);
        }
        let capacity = self.model.capacity[cpu];
        // 6.12 takes the estimate before it updates the task's utilisation.
        let (before, after) = match self.model.util_est {
            Some(rules @ UtilEstRules::V6_12) => (Some(rules), None),
            rules => (None, rules),
        };
        if let Some(rules) = before {
            util_est_update(rules, &mut self.tasks[task].avg, sleeps, capacity);
        }
        // A task that balancing moves is detached; a sleeper stays attached.
        let mut flags = UpdateFlags::UPDATE_TG;
        if !sleeps {
            flags |= UpdateFlags::DO_DETACH;
        } else if self.task_groups.is_some() {
            flags = self.group_sleep_flags(cpu, task);
        }
        self.update_load(cpu, task, flags);
        let weight = u64::from(self.es[task].load.weight);
        dequeue_runnable_load_avg(&mut self.cpus[cpu].pelt, &self.tasks[task].avg, weight);
        if let Some(rules) = after {
            util_est_update(rules, &mut self.tasks[task].avg, sleeps, capacity);
        }
    }

    /// What the end of a delayed dequeue does to the averages. `queue` is the run queue's state up to now, which is not
    /// needed with groups.
    pub fn load_reaped(&mut self, cpu: Cpu, task: TaskId, queue: Option<&CfsRqState>) {
        if self.task_groups.is_some() {
            return self.group_reaped(cpu, task);
        }
        let queue = queue.expect("a task's dequeue was delayed");
        let now = self.clock_pelt(cpu);
        let weight = u64::from(self.es[task].load.weight);
        let entity = EntityState { weight, on_rq: true, sched_delayed: true, curr: false };
        let avg = &mut self.tasks[task].avg;
        let pelt = &mut self.cpus[cpu].pelt;
        let changed = update_load_avg(pelt, queue, avg, &entity, now, UpdateFlags::empty());
        self.util_change(cpu, changed);
    }

    /// `task_dead_fair()`: the averages of an exited task leave its run queue at the queue's next update.
    pub fn load_dead(&mut self, task: TaskId) {
        let (cpu, weight) = (self.tasks[task].cpu, u64::from(self.es[task].load.weight));
        self.cfs_rq_of(cpu, task, |cfs_rq, task| remove_entity_load_avg(&mut task.avg, weight, cfs_rq));
    }

    /// `migrate_task_rq_fair()`: a waking task leaves the run queue it slept on.
    #[inline]
    pub fn load_migrate(&mut self, task: TaskId) {
        let from = self.tasks[task].cpu;
        let weight = u64::from(self.es[task].load.weight);
        let clock = self.rq_clock(from);
        let sched_clock = BOOT_NS + self.now;
        let source = MigrationSource { clock: &clock, is_idle: self.cpus[from].curr_idle, sched_clock };
        self.cfs_rq_of(from, task, |cfs_rq, task| migrate_task_rq_fair(&mut task.avg, weight, cfs_rq, &source));
    }
}

/// What the root's run queue has, with groups.
#[cold]
fn root_state(rq: &GroupedRq) -> CfsRqState {
    rq.hierarchy().state(0)
}

impl UtilView for System<'_> {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.avg.runnable_avg
    }

    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.cpus[cpu].pelt.avg.util_avg
    }

    fn util_est_faster(&self, cpu: Cpu, site: FasterSite) -> u64 {
        if !site.is_on(self.model.features) {
            return 0;
        }
        let Some(task) = self.cpus[cpu].curr else { return 0 };
        let slept = self.tasks[task].dur.prev_sum_exec_runtime_vol;
        let ran = self.es[task].sum_exec_runtime.saturating_sub(slept);
        let freq = self.pm.as_ref().map_or(SCHED_CAPACITY_SCALE, |pm| pm.cpus[cpu].freq_scale);
        util_est_faster(self.model.features, ran, Scale { cpu: self.model.capacity[cpu], freq })
    }

    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.model.util_est.map(|_| u64::from(self.cpus[cpu].pelt.avg.util_est))
    }
}
