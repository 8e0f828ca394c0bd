//! Control groups of the CPU controller: the part of all groups on one CPU, whatever the class of its run queues
//! (`kernel/sched/fair.c`, 5.10 to 7.3).
//!
//! ```text
//! rq->cfs ── task            each group has a cfs_rq on each CPU and an entity that stands for it on the cfs_rq of the
//!    │                       group above; the weight of that is the group's share there (calc_group_shares())
//!    └────── group's entity ── its cfs_rq ── task
//!                                   └─────── entity of a group in it ── ...
//!
//! enqueue, dequeue, tick     go up from the task        for_each_sched_entity()
//! wake-up preemption         compares the entities of one cfs_rq above both tasks     find_matching_se()
//! ```
//!
//! [`Hierarchy`] has the counts, the weights and the averages. The queues are those of [`GroupedCfsRq`] and
//! [`GroupedEevdfRq`], one for each group, up to 7.2; 7.3 has one for all ([`FlatEevdfRq`]).

use super::cfs::GroupedCfsRq;
use super::cfs_bandwidth::{Asks, CfsBandwidth, CfsRqBandwidth, Quota, Throttles};
use super::eevdf::{EevdfRq, FlatEevdfRq, GroupedEevdfRq};
use super::{
    DequeueFlags, Dequeued, EnqueueFlags, Entities, Entity, FairRq, Hrtick, LoadWeight, Policy, Preempted, Prev,
    Resched, Switch, TaskId, Tick,
};
use crate::pelt::{
    __update_load_avg_se, Above, CfsRqPelt, CfsRqState, EntityState, GroupPelt, PeltRules, SchedAvg, TgLoad,
    UpdateFlags, calc_group_shares, group_h_load, retake_load_avg, reweight_entity, update_load_avg,
};
use crate::select::WakeFlags;
use smallvec::SmallVec;
use wakelab_kernel::{GroupRules, GroupShares, ThrottleForm};

/// A group of tasks, on all CPUs (`struct task_group`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The group that it is in; 0 is the root. Groups are numbered from 1, those above before those in them.
    pub parent: u32,
    /// Its weight, of full resolution: 2 << 10 to 1 << 28 (`tg->shares`).
    pub shares: u64,
    /// `cpu.idle`: against the others of its parent it is as a task of policy `SCHED_IDLE`.
    pub idle: bool,
    /// `cpu.max`, if it is limited.
    pub quota: Option<Quota>,
    /// The CPUs of its cpuset, at least 1 (`tg_cpus()`, read since 7.3).
    pub nr_cpus: u32,
}

/// The parameters of groups that all CPUs share.
#[derive(Clone, Copy, Debug)]
pub struct GroupParams {
    /// The version's form.
    pub rules: GroupRules,
    /// The version's averages.
    pub pelt: PeltRules,
}

/// The state of a group that the CPUs share, lent to a CPU's run queues for an operation.
#[derive(Clone, Debug, Default)]
pub struct TgShared {
    /// The sums of the CPUs' averages.
    pub load: TgLoad,
    /// The state of its quota.
    pub bandwidth: CfsBandwidth,
}

/// The CPU's clocks at an operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    /// `rq_clock_pelt()`, ns.
    pub pelt: u64,
    /// `rq_clock()`, ns.
    pub clock: u64,
    /// `rq_clock_task()`, ns.
    pub task: u64,
}

/// A group on one CPU (`tg->cfs_rq[cpu]` with `tg->se[cpu]`).
#[derive(Clone, Debug)]
pub(super) struct OnCpu {
    pub(super) group: TaskGroup,
    /// `se->depth` of the entities on its run queue.
    pub(super) depth: u32,
    /// The entity that stands for it. The root has none.
    pub(super) se: TaskId,
    pub(super) pelt: GroupPelt,
    /// The entity on its run queue that runs (`cfs_rq->curr`, in 7.3 `h_curr`).
    pub(super) curr: Option<TaskId>,
    /// `load.weight` of the run queue, of full resolution.
    pub(super) load: u64,
    /// `nr_queued`, before 6.18 `nr_running`: the entities on its run queue.
    pub(super) nr_queued: u32,
    pub(super) nr: Counts,
    pub(super) bandwidth: CfsRqBandwidth,
}

/// Tasks of a group and of the groups in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// `h_nr_queued`, before 6.12 `h_nr_running`.
    pub(super) queued: i32,
    /// `h_nr_runnable`: all but the delayed ones.
    pub(super) runnable: i32,
    /// `h_nr_idle`, before 6.18 `idle_h_nr_running`.
    pub(super) idle: i32,
}

impl Counts {
    /// Those of one task that comes, if `by` is 1, or leaves, if it is -1.
    pub(super) fn of(by: i32, runnable: bool, idle: bool) -> Self {
        Counts { queued: by, runnable: by * i32::from(runnable), idle: by * i32::from(idle) }
    }

    pub(super) fn add(&mut self, other: Counts) {
        self.queued += other.queued;
        self.runnable += other.runnable;
        self.idle += other.idle;
    }
}

