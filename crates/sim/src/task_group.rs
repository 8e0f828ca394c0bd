//! Control groups: what the run queues of all groups share, and the operations that need it.

use crate::SimError;
use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::system::{BOOT_NS, System};
use crate::task::{Of, State, Task};
use wakelab_events::sim::{NewGroup, Sink};
use wakelab_kernel::{Preset, ThrottleForm};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::util_est::{util_est_dequeue, util_est_update};
use wakelab_sched::pelt::{CfsRqPelt, UpdateFlags, init_entity_runnable_average, task_h_load};
use wakelab_sched::runqueue::{
    Bandwidth, CfsBandwidth, Clocks, Cpus, EnqueueFlags, Entities, FairRq, GroupParams, GroupedRq, Quota, Resched,
    TaskGroup, TaskId, TgShared, TimerStart, cfsb_csd_unthrottle, sched_cfs_period_timer, sched_cfs_slack_timer,
};
use wakelab_workload::{Group, Workload};

/// The state that the CPUs' run queues of all groups share.
#[derive(Debug)]
pub struct TaskGroups {
    /// By group.
    shared: Vec<TgShared>,
    /// Timers that were started, and on which CPU.
    timers: Vec<(TimerStart, Cpu)>,
}

/// The workload with the autogroup of the session in which its tasks start, if there are autogroups: all tasks that are
/// in no other group are in it (`task_wants_autogroup()`).
pub fn with_autogroup(kernel: &Preset, workload: &Workload) -> Option<Workload> {
    if kernel.tunables.sched_autogroup_enabled != Some(1) {
        return None;
    }
    let mut workload = workload.clone();
    workload.groups.push(Group { name: "/autogroup-1".to_owned(), weight: 100, autogroup: true, ..Group::default() });
    let number = workload.groups.len() as u32;
    workload.tasks.iter_mut().filter(|task| task.group == 0).for_each(|task| task.group = number);
    Some(workload)
}

/// Whether the groups of a workload can be simulated under a kernel.
///
/// # Errors
/// [`SimError::Kernel`], with what is not modelled and what was expected.
pub fn check(kernel: &Preset, workload: &Workload, softirq_util: bool) -> Result<(), SimError> {
    let Some(first) = workload.groups.first() else { return Ok(()) };
    let refused = |what: &str| Err(SimError::Kernel(format!("{}: group {:?}: {what}", kernel.name, first.name)));
    if kernel.pelt.runnable_load {
        return refused("the averages of groups are modelled from 5.10 on; expected v5.10 or a later kernel");
    }
    if !kernel.groups.cpu_idle && workload.groups.iter().any(|group| group.idle) {
        return refused("groups with idle = true were added in 5.15 (cpu.idle); expected v5.15 or a later kernel");
    }
    let bursts = |group: &Group| group.max.is_some_and(|max| max.burst != 0);
    if !kernel.groups.burst && workload.groups.iter().any(bursts) {
        return refused("bursts were added in 5.14 (cpu.max.burst); expected no burst, or v5.15 or a later kernel");
    }
    if !softirq_util {
        return refused("utilisation without softirq time is not modelled with groups; expected softirq_util to be on");
    }
    Ok(())
}

