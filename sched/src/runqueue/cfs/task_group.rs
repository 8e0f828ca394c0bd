//! Control groups of the CPU controller: one CPU's run queues of all groups (`kernel/sched/fair.c`, 5.10 to 6.1).
//!
//! ```text
//! rq->cfs ── task            each group has a cfs_rq on each CPU, and an entity that competes for it on the cfs_rq of
//!    │                       the group above; the weight of that is the group's share there (calc_group_shares())
//!    └────── group's entity ── its cfs_rq ── task
//!                                   └─────── entity of a group in it ── ...
//!
//! enqueue, dequeue, tick     go up from the task        for_each_sched_entity()
//! pick                       goes down from rq->cfs
//! wake-up preemption         compares the entities of one cfs_rq above both tasks     find_matching_se()
//! ```

use super::CfsRq;
use crate::pelt::{
    Above, CfsRqPelt, CfsRqState, EntityState, GroupPelt, PeltRules, SchedAvg, UpdateFlags, calc_group_shares,
    group_h_load, reweight_entity, update_load_avg,
};
use crate::runqueue::{DequeueFlags, EnqueueFlags, Entities, Entity, Hrtick, LoadWeight, Policy, Prev, Switch, TaskId};
use crate::select::WakeFlags;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// A group of tasks, on all CPUs (`struct task_group`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The group that it is in; 0 is the root. Groups are numbered from 1, those above before those in them.
    pub parent: u32,
    /// Its weight, of full resolution: 2 << 10 to 1 << 28 (`tg->shares`).
    pub shares: u64,
    /// `cpu.idle`: against the others of its parent it is as a task of policy `SCHED_IDLE`.
    pub idle: bool,
}

/// A group on one CPU (`tg->cfs_rq[cpu]` with `tg->se[cpu]`).
#[derive(Clone, Debug)]
struct OnCpu {
    rq: CfsRq,
    group: TaskGroup,
    /// `se->depth` of the entities on its run queue.
    depth: u32,
    /// The entity that stands for it. The root has none.
    se: TaskId,
    pelt: GroupPelt,
    /// `h_nr_running`: queued tasks here and in the groups below.
    h_nr_running: u32,
    /// `idle_h_nr_running`.
    idle_h_nr_running: u32,
}

/// A buddy of a run queue: `cfs_rq->next`, `last` or `skip`.
type Buddy = fn(&mut CfsRq) -> &mut Option<TaskId>;

/// One CPU's run queues of all groups. It does what [`CfsRq`] does, for a task of any group
/// ([`Entity::group`](crate::runqueue::Entity)).
#[derive(Clone, Debug)]
pub struct GroupedCfsRq {
    /// The root, then the groups by number.
    groups: Vec<OnCpu>,
    curr: Option<TaskId>,
    /// By group: the load of all CPUs, while an operation is under way (`tg->load_avg`).
    load_avg: Vec<i64>,
    /// PELT's clock, ns.
    clock_pelt: u64,
    /// The root's averages have changed.
    changed: bool,
}

impl GroupedCfsRq {
    /// The run queues of an idle CPU, whose root is `rq`. Adds the groups' entities.
    ///
    /// # Panics
    /// If a group's parent does not come before it.
    pub fn new(rq: &CfsRq, groups: &[TaskGroup], pelt: PeltRules, es: &mut Entities) -> Self {
        let root = TaskGroup { parent: 0, shares: 1 << 20, idle: false };
        let mut on_cpu: Vec<OnCpu> = Vec::with_capacity(groups.len() + 1);
        for (number, group) in (0..).zip([root].iter().chain(groups)) {
            assert!(number == 0 || group.parent < number, "group {number} comes before the group that it is in");
            let depth = if number == 0 { 0 } else { on_cpu[group.parent as usize].depth + 1 };
            let mut se = Entity::new(if group.idle { Policy::Idle } else { Policy::Normal }, 0, 0);
            // init_tg_cfs_entry(): "guarantee group entities always have weight"
            se.set_full_weight(u64::from(LoadWeight::of(Policy::Normal, 0).weight) << 10);
            (se.group, se.my_q) = (group.parent, number);
            let se = if number == 0 { TaskId(u32::MAX) } else { es.push(se) };
            let (rq, pelt) = (rq.clone(), GroupPelt::new(pelt));
            on_cpu.push(OnCpu { rq, group: *group, depth, se, pelt, h_nr_running: 0, idle_h_nr_running: 0 });
        }
        GroupedCfsRq { groups: on_cpu, curr: None, load_avg: Vec::new(), clock_pelt: 0, changed: false }
    }