/// All groups on one CPU.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    /// The root, then the groups by number.
    pub(super) of: Vec<OnCpu>,
    /// The CPU's number.
    pub(super) cpu: u32,
    /// The running task; `None` if the CPU is idle or runs a task of another class.
    pub(super) curr: Option<TaskId>,
    pub(super) params: GroupParams,
    /// By group, the root's unused: lent while an operation is under way.
    pub(super) shared: Vec<TgShared>,
    pub(super) clocks: Clocks,
    /// The root's averages have changed.
    changed: bool,
    /// The averages of a task whose weight changes, lent while that operation is under way.
    changing: Option<SchedAvg>,
    /// Any group has a quota.
    pub(super) bandwidth_used: bool,
    /// The queued tasks of all groups.
    pub(super) nr_tasks: i32,
    /// The requests of the operation to the caller.
    pub(super) asks: Asks,
    /// `rq->cfsb_csd_list`: the groups that an interrupt is to unthrottle here.
    pub(super) csd_list: Vec<u32>,
}

impl Hierarchy {
    /// The groups on an idle CPU. Adds their entities.
    ///
    /// # Panics
    /// If a group's parent does not come before it.
    pub(super) fn new(cpu: u32, groups: &[TaskGroup], params: GroupParams, es: &mut Entities) -> Self {
        let root = TaskGroup { parent: 0, shares: 1 << 20, idle: false, quota: None, nr_cpus: 1 };
        let mut of: Vec<OnCpu> = Vec::with_capacity(groups.len() + 1);
        for (number, group) in (0..).zip([root].iter().chain(groups)) {
            assert!(number == 0 || group.parent < number, "group {number} comes before the group that it is in");
            let depth = if number == 0 { 0 } else { of[group.parent as usize].depth + 1 };
            let mut se = Entity::new(if group.idle { Policy::Idle } else { Policy::Normal }, 0, 0);
            // init_tg_cfs_entry(): "guarantee group entities always have weight"
            let weight = u64::from(LoadWeight::of(Policy::Normal, 0).weight) << 10;
            se.set_full_weight(weight);
            se.set_full_h_weight(weight);
            (se.group, se.my_q) = (group.parent, number);
            let se = if number == 0 { TaskId(u32::MAX) } else { es.push(se) };
            let pelt = GroupPelt::new(params.pelt);
            let (nr, mut bandwidth) = (Counts::default(), CfsRqBandwidth::default());
            bandwidth.enabled = group.quota.is_some();
            of.push(OnCpu { group: *group, depth, se, pelt, curr: None, load: 0, nr_queued: 0, nr, bandwidth });
        }
        Hierarchy {
            cpu,
            nr_tasks: 0,
            bandwidth_used: groups.iter().any(|group| group.quota.is_some()),
            of,
            curr: None,
            params,
            shared: Vec::new(),
            clocks: Clocks::default(),
            changed: false,
            changing: None,
            asks: Asks::default(),
            csd_list: Vec::new(),
        }
    }

    /// Begins an operation: lends it the root's averages, what the CPUs share of each group, by number from 0, and the
    /// CPU's clocks.
    pub fn enter(&mut self, root: CfsRqPelt, shared: Vec<TgShared>, clocks: Clocks) {
        self.of[0].pelt.cfs_rq = root;
        (self.shared, self.clocks, self.changed) = (shared, clocks, false);
    }

    /// Ends an operation: gives back what it was lent, and whether the root's averages changed
    /// (`cfs_rq_util_change()`).
    pub fn leave(&mut self) -> (CfsRqPelt, Vec<TgShared>, bool) {
        (self.of[0].pelt.cfs_rq, std::mem::take(&mut self.shared), self.changed)
    }

    /// Whether any group has a quota.
    pub fn has_bandwidth(&self) -> bool {
        self.bandwidth_used
    }

    /// Returns the requests to the caller of the operations since the last call.
    pub fn asks(&mut self) -> Asks {
        std::mem::take(&mut self.asks)
    }

    /// `parent_entity()`.
    pub(super) fn parent_entity(&self, es: &Entities, se: TaskId) -> Option<TaskId> {
        let group = es[se].group;
        (group != 0).then(|| self.of[group as usize].se)
    }

    /// The group on whose run queue an entity is (`cfs_rq_of()`).
    pub(super) fn cfs_rq_of(&mut self, es: &Entities, se: TaskId) -> &mut OnCpu {
        &mut self.of[es[se].group as usize]
    }

    /// `se->depth`.
    pub(super) fn depth(&self, es: &Entities, se: TaskId) -> u32 {
        self.of[es[se].group as usize].depth
    }

    /// The entities of both that are on one run queue (`find_matching_se()`).
    pub(super) fn find_matching_se(&self, es: &Entities, mut se: TaskId, mut pse: TaskId) -> (TaskId, TaskId) {
        let up = |se: TaskId| self.parent_entity(es, se).expect("the root's run queue has all groups above its own");
        while es[se].group != es[pse].group {
            let (se_depth, pse_depth) = (self.depth(es, se), self.depth(es, pse));
            if se_depth >= pse_depth {
                se = up(se);
            }
            if pse_depth >= se_depth {
                pse = up(pse);
            }
        }
        (se, pse)
    }

    /// The weight, the number of tasks and the current task of a group's run queue (0: the root's).
    pub fn state(&self, group: u32) -> CfsRqState {
        let of = &self.of[group as usize];
        CfsRqState { weight: scale_load_down(of.load), h_nr_runnable: of.nr.runnable as u32, curr: of.curr.is_some() }
    }