/// A group as a sink is told of it.
fn new_group(number: u32, group: &Group) -> NewGroup<'_> {
    NewGroup {
        group: number,
        parent: group.parent,
        name: &group.name,
        weight: group.weight,
        idle: group.idle,
        max: group.max.map(|max| [max.quota, max.period, max.burst]),
        uclamp: [group.uclamp_min, group.uclamp_max],
        cpus: group.cpus.as_deref(),
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Gives each CPU a run queue for each group, unless a scheduler of sched_ext has all tasks.
    pub fn add_task_groups(&mut self, scheduler: bool) {
        let given = &self.sys.model.workload.groups;
        if S::INPUTS {
            (1..).zip(given).for_each(|(number, group)| self.sink.group(self.sys.now, &new_group(number, group)));
        }
        if given.is_empty() || scheduler {
            return;
        }
        let quota =
            |group: &Group| group.max.map(|max| Quota { quota: max.quota, period: max.period, burst: max.burst });
        let online = self.sys.model.nr_cpus();
        let task_group = |group: &Group| {
            let quota = quota(group);
            let nr_cpus = group.cpus.as_ref().map_or(online, |cpus| cpus.len() as u32);
            TaskGroup { parent: group.parent, shares: group.shares(), idle: group.idle, quota, nr_cpus }
        };
        let groups: Vec<TaskGroup> = given.iter().map(task_group).collect();
        let rules = self.sys.model.groups;
        let params = GroupParams { rules, pelt: self.sys.model.pelt };
        for (number, cpu) in (0..).zip(&mut self.sys.cpus) {
            cpu.rq = FairRq::Groups(Box::new(GroupedRq::new(number, &cpu.rq, &groups, params, &mut self.sys.es)));
            // The groups' entities have numbers among those of tasks.
            for _ in &groups {
                let mut none = Task::new(0, &[], 0, true, init_entity_runnable_average(0));
                (none.of, none.state) = (Of::Machine, State::Dead);
                self.sys.tasks.push(none);
            }
        }
        let mut shared = vec![TgShared::default()];
        for group in &groups {
            let random = group.quota.filter(|_| rules.period_offset).map(|quota| self.random.below(quota.period));
            let bandwidth = CfsBandwidth::new(group.quota, random.unwrap_or(0), self.sys.model.bandwidth_slice);
            shared.push(TgShared { bandwidth, ..TgShared::default() });
        }
        self.sys.task_groups = Some(Box::new(TaskGroups { shared, timers: Vec::new() }));
    }

    /// Sets the timers of groups' bandwidth that were started.
    pub fn start_cfs_bandwidth_timers(&mut self) {
        let Some(groups) = &mut self.sys.task_groups else { return };
        for (TimerStart { group, slack, expires }, cpu) in std::mem::take(&mut groups.timers) {
            let what = if slack { TimedEvent::CfsSlack(group, cpu) } else { TimedEvent::CfsPeriod(group, cpu) };
            self.at(expires - BOOT_NS, what);
        }
    }

    fn bandwidth_form(&self) -> Bandwidth {
        let rules = self.sys.model.groups;
        Bandwidth { throttle: rules.throttle, asynchronous: rules.unthrottle_async, burst: rules.burst }
    }

    /// The period timer of a group's bandwidth expires. Its interrupt takes no time.
    pub fn cfs_period_timer(&mut self, group: u32, cpu: Cpu) {
        self.sys.this_cpu = cpu;
        let (now, form) = (BOOT_NS + self.sys.now, self.bandwidth_form());
        if let Some(expires) = sched_cfs_period_timer(self, group, cpu, now, form) {
            self.at(expires - BOOT_NS, TimedEvent::CfsPeriod(group, cpu));
        }
    }

    /// The slack timer of a group's bandwidth expires. Its interrupt takes no time.
    pub fn cfs_slack_timer(&mut self, group: u32, cpu: Cpu) {
        self.sys.this_cpu = cpu;
        let (now, form) = (BOOT_NS + self.sys.now, self.bandwidth_form());
        sched_cfs_slack_timer(self, group, cpu, now, form);
    }

    /// `__cfsb_csd_unthrottle()`, in an interrupt that takes no time.
    pub fn cfs_unthrottle(&mut self, cpu: Cpu) {
        self.sys.this_cpu = cpu;
        cfsb_csd_unthrottle(self, cpu);
    }

    /// The running task, which is about to reschedule on its way to user space, leaves its run queue if its group is
    /// throttled (`throttle_cfs_rq_work()`, since 6.18). If a reschedule is due as well, that comes first
    /// (`exit_to_user_mode_loop()`).
    #[cold]
    pub fn throttle_cfs_rq_work(&mut self, cpu: Cpu, task: TaskId) {
        let e = &self.sys.es[task];
        let of = &self.sys.tasks[task];
        let due = self.sys.cpus[cpu].need_resched;
        if !e.throttle_work || due || of.has_to_wake() || of.state == State::Dead || !e.on_rq {
            return;
        }
        let FairRq::Groups(rq) = &self.sys.cpus[cpu].rq else { return };
        if rq.hierarchy().throttled_hierarchy(e.group) {
            self.sys.load_throttle(cpu, task);
        }
        if self.sys.on_rq(cpu, |rq, es, now| grouped(rq).throttle_cfs_rq_work(es, now, task)) {
            self.sys.dequeued(cpu, task);
            self.update_only_task(cpu);
        }
    }
}

impl<S: Sink> Cpus for Sim<'_, '_, S> {
    fn on<R>(&mut self, cpu: u32, op: impl FnOnce(&mut GroupedRq, &mut Entities, u64) -> R) -> R {
        let result = self.sys.on_rq(cpu, |rq, es, now| op(grouped(rq), es, now));
        let asks = grouped(&mut self.sys.cpus[cpu].rq).hierarchy_mut().asks();
        let idle = asks.resched_idle && self.sys.cpus[cpu].curr_idle;
        if self.sys.note_resched(cpu, asks.resched).is_now() || idle {
            self.kick(cpu);
        }
        result
    }

    fn bandwidth(&mut self, group: u32) -> &mut CfsBandwidth {
        &mut self.sys.task_groups.as_mut().expect("there are groups").shared[group as usize].bandwidth
    }