    /// Begins an operation: lends it the root's averages, the groups' loads of all CPUs, by number from 0, and PELT's
    /// clock, ns.
    pub fn enter(&mut self, root: CfsRqPelt, load_avg: Vec<i64>, clock_pelt: u64) {
        self.groups[0].pelt.cfs_rq = root;
        (self.load_avg, self.clock_pelt, self.changed) = (load_avg, clock_pelt, false);
    }

    /// Ends an operation: gives back what it was lent, and whether the root's averages changed
    /// (`cfs_rq_util_change()`).
    pub fn leave(&mut self) -> (CfsRqPelt, Vec<i64>, bool) {
        (self.groups[0].pelt.cfs_rq, std::mem::take(&mut self.load_avg), self.changed)
    }

    /// The running task; `None` if the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.curr
    }

    /// The queued tasks of all groups (`rq->cfs.h_nr_running`).
    pub fn nr_queued(&self) -> u32 {
        self.groups[0].h_nr_running
    }

    /// Those of policy `SCHED_IDLE`, or in a group with `cpu.idle` (`rq->cfs.idle_h_nr_running`).
    pub fn nr_idle(&self) -> u32 {
        self.groups[0].idle_h_nr_running
    }

    /// Whether a task is a buddy on its group's run queue.
    pub fn is_buddy(&self, es: &Entities, task: TaskId) -> bool {
        let rq = self.rq_of(es, task);
        [rq.next, rq.last].contains(&Some(task))
    }

    /// The run queue that an entity is on (`cfs_rq_of()`).
    fn rq_of(&self, es: &Entities, se: TaskId) -> &CfsRq {
        &self.groups[es[se].group as usize].rq
    }

    fn rq_mut(&mut self, es: &Entities, se: TaskId) -> &mut CfsRq {
        &mut self.groups[es[se].group as usize].rq
    }

    /// `parent_entity()`.
    fn parent_entity(&self, es: &Entities, se: TaskId) -> Option<TaskId> {
        let group = es[se].group;
        (group != 0).then(|| self.groups[group as usize].se)
    }

    /// The weight, the number of tasks and the current task of a group's run queue (0: the root's).
    pub fn state(&self, group: u32) -> CfsRqState {
        let of = &self.groups[group as usize];
        CfsRqState { weight: scale_load_down(of.rq.load), h_nr_runnable: of.h_nr_running, curr: of.rq.curr.is_some() }
    }

    /// `update_load_avg()` of a group's entity, with UPDATE_TG.
    fn update_load_avg(&mut self, es: &Entities, group: u32, attach: bool) {
        let (se, above) = (self.groups[group as usize].se, self.groups[group as usize].group.parent);
        let (weight, on_rq) = (u64::from(es[se].load.weight), es[se].on_rq);
        let (state, now) = (self.state(above), self.clock_pelt);
        let own_weight = self.state(group).weight;
        let (lower, upper) = self.groups.split_at_mut(group as usize);
        let (above_on_cpu, own) = (&mut lower[above as usize], &mut upper[0]);
        own.pelt.update_se(now, weight, on_rq, above_on_cpu.rq.curr == Some(se));
        let mut changed = above_on_cpu.pelt.update_cfs_rq_load_avg(now, &state);
        let GroupPelt { cfs_rq, propagate, .. } = &mut above_on_cpu.pelt;
        let mut up = Above { cfs_rq, propagate: (above != 0).then_some(propagate) };
        changed |= own.pelt.propagate_entity_load_avg(&mut up, weight, own_weight);
        if attach && own.pelt.se.last_update_time == 0 {
            own.pelt.attach_se(&mut up, weight);
            changed = true;
        }
        match above {
            0 => self.changed |= changed,
            _ if changed => above_on_cpu.pelt.update_tg_load_avg(&mut self.load_avg[above as usize]),
            _ => {}
        }
    }

    /// `se_update_runnable()` and `update_cfs_group()` of a group's entity, with `reweight_entity()`.
    fn update_cfs_group(&mut self, es: &mut Entities, now: u64, group: u32) {
        let own = &mut self.groups[group as usize];
        let (weight, load_avg) = (scale_load_down(own.rq.load), own.pelt.cfs_rq.avg.load_avg);
        let (tg_load_avg, contrib) = (self.load_avg[group as usize], own.pelt.tg_load_avg_contrib);
        let shares = calc_group_shares(own.group.shares, weight, load_avg, tg_load_avg, contrib);
        let (se, above) = (own.se, own.group.parent);
        let (lower, upper) = self.groups.split_at_mut(group as usize);
        let (rq, pelt) = (&mut lower[above as usize].rq, &mut lower[above as usize].pelt.cfs_rq);
        if es[se].on_rq {
            // "commit outstanding execution time"
            if rq.curr == Some(se) {
                rq.update_curr(es, now);
            }
            rq.load -= es[se].full_weight();
        }
        let old = u64::from(es[se].load.weight);
        es[se].set_full_weight(shares);
        reweight_entity(pelt, &mut upper[0].pelt.se, old, u64::from(es[se].load.weight));
        if es[se].on_rq {
            rq.load += es[se].full_weight();
        }
    }

    fn se_update_runnable(&mut self, group: u32) {
        let own = &mut self.groups[group as usize];
        own.pelt.runnable_weight = u64::from(own.h_nr_running);
    }

    /// Puts a task on its group's run queue, and the groups' entities on those above (`enqueue_task_fair()`).
    pub fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, mut flags: EnqueueFlags) {
        let mut idle = u32::from(es[task].is_idle());
        let mut next = Some(task);
        while let Some(se) = next {
            let my_q = es[se].my_q;
            let joins = !es[se].on_rq;
            if my_q != 0 {
                if joins {
                    self.rq_mut(es, se).update_curr(es, now);
                }
                self.update_load_avg(es, my_q, joins);
                self.se_update_runnable(my_q);
                self.update_cfs_group(es, now, my_q);
            }
            let of = &mut self.groups[es[se].group as usize];
            if joins {
                of.rq.enqueue_task(es, now, se, flags);
                flags = EnqueueFlags::WAKEUP;
            }
            of.h_nr_running += 1;
            of.idle_h_nr_running += idle;
            idle |= u32::from(of.group.idle);
            next = self.parent_entity(es, se);
        }
    }

    /// Takes a task off its group's run queue, and the entities of groups that are empty then off those above
    /// (`dequeue_task_fair()`).
    pub fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, mut flags: DequeueFlags) {
        let sleeps = flags.contains(DequeueFlags::SLEEP);
        let mut idle = u32::from(es[task].is_idle());
        let (mut next, mut leaves) = (Some(task), true);
        while let Some(se) = next {
            let my_q = es[se].my_q;
            if my_q != 0 {
                if leaves {
                    self.rq_mut(es, se).update_curr(es, now);
                }
                self.update_load_avg(es, my_q, false);
                self.se_update_runnable(my_q);
            }
            if leaves {
                self.clear_buddies(es, se);
                self.rq_mut(es, se).dequeue_task(es, now, se, flags);
                flags |= DequeueFlags::SLEEP;
            }
            if my_q != 0 {
                self.update_cfs_group(es, now, my_q);
            }
            let of = &mut self.groups[es[se].group as usize];
            of.h_nr_running -= 1;
            of.idle_h_nr_running -= idle;
            idle |= u32::from(of.group.idle);
            let others = of.rq.load != 0;
            next = self.parent_entity(es, se);
            if leaves && others {
                leaves = false;
                // "Bias pick_next to pick a task from this cfs_rq."
                if let Some(parent) = next.filter(|_| sleeps) {
                    self.set_next_buddy(es, parent);
                }
            }
        }
    }

    /// Takes the running task off if it blocks or exits, and gives the CPU to the task that should have it
    /// (`__schedule()`, `pick_next_task_fair()`).
    pub fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        self.try_to_block_task(es, now, prev);
        let next = self.pick_task_fair(es, now);
        if next != self.curr {
            self.switch(es, now, next);
        }
        Switch { next, reaped: SmallVec::new() }
    }

    /// Takes the running task off if it blocks or exits (`__schedule()`; since 6.13 `try_to_block_task()`).
    fn try_to_block_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        if let Some(curr) = self.curr.filter(|_| prev != Prev::Runs) {
            self.dequeue_task(es, now, curr, DequeueFlags::SLEEP);
        }
    }

    /// A higher class takes the CPU (`put_prev_task_fair()`).
    pub fn put_prev_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        self.try_to_block_task(es, now, prev);
        if self.curr.is_some() {
            self.switch(es, now, None);
        }
    }

    fn pick_task_fair(&mut self, es: &mut Entities, now: u64) -> Option<TaskId> {
        let mut group = 0;
        loop {
            let rq = &mut self.groups[group as usize].rq;
            let curr = rq.queued_curr(es);
            if curr.is_some() {
                rq.update_curr(es, now);
            }
            let se = rq.pick_next_entity(es, curr)?;
            if rq.rules.pick_clears_buddies {
                self.clear_buddies(es, se);
            }
            group = match es[se].my_q {
                0 => return Some(se),
                my_q => my_q,
            };
        }
    }

    /// Gives the CPU to another task: "only change the part that actually changes" (`pick_next_task_fair()`).
    fn switch(&mut self, es: &mut Entities, now: u64, next: Option<TaskId>) {
        let (mut pse, mut se) = (self.curr, next);
        if let (None, Some(next)) = (pse, next) {
            // From idle it goes down from the root ("simple").
            let chain: SmallVec<[TaskId; 8]> =
                std::iter::successors(Some(next), |&se| self.parent_entity(es, se)).collect();
            chain.iter().rev().for_each(|&se| self.set_next_entity(es, now, se));
            self.curr = Some(next);
            return;
        }
        loop {
            let depth = |rqs: &Self, se: Option<TaskId>| se.map(|se| rqs.groups[es[se].group as usize].depth);
            let (pse_depth, se_depth) = (depth(self, pse), depth(self, se));
            let of = |se: Option<TaskId>| se.map(|se| es[se].group);
            let matches = of(pse) == of(se);
            // None, above the root's, is less than any depth.
            if let Some(put) = pse.filter(|_| matches || pse_depth >= se_depth) {
                self.put_prev_entity(es, now, put);
                pse = self.parent_entity(es, put);
            }
            if let Some(set) = se.filter(|_| matches || se_depth >= pse_depth) {
                self.set_next_entity(es, now, set);
                se = self.parent_entity(es, set);
            }
            if matches {
                break;
            }
        }
        self.curr = next;
    }

    fn put_prev_entity(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        if es[se].my_q != 0 && es[se].on_rq {
            self.update_load_avg(es, es[se].my_q, false);
        }
        self.rq_mut(es, se).put_prev_entity(es, now);
    }

    fn set_next_entity(&mut self, es: &mut Entities, now: u64, se: TaskId) {
        if !self.groups[0].rq.rules.pick_clears_buddies {
            self.clear_buddies(es, se);
        }
        if es[se].my_q != 0 && es[se].on_rq {
            self.update_load_avg(es, es[se].my_q, false);
        }
        self.rq_mut(es, se).set_next_entity(es, now, se);
    }

    /// Removes an entity from the buddies, and the groups that are there for it (`clear_buddies()`).
    fn clear_buddies(&mut self, es: &Entities, se: TaskId) {
        let kinds: [Buddy; 3] = [|rq| &mut rq.next, |rq| &mut rq.last, |rq| &mut rq.skip];
        for kind in kinds {
            let mut up = Some(se);
            while let Some(se) = up {
                let buddy = kind(self.rq_mut(es, se));
                if *buddy != Some(se) {
                    break;
                }
                *buddy = None;
                up = self.parent_entity(es, se);
            }
        }
    }

    /// `set_next_buddy()`: up to the first entity that is not queued, or is idle.
    fn set_next_buddy(&mut self, es: &Entities, se: TaskId) {
        self.set_buddy(es, se, |rq| &mut rq.next);
    }

    fn set_buddy(&mut self, es: &Entities, se: TaskId, kind: Buddy) {
        let mut up = Some(se);
        while let Some(se) = up.filter(|&se| es[se].on_rq && !es[se].is_idle()) {
            *kind(self.rq_mut(es, se)) = Some(se);
            up = self.parent_entity(es, se);
        }
    }

    /// The entities of both that are on one run queue (`find_matching_se()`).
    fn find_matching_se(&self, es: &Entities, mut se: TaskId, mut pse: TaskId) -> (TaskId, TaskId) {
        let depth = |se: TaskId| self.groups[es[se].group as usize].depth;
        let up = |se: TaskId| self.parent_entity(es, se).expect("the root's run queue has all groups above its own");
        while es[se].group != es[pse].group {
            let (se_depth, pse_depth) = (depth(se), depth(pse));
            if se_depth >= pse_depth {
                se = up(se);
            }
            if pse_depth >= se_depth {
                pse = up(pse);
            }
        }
        (se, pse)
    }

    /// Whether `task`, which was enqueued, requests a reschedule (`check_preempt_wakeup()`, 5.10 and 6.1).
    pub fn check_preempt_wakeup(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> bool {
        let Some(curr) = self.curr else { return true };
        if curr == task {
            return false;
        }
        let params = self.groups[0].rq.params.clone();
        let scale = self.rq_of(es, curr).nr_queued >= params.nr_latency;
        if params.next_buddy && scale && !flags.contains(WakeFlags::FORK) {
            self.set_next_buddy(es, task);
        }
        if need_resched {
            return false;
        }
        let mut se = curr;
        if !es[curr].is_idle() || es[task].is_idle() {
            if es[task].policy != Policy::Normal || !params.wakeup_preemption {
                return false;
            }
            let pse;
            (se, pse) = self.find_matching_se(es, curr, task);
            let (cse_is_idle, pse_is_idle) = (es[se].is_idle(), es[pse].is_idle());
            if !cse_is_idle && pse_is_idle {
                return false;
            }
            if cse_is_idle == pse_is_idle {
                let rq = self.rq_mut(es, se);
                rq.update_curr(es, now);
                if rq.wakeup_preempt_entity(es, se, pse) != Ordering::Greater {
                    return false;
                }
                if params.next_marker {
                    self.set_next_buddy(es, pse);
                }
            }
        }
        if params.last_buddy && scale && es[se].my_q == 0 {
            self.set_buddy(es, se, |rq| &mut rq.last);
        }
        true
    }

    /// The task's part of the period, through all groups, ns (`sched_slice()`).
    pub fn sched_slice(&self, es: &Entities, se: TaskId) -> u64 {
        let root = &self.groups[0];
        let nr = if root.rq.params.alt_period { root.h_nr_running } else { self.rq_of(es, se).nr_queued };
        let mut slice = root.rq.sched_period(nr + u32::from(!es[se].on_rq));
        let mut up = Some(se);
        while let Some(se) = up {
            slice = self.rq_of(es, se).share_of(&es[se], slice);
            up = self.parent_entity(es, se);
        }
        // The idle least is that of an entity beside others on its own run queue.
        self.rq_of(es, se).at_least_min_granularity(&es[se], slice)
    }

    /// Handles the tick, or, if the slice is over (`queued`), the hrtick (`task_tick_fair()`). `checks`: looks for
    /// preemption. Returns whether to reschedule.
    pub fn task_tick(&mut self, es: &mut Entities, now: u64, checks: bool) -> bool {
        let (mut up, mut resched) = (self.curr, false);
        while let Some(se) = up {
            self.rq_mut(es, se).update_curr(es, now);
            let my_q = es[se].my_q;
            if my_q != 0 {
                self.update_load_avg(es, my_q, false);
                self.update_cfs_group(es, now, my_q);
            }
            if checks && self.rq_of(es, se).nr_queued > 1 {
                let ideal_runtime = self.sched_slice(es, se);
                let (preempts, ran_long) = self.rq_of(es, se).check_preempt_tick(es, se, ideal_runtime);
                if ran_long {
                    self.clear_buddies(es, se);
                }
                resched |= preempts;
            }
            up = self.parent_entity(es, se);
        }
        resched
    }

    /// The running task's hrtick (`hrtick_start_fair()`).
    pub fn hrtick(&self, es: &Entities) -> Hrtick {
        let on = self.groups[0].rq.params.hrtick && self.nr_queued() > 1;
        let Some(curr) = self.curr.filter(|_| on) else { return Hrtick::Off };
        let ran = es[curr].sum_exec_runtime - es[curr].prev_sum_exec_runtime;
        self.sched_slice(es, curr).checked_sub(ran).map_or(Hrtick::Over, Hrtick::start)
    }

    /// Sets the first vruntime of a new task, on the run queue of the running task's group (`task_fork_fair()`).
    pub fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) {
        let rq = self.rq_mut(es, task);
        if let Some(curr) = rq.curr {
            rq.update_curr(es, now);
            es[task].vruntime = es[curr].vruntime;
        }
        let vslice = es[task].calc_delta_fair(self.sched_slice(es, task));
        let rq = self.rq_of(es, task);
        rq.place(es, now, task, Some(vslice));
        es[task].vruntime = es[task].vruntime.wrapping_sub(rq.min_vruntime);
    }

    /// A task wakes on another CPU (`migrate_task_rq_fair()`).
    pub fn migrate_task_rq(&self, es: &mut Entities, task: TaskId) {
        let rq = self.rq_of(es, task);
        rq.migrate_task_rq(&mut es[task]);
    }

    /// The running task yields (`yield_task_fair()`).
    pub fn yield_task(&mut self, es: &mut Entities, now: u64) {
        let Some(curr) = self.curr.filter(|_| self.nr_queued() != 1) else { return };
        self.clear_buddies(es, curr);
        if es[curr].policy != Policy::Batch {
            self.rq_mut(es, curr).update_curr(es, now);
        }
        let mut up = Some(curr);
        while let Some(se) = up {
            self.rq_mut(es, se).skip = Some(se);
            up = self.parent_entity(es, se);
        }
    }

    /// Takes a task off its run queue and the CPU while `change` is applied to its nice value or policy
    /// (`set_user_nice()`, `__sched_setscheduler()`).
    pub fn sched_change(&mut self, es: &mut Entities, now: u64, task: TaskId, change: impl FnOnce(&mut Entity)) {
        let (queued, running) = (es[task].on_rq, self.curr == Some(task));
        if queued {
            self.dequeue_task(es, now, task, DequeueFlags::SAVE);
        }
        if running {
            self.switch(es, now, None);
        }
        change(&mut es[task]);
        es[task].load = LoadWeight::of(es[task].policy, es[task].nice);
        if queued {
            self.enqueue_task(es, now, task, EnqueueFlags::empty());
        }
        if running {
            self.switch(es, now, Some(task));
        }
    }

    /// Changes a task's nice value (`set_user_nice()`). Returns whether to reschedule.
    pub fn set_user_nice(&mut self, es: &mut Entities, now: u64, task: TaskId, nice: i8, need_resched: bool) -> bool {
        let old_nice = es[task].nice;
        if nice == old_nice {
            return false;
        }
        self.sched_change(es, now, task, |e| e.nice = nice);
        if !es[task].on_rq || self.groups[0].rq.nr_queued == 1 {
            return false;
        }
        if self.curr == Some(task) {
            nice > old_nice
        } else {
            self.check_preempt_wakeup(es, now, task, WakeFlags::empty(), need_resched)
        }
    }

    /// `update_load_avg()` of a task whose averages are `avg`. `waited`: it has been given the CPU, and nothing of its
    /// group ran up to now (`set_next_entity()`).
    pub fn update_task_load_avg(
        &mut self,
        es: &Entities,
        task: TaskId,
        avg: &mut SchedAvg,
        flags: UpdateFlags,
        waited: bool,
    ) {
        let (e, group) = (&es[task], es[task].group);
        let (weight, curr) = (u64::from(e.load.weight), !waited && self.rq_of(es, task).curr == Some(task));
        let entity = EntityState { weight, on_rq: e.on_rq, sched_delayed: false, curr };
        let (state, now) = (self.state(group), self.clock_pelt);
        let state = CfsRqState { curr: state.curr && !waited, ..state };
        let pelt = &mut self.groups[group as usize].pelt;
        if group == 0 {
            self.changed |= update_load_avg(&mut pelt.cfs_rq, &state, avg, &entity, now, flags);
        } else {
            pelt.update_load_avg(&state, avg, &entity, now, flags, &mut self.load_avg[group as usize]);
        }
    }

    /// The averages of a group's run queue (0: the root's, within an operation).
    pub fn pelt(&mut self, group: u32) -> &mut CfsRqPelt {
        &mut self.groups[group as usize].pelt.cfs_rq
    }

    /// `update_blocked_averages()`: ages all run queues, those below before those above.
    pub fn update_blocked_averages(&mut self, es: &Entities) {
        for group in (1..self.groups.len() as u32).rev() {
            let (state, now) = (self.state(group), self.clock_pelt);
            let own = &mut self.groups[group as usize];
            if own.pelt.update_cfs_rq_load_avg(now, &state) {
                own.pelt.update_tg_load_avg(&mut self.load_avg[group as usize]);
            }
            if !own.pelt.skip_blocked_update() {
                self.update_load_avg(es, group, false);
            }
        }
        let (state, now) = (self.state(0), self.clock_pelt);
        self.changed |= self.groups[0].pelt.update_cfs_rq_load_avg(now, &state);
    }

    /// Brings the `h_load` of a group and of those above up to date, once a jiffy (`update_cfs_rq_h_load()`).
    pub fn update_cfs_rq_h_load(&mut self, group: u32, jiffies: u64) {
        if self.groups[group as usize].pelt.cfs_rq.last_h_load_update == jiffies {
            return;
        }
        let h_load = if group == 0 {
            self.groups[0].pelt.cfs_rq.avg.load_avg
        } else {
            let above = self.groups[group as usize].group.parent;
            self.update_cfs_rq_h_load(above, jiffies);
            let cfs_rq = &self.groups[above as usize].pelt.cfs_rq;
            group_h_load(cfs_rq.h_load, self.groups[group as usize].pelt.se.load_avg, cfs_rq.avg.load_avg)
        };
        let cfs_rq = &mut self.groups[group as usize].pelt.cfs_rq;
        (cfs_rq.h_load, cfs_rq.last_h_load_update) = (h_load, jiffies);
    }

    /// The load of a task of a group whose `load_avg` is this, by the averages of this moment; `root` are the root's.
    pub fn h_load_now(&self, group: u32, load_avg: u64, root: &CfsRqPelt) -> u64 {
        let (mut group, mut load) = (group, load_avg);
        while group != 0 {
            let of = &self.groups[group as usize];
            // What of the group's entity the task is, and so of the run queue above.
            load = group_h_load(load, of.pelt.se.load_avg, of.pelt.cfs_rq.avg.load_avg);
            group = of.group.parent;
        }
        load.wrapping_mul(root.avg.load_avg) / root.avg.load_avg.wrapping_add(1)
    }

    /// Whether so many tasks are on the running task's own run queue that the hrtick is not restarted
    /// (`hrtick_update()`).
    pub fn hrtick_update_restarts(&self, es: &Entities) -> bool {
        self.curr.is_some_and(|curr| self.rq_of(es, curr).nr_queued < self.groups[0].rq.params.nr_latency)
    }

    /// `DOUBLE_TICK`.
    pub fn double_tick(&self) -> bool {
        self.groups[0].rq.params.double_tick
    }

    /// Checks all run queues against the entities, and the counts of each group against those below.
    ///
    /// # Errors
    /// Describes the first invariant that does not hold.
    pub fn validate(&self, es: &Entities) -> Result<(), String> {
        let mut below = vec![0; self.groups.len()];
        for (number, of) in self.groups.iter().enumerate().rev() {
            of.rq.validate(es).map_err(|what| format!("group {number}: {what}"))?;
            let groups = self.groups.iter().skip(1).filter(|other| other.group.parent as usize == number);
            let queued = groups.filter(|other| es[other.se].on_rq).count() as u32;
            let expected = of.rq.nr_queued - queued + below[number];
            if of.h_nr_running != expected {
                return Err(format!("group {number}: h_nr_running is {}, not {expected}", of.h_nr_running));
            }
            if number != 0 {
                below[of.group.parent as usize] += of.h_nr_running;
                if es[of.se].on_rq != (of.h_nr_running != 0) {
                    return Err(format!("group {number}: {} tasks, on_rq {}", of.h_nr_running, es[of.se].on_rq));
                }
            }
        }
        Ok(())
    }
}

/// `scale_load_down()` of a weight of full resolution.
fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 { 0 } else { (weight >> 10).max(2) }
}