    /// PELT's clock of a group's run queue, ns (`cfs_rq_clock_pelt()`).
    pub(super) fn cfs_rq_clock_pelt(&self, group: u32) -> u64 {
        if !self.bandwidth_used {
            return self.clocks.pelt;
        }
        self.of[group as usize].bandwidth.clock_pelt(self.params.rules.throttle, self.clocks.pelt)
    }

    /// `update_tg_load_avg()`.
    fn update_tg_load_avg(&mut self, group: u32) {
        let GroupRules { tg_load_avg_limited, shares, .. } = self.params.rules;
        let (own, shared) = (&mut self.of[group as usize].pelt, &mut self.shared[group as usize].load);
        let now = tg_load_avg_limited.then_some(self.clocks.clock);
        own.update_tg_load_avg(shared, now, shares == GroupShares::Concur);
    }

    /// Subtracts the removed averages of a group's run queue and ages it (`update_cfs_rq_load_avg()`).
    fn update_cfs_rq_load_avg(&mut self, group: u32) -> bool {
        let (state, now) = (self.state(group), self.cfs_rq_clock_pelt(group));
        self.of[group as usize].pelt.update_cfs_rq_load_avg(now, &state)
    }

    /// What `update_load_avg()` does to the run queue of a task; the task's own averages are the caller's.
    pub(super) fn age(&mut self, group: u32) {
        match (group, self.update_cfs_rq_load_avg(group)) {
            (0, changed) => self.changed |= changed,
            (_, true) => self.update_tg_load_avg(group),
            (_, false) => {}
        }
    }

    /// The same where the group's load does not follow (`put_prev_entity()`).
    pub(super) fn age_only(&mut self, group: u32) {
        let changed = self.update_cfs_rq_load_avg(group);
        self.changed |= changed && group == 0;
    }

    /// What `put_prev_entity()` does besides the queue.
    pub(super) fn put_prev_entity(&mut self, es: &Entities, se: TaskId) {
        match es[se].my_q {
            _ if !es[se].on_rq => {}
            0 => self.age_only(es[se].group),
            my_q => self.update_load_avg(es, my_q, UpdateFlags::empty()),
        }
        self.cfs_rq_of(es, se).curr = None;
    }

    /// What `set_next_entity()` does besides the queue.
    pub(super) fn set_next_entity(&mut self, es: &Entities, se: TaskId) {
        match es[se].my_q {
            _ if !es[se].on_rq => {}
            0 => self.age(es[se].group),
            my_q => self.update_load_avg(es, my_q, UpdateFlags::UPDATE_TG),
        }
        self.cfs_rq_of(es, se).curr = Some(se);
    }

    /// `update_load_avg()` of a group's entity.
    pub(super) fn update_load_avg(&mut self, es: &Entities, group: u32, flags: UpdateFlags) {
        let (se, above) = (self.of[group as usize].se, self.of[group as usize].group.parent);
        let weight = u64::from(es[se].load.weight);
        let now = self.cfs_rq_clock_pelt(above);
        let entity = EntityState {
            weight,
            on_rq: es[se].on_rq,
            sched_delayed: es[se].sched_delayed,
            curr: self.of[above as usize].curr == Some(se),
        };
        let own_weight = self.state(group).weight;
        self.of[group as usize].pelt.update_se(now, &entity);
        let mut changed = self.update_cfs_rq_load_avg(above);
        let (lower, upper) = self.of.split_at_mut(group as usize);
        let (above_on_cpu, own) = (&mut lower[above as usize], &mut upper[0]);
        let GroupPelt { cfs_rq, propagate, .. } = &mut above_on_cpu.pelt;
        let mut up = Above { cfs_rq, propagate: (above != 0).then_some(propagate) };
        changed |= own.pelt.propagate_entity_load_avg(&mut up, weight, own_weight);
        let attach = flags.contains(UpdateFlags::DO_ATTACH) && own.pelt.se.last_update_time == 0;
        if attach {
            own.pelt.attach_se(&mut up, weight);
        }
        if above == 0 {
            self.changed |= changed | attach;
        } else if attach || (changed && flags.contains(UpdateFlags::UPDATE_TG)) {
            self.update_tg_load_avg(above);
        }
    }

    /// `se_update_runnable()`.
    pub(super) fn se_update_runnable(&mut self, group: u32) {
        let own = &mut self.of[group as usize];
        // An unsigned int: 7.3 takes it while a delayed task that leaves has been counted out twice, where it may wrap.
        own.pelt.runnable_weight = u64::from(own.nr.runnable as u32);
    }

    /// The weight that a group should have here, of full resolution (`calc_group_shares()`); `None` if it keeps the one
    /// that it has (`update_cfs_group()`).
    pub(super) fn calc_group_shares(&self, es: &Entities, group: u32) -> Option<u64> {
        let own = &self.of[group as usize];
        let rules = &self.params.rules;
        let stands = rules.throttle == ThrottleForm::Queues && own.bandwidth.throttle_count != 0;
        if (own.load == 0 && rules.empty_keeps_weight) || stands {
            return None;
        }
        let load = &self.shared[group as usize].load;
        let scale = match rules.shares {
            GroupShares::Smp => 1,
            GroupShares::Concur => load.tg_tasks().min(u64::from(own.group.nr_cpus)),
        };
        let shares = calc_group_shares(
            own.group.shares.wrapping_mul(scale),
            scale_load_down(own.load),
            own.pelt.cfs_rq.avg.load_avg,
            load.load_avg,
            own.pelt.tg_load_avg_contrib,
        );
        // CFS takes the averages anew even if the weight stays.
        let keeps = rules.reweight.skips_same() && es[own.se].full_weight() == shares;
        (!keeps).then_some(shares)
    }