    fn enqueue_throttled(&mut self, cpu: u32, task: TaskId) {
        // enqueue_task_fair() alone: the task's clamps have stayed.
        self.sys.load_enqueue(cpu, task, true);
        let resched = self.sys.on_rq(cpu, |rq, es, now| rq.enqueue_task(es, now, task, EnqueueFlags::WAKEUP));
        self.sys.enqueued(cpu, task);
        self.update_only_task(cpu);
        self.sys.check_overutilized(cpu);
        if self.sys.note_resched(cpu, resched).is_now() {
            self.kick(cpu);
        }
    }

    fn send_csd(&mut self, cpu: u32) {
        let ipi = self.ipi(self.sys.this_cpu, cpu);
        self.at(self.sys.now + ipi, TimedEvent::CfsUnthrottle(cpu));
    }
}

impl System<'_> {
    /// An operation on a CPU's run queue, at the present time of its clock.
    #[inline]
    pub fn on_rq<R>(&mut self, cpu: Cpu, op: impl FnOnce(&mut FairRq, &mut Entities, u64) -> R) -> R {
        let now = self.clock_task(cpu);
        if self.task_groups.is_some() {
            return self.on_groups(cpu, |rq, es| op(rq, es, now));
        }
        op(&mut self.cpus[cpu].rq, &mut self.es, now)
    }

    #[cold]
    #[inline(never)]
    fn on_groups<R>(&mut self, cpu: Cpu, op: impl FnOnce(&mut FairRq, &mut Entities) -> R) -> R {
        let clocks = Clocks { pelt: self.clock_pelt(cpu), clock: BOOT_NS + self.now, task: self.clock_task(cpu) };
        let groups = self.task_groups.as_mut().expect("there are groups");
        let c = &mut self.cpus[cpu];
        let h = grouped(&mut c.rq).hierarchy_mut();
        let hidden = h.nr_hidden();
        h.enter(c.pelt, std::mem::take(&mut groups.shared), clocks);
        let result = op(&mut c.rq, &mut self.es);
        let h = grouped(&mut c.rq).hierarchy_mut();
        let changed;
        (c.pelt, groups.shared, changed) = h.leave();
        if h.has_bandwidth() {
            let started = h.started_timers();
            self.requests |= !started.is_empty();
            groups.timers.extend(started.into_iter().map(|timer| (timer, self.this_cpu)));
            // The caller counts the task that has come or left, whether it counts here or not.
            c.nr_running = c.nr_running.wrapping_add(hidden).wrapping_sub(h.nr_hidden());
            let curr = grouped(&mut c.rq).curr();
            // TIF_NOTIFY_RESUME: it reschedules on its way to user space.
            c.need_resched_lazy |= curr.is_some_and(|curr| self.es[curr].throttle_work && self.es[curr].on_rq);
        }
        self.util_change(cpu, changed);
        result
    }

    /// What `dequeue_task_fair()` does to the averages of a running task that is throttled.
    fn load_throttle(&mut self, cpu: Cpu, task: TaskId) {
        self.touch(cpu);
        let capacity = self.model.capacity[cpu];
        if let Some(rules) = self.model.util_est {
            util_est_dequeue(&mut self.cpus[cpu].pelt.avg, &self.tasks[task].avg);
            self.group_update_load(cpu, task, UpdateFlags::UPDATE_TG);
            util_est_update(rules, &mut self.tasks[task].avg, true, capacity);
        } else {
            self.group_update_load(cpu, task, UpdateFlags::UPDATE_TG);
        }
    }

    /// [`BalanceView::throttled_lb_pair`](wakelab_sched::balance::BalanceView::throttled_lb_pair), with groups.
    #[cold]
    pub fn group_throttled_lb_pair(&self, src_cpu: Cpu, dst_cpu: Cpu, task: TaskId) -> bool {
        let throttled = |cpu: Cpu| match &self.cpus[cpu].rq {
            FairRq::Groups(rq) => rq.hierarchy().throttled_hierarchy(self.es[task].group),
            _ => false,
        };
        throttled(dst_cpu) || (self.model.groups.throttle == ThrottleForm::Queues && throttled(src_cpu))
    }

    /// `update_load_avg()` of a task, with groups.
    #[cold]
    pub fn group_update_load(&mut self, cpu: Cpu, task: TaskId, flags: UpdateFlags) {
        // requeue_delayed_entity() of a task that wakes while its dequeue is delayed.
        let wakes_delayed = flags.contains(UpdateFlags::DO_ATTACH) && self.es[task].on_rq;
        self.group_update(cpu, task, if wakes_delayed { UpdateFlags::empty() } else { flags }, false);
    }

    /// With what flags `dequeue_entity()` updates the averages of a running task that sleeps.
    #[cold]
    pub fn group_sleep_flags(&mut self, cpu: Cpu, task: TaskId) -> UpdateFlags {
        let (now, exits) = (self.clock_task(cpu), self.tasks[task].state == State::Dead);
        let delayed = self.on_groups(cpu, |rq, es| grouped(rq).delays_dequeue(es, now, task, exits));
        if delayed { UpdateFlags::empty() } else { UpdateFlags::UPDATE_TG }
    }

    /// What `put_prev_entity()` does to the averages of a task that has run up to now and waits, with groups.
    #[cold]
    pub fn group_put_prev(&mut self, cpu: Cpu, task: TaskId) {
        if self.is_rt(task) || self.es[task].throttled {
            return;
        }
        let FairRq::Groups(rq) = &self.cpus[cpu].rq else { unreachable!("there are groups") };
        rq.hierarchy().age_task(&self.es, task, &mut self.tasks[task].avg, true);
    }

    /// What `set_next_entity()` does to the averages of a task, with groups.
    #[cold]
    pub fn group_set_next(&mut self, cpu: Cpu, task: TaskId) {
        self.group_update(cpu, task, UpdateFlags::UPDATE_TG, true);
    }

    fn group_update(&mut self, cpu: Cpu, task: TaskId, flags: UpdateFlags, waited: bool) {
        let mut avg = self.tasks[task].avg;
        self.on_groups(cpu, |rq, es| {
            grouped(rq).hierarchy_mut().update_task_load_avg(es, task, &mut avg, flags, waited);
        });
        self.tasks[task].avg = avg;
    }

    /// What the end of a delayed dequeue does to the averages of a task, with groups.
    #[cold]
    pub fn group_reaped(&mut self, cpu: Cpu, task: TaskId) {
        let mut avg = self.tasks[task].avg;
        self.on_groups(cpu, |rq, es| grouped(rq).hierarchy_mut().age_task(es, task, &mut avg, false));
        self.tasks[task].avg = avg;
    }

    /// A change of a task's weight or slice, which its averages follow, with groups.
    #[cold]
    pub fn group_reweight(
        &mut self,
        cpu: Cpu,
        task: TaskId,
        change: impl FnOnce(&mut FairRq, &mut Entities, u64) -> Resched,
    ) -> Resched {
        let (now, avg) = (self.clock_task(cpu), self.tasks[task].avg);
        let (resched, avg) = self.on_groups(cpu, |rq, es| {
            grouped(rq).hierarchy_mut().lend(avg);
            let resched = change(rq, es, now);
            (resched, grouped(rq).hierarchy_mut().take_back())
        });
        self.tasks[task].avg = avg;
        resched
    }

    /// `update_blocked_averages()`, with groups.
    #[cold]
    pub fn group_update_blocked(&mut self, cpu: Cpu) {
        self.on_groups(cpu, |rq, es| grouped(rq).hierarchy_mut().update_blocked_averages(es));
    }

    /// The averages of the run queue that a task of `cpu` is on.
    #[inline]
    pub fn cfs_rq_of<R>(&mut self, cpu: Cpu, task: TaskId, of: impl FnOnce(&mut CfsRqPelt, &mut Task) -> R) -> R {
        let group = self.es[task].group;
        let (c, task) = (&mut self.cpus[cpu], &mut self.tasks[task]);
        match &mut c.rq {
            FairRq::Groups(rq) if group != 0 => of(rq.hierarchy_mut().pelt(group), task),
            _ => of(&mut c.pelt, task),
        }
    }

    /// `task_h_load()`.
    #[inline]
    pub fn h_load(&mut self, task: TaskId) -> u64 {
        if self.task_groups.is_some() {
            return self.group_h_load(task);
        }
        let t = &self.tasks[task];
        task_h_load(&t.avg, &mut self.cpus[t.cpu].pelt, self.jiffies)
    }

    #[cold]
    fn group_h_load(&mut self, task: TaskId) -> u64 {
        let (cpu, jiffies, group) = (self.tasks[task].cpu, self.jiffies, self.es[task].group);
        self.on_groups(cpu, |rq, _| grouped(rq).hierarchy_mut().update_cfs_rq_h_load(group, jiffies));
        self.cfs_rq_of(cpu, task, |cfs_rq, task| task_h_load(&task.avg, cfs_rq, jiffies))
    }

    /// The same by the averages of this moment, not by those of the last jiffy.
    #[inline]
    pub fn h_load_now(&self, task: TaskId) -> u64 {
        let t = &self.tasks[task];
        let c = &self.cpus[t.cpu];
        match &c.rq {
            FairRq::Groups(rq) => rq.hierarchy().h_load_now(self.es[task].group, t.avg.load_avg, &c.pelt),
            // Without groups the share of the run queue's load is the task's own, but for rounding.
            _ => t.avg.load_avg,
        }
    }
}

/// A CPU's run queues, of a system with groups.
fn grouped(rq: &mut FairRq) -> &mut GroupedRq {
    match rq {
        FairRq::Groups(rq) => rq,
        _ => unreachable!("each CPU has the groups' run queues"),
    }
}