    /// The part of `reweight_entity()` that all classes have: the weight itself, the run queue's and the averages.
    pub(super) fn reweight(&mut self, es: &mut Entities, group: u32, shares: u64) {
        let (se, above) = (self.of[group as usize].se, self.of[group as usize].group.parent);
        let (lower, upper) = self.of.split_at_mut(group as usize);
        let above = &mut lower[above as usize];
        let e = &mut es[se];
        if e.on_rq {
            above.load -= e.full_weight();
        }
        let old = u64::from(e.load.weight);
        e.set_full_weight(shares);
        retake_load_avg(&mut above.pelt.cfs_rq, &mut upper[0].pelt.se, old, u64::from(e.load.weight));
        if e.on_rq {
            above.load += e.full_weight();
        }
    }

    /// Adds an entity to its run queue's weight and count (`account_entity_enqueue()`).
    pub(super) fn account_entity_enqueue(&mut self, es: &Entities, se: TaskId) {
        self.nr_tasks += i32::from(es[se].my_q == 0);
        let of = self.cfs_rq_of(es, se);
        of.load += es[se].full_weight();
        of.nr_queued += 1;
    }

    /// Removes an entity from its run queue's weight and count (`account_entity_dequeue()`).
    pub(super) fn account_entity_dequeue(&mut self, es: &Entities, se: TaskId) {
        self.nr_tasks -= i32::from(es[se].my_q == 0);
        let of = self.cfs_rq_of(es, se);
        of.load -= es[se].full_weight();
        of.nr_queued -= 1;
    }

    /// Counts a task as runnable or not, in all groups above it (`set_delayed()`, `clear_delayed()`).
    pub(super) fn count_runnable(&mut self, es: &Entities, task: TaskId, by: i32) {
        let mut next = Some(task);
        while let Some(se) = next {
            self.cfs_rq_of(es, se).nr.runnable += by;
            next = self.parent_entity(es, se).filter(|_| !self.counts_end(es[se].group));
        }
    }

    /// Whether what comes to a group's queue, or leaves it, does not count above: it is throttled, and its entity is
    /// off the queue above ("end evaluation on encountering a throttled cfs_rq").
    #[inline]
    pub(super) fn counts_end(&self, group: u32) -> bool {
        self.bandwidth_used && self.form() == ThrottleForm::Queues && self.cfs_rq_throttled(group)
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
        let e = &es[task];
        // requeue_delayed_entity() of 7.3 takes the root's run queue for that of the task.
        let wakes_delayed = e.sched_delayed && flags.is_empty();
        let group = if self.params.rules.one_queue && wakes_delayed { 0 } else { e.group };
        let (state, now) = (self.state(group), self.cfs_rq_clock_pelt(group));
        let of = &mut self.of[group as usize];
        let entity = EntityState {
            weight: u64::from(e.load.weight),
            on_rq: e.on_rq,
            sched_delayed: e.sched_delayed,
            curr: !waited && of.curr == Some(task),
        };
        let state = CfsRqState { curr: state.curr && !waited, ..state };
        if group == 0 {
            self.changed |= update_load_avg(&mut of.pelt.cfs_rq, &state, avg, &entity, now, flags);
        } else if of.pelt.update_load_avg(&state, avg, &entity, now, flags) {
            self.update_tg_load_avg(group);
        }
    }

    /// `update_load_avg()` of a task of which the operation has aged the run queue already: one that has run up to now
    /// (`curr`), and waits, or one whose dequeue was delayed, and which has left meanwhile.
    pub fn age_task(&self, es: &Entities, task: TaskId, avg: &mut SchedAvg, curr: bool) {
        let weight = u64::from(es[task].load.weight);
        let entity = EntityState { weight, on_rq: true, sched_delayed: !curr, curr };
        if avg.last_update_time != 0 {
            __update_load_avg_se(self.cfs_rq_clock_pelt(es[task].group), avg, &entity);
        }
    }

    /// Lends the averages of a task for a change of its weight.
    pub fn lend(&mut self, avg: SchedAvg) {
        self.changing = Some(avg);
    }

    /// Takes back what [`lend`](Self::lend) lent.
    ///
    /// # Panics
    /// If nothing was lent.
    pub fn take_back(&mut self) -> SchedAvg {
        self.changing.take().expect("averages were lent")
    }

    /// The averages of a task that is not queued follow its new weight (`reweight_entity()`); it was `old`.
    pub(super) fn reweight_task(&mut self, es: &Entities, task: TaskId, old: u64) {
        let new = u64::from(es[task].load.weight);
        if let Some(avg) = &mut self.changing {
            reweight_entity(&mut self.of[es[task].group as usize].pelt.cfs_rq, avg, old, new);
        }
    }

    /// The averages of a group's run queue (0: the root's, within an operation).
    pub fn pelt(&mut self, group: u32) -> &mut CfsRqPelt {
        &mut self.of[group as usize].pelt.cfs_rq
    }

    /// `update_blocked_averages()`: ages all run queues, those below before those above.
    pub fn update_blocked_averages(&mut self, es: &Entities) {
        for group in (1..self.of.len() as u32).rev() {
            // A throttled queue is not among the leaves.
            let of = &self.of[group as usize];
            if self.bandwidth_used && of.bandwidth.throttle_count != 0 && !self.is_leaf(group) {
                continue;
            }
            if self.update_cfs_rq_load_avg(group) {
                self.update_tg_load_avg(group);
            }
            if !self.of[group as usize].pelt.skip_blocked_update() {
                self.update_load_avg(es, group, UpdateFlags::UPDATE_TG);
            }
        }
        self.changed |= self.update_cfs_rq_load_avg(0);
    }

    /// Whether a throttled queue is still among those whose averages are aged (`leaf_cfs_rq_list`): since 6.18 until
    /// its last task has left.
    fn is_leaf(&self, group: u32) -> bool {
        self.form() != ThrottleForm::Queues && self.of[group as usize].nr_queued != 0
    }

    /// Brings the `h_load` of a group and of those above up to date, once a jiffy (`update_cfs_rq_h_load()`).
    pub fn update_cfs_rq_h_load(&mut self, group: u32, jiffies: u64) {
        if self.of[group as usize].pelt.cfs_rq.last_h_load_update == jiffies {
            return;
        }
        let h_load = if group == 0 {
            self.of[0].pelt.cfs_rq.avg.load_avg
        } else {
            let above = self.of[group as usize].group.parent;
            self.update_cfs_rq_h_load(above, jiffies);
            let cfs_rq = &self.of[above as usize].pelt.cfs_rq;
            group_h_load(cfs_rq.h_load, self.of[group as usize].pelt.se.load_avg, cfs_rq.avg.load_avg)
        };
        let cfs_rq = &mut self.of[group as usize].pelt.cfs_rq;
        (cfs_rq.h_load, cfs_rq.last_h_load_update) = (h_load, jiffies);
    }

    /// The load of a task of a group whose `load_avg` is this, by the averages of this moment; `root` are the root's.
    pub fn h_load_now(&self, group: u32, load_avg: u64, root: &CfsRqPelt) -> u64 {
        let (mut group, mut load) = (group, load_avg);
        while group != 0 {
            let of = &self.of[group as usize];
            // What of the group's entity the task is, and so of the run queue above.
            load = group_h_load(load, of.pelt.se.load_avg, of.pelt.cfs_rq.avg.load_avg);
            group = of.group.parent;
        }
        load.wrapping_mul(root.avg.load_avg) / root.avg.load_avg.wrapping_add(1)
    }

    /// Returns the task that runs on a group's run queue.
    pub fn curr_of(&self, group: u32) -> Option<TaskId> {
        self.of[group as usize].curr
    }

    /// All averages of a group; the root has those of its run queue only within an operation.
    pub fn group_pelt(&self, group: u32) -> &GroupPelt {
        &self.of[group as usize].pelt
    }

    /// The weight of a group's run queue, of full resolution, its entities, and the tasks in the group: queued,
    /// runnable and idle ones.
    pub fn counts(&self, group: u32) -> [u64; 5] {
        let of = &self.of[group as usize];
        let Counts { queued, runnable, idle } = of.nr;
        [of.load, of.nr_queued.into(), queued as u64, runnable as u64, idle as u64]
    }

    /// Checks the counts of each group against those below.
    pub(super) fn validate(&self, es: &Entities) -> Result<(), String> {
        let mut below = vec![Counts::default(); self.of.len()];
        let mut on_rq = vec![0; self.of.len()];
        for (number, of) in self.of.iter().enumerate().rev() {
            // Tasks on the run queue itself.
            let tasks = of.nr_queued as i32 - on_rq[number];
            let throttled = of.bandwidth.throttled && self.form() == ThrottleForm::Queues;
            let expected = below[number].queued + tasks;
            if of.nr.queued != expected || of.nr.runnable < 0 || of.nr.runnable > expected {
                return Err(format!("group {number}: {:?}, and {expected} tasks are queued", of.nr));
            }
            if number != 0 {
                let parent = of.group.parent as usize;
                if !throttled {
                    below[parent].add(of.nr);
                }
                on_rq[parent] += i32::from(es[of.se].on_rq);
                let empty = of.nr_queued == 0 || throttled;
                if es[of.se].on_rq == empty && !es[of.se].sched_delayed {
                    return Err(format!("group {number}: {} entities, on_rq {}", of.nr_queued, es[of.se].on_rq));
                }
            }
        }
        Ok(())
    }
}

/// `scale_load_down()` of a weight of full resolution.
pub(super) fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 { 0 } else { (weight >> 10).max(2) }
}

/// The switch between tasks where each group has a run queue.
pub(super) trait Switches: Throttles {
    /// `put_prev_entity()`.
    fn put_prev_entity(&mut self, es: &mut Entities, now: u64, se: TaskId) -> Resched;

    /// `set_next_entity()`. Returns whether the queue is throttled, which the task has to know (7.2).
    fn set_next_entity(&mut self, es: &mut Entities, now: u64, se: TaskId, picked: bool) -> bool;

    /// Gives the CPU to another task: "only change the part that actually changes" (`pick_next_task_fair()`; in 7.2
    /// `put_prev_task_fair()` and `set_next_task_fair()`).
    fn switch(&mut self, es: &mut Entities, now: u64, next: Option<TaskId>) -> Resched {
        let (mut pse, mut se) = (self.h().curr, next);
        let mut resched = Resched::No;
        if let (None, Some(next)) = (pse, next) {
            self.set_next_task(es, now, next, true);
            return resched;
        }
        loop {
            let h = self.h();
            let (pse_depth, se_depth) = (pse.map(|se| h.depth(es, se)), se.map(|se| h.depth(es, se)));
            let of = |se: Option<TaskId>| se.map(|se| es[se].group);
            let matches = of(pse) == of(se);
            // None, above the root's, is less than any depth.
            if let Some(put) = pse.filter(|_| matches || pse_depth >= se_depth) {
                resched |= self.put_prev_entity(es, now, put);
                pse = self.h().parent_entity(es, put);
            }
            if let Some(set) = se.filter(|_| matches || se_depth >= pse_depth) {
                let throttled = self.set_next_entity(es, now, set, true);
                if let Some(next) = next.filter(|_| throttled) {
                    es[next].throttle_work = true;
                }
                se = self.h().parent_entity(es, set);
            }
            if matches {
                break;
            }
        }
        self.h().curr = next;
        resched
    }

    /// Gives an idle CPU to a task: because it was `picked`, or back to it after a change (`set_next_task_fair()`).
    fn set_next_task(&mut self, es: &mut Entities, now: u64, next: TaskId, picked: bool) {
        let h = self.h();
        let mut chain: SmallVec<[TaskId; 8]> =
            std::iter::successors(Some(next), |&se| h.parent_entity(es, se)).collect();
        if picked && h.params.rules.set_downwards {
            chain.reverse();
        }
        for se in chain {
            es[next].throttle_work |= self.set_next_entity(es, now, se, picked);
        }
        self.h().curr = Some(next);
    }
}

/// One CPU's run queues of all groups, of the class and form that a kernel version has. It does what [`FairRq`] does,
/// for a task of any group ([`Entity::group`]).
#[derive(Clone, Debug)]
pub enum GroupedRq {
    /// Up to 6.5.
    Cfs(GroupedCfsRq),
    /// From 6.6 to 7.2.
    Eevdf(GroupedEevdfRq),
    /// Since 7.3.
    Flat(FlatEevdfRq),
}

/// Makes the same call on any of them.
macro_rules! any {
    ($rq:expr, $inner:ident => $call:expr) => {
        match $rq {
            GroupedRq::Cfs($inner) => $call,
            GroupedRq::Eevdf($inner) => $call,
            GroupedRq::Flat($inner) => $call,
        }
    };
}

impl GroupedRq {
    /// The run queues of an idle CPU, whose root is `rq`. Adds the groups' entities.
    ///
    /// # Panics
    /// If a group's parent does not come before it, or the root has groups already.
    pub fn new(cpu: u32, rq: &FairRq, groups: &[TaskGroup], params: GroupParams, es: &mut Entities) -> Self {
        let h = Hierarchy::new(cpu, groups, params, es);
        match rq {
            FairRq::Cfs(rq) => GroupedRq::Cfs(GroupedCfsRq::new(rq, h)),
            FairRq::Eevdf(rq) if params.rules.one_queue => GroupedRq::Flat(FlatEevdfRq::new(rq, h)),
            FairRq::Eevdf(rq) => GroupedRq::Eevdf(GroupedEevdfRq::new(rq, h)),
            FairRq::Groups(_) => panic!("the run queue has groups already"),
        }
    }

    /// Returns the state of all groups besides the queues.
    pub fn hierarchy(&self) -> &Hierarchy {
        any!(self, rq => &rq.h)
    }

    /// The same, to change.
    pub fn hierarchy_mut(&mut self) -> &mut Hierarchy {
        any!(self, rq => &mut rq.h)
    }

    /// The running task; `None` if the CPU is idle.
    #[inline]
    pub fn curr(&self) -> Option<TaskId> {
        self.hierarchy().curr
    }

    /// The queued tasks of all groups (`rq->cfs.h_nr_queued`).
    pub fn nr_queued(&self) -> u32 {
        self.hierarchy().of[0].nr.queued as u32
    }

    /// Those that can run (`rq->cfs.h_nr_runnable`).
    pub fn nr_runnable(&self) -> u32 {
        self.hierarchy().of[0].nr.runnable as u32
    }

    /// Those of policy `SCHED_IDLE`, or in a group with `cpu.idle` (`rq->cfs.h_nr_idle`).
    pub fn nr_idle(&self) -> u32 {
        self.hierarchy().of[0].nr.idle as u32
    }

    /// Whether a task is a buddy on its group's run queue.
    pub fn is_buddy(&self, es: &Entities, task: TaskId) -> bool {
        any!(self, rq => rq.is_buddy(es, task))
    }

    /// The next buddy of a group's run queue; since 7.3 of the one queue, which is the root's.
    pub fn next_buddy(&self, group: u32) -> Option<TaskId> {
        match self {
            GroupedRq::Cfs(rq) => rq.rqs[group as usize].next(),
            GroupedRq::Eevdf(rq) => rq.rqs[group as usize].next(),
            GroupedRq::Flat(rq) => rq.rq.next().filter(|_| group == 0),
        }
    }

    /// Whether the run queue that it is on owes a task time; with CFS always.
    pub fn entity_eligible(&self, es: &Entities, task: TaskId) -> bool {
        any!(self, rq => rq.entity_eligible(es, task))
    }

    pub(super) fn enqueue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: EnqueueFlags) -> Resched {
        if es[task].throttled && self.hierarchy_mut().enqueue_throttled_task(es, task) {
            return Resched::No;
        }
        let resched = any!(self, rq => rq.enqueue_task(es, now, task, flags));
        resched | self.take_resched()
    }

    pub(super) fn dequeue_task(&mut self, es: &mut Entities, now: u64, task: TaskId, flags: DequeueFlags) -> Dequeued {
        if es[task].throttled {
            self.hierarchy_mut().dequeue_throttled_task(es, task, flags);
            return Dequeued { off_rq: true, resched: Resched::No };
        }
        let mut dequeued = any!(self, rq => rq.dequeue_task(es, now, task, flags));
        dequeued.resched |= self.take_resched();
        dequeued
    }

    /// Whether the dequeue of the running task, which is about to sleep, will be delayed. Charges it, as the dequeue
    /// does first. By that the averages know whether they tell the group's of all CPUs (`dequeue_entity()`).
    pub fn delays_dequeue(&mut self, es: &mut Entities, now: u64, task: TaskId, exits: bool) -> bool {
        let special = if exits { DequeueFlags::SPECIAL } else { DequeueFlags::empty() };
        let flags = DequeueFlags::SLEEP | special;
        match self {
            GroupedRq::Cfs(_) => false,
            GroupedRq::Eevdf(rq) => rq.delays_dequeue(es, now, task, flags),
            GroupedRq::Flat(rq) => rq.delays_dequeue(es, now, task, flags),
        }
    }

    pub(super) fn migrate_task_rq(&self, es: &mut Entities, task: TaskId) {
        if let GroupedRq::Cfs(rq) = self {
            rq.migrate_task_rq(es, task);
        }
    }

    pub(super) fn task_fork(&mut self, es: &mut Entities, now: u64, task: TaskId) -> Resched {
        let resched = any!(self, rq => rq.task_fork(es, now, task));
        resched | self.take_resched()
    }

    pub(super) fn wakeup_preempt(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        flags: WakeFlags,
        need_resched: bool,
    ) -> Preempted {
        let mut preempted = any!(self, rq => rq.wakeup_preempt(es, now, task, flags, need_resched));
        preempted.resched |= self.take_resched();
        preempted
    }

    pub(super) fn schedule(&mut self, es: &mut Entities, now: u64, prev: Prev) -> Switch {
        self.try_to_block_task(es, now, prev);
        let switch = any!(self, rq => rq.schedule(es, now));
        // __schedule() clears what was asked for up to here.
        let _ = self.take_resched();
        switch
    }

    pub(super) fn put_prev_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        self.try_to_block_task(es, now, prev);
        let _ = any!(self, rq => rq.put_prev_task(es, now));
        let _ = self.take_resched();
    }

    /// Takes the running task off if it blocks or exits (`__schedule()`; since 6.13 `try_to_block_task()`).
    fn try_to_block_task(&mut self, es: &mut Entities, now: u64, prev: Prev) {
        if let Some(curr) = self.curr().filter(|_| prev != Prev::Runs) {
            let special = if prev == Prev::Exits { DequeueFlags::SPECIAL } else { DequeueFlags::empty() };
            let _ = any!(self, rq => rq.dequeue_task(es, now, curr, DequeueFlags::SLEEP | special));
        }
    }

    pub(super) fn tick(&mut self, es: &mut Entities, now: u64, pending: Tick) -> Resched {
        let resched = any!(self, rq => rq.task_tick(es, now, pending));
        resched | self.take_resched()
    }

    pub(super) fn update_curr(&mut self, es: &mut Entities, now: u64) -> Resched {
        let resched = any!(self, rq => rq.charge(es, now));
        resched | self.take_resched()
    }

    /// What has been asked for besides the results of the operations.
    #[inline]
    fn take_resched(&mut self) -> Resched {
        std::mem::take(&mut self.hierarchy_mut().asks.resched)
    }

    pub(super) fn hrtick(&self, es: &Entities, irq_util: u64) -> Hrtick {
        any!(self, rq => rq.hrtick(es, irq_util))
    }

    pub(super) fn hrtick_update_restarts(&self, es: &Entities) -> bool {
        match self {
            GroupedRq::Cfs(rq) => rq.hrtick_update_restarts(es),
            GroupedRq::Eevdf(_) | GroupedRq::Flat(_) => true,
        }
    }

    pub(super) fn yield_task(&mut self, es: &mut Entities, now: u64) {
        any!(self, rq => rq.yield_task(es, now));
    }

    pub(super) fn set_user_nice(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        nice: i8,
        need_resched: bool,
    ) -> Preempted {
        let old_nice = es[task].nice;
        if nice == old_nice {
            return self.take_resched().into();
        }
        let queued = es[task].on_rq;
        let resched = self.set_load_weight(es, now, task, |e| e.nice = nice) | self.take_resched();
        if !queued || self.root_nr_queued() == 1 {
            return resched.into();
        }
        if self.curr() == Some(task) {
            return (resched | Resched::Now.when(nice > old_nice)).into();
        }
        // CFS compares the two even if a throttled group has asked for a reschedule.
        let asked = resched.is_now() && !matches!(self, GroupedRq::Cfs(_));
        let mut preempted = self.wakeup_preempt(es, now, task, WakeFlags::empty(), need_resched || asked);
        preempted.resched |= resched;
        preempted
    }

    pub(super) fn set_policy(&mut self, es: &mut Entities, now: u64, task: TaskId, policy: Policy) -> Resched {
        if policy == es[task].policy {
            return Resched::No;
        }
        self.set_load_weight(es, now, task, |e| e.policy = policy)
    }

    pub(super) fn changes_slice(&self, es: &Entities, task: TaskId, slice: u64) -> bool {
        self.root_eevdf().is_some_and(|rq| rq.changes_slice(es, task, slice))
    }

    pub(super) fn set_custom_slice(&mut self, es: &mut Entities, now: u64, task: TaskId, slice: u64) -> Resched {
        let Some(rq) = self.root_eevdf().filter(|rq| rq.changes_slice(es, task, slice)) else { return Resched::No };
        let change = rq.slice_change(slice);
        self.sched_change(es, now, task, change)
    }

    /// The root's run queue, of EEVDF.
    fn root_eevdf(&self) -> Option<&EevdfRq<true>> {
        match self {
            GroupedRq::Cfs(_) => None,
            GroupedRq::Eevdf(rq) => Some(&rq.rqs[0]),
            GroupedRq::Flat(rq) => Some(&rq.rq),
        }
    }

    /// The entities on the root's run queue (`rq->cfs.nr_queued`).
    fn root_nr_queued(&self) -> u32 {
        match self {
            GroupedRq::Cfs(rq) => rq.rqs[0].nr_queued(),
            GroupedRq::Eevdf(rq) => rq.rqs[0].nr_queued(),
            GroupedRq::Flat(rq) => rq.rq.nr_queued(),
        }
    }

    /// Applies `change`, a change of nice value or policy, and sets the weight that follows from it.
    fn set_load_weight(
        &mut self,
        es: &mut Entities,
        now: u64,
        task: TaskId,
        change: impl FnOnce(&mut Entity),
    ) -> Resched {
        let Some(rq) = self.root_eevdf() else {
            return self.sched_change(es, now, task, |e| {
                change(e);
                e.load = LoadWeight::of(e.policy, e.nice);
            });
        };
        let change = rq.weight_change(change);
        self.sched_change(es, now, task, change)
    }

    /// Takes a task off its run queue and the CPU while `change` is applied (the pattern of `set_user_nice()`, 6.1,
    /// which 7.2 names `sched_change_begin()` and `sched_change_end()`).
    fn sched_change(&mut self, es: &mut Entities, now: u64, task: TaskId, change: impl FnOnce(&mut Entity)) -> Resched {
        let (queued, running) = (es[task].on_rq, self.curr() == Some(task));
        let mut resched = Resched::No;
        if queued {
            resched |= any!(self, rq => rq.dequeue_task(es, now, task, DequeueFlags::SAVE)).resched;
        }
        if running {
            resched |= any!(self, rq => rq.put_prev_task(es, now));
        }
        let old = u64::from(es[task].load.weight);
        change(&mut es[task]);
        self.hierarchy_mut().reweight_task(es, task, old);
        if queued {
            resched |= any!(self, rq => rq.enqueue_task(es, now, task, EnqueueFlags::empty()));
        }
        if running {
            any!(self, rq => rq.set_next_task(es, now, task, false));
        }
        resched
    }

    /// `update_curr()` of a group's queue.
    pub(super) fn update_curr_of(&mut self, es: &mut Entities, now: u64, group: u32) {
        let resched = match self {
            GroupedRq::Cfs(_) => Resched::No,
            GroupedRq::Eevdf(rq) => rq.update_curr(es, now, group),
            GroupedRq::Flat(rq) => rq.update_curr(es, now, group),
        };
        self.hierarchy_mut().asks.resched |= resched;
    }

    /// Puts the entity of a group that was throttled back on the queue above.
    pub(super) fn enqueue_group(&mut self, es: &mut Entities, now: u64, group: u32) {
        match self {
            GroupedRq::Cfs(rq) => rq.move_group(es, now, group, 1),
            GroupedRq::Eevdf(rq) => rq.move_group(es, now, group, 1),
            GroupedRq::Flat(_) => {}
        }
    }

    /// The running task returns to user space and has throttle work: if its group is throttled still, it leaves its
    /// queue and waits for run time (`throttle_cfs_rq_work()`; since 6.18). Its averages are the caller's, as at a
    /// dequeue. Returns whether it has left.
    pub fn throttle_cfs_rq_work(&mut self, es: &mut Entities, now: u64, task: TaskId) -> bool {
        es[task].throttle_work = false;
        if !self.hierarchy().throttled_hierarchy(es[task].group) {
            return false;
        }
        let flags = DequeueFlags::SLEEP | DequeueFlags::THROTTLE;
        any!(self, rq => rq.dequeue_task(es, now, task, flags));
        self.hierarchy_mut().enter_limbo(es, task);
        true
    }

    pub(super) fn validate(&self, es: &Entities) -> Result<(), String> {
        self.hierarchy().validate(es)?;
        any!(self, rq => rq.validate(es))
    }
}
